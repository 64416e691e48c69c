"""Tests of the time of forward passes, for which models take turns."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch

from analysis_runs import PREPARATION, computed, drawn
from evaluation_samples import report
from tiny_models import SIZE, VOCABULARY
from wordorder.analyses.forward_time import ForwardTime
from wordorder.cli.main import main
from wordorder.config.analyses import Analyses
from wordorder.config.models import Analysed, Cell, Measured, Recipe
from wordorder.files import write_json
from wordorder.model.checkpoint import build_model, load_model, save_model

SETTINGS = ForwardTime(sentences=3, length=5, passes=2, rounds=4)


def saved(folder: Path, encoding: str) -> Path:
    torch.manual_seed(0)
    cell = Cell(encoding={"type": encoding}, size=SIZE, recipe=Recipe(max_updates=1), seed=1)
    path = folder / f"{encoding}.pt"
    save_model(path, cell, VOCABULARY, build_model(cell, VOCABULARY).state_dict())
    return path


def test_every_model_passes_the_same_batch_in_every_round(tmp_path: Path) -> None:
    models = {name: load_model(saved(tmp_path, name)) for name in ("none", "inxl")}
    seen: list[tuple[str, list[int]]] = []
    for name, model in models.items():
        model.register_forward_pre_hook(lambda _, given, name=name: seen.append((name, given[0].flatten().tolist())))
    found = SETTINGS.measure(models)
    assert [name for name, _ in seen] == ["none", "none", "inxl", "inxl"] * 5, "four rounds and one to warm up"
    assert all(batch == seen[0][1] and len(batch) == 15 for _, batch in seen)
    assert {name: len(seconds) for name, seconds in found["seconds"].items()} == {"none": 4, "inxl": 4}
    assert min(min(seconds) for seconds in found["seconds"].values()) > 0


def test_a_ratio_is_of_one_round_and_what_was_not_measured_is_said(tmp_path: Path) -> None:
    measured = {"seconds": {"none": [1.0, 2.0, 4.0], "opr": [2.0, 3.0, 4.0]}, "device": "cpu", "threads": 2}
    write_json(tmp_path / "measures/forward_time/pair.tiny.json", measured)
    asked = Analysed.model_validate({"report": report(["none", "opr", "rope"], [1]), "settings": {"forward_time": {}}})
    rows = computed(asked, tmp_path, tmp_path)
    assert list(rows.loc[rows["encoding"] == "opr", "ratio"]) == [2, 1.5, 1]
    assert list(rows.loc[rows["encoding"] == "rope", "status"]) == ["missing"]
    (panel,) = drawn(asked, rows).axes
    said = [text.get_text() for text in panel.texts]
    assert said == [" not measured", "1.50 (3.00 s)", "1.00 (2.00 s)"]
    assert panel.get_xlabel() == "time over that of none (cpu, 2 threads)"
    none = computed(asked, tmp_path / "nowhere", tmp_path)
    assert "not measured" in [text.get_text() for text in drawn(asked, none).axes[0].texts]


def test_a_panel_has_the_encodings_of_its_size(tmp_path: Path) -> None:
    study = report(["none", "opr", "rope"], [1])
    only = {"tiny": ["none", "opr"], "base": ["opr", "rope"]}
    study = study.model_copy(update={"sizes": ["tiny", "base"], "only": only})
    asked = Analysed.model_validate({"report": study.model_dump(), "settings": {"forward_time": {}}})
    for size, names in only.items():
        measured = {"seconds": {name: [1.0, 2.0] for name in names}, "device": "cpu", "threads": 2}
        write_json(tmp_path / f"measures/forward_time/pair.{size}.json", measured)
    panels = {panel.get_title()[-4:]: panel for panel in drawn(asked, computed(asked, tmp_path, tmp_path)).axes}
    assert [label.get_text() for label in panels["tiny"].get_yticklabels()] == ["opr", "none"]
    assert [text.get_text() for text in panels["tiny"].texts] == ["1.00 (1.50 s)"] * 2
    assert [text.get_text() for text in panels["base"].texts] == ["no measurements of none"]


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    slice_ = Measured(settings=Analyses({"forward_time": SETTINGS}), preparation=PREPARATION).model_dump_json()
    command = ["stage", "measure", "forward_time", "--config", slice_, "--output", str(tmp_path / "out")]
    assert main([*command, "--models", f"a={saved(tmp_path, 'none')}", f"b={saved(tmp_path, 'rope')}"]) == 0
    assert list(json.loads((tmp_path / "out").read_text())["seconds"]) == ["a", "b"]
    assert main([*command, "--models", "model.pt"]) == 1
    assert "--models takes NAME=PATH, not 'model.pt'." in capsys.readouterr().err
