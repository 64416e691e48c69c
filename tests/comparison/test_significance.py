from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError
from scipy import stats

from evaluation_samples import family, noisy, report, sentences, text_metrics, translations, write_lines, write_study
from raises import raises
from wordorder.cli.main import main
from wordorder.comparison.levels import read_looks
from wordorder.comparison.paired import Extraction, paired_tests
from wordorder.comparison.significance import compare, compare_files
from wordorder.config.models import Significance
from wordorder.errors import WordorderError
from wordorder.files import sha256, write_json
from wordorder.statistics.over_seeds import holm, paired_t_test


def test_holm_by_hand() -> None:
    # Holm (1979) for four tests: 4·.005, 3·.01, 2·.03, 1·.04 in order of p, made monotone (.06 carries over to .04).
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.5, 0.6]) == [1.0, 1.0]
    assert holm([0.02]) == [0.02]
    assert holm([]) == []


def test_holm_counts_tests_that_were_impossible() -> None:
    assert holm([None, 0.01, None]) == [None, pytest.approx(0.03), None]


def test_t_test_on_known_numbers() -> None:
    # Student's sleep data (1908): t = 4.0621, 9 degrees of freedom, p = .00283, 95 % interval [0.70, 2.46].
    drug_1 = [0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0]
    drug_2 = [1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4]
    result = paired_t_test(drug_2, drug_1)
    assert result["n"] == 10
    assert result["mean_difference"] == pytest.approx(1.58)
    assert result["t"] == pytest.approx(4.0621, abs=1e-4)
    assert result["p"] == pytest.approx(0.002833, abs=1e-6)
    assert result["confidence_interval"] == pytest.approx([0.7001, 2.4599], abs=1e-4)
    assert result["p"] == stats.ttest_rel(drug_2, drug_1).pvalue


@pytest.mark.parametrize(
    ("system", "baseline", "note"),
    [
        ([], [], "at least two seeds"),
        ([30.0], [29.0], "at least two seeds"),
        ([30.0, 31.0], [29.0, 30.0], "same for every seed"),
        ([30.1, 31.1, 28.3], [30.0, 31.0, 28.2], "same for every seed"),
        ([30.0, 31.0], [30.0, 31.0], "same for every seed"),
    ],
)
def test_no_p_value_where_there_is_no_test(system: list[float], baseline: list[float], note: str) -> None:
    result = paired_t_test(system, baseline)
    assert (result["p"], result["t"], result["confidence_interval"]) == (None, None, None)
    assert note in result["note"]
    if system:
        assert result["mean_difference"] == pytest.approx(system[0] - baseline[0])
    assert "NaN" not in json.dumps(result)


@pytest.mark.parametrize(("kind", "flag"), [("bootstrap", "bs"), ("randomisation", "ar")])
def test_p_values_are_those_of_the_sacrebleu_command(tmp_path: Path, kind: Any, flag: str) -> None:
    references = sentences(30)
    texts = {"base": noisy(references, 0.3, 1), "one": noisy(references, 0.22, 2), "two": noisy(references, 0.15, 3)}
    files = {name: write_lines(tmp_path / name, lines) for name, lines in texts.items()}
    rivals = {"one": texts["one"], "two": texts["two"]}
    # The legacy score must not be taken for BLEU, though both are sacreBLEU's class.
    extraction = Extraction(references, text_metrics("ter", "bleu_legacy", "bleu", "chrf++"))
    ours = paired_tests(extraction, texts["base"], rivals, kind=kind, samples=150, seed=99)
    assert ours["bleu_legacy"]["baseline"] != ours["bleu"]["baseline"]

    options = ["-m", "bleu", "chrf", "ter", "--chrf-word-order", "2", f"--paired-{flag}", f"--paired-{flag}-n", "150"]
    command = [sys.executable, "-m", "sacrebleu", str(write_lines(tmp_path / "references", references)), *options]
    command += ["-i", *map(str, files.values()), "-f", "latex", "-w", "4"]
    environment = {**os.environ, "SACREBLEU_SEED": "99", "NO_COLOR": "1"}
    printed = subprocess.run(command, check=True, capture_output=True, text=True, env=environment).stdout
    for metric in ("bleu", "chrf++", "ter"):
        for system in rivals:
            p = ours[metric]["systems"][system]["p"]
            assert f"(p = {p:.4f})" in printed
            assert f"{ours[metric]['systems'][system]['score']:.4f}" in printed
        assert f"{ours[metric]['baseline']:.4f}" in printed
        assert ours[metric]["signature"] in printed
    assert len({entry["p"] for metric in ours.values() for entry in metric["systems"].values()}) > 3


@pytest.mark.parametrize("kind", ["bootstrap", "randomisation"])
def test_equal_scores_are_no_difference(kind: Any) -> None:
    references = sentences(30)
    base = noisy(references, 0.3, 1)
    extraction = Extraction(references, text_metrics("bleu", "chrf++"))
    found = paired_tests(extraction, base, {"same": list(base)}, kind=kind, samples=50, seed=1)
    assert [of["systems"]["same"]["p"] for of in found.values()] == [1.0, 1.0]


def test_seed_decides_and_the_environment_is_as_before(monkeypatch: pytest.MonkeyPatch) -> None:
    references = sentences(30)
    base, system = noisy(references, 0.3, 1), {"s": noisy(references, 0.25, 2)}

    def p(seed: int) -> float:
        extraction = Extraction(references, text_metrics("bleu"))
        found = paired_tests(extraction, base, system, kind="bootstrap", samples=100, seed=seed)
        return float(found["bleu"]["systems"]["s"]["p"])

    monkeypatch.delenv("SACREBLEU_SEED", raising=False)
    first = p(1)
    assert "SACREBLEU_SEED" not in os.environ
    monkeypatch.setenv("SACREBLEU_SEED", "55")
    assert p(1) == first
    assert os.environ["SACREBLEU_SEED"] == "55"
    assert len({p(seed) for seed in range(1, 6)}) > 1
    with pytest.raises(ValidationError) as caught:
        Significance(seed=0)  # sacreBLEU would take it for "no seed"
    assert [(error["loc"], error["type"]) for error in caught.value.errors()] == [(("seed",), "greater_than")]


def compared(tmp_path: Path, rates: dict[str, float], seeds: list[int], **options: Any) -> dict[str, Any]:
    encodings = list(options.pop("encodings", rates))
    references = write_study(tmp_path, report(encodings, seeds, ("test_1",)), rates, **options)
    asked = family(encodings, seeds)
    files = translations(tmp_path, asked, "test_1")
    return compare(asked, files, "tiny", "test_1", references / "test_1.target")


def test_comparison_over_seeds(tmp_path: Path) -> None:
    result = compared(tmp_path, {"base": 0.5, "better": 0.1, "same": 0.5001}, [1, 2, 3, 4])
    bleu = result["metrics"]["bleu"]
    better, same = bleu["comparisons"]
    assert [row["seed"] for row in better["seeds"]] == [1, 2, 3, 4]
    for row in better["seeds"]:
        scores = {
            name: json.loads((tmp_path / f"cells/pair/{name}/tiny/{row['seed']}/test_1.scores.json").read_text())
            for name in ("base", "better")
        }
        assert row["system"] == pytest.approx(scores["better"]["metrics"]["bleu"]["score"])
        assert row["baseline"] == pytest.approx(scores["base"]["metrics"]["bleu"]["score"])
        assert row["difference"] == row["system"] - row["baseline"]
        assert 0 < row["p"] < 0.05
    expected = stats.ttest_rel([r["system"] for r in better["seeds"]], [r["baseline"] for r in better["seeds"]])
    assert better["t_test"]["p"] == pytest.approx(expected.pvalue)
    assert better["t_test"]["p_holm"] == pytest.approx(2 * expected.pvalue)
    assert (better["outcome"], same["outcome"]) == ("better", "undecided")
    assert better["reach"] == "and on other sentences"
    assert "bs:50|seed:7" in bleu["signature"]
    assert result["segments"] == 25


def test_shuffles_are_as_many_as_the_family_needs(tmp_path: Path) -> None:
    # Fifty shuffles would leave a p of at least 2 · 1/51 after Holm's correction.
    result = compared(tmp_path, {"base": 0.5, "better": 0.1, "same": 0.5001}, [1, 2])
    better, _ = result["metrics"]["chrf++"]["comparisons"]
    for test in (
        better["stratified"],
        better["seeds"][0]["randomisation"],
        better["seeds"][0]["segments"]["randomisation"],
    ):
        assert test["p_holm"] < 0.006
    assert better["seeds"][0]["bootstrap"]["p_holm"] >= 2 / 51


def test_lower_ter_is_better(tmp_path: Path) -> None:
    rates = {"base": 0.5, "better": 0.1}
    references = write_study(tmp_path, report(list(rates), [1, 2, 3], ("test_1",)), rates)
    asked = family(list(rates), [1, 2, 3], metrics=["ter"])
    files = translations(tmp_path, asked, "test_1")
    result = compare(asked, files, "tiny", "test_1", references / "test_1.target")
    (entry,) = result["metrics"]["ter"]["comparisons"]
    assert entry["t_test"]["mean_difference"] < 0
    assert entry["outcome"] == "better" and entry["test"]["value"] < 0


def test_missing_and_diverged_seeds_are_listed(tmp_path: Path) -> None:
    result = compared(
        tmp_path, {"base": 0.5, "good": 0.2}, [1, 2, 3], encodings=["base", "good", "never"], diverged=("good", 2)
    )
    status = {(cell["encoding"], cell["seed"]): cell["status"] for cell in result["cells"]}
    assert status == {
        **{("base", seed): "translated" for seed in (1, 2, 3)},
        ("good", 1): "translated",
        ("good", 2): "no hypotheses",
        ("good", 3): "translated",
        **{("never", seed): "missing" for seed in (1, 2, 3)},
    }
    good, never = result["metrics"]["bleu"]["comparisons"]
    assert [row["difference"] is None for row in good["seeds"]] == [False, True, False]
    assert good["t_test"]["n"] == 2
    assert (good["outcome"], good["test"]) == ("untested", None), "a system that diverged has no verdict"
    assert "good: diverged" in good["verdict"]
    family = result["metrics"]["bleu"]["family"]
    assert family["excluded"] == {"good": "diverged", "never": "fewer than two seeds"}
    assert family["comparisons"] == 2
    # The comparison that could not be made still counts in the family of two.
    assert good["t_test"]["p_holm"] == pytest.approx(min(1.0, 2 * good["t_test"]["p"]))
    assert never["t_test"]["n"] == 0
    assert never["outcome"] == "untested" and "fewer than two seeds" in never["verdict"]
    json.dumps(result, allow_nan=False)


def test_systems_that_no_comparison_names_are_scored_for_the_variance(tmp_path: Path) -> None:
    rates = {"base": 0.5, "good": 0.2, "other": 0.3}
    references = write_study(tmp_path, report(list(rates), [1, 2, 3], ("test_1",)), rates)
    asked = family(list(rates), [1, 2, 3])
    asked = asked.model_copy(update={"comparisons": asked.comparisons[:1]})
    files = translations(tmp_path, asked, "test_1")
    found = compare(asked, files, "tiny", "test_1", references / "test_1.target")["metrics"]["bleu"]["family"]
    assert (found["nu"], found["comparisons"], found["excluded"]) == (4, 1, {})


def test_one_seed_gives_a_difference_but_no_verdict(tmp_path: Path) -> None:
    (entry,) = compared(tmp_path, {"base": 0.5, "good": 0.2}, [1])["metrics"]["bleu"]["comparisons"]
    assert entry["t_test"]["p"] is None
    assert entry["seeds"][0]["p"] is not None
    assert (entry["outcome"], entry["reach"], entry["test"]) == ("untested", None, None)
    assert "fewer than two seeds" in entry["verdict"]


def test_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    asked = family(["base", "good"], [1, 2])
    references = write_study(tmp_path, report(["base", "good"], [1, 2], ("test_1",)), {"base": 0.5, "good": 0.2})
    hypotheses, output = translations(tmp_path, asked, "test_1"), tmp_path / "significance" / "out.json"
    command = ["stage", "compare", "--config", asked.model_dump_json(), "--size", "tiny", "--test", "test_1"]
    files = ["--references", str(references / "test_1.target"), "--output", str(output), *map(str, hypotheses.values())]
    assert main([*command, *files]) == 0
    first = output.read_bytes()
    assert main([*command, *files]) == 0
    assert output.read_bytes() == first
    assert json.loads(first)["settings"]["bootstrap_samples"] == 50
    p = json.loads(first)["metrics"]["bleu"]["comparisons"][0]["t_test"]["p"]
    assert p is not None and math.isfinite(p)

    assert json.loads(first)["metrics"]["bleu"]["family"]["level"]["exact"]
    # Another look, at other seeds, which the study did not declare.
    fewer = asked.model_copy(update={"seeds": [2]}).model_dump_json()
    second = [str(hypotheses[name, 2]) for name in ("base", "good")]
    assert main([*command[:3], fewer, *command[4:], *files[:4], *second]) == 0
    assert not json.loads(output.read_text())["metrics"]["bleu"]["family"]["level"]["exact"]
    output.with_suffix(".looks").unlink()
    assert main([*command, *files]) == 0
    assert output.read_bytes() == first

    write_lines(hypotheses["good", 2], ["zu kurz"])
    assert main([*command, *files]) == 1
    assert "has 1 lines but its references" in capsys.readouterr().err
    assert main([*command, *files[:-1]]) == 1
    assert "There are 3 files of hypotheses" in capsys.readouterr().err
    assert output.read_bytes() == first


def test_a_comparison_without_missing_seeds_is_a_look_at_the_others(tmp_path: Path) -> None:
    asked = family(["base", "good"], [1, 2, 3])
    references = write_study(tmp_path, report(["base", "good"], [1, 2, 3], ("test_1",)), {"base": 0.5, "good": 0.2})
    files, output = translations(tmp_path, asked, "test_1"), tmp_path / "out.json"

    def level() -> dict[str, Any]:
        arguments = {"size": "tiny", "test": "test_1", "references": references / "test_1.target", "output": output}
        compare_files(list(files.values()), config=asked, **arguments)
        found: dict[str, Any] = json.loads(output.read_text())["metrics"]["bleu"]["family"]
        return found["level"]

    five = {"alpha": 0.05, "level": 0.05, "last": 0.05}
    cells = [("good", 2), ("good", 3), ("base", 2), ("base", 3)]
    hidden = {cell: files[cell].rename(tmp_path / f"hidden_{cell}") for cell in cells}
    assert level() == {**five, "looks": [3], "exact": True}
    assert not output.with_suffix(".looks").exists(), "with one seed of three, no system is tested"
    for cell in cells[1:]:
        hidden[cell].rename(files[cell])
    assert [level() for _ in range(2)] == [{**five, "looks": [2], "exact": True}] * 2
    assert [look.seeds for look in read_looks(output.with_suffix(".looks"))] == [[1, 3]]
    hidden["good", 2].rename(files["good", 2])
    assert level() == {**five, "looks": [2, 3], "exact": False}
    assert [look.seeds for look in read_looks(output.with_suffix(".looks"))] == [[1, 3], [1, 2, 3]]


def test_a_comparison_that_is_added_when_its_scores_are_known_costs_the_level(tmp_path: Path) -> None:
    names, seeds = ["base", "good", "bad", "new"], [1, 2, 3]
    asked = family(names, seeds)
    rates = {"base": 0.5, "good": 0.2, "bad": 0.7, "new": 0.5}
    references = write_study(tmp_path, report(names, seeds, ("test_1",)), rates)
    output = tmp_path / "out.json"

    def changed(*compared: str, encodings: int = 3) -> Any:
        chosen = [comparison for comparison in asked.comparisons if comparison.system in compared]
        own = asked.model_copy(update={"encodings": names[:encodings], "comparisons": chosen})
        files = list(translations(tmp_path, own, "test_1").values())
        arguments = {"size": "tiny", "test": "test_1", "references": references / "test_1.target", "output": output}
        compare_files(files, config=own, **arguments)
        for tested in json.loads(output.read_text())["metrics"].values():
            assert tested["family"]["level"]["exact"] == ("changed" not in tested["family"])
        return tested["family"].get("changed")

    write_json(output.with_suffix(".looks"), [seeds])  # of an earlier version, which did not remember comparisons
    assert changed("good") is None
    assert changed("good", "bad") == [["bad", "base"]]
    assert changed("good", "bad") == [["bad", "base"]], "as long as it is declared"
    assert changed("good") is None
    assert changed("good", "new", encodings=4) is None, "its scores were not known"
    assert changed("new", encodings=4) == [["good", "base"]]


def test_every_kind_of_test_is_there_and_corrected_within_the_family(tmp_path: Path) -> None:
    result = compared(tmp_path, {"base": 0.5, "better": 0.1, "same": 0.5001}, [1, 2, 3])
    for metric in ("bleu", "chrf++"):
        entries = result["metrics"][metric]["comparisons"]
        kinds = [[entry["t_test"] for entry in entries], [entry["stratified"] for entry in entries]]
        for seed in range(3):
            rows = [entry["seeds"][seed] for entry in entries]
            kinds += [[row[kind] for row in rows] for kind in ("bootstrap", "randomisation", "sign")]
            assert all(row["p"] == row["bootstrap"]["p"] for row in rows)
            assert all((row["segments"] is None) == (metric == "bleu") for row in rows)
            if metric != "bleu":
                kinds += [[row["segments"][kind] for row in rows] for kind in ("bootstrap", "randomisation")]
            for row in rows:
                low, high = row["confidence_interval"]
                assert low <= row["difference"] <= high
        for family_of_kind in kinds:
            assert [test["p_holm"] for test in family_of_kind] == holm([test["p"] for test in family_of_kind])
        better, same = entries
        assert better["stratified"]["p"] < 0.05 < same["stratified"]["p"]
        assert better["seeds"][0]["sign"]["better"] > better["seeds"][0]["sign"]["worse"]
    assert result["metrics"]["bleu"]["comparisons"][0]["agreement"] > 0.8
    assert result["metrics"]["chrf++"]["comparisons"][0]["agreement"] is None


def test_comet_is_compared_by_its_segment_scores(tmp_path: Path) -> None:
    names, seeds = ["base", "good"], [1, 2, 3]
    references = write_study(tmp_path, report(names, seeds, ("test_1",)), {"base": 0.5, "good": 0.2}, ("good", 2))
    asked = family(names, seeds, metrics=["bleu", {"comet": {"model": "x/wmt22-comet-da"}}])
    target, files = references / "test_1.target", translations(tmp_path, asked, "test_1")
    systems = {}
    for (name, seed), path in files.items():
        scores = [0.5 + 0.01 * seed + (0.1 + 0.02 * (i % 3) + 0.001 * seed**2) * (name == "good") for i in range(25)]
        systems[sha256(path)] = {"segment_scores": scores if (name, seed) != ("good", 2) else []}
    scored = {"metric": "comet", "status": "scored", "signature": "x|fp32", "systems": systems}
    comet = tmp_path / "comet.json"
    write_json(comet, scored | {"references": {"sha256": sha256(target)}})
    result = compare(asked, files, "tiny", "test_1", target, [comet])
    (entry,) = result["metrics"]["comet"]["comparisons"]
    assert entry["t_test"]["n"] == 2
    assert entry["t_test"]["mean_difference"] == pytest.approx(0.1 + 0.0192 + 0.005)
    assert entry["seeds"][0]["bootstrap"]["p"] == entry["seeds"][0]["segments"]["bootstrap"]["p"] < 0.05
    assert entry["seeds"][0]["sign"] == pytest.approx(
        {"better": 25, "worse": 0, "equal": 0, "p": 2 * 0.5**25, "p_holm": 2 * 0.5**25}
    )
    assert entry["outcome"] == "untested", "the training of seed 2 diverged"
    assert entry["agreement"] == pytest.approx(0.962, abs=0.001)
    assert result["metrics"]["comet"]["signature"] == "x|fp32" and not result["not_scored"]

    write_json(
        comet, {"metric": "comet", "status": "not scored", "reason": "No model.", "how": "Get it.", "systems": {}}
    )
    result = compare(asked, files, "tiny", "test_1", target, [comet])
    assert list(result["metrics"]) == ["bleu"]
    assert result["not_scored"] == [{"metric": "comet", "reason": "No model.", "how": "Get it."}]
    name, digest = str(files["good", 1]), sha256(files["good", 1])
    for broken in (float("nan"), float("inf"), None):
        segments = [broken, *systems[digest]["segment_scores"][1:]]
        spoilt = systems | {digest: {"segment_scores": segments}}
        write_json(comet, scored | {"references": {"sha256": sha256(target)}, "systems": spoilt})
        with raises("score-not-finite", files["good", 1], key="comet", says="encoding 'good', seed 1") as raised:
            compare(asked, files, "tiny", "test_1", target, [comet])
        assert name in str(raised.error) and "score-systems" in str(raised.error)
    write_json(comet, scored | {"references": {"sha256": "0"}})
    with pytest.raises(WordorderError) as caught:
        compare(asked, files, "tiny", "test_1", target, [comet])
    assert caught.value.code == "other-references"
    with pytest.raises(WordorderError) as caught:
        compare(asked, files, "tiny", "test_1", target)
    assert (caught.value.code, caught.value.key) == ("missing-metric", "systems")


def test_a_text_metric_must_give_finite_scores(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    references = write_study(tmp_path, report(["base", "good"], [1, 2], ("test_1",)), {"base": 0.5, "good": 0.2})
    asked = family(["base", "good"], [1, 2], metrics=["ter"])
    files, (ter,) = translations(tmp_path, asked, "test_1"), text_metrics("ter")
    broken = files["good", 2].read_text(encoding="utf-8").splitlines()
    # A metric of the user's own, without statistics of sentences.
    monkeypatch.setattr(type(ter), "decomposes", False)
    monkeypatch.setattr(type(ter), "signature", "ours")
    monkeypatch.setattr(type(ter), "corpus_score", lambda _, lines, __: (math.nan if lines == broken else 1.0, {}))
    with raises("score-not-finite", files["good", 2], key="ter", says="encoding 'good', seed 2"):
        compare(asked, files, "tiny", "test_1", references / "test_1.target")


def test_translations_that_are_all_missing_are_an_error(tmp_path: Path) -> None:
    references = write_lines(tmp_path / "references", sentences(5))
    asked = family(["base", "good"], [1])
    with pytest.raises(WordorderError) as caught:
        compare(asked, translations(tmp_path / "nowhere", asked, "test_1"), "tiny", "test_1", references)
    assert caught.value.code == "missing-translations"
