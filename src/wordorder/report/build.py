"""Build the tables of a study by name, from the files of its results."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from wordorder.config.claims import PAPER_TABLES
from wordorder.config.models import Report
from wordorder.config.pages import Controls, Paper
from wordorder.config.published_scores import PUBLISHED_TABLES, PublishedInStudy
from wordorder.errors import WordorderError, unknown_name
from wordorder.published import orderings, paper
from wordorder.published import scores as published
from wordorder.published.marks import OurMarks
from wordorder.published.quantities import load_printed
from wordorder.results import frames as results
from wordorder.tables import comparisons as comparison_table
from wordorder.tables import controls, credibility, retention
from wordorder.tables import study as tables
from wordorder.tables.table import Table

NAMES = ("scores", "significance", "retention", "variance", "parameters", "credibility", *PUBLISHED_TABLES)


def build_paper_table(name: str, asked: Paper, results: str | Path) -> Table:
    """Build one of the tables of a paper.

    Args:
        name: A member of ``PAPER_TABLES``.
        asked: The paper, with the studies that decide its claims.
        results: The folder of all results, with one folder per study.

    Returns:
        The table.

    Raises:
        WordorderError: The name is unknown, or a file of the results is missing or damaged.
    """
    if name not in PAPER_TABLES:
        raise unknown_name("There is no table of a paper", name, PAPER_TABLES, "tables")
    if name == "contradictions":
        return paper.contradictions_table(asked)
    return (paper.paper_table if name == "paper" else paper.claims_table)(asked, Path(results))


def build_controls_table(asked: Controls, folder: str | Path) -> Table:
    """Build the table of controls of the study whose results are in ``folder``."""
    scores, records = results.load_scores(asked.report, folder), results.load_records(asked.report, folder)
    return controls.controls_table(scores, records, results.load_significance(asked.report, folder), asked)


def build_table(name: str, report: Report, folder: str | Path, shown: Sequence[PublishedInStudy] = ()) -> Table:
    """Build a table of a study.

    Args:
        name: A member of ``NAMES``.
        report: The reported part of the study's configuration.
        folder: The folder of the study's results.
        shown: The published tables that the study shows; only ``PUBLISHED_TABLES`` use them.

    Returns:
        The table.

    Raises:
        WordorderError: The name is unknown, a file is missing or damaged, the table compares with published scores and
            the study shows none, or the table is 'credibility' and the study lacks an item of the checklist.
    """
    if name == "scores":
        scores, unscored = results.load_scores(report, folder), results.load_not_scored(report, folder)
        tested = results.load_significance(report, folder)
        exact = comparison_table.all_exact(tested)
        return tables.scores_table(scores, report, unscored, results.margins_of(tested), exact=exact)
    if name == "significance":
        return comparison_table.significance_table(results.load_significance(report, folder), report)
    if name == "retention":
        tested = results.load_significance(report, folder)
        return retention.retention_table(results.load_scores(report, folder), tested, report)
    if name == "variance":
        return comparison_table.variance_table(results.load_significance(report, folder), report)
    if name == "parameters":
        return tables.parameters_table(results.load_records(report, folder), report)
    if name in PUBLISHED_TABLES:
        if not shown:
            raise WordorderError(
                f"The study '{report.study}' shows no published scores, so it has no table '{name}'. Name tables of "
                "config/published under 'published' in the study, or request another table.",
                code="no-published-scores",
                key="published",
            )
        printed = [(each.shown, each.printed) for each in shown]
        if name == "orderings":
            tested = results.load_significance(report, folder)
            doubtful, exact = comparison_table.small_families(tested), comparison_table.all_exact(tested)
            found, margins = load_printed(report, folder), results.margins_of(tested)
            return orderings.orderings_table(found, shown, report, doubtful, margins, exact=exact)
        tested = results.load_significance(report, folder) if any(table.marks_mean for _, table in printed) else []
        return published.published_table(load_printed(report, folder, printed), printed, report, OurMarks(tested))
    if name == "credibility":
        return credibility.credibility_table(credibility.require(report, folder), report)
    raise unknown_name("There is no table", name, NAMES, "tables")
