"""Tests of the data with which the page compares two systems."""

from __future__ import annotations

import base64
import gzip
import json
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
from scipy import stats

from pair_sample import RATES, SEEDS, write_pairs
from wordorder.config.pages import Page
from wordorder.data.text import read_lines
from wordorder.files import read_json, write_json
from wordorder.report import build, pairs, records, translations
from wordorder.report.translations import Translated
from wordorder.statistics.blocked import block

Sample = tuple[Page, Path, Path]


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Sample:
    return write_pairs(tmp_path_factory.mktemp("pairs"))


@pytest.fixture(scope="module")
def content(sample: Sample) -> dict[str, Any]:
    asked, results, data = sample
    scores = build.build_table("scores", asked.report, results).data
    return pairs.load(
        asked.report, results, scores, records.load(asked, results), translations.read(asked, results, data)
    )


def test_half_a_width_is_that_of_tukeys_test(content: dict[str, Any]) -> None:
    """The formula is written out here: the quantile of the studentised range and the residual of the blocked model."""
    for place in content["places"]:
        for metric in place["metrics"]:
            scores = metric["scores"]
            k, n = len(scores), len(scores[0])
            assert (k, n) == (len(RATES), len(SEEDS))
            grand = sum(map(sum, scores)) / (k * n)
            rows = [sum(row) / n for row in scores]
            columns = [sum(row[j] for row in scores) / k for j in range(n)]
            residual = sum((scores[i][j] - rows[i] - columns[j] + grand) ** 2 for i in range(k) for j in range(n)) / (
                (k - 1) * (n - 1)
            )
            quantile = stats.studentized_range.ppf(0.95, k, (k - 1) * (n - 1))
            assert metric["unstable"] == []
            assert metric["halves"] == pytest.approx([quantile * (residual / n) ** 0.5] * (k * (k - 1) // 2), rel=1e-6)
            assert metric["means"] == pytest.approx(rows)
            for (one, other), p in zip(combinations(range(k), 2), metric["p"], strict=True):
                q = abs(rows[one] - rows[other]) / (residual / n) ** 0.5
                assert p == pytest.approx(stats.studentized_range.sf(q, k, (k - 1) * (n - 1)), abs=1e-6)


def test_scores_and_declared_verdicts_are_those_of_the_files(sample: Sample, content: dict[str, Any]) -> None:
    results = sample[1]
    assert content["confidence"] == "95" and content["exact"] and content["systems"] == list(RATES)
    for place, test in zip(content["places"], ("test_1", "test_2"), strict=True):
        tested = read_json(results / "significance" / f"pair.tiny.{test}.json")["metrics"]
        for metric, name in zip(place["metrics"], ("bleu", "chrf++"), strict=True):
            for system, row in zip(metric["systems"], metric["scores"], strict=True):
                for seed, score in zip(metric["seeds"], row, strict=True):
                    file = results / "cells" / "pair" / system / "tiny" / str(seed) / f"{test}.scores.json"
                    assert score == read_json(file)["metrics"][name]["score"]
            assert metric["margin"] == tested[name]["family"]["margin"]
            assert [entry[2] for entry in metric["declared"]] == [e["verdict"] for e in tested[name]["comparisons"]]


def test_the_sentences_are_those_that_differ_most(sample: Sample, content: dict[str, Any]) -> None:
    results = sample[1]
    place = content["places"][0]
    assert set(place["pairs"]) == {"\n".join(pair) for pair in combinations(RATES, 2)}
    for pair, chosen in place["pairs"].items():
        cells = [results / "cells" / "pair" / name / "tiny" / "1" for name in pair.split("\n")]
        one, other = (read_json(cell / "test_1.scores.json")["metrics"]["chrf++"]["segment_scores"] for cell in cells)
        texts = [list(read_lines(cell / "test_1.hypotheses")) for cell in cells]
        apart = [abs(a - b) for a, b in zip(one, other, strict=True)]
        assert len(chosen) == pairs.SENTENCES
        found = [apart[index] for index in chosen]
        assert found == sorted(found, reverse=True)
        rest = [apart[i] for i in range(len(apart)) if i not in chosen and texts[0][i] != texts[1][i]]
        assert min(found) >= max(rest, default=0.0)
        for name, own in zip(pair.split("\n"), texts, strict=True):
            assert all(place["lines"][name][str(index)] == own[index] for index in chosen)


def made(lines: dict[str, list[str]], sources: list[tuple[str, str]]) -> Translated:
    return Translated("d", "s", "t", "t", "en", "de", None, sources, [], [], lines, {})


def test_a_system_of_other_sizes_is_not_said_to_translate_alike(sample: Sample) -> None:
    asked, results, data = sample
    first, *others = asked.report.encodings
    report = asked.report.model_copy(update={"only": dict.fromkeys(asked.report.sizes, others)})
    scores = build.build_table("scores", asked.report, results).data
    found = pairs.load(report, results, scores, records.load(asked, results), translations.read(asked, results, data))
    for place in found["places"]:
        assert "other sizes" in place["absent"][first] and others[0] not in place["absent"]
        assert all("other sizes" in metric["why"][first] for metric in place["metrics"])


def test_systems_without_a_common_seed_are_not_compared(sample: Sample) -> None:
    """While a study runs, each system may lack another seed."""
    asked, results, data = sample
    scores = build.build_table("scores", asked.report, results).data
    for number, encoding in enumerate(asked.report.encodings):
        scores.loc[scores["encoding"] == encoding, f"seed {SEEDS[number % len(SEEDS)]}"] = None
    content = pairs.load(
        asked.report, results, scores, records.load(asked, results), translations.read(asked, results, data)
    )
    for place in content["places"]:
        for metric in place["metrics"]:
            assert metric["systems"] == [] and set(metric["why"]) == set(asked.report.encodings)
    assert pairs.packed(content)


def test_a_system_that_was_not_run_counts_as_in_the_verdicts(sample: Sample) -> None:
    """The intervals do not become wider when the last systems of a study are trained."""
    asked, results, data = sample
    scores = build.build_table("scores", asked.report, results).data
    columns = [f"seed {seed}" for seed in SEEDS]
    scores.loc[scores["encoding"] == "none", columns] = None
    content = pairs.load(
        asked.report, results, scores, records.load(asked, results), translations.read(asked, results, data)
    )
    for place in content["places"]:
        for metric in place["metrics"]:
            assert metric["why"] == {"none": "no scores"}
            model = block({name: dict(zip(SEEDS, row, strict=True)) for name, row in own(metric).items()})
            quantile = stats.studentized_range.ppf(0.95, len(RATES), model.nu)
            assert metric["halves"] == pytest.approx([quantile * (model.mse / len(SEEDS)) ** 0.5] * 3, rel=1e-6)


def test_a_system_that_translated_nothing_is_in_no_pair(sample: Sample) -> None:
    asked, results, data = sample
    for path in (results / "significance").glob("*.json"):
        content = read_json(path)
        for cell in content["cells"]:
            if (cell["encoding"], cell["seed"]) == ("opr", 1):
                cell["status"] = "no hypotheses"
        write_json(path, content)
    scores = build.build_table("scores", asked.report, results).data
    content = pairs.load(
        asked.report, results, scores, records.load(asked, results), translations.read(asked, results, data)
    )
    for place in content["places"]:
        assert all("opr" not in metric["systems"] and metric["why"]["opr"] for metric in place["metrics"])


def own(metric: dict[str, Any]) -> dict[str, list[float]]:
    return dict(zip(metric["systems"], metric["scores"], strict=True))


def test_equal_translations_and_repeated_sentences_are_left_out() -> None:
    found = made(
        {"a": ["x", "y", "z", "z"], "b": ["x", "u", "v", "w"]}, [("1", "1"), ("2", "2"), ("3", "3"), ("3", "3")]
    )
    assert pairs.choose(found, "a", "b", {}) == [1, 2]
    assert pairs.choose(found, "a", "b", {}, count=1) == [1]
    assert pairs.choose(found, "a", "a", {}) == []


def test_packed_content_is_complete_and_repeatable() -> None:
    content = {"a": "</script> ä\u2028", "b": [1.5, None]}
    text = pairs.packed(content)
    assert text == pairs.packed(content) and "<" not in text
    assert json.loads(gzip.decompress(base64.b64decode(text))) == content
