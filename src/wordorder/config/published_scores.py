"""Typed model of ``config/published/scores.yaml``: the scores that the papers print."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

from pydantic import Field, RootModel, model_validator

from wordorder.config.base import Model, Name, Positive, Rate
from wordorder.config.published import PublishedTable
from wordorder.errors import WordorderError

# The tables of a study that compare published scores with ours.
PUBLISHED_TABLES = ("published", "orderings")

# Columns that do not contain scores: parameters in millions, GPU memory in GB, and alignment rates in per cent.
PARAMETERS, MEMORY = "parameters", "memory"
ALIGNMENT = ("aer", "precision", "recall")


class PublishedColumn(Model):
    """One column of a table, with the dataset, test set and metric of ours that correspond to it."""

    column: str = Field(description="Heading of the column in the paper.")
    dataset: Name = Field(description="Name of a file in datasets/.")
    test: Name | None = Field(
        default=None,
        description="Test set of the dataset. For 'aer', 'precision' and 'recall', the gold alignment set. Not allowed "
        "for 'parameters' and 'memory'.",
    )
    metric: Name = Field(
        description="Metric of a study; or 'parameters' (millions), 'memory' (GB of GPU memory), 'aer', 'precision' or "
        "'recall' (per cent, from the analysis 'alignment')."
    )
    decimals: int = Field(default=2, ge=0, description="Number of decimals in the paper.")

    @model_validator(mode="after")
    def _test_where_there_is_one(self) -> PublishedColumn:
        if (self.test is None) != (self.metric in (PARAMETERS, MEMORY)):
            raise ValueError(
                "'test' is required for metrics of a test set, and not allowed for 'parameters' and 'memory'"
            )
        return self

    @property
    def is_score(self) -> bool:
        """Whether the column contains scores by a metric."""
        return self.metric not in (PARAMETERS, MEMORY, *ALIGNMENT)


class PublishedScoresRow(Model):
    """The printed numbers of one system, with the configuration entries that correspond to it."""

    row: str = Field(description="The system as the paper names it.")
    encoding: Name = Field(description="A name in encodings.yaml.")
    size: Name = Field(description="A name in sizes.yaml.")
    scores: list[float | None] = Field(
        default=[],
        description="One number per column. Write null for missing numbers and for 'parameters', whose counts come "
        "from published/parameters.yaml.",
    )
    gaps: list[float | None] = Field(
        default=[],
        description="One number per column: the difference from the baseline, if the paper prints no score.",
    )
    marks: list[str | None] = Field(
        default=[], description="One per column: the significance mark after the score, a key of 'marks_mean'."
    )
    derived: str | None = Field(
        default=None, description="How the numbers were derived, if the paper does not print them in this table."
    )
    runs: list[list[float]] = Field(
        default=[], description="For each column, the printed runs whose mean is the score."
    )

    def score(self, column: int) -> float | None:
        """Return the printed score in a column; None if there is none."""
        return self.scores[column] if self.scores else None

    def gap(self, column: int) -> float | None:
        """Return the printed difference from the baseline in a column; None if the paper prints no difference."""
        return self.gaps[column] if self.gaps else None

    def mark(self, column: int) -> str | None:
        """Return the significance mark in a column; None if there is none."""
        return self.marks[column] if self.marks else None


class CopiedRow(Model):
    """A row that a table copies from another publication; no system of ours corresponds to it."""

    row: str = Field(description="The system as the paper names it.")
    source: str = Field(description="Source of the row, as the table names it.")
    scores: list[float | None] = Field(description="One number per column.")


class PublishedScores(Model):
    """One table of scores in a paper."""

    name: Name = Field(description="Name by which studies refer to the table.")
    paper: str = Field(description="The paper, as claims refer to it.")
    table: str = Field(description="Number of the table in the paper.")
    baseline: str = Field(description="Row with which the other rows are compared.")
    computed: str = Field(description="How the paper computed its scores and significance marks.")
    runs: Positive = Field(default=1, description="Number of runs whose mean each score is.")
    marks_mean: dict[str, Rate] = Field(
        default={},
        description="For each significance mark, its level: the mark is after scores that are better than the baseline "
        "with a smaller p-value.",
    )
    columns: Annotated[list[PublishedColumn], Field(min_length=1)] = Field(description="Columns of scores.")
    rows: Annotated[list[PublishedScoresRow], Field(min_length=1)] = Field(description="Systems with their scores.")
    copied: list[CopiedRow] = Field(
        default=[], description="Rows that the paper copies from other publications. They are shown without comparison."
    )

    @model_validator(mode="after")
    def _rows_fit(self) -> PublishedScores:
        names = [row.row for row in self.rows]
        for row in self.rows:
            if names.count(row.row) > 1:
                raise ValueError(f"two rows have the name '{row.row}'")
            kinds = ("scores", "gaps", "marks", "runs")
            lists: dict[str, Sequence[Any]] = {kind: getattr(row, kind) for kind in kinds}
            for kind, values in lists.items():
                if values and len(values) != len(self.columns):
                    raise ValueError(f"'{row.row}' has {len(values)} {kind} for {len(self.columns)} columns")
            if row.row != self.baseline and not (row.scores or row.gaps):
                raise ValueError(f"'{row.row}' has neither 'scores' nor 'gaps'")
            for mark in filter(None, row.marks):
                if mark not in self.marks_mean:
                    raise ValueError(f"'{row.row}' has the mark '{mark}', which is not a key of 'marks_mean'")
        for copied in self.copied:
            if len(copied.scores) != len(self.columns):
                raise ValueError(f"'{copied.row}' has {len(copied.scores)} scores for {len(self.columns)} columns")
        if self.baseline not in names:
            raise ValueError(f"the baseline '{self.baseline}' is not a row of this table")
        if self.base.gaps:
            raise ValueError(f"'{self.baseline}' is the baseline, so it must not have 'gaps'")
        return self

    @model_validator(mode="after")
    def _gaps_fit(self) -> PublishedScores:
        for index, column in enumerate(self.columns):
            scored = [row for row in self.rows if row.score(index) is not None]
            differing = [row for row in self.rows if row.gap(index) is not None]
            for row in differing:
                if row in scored:
                    raise ValueError(
                        f"'{row.row}' has both a score and a gap in the column '{column.column}'; remove one of them"
                    )
            if scored and differing and self.base not in scored:
                raise ValueError(f"the column '{column.column}' has scores and gaps, but its baseline has no score")
        return self

    @property
    def base(self) -> PublishedScoresRow:
        """The row of the baseline."""
        return next(row for row in self.rows if row.row == self.baseline)

    @property
    def has_counts(self) -> bool:
        """Whether a column contains parameter counts."""
        return any(column.metric == PARAMETERS for column in self.columns)

    @property
    def has_alignments(self) -> bool:
        """Whether a column contains alignment rates."""
        return any(column.metric in ALIGNMENT for column in self.columns)

    def printed_gap(self, row: PublishedScoresRow, column: int) -> float | None:
        """Return the published difference of a row from the baseline.

        Args:
            row: The row.
            column: The index of the column.

        Returns:
            The printed difference, or the difference of the printed scores; None for the baseline and where a number
            is missing.
        """
        score, base = row.score(column), self.base.score(column)
        if row.gap(column) is not None or row.row == self.baseline:
            return row.gap(column)
        return None if score is None or base is None else score - base

    def in_order(self, column: int) -> list[tuple[PublishedScoresRow, float]]:
        """Return the rows that have a number in a column.

        Args:
            column: The index of the column.

        Returns:
            The rows with their scores. If the column contains only differences, the baseline counts as 0.
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
        """Fill the column of parameters from the published counts.

        Args:
            counted: The tables of ``published/parameters.yaml``.

        Returns:
            A copy with the counts of the same table in the same paper; this table if it has no such column.

        Raises:
            WordorderError: The counts are missing or contradict this table.
        """
        if not self.has_counts:
            return self
        source = next((table for table in counted if (table.paper, table.table) == (self.paper, self.table)), None)
        where = f"the counts of {self.paper}, {self.table}, in published/parameters.yaml"
        if source is None:
            sentence = f"has a column of parameters, but {where} are missing. Add them, or remove the column."
            raise self._wrong(sentence, "missing-table")
        names = [row.row for row in self.rows]
        for count in source.rows:
            if count.row not in names:
                sentence = f"has no row '{count.row}', but {where} have. Use the same names in both files."
                raise self._wrong(sentence, "unknown-name", found=count.row, expected=names)
            if count.base not in (None, self.baseline):
                sentence = (
                    f"has the baseline '{self.baseline}', but in {where} the count of '{count.row}' is a difference "
                    f"from '{count.base}'. Use the same baseline in both files."
                )
                raise self._wrong(sentence, "inconsistent-keys", found=count.base, expected=self.baseline)
        counts = {row.row: row for row in source.rows if row.printed != "none"}
        rows = []
        for row in self.rows:
            scores, gaps = ([own(index) for index in range(len(self.columns))] for own in (row.score, row.gap))
            for place in (index for index, column in enumerate(self.columns) if column.metric == PARAMETERS):
                if scores[place] is not None or gaps[place] is not None:
                    sentence = f"has a count of parameters for '{row.row}'. Write null instead: its counts are {where}."
                    raise self._wrong(sentence, "inconsistent-keys", found=row.row)
                if row.row in counts:
                    count = counts[row.row]
                    (scores if count.base is None else gaps)[place] = float(count.printed)
            kept = any(gap is not None for gap in gaps)
            rows.append(row.model_copy(update={"scores": scores, "gaps": gaps if kept else []}))
        return self.model_copy(update={"rows": rows})


class PublishedScoreTables(RootModel[list[PublishedScores]]):
    """The contents of ``config/published/scores.yaml``."""

    @model_validator(mode="after")
    def _names_differ(self) -> PublishedScoreTables:
        names = [table.name for table in self.root]
        for name in names:
            if names.count(name) > 1:
                raise ValueError(f"two tables have the name '{name}'")
        return self


class Shown(Model):
    """A published table that a study shows."""

    table: Name = Field(description="Name of a table in published/scores.yaml.")
    datasets: dict[Name, Name] = Field(
        default={}, description="For each dataset of the table, the dataset of the study that replaces it."
    )
    tests: dict[Name, Name] = Field(
        default={},
        description="For each test set or gold alignment set of the table, the one of the study that replaces it.",
    )
    sizes: dict[Name, Name] = Field(
        default={}, description="For each model size of the table, the model size of the study that replaces it."
    )

    def place(self, column: PublishedColumn) -> tuple[str, str]:
        """Return the dataset and test set of the study for a column; the test set is empty for columns without one."""
        test = column.test or ""
        return self.datasets.get(column.dataset, column.dataset), self.tests.get(test, test)


class PublishedInStudy(Model):
    """A published table with the selection of it that a study shows."""

    shown: Shown
    printed: PublishedScores
    languages: dict[Name, str] = Field(
        default={}, description="For each dataset of the table and of the study, its languages, such as 'en-de'."
    )
