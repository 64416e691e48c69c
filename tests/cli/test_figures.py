from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import get_args

import numpy as np
import pandas as pd
import pytest
import torch

from evaluation_samples import report, write_finished_study, write_lines
from index_samples import index_cells
from wordorder.cli.main import main
from wordorder.config.models import Cell, FigureName, Recipe, Report
from wordorder.figures.catalogue import FIGURES
from wordorder.integrity import is_note
from wordorder.model.architectures.transformer import TransformerSize
from wordorder.model.checkpoint import build_model, save_model

ENCODINGS = ["none", "sinusoidal", "learned", "untrained"]
TABLE = 20
SIZE = TransformerSize(encoder_layers=1, decoder_layers=1, dim=16, ffn_dim=16, heads=2, dropout=0.0)


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> tuple[Report, Path]:
    asked, results = report(ENCODINGS, [1, 2]), tmp_path_factory.mktemp("study")
    write_finished_study(results, asked, {"none": 0.6, "sinusoidal": 0.3, "learned": 0.2})
    torch.manual_seed(0)
    for encoding in ENCODINGS[:3]:
        parameters = {"table": TABLE} if encoding == "learned" else {}
        cell = Cell(encoding={"type": encoding, **parameters}, size=SIZE, recipe=Recipe(max_updates=1), seed=1)
        folder = results / "cells" / "pair" / encoding / "tiny" / "1"
        save_model(folder / "model.pt", cell, 40, build_model(cell, 40).state_dict())
    return asked, results


@pytest.fixture
def study(written: tuple[Report, Path], tmp_path: Path) -> Report:
    """Copy the study to ``tmp_path``, where a test may change it."""
    asked, results = written
    shutil.copytree(results, tmp_path, dirs_exist_ok=True)
    return asked


def figure(name: str, asked: Report, results: Path, *options: str) -> tuple[int, Path]:
    prefix = results / "figures" / name
    command = ["stage", "figure", name, "--config", asked.model_dump_json(), "--results", str(results)]
    return main([*command, "--output-prefix", str(prefix), *options]), prefix


@pytest.mark.parametrize("name", [name for name in FIGURES if name != "mathematics"])
def test_writes_the_same_four_files_twice(name: str, study: Report, tmp_path: Path) -> None:
    written = []
    for _ in range(2):
        status, prefix = figure(name, study, tmp_path)
        assert status == 0
        written.append({path.name: path.read_bytes() for path in prefix.parent.iterdir() if not is_note(path)})
    assert set(written[0]) == {f"{name}.{suffix}" for suffix in ("svg", "pdf", "png", "csv")}
    assert written[0] == written[1]
    assert name == "variance" or "untrained" in written[0][f"{name}.svg"].decode()


def test_every_figure_that_a_study_may_name_is_there() -> None:
    assert set(get_args(FigureName)) == set(FIGURES)


def test_the_study_says_how_many_positions_there_are_to_see(study: Report, tmp_path: Path) -> None:
    status, prefix = figure("similarity_profile", study.model_copy(update={"shown_positions": 12}), tmp_path)
    assert status == 0
    data = pd.read_csv(f"{prefix}.csv").set_index("encoding")
    assert list(data.loc["sinusoidal", "distance"]) == list(range(-6, 6))


def test_similarity_of_trained_models(study: Report, tmp_path: Path) -> None:
    status, prefix = figure("similarity", study, tmp_path, "--length", "9")
    assert status == 0
    data = pd.read_csv(f"{prefix}.csv", keep_default_na=False, na_values=[""]).set_index("encoding")
    sinusoidal = data.loc["sinusoidal", [str(i) for i in range(9)]].to_numpy(dtype=float)
    # Vaswani et al. 2017: PE_i · PE_j depends on |i - j| alone, and every vector has the length sqrt(d / 2).
    assert np.diag(sinusoidal) == pytest.approx(np.ones(9), abs=1e-5)
    assert np.diag(sinusoidal, 2) == pytest.approx(np.full(7, sinusoidal[0, 2]), abs=1e-5)
    assert sinusoidal[0, 1] > sinusoidal[0, 2] > 0
    assert data.loc["none", "note"] == "no vector for a position in the encoder"
    assert data.loc["untrained", "note"] == "no trained model of seed 1"


def test_encoding_matrix_shows_the_table_of_the_model(study: Report, tmp_path: Path) -> None:
    from wordorder.model.checkpoint import load_model

    status, prefix = figure("encoding_matrix", study, tmp_path, "--length", "5", "--stack", "decoder")
    assert status == 0
    data = pd.read_csv(f"{prefix}.csv", keep_default_na=False, na_values=[""]).set_index("encoding")
    table = load_model(tmp_path / "cells/pair/learned/tiny/1/model.pt").encoding.table(5, "decoder")
    assert table is not None
    found = data.loc["learned", [str(i) for i in range(16)]].to_numpy(dtype=float)
    assert found == pytest.approx(table.detach().numpy(), abs=1e-5)


def test_a_table_of_a_training_that_diverged_is_not_shown(study: Report, tmp_path: Path) -> None:
    from wordorder.model.checkpoint import load_model, load_tensors

    path = tmp_path / "cells/pair/learned/tiny/1/model.pt"
    weights = {name: weight * torch.nan for name, weight in load_model(path).state_dict().items()}
    save_model(path, Cell.model_validate_json(load_tensors(path)["cell"]), 40, weights)
    status, prefix = figure("similarity", study, tmp_path)
    assert status == 0
    data = pd.read_csv(f"{prefix}.csv", keep_default_na=False, na_values=[""]).set_index("encoding")
    assert data.loc["learned", "note"] == "the training of seed 1 diverged"


def test_a_learned_table_is_shown_to_its_end(study: Report, tmp_path: Path) -> None:
    status, prefix = figure("similarity", study, tmp_path, "--length", "30")
    assert status == 0
    rows = pd.read_csv(f"{prefix}.csv", keep_default_na=False, na_values=[""])["encoding"].value_counts()
    assert (rows["sinusoidal"], rows["learned"]) == (30, TABLE)


def test_scores_of_another_metric(
    study: Report, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("WORDORDER_ERRORS", "json")
    status, prefix = figure("scores", study, tmp_path, "--metric", "chrf++")
    assert status == 0
    assert ">chrF++</text>" in Path(f"{prefix}.svg").read_text()
    assert set(pd.read_csv(f"{prefix}.csv", keep_default_na=False)["metric"]) == {"chrf++"}
    status, _ = figure("scores", study, tmp_path, "--metric", "ter")
    assert status == 1
    error = json.loads(capsys.readouterr().err)
    assert (error["code"], error["key"], error["found"]) == ("unknown-metric", "--metric", "ter")
    assert error["expected"] == ["bleu", "chrf++"]


def test_what_is_missing_is_said(
    study: Report, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("WORDORDER_ERRORS", "json")
    for options in (["--seed", "2"], ["--dataset", "other"], ["--size", "base"]):
        status, prefix = figure("similarity", study, tmp_path, *options)
        assert status == 1
        error = json.loads(capsys.readouterr().err)
        assert error["code"] == "no-model" and options[0] in error["message"]
        assert not prefix.parent.exists()
    index_cells(tmp_path / "nothing", study)
    status, _ = figure("perplexity", study, tmp_path / "nothing")
    assert status == 1
    error = json.loads(capsys.readouterr().err)
    assert error["code"] == "missing-file" and "metrics.jsonl" in error["message"]


def test_damaged_metrics_are_said(
    study: Report, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("WORDORDER_ERRORS", "json")
    path = tmp_path / "cells/pair/none/tiny/1/metrics.jsonl"
    write_lines(path, [json.dumps({"kind": "valid", "update": 1})[:-3]])
    assert figure("perplexity", study, tmp_path)[0] == 1
    error = json.loads(capsys.readouterr().err)
    assert (error["code"], error["path"]) == ("damaged-file", str(path))
