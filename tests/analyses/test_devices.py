"""Test that finished models are measured on the chosen device, with the results of the CPU."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from analysis_runs import PREPARATION
from elsewhere import DEVICE, Elsewhere
from tiny_models import SIZE, tiny_model
from wordorder.analyses.probes import Sources, cosine_distance
from wordorder.cli.main import main
from wordorder.config import datasets
from wordorder.config.analyses import Analyses
from wordorder.config.models import Cell, Measured, Recipe
from wordorder.data.binary import ParallelCorpus
from wordorder.data.positions import write_positions
from wordorder.data.subword import binarise, train_subword
from wordorder.data.text import write_lines
from wordorder.encodings.registry import parse
from wordorder.files import read_json
from wordorder.model.architectures.base import Translator
from wordorder.model.checkpoint import build_model, save_model
from wordorder.training import device

ENCODINGS = ("rope", "inxl")  # the second needs reordered positions
VOCABULARY = 23


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Sentences that are their own translation, word by word, and a new model of each encoding."""
    folder = tmp_path_factory.mktemp("devices")
    generator = np.random.default_rng(0)
    lines = [" ".join(generator.choice(["haus", "hund", "baum", "und", "rot"], 1 + n % 6)) for n in range(80)]
    write_lines(folder / "many", lines)
    for side in ("source", "target"):
        write_lines(folder / f"raw/test.{side}", lines[:7])
    write_lines(
        folder / "raw/test.alignments", [" ".join(f"{i}-{i}" for i in range(len(line.split()))) for line in lines[:7]]
    )
    train_subword(
        [folder / "many"],
        folder / "subword/model.model",
        config=datasets.Subword(vocabulary=VOCABULARY, subword_sentences=1000),
    )
    text = [folder / f"raw/test.{side}" for side in ("source", "target")]
    binarise(folder / "subword/model.model", *text, folder / "binary/test")
    corpus = ParallelCorpus.open(folder / "binary/test")
    rows = [np.arange(int(length))[::-1] for length in corpus.source_lengths]
    write_positions(folder / "positions/gold/test", rows, kind="gold", corpus=corpus)
    for encoding in ENCODINGS:
        torch.manual_seed(1)
        cell = Cell(encoding={"type": encoding}, size=SIZE, recipe=Recipe(max_updates=1), seed=1)
        save_model(folder / f"{encoding}.pt", cell, VOCABULARY, build_model(cell, VOCABULARY).state_dict())
    return folder


def command(name: str, encoding: str, folder: Path, output: Path) -> list[str]:
    slice_ = Measured(settings=Analyses({name: None}), preparation=PREPARATION).model_dump_json()
    words = f"stage measure {name} --model {folder}/{encoding}.pt --data {folder} --sets test --output {output}".split()
    return [*words, "--config", slice_, *(["--positions", "gold"] if encoding == "inxl" else [])]


def test_a_gpu_is_taken_where_there_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    for available, kind in ((True, "cuda"), (False, "cpu")):
        monkeypatch.setattr(torch.cuda, "is_available", lambda answer=available: answer)
        assert device.of_finished_models().type == kind


def run_elsewhere(arguments: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(device, "of_finished_models", lambda: DEVICE)
    with Elsewhere():
        assert main(arguments) == 0


@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize("name", ["perplexity", "alignment", "attention_distance"])
def test_a_measure_is_that_of_the_cpu(
    name: str, encoding: str, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert main(command(name, encoding, folder, tmp_path / "cpu")) == 0
    models: list[Translator] = []
    load = device.load_model

    def remembered(path: str | Path) -> Translator:
        models.append(load(path))
        return models[-1]

    monkeypatch.setattr(device, "load_model", remembered)
    run_elsewhere(command(name, encoding, folder, tmp_path / "other"), monkeypatch)
    assert next(models[0].parameters()).device == DEVICE
    assert (tmp_path / "other").read_text() == (tmp_path / "cpu").read_text()


def test_probes_compare_what_the_encoder_gave_on_its_device() -> None:
    tokens = [np.array([5, 6, 7]), np.array([8, 9])]
    before = Sources(tokens, [np.array([2, 0, 1]), np.array([0, 1])])
    orders = [np.array([1, 0, 2]), np.array([1, 0])]
    model = tiny_model(parse({"type": "inxl"}))
    found = cosine_distance(model, before, before.moved(orders, "moved"), orders)
    with Elsewhere():
        assert cosine_distance(model.to(DEVICE), before, before.moved(orders, "moved"), orders) == found


def test_the_time_of_forward_passes_says_of_which_device_it_is(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = Analyses({"forward_time": {"sentences": 2, "length": 4, "passes": 1, "rounds": 1}})
    slice_ = Measured(settings=settings, preparation=PREPARATION).model_dump_json()
    arguments = ["stage", "measure", "forward_time", "--config", slice_]
    arguments += ["--output", str(tmp_path / "out"), "--models", *(f"{name}={folder}/{name}.pt" for name in ENCODINGS)]
    run_elsewhere(arguments, monkeypatch)
    assert read_json(tmp_path / "out")["device"] == DEVICE.type
