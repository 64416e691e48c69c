"""The tables about a paper: its own tables with our numbers in each cell, its claims, and its contradictions."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from wordorder.comparison.levels import NOT_EXACT
from wordorder.config.claims import Contradiction, Count
from wordorder.config.models import Recipe
from wordorder.config.pages import Paper
from wordorder.config.published_scores import PARAMETERS, PublishedColumn, PublishedInStudy, PublishedScoresRow
from wordorder.published.decisions import Decider
from wordorder.published.evidence import Evidence, Found, seeds_to_decide, together
from wordorder.published.scores import OurScores
from wordorder.published.statuses import Status
from wordorder.published.study_results import StudyResults
from wordorder.tables.table import MISSING, Block, Cell, Row, Table, format_p, number, text

_DERIVED = "derived"
_COPIED = "copied"


def paper_table(paper: Paper, results: Path) -> Table:
    """Build a block for each table of the paper and each study that shows it, in the printed layout.

    Args:
        paper: The paper.
        results: The folder of all results.
    """
    decider = Decider(paper, results)
    shown = [(study, each) for study in decider.studies for each in study.config.published]
    own = [(study, each) for study, each in shown if each.printed.paper == paper.claims.paper]
    blocks: list[Block] = []
    rows: list[dict[str, Any]] = []
    derivations: dict[str, str] = {}
    for study, each in own:
        found = [cell for row in each.printed.rows for cell in _cells(study, each, row)]
        rows += found
        blocks.append(Block(_caption(study, each), [*_copied(each), *_printed(study, each, found)]))
        derivations |= {f"{each.printed.table}, {row.row}": row.derived for row in each.printed.rows if row.derived}
    notes = [*_NOTES, *(f"{_DERIVED}, {where}: {how}." for where, how in derivations.items())]
    return Table("paper", pd.DataFrame(rows), blocks, notes)


_NOTES = (
    "Each cell has the printed number and its mark, then ours: mean ± standard deviation over n seeds. Nothing of ours "
    "is compared with a printed number here; the claims below are decided by our models only.",
    "A printed difference has a sign. 'derived' follows from numbers in other places of the paper; 'copied' is a row "
    "that the paper itself copies from elsewhere.",
)


def _caption(study: StudyResults, shown: PublishedInStudy) -> str:
    places = OurScores(study.scores, shown.shown)
    printed = shown.printed
    ours = dict.fromkeys(
        ", ".join(filter(None, places.place(column, row.size))) for row in printed.rows for column in printed.columns
    )
    return f"{printed.paper}, {printed.table} ({printed.computed}); ours: {study.name}, {'; '.join(ours)}."


def _copied(shown: PublishedInStudy) -> Iterator[Row]:
    for row in shown.printed.copied:
        columns = zip(shown.printed.columns, row.scores, strict=True)
        yield {"System": Cell(row.row, row.row.casefold(), f"({_COPIED}: {row.source})")} | {
            column.column: number(score, column.decimals, group=False) for column, score in columns
        }


def _cells(study: StudyResults, shown: PublishedInStudy, row: PublishedScoresRow) -> Iterator[dict[str, Any]]:
    places = OurScores(study.scores, shown.shown)
    for index, column in enumerate(shown.printed.columns):
        values = list(places.of(column, row.encoding, row.size).values())
        dataset, test, size = places.place(column, row.size)
        lack = places.lack(column, row.encoding, row.size)
        diverged = column.is_score and lack is Status.DIVERGED
        yield {
            "study": study.name,
            "table": shown.printed.table,
            "row": row.row,
            "column": column.column,
            "encoding": row.encoding,
            "dataset": dataset,
            "test": test,
            "size": size,
            "printed": row.score(index),
            "printed_gap": row.gap(index),
            "printed_mark": row.mark(index) or "",
            "printed_runs": " ".join(f"{run:g}" for run in row.runs[index]) if row.runs else "",
            "derived": row.derived or "",
            "mean": float(np.mean(values)) if values else None,
            "sd": float(np.std(values, ddof=1)) if len(values) > 1 else None,
            "n": len(values),
            "lack": lack.label if diverged or not values else "",
        }


def _printed(study: StudyResults, shown: PublishedInStudy, cells: list[dict[str, Any]]) -> Iterator[Row]:
    seeds = len(study.config.report.seeds)
    for row in shown.printed.rows:
        own = {cell["column"]: cell for cell in cells if cell["row"] == row.row}
        yield {"System": Cell(row.row, row.row.casefold(), f"({_DERIVED})" if row.derived else "")} | {
            column.column: _cell(column, own[column.column], seeds) for column in shown.printed.columns
        }


def _cell(column: PublishedColumn, cell: dict[str, Any], seeds: int) -> Cell:
    """Format a cell with the printed number followed by ours, which may lack some of the declared seeds."""
    sign = "+" if cell["printed"] is None else ""
    printed = cell["printed"] if cell["printed"] is not None else cell["printed_gap"]
    found = number(printed, column.decimals, sign=sign, group=False, mark=cell["printed_mark"])
    runs = f"(runs {cell['printed_runs']}) " if cell["printed_runs"] else ""
    if not cell["n"]:
        return Cell(found.main, found.key, f"{runs}ours: {cell['lack']}")
    spread = "" if cell["sd"] is None or column.metric == PARAMETERS else f" ± {cell['sd']:.{column.decimals}f}"
    of = f" of {seeds}" if cell["n"] < seeds else ""
    lack = f", {cell['lack']}" if cell["lack"] else ""
    ours = f"{cell['mean']:.{column.decimals}f}{spread} (n = {cell['n']}{of}){lack}"
    return Cell(found.main, found.key, f"{runs}ours: {ours}")


# ------------------------------------------------------------------------------------------------------------ claims


def claims_table(paper: Paper, results: Path) -> Table:
    """Build a table with a row for each claim, its verdict and the evidence.

    Args:
        paper: The paper.
        results: The folder of all results.
    """
    decider = Decider(paper, results)
    rows: list[Row] = []
    data = []
    for claim in paper.claims.claims:
        evidence = decider.evidence(claim)
        found, needed = together(evidence), seeds_to_decide(evidence)
        rows.append(
            {
                "Claim": text(claim.words),
                "Place": text(claim.place),
                "Verdict": text(found.value),
                "Data and models": text(_of(evidence)),
                "Seeds that would decide": text(needed) if found is Found.UNDECIDED else MISSING,
                "Evidence": text(_said(evidence)),
                "Note": text(claim.note or ""),
            }
        )
        data += [
            {"claim": claim.name, "place": claim.place, "words": claim.words, "verdict": found.value}
            | {"decided_by": claim.decided_by.kind, "evidence": each.found.value, "of": each.place}
            | {"about": each.about, "value": each.value, "low": each.low, "high": each.high, "p": each.p}
            | {"seeds": each.units, "seeds_needed": each.needed, "note": each.note, "stands_in": each.stands_in}
            for each in evidence
        ]
    title = f"{paper.claims.title}: its claims."
    looked = [study.name for study in decider.studies if not study.exact]
    notes = [*_CLAIM_NOTES, *([f"{NOT_EXACT.removesuffix('.')} in {', '.join(looked)}."] if looked else [])]
    return Table("claims", pd.DataFrame(data), [Block(title, rows)], notes)


def _of(evidence: list[Evidence]) -> str:
    """Say what of ours stands in for the paper's data and models in the evidence of a claim."""
    run = [each for each in evidence if each.found is not Found.NOT_RUN]
    if not run:
        return ""
    if all(each.units == 0 for each in run):
        return "computed"
    stand_ins = dict.fromkeys(each.stands_in for each in run)
    return "; ".join(each or "as in the paper" for each in stand_ins)


_CLAIM_NOTES = (
    "Confirmed: every part of the claim holds for other seeds (t-tests on the seed-blocked model, corrected within the "
    "claim), for all systems and columns that the claim names. Where the paper's own data and models have been run, "
    "no others decide. Contradicted: some part is significantly the "
    "other way. Equivalent: what is not confirmed is within the margin. Undecided: our seeds cannot tell, or a part "
    "has not been run; the number of seeds would find the published difference, the margin where none is printed, or a "
    "difference as large as ours where there is no margin either, with a probability of 80 %.",
    "'Data and models' says what stands in for the paper's languages, data, model sizes or settings: the verdict is "
    "about these alone. No correction accounts for the number of claims: of 20 true null hypotheses one is rejected by "
    "chance.",
    "Mathematics and counts of parameters are computed, not trained: each has the number that was found and its bound.",
    "claims.csv has every comparison.",
)
_SHOWN = 4  # pieces of evidence per verdict; claims.csv has all


def _said(evidence: list[Evidence]) -> str:
    """Count the evidence by verdict, and quote the first pieces for each verdict."""
    parts = []
    for found in Found:
        own = [each for each in evidence if each.found is found]
        if not own:
            continue
        more = f"; {len(own) - _SHOWN} more" if len(own) > _SHOWN else ""
        parts.append(f"{found.value} {len(own)} of {len(evidence)}: {'; '.join(map(_one, own[:_SHOWN]))}{more}")
    return ". ".join(parts)


def _one(each: Evidence) -> str:
    facts = []
    if each.p is not None:
        facts.append(
            f"{each.value:+.3g} [{each.low:+.3g}, {each.high:+.3g}], p {_relation(each.p)}, {each.units} seeds"
        )
    elif each.value is not None:
        facts.append(f"{each.value:.6g}")
    about = f"{each.about} ({', '.join(facts)})" if facts else each.about
    note = f" ({each.note})" if each.note else ""
    return f"{f'{each.place}: ' if each.place else ''}{about}{note}"


def _relation(p: float) -> str:
    return format_p(p) if p < 0.001 else f"= {format_p(p)}"


# ---------------------------------------------------------------------------------------------------- contradictions


def contradictions_table(paper: Paper) -> Table:
    """Build a table with a row for each contradiction within the paper, or with its code or mathematics.

    Args:
        paper: The paper.
    """
    rows: list[Row] = []
    data = []
    for found in paper.claims.contradictions:
        computed = _computed(found, paper)
        rows.append(
            {
                "Place": text(found.place),
                "Says": text(found.says),
                "Other place": text(found.other_place),
                "Says there": text(found.other),
                "Computed": text("; ".join(computed)),
            }
        )
        data.append(
            {"name": found.name, "place": found.place, "says": found.says}
            | {"other_place": found.other_place, "other": found.other, "computed": "; ".join(computed)}
        )
    title = f"{paper.claims.title}: where it does not agree with itself, its released code, or arithmetic."
    return Table("contradictions", pd.DataFrame(data), [Block(title, rows)], [_COMPUTED])


_COMPUTED = "Computed: counts of parameters are those of our models, in millions; mathematics is that of the claims."


def _computed(found: Contradiction, paper: Paper) -> list[str]:
    computed = [_count(count, paper) for count in found.counts]
    if found.propositions:
        # Propositions are computed with PyTorch. Pages and tables without them start without it.
        from wordorder.published.stated import proposition

        computed += [f"{each.claim}: {each.measured:.6g}" for each in map(proposition, found.propositions)]
    return computed


def _count(count: Count, paper: Paper) -> str:
    """Format the parameter count of a model in millions, or its difference from another model's."""
    from wordorder.model.counts import counted

    recipe = Recipe(norm=count.norm, tie_embeddings=count.tie_embeddings, max_updates=1)
    names = [count.encoding, *([count.over] if count.over else [])]
    totals = [
        counted(paper.encodings[name], paper.sizes[count.size], recipe, count.vocabulary)["total"] for name in names
    ]
    millions = (totals[0] - (totals[1] if count.over else 0)) / 1e6
    what = f"{count.encoding}, {count.size}, {count.vocabulary:,} subwords"
    return f"{what}{f', over {count.over}' if count.over else ''}: {millions:{'+' if count.over else ''}.2f} M"
