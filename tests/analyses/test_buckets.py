"""Scores by source length, amount of reordering, and beyond the training lengths."""

from __future__ import annotations

import gzip
import os
import random
import statistics
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from analysis_runs import computed
from evaluation_samples import write_lines
from raises import raises
from translated_study import PAIRS, analysed, write_sample
from wordorder.analyses.buckets import BucketAnalysis
from wordorder.analyses.extrapolation import longest_trained
from wordorder.analyses.length import length_buckets, word_lengths
from wordorder.analyses.reordering import links_tau, tau_buckets, tree_tau
from wordorder.results.translations import read_test_sets


def test_newstest2014_has_the_buckets_of_the_opr_paper(tmp_path: Path) -> None:
    """Table 7 of the OPR paper: 1339, 1396, 254 and 14 pairs of 0-19, 20-39, 40-59 and 60-91 English words."""
    mirror = os.environ.get("WORDORDER_MIRROR")
    packed = Path(mirror or "") / "wmt-newstest/en-de/newstest2014.en.gz"
    plain = packed.with_suffix("")
    if mirror is None or not (packed.is_file() or plain.is_file()):
        pytest.skip("newstest2014 is not in the mirror that WORDORDER_MIRROR names")
    text = plain.read_bytes() if plain.is_file() else gzip.decompress(packed.read_bytes())
    (tmp_path / "source").write_bytes(text)
    buckets = length_buckets(word_lengths(tmp_path / "source", "en"), [20, 40, 60])
    assert [int(bucket.members.sum()) for bucket in buckets] == [1339, 1396, 254, 14]
    assert [(bucket.begin, bucket.end) for bucket in buckets] == [(0, 19), (20, 39), (40, 59), (60, 91)]


def test_words_are_moses_tokens_with_dashes_split_off(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "text", ["A well-known man, 3.5 m tall.", "", "one"])
    # A / well / @-@ / known / man / , / 3.5 / m / tall / .
    assert word_lengths(path, "en").tolist() == [10, 0, 1]


def test_a_bucket_holds_its_first_edge_and_not_the_next() -> None:
    lengths = np.array([0, 4, 5, 9, 10, 33])
    buckets = length_buckets(lengths, [5, 10])
    assert [bucket.label for bucket in buckets] == ["0–4", "5–9", "≥ 10"]
    assert [lengths[bucket.members].tolist() for bucket in buckets] == [[0, 4], [5, 9], [10, 33]]
    assert [(bucket.begin, bucket.end) for bucket in buckets] == [(0, 4), (5, 9), (10, 33)]
    assert length_buckets(lengths, [50])[1].end is None


def test_a_bucket_has_the_corpus_score_of_its_sentences(tmp_path: Path) -> None:
    results, data = write_sample(tmp_path)
    found = computed(analysed(length={"unit": "subword", "edges": [8, 30]}), results, data)
    assert list(found["bucket"].unique()) == ["0–7", "8–29", "≥ 30"]
    assert list(found.drop_duplicates("bucket")["pairs"]) == [7, PAIRS - 7, 0]
    rows = found[(found["encoding"] == "opr") & (found["bucket"] == "8–29")].set_index(["metric", "seed"])
    for metric, options in {"bleu": ["-m", "bleu"], "chrf++": ["-m", "chrf", "--chrf-word-order", "2"]}.items():
        for seed in (1, 2):
            lines = [
                (results / f"cells/pair/opr/tiny/{seed}/test.hypotheses").read_text(encoding="utf-8").splitlines()[7:],
                (data / "pair/raw/test.target").read_text(encoding="utf-8").splitlines()[7:],
            ]
            hypotheses, references = (write_lines(tmp_path / str(i), text) for i, text in enumerate(lines))
            command = [sys.executable, "-m", "sacrebleu", str(references), "-i", str(hypotheses), "-b", "-w", "8"]
            done = subprocess.run([*command, *options], capture_output=True, text=True, check=True)
            assert rows.loc[(metric, seed), "score"] == pytest.approx(float(done.stdout), abs=1e-7)
        scores = [rows.loc[(metric, seed), "score"] for seed in (1, 2)]
        assert rows.loc[(metric, 1), "mean"] == pytest.approx(statistics.mean(scores))
        assert rows.loc[(metric, 1), "sd"] == pytest.approx(statistics.stdev(scores))
    assert "tok:13a" in rows.loc[("bleu", 1), "signature"] and "nw:2" in rows.loc[("chrf++", 1), "signature"]


def test_empty_buckets_and_missing_cells_are_listed(tmp_path: Path) -> None:
    results, data = write_sample(tmp_path)
    found = computed(analysed(length={"unit": "subword", "edges": [30]}), results, data)
    assert len(found) == 4 * 2 * 2 * 2  # encodings, seeds, buckets, metrics
    assert set(found.loc[found["bucket"] == "≥ 30", "status"]) == {"no sentences"}
    full = found[found["bucket"] == "0–29"].set_index(["encoding", "seed", "metric"])
    assert full.loc[("none", 2, "bleu"), "status"] == "diverged" and np.isnan(full.loc[("none", 2, "bleu"), "score"])
    assert full.loc[("untrained", 1, "bleu"), "status"] == "missing"
    assert full.loc[("none", 1, "bleu"), "seeds"] == 1 and full.loc[("opr", 1, "bleu"), "seeds"] == 2


def test_sources_of_another_test_set_are_refused(tmp_path: Path) -> None:
    results, data = write_sample(tmp_path)
    write_lines(data / "pair/raw/test.source", ["one line"])
    with raises("different-lengths", data / "pair/raw/test.source", says="25"):
        computed(analysed(length={}), results, data)


# ---------------------------------------------------------------------------------------------------- extrapolation


@pytest.mark.parametrize("percentile", [50, 90, 99, 99.9, 100])
def test_the_longest_trained_length_covers_this_share(percentile: float) -> None:
    draw = random.Random(0)
    lengths = [draw.randint(1, 60) for _ in range(997)]
    found = longest_trained(np.array(lengths), percentile)
    covered = [limit for limit in range(61) if sum(n <= limit for n in lengths) * 100 >= percentile * len(lengths)]
    assert found == covered[0]


@pytest.mark.parametrize(("percentile", "longest"), [(99.9, 999), (0.3, 3), (1e-5, 1), (100, 1000)])
def test_the_rank_of_a_percentile_is_exact(percentile: float, longest: int) -> None:
    assert longest_trained(np.arange(1, 1001, dtype=np.int32), percentile) == longest


def test_sentences_longer_than_every_training_source(tmp_path: Path) -> None:
    results, data = write_sample(tmp_path)
    found = computed(analysed(extrapolation={}), results, data).drop_duplicates("bucket")
    assert found[["bucket", "begin", "end", "pairs"]].to_numpy().tolist() == [
        ["within", 0, 10, 10],
        ["beyond", 11, PAIRS, PAIRS - 10],
    ]
    found = computed(analysed(extrapolation={"percentile": 80}), results, data).drop_duplicates("bucket")
    assert list(found["pairs"]) == [8, PAIRS - 8]


# ------------------------------------------------------------------------------------------------------- reordering


def test_tau_of_trees(tmp_path: Path) -> None:
    """1 - discordant pairs / pairs, counted by hand: 0 1 2, 1 2 0, 2 1 0 and 0 2 1, and one word alone."""
    path = write_lines(tmp_path / "trees", ["[ 0 [ 1 2 ] ]", "< 0 [ 1 2 ] >", "< 0 < 1 2 > >", "[ 0 < 1 2 > ]", "0"])
    assert tree_tau(path).tolist() == pytest.approx([1, 1 / 3, 0, 2 / 3, 1])


def test_tau_of_links(tmp_path: Path) -> None:
    # The fourth line: word 0 is linked to targets 0 and 2, word 1 to 1 alone: neither comes first.
    path = write_lines(tmp_path / "links", ["0-0 3-1", "0-5 2-1 7-3", "", "0-0 0-2 1-1", "0-1 1-0"])
    found = links_tau(path)
    assert np.isnan(found[3])
    assert found[[0, 1, 2, 4]].tolist() == pytest.approx([1, 1 / 3, 1, 0])


def test_bins_are_equal_parts_and_keep_equal_sentences_together() -> None:
    even = tau_buckets(np.arange(12) / 12, 4)
    assert [int(bucket.members.sum()) for bucket in even] == [3, 3, 3, 3]
    assert [(bucket.begin, bucket.end) for bucket in even] == [(i / 4, (i * 3 + 2) / 12) for i in range(4)]
    tied = tau_buckets(np.array([0.2, 0.4] + [1.0] * 8), 4)
    assert [(bucket.label, int(bucket.members.sum())) for bucket in tied] == [("0.20 to 0.40", 2), ("1.00", 8)]
    alike = tau_buckets(np.ones(5), 3)
    assert [int(bucket.members.sum()) for bucket in alike] == [5]
    unordered = tau_buckets(np.array([0.5, np.nan, 1.0]), 2)
    assert [(bucket.label, bucket.members.tolist()) for bucket in unordered] == [
        ("0.50", [True, False, False]),
        ("1.00", [False, False, True]),
        ("no order", [False, True, False]),
    ]
    near = tau_buckets(np.array([0.9512, 0.9513, 0.9522, 0.9533]), 2)
    assert [bucket.label for bucket in near] == ["0.951", "0.952 to 0.953"], "with two digits, both were 0.95"


@pytest.mark.parametrize(
    ("settings", "least", "pairs"),
    [
        # TREES: tau 1, 1/3, 0, 2/3, 1, five times each.
        ({"by": "gold", "bins": 5}, [0, 1 / 3, 2 / 3, 1], [5, 5, 5, 10]),
        # Links: tau 2/3, 0, 1, 1, 1.
        ({"by": "links", "bins": 5}, [0, 2 / 3, 1], [5, 5, 15]),
    ],
)
def test_scores_by_amount_of_reordering(
    settings: dict[str, object], least: list[float], pairs: list[int], tmp_path: Path
) -> None:
    results, data = write_sample(tmp_path)
    found = computed(analysed(reordering=settings), results, data).drop_duplicates("bucket")
    assert list(found["begin"]) == pytest.approx(least)
    assert list(found["pairs"]) == pairs


@pytest.mark.parametrize(
    ("analysis", "settings"),
    [
        ("length", {"unit": "word"}),
        ("length", {"unit": "subword"}),
        ("extrapolation", {}),
        ("reordering", {"by": "gold"}),
        ("reordering", {"by": "links"}),
    ],
)
def test_a_test_set_that_is_decoded_in_several_ways_has_its_own_buckets(
    analysis: str, settings: dict[str, object], tmp_path: Path
) -> None:
    results, data = write_sample(tmp_path)
    asked = analysed(**{analysis: settings})
    (test,) = read_test_sets(asked, results, data)
    own = asked.settings[analysis]
    assert isinstance(own, BucketAnalysis)
    expected, found = (own.buckets(each, asked, data) for each in (test, replace(test, name="test@paper")))
    assert [bucket.members.tolist() for bucket in found] == [bucket.members.tolist() for bucket in expected]
