"""Trainings with code from outside of the package, which their records and models name."""

from __future__ import annotations

from pathlib import Path

import pytest

from guide import plugin
from raises import raises
from training_runs import cell, write_reversals
from wordorder.files import read_json
from wordorder.model.checkpoint import load_model
from wordorder.registry import registry_of
from wordorder.training import device
from wordorder.training import run as run_module
from wordorder.training.run import run


def test_a_training_without_the_workflow_names_the_code_of_its_encoding(
    tmp_path: Path, plugins: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_module, "_listen", lambda: lambda: False)  # The signals are those of the tests.
    monkeypatch.setattr(device, "prepare", lambda precision: None)
    file, model, record = plugins / "encodings/slope.py", tmp_path / "model.pt", tmp_path / "record.json"
    file.write_text(plugin("encodings"), encoding="utf-8")
    own = cell(encoding={"type": "slope"}, max_updates=1)
    corpora = {name: write_reversals(tmp_path / name, pairs=20, seed=1) for name in ("train", "valid")}
    run(own, **corpora, model=model, metrics=tmp_path / "metrics.jsonl", record=record, state=tmp_path / "state")
    assert read_json(record)["cell"]["code"] == {"encodings/slope": registry_of("encodings").code("slope")}
    load_model(model)
    file.write_text(plugin("encodings") + "CHANGED = True\n", encoding="utf-8")
    registry_of("encodings").forget_discovery()
    with raises("changed-extension", path=file):
        load_model(model)
