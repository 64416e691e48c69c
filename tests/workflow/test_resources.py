"""Tests of wordorder.workflow.resources: what jobs request from a cluster."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from raises import raises
from snakemake_runs import ROOT
from wildcards import Wildcards
from wordorder.errors import WordorderError
from wordorder.workflow.resources import Resources, TrainingTable, grows_with_text

NAMES = ("gpus", "one_gpu", "nodes", "cpus_per_task", "mpi", "tasks", "tasks_per_gpu", "tasks_per_node")
JOB = Wildcards(dataset="grammar", size="micro")


def table(folder: Path, rows: str) -> TrainingTable:
    path = folder / "table"
    path.write_text(rows)
    return TrainingTable(path)


@pytest.mark.parametrize(
    ("rows", "asked"),
    [
        ("gram* micro 3 0.5 1 4 2\n* * 9 9 1 9 9", (2, 1, 1, 4, None, None, None, None)),
        ("grammar base 3 0.5 1 4 2\n# a comment\n\n* * 9 9 1 9 8  # more", (8, 1, 1, 9, None, None, None, None)),
        ("* * 3 1 1 2 0", (0, 0, 1, 2, None, None, None, None)),
        ("* * 3 1 2 9 4", (8, 1, 2, 2, "srun", None, None, 4)),
        ("* * 3 1 3 4 1", (3, 1, 3, 4, "srun", 3, 1, None)),
        ("* * 3 1 2 4 0", (0, 0, 2, 4, "srun", 2, 1, None)),
        ("* * 3 1 2 1 4", (8, 1, 2, 1, "srun", None, None, 4)),  # no fewer CPUs than one
    ],
)
def test_the_first_row_that_fits_counts(rows: str, asked: tuple[object, ...], tmp_path: Path) -> None:
    resources = Resources(table(tmp_path, rows))
    assert tuple(getattr(resources, name)(JOB) for name in NAMES) == asked


def test_every_attempt_gets_as_much_again(tmp_path: Path) -> None:
    resources = Resources(table(tmp_path, "* * 3 0.5 1 4 2"))
    assert [resources.memory(JOB, attempt) for attempt in (1, 2, 3)] == [3000, 6000, 9000]
    assert [resources.minutes(JOB, attempt) for attempt in (1, 2, 3)] == [30, 60, 90]


def test_a_training_without_a_row_is_an_error(tmp_path: Path) -> None:
    found = table(tmp_path, "grammar base 3 0.5 1 4 2")
    with pytest.raises(WordorderError) as caught:
        Resources(found).memory(JOB, 1)
    assert caught.value.code == "no-row-fits" and caught.value.path == found.path


@pytest.mark.parametrize(
    ("rows", "line", "said"),
    [
        ("* * 3 0.5 1 4", 1, "columns dataset, size, memory_gb, hours, nodes, cpus, gpus"),
        ("* * 3 much 1 4 2", 1, "'* * 3 much 1 4 2'"),
        ("* * 3 1 1 4 2 9", 1, "'* * 3 1 1 4 2 9'"),
        ("# a comment\n* * -2 1 1 1 0", 2, "'memory_gb'"),
        ("* * 2 inf 1 1 0", 1, "'hours'"),
        ("* * 2 1 0 1 0", 1, "'nodes'"),
        ("* * 2 1 1 nan 0", 1, "'cpus'"),
        ("* * 2 1 1 1 0.5", 1, "'gpus'"),
    ],
)
def test_a_mistake_names_its_line_and_column(rows: str, line: int, said: str, tmp_path: Path) -> None:
    found = table(tmp_path, rows)
    with raises("wrong-row", path=found.path, line=line, says=said):
        found.check()


def test_a_missing_table_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(WordorderError) as caught:
        TrainingTable(tmp_path / "table").check()
    assert str(tmp_path / "table") in str(caught.value)


def test_the_shipped_table_fits_every_training() -> None:
    shipped = TrainingTable(ROOT / "slurm/training.tsv")
    assert shipped.row("grammar", "micro").gpus == 0 and shipped.row("anything", "big").gpus == 1


def test_what_holds_a_whole_text_grows_with_it(tmp_path: Path) -> None:
    source, target = tmp_path / "source", tmp_path / "target"
    for path, size in ((source, 2_000_000), (target, 3_000_000)):
        with path.open("wb") as file:
            file.truncate(size)
    one = SimpleNamespace(source=str(source), keys=lambda: ["source"])
    two = SimpleNamespace(source=str(source), target=str(target), keys=lambda: ["source", "target"])
    memory = grows_with_text(2000, 10)
    assert memory(JOB, one, 1) == 2020 and memory(JOB, two, 1) == 2050 and memory(JOB, two, 3) == 6150
    capped = grows_with_text(2000, 10, most=2030, per_thread=0.5)
    assert capped(JOB, two, 2) == 4060 and capped(JOB, two, 2, threads=3) == 8120
