"""Test that an evaluation that was interrupted, or whose files were damaged, does only what is missing."""

from __future__ import annotations

import json
import threading
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from little_study import Workspace
from wordorder.config.decoding import Decoding
from wordorder.config.models import Evaluation
from wordorder.data.binary import write_corpus
from wordorder.errors import WordorderError
from wordorder.files import read_json, sha256, write_json, write_text
from wordorder.integrity import seal
from wordorder.results.evaluate import evaluate

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("finished_study")]  # one process, so that the study is run once

DECODING = Decoding(beam=2, max_length_a=0, max_length_b=10)


@pytest.fixture
def model(study: Workspace) -> Path:
    """A trained model; its only test set has a copy, so that there are two."""
    data = study.folder / "results/data/pair"
    (data / "binary/copy").mkdir()
    for file in (data / "binary/test").iterdir():
        (data / "binary/copy" / file.name).write_bytes(file.read_bytes())
    (data / "raw/copy.target").write_bytes((data / "raw/test.target").read_bytes())
    seal([data / "raw/copy.target"])
    return study.folder / study.cell("opr", "model.pt")


def run(
    model: Path, output: Path, tests: list[str], metrics: list[str] | None = None, decoding: Decoding = DECODING
) -> None:
    evaluation = Evaluation.model_validate({"tests": tests, "metrics": metrics or ["bleu"]})
    data = model.parents[6] / "data/pair"
    evaluate(evaluation, decoding, model=model, data=data, language="xx", output=output)


def stamps(folder: Path, test: str) -> dict[str, int]:
    files = ("hypotheses", "nbest.jsonl", "translation.json")
    return {file: (folder / f"{test}.{file}").stat().st_mtime_ns for file in files}


def test_an_interrupted_evaluation_keeps_the_test_sets_that_are_done(model: Path, tmp_path: Path) -> None:
    whole, part = tmp_path / "whole", tmp_path / "part"
    run(model, whole / "evaluation.json", ["copy", "test"])
    references = model.parents[6] / "data/pair/raw/test.target"
    text = references.read_bytes()
    references.unlink()
    with pytest.raises(WordorderError):
        run(model, part / "evaluation.json", ["copy", "test"])
    assert not (part / "evaluation.json").exists()
    references.write_bytes(text)
    before = stamps(part, "copy")
    run(model, part / "evaluation.json", ["copy", "test"])
    assert stamps(part, "copy") == before
    assert (part / "evaluation.json").read_bytes() == (whole / "evaluation.json").read_bytes()
    for test in ("copy", "test"):
        assert (part / f"{test}.hypotheses").read_bytes() == (whole / f"{test}.hypotheses").read_bytes()


@pytest.mark.parametrize("damage", ["deleted", "changed", "another model", "half-written"])
def test_a_damaged_translation_is_made_again_and_an_intact_one_is_not(model: Path, tmp_path: Path, damage: str) -> None:
    output = tmp_path / "evaluation.json"
    run(model, output, ["copy", "test"])
    result, before = output.read_bytes(), stamps(tmp_path, "copy")
    hypotheses, stamp = tmp_path / "test.hypotheses", tmp_path / "test.translation.json"
    text = hypotheses.read_bytes()
    if damage == "deleted":
        hypotheses.unlink()
    elif damage == "changed":
        hypotheses.write_bytes(text[:-5] + b"more\n")
    elif damage == "another model":
        stamp.write_text(stamp.read_text().replace('"model": "', '"model": "0'))
    else:
        stamp.unlink()  # it is written last
    output.unlink()
    run(model, output, ["copy", "test"])
    assert output.read_bytes() == result and hypotheses.read_bytes() == text
    assert stamps(tmp_path, "copy") == before
    assert read_json(stamp)["hypotheses"] == read_json(output)["tests"]["test"]["hypotheses"]


def test_fewer_test_sets_and_more_metrics_translate_nothing(model: Path, tmp_path: Path) -> None:
    run(model, tmp_path / "evaluation.json", ["copy", "test"])
    before = {test: stamps(tmp_path, test) for test in ("copy", "test")}
    run(model, tmp_path / "fewer.json", ["test"])
    assert {test: stamps(tmp_path, test) for test in before} == before
    run(model, tmp_path / "more.json", ["test"], ["chrf", "bleu"])
    assert set(read_json(tmp_path / "more.json")["tests"]["test"]["metrics"]) == {"chrf", "bleu"}
    assert stamps(tmp_path, "copy") == before["copy"]
    assert stamps(tmp_path, "test") == before["test"]
    assert set(read_json(tmp_path / "more" / "test.scores.json")["metrics"]) == {"chrf", "bleu"}


def test_two_evaluations_at_the_same_time_translate_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A second translation, on other hardware, may differ in some words."""
    write_corpus(tmp_path / "data/pair/binary/test", [([4, 4], [4])] * 3, vocabulary_size=5)
    write_text(tmp_path / "data/pair/raw/test.target", "a b c d\nb c d e\nc d e f\n")
    model = tmp_path / "models/pair/opr/mini/0123456789/1/model.pt"
    model.parent.mkdir(parents=True)
    model.touch()
    translated: list[Path] = []
    both = threading.Barrier(2)

    def load(*_: Any) -> None:
        with suppress(threading.BrokenBarrierError):
            both.wait(timeout=2)  # Without a lock, both come here.

    def translate(*_: Any, output: Path, nbest: Path, **__: Any) -> None:
        translated.append(output)
        write_text(output, f"a b c d\nb c d e\nc d e {len(translated)}\n")
        write_text(nbest, "{}\n")

    monkeypatch.setattr("wordorder.training.device.finished_model", load)
    monkeypatch.setattr("wordorder.data.subword.Subword.load", lambda _: None)
    monkeypatch.setattr("wordorder.decoding.translate.check_positions", lambda *_, **__: None)
    monkeypatch.setattr("wordorder.decoding.translate.translate_corpus", translate)
    outputs = {metric: tmp_path / f"beam/{metric}.json" for metric in ("bleu", "chrf")}
    jobs = [threading.Thread(target=run, args=(model, out, ["test"], [name])) for name, out in outputs.items()]
    for job in jobs:
        job.start()
    for job in jobs:
        job.join()
    assert translated == [tmp_path / "beam/test.hypotheses"]
    named = {read_json(output)["tests"]["test"]["hypotheses"] for output in outputs.values()}
    assert named == {sha256(translated[0])}


def test_another_decoding_translates_again(model: Path, tmp_path: Path) -> None:
    output = tmp_path / "evaluation.json"
    run(model, output, ["test"])
    run(model, output, ["test"], decoding=DECODING.model_copy(update={"nbest": 2}))
    first = (tmp_path / "test.nbest.jsonl").read_text(encoding="utf-8").split("\n")[0]
    assert len(json.loads(first)["hypotheses"]) == 2


def test_a_stamp_that_does_not_name_the_decoding_is_valid(model: Path, tmp_path: Path) -> None:
    run(model, tmp_path / "evaluation.json", ["test"])
    stamp = tmp_path / "test.translation.json"
    content = read_json(stamp)
    del content["made_from"]["decoding"]
    write_json(stamp, content)
    before = stamps(tmp_path, "test")
    run(model, tmp_path / "evaluation.json", ["test"])
    assert stamps(tmp_path, "test") == before
