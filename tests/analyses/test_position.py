"""Tests of recall by relative position: computed manually, and its sum against sacreBLEU's clipped counts."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from sacrebleu.metrics.bleu import BLEU

from analysis_runs import computed
from translated_study import analysed, write_sample
from wordorder.analyses.position import recall_counts


def test_words_by_hand() -> None:
    # 'a' is found once for two: half of each. 'b' is not found, 'c' is.
    found, counts = recall_counts([["c", "a", "x"]], [["a", "b", "a", "c"]], n=1, bins=2)
    assert found.tolist() == [0.5, 1.5]
    assert counts.tolist() == [2, 2]


def test_pairs_of_words_stand_at_their_middle() -> None:
    # Middles of the four pairs of five words: 0.2, 0.4, 0.6, 0.8; at an edge the next bin begins.
    found, counts = recall_counts([["a", "b", "d", "e"]], [["a", "b", "c", "d", "e"]], n=2, bins=5)
    assert counts.tolist() == [0, 1, 1, 1, 1]
    assert found.tolist() == [0, 1, 0, 0, 1]


def test_a_reference_shorter_than_n_has_no_n_grams() -> None:
    found, counts = recall_counts([["a"], []], [["a"], []], n=2, bins=3)
    assert found.sum() == counts.sum() == 0


@pytest.mark.parametrize("n", [1, 2, 3])
def test_the_bins_add_up_to_the_matches_that_bleu_counts(n: int, tmp_path: Path) -> None:
    results, data = write_sample(tmp_path)
    rows = computed(analysed(position={"bins": 7, "ngrams": [n]}), results, data)
    references = (data / "pair/raw/test.target").read_text(encoding="utf-8").splitlines()
    lines = (results / "cells/pair/opr/tiny/1/test.hypotheses").read_text(encoding="utf-8").splitlines()
    bleu = BLEU()
    matches = bleu.corpus_score(lines, [references]).counts[n - 1]
    own = rows[(rows["encoding"] == "opr") & (rows["seed"] == 1)]
    assert (own["recall"] * own["occurrences"]).sum() == pytest.approx(matches)
    total = sum(max(0, len(bleu.tokenizer(line).split()) - n + 1) for line in references)
    assert own["occurrences"].sum() == total
    assert list(own["begin"]) == pytest.approx(np.arange(7) / 7)
    assert own["signature"].str.startswith("tok:13a|version:").all()


def test_the_reference_itself_is_found_everywhere(tmp_path: Path) -> None:
    results, data = write_sample(tmp_path, diverged=None)
    target = (data / "pair/raw/test.target").read_bytes()
    (results / "cells/pair/opr/tiny/1/test.hypotheses").write_bytes(target)
    rows = computed(analysed(position={}), results, data)
    own = rows[(rows["encoding"] == "opr") & (rows["seed"] == 1)]
    assert len(own) == 20 and own["recall"].dropna().tolist() == pytest.approx([1.0] * len(own["recall"].dropna()))


def test_cells_without_translations_are_listed(tmp_path: Path) -> None:
    results, data = write_sample(tmp_path)
    rows = computed(analysed(position={}), results, data).set_index(["encoding", "seed"])
    assert set(rows.loc[("none", 2), "status"]) == {"diverged"} and rows.loc[("none", 2), "recall"].isna().all()
    assert set(rows.loc[("untrained", 1), "status"]) == {"missing"}
    assert rows.loc[("none", 1), "seeds"].max() == 1
