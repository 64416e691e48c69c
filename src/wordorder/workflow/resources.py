"""What jobs ask of a cluster. Resources are not part of what a job computes: changing them runs nothing again."""

from __future__ import annotations

from collections.abc import Callable
from fnmatch import fnmatch
from functools import cached_property
from math import inf
from pathlib import Path
from typing import Any, NamedTuple

from wordorder.errors import WordorderError, at_line
from wordorder.files import reading


class Row(NamedTuple):
    """What the trainings of one kind need of each node; the first attempt's memory (GB) and time (hours)."""

    dataset: str
    size: str
    memory_gb: float
    hours: float
    nodes: float
    cpus: float
    gpus: float


class TrainingTable:
    """The table of what trainings need, by dataset and size.

    Args:
        path: The file; its columns are the fields of :class:`Row`, separated by white space. The first row that
            fits counts.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    @cached_property
    def rows(self) -> list[Row]:
        """The rows in their order.

        Raises:
            WordorderError: The file cannot be read, or a row is wrong.
        """
        with reading(self.path):
            lines = self.path.read_text(encoding="utf-8", errors="replace").splitlines()
        rows = (self._row(number, line) for number, line in enumerate(lines, start=1) if line.partition("#")[0].split())
        return list(rows)

    def check(self) -> None:
        """Read the table.

        Raises:
            WordorderError: The file cannot be read, or a row is wrong.
        """
        _ = self.rows

    def row(self, dataset: str, size: str) -> Row:
        """Return the first row that fits a dataset and a size.

        Raises:
            WordorderError: No row fits.
        """
        for row in self.rows:
            if fnmatch(dataset, row.dataset) and fnmatch(size, row.size):
                return row
        raise WordorderError(
            f"{self.path}: no row fits the size '{size}' on the dataset '{dataset}'. Add a row, or one with '*'.",
            code="no-row-fits",
            path=self.path,
        )

    def _row(self, number: int, line: str) -> Row:
        try:
            dataset, size, *numbers = line.partition("#")[0].split()
            row = Row(dataset, size, *map(float, numbers))
        except (ValueError, TypeError):
            columns = f"the columns {', '.join(Row._fields)} with a number in each of the last five"
            raise at_line(self.path, number, f"expected {columns}, found '{line.strip()}'.", code="wrong-row") from None
        if problem := _range_problem(row):
            raise at_line(self.path, number, f"{problem}.", code="wrong-row")
        return row


def _range_problem(row: Row) -> str | None:
    """Return what no training can take; None where everything is in range."""
    for column in ("memory_gb", "hours"):
        value = getattr(row, column)
        if not 0 < value < inf:
            return f"'{column}' must be more than 0, not {value:g}"
    for column, least in (("nodes", 1), ("cpus", 1), ("gpus", 0)):
        value = getattr(row, column)
        if not value >= least or value % 1:
            return f"'{column}' must be a whole number of at least {least}, not {value:g}"
    return None


class Resources:
    """Resources of rules, as the functions of wildcards and attempts that Snakemake asks.

    A training on one node is one task, which starts a process for each of its GPUs. A training on several nodes is
    one task per GPU, or one per node where there are no GPUs, and ``mpi`` tells Snakemake to let srun start them. None
    means that a resource is not requested.

    Args:
        table: The table of trainings.
    """

    def __init__(self, table: TrainingTable) -> None:
        self.table = table

    def _of(self, wildcards: Any) -> Row:
        return self.table.row(wildcards.dataset, wildcards.size)

    def memory(self, wildcards: Any, attempt: int) -> int:
        """Megabytes of a training; every further attempt gets as much again."""
        return round(self._of(wildcards).memory_gb * 1000 * attempt)

    def minutes(self, wildcards: Any, attempt: int) -> int:
        """Minutes of a training; every further attempt gets as much again."""
        return round(self._of(wildcards).hours * 60 * attempt)

    def nodes(self, wildcards: Any) -> int:
        """Nodes of a training, also where it is one: GPUs without a number of nodes may be given on several."""
        return round(self._of(wildcards).nodes)

    def gpus(self, wildcards: Any) -> int:
        """All GPUs of a training."""
        row = self._of(wildcards)
        return round(row.nodes * row.gpus)

    def one_gpu(self, wildcards: Any) -> int:
        """One GPU for a job that runs a model whose training used any."""
        return min(1, round(self._of(wildcards).gpus))

    def cpus_per_task(self, wildcards: Any) -> int:
        """CPUs of each task of a training."""
        row = self._of(wildcards)
        tasks = max(1, row.gpus) if row.nodes > 1 else 1
        return max(1, round(row.cpus // tasks))

    def mpi(self, wildcards: Any) -> str | None:
        """The program that starts the tasks of a training on several nodes."""
        return "srun" if self._tasks(wildcards) else None

    def tasks(self, wildcards: Any) -> int | None:
        """All tasks, of a training with one per node."""
        return self.nodes(wildcards) if self._tasks(wildcards) == 1 else None

    def tasks_per_gpu(self, wildcards: Any) -> int | None:
        """Tasks per GPU, which the executor otherwise takes from ``tasks``."""
        return 1 if self._tasks(wildcards) == 1 else None

    def tasks_per_node(self, wildcards: Any) -> int | None:
        """Tasks of each node, of a training with several GPUs per node."""
        tasks = self._tasks(wildcards)
        return tasks if tasks and tasks > 1 else None

    def _tasks(self, wildcards: Any) -> int | None:
        row = self._of(wildcards)
        return round(max(1, row.gpus)) if row.nodes > 1 else None


def grows_with_text(base: float, per_mb: float, most: float = inf) -> Callable[..., int]:
    """Return a resource (MB or minutes) of a job that reads whole texts.

    Args:
        base: The amount for an empty text.
        per_mb: The amount per megabyte of the job's ``source`` and, where it has one, ``target``.
        most: The largest amount of a first attempt; every further attempt gets as much again.
    """

    def resource(wildcards: Any, input: Any, attempt: int) -> int:
        files = [input.source, *([input.target] if "target" in input.keys() else [])]  # noqa: SIM118 - not a mapping
        size_mb = sum(Path(file).stat().st_size for file in files) / 1e6
        return round(min(base + per_mb * size_mb, most) * attempt)

    return resource
