"""``wordorder plan``: what a study will cost."""

from __future__ import annotations

from pathlib import Path

import pytest

from snakemake_runs import ROOT
from wordorder.cli import main
from wordorder.config.models import Recipe
from wordorder.files import write_json
from wordorder.status.estimate import estimate, planned_tokens, speeds

CONFIG = ROOT / "config"


def finished(results: Path, study: str, encoding: str, size: str, speed: float, **others: object) -> None:
    record = {"target_tokens_per_second": speed, "precision": "fp32", "device": "cpu", **others}
    write_json(results / study / "cells/grammar" / encoding / size / "1" / "record.json", record)


@pytest.mark.parametrize(
    ("recipe", "corpus", "tokens"),
    [
        ({"max_epochs": 5}, 1000, 5000),
        ({"max_epochs": 5}, None, None),
        ({"max_updates": 10, "batch_tokens": 64, "accumulate": 2}, None, 1280),
        ({"max_updates": 10, "batch_tokens": 64, "max_epochs": 2}, 300, 600),
        ({"max_updates": 10, "batch_tokens": 64, "max_epochs": 2}, 400, 640),
    ],
)
def test_a_training_ends_at_the_first_of_its_limits(recipe: dict[str, int], corpus: int | None, tokens: int) -> None:
    assert planned_tokens(Recipe.model_validate(recipe), corpus) == tokens


def test_speeds_are_medians_of_finished_trainings_of_the_same_precision(tmp_path: Path) -> None:
    for encoding, speed in (("none", 100.0), ("opr", 300.0), ("rope", 200.0)):
        finished(tmp_path, "one", encoding, "micro", speed)
    finished(tmp_path, "two", "none", "micro", 9000.0, precision="bf16")
    finished(tmp_path, "two", "opr", "base", 50.0)
    finished(tmp_path, "two", "none", "base", 5000.0, device="cuda")
    assert {size: str(speed) for size, speed in speeds(tmp_path, "fp32").items()} == {
        "micro": "200 tokens/s (cpu, 3 measured)",
        "base": "5,000 tokens/s (cuda, 1 measured)",
    }


def test_the_hours_are_those_of_the_cells_that_are_left(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (part,) = estimate("demo", CONFIG, tmp_path)
    assert (part.cells, part.done, part.tokens, part.hours) == (12, 0, None, None)
    meta = {"target_tokens": 720_000, "vocabulary_size": 1000}
    write_json(tmp_path / "data/grammar/binary/train/meta.json", meta)
    finished(tmp_path, "demo", "opr", "micro", 1000.0)
    (part,) = estimate("demo", CONFIG, tmp_path)
    assert part.done == 1 and part.tokens == 4 * 720_000
    assert part.hours == pytest.approx(11 * 2_880_000 / 1000 / 3600)
    # 791,040 parameters as OPR's record of the demo says, and the encoding's own of the largest.
    assert 791_040 <= part.parameters < 900_000 and part.model_bytes == 12 * part.parameters * 4
    assert main(["plan", "demo", "--root", str(CONFIG), "--results", str(tmp_path)]) == 0
    said = capsys.readouterr().out
    assert "12 cells, 1 done, 11 to train; 8.8 hours of training" in said and "not measured" not in said


def test_an_unknown_study_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", "dmeo", "--root", str(CONFIG), "--results", str(tmp_path)]) == 1
    assert "There is no study 'dmeo'" in capsys.readouterr().err
