"""The file of docs/add-an-encoding.md, dropped into a folder, becomes a trained, decoded and scored cell."""

from __future__ import annotations

from pathlib import Path

import pytest

from guide import block
from little_study import Workspace, cell
from snakemake_runs import snakemake
from wordorder.files import read_json

pytestmark = pytest.mark.xdist_group("finished_study")


def test_one_file_and_one_entry_make_a_cell(study: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "my_plugins"
    (folder / "encodings").mkdir(parents=True)
    (folder / "encodings/slope.py").write_text(block("python"), encoding="utf-8")
    monkeypatch.setenv("WORDORDER_PLUGINS", str(folder))
    study.change("encodings.yaml", "sinusoidal:", "slope: {type: slope}\nsinusoidal:")
    study.change("studies/little.yaml", "[opr, sinusoidal]", "[opr, sinusoidal, slope]")
    done = snakemake(study.folder, *study.arguments())
    assert done.returncode == 0, done.stdout + done.stderr
    scores = read_json(study.folder / cell("slope", "test.scores.json"))
    assert isinstance(scores["metrics"]["bleu"]["score"], float)
    assert len((study.folder / cell("slope", "test.hypotheses")).read_text().splitlines()) == 20
    record = read_json(study.folder / cell("slope", "record.json"))
    assert record["cell"]["encoding"] == {"type": "slope", "placement": "both", "octaves": 8.0}
    tables = study.folder / "results/little/tables"
    assert "slope" in (tables / "scores.csv").read_text()
    assert study.would_run() == {}
