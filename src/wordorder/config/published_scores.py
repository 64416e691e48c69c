"""Typed model of ``config/published/scores.yaml``: the scores that the papers print."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

from pydantic import Field, RootModel, model_validator

from wordorder.config.base import Model, Name, Positive, Rate
from wordorder.config.published import PublishedTable
from wordorder.errors import WordorderError

# The tables of a study that hold papers' scores beside ours.
PUBLISHED_TABLES = ("published", "orderings")

# What a column can hold that is no score: counts in millions; GB on the GPU; rates of word alignments in per cent.
PARAMETERS, MEMORY = "parameters", "memory"
ALIGNMENT = ("aer", "precision", "recall")


class PublishedColumn(Model):
    """One column of a table, and what of ours stands beside it."""

    column: str = Field(description="As the paper heads it.")
    dataset: Name = Field(description="A name under datasets/.")
    test: Name | None = Field(
        default=None,
        description="The test set of that dataset; of 'aer', 'precision' and 'recall' the set of gold alignments; "
        "'parameters' and 'memory' have none.",
    )
    metric: Name = Field(
        description="A metric of a study; or 'parameters' (millions), 'memory' (GB of the GPU), 'aer', "
        "'precision' or 'recall' (per cent, of the analysis 'alignment')."
    )
    decimals: int = Field(default=2, ge=0, description="With how many the paper prints it.")

    @model_validator(mode="after")
    def _test_where_there_is_one(self) -> PublishedColumn:
        if (self.test is None) != (self.metric in (PARAMETERS, MEMORY)):
            raise ValueError("'test' must be given, but not for 'parameters' and 'memory', which belong to no test set")
        return self

    @property
    def is_score(self) -> bool:
        return self.metric not in (PARAMETERS, MEMORY, *ALIGNMENT)


class PublishedScoresRow(Model):
    """What is printed of one system, and the entries of our configuration that stand for it."""

    row: str = Field(description="The system as the paper names it.")
    encoding: Name = Field(description="A name in encodings.yaml.")
    size: Name = Field(description="A name in sizes.yaml.")
    scores: list[float | None] = Field(
        default=[],
        description="One a column; null where nothing is printed, and for 'parameters', whose counts are those of "
        "published/parameters.yaml.",
    )
    gaps: list[float | None] = Field(
        default=[],
        description="One a column: differences from the baseline, where the paper prints nothing else.",
    )
    marks: list[str | None] = Field(
        default=[], description="One a column: what stands after the score, a key of 'marks_mean'."
    )
    derived: str | None = Field(
        default=None, description="From what the numbers follow, where the paper prints them in another place."
    )
    runs: list[list[float]] = Field(
        default=[], description="For each column the printed runs, of which it is the mean."
    )

    def score(self, column: int) -> float | None:
        return self.scores[column] if self.scores else None

    def gap(self, column: int) -> float | None:
        return self.gaps[column] if self.gaps else None

    def mark(self, column: int) -> str | None:
        return self.marks[column] if self.marks else None


class CopiedRow(Model):
    """A row that a table copies from elsewhere, of a system that nothing of ours stands for."""

    row: str
    source: str = Field(description="From where the paper has it, as the table says.")
    scores: list[float | None] = Field(description="One a column.")


class PublishedScores(Model):
    """One table of a paper."""

    name: Name = Field(description="What a study calls it.")
    paper: str
    table: str
    baseline: str = Field(description="The row that the others are compared with.")
    computed: str = Field(description="How the paper computed its scores, and its marks.")
    runs: Positive = Field(default=1, description="Of how many runs each score is the mean.")
    marks_mean: dict[str, Rate] = Field(
        default={},
        description="For each mark the p below which a score that is better than the baseline's has it.",
    )
    columns: Annotated[list[PublishedColumn], Field(min_length=1)]
    rows: Annotated[list[PublishedScoresRow], Field(min_length=1)]
    copied: list[CopiedRow] = Field(default=[], description="Rows above the paper's own, which are shown alone.")

    @model_validator(mode="after")
    def _rows_fit(self) -> PublishedScores:
        names = [row.row for row in self.rows]
        for row in self.rows:
            if names.count(row.row) > 1:
                raise ValueError(f"two rows are called '{row.row}'")
            kinds = ("scores", "gaps", "marks", "runs")
            lists: dict[str, Sequence[Any]] = {kind: getattr(row, kind) for kind in kinds}
            for kind, values in lists.items():
                if values and len(values) != len(self.columns):
                    raise ValueError(f"'{row.row}' has {len(values)} {kind} for {len(self.columns)} columns")
            if row.row != self.baseline and not (row.scores or row.gaps):
                raise ValueError(f"'{row.row}' has neither 'scores' nor 'gaps'")
            for mark in filter(None, row.marks):
                if mark not in self.marks_mean:
                    raise ValueError(f"'{row.row}' has the mark '{mark}', which is no key of 'marks_mean'")
        for copied in self.copied:
            if len(copied.scores) != len(self.columns):
                raise ValueError(f"'{copied.row}' has {len(copied.scores)} scores for {len(self.columns)} columns")
        if self.baseline not in names:
            raise ValueError(f"the baseline '{self.baseline}' is no row of this table")
        if self.base.gaps:
            raise ValueError(f"'{self.baseline}' is the baseline, from which it has no 'gaps'")
        return self

    @model_validator(mode="after")
    def _gaps_fit(self) -> PublishedScores:
        for index, column in enumerate(self.columns):
            scored = [row for row in self.rows if row.score(index) is not None]
            differing = [row for row in self.rows if row.gap(index) is not None]
            for row in differing:
                if row in scored:
                    raise ValueError(f"'{row.row}' has a score and a gap in the column '{column.column}'; one says it")
            if scored and differing and self.base not in scored:
                raise ValueError(f"the column '{column.column}' has scores and gaps, but its baseline has no score")
        return self

    @property
    def base(self) -> PublishedScoresRow:
        """The row of the baseline."""
        return next(row for row in self.rows if row.row == self.baseline)

    @property
    def has_counts(self) -> bool:
        return any(column.metric == PARAMETERS for column in self.columns)

    @property
    def has_alignments(self) -> bool:
        return any(column.metric in ALIGNMENT for column in self.columns)

    def printed_gap(self, row: PublishedScoresRow, column: int) -> float | None:
        """By how much a row is printed to differ from the baseline; None for the baseline, and where it is not said."""
        score, base = row.score(column), self.base.score(column)
        if row.gap(column) is not None or row.row == self.baseline:
            return row.gap(column)
        return None if score is None or base is None else score - base

    def in_order(self, column: int) -> list[tuple[PublishedScoresRow, float]]:
        """The rows of which a column says something, with numbers that differ as they do.

        The scores; where there are differences alone, the baseline stands for 0.
        """
        base = self.base.score(column)
        found = {row.row: row.score(column) for row in self.rows}
        for row in self.rows:
            gap = row.gap(column)
            if gap is not None:
                found |= {row.row: (base or 0.0) + gap, self.baseline: base or 0.0}
        return [(row, value) for row in self.rows if (value := found[row.row]) is not None]

    def _wrong(self, sentence: str, code: str, **attributes: Any) -> WordorderError:
        return WordorderError(f"The published table '{self.name}' {sentence}", code=code, key=self.name, **attributes)

    def with_counts(self, counted: Sequence[PublishedTable]) -> PublishedScores:
        """The same table, its column of parameters filled from the counts of the same table of the same paper."""
        if not self.has_counts:
            return self
        source = next((table for table in counted if (table.paper, table.table) == (self.paper, self.table)), None)
        where = f"the counts of {self.paper}, {self.table}, in published/parameters.yaml"
        if source is None:
            raise self._wrong(f"has a column of parameters, but {where} are missing.", "missing-table")
        names = [row.row for row in self.rows]
        for count in source.rows:
            if count.row not in names:
                sentence = f"has no row '{count.row}', of which {where} speak."
                raise self._wrong(sentence, "unknown-name", found=count.row, expected=names)
            if count.base not in (None, self.baseline):
                sentence = f"has the baseline '{self.baseline}', but {where} count '{count.row}' from '{count.base}'."
                raise self._wrong(sentence, "inconsistent-keys", found=count.base, expected=self.baseline)
        counts = {row.row: row for row in source.rows if row.printed != "none"}
        rows = []
        for row in self.rows:
            scores, gaps = ([own(index) for index in range(len(self.columns))] for own in (row.score, row.gap))
            for place in (index for index, column in enumerate(self.columns) if column.metric == PARAMETERS):
                if scores[place] is not None or gaps[place] is not None:
                    sentence = f"has a count of parameters for '{row.row}'. Write null: its counts are {where}."
                    raise self._wrong(sentence, "inconsistent-keys", found=row.row)
                if row.row in counts:
                    count = counts[row.row]
                    (scores if count.base is None else gaps)[place] = float(count.printed)
            kept = any(gap is not None for gap in gaps)
            rows.append(row.model_copy(update={"scores": scores, "gaps": gaps if kept else []}))
        return self.model_copy(update={"rows": rows})


class PublishedScoreTables(RootModel[list[PublishedScores]]):
    """``config/published/scores.yaml``."""

    @model_validator(mode="after")
    def _names_differ(self) -> PublishedScoreTables:
        names = [table.name for table in self.root]
        for name in names:
            if names.count(name) > 1:
                raise ValueError(f"two tables are called '{name}'")
        return self


class Shown(Model):
    """A published table in a study."""

    table: Name = Field(description="The name of a table in published/scores.yaml.")
    datasets: dict[Name, Name] = Field(
        default={}, description="For a dataset of the table the one of the study that stands in for it."
    )
    tests: dict[Name, Name] = Field(
        default={}, description="For a test set of the table, or its gold set, that of the study that stands in for it."
    )
    sizes: dict[Name, Name] = Field(
        default={}, description="For a size of the table the one of the study that stands in for it."
    )

    def place(self, column: PublishedColumn) -> tuple[str, str]:
        """dataset and test set of ours for a column; the test set is empty where the column has none."""
        test = column.test or ""
        return self.datasets.get(column.dataset, column.dataset), self.tests.get(test, test)


class PublishedInStudy(Model):
    """What a study shows of a published table, with the table itself."""

    shown: Shown
    printed: PublishedScores
    languages: dict[Name, str] = Field(
        default={}, description="By dataset, of the table and of the study: its languages, such as 'en-de'."
    )
