from __future__ import annotations

import builtins
import hashlib
import json
import math
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sacremoses import MosesTokenizer

from evaluation_samples import noisy, sentences, text_metrics, write_lines
from raises import raises
from wordorder.cli.main import main
from wordorder.metrics.bleu_legacy import split_compounds
from wordorder.metrics.scores import build_metric, score, score_files

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


PERFECT = {"de": "Das ist ein Haus.", "ja": "これは赤い家です。", "zh-TW": "這是一棟紅房子。"}


@pytest.mark.parametrize("language", PERFECT)
def test_a_perfect_translation_has_the_best_score_or_the_metric_refuses_the_language(
    language: str, tmp_path: Path
) -> None:
    text = write_lines(tmp_path / "text", [PERFECT[language]] * 2)
    for name in [*ALL, "bleu_legacy"]:
        if name == "bleu_legacy" and language != "de":
            with raises("unsupported-language", found=language, says="whose words are not separated by spaces"):
                build_metric(name, language)
        else:
            scored = score_files(text, text, [name], language)["metrics"][name]
            assert scored["score"] == pytest.approx(0 if name == "ter" else 100)


def test_sentence_scores_equal_scores_of_single_sentences(pair: tuple[Path, Path]) -> None:
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


@pytest.mark.parametrize("name", [*ALL, "bleu_legacy"])
def test_many_scores_at_once_are_those_of_sacrebleu(name: str) -> None:
    (metric,) = text_metrics(name)
    references = sentences(30)
    hypotheses = noisy(references, 0.3, seed=2)
    # Without matches of some or all orders, shorter than four words, and empty: on either side, or on both.
    hypotheses += ["", "ein", "", "Rad", "rot ein Mann Tom's im der", "ein Hund"]
    references += ["der Hund", "", "", "x y z u v", "ein Mann fährt im Garten .", "ein Hund"]
    statistics = metric.statistics(hypotheses, references)
    random = np.random.default_rng(3)
    weights = np.vstack([np.eye(len(references)), random.integers(0, 3, (200, len(references)))])
    sums = weights @ statistics
    assert metric.scores(sums) == pytest.approx([metric.score(row) for row in sums], abs=1e-9)
    assert metric.scores(sums).max() > 0


def test_command_writes_scores_counts_and_checksums(pair: tuple[Path, Path], tmp_path: Path) -> None:
    hypotheses, references = pair
    files = ["--hypotheses", str(hypotheses), "--references", str(references)]
    assert main(["stage", "score", "--config", SLICE, *files, "--output", str(tmp_path / "out" / "a.json")]) == 0
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
    assert main(["stage", "score", "--config", SLICE, *files]) == 1
    message = capsys.readouterr().err
    assert f"{hypotheses} has 39 lines but its references {references} have 40" in message
    assert not output.parent.exists()


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
    with raises("no-references", references):
        score_files(hypotheses, references, ["bleu"], "de")


def test_tokeniser_follows_the_target_language(pair: tuple[Path, Path]) -> None:
    hypotheses, references = ["我喜欢这本书。", "天气很好"], ["我很喜欢这本书。", "天气很好"]
    chinese = score(hypotheses, references, ["bleu", "ter"], "zh-CN")
    assert "tok:zh" in chinese["bleu"]["signature"]
    assert "asian:yes" in chinese["ter"]["signature"]
    # One character of twelve was left out; as whole "words" half the text would be wrong.
    assert chinese["ter"]["score"] == pytest.approx(100 / 12)
    assert "tok:13a" in score(["a"], ["a"], ["bleu"], "de")["bleu"]["signature"]


CHINESE = (["我喜欢这本书。", "天气很好", "他昨天去了北京。"], ["我很喜欢这本书。", "天气很好", "他前天去了北京市。"])
JAPANESE = (["私はこの本が好きです。", "天気がいい"], ["私はこの本がとても好きです。", "今日は天気がいい"])


@pytest.mark.parametrize("language", ["zh", "ja"])
def test_unspaced_languages_score_as_the_sacrebleu_command_does(language: str, tmp_path: Path) -> None:
    if language == "ja":
        pytest.importorskip("MeCab", reason="the extra 'ja' is not installed")
    hypotheses, references = {"zh": CHINESE, "ja": JAPANESE}[language]
    files = [write_lines(tmp_path / "h", hypotheses), write_lines(tmp_path / "r", references)]
    ours = score_files(*files, ALL, language)["metrics"]
    options = ["-m", "bleu", "chrf", "ter", "--chrf-word-order", "2", "--ter-normalized", "--ter-asian-support"]
    # The command knows no target language of files: its tokeniser has to be named.
    options += ["--tokenize", {"zh": "zh", "ja": "ja-mecab"}[language]]
    theirs = sacrebleu(files[1], "-i", str(files[0]), *options)
    for name, their in zip(("bleu", "chrf++", "ter"), theirs, strict=True):
        assert ours[name]["score"] == pytest.approx(their["score"], abs=1e-9)
        assert ours[name]["signature"] == their["signature"]
    assert 0 < ours["bleu"]["score"] < 100
    assert f"tok:{language}" in ours["bleu"]["signature"]


def test_legacy_bleu_is_that_of_multi_bleu_on_split_tokens(pair: tuple[Path, Path], tmp_path: Path) -> None:
    sides = [path.read_text(encoding="utf-8").split("\n")[:-1] for path in pair]
    compounds = [
        "Die Rock-Band spielt (laut), aber gut.",
        "Ein E-Mail-Konto - neu.",
        "Tom's Bruder läuft z. B. in A-B-C.",
    ]
    sides = [[*side, *compounds] for side in sides]
    sides[0][-2] = "Ein neues E-Mail-Konto."
    ours = score(*sides, ["bleu", "bleu_legacy"], "de")
    # The scripts: Moses tokenisation, perl -pe 's{(\S)-(\S)}{$1 ##AT##-##AT## $2}g', multi-bleu.perl.
    tokens = [
        [re.sub(r"(\S)-(\S)", r"\1 ##AT##-##AT## \2", " ".join(MosesTokenizer("de").tokenize(line))) for line in side]
        for side in sides
    ]
    expected = multi_bleu(*([line.split() for line in side] for side in tokens))
    assert ours["bleu_legacy"]["score"] == pytest.approx(expected, abs=1e-9)
    assert ours["bleu_legacy"]["score"] != pytest.approx(ours["bleu"]["score"], abs=0.01)
    files = [write_lines(tmp_path / name, side) for name, side in zip("hr", tokens, strict=True)]
    options = ["-m", "bleu", "--tokenize", "none", "--force", "--smooth-method", "none"]
    assert sacrebleu(files[1], "-i", str(files[0]), *options)["score"] == pytest.approx(expected, abs=1e-9)


def multi_bleu(hypotheses: list[list[str]], references: list[list[str]]) -> float:
    """Papineni et al. (2002), one reference, nothing smoothed."""
    logarithms = 0.0
    for n in range(1, 5):
        right = total = 0
        for hypothesis, reference in zip(hypotheses, references, strict=True):
            ours, theirs = (
                Counter(tuple(side[i : i + n]) for i in range(len(side) - n + 1)) for side in (hypothesis, reference)
            )
            right, total = right + (ours & theirs).total(), total + ours.total()
        logarithms += math.log(right / total) / 4
    lengths = [sum(map(len, side)) for side in (hypotheses, references)]
    return 100 * math.exp(min(0.0, 1 - lengths[1] / lengths[0]) + logarithms)


def test_compounds_are_split_between_letters_only() -> None:
    assert split_compounds("Rock-Band - ja") == "Rock ##AT##-##AT## Band - ja"
    assert split_compounds("Vor-und-nach") == "Vor ##AT##-##AT## und ##AT##-##AT## nach"
    assert split_compounds("a-b-c -d e-") == "a ##AT##-##AT## b-c -d e-"  # one pass, as in the scripts
    # Nothing is smoothed: without a common 4-gram the corpus has 0, but a sentence has its score.
    found = score(["ein Hund lief dort"], ["ein Hund läuft hier"], ["bleu_legacy"], "de")["bleu_legacy"]
    assert found["score"] == 0 < found["segment_scores"][0]


def test_missing_japanese_tokeniser_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def without_mecab(name: str, *arguments: Any) -> Any:
        if name == "MeCab":
            raise ImportError(name)
        return real(name, *arguments)

    monkeypatch.delitem(sys.modules, "sacrebleu.tokenizers.tokenizer_ja_mecab", raising=False)
    monkeypatch.setattr(builtins, "__import__", without_mecab)
    with raises("missing-tokeniser", found="ja", says="pip install 'sacrebleu[ja]'"):
        build_metric("bleu", "ja")
    monkeypatch.delitem(sys.modules, "sacrebleu.tokenizers.tokenizer_ja_mecab")


def test_unknown_metric_is_refused() -> None:
    with raises("unknown-name", found="blue", suggestion="bleu"):
        score(["a"], ["a"], ["blue"], "de")


def test_a_score_that_is_not_finite_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    (ter,) = text_metrics("ter")
    monkeypatch.setattr(type(ter), "corpus_score", lambda *_: (math.nan, {}))
    with raises("score-not-finite", key="ter"):
        score(["ein Satz"], ["ein Satz"], ["ter"], "de")
