"""The resources that jobs request from a cluster; a change of resources reruns nothing."""

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
    """The resources of the training runs with one dataset and one size.

    Attributes:
        dataset: A pattern of dataset names.
        size: A pattern of size names.
        memory_gb: The memory per node of the first attempt in GB.
        hours: The time limit of the first attempt in hours.
        nodes: The number of nodes.
        cpus: The number of CPU cores per node.
        gpus: The number of GPUs per node.
    """

    dataset: str
    size: str
    memory_gb: float
    hours: float
    nodes: float
    cpus: float
    gpus: float


class TrainingTable:
    """The table of the resources of training runs.

    Args:
        path: The file; its columns are the fields of :class:`Row`, separated by white space. The first matching row
            applies.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    @cached_property
    def rows(self) -> list[Row]:
        """The rows in their order.

        Raises:
            WordorderError: The file cannot be read, or a row is invalid.
        """
        with reading(self.path):
            lines = self.path.read_text(encoding="utf-8", errors="replace").splitlines()
        rows = (self._row(number, line) for number, line in enumerate(lines, start=1) if line.partition("#")[0].split())
        return list(rows)

    def check(self) -> None:
        """Check the table by reading it.

        Raises:
            WordorderError: The file cannot be read, or a row is invalid.
        """
        _ = self.rows

    def row(self, dataset: str, size: str) -> Row:
        """Return the first row that matches a dataset and a size.

        Raises:
            WordorderError: No row matches.
        """
        for row in self.rows:
            if fnmatch(dataset, row.dataset) and fnmatch(size, row.size):
                return row
        raise WordorderError(
            f"{self.path} has no row for the dataset '{dataset}' and the size '{size}'. Add such a row, or a row with "
            "'*' in both columns.",
            code="no-row-fits",
            path=self.path,
        )

    def _row(self, number: int, line: str) -> Row:
        try:
            dataset, size, *numbers = line.partition("#")[0].split()
            row = Row(dataset, size, *map(float, numbers))
        except (ValueError, TypeError):
            columns = f"the columns {', '.join(Row._fields)} with a number in each of the last five"
            raise at_line(
                self.path, number, f"expected {columns}, found '{line.strip()}'. Correct the row.", code="wrong-row"
            ) from None
        if found := _range_problem(row):
            column, problem = found
            raise at_line(self.path, number, f"{problem}. Correct the row.", code="wrong-row", key=column)
        return row


def _range_problem(row: Row) -> tuple[str, str] | None:
    """Return the first column with an invalid number and a clause about it; None if all numbers are valid."""
    for column in ("memory_gb", "hours"):
        value = getattr(row, column)
        if not 0 < value < inf:
            return column, f"'{column}' must be a number above 0, not {value:g}"
    for column, least in (("nodes", 1), ("cpus", 1), ("gpus", 0)):
        value = getattr(row, column)
        if not value >= least or value % 1:
            return column, f"'{column}' must be an integer of at least {least}, not {value:g}"
    return None


class Resources:
    """The resources of rules, as functions of the wildcards and the attempt, which Snakemake calls.

    A training run on one node is one task, which starts a process for each of its GPUs. A run on several nodes is one
    task per GPU, or one per node without GPUs, and ``mpi`` makes Snakemake start them with srun. None means that a
    resource is not requested.

    Args:
        table: The table of the resources of training runs.
    """

    def __init__(self, table: TrainingTable) -> None:
        self.table = table

    def _of(self, wildcards: Any) -> Row:
        return self.table.row(wildcards.dataset, wildcards.size)

    def memory(self, wildcards: Any, attempt: int) -> int:
        """Return the megabytes of a training run; each further attempt gets the same amount more."""
        return round(self._of(wildcards).memory_gb * 1000 * attempt)

    def minutes(self, wildcards: Any, attempt: int) -> int:
        """Return the minutes of a training run; each further attempt gets the same amount more."""
        return round(self._of(wildcards).hours * 60 * attempt)

    def nodes(self, wildcards: Any) -> int:
        """Return the number of nodes of a training run.

        Even a single node is requested, because SLURM may otherwise distribute GPUs over several nodes.
        """
        return round(self._of(wildcards).nodes)

    def gpus(self, wildcards: Any) -> int:
        """Return the number of GPUs of a training run on all nodes."""
        row = self._of(wildcards)
        return round(row.nodes * row.gpus)

    def one_gpu(self, wildcards: Any) -> int:
        """Return 1 for a job that uses a model that was trained on GPUs; otherwise 0."""
        return min(1, round(self._of(wildcards).gpus))

    def cpus_per_task(self, wildcards: Any) -> int:
        """Return the number of CPUs per task of a training run."""
        row = self._of(wildcards)
        tasks = max(1, row.gpus) if row.nodes > 1 else 1
        return max(1, round(row.cpus // tasks))

    def mpi(self, wildcards: Any) -> str | None:
        """Return the program that starts the tasks of a training run on several nodes."""
        return "srun" if self._tasks(wildcards) else None

    def tasks(self, wildcards: Any) -> int | None:
        """Return the number of tasks of a training run with one task per node."""
        return self.nodes(wildcards) if self._tasks(wildcards) == 1 else None

    def tasks_per_gpu(self, wildcards: Any) -> int | None:
        """Return the number of tasks per GPU, which the executor would otherwise take from ``tasks``."""
        return 1 if self._tasks(wildcards) == 1 else None

    def tasks_per_node(self, wildcards: Any) -> int | None:
        """Return the number of tasks per node of a training run with several GPUs per node."""
        tasks = self._tasks(wildcards)
        return tasks if tasks and tasks > 1 else None

    def _tasks(self, wildcards: Any) -> int | None:
        row = self._of(wildcards)
        return round(max(1, row.gpus)) if row.nodes > 1 else None


def grows_with_text(base: float, per_mb: float, most: float = inf, per_thread: float = 0) -> Callable[..., int]:
    """Return a resource function for jobs that read whole texts.

    Args:
        base: The amount (MB or minutes) for an empty text.
        per_mb: The amount per megabyte of the job's ``source`` and, if it has one, ``target``.
        most: The maximum amount of the first attempt with one thread; each further attempt gets the same amount more.
        per_thread: The share of this amount that each further thread adds.

    Returns:
        A function of the wildcards, the input, the attempt and the number of threads.
    """

    def resource(wildcards: Any, input: Any, attempt: int, threads: int = 1) -> int:
        files = [input.source, *([input.target] if "target" in input.keys() else [])]  # noqa: SIM118 - not a mapping
        size_mb = sum(Path(file).stat().st_size for file in files) / 1e6
        return round(min(base + per_mb * size_mb, most) * (1 + per_thread * (threads - 1)) * attempt)

    return resource
