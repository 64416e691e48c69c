"""Decide the claims of a paper from the results of its study and companions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from wordorder.config.claims import (
    ByAnalysis,
    ByCount,
    ByGain,
    ByPrinted,
    ByProposition,
    ByTable,
    ByTrend,
    Claim,
    Gain,
    Sides,
)
from wordorder.config.pages import Paper
from wordorder.config.published_scores import ALIGNMENT, MEMORY, PublishedColumn, PublishedInStudy
from wordorder.errors import unknown_name
from wordorder.metrics.base import metric
from wordorder.published.evidence import Evidence, Family, Found, slope_evidence
from wordorder.published.gains import Gained, evidence_of, named, paired
from wordorder.published.orderings import DOUBT, Column
from wordorder.published.statuses import Status, diverged
from wordorder.published.study_results import StudyResults
from wordorder.results.frames import groups

# Quantities other than scores for which lower is better.
_COSTS = (MEMORY, ALIGNMENT[0])
_PLACE = ("dataset", "size", "test", "update")


@dataclass(frozen=True)
class Decider:
    """Decides the claims of a paper.

    Attributes:
        paper: The paper.
        results: The folder of all results, with one folder per study.
    """

    paper: Paper
    results: Path

    @cached_property
    def studies(self) -> list[StudyResults]:
        """The studies that decide claims."""
        return [StudyResults(config, self.results / config.report.study) for config in self.paper.studies]

    def evidence(self, claim: Claim) -> list[Evidence]:
        """Return all evidence for a claim."""
        decided = claim.decided_by
        if isinstance(decided, ByTable):
            return self._tested(lambda study: self._of_table(study, decided))
        if isinstance(decided, ByAnalysis):
            return self._tested(lambda study: self._of_analysis(study, decided))
        if isinstance(decided, ByTrend):
            return self._slopes(decided)
        if isinstance(decided, ByGain):
            return self._gains(decided)
        if isinstance(decided, ByPrinted):
            return self._printed(decided)
        if isinstance(decided, ByCount):
            return self._counts(decided)
        return propositions(decided)

    def _tested(self, families_of: Callable[[StudyResults], Iterator[Family]]) -> list[Evidence]:
        """Test the families of all studies, each at the level divided by the number of families.

        If one study lacks a comparison of some part of the claim and another study has it, the comparison is not
        reported as missing.
        """
        found = _of_the_paper([(study, family) for study in self.studies for family in families_of(study)])
        return _without_missing(
            [
                (study.name, family.part, each)
                for study, family in found
                for each in family.evidence(study.level / len(found))
            ]
        )

    @cached_property
    def _shown(self) -> list[tuple[StudyResults, PublishedInStudy]]:
        return [(study, shown) for study in self.studies for shown in study.config.published]

    @cached_property
    def languages(self) -> dict[str, str]:
        """The languages of datasets of the papers and of the studies, such as 'en-de'."""
        return {name: pair for _, shown in self._shown for name, pair in shown.languages.items()}

    @cached_property
    def sizes(self) -> set[str]:
        """The model sizes of the paper's tables."""
        own = [shown.printed for _, shown in self._shown if shown.printed.paper == self.paper.claims.paper]
        return {row.size for printed in own for row in printed.rows}

    # ----------------------------------------------------------------------------------------------- published tables

    def _of_table(self, study: StudyResults, decided: ByTable) -> Iterator[Family]:
        for shown in study.config.published:
            if shown.printed.name != decided.table:
                continue
            for index, column in enumerate(shown.printed.columns):
                if column.column in decided.columns if decided.columns else column.is_score:
                    yield self._column(study, Column(shown, index, study.scores, study.level), decided)

    def _column(self, study: StudyResults, place: Column, decided: ByTable) -> Family:
        shown, column = place.shown, place.column
        rows = {row.row: row for row in shown.printed.rows}
        pairs = decided.pairs(list(rows))
        named = {name for pair in pairs for name in pair}
        values = {name: place.ours.tested(column, rows[name].encoding, rows[name].size) for name in named}
        if any(values.values()):
            values |= place.ours.others(column, [(rows[name].encoding, rows[name].size) for name in named])
        lacks = {
            name: place.ours.lack(column, rows[name].encoding, rows[name].size).label
            for name in named
            if not values[name]
        }
        known = metric(column.metric) if column.is_score else None
        lower = known.lower_is_better if known else column.metric in _COSTS
        size = rows[pairs[0][0]].size if pairs else ""
        where = place.ours.place(column, size) if pairs else ("", "", "")
        margin = study.margins.get((where[0], where[2], where[1], column.metric))
        margin = margin and margin * (known.published_scale if known else 1.0)
        return Family(
            f"{study.name}: {column.column} ({', '.join(filter(None, where))})",
            values,
            pairs,
            {pair: abs(gap) for pair in pairs if (gap := _published_gap(shown, place.index, pair)) is not None},
            lower_is_better=lower,
            margin=decided.margin or margin,
            relation=decided.relation,
            note=DOUBT if (where[0], where[2], where[1], column.metric) in study.doubtful else "",
            stands_in=self._stands_in_column(column, where) if pairs else "",
            lacks=lacks,
            part=column.column,
            exact=not column.is_score,
            seeds=study.config.report.seeds,
        )

    def _stands_in_column(self, column: PublishedColumn, where: tuple[str, str, str], size: str | None = None) -> str:
        """Say what stands in for the data of a published column, and for the model size if it is given.

        Args:
            column: The published column.
            where: Our dataset, test set and model size.
            size: The paper's model size; None if any of the paper's sizes will do.
        """
        dataset, test, own_size = where
        other = f"{test} instead of {column.test}" if dataset == column.dataset and test != (column.test or "") else ""
        return ", ".join(filter(None, [self._stands_in(dataset, own_size, column.dataset, size), other]))

    def _stands_in(self, dataset: str, size: str, theirs: str | None, their_size: str | None = None) -> str:
        """Say what of ours stands in for the paper's languages, data and model size.

        Args:
            dataset: Our dataset.
            size: Our model size.
            theirs: The paper's dataset; None if the claim names none.
            their_size: The paper's model size; None if the claim names none.
        """
        ours, printed = self.languages.get(dataset), self.languages.get(theirs or "")
        found = []
        if theirs and ours and printed and ours != printed:
            found.append(f"{ours} instead of {printed}")
        elif theirs and dataset != theirs:
            found.append(f"{dataset} instead of {theirs}")
        if their_size and size != their_size:
            found.append(f"size {size} instead of {their_size}")
        elif not their_size and self.sizes and size not in self.sizes:
            found.append(f"size {size}, none of the paper's")
        return ", ".join(found)

    # --------------------------------------------------------------------------------------------------- analyses

    def _of_analysis(self, study: StudyResults, decided: ByAnalysis) -> Iterator[Family]:
        systems = decided.elsewhere.get(study.name, Sides())
        rows_of = decided.rows_elsewhere.get(study.name, {})
        replaced = {side: names for side, names in systems if names and names != getattr(decided, side)}
        other = [
            f"{', '.join(names)} instead of {', '.join(getattr(decided, side))}" for side, names in replaced.items()
        ]
        moved = {key: value for key, value in rows_of.items() if value != decided.where.get(key)}
        other += [f"{key} {_text(value)} instead of {_text(decided.where.get(key))}" for key, value in moved.items()]
        own = decided.model_copy(update=replaced)
        columns = (decided.systems, decided.unit, decided.value)
        for where, rows in _places(study, decided.analysis, decided.where | rows_of, columns, decided.systems):
            values: dict[str, dict[int, float]] = {}
            lost = [_text(name) for name in rows.loc[study.diverged(rows), decided.systems].dropna().unique()]
            for (name, unit), each in groups(rows, [decided.systems, decided.unit]):
                number = each[decided.value].mean()
                if pd.notna(number):
                    values.setdefault(_text(name), {})[int(unit)] = float(number)
            values |= {name: {} for name in lost}
            pairs = own.pairs(list(values))
            if not {name for pair in pairs for name in pair} & values.keys():
                continue
            margin = decided.margin
            if margin is None and "metric" in decided.where and decided.systems != "test":
                dataset, size, test = where[:3]
                margin = study.margins.get((dataset, size, test, str(decided.where["metric"])))
            yield Family(
                f"{study.name}: {decided.analysis} ({', '.join(where)})",
                values,
                pairs,
                {},
                lower_is_better=decided.lower_is_better,
                margin=margin,
                relation=decided.relation,
                stands_in=", ".join(
                    filter(None, [self._stands_in(where[0], where[1], decided.dataset, decided.size), *other])
                ),
                lacks=dict.fromkeys(lost, Status.DIVERGED.label),
                exact="metric" not in decided.where,
            )

    def _slopes(self, decided: ByTrend) -> list[Evidence]:
        found: list[_Line] = []
        for study in self.studies:
            for where, rows in _places(study, decided.analysis, decided.where, (decided.value, decided.over)):
                stands_in = self._stands_in(where[0], where[1], decided.dataset, decided.size)
                lines = rows.assign(line=rows["encoding"] if decided.systems else "all", lost=study.diverged(rows))
                shown = lines[lines[decided.over].notna() & (lines[decided.value].notna() | lines["lost"])]
                place = f"{study.name}: {decided.analysis} ({', '.join(where)})"
                for line, own in groups(shown, ["line"]):
                    name = str(line[0] if isinstance(line, tuple) else line)
                    if decided.systems and name not in decided.systems:
                        continue
                    lost = list(own.loc[own["lost"], "encoding"].unique()) if own["lost"].any() else []
                    slopes = [
                        float(np.polyfit(each[decided.over], each[decided.value], 1)[0])
                        for _, each in groups(own, ["seed"])
                        if each[decided.over].nunique() > 1 and not lost
                    ]
                    if slopes or lost:
                        found.append(_Line(study, place, name, slopes, stands_in, lost))
        if any(each.slopes and not each.stands_in for each in found):
            found = [each for each in found if not each.stands_in]  # the paper's own data decide where they are
        return _without_missing([(each.study.name, "", each.evidence(decided, len(found))) for each in found])

    # -------------------------------------------------------------------------------------------- gains, and print

    def _gains(self, decided: ByGain) -> list[Evidence]:
        """Compare the gains of each place of the larger one with those of the smaller one on the same test set."""
        pairs = paired(*(list(self._gains_of(gain)) for gain in (decided.larger, decided.smaller)))
        if not pairs:
            return [_NOTHING]
        ours = [evidence_of(decided, pair, len(pairs)) for pair in pairs]
        large, small_columns = self._printed_columns(decided.larger), self._printed_columns(decided.smaller)
        lacking = large.keys() & small_columns.keys() - {one.printed_at for one, _ in pairs}
        about = f"{named(decided.larger)} gain more than {named(decided.smaller)}"
        return ours + [
            Evidence(Found.NOT_RUN, name, about, note="not run") for at, name in large.items() if at in lacking
        ]

    def _printed_columns(self, gain: Gain) -> dict[tuple[str, str | None, str], str]:
        """Return the names of the columns of scores of a gain's tables, by the paper's dataset, test set and metric."""
        return {
            (column.dataset, column.test, column.metric): column.column
            for _, shown in self._shown
            if shown.printed.name in gain.tables
            for column in shown.printed.columns
            if column.is_score
        }

    def _gains_of(self, gain: Gain) -> Iterator[Gained]:
        for study, shown in self._shown:
            if shown.printed.name not in gain.tables:
                continue
            rows = {row.row: row for row in shown.printed.rows}
            better, worse = rows[gain.better], rows[gain.worse]
            for index, column in enumerate(shown.printed.columns):
                if not column.is_score:
                    continue
                place = Column(shown, index, study.scores, study.level)
                one, other = (place.ours.tested(column, row.encoding, row.size) for row in (better, worse))
                sign = -1 if place.lower_is_better else 1
                gaps = [sign * (one[seed] - other[seed]) for seed in one if seed in other]
                dataset, test, size = place.ours.place(column, better.size)
                lacks = {row.row: place.ours.lack(column, row.encoding, row.size) for row in (better, worse)}
                lost = [name for name, lack in lacks.items() if lack is Status.DIVERGED]
                if gaps or lost:
                    yield Gained(
                        (dataset, test, column.metric),
                        (column.dataset, column.test, column.metric),
                        f"{study.name}: {column.column} ({dataset}, {test}, {size})",
                        size,
                        gaps,
                        _published_gap(shown, index, (better.row, worse.row)),
                        study.level,
                        self._stands_in_column(column, (dataset, test, size), better.size),
                        lost,
                    )

    def _printed(self, decided: ByPrinted) -> list[Evidence]:
        printed = next((shown.printed for _, shown in self._shown if shown.printed.name == decided.table), None)
        if printed is None:
            return [_NOTHING]
        index = next(at for at, column in enumerate(printed.columns) if column.column == decided.column)
        decimals = printed.columns[index].decimals
        known = {row.row: score for row, score in printed.in_order(index)}
        copied = {row.row: row.scores[index] for row in printed.copied}
        over: Mapping[str, float | None] = copied if decided.copied else known
        one = [known[name] for name in decided.better if name in known]
        other = [score for name in decided.worse if (score := over.get(name)) is not None]
        if not (one and other):
            return [_NOTHING]
        value = float(np.mean(one)) - float(np.mean(other))
        holds = (
            value > -decided.margin if decided.says is None else round(value, decimals) == round(decided.says, decimals)
        )
        return [
            Evidence(
                Found.CONFIRMED if holds else Found.CONTRADICTED,
                f"printed numbers of {printed.table}, {decided.column}",
                f"{', '.join(decided.better)} over {', '.join(decided.worse)}{' (copied)' if decided.copied else ''}",
                value,
                note="" if decided.says is None else f"printed {decided.says:+.{decimals}f}",
            )
        ]

    # ------------------------------------------------------------------------------------ evidence without training

    def _counts(self, decided: ByCount) -> list[Evidence]:
        from wordorder.model.counts import compare_published

        (table,) = (each for each in self.paper.counted if each.table == decided.table)
        rows = [row for row in table.rows if not decided.rows or row.row in decided.rows]
        named = {row.base for row in rows}
        kept = table.model_copy(update={"rows": [row for row in table.rows if row in rows or row.row in named]})
        return [
            Evidence(
                Found.CONFIRMED if each.met else Found.CONTRADICTED,
                f"{table.paper}, {table.table}: {table.vocabulary:,} subwords",
                f"{each.row.row}: printed {each.row.printed} M",
                float(each.ours),
                note=each.row.note or "",
            )
            for each in compare_published([kept], self.paper.encodings, self.paper.sizes)
            if each.row in rows
        ]


@dataclass(frozen=True)
class _Line:
    """The slopes of a line, one per seed; none if trainings of its encodings ``lost`` diverged."""

    study: StudyResults
    place: str
    name: str
    slopes: list[float]
    stands_in: str
    lost: list[str]

    def evidence(self, decided: ByTrend, lines: int) -> Evidence:
        about = f"{decided.value} of {self.name} {decided.direction} with {decided.over}"
        if self.lost:
            return Evidence(Found.NOT_RUN, self.place, about, note=diverged(self.lost))
        level, rises = self.study.level / lines, decided.direction == "rises"
        return slope_evidence(self.place, about, self.slopes, rises=rises, level=level, stands_in=self.stands_in)


def _of_the_paper(found: list[tuple[StudyResults, Family]]) -> list[tuple[StudyResults, Family]]:
    """Drop what stands in for the paper's own data and models in a part of a claim where these have been run."""
    own = {family.part for _, family in found if family.run and not family.stands_in}
    return [(study, family) for study, family in found if not family.stands_in or family.part not in own]


_NOTHING = Evidence(Found.NOT_RUN, "", "", note="no study of these has been run for it")


def _without_missing(evidence: list[tuple[str, str, Evidence]]) -> list[Evidence]:
    """Drop what one study lacks and another one has: evidence with its study and the part of the claim."""
    ran: dict[tuple[str, str], set[str]] = {}
    for study, part, each in evidence:
        if each.found is not Found.NOT_RUN:
            ran.setdefault((part, each.about), set()).add(study)
    kept = [
        each
        for study, part, each in evidence
        if each.found is not Found.NOT_RUN or not ran.get((part, each.about), set()) - {study}
    ]
    return kept or [_NOTHING]


def propositions(decided: ByProposition) -> list[Evidence]:
    """Return the evidence for a claim that is decided by computing mathematical propositions."""
    from wordorder.published.stated import proposition

    found = [proposition(name) for name in decided.propositions]
    return [
        Evidence(
            Found.CONFIRMED if each.holds else Found.CONTRADICTED,
            each.source,
            each.claim,
            each.measured,
            each.low,
            each.high,
            note=f"bound {each.bound}",
        )
        for each in found
    ]


def _published_gap(shown: PublishedInStudy, index: int, pair: tuple[str, str]) -> float | None:
    printed = {row.row: value for row, value in shown.printed.in_order(index)}
    return printed[pair[0]] - printed[pair[1]] if printed.keys() >= set(pair) else None


def _places(
    study: StudyResults,
    analysis: str,
    where: Mapping[str, str | float],
    others: Sequence[str],
    systems: str = "",
) -> Iterator[tuple[tuple[str, ...], pd.DataFrame]]:
    """Yield the matching rows of each dataset, model size and test set, with the names of these.

    Args:
        study: The study.
        analysis: The analysis whose data are read.
        where: The values of columns that rows must have.
        others: Further columns that the data must have.
        systems: The column of the systems that are compared with each other, which may be the test set.

    Raises:
        WordorderError: The data lack a column.
    """
    data = study.data(analysis)
    if data is None or data.empty:
        return
    for column in (*where, *others):
        if column not in data:
            raise unknown_name(
                f"A claim names a column that '{analysis}' does not have,", column, map(str, data), "columns"
            )
    for column, wanted in where.items():
        same = data[column] == wanted if isinstance(wanted, int | float) else data[column].astype(str) == wanted
        data = data[same]
    columns = [column for column in _PLACE if column in data and column != systems]
    for names, rows in groups(data, columns):
        yield tuple(map(str, names)), rows


def _text(name: Any) -> str:
    return f"{name:g}" if isinstance(name, float) else str(name)
