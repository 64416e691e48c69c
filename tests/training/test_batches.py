"""Batches: every sentence once, few tokens wasted, the same order for the same seed and epoch."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pytest
import torch

from training_runs import VOCABULARY, write_reversals
from wordorder.data.binary import ParallelCorpus, write_corpus
from wordorder.data.positions import write_positions
from wordorder.errors import WordorderError
from wordorder.model.batch import BEGIN, END, PAD
from wordorder.training.batches import collate, epoch_batches, plan_batches
from wordorder.training.lengths import kept_pairs


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


def test_the_order_depends_on_seed_and_epoch_alone(corpus: ParallelCorpus) -> None:
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
    with pytest.raises(WordorderError, match=r"Sentence pair 7 .* 10 subwords"):
        plan_batches(corpus, 8)
    with pytest.raises(WordorderError, match=r"Sentence pair 2 .* 5 subwords"):
        plan_batches(corpus, 4, max_positions=5)


def test_a_sentence_longer_than_a_batch_is_an_error_that_says_what_to_do(tmp_path: Path) -> None:
    write_corpus(tmp_path / "long", [([4], [5]), ([4] * 40, [5])], vocabulary_size=VOCABULARY)
    with pytest.raises(WordorderError, match=r"Sentence pair 2 .* 41 subwords.*batch_tokens = 32.*Raise batch_tokens"):
        plan_batches(ParallelCorpus.open(tmp_path / "long"), 32)
