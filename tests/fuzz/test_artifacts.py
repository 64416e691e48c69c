"""Test that a single damage to any file that wordorder wrote is detected when the file is read."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pytest
import torch
from matplotlib.figure import Figure

from fuzzing import cases, damaged
from tiny_models import SIZE, VOCABULARY
from wordorder.alignment.hmm import HMMAligner, train
from wordorder.config.datasets import Subword as SubwordSettings
from wordorder.config.models import Cell, Recipe
from wordorder.config.reordering import HMM
from wordorder.config.reordering import Parser as ParserSettings
from wordorder.data.binary import ParallelCorpus, write_corpus
from wordorder.data.positions import write_positions
from wordorder.data.subword import Subword, train_subword
from wordorder.data.text import read_lines, write_lines
from wordorder.data.units import Vocabulary
from wordorder.drawing import style
from wordorder.errors import WordorderError
from wordorder.files import read_json, write_json, write_text
from wordorder.integrity import is_note
from wordorder.model.checkpoint import build_model, load_model, save_model
from wordorder.reordering.classes import read_classes, write_classes
from wordorder.reordering.parser import Parser
from wordorder.report.links import read_csv_file, read_image
from wordorder.results.frames import _json_lines
from wordorder.training.metrics import Metrics
from wordorder.training.state import StateDirectory, average

TEXT = [["the", "dog", "sleeps"], ["a", "cat"], ["the", "cat", "sees", "a", "dog"]]


class Kind(NamedTuple):
    """The files of one kind of artifact, and what reads all of them."""

    files: list[Path]
    read: Callable[[], Any]


def _model(folder: Path) -> Kind:
    path = folder / "model.pt"
    cell = Cell(encoding={"type": "sinusoidal"}, size=SIZE, recipe=Recipe(max_updates=1), seed=0)
    save_model(path, cell, VOCABULARY, build_model(cell, VOCABULARY).state_dict())
    return Kind([path], lambda: load_model(path))


def _state(folder: Path) -> Kind:
    (folder / "state").mkdir()
    state = StateDirectory(folder / "state")
    state.claim("stamp")
    state.save({"weights": {"a": torch.arange(100.0)}, "counters": {"update": 3}})
    for update in (1, 2):
        state.save_checkpoint(update, {"a": torch.full((50,), float(update))}, keep=2)
    metrics = Metrics(state.metrics, state.tensorboard, length=0, sha256="", update=0)
    metrics.write("train", 1, 0, {"loss": 3.25})
    length, sha256 = metrics.written()
    metrics.close()

    def read() -> None:
        assert state.claim("stamp") is False
        state.load()
        average(state.checkpoints())
        Metrics(state.metrics, state.tensorboard, length=length, sha256=sha256, update=0).close()

    return Kind([file for file in state.path.iterdir() if file.is_file()], read)


def _published(folder: Path) -> Kind:
    """The outputs of a training, of which the first two are what metrics and record are to their readers."""
    state = StateDirectory(folder / "state")
    for name in ("metrics.jsonl", "record.json"):
        write_text(state.finished / name, '{"kind": "train", "update": 1, "epoch": 0, "loss": 3.25}\n')
    state.publish({name: folder / name for name in ("metrics.jsonl", "record.json")})
    files = [folder / "metrics.jsonl", folder / "record.json"]
    return Kind(files, lambda: (_json_lines(files[0]), read_json(files[1])))


def _subword(folder: Path) -> Kind:
    path = folder / "model.model"
    write_lines(folder / "text", [f"word{i} and letters {i % 7}" for i in range(300)])
    train_subword([folder / "text"], path, config=SubwordSettings(vocabulary=60))
    return Kind([path], lambda: Subword.load(path))


def _aligner(folder: Path) -> Kind:
    path, vocabulary = folder / "aligner.npz", Vocabulary(["a", "cat", "dog", "sees", "sleeps", "the"])
    numbers = vocabulary.numbers(TEXT)
    train(numbers, numbers, HMM(ibm1_iterations=1, iterations=1)).save(path, vocabulary, vocabulary)
    return Kind([path], lambda: HMMAligner.load(path))


def _parser(folder: Path) -> Kind:
    path = folder / "parser.npz"
    weights = np.linspace(0, 1, 64, dtype=np.float32)
    Parser(Vocabulary(["a", "b"]), np.array([0, 1, 2], np.int32), weights, ParserSettings()).save(path)
    return Kind([path], lambda: Parser.load(path))


def _corpus(folder: Path) -> Kind:
    pairs = [([5, 6, 7], [8]), ([4], [9, 9])]
    write_corpus(folder / "corpus", pairs, vocabulary_size=100)
    corpus = ParallelCorpus.open(folder / "corpus")
    write_positions(folder / "positions", [[2, 0, 1], [0]], kind="gold", corpus=corpus)
    files = [*(folder / "corpus").iterdir(), *(folder / "positions").iterdir()]
    return Kind(files, lambda: ParallelCorpus.open(folder / "corpus", positions=folder / "positions"))


def _text(folder: Path) -> Kind:
    path, classes = folder / "test.hypotheses", folder / "classes.tsv"
    vocabulary = Vocabulary(["a", "b"])
    write_lines(path, ["Eine Zeile.", "", "Noch eine Zeile."])
    write_classes(classes, vocabulary, np.array([0, 1, 2], np.int32))
    return Kind([path, classes], lambda: (list(read_lines(path)), read_classes(classes, vocabulary, 50)))


def _results(folder: Path) -> Kind:
    path = folder / "test.scores.json"
    write_json(path, {"status": "scored", "metrics": {"bleu": {"score": 17.25, "signature": "ä"}}})
    figure = Figure(figsize=(1, 1))
    figure.subplots().plot([1, 2])
    style.save(figure, folder / "figure", pd.DataFrame({"x": [1, 2]}))
    files = [path, *(folder / f"figure.{suffix}" for suffix in ("svg", "png", "csv"))]
    return Kind(files, lambda: (read_json(path), read_image(folder / "figure"), read_csv_file(files[-1])))


MAKERS = (_model, _state, _published, _subword, _aligner, _parser, _corpus, _text, _results)


@pytest.mark.parametrize("make", MAKERS, ids=[make.__name__.strip("_") for make in MAKERS])
def test_no_damage_goes_unnoticed(make: Callable[[Path], Kind], tmp_path: Path) -> None:
    kind = make(tmp_path)
    files = [*kind.files, *(note for path in kind.files for note in path.parent.glob(f".{path.name}.sha256"))]
    files = sorted(set(files), key=str)
    contents = {path: path.read_bytes() for path in files}
    kind.read()
    for name, generator in cases(100):
        path = generator.choice(files)
        what, changed = damaged(contents[path], generator)
        if is_note(path) and changed[:66] == contents[path][:66]:
            continue  # behind the checksum is the name of the file, for people
        if path.parent.name == "state" and path.name == "metrics.jsonl" and changed.startswith(contents[path]):
            continue  # what a killed process wrote after its last save is cut off
        path.write_bytes(changed)
        try:
            with pytest.raises(WordorderError) as caught:
                kind.read()
        except BaseException as error:
            error.add_note(f"case {name}: {what} of {path.name}")
            raise
        noted = path.with_name(path.name[1:].removesuffix(".sha256"))
        assert caught.value.path in (path, noted, path.parent), f"case {name}: {what} of {path.name}"
        path.write_bytes(contents[path])
    kind.read()
