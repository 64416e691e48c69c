"""Tests of batches: every sentence once, little padding, the same order for the same seed and epoch."""

from __future__ import annotations

import itertools
import math
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from lightning_fabric import Fabric
from torch.testing import assert_close

from raises import raises
from training_runs import VOCABULARY, cell, write_reversals
from wordorder.data.binary import ParallelCorpus, write_corpus
from wordorder.data.positions import write_positions
from wordorder.model.batch import BEGIN, END, PAD
from wordorder.model.checkpoint import build_model
from wordorder.model.objective import TranslationObjective
from wordorder.training import loop
from wordorder.training.batches import PassLimit, ahead, collate, collate_rows, epoch_batches, joined, plan_batches
from wordorder.training.lengths import kept_pairs
from wordorder.training.state import StateDirectory


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> ParallelCorpus:
    return ParallelCorpus.open(write_reversals(tmp_path_factory.mktemp("data") / "train", pairs=300, seed=5))


def test_every_sentence_comes_once_an_epoch_and_no_batch_is_too_large(corpus: ParallelCorpus) -> None:
    batches = epoch_batches(corpus, 64, seed=1, epoch=0)
    assert sorted(np.concatenate(batches)) == list(range(len(corpus)))
    for batch in batches:
        longest = max(corpus.source_lengths[batch].max(), corpus.target_lengths[batch].max()) + 1
        assert longest * len(batch) <= 64


def test_batches_are_as_full_as_they_can_be(corpus: ParallelCorpus) -> None:
    batches = plan_batches(corpus, 64)
    for batch, following in itertools.pairwise(batches):
        together = np.append(batch, following[0])
        longest = max(corpus.source_lengths[together].max(), corpus.target_lengths[together].max()) + 1
        assert longest * len(together) > 64


def test_a_batch_may_hold_more_tokens_than_there_are(corpus: ParallelCorpus) -> None:
    (all_together,) = plan_batches(corpus, 10**12)
    assert sorted(all_together) == list(range(len(corpus)))


def test_the_order_depends_only_on_seed_and_epoch(corpus: ParallelCorpus) -> None:
    def order(seed: int, epoch: int) -> list[int]:
        return [int(sentence) for batch in epoch_batches(corpus, 64, seed=seed, epoch=epoch) for sentence in batch]

    assert order(1, 0) == order(1, 0)
    assert order(1, 0) != order(1, 1)
    assert order(1, 0) != order(2, 0)


def test_a_batch_holds_what_the_corpus_says(corpus: ParallelCorpus) -> None:
    sentences = np.array([3, 0, 7])
    batch = collate(corpus, sentences)
    for row, sentence in enumerate(sentences):
        source, target = corpus.source(sentence).tolist(), corpus.target(sentence).tolist()
        assert [piece for piece in batch.source[row].tolist() if piece != PAD] == [*source, END]
        assert [piece for piece in batch.target_input[row].tolist() if piece != PAD] == [BEGIN, *target]
        assert [piece for piece in batch.target_output[row].tolist() if piece != PAD] == [*target, END]
    assert batch.target_tokens == int((batch.target_output != PAD).sum())
    assert batch.real is not None
    assert batch.real.tolist() == (batch.target_output.flatten() != PAD).nonzero().flatten().tolist()
    assert batch.source_lengths is not None
    assert batch.source_lengths.tolist() == (batch.source != PAD).sum(1).tolist()
    assert collate(corpus, np.array([3])).real is None


def test_rows_hold_every_sentence_once_and_little_padding(corpus: ParallelCorpus) -> None:
    chosen = np.random.default_rng(0).permutation(len(corpus))[:280]
    batch = collate_rows(corpus, chosen)
    assert batch.source_rows is not None and batch.target_rows is not None
    found = []
    for row in range(len(batch.source)):
        numbers, positions = batch.source_rows[:, row]
        for number in range(1, int(numbers.max()) + 1):
            own, other = numbers == number, batch.target_rows[0, row] == number
            source, target = batch.source[row][own].tolist(), batch.target_output[row][other].tolist()
            assert source[-1] == target[-1] == END
            assert batch.target_input[row][other].tolist() == [BEGIN, *target[:-1]]
            assert positions[own].tolist() == list(range(len(source)))
            assert batch.target_rows[1, row][other].tolist() == list(range(len(target)))
            found.append((source[:-1], target[:-1]))
    assert sorted(found) == sorted((corpus.source(i).tolist(), corpus.target(i).tolist()) for i in chosen)
    for tokens, (numbers, _) in ((batch.source, batch.source_rows), (batch.target_input, batch.target_rows)):
        assert tokens.shape == (len(tokens), 256) and bool(((numbers == 0) == (tokens == PAD)).all())
        assert float((tokens != PAD).double().mean()) > 0.8
    assert batch.real is not None
    assert sorted(batch.real.tolist()) == (batch.target_output.flatten() != PAD).nonzero().flatten().tolist()
    assert batch.longest == tuple(1 + max(side[chosen]) for side in (corpus.source_lengths, corpus.target_lengths))


def test_rows_are_as_wide_as_the_longest_sentence_needs(tmp_path: Path) -> None:
    sentences = ([4] * 300, [5]), ([4], [5] * 200), ([6], [7])
    write_corpus(tmp_path / "corpus", sentences, vocabulary_size=9)
    batch = collate_rows(ParallelCorpus.open(tmp_path / "corpus"), np.arange(3))
    assert batch.source.shape == batch.target_input.shape == (1, 320)
    assert batch.longest == (301, 201)


@pytest.mark.parametrize(("placement", "shorter"), [("encoder", 0), ("decoder", 1)])
@torch.no_grad()
def test_the_other_side_may_be_longer_than_a_table(placement: str, shorter: int, tmp_path: Path) -> None:
    pairs = [([4] * 9, [5] * 25), ([6] * 3, [7] * 12)]
    write_corpus(
        tmp_path / "corpus", [(pair[shorter], pair[1 - shorter]) for pair in pairs], vocabulary_size=VOCABULARY
    )
    corpus = ParallelCorpus.open(tmp_path / "corpus")
    learned = {"type": "learned", "table": 10, "placement": placement}
    objective = TranslationObjective(build_model(cell(encoding=learned), VOCABULARY), 0.1).eval()
    assert objective.transformer.shares_rows
    padded, in_rows = objective(collate(corpus, np.arange(2))), objective(collate_rows(corpus, np.arange(2)))
    assert_close(in_rows, padded)


def test_a_batch_brings_the_positions_of_its_corpus(tmp_path: Path) -> None:
    write_corpus(tmp_path / "corpus", [([4], [5]), ([6, 7, 8], [5, 6]), ([], [4]), ([9, 9], [4])], vocabulary_size=10)
    rows = [[0], [2, 0, 1], [], [1, 0]]
    write_positions(tmp_path / "gold", rows, kind="gold", corpus=ParallelCorpus.open(tmp_path / "corpus"))
    assert collate(ParallelCorpus.open(tmp_path / "corpus"), np.array([1, 0])).source_positions is None
    corpus = ParallelCorpus.open(tmp_path / "corpus", positions=tmp_path / "gold")
    batch = collate(corpus, np.array([3, 1, 2]))
    assert batch.source.tolist() == [[9, 9, END, PAD], [6, 7, 8, END], [END, PAD, PAD, PAD]]
    assert batch.source_positions is not None and batch.source_positions.dtype == torch.int64
    assert batch.source_positions.tolist() == [[1, 0, 2, 3], [2, 0, 1, 3], [0, 1, 2, 3]]
    moved = batch.to(torch.device("meta")).source_positions
    assert moved is not None and moved.device.type == "meta" and moved.shape == (3, 4)
    assert collate(corpus, np.array([2])).source_positions.tolist() == [[0]]  # type: ignore[union-attr]
    rows = collate_rows(corpus, np.array([3, 1, 2])).source_positions
    assert rows is not None and rows.shape == (1, 256)
    assert rows[0, :8].tolist() == [2, 0, 1, 3, 1, 0, 2, 0]  # the longest sentence comes first


def test_long_pairs_are_left_out_and_the_others_come_as_if_there_were_no_others(
    corpus: ParallelCorpus, tmp_path: Path
) -> None:
    longest = np.maximum(corpus.source_lengths, corpus.target_lengths) + 1
    short = np.flatnonzero(longest <= 6)
    assert 0 < len(short) < len(corpus) and longest.max() == 10
    pairs = ((corpus.source(i).tolist(), corpus.target(i).tolist()) for i in short.tolist())
    write_corpus(tmp_path / "short", pairs, vocabulary_size=VOCABULARY)
    alone = ParallelCorpus.open(tmp_path / "short")
    for epoch in (0, 1):
        found = epoch_batches(corpus, 64, seed=1, epoch=epoch, max_positions=6)
        expected = [short[batch] for batch in epoch_batches(alone, 64, seed=1, epoch=epoch)]
        assert list(map(list, found)) == list(map(list, expected))
        everything = list(map(list, epoch_batches(corpus, 64, seed=1, epoch=epoch)))
        assert list(map(list, epoch_batches(corpus, 64, seed=1, epoch=epoch, max_positions=10))) == everything


def test_the_longer_side_decides_and_its_end_is_counted(tmp_path: Path) -> None:
    lengths = [(3, 3), (4, 3), (3, 4), (5, 1), (1, 5), (4, 4), (0, 9)]
    pairs = (([4] * source, [5] * target) for source, target in lengths)
    write_corpus(tmp_path / "corpus", pairs, vocabulary_size=VOCABULARY)
    corpus = ParallelCorpus.open(tmp_path / "corpus")
    assert kept_pairs(corpus, 5).tolist() == [0, 1, 2, 5]
    assert kept_pairs(corpus, 4).tolist() == [0]
    assert kept_pairs(corpus, None).tolist() == list(range(7))
    # A pair that is left out needs no batch.
    assert sorted(np.concatenate(plan_batches(corpus, 8, max_positions=5))) == [0, 1, 2, 5]
    with raises("too-long", line=7, found=10, expected=8):
        plan_batches(corpus, 8)
    with raises("too-long", line=2, found=5, expected=4):
        plan_batches(corpus, 4, max_positions=5)


def test_a_sentence_longer_than_a_batch_is_an_error_that_says_what_to_do(tmp_path: Path) -> None:
    write_corpus(tmp_path / "long", [([4], [5]), ([4] * 40, [5])], vocabulary_size=VOCABULARY)
    with raises("too-long", line=2, key="batch_tokens", found=41, expected=32):
        plan_batches(ParallelCorpus.open(tmp_path / "long"), 32)


def planned_one_by_one(corpus: ParallelCorpus, batch_tokens: int, seed: int, epoch: int) -> list[list[int]]:
    """The batches of an epoch as the loop made them that looked at each sentence."""
    generator = np.random.default_rng([seed, epoch])
    longest = np.maximum(corpus.source_lengths, corpus.target_lengths).astype(np.int64) + 1
    order = np.lexsort((generator.permutation(len(corpus)), corpus.source_lengths, corpus.target_lengths))
    batches, start, widest = [], 0, 0
    for place, sentence in enumerate(order):
        wider = max(widest, int(longest[sentence]))
        if wider * (place - start + 1) > batch_tokens:
            batches.append(order[start:place].tolist())
            start, wider = place, int(longest[sentence])
        widest = wider
    batches.append(order[start:].tolist())
    return [batches[number] for number in generator.permutation(len(batches))]


@pytest.mark.parametrize("batch_tokens", [10, 11, 64, 1000, 100_000])
def test_batches_are_those_of_the_loop_over_sentences(corpus: ParallelCorpus, batch_tokens: int) -> None:
    """A model that is trained again gets the same batches as before planning was fast."""
    for epoch in (0, 1):
        found = [batch.tolist() for batch in epoch_batches(corpus, batch_tokens, seed=1, epoch=epoch)]
        assert found == planned_one_by_one(corpus, batch_tokens, seed=1, epoch=epoch)


def test_sentences_of_more_than_16_bits_are_sorted_as_others(tmp_path: Path) -> None:
    lengths = [(70_000, 3), (5, 66_000), (5, 3), (1 << 16, 3)]
    pairs = (([4] * source, [5] * target) for source, target in lengths)
    write_corpus(tmp_path / "corpus", pairs, vocabulary_size=VOCABULARY)
    corpus = ParallelCorpus.open(tmp_path / "corpus")
    assert [batch.tolist() for batch in plan_batches(corpus, 70_001)] == [[2], [3], [0], [1]]


def test_what_is_made_ahead_comes_in_order() -> None:
    """A slow worker, a slow user, and one that stops early."""
    threads: set[str] = set()
    made: list[int] = []

    def make(item: int) -> int:
        threads.add(threading.current_thread().name)
        made.append(item)
        return item * item

    assert list(ahead(make, range(7), depth=0)) == [item * item for item in range(7)]
    assert threads == {threading.current_thread().name}
    assert list(ahead(make, range(7), depth=3)) == [item * item for item in range(7)]
    assert len(threads) == 2 and made == [*range(7), *range(7)]
    made.clear()
    some = ahead(make, range(100), depth=2)
    assert [next(some), next(some)] == [0, 1]
    some.close()  # type: ignore[attr-defined]
    assert made == list(range(len(made))) and len(made) <= 4


def test_a_worker_that_fails_fails_where_its_result_is_due() -> None:
    def make(item: int) -> int:
        if item == 2:
            raise KeyError(item)
        return item

    found = []
    with pytest.raises(KeyError):
        for each in ahead(make, range(5), depth=4):
            found.append(each)
    assert found == [0, 1]


def test_batches_from_the_background_train_the_same_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As on a GPU, where batches are made while it works."""
    original, depths = loop.ahead, []

    def in_background(make: Callable[[Any], Any], items: list[Any], *, depth: int) -> Iterator[Any]:
        depths.append(depth)
        return original(make, items, depth=depth + added)

    monkeypatch.setattr(loop, "ahead", in_background)
    corpus = ParallelCorpus.open(write_reversals(tmp_path / "train", pairs=60, seed=1))
    asked = cell(max_epochs=2, accumulate=2)
    weights = []
    for added in (0, 3):
        torch.manual_seed(1)
        model = build_model(asked, VOCABULARY)
        (tmp_path / str(added)).mkdir()
        trainer = loop.Trainer(
            asked, Fabric(accelerator="cpu", devices=1), TranslationObjective(model, 0.1), train=corpus, valid=corpus,
            state=StateDirectory(tmp_path / str(added)), save_seconds=math.inf, stop_requested=lambda: False,
        )  # fmt: skip
        trainer.run()
        weights.append(torch.nn.utils.parameters_to_vector(model.parameters()))
    assert depths == [0, 0, 0, 0]  # a CPU has no time to spare
    assert torch.equal(*weights)


def test_batches_are_joined_as_long_as_no_side_is_too_long(tmp_path: Path) -> None:
    lengths = [(3, 1), (1, 3), (1, 1), (5, 2), (1, 1)]  # 4 + 2, 2 + 4, 2 + 2, 6 + 3 and 2 + 2 tokens with their ends
    write_corpus(tmp_path / "train", (([4] * source, [4] * target) for source, target in lengths), vocabulary_size=9)
    corpus = ParallelCorpus.open(tmp_path / "train")
    batches = [np.array([0]), np.array([1, 2]), np.array([3]), np.array([4])]
    assert [list(each) for each in joined(corpus, batches, PassLimit(10))] == [[0, 1, 2], [3, 4]]
    assert [list(each) for each in joined(corpus, batches, PassLimit(1))] == [[0], [1, 2], [3], [4]]  # never split
    assert [list(each) for each in joined(corpus, batches, PassLimit(99))] == [[0, 1, 2, 3, 4]]


def test_batches_are_joined_by_length_if_pairs_of_positions_count(tmp_path: Path) -> None:
    lengths = [(9, 3), (1, 1), (4, 9), (1, 2)]  # 10, 2, 10 and 3 positions with their ends
    write_corpus(tmp_path / "train", (([4] * source, [4] * target) for source, target in lengths), vocabulary_size=9)
    corpus = ParallelCorpus.open(tmp_path / "train")
    batches = [np.array([number]) for number in range(4)]
    # Two sentences of up to 3 positions are 2 * 9 pairs, of up to 10 positions 2 * 100.
    assert [list(each) for each in joined(corpus, batches, PassLimit(14, 0.5))] == [[1, 3], [0], [2]]
    assert [list(each) for each in joined(corpus, batches, PassLimit(115, 0.5))] == [[1, 3], [0, 2]]
    assert [list(each) for each in joined(corpus, batches, PassLimit(219, 0.5))] == [[1, 3, 0, 2]]
    assert [list(each) for each in joined(corpus, batches, PassLimit(218, 0.5))] == [[1, 3, 0], [2]]


@pytest.mark.parametrize("encoding", ["sinusoidal", "t5"])  # in rows of several sentences, and packed
def test_joined_micro_batches_train_the_same_model_to_rounding(tmp_path: Path, encoding: str) -> None:
    corpus = ParallelCorpus.open(write_reversals(tmp_path / "train", pairs=60, seed=1))
    asked = cell(encoding={"type": encoding}, max_epochs=2, accumulate=3, dropout=0.0)
    weights, losses, tokens, made = [], [], [], []
    for pass_tokens in (0, 200, 10_000):
        torch.manual_seed(1)
        model = build_model(asked, VOCABULARY)
        (tmp_path / str(pass_tokens)).mkdir()
        trainer = loop.Trainer(
            asked, Fabric(accelerator="cpu", devices=1), TranslationObjective(model, 0.1), train=corpus, valid=corpus,
            state=StateDirectory(tmp_path / str(pass_tokens)), save_seconds=math.inf, stop_requested=lambda: False,
            pass_limit=PassLimit(pass_tokens),
        )  # fmt: skip
        batches = trainer.prepare(trainer.groups()[0]).batches
        made.append(len(batches))
        assert (batches[0].source_rows is not None) == (pass_tokens > 0 and encoding == "sinusoidal")
        trainer.run()
        weights.append(torch.nn.utils.parameters_to_vector(model.parameters()).detach())
        losses.append(trainer.counters.best_loss)
        tokens.append(trainer.counters.target_tokens)
    assert made == [3, 2, 1]
    assert len(set(tokens)) == 1
    assert not torch.equal(weights[0], weights[1])
    # Adam divides gradients by their size, so that rounding may decide where a weight goes whose gradient is nearly 0.
    assert losses == pytest.approx([losses[0]] * 3, rel=1e-3)
    for each in weights[1:]:
        assert torch.isclose(each, weights[0], rtol=1e-3, atol=1e-4).double().mean() > 0.98
