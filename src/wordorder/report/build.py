"""Any table of a study by its name, from what the study has written."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from wordorder.config.claims import PAPER_TABLES
from wordorder.config.models import Paper, Report
from wordorder.config.published_scores import PUBLISHED_TABLES, PublishedInStudy
from wordorder.errors import WordorderError, unknown_name
from wordorder.published import orderings, paper
from wordorder.published import scores as published
from wordorder.published.marks import OurMarks
from wordorder.published.quantities import load_printed
from wordorder.results import frames as results
from wordorder.tables import comparisons as comparison_table
from wordorder.tables import credibility
from wordorder.tables import study as tables
from wordorder.tables.table import Table

NAMES = ("scores", "significance", "variance", "parameters", "credibility", *PUBLISHED_TABLES)


def build_paper_table(name: str, asked: Paper, results: str | Path) -> Table:
    """Build one of the PAPER_TABLES.

    Args:
        name: The name of the table.
        asked: The paper.
        results: The folder of all results, with a folder for each study.
    """
    if name not in PAPER_TABLES:
        raise unknown_name("There is no table of a paper", name, PAPER_TABLES, "tables")
    if name == "contradictions":
        return paper.contradictions_table(asked)
    return (paper.paper_table if name == "paper" else paper.claims_table)(asked, Path(results))


def build_table(name: str, report: Report, folder: str | Path, shown: Sequence[PublishedInStudy] = ()) -> Table:
    """The table ``name`` of the study whose results lie in ``folder``; ``shown`` are the papers' scores that
    the PUBLISHED_TABLES hold.

    Raises WordorderError for an unknown name, for a file that is missing or broken, and for 'credibility' where the
    study misses an item of the list.
    """
    if name == "scores":
        return tables.scores_table(results.load_scores(report, folder), report, results.load_not_scored(report, folder))
    if name == "significance":
        return comparison_table.significance_table(results.load_significance(report, folder), report)
    if name == "variance":
        return comparison_table.variance_table(results.load_significance(report, folder), report)
    if name == "parameters":
        return tables.parameters_table(results.load_records(report, folder), report)
    if name in PUBLISHED_TABLES:
        printed = [(each.shown, each.printed) for each in shown]
        if name == "orderings":
            return orderings.orderings_table(load_printed(report, folder), shown, report)
        tested = results.load_significance(report, folder) if any(table.marks_mean for _, table in printed) else []
        return published.published_table(load_printed(report, folder, printed), printed, report, OurMarks(tested))
    if name == "credibility":
        return credibility.credibility_table(credibility.require(report, folder), report)
    raise WordorderError(f"There is no table '{name}'; the tables are {', '.join(NAMES)}.", code="unknown-name")
