"""Tests of the perplexity of references: computed manually, against training, and by the command."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from analysis_runs import PREPARATION, computed, sentences
from measured_samples import analysed, cell_folder
from raises import raises
from tiny_models import VOCABULARY, tiny_model
from training_runs import TrainingRun, cell, write_reversals
from wordorder.analyses.perplexity import UNITS, Perplexity
from wordorder.cli.main import main
from wordorder.config.analyses import Analyses
from wordorder.config.models import Measured
from wordorder.data.binary import ParallelCorpus, write_corpus
from wordorder.decoding import forced
from wordorder.decoding.forced import Forced
from wordorder.encodings.registry import parse
from wordorder.files import write_json
from wordorder.model.batch import END, PAD, UNKNOWN, Batch


@pytest.fixture
def corpus(tmp_path: Path) -> ParallelCorpus:
    write_corpus(tmp_path / "corpus", [([4], [5, UNKNOWN]), ([4, 5], [6])], vocabulary_size=VOCABULARY)
    return ParallelCorpus.open(tmp_path / "corpus")


def test_by_hand(corpus: ParallelCorpus, monkeypatch: pytest.MonkeyPatch) -> None:
    output = torch.tensor([[5, UNKNOWN, END], [6, END, PAD]])
    batch = Batch(output, output, output, real=None, target_tokens=5)
    logs = torch.tensor([[0.5, 0.25, 0.5], [0.25, 0.125, 1.0]]).log()

    def force(*_: Any) -> Iterator[Forced]:
        yield Forced(np.array([0, 1]), batch, logs, {})

    monkeypatch.setattr(forced, "force", force)
    found = Perplexity().measure(tiny_model(parse({"type": "none"})), sentences(corpus, ["ab  cé ", "d"]))
    # -ln p = (1 + 2 + 1 + 2 + 3) ln 2, over 5 subwords; 2 + 1 words and 5 + 1 characters, and 2 ends.
    assert found["negative_log_likelihood"] == pytest.approx(9 * math.log(2))
    assert found["units"]["subword"] == {"count": 5, "perplexity": pytest.approx(2 ** (9 / 5))}
    assert found["units"]["word"] == {"count": 5, "perplexity": pytest.approx(2 ** (9 / 5))}
    assert found["units"]["character"] == {"count": 8, "perplexity": pytest.approx(2 ** (9 / 8))}
    assert (found["unknown"], found["sentences"], found["status"]) == (1, 2, "measured")


def test_no_numbers_and_no_finite_ones(corpus: ParallelCorpus) -> None:
    model = tiny_model(parse({"type": "none"}))
    with torch.no_grad():
        model.source_embedding.weight.mul_(1e6)
    found = Perplexity().measure(model, sentences(corpus, ["a", "b"]))
    assert found["status"] == "measured" and found["units"]["subword"]["perplexity"] is None
    with torch.no_grad():
        model.source_embedding.weight.fill_(math.nan)
    found = Perplexity().measure(model, sentences(corpus, ["a", "b"]))
    assert found["status"] == "not a number" and found["negative_log_likelihood"] is None
    json.dumps(found, allow_nan=False)


def test_references_of_another_text_are_refused(corpus: ParallelCorpus) -> None:
    with raises("different-lengths", says="2 sentence pairs, but there are 3"):
        Perplexity().measure(tiny_model(parse({"type": "none"})), sentences(corpus, ["a"] * 3))


def test_it_is_what_training_reports_on_the_validation_set(tmp_path: Path) -> None:
    """The model of a training without averaging is that of its last validation, and label smoothing no part of it."""
    train = write_reversals(tmp_path / "train", pairs=60, seed=1)
    valid = write_reversals(tmp_path / "data/binary/valid", pairs=50, seed=2)
    run = TrainingRun(tmp_path, cell(average=1, max_epochs=2, label_smoothing=0.3), train, valid)
    run.finish()
    reported = [row for row in run.metrics() if row["kind"] == "valid"][-1]
    (tmp_path / "data/raw").mkdir()
    (tmp_path / "data/raw/valid.target").write_text("x\n" * 50)
    asked = Measured(settings=Analyses({"perplexity": None}), preparation=PREPARATION)
    arguments = [
        "stage",
        "measure",
        "perplexity",
        "--config",
        asked.model_dump_json(),
        "--model",
        str(tmp_path / "model.pt"),
    ]
    arguments += ["--data", str(tmp_path / "data"), "--sets", "valid", "--output", str(tmp_path / "out.json")]
    assert main(arguments) == 0
    found = json.loads((tmp_path / "out.json").read_text())["sets"]["valid"]
    assert found["units"]["subword"]["perplexity"] == pytest.approx(reported["perplexity"], rel=1e-6)
    assert found["negative_log_likelihood"] / found["units"]["subword"]["count"] == pytest.approx(
        reported["loss"], rel=1e-6
    )


def test_frame_has_a_row_for_every_cell(tmp_path: Path) -> None:
    slice_ = analysed({"perplexity": {}})
    units = {unit: {"count": 1, "perplexity": value} for unit, value in zip(UNITS, (4, 8, 2), strict=True)}
    path = cell_folder(tmp_path, "opr", 1) / "perplexity.json"
    write_json(path, {"sets": {"test": {"status": "measured", "units": units}}})
    frame = computed(slice_, tmp_path, tmp_path)
    assert len(frame) == 2 * 2 * 3
    own = frame[(frame["encoding"] == "opr") & (frame["seed"] == 1)].set_index("unit")
    assert own["perplexity"].to_dict() == {"subword": 4, "word": 8, "character": 2}
    assert frame["perplexity"].isna().sum() == 9 and (frame["status"] == "missing").sum() == 9
    none = {"status": "not a number", "units": {unit: {"count": 1, "perplexity": None} for unit in UNITS}}
    write_json(cell_folder(tmp_path, "none", 1) / "perplexity.json", {"sets": {"test": none}})
    write_json(cell_folder(tmp_path, "none", 1) / "record.json", {"status": "diverged"})
    frame = computed(slice_, tmp_path, tmp_path)
    assert set(frame.loc[(frame["encoding"] == "none") & (frame["seed"] == 1), "status"]) == {"diverged"}
