from __future__ import annotations

import builtins
import hashlib
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from evaluation_samples import noisy, sentences, write_lines
from wordorder.cli import main
from wordorder.errors import WordorderError
from wordorder.evaluation.scores import build_metric, score, score_files

ALL = ["bleu", "chrf", "chrf++", "ter"]
SLICE = json.dumps({"metrics": ALL, "target_language": "de"})


@pytest.fixture
def pair(tmp_path: Path) -> tuple[Path, Path]:
    references = sentences(40)
    hypotheses = noisy(references, 0.3, seed=1)
    hypotheses[3] = ""  # a model may translate a sentence to nothing
    hypotheses[5] = "Ganz\u2028anders &quot;gesagt&quot; 3,5 % ..."
    return write_lines(tmp_path / "hypotheses", hypotheses), write_lines(tmp_path / "references", references)


def sacrebleu(references: Path, *arguments: str) -> Any:
    command = [sys.executable, "-m", "sacrebleu", str(references), *arguments, "--format", "json", "-w", "10"]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def test_scores_and_signatures_are_those_that_sacrebleu_prints(pair: tuple[Path, Path]) -> None:
    hypotheses, references = pair
    ours = score_files(hypotheses, references, ALL, "de")["metrics"]
    bleu, plus, ter = sacrebleu(
        references, "-i", str(hypotheses), "-m", *["bleu", "chrf", "ter", "--chrf-word-order", "2"]
    )
    chrf = sacrebleu(references, "-i", str(hypotheses), "-m", "chrf")
    for name, theirs in (("bleu", bleu), ("chrf", chrf), ("chrf++", plus), ("ter", ter)):
        assert ours[name]["score"] == pytest.approx(theirs["score"], abs=1e-9), name
        assert ours[name]["signature"] == theirs["signature"]
    verbose = "/".join(f"{p:.1f}" for p in ours["bleu"]["details"]["precisions"])
    assert bleu["verbose_score"].startswith(f"{verbose} (BP = {ours['bleu']['details']['bp']:.3f} ")
    assert 20 < ours["bleu"]["score"] < 90


def test_sentence_scores_are_those_of_each_sentence_alone(pair: tuple[Path, Path]) -> None:
    hypotheses, references = pair
    result = score_files(hypotheses, references, ALL, "de")["metrics"]
    lines = list(zip(*([f.read_text(encoding="utf-8").split("\n")[:-1] for f in pair]), strict=True))
    for name in ALL:
        assert len(result[name]["segment_scores"]) == len(lines) == 40
    for i in (0, 3, 20):
        for name in ("chrf", "ter"):
            alone = build_metric(name, "de").corpus_score([lines[i][0]], [[lines[i][1]]])
            assert result[name]["segment_scores"][i] == pytest.approx(alone.score)
    # A right sentence of three words has no 4-grams. It deserves 100 all the same.
    assert score(["der Hund läuft"], ["der Hund läuft"], ["bleu"], "de")["bleu"]["segment_scores"] == [
        pytest.approx(100)
    ]
    assert "eff:yes" in result["bleu"]["segment_signature"]


def test_command_writes_scores_counts_and_checksums(pair: tuple[Path, Path], tmp_path: Path) -> None:
    hypotheses, references = pair
    files = ["--hypotheses", str(hypotheses), "--references", str(references)]
    assert main(["score", "--config", SLICE, *files, "--output", str(tmp_path / "out" / "a.json")]) == 0
    written = json.loads((tmp_path / "out" / "a.json").read_text(encoding="utf-8"))
    assert written["status"] == "scored"
    for name, path in (("hypotheses", hypotheses), ("references", references)):
        assert written[name] == {"lines": 40, "sha256": hashlib.sha256(path.read_bytes()).hexdigest()}
    assert written["metrics"] == score_files(hypotheses, references, ALL, "de")["metrics"]


def test_files_of_different_length_are_refused_and_nothing_is_written(
    pair: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    hypotheses, references = pair
    write_lines(hypotheses, sentences(39))
    output = tmp_path / "out" / "a.json"
    files = ["--hypotheses", str(hypotheses), "--references", str(references), "--output", str(output)]
    assert main(["score", "--config", SLICE, *files]) == 1
    message = capsys.readouterr().err
    assert f"{hypotheses} has 39 lines but its references {references} have 40" in message
    assert not output.parent.exists()
    with pytest.raises(WordorderError, match="2 hypotheses for 1 references"):
        score(["a", "b"], ["a"], ["bleu"], "de")


def test_only_newlines_end_lines(tmp_path: Path) -> None:
    text = "eins\u2028zwei\u0085drei\x0bvier"
    one, two = write_lines(tmp_path / "a", [text, "b"]), write_lines(tmp_path / "b", [text, "b"])
    assert score_files(one, two, ["ter"], "de")["hypotheses"]["lines"] == 2


def test_diverged_model_has_no_scores(pair: tuple[Path, Path]) -> None:
    hypotheses, references = pair
    hypotheses.write_bytes(b"")
    result = score_files(hypotheses, references, ["bleu", "ter"], "de")
    assert result["status"] == "no hypotheses"
    assert [entry["score"] for entry in result["metrics"].values()] == [None, None]
    references.write_bytes(b"")
    with pytest.raises(WordorderError, match="references has no lines"):
        score_files(hypotheses, references, ["bleu"], "de")


def test_tokeniser_follows_the_target_language(pair: tuple[Path, Path]) -> None:
    hypotheses, references = ["我喜欢这本书。", "天气很好"], ["我很喜欢这本书。", "天气很好"]
    chinese = score(hypotheses, references, ["bleu", "ter"], "zh-CN")
    assert "tok:zh" in chinese["bleu"]["signature"]
    assert "asian:yes" in chinese["ter"]["signature"]
    # One character of twelve was left out; as whole "words" half the text would be wrong.
    assert chinese["ter"]["score"] == pytest.approx(100 / 12)
    assert "tok:13a" in score(["a"], ["a"], ["bleu"], "de")["bleu"]["signature"]


def test_missing_japanese_tokeniser_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def without_mecab(name: str, *arguments: Any) -> Any:
        if name == "MeCab":
            raise ImportError(name)
        return real(name, *arguments)

    monkeypatch.delitem(sys.modules, "sacrebleu.tokenizers.tokenizer_ja_mecab", raising=False)
    monkeypatch.setattr(builtins, "__import__", without_mecab)
    with pytest.raises(WordorderError, match=r"'ja' is not installed.*pip install 'sacrebleu\[ja\]'"):
        build_metric("bleu", "ja")
    monkeypatch.delitem(sys.modules, "sacrebleu.tokenizers.tokenizer_ja_mecab")


def test_unknown_metric_is_refused() -> None:
    with pytest.raises(WordorderError, match=r"'rouge' is not a metric; the metrics are bleu, chrf"):
        build_metric("rouge", "de")
