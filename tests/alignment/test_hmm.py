"""Tests of the embedded aligner: posteriors against sums over all alignments, training, and inputs."""

from __future__ import annotations

import itertools
import math
import random
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from raises import raises
from wordorder.alignment.agreement import agreed
from wordorder.alignment.chain import hmm_posteriors, model1_posteriors
from wordorder.alignment.error_rate import error_rate
from wordorder.alignment.estimation import exp_digamma
from wordorder.alignment.hmm import HMMAligner, train
from wordorder.alignment.jumps import FAR, GROUPS, NEAR, estimate_weights, initial_weights, spread
from wordorder.alignment.lexicon import Lexicon, build_lexicon, find, likely
from wordorder.alignment.links import GoldLinks, Links
from wordorder.config.datasets import Generator
from wordorder.config.reordering import HMM
from wordorder.data.arrays import write_npz
from wordorder.data.generate import write_split
from wordorder.data.ragged import Ragged
from wordorder.data.units import Vocabulary

Floats = NDArray[np.float64]


# -------------------------------------------------------------------------------------------------------- the chain


def by_enumeration(emission: Floats, emission_null: Floats, null: float, jumps: Floats) -> tuple[Floats, Floats, float]:
    """Sum posteriors, expected jumps and log-likelihood over all alignments."""
    length, states = emission.shape
    reach = len(jumps) // 2
    posterior, widths, total = np.zeros_like(emission), np.zeros_like(jumps), 0.0
    for choice in itertools.product([None, *range(states)], repeat=length):
        position, probability, made = 0, 1.0, []
        for j, i in enumerate(choice):
            if i is None:
                probability *= null * emission_null[j]
                continue
            reachable = sum(jumps[reach + to - position] for to in range(1, states + 1))
            probability *= (1 - null) * jumps[reach + i + 1 - position] / reachable * emission[j, i]
            made.append(i + 1 - position)
            position = i + 1
        probability *= jumps[reach + states + 1 - position]
        total += probability
        for j, i in enumerate(choice):
            if i is not None:
                posterior[j, i] += probability
        for width in made:
            widths[reach + width] += probability
    return posterior / total, widths / total, math.log(total)


@pytest.mark.parametrize(("length", "states"), [(1, 1), (1, 4), (4, 1), (3, 4), (5, 3)])
def test_the_chain_sums_over_all_alignments(length: int, states: int) -> None:
    draw = np.random.default_rng(length)
    emission, emission_null = draw.random((length, states)), draw.random(length)
    jumps = draw.random(2 * 7 + 1)
    posterior, widths = np.empty((length, states)), np.zeros(len(jumps))
    likelihood = hmm_posteriors(emission, emission_null, 0.3, jumps, posterior, widths)
    expected = by_enumeration(emission, emission_null, 0.3, jumps)
    np.testing.assert_allclose(posterior, expected[0], rtol=1e-9)
    np.testing.assert_allclose(widths, expected[1], rtol=1e-6, atol=1e-9)
    assert likelihood == pytest.approx(expected[2], rel=1e-12)


def test_widths_are_added() -> None:
    emission, jumps, posterior = np.ones((2, 2)), np.ones(7), np.empty((2, 2))
    once, twice = np.zeros(7), np.zeros(7)
    hmm_posteriors(emission, np.ones(2), 0.1, jumps, posterior, once)
    for _ in range(2):
        hmm_posteriors(emission, np.ones(2), 0.1, jumps, posterior, twice)
    np.testing.assert_allclose(twice, 2 * once)
    assert once.sum() == pytest.approx(2 * 0.9)


def test_model_1_equals_a_manual_computation() -> None:
    posterior = np.empty((2, 2))
    likelihood = model1_posteriors(np.array([[0.2, 0.6], [0.1, 0.3]]), np.array([0.5, 0.4]), 0.2, posterior)
    # 0.8 / 2 · 0.2 = 0.08, 0.24 and null 0.1; 0.04, 0.12 and null 0.08.
    np.testing.assert_allclose(posterior, [[0.08 / 0.42, 0.24 / 0.42], [0.04 / 0.24, 0.12 / 0.24]])
    assert likelihood == pytest.approx(math.log(0.42) + math.log(0.24))


def test_two_witnesses() -> None:
    assert agreed(0.5, 0.3) == pytest.approx(0.3), "one that knows nothing changes nothing"
    assert agreed(0.9, 0.8) == agreed(0.8, 0.9) == pytest.approx(0.72 / (0.72 + 0.02))
    assert agreed(0.0, 0.9) == 0
    for p in (0.0, 1e-12, 0.5, 1.0, 1.0 + 1e-9):
        for q in (0.0, 1e-12, 0.5, 1.0, 1.0 + 1e-9):
            assert 0 <= agreed(p, q) <= 1


# ------------------------------------------------------------------------------------------------------ the numbers


@pytest.mark.parametrize("block", [1, 3, 1000])
def test_the_lexicon_has_the_pairs_that_occur_together(block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("wordorder.alignment.lexicon.BLOCK", block)
    draw = random.Random(1)
    source, target = ([[draw.randrange(9) for _ in range(draw.randrange(5))] for _ in range(9)] for _ in range(2))
    lexicon = build_lexicon(Ragged.of(source), Ragged.of(target))
    times = Counter((e, f) for s, t in zip(source, target, strict=True) for e in s for f in t if e and f)
    assert pairs_of(lexicon.rows, lexicon) == sorted(pair for pair, count in times.items() if count > 1)
    assert pairs_of(lexicon.once, lexicon) == sorted(pair for pair, count in times.items() if count == 1)
    assert min(lexicon.rows[-1], len(lexicon.targets) - lexicon.rows[-1]) > 5, "both kinds occur"
    found = {(e, f): find(lexicon, e, f) for e in range(11) for f in range(11)}
    assert sorted(number for number in found.values() if number >= 0) == list(range(len(times)))
    assert {pair for pair, number in found.items() if number >= 0} == set(times)
    assert all(lexicon.targets[number] == f for (_, f), number in found.items() if number >= 0)


def pairs_of(rows: NDArray[np.int64], lexicon: Lexicon) -> list[tuple[int, int]]:
    targets = lexicon.targets[rows[0] : rows[-1]]
    return list(zip(np.repeat(np.arange(len(rows) - 1), np.diff(rows)).tolist(), targets.tolist(), strict=True))


def test_likely_pairs_are_sorted_again() -> None:
    rows, once = np.array([0, 0, 2, 2]), np.array([2, 2, 4, 5])
    lexicon = Lexicon(rows, once, np.array([2, 5, 1, 3, 4], np.int32), 6)
    forward, backward = np.array([1, 0, 2, 0, 3], np.float32), np.array([0, 0, 0, 4, 0], np.float32)
    kept, one, other = likely(lexicon, forward, backward, 0.5)
    assert pairs_of(kept.rows, kept) == [(1, 1), (1, 2), (1, 3), (2, 4)]
    assert pairs_of(kept.once, kept) == []
    assert one.tolist() == [2, 1, 0, 3]
    assert other.tolist() == [0, 0, 4, 0]


def test_digamma() -> None:
    # ψ(1) = -γ, ψ(1/2) = -γ - 2 ln 2, ψ(x + 1) = ψ(x) + 1 / x.
    gamma = 0.5772156649015329
    assert exp_digamma(1.0) == pytest.approx(math.exp(-gamma), rel=1e-9)
    assert exp_digamma(0.5) == pytest.approx(math.exp(-gamma) / 4, rel=1e-9)
    assert exp_digamma(10.0) == pytest.approx(math.exp(-gamma + sum(1 / k for k in range(1, 10))), rel=1e-9)
    assert exp_digamma(0.001) == 0 or exp_digamma(0.001) < 1e-300


def test_groups_of_jumps_cover_all_widths_once() -> None:
    covered = [d for first, last in GROUPS for d in range(first, last + 1)]
    assert covered == list(range(-FAR, FAR + 1))
    assert all((d, d) in GROUPS for d in range(-NEAR, NEAR + 1))
    weights = np.arange(len(GROUPS), dtype=np.float64)
    reach = FAR + 50
    table = spread(weights, reach)
    for d in range(-reach, reach + 1):
        inside = min(max(d, -FAR), FAR)
        (group,) = (k for k, (first, last) in enumerate(GROUPS) if first <= inside <= last)
        assert table[d + reach] == group


def test_jumps_of_one_group_share_their_count() -> None:
    widths = np.zeros(61, np.int64)
    widths[30 + 1], widths[30 + 25] = 600, 400
    weights = spread(estimate_weights(widths), 30)
    assert weights[30 + 1] == pytest.approx(0.6, abs=1e-3)
    (group,) = (group for group in GROUPS if group[0] <= 25 <= group[1])
    assert weights[30 + group[0]] == weights[30 + 25] == pytest.approx(0.4 / (group[1] - group[0] + 1), rel=0.01)
    assert 0 < weights[30 - 3] < 1e-4
    np.testing.assert_array_equal(estimate_weights(np.zeros(5, np.int64)), initial_weights())


# ------------------------------------------------------------------------------------------------------ what it learns


class Pair:
    """The generated pair, whose links are known."""

    def __init__(self, folder: Path, sentences: int) -> None:
        names = ("source", "target", "alignments", "trees")
        write_split(Generator(train=sentences), split="train", **{name: folder / name for name in names})
        texts = [
            [line.split() for line in (folder / name).read_text(encoding="utf-8").splitlines()]
            for name in ("source", "target", "alignments")
        ]
        self.vocabularies = [Vocabulary.build(text) for text in texts[:2]]
        self.source, self.target = (
            vocabulary.numbers(text) for vocabulary, text in zip(self.vocabularies, texts[:2], strict=True)
        )
        sure = Links.of([[(int(link.split("-")[0]), int(link.split("-")[1])) for link in line] for line in texts[2]])
        self.gold = GoldLinks(sure, sure)


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Pair:
    return Pair(tmp_path_factory.mktemp("pair"), 1500)


@pytest.fixture(scope="module")
def aligner(pair: Pair) -> HMMAligner:
    return train(pair.source, pair.target, HMM())


def same(one: Links, other: Links) -> bool:
    return all(np.array_equal(getattr(one, name), getattr(other, name)) for name in ("source", "target", "offsets"))


def test_the_generated_pair_is_aligned(pair: Pair, aligner: HMMAligner) -> None:
    for how, bound in (("intersection", 0.05), ("grow-diag-final-and", 0.08), ("union", 0.12)):
        links = aligner.align(pair.source, pair.target, symmetrisation=how)  # type: ignore[arg-type]
        assert error_rate(links, pair.gold).aer < bound


def test_the_hmms_are_better_than_model_1(pair: Pair, aligner: HMMAligner) -> None:
    history = aligner.history
    assert [entry.model for entry in history] == ["IBM model 1"] * 12 + ["HMM"] * 3
    for side in (1, 2):
        values = [entry[side] for entry in history]
        assert all(value < 0 for value in values)
        assert values[14] > values[11] > values[0], "training raises the likelihood"


def test_the_directions_are_links_of_each_unit(pair: Pair, aligner: HMMAligner) -> None:
    forward, backward = aligner.directions(pair.source, pair.target)
    for index, (one, other) in enumerate(zip(forward, backward, strict=True)):
        assert len(set(one[:, 1].tolist())) == len(one)
        assert len(set(other[:, 0].tolist())) == len(other)
        for links in (one, other):
            assert links.tolist() == sorted(links.tolist())
            assert not len(links) or (links.max(0) < (len(pair.source[index]), len(pair.target[index]))).all()


def test_threads_change_no_bit(pair: Pair, aligner: HMMAligner, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("wordorder.alignment.hmm.CHUNK", 100)
    one, three = (train(pair.source, pair.target, HMM(), threads=threads) for threads in (1, 3))
    for ours in (three, aligner):
        for array, other in zip((*one.forward, *one.backward), (*ours.forward, *ours.backward), strict=True):
            np.testing.assert_array_equal(array, other)
    assert one.history == three.history
    links = [aligner.align(pair.source, pair.target, symmetrisation="union", threads=n) for n in (1, 3)]
    assert same(*links)


def test_pairs_that_occur_once_are_counted_like_all_others(
    pair: Pair, aligner: HMMAligner, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Separating these pairs saves memory and changes no bit."""

    def together(source: Ragged, target: Ragged) -> Lexicon:
        lexicon = build_lexicon(source, target)
        if len(source):  # The first call compiles and has no text.
            assert len(lexicon.targets) > lexicon.rows[-1] > 0, "both kinds occur"
        ones = np.ones(len(lexicon.targets), np.float32)
        return likely(lexicon, ones, ones, 0.0)[0]

    monkeypatch.setattr("wordorder.alignment.hmm.build_lexicon", together)
    ours = train(pair.source, pair.target, HMM())
    for array, other in zip((*ours.forward, *ours.backward), (*aligner.forward, *aligner.backward), strict=True):
        np.testing.assert_array_equal(array, other)
    np.testing.assert_array_equal(ours.lexicon.targets, aligner.lexicon.targets)
    assert ours.history == aligner.history


# ------------------------------------------------------------------------------------------------ odd texts


def links_of(aligner: HMMAligner, source: Sequence[int], target: Sequence[int], how: str = "union") -> list[list[int]]:
    found = aligner.align(Ragged.of([source]), Ragged.of([target]), symmetrisation=how)  # type: ignore[arg-type]
    return found[0].tolist()


def test_unknown_units_are_linked_by_position(aligner: HMMAligner) -> None:
    reach = 12
    jumps = spread(initial_weights(), reach)
    monotone = HMMAligner(
        aligner.lexicon,
        aligner.forward._replace(jumps=initial_weights()),
        aligner.backward._replace(jumps=initial_weights()),
        (),
    )
    assert jumps.argmax() == reach + 1, "a step to the next unit"
    assert links_of(monotone, [0] * 4, [0] * 4, "intersection") == [[0, 0], [1, 1], [2, 2], [3, 3]]
    unseen = 10**6
    assert links_of(monotone, [unseen] * 4, [unseen] * 4) == links_of(monotone, [0] * 4, [0] * 4)


def test_an_unknown_unit_between_known_ones(pair: Pair, aligner: HMMAligner) -> None:
    """Where one unit of a pair of linked units is hidden, the links of all others stay."""
    changed = total = 0
    for index in range(60):
        source, target = pair.source[index].copy(), pair.target[index].copy()
        before = links_of(aligner, source, target, "intersection")
        if len(before) < 4:
            continue
        i, j = before[1]
        source[i] = target[j] = 0
        after = links_of(aligner, source, target, "intersection")
        total += len(before) - 1
        changed += sum(link not in after for link in before if link != [i, j])
    assert total > 100 and changed / total < 0.1


def test_links_do_not_depend_on_the_other_sentences(aligner: HMMAligner) -> None:
    """Both target tokens are equally likely: jumps by 1 and 2, or by 2 and 1. Rounding must not decide."""
    for seed in range(20):
        jumps = np.random.default_rng(seed).random(len(initial_weights()))
        random = HMMAligner(
            aligner.lexicon, aligner.forward._replace(jumps=jumps), aligner.backward._replace(jumps=jumps), ()
        )
        for length in (1, 8, 18, 28):
            source, target = Ragged.of([[0], [0] * length]), Ragged.of([[0, 0], [0] * length])
            assert random.directions(source, target)[1][0].tolist() == [[0, 0]]


@pytest.mark.parametrize(("source", "target"), [([], []), ([], [1, 2]), ([1, 2], [])])
def test_empty_sides_have_no_links(aligner: HMMAligner, source: list[int], target: list[int]) -> None:
    assert links_of(aligner, source, target) == []


def test_empty_pairs_teach_nothing(pair: Pair, aligner: HMMAligner) -> None:
    sides = ([*map(list, side)] for side in (pair.source, pair.target))
    source, target = sides
    ours = train(Ragged.of([[], *source, [], []]), Ragged.of([[], *target, [], []]), HMM())
    for array, other in zip((*ours.forward, *ours.backward), (*aligner.forward, *aligner.backward), strict=True):
        np.testing.assert_array_equal(array, other)


def test_nothing_to_train_on() -> None:
    for empty in (Ragged.of([]), Ragged.of([[], []])):
        aligner = train(empty, empty, HMM())
        assert len(aligner.align(empty, empty, symmetrisation="union").source) == 0
        assert links_of(aligner, [0], [0]) == [[0, 0]]


def test_one_word() -> None:
    words = Ragged.of([[1], [2], [1], [2]])
    aligner = train(words, words, HMM())
    assert links_of(aligner, [1], [1]) == [[0, 0]]
    assert links_of(aligner, [1, 2], [2, 1], "intersection") == [[0, 1], [1, 0]]


def test_500_words(pair: Pair, aligner: HMMAligner) -> None:
    source = np.concatenate([*pair.source])[:500]
    target = np.concatenate([*pair.target])[:480]
    found = links_of(aligner, source.tolist(), target.tolist(), "intersection")
    assert len(found) > 200
    long = train(Ragged.of([source, *pair.source]), Ragged.of([target, *pair.target]), HMM(iterations=1))
    assert np.isfinite([entry[1:] for entry in long.history]).all()


def test_sides_of_different_length_are_refused() -> None:
    with pytest.raises(ValueError, match=r"\b1 source .*\b2 target"):
        train(Ragged.of([[1]]), Ragged.of([[1], [1]]), HMM())


# ------------------------------------------------------------------------------------------------------------- files


def test_a_saved_aligner_aligns_as_before(pair: Pair, aligner: HMMAligner, tmp_path: Path) -> None:
    aligner.save(tmp_path / "aligner.npz", *pair.vocabularies)
    again, *vocabularies = HMMAligner.load(tmp_path / "aligner.npz")
    assert [vocabulary.units for vocabulary in vocabularies] == [own.units for own in pair.vocabularies]
    assert again.history == aligner.history
    links = [ours.align(pair.source, pair.target, symmetrisation="grow-diag-final-and") for ours in (aligner, again)]
    assert same(*links)
    assert [path.name for path in tmp_path.iterdir()] == ["aligner.npz"]


def test_two_runs_write_the_same_bytes(pair: Pair, aligner: HMMAligner, tmp_path: Path) -> None:
    for name, ours in (("one", aligner), ("two", train(pair.source, pair.target, HMM(), threads=2))):
        ours.save(tmp_path / name, *pair.vocabularies)
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


def test_other_vocabularies_are_refused(aligner: HMMAligner, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="vocabularies"):
        aligner.save(tmp_path / "aligner.npz", Vocabulary(["a"]), Vocabulary(["b"]))
    assert not list(tmp_path.iterdir())


def test_a_file_without_an_aligner_is_refused(pair: Pair, aligner: HMMAligner, tmp_path: Path) -> None:
    path = tmp_path / "aligner.npz"
    aligner.save(path, *pair.vocabularies)
    whole = path.read_bytes()
    with np.load(path) as arrays:
        content = dict(arrays)
    for text in (b"", b"PK\x03\x04", b"some text", whole[: len(whole) // 2], whole[:-10]):
        path.write_bytes(text)
        with raises("damaged-file") as raised:
            HMMAligner.load(path)
        assert "pickle" not in str(raised.error), "numpy's advice"
    changes = {
        "rows": content["rows"] + 1,
        "targets": content["targets"][1:],
        "forward_lexical": content["forward_lexical"].astype(np.float64),
        "backward_jumps": content["backward_jumps"][1:],
        "forward_null": np.append(content["forward_null"], np.zeros(9999)),
        "history": np.frombuffer(b"{", np.uint8),
        "vocabularies": np.frombuffer(b"[[1]]", np.uint8),
    }
    for name, value in changes.items():
        write_npz(path, **{**content, name: value})
        with raises("damaged-file"):
            HMMAligner.load(path)
    write_npz(path, **{**content, "format": np.array(99)})
    with raises("wrong-version", says="99"):
        HMMAligner.load(path)
    with raises("unreadable-file"):
        HMMAligner.load(tmp_path / "none.npz")
