"""Tests of the data stages on the command line, from downloads to the binary corpus."""

from __future__ import annotations

import gzip
import hashlib
import json
from pathlib import Path

import pytest

from wordorder.cli.main import main
from wordorder.data.binary import ParallelCorpus
from wordorder.data.subword import Subword

SOURCE = "".join(f"Sentence {n}, it isn't long.\n" if n % 10 else "\n" for n in range(60))
TARGET = "".join(f"Satz {n}, er ist nicht lang.\n" for n in range(60))


def run(*arguments: object) -> None:
    """Run a stage; an argument with spaces stands for several, unless it is JSON."""
    words = [word for text in map(str, arguments) for word in ([text] if text.startswith("{") else text.split())]
    assert main(["stage", *words]) == 0


def preparation(**preprocessing: object) -> str:
    return json.dumps({"preprocessing": preprocessing, "source_language": "en", "target_language": "de"})


def test_from_the_mirror_to_the_binary_corpus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("WORDORDER_MIRROR", "mirror")
    Path("mirror").mkdir()
    for name, text in (("train.en", SOURCE), ("train.de", TARGET)):
        Path("mirror", f"{name}.gz").write_bytes(gzip.compress(text.encode()))
        digest = hashlib.sha256(text.encode()).hexdigest()
        item = {"url": f"http://127.0.0.1:9/{name}", "sha256": digest, "mirror": name}
        run("download", "--config", json.dumps(item), "--output", f"downloads/{name}")
    parts = {"parts": [{"source": {"file": "train.en"}, "target": {"file": "train.de"}}]}
    run("import --downloads downloads --source raw.s --target raw.t --config", json.dumps(parts))
    run("scatter --source raw.s --target raw.t --output-sources 0.s 1.s --output-targets 0.t 1.t")
    for n in "01":
        outputs = f"--output-source clean{n}.s --output-target clean{n}.t --report {n}.json"
        run(f"clean --source {n}.s --target {n}.t {outputs} --config", preparation())
    run("gather-text --inputs clean0.s clean1.s --output clean.s")
    run("gather-text --inputs clean0.t clean1.t --output clean.t")
    run("gather-reports --inputs 0.json 1.json --output report.json")
    assert json.loads(Path("report.json").read_text())["removed"]["blank_source"] == 6
    Path("subword.yaml").write_text("vocabulary: 60\n")
    run("train-subword --config @subword.yaml --inputs clean.s clean.t --output subword/model.model")
    for n in "01":
        run(f"binarise --subword subword/model.model --source clean{n}.s --target clean{n}.t --output binary{n}")
    run("gather-binary --inputs binary0 binary1 --output binary")
    corpus, subword = ParallelCorpus.open("binary"), Subword.load("subword/model.model")
    assert len(corpus) == 54
    assert subword.decode(corpus.source(0)) == "Sentence 1 , it isn 't long ."
    assert subword.decode(corpus.target(53)) == "Satz 59 , er ist nicht lang ."


def test_a_test_set_keeps_every_pair(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("raw.s").write_text(SOURCE)
    Path("raw.t").write_text(TARGET)
    files = "--source raw.s --target raw.t --output-source s --output-target t --report r.json --kept kept"
    run(f"clean {files} --keep-all --config", preparation(tokenise=False))
    assert Path("s").read_text() == SOURCE
    assert len(Path("kept").read_text().split()) == 60
    run(f"clean {files} --config", preparation(tokenise=False))
    assert Path("s").read_text() == SOURCE.replace("\n\n", "\n").removeprefix("\n")
    assert Path("kept").read_text().split() == [str(n) for n in range(60) if n % 10]


def test_generate_writes_aligned_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    outputs = "--source source --target target --alignments alignments --trees trees"
    run(f"generate --split valid {outputs} --config", '{"valid": 20}')
    for name in ("source", "target", "alignments", "trees"):
        assert len(Path(name).read_text().splitlines()) == 20


def test_a_wrong_slice_is_reported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["stage", "train-subword", "--inputs", "x", "--output", str(tmp_path / "model")]
    assert main([*command, "--config", '{"vocabulari": 5}']) == 1
    assert "vocabulari" in capsys.readouterr().err


def test_pairs_of_nothing_prepared_are_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = Path(__file__).parents[2] / "config"
    assert main(["data", "pairs", "--root", str(config), "--results", str(tmp_path)]) == 0
    (line,) = capsys.readouterr().out.splitlines()
    assert str(tmp_path / "data") in line and "published_pairs" in line
