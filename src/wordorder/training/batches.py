"""Token batches of a binary corpus, in an order that depends on the seed and the epoch alone."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray

from wordorder.data.binary import ParallelCorpus
from wordorder.errors import WordorderError
from wordorder.model.batch import BEGIN, END, PAD, Batch
from wordorder.training.lengths import kept_pairs

Indices = NDArray[np.int64]


def plan_batches(
    corpus: ParallelCorpus,
    batch_tokens: int,
    *,
    generator: np.random.Generator | None = None,
    max_positions: int | None = None,
) -> list[Indices]:
    """Sentence numbers of every batch: longest side (with END) x sentences is at most ``batch_tokens``.

    Sentences of similar lengths go together, so that little is padding. With a generator, sentences of equal
    length are mixed and the batches come in random order; without, the order is by length. Pairs of more than
    ``max_positions`` are left out, see :mod:`wordorder.training.lengths`.
    """
    kept = kept_pairs(corpus, max_positions)
    source, target = corpus.source_lengths[kept] + 1, corpus.target_lengths[kept] + 1
    longest = np.maximum(source, target)
    if len(longest) and longest.max() > batch_tokens:
        worst = int(longest.argmax())
        raise WordorderError(
            f"Sentence pair {kept[worst] + 1} of the binary corpus has {longest[worst]} subwords, more than a batch of "
            f"batch_tokens = {batch_tokens}. Raise batch_tokens, or leave long training pairs out with 'max_positions' "
            "of the recipe.",
            code="too-long",
        )
    tie = generator.permutation(len(longest)) if generator else np.arange(len(longest))
    order = np.lexsort((tie, source, target))
    numbers = kept[order]
    batches, start = [], 0
    widest = 0
    for place, sentence in enumerate(order):
        wider = max(widest, int(longest[sentence]))
        if wider * (place - start + 1) > batch_tokens:
            batches.append(numbers[start:place])
            start, wider = place, int(longest[sentence])
        widest = wider
    if start < len(order):
        batches.append(numbers[start:])
    if generator:
        batches = [batches[number] for number in generator.permutation(len(batches))]
    return batches


def epoch_batches(
    corpus: ParallelCorpus, batch_tokens: int, *, seed: int, epoch: int, max_positions: int | None = None
) -> list[Indices]:
    """The batches of one epoch of training."""
    generator = np.random.default_rng([seed, epoch])
    return plan_batches(corpus, batch_tokens, generator=generator, max_positions=max_positions)


def collate(corpus: ParallelCorpus, sentences: Indices) -> Batch:
    """Put sentences together, padded at the right, with their reordered positions if the corpus has them."""
    sources = [corpus.source(int(sentence)) for sentence in sentences]
    targets = [corpus.target(int(sentence)) for sentence in sentences]
    lengths = [len(target) + 1 for target in targets]
    positions = corpus.positions
    return Batch(
        source=_pad(sources, end=True),
        target_input=_pad(targets, begin=True),
        target_output=_pad(targets, end=True),
        real=real_places(lengths),
        target_tokens=sum(lengths),
        source_positions=None if positions is None else pad_positions([positions[int(i)] for i in sentences]),
        source_lengths=torch.from_numpy(corpus.source_lengths[sentences] + 1),
    )


def real_places(lengths: Sequence[int]) -> torch.Tensor | None:
    """Return the places of the tokens in a padded and flattened matrix; None if all its rows are of one length.

    Args:
        lengths: Number of tokens of each row.

    Returns:
        The places, (tokens,) int64.
    """
    if min(lengths) == max(lengths):
        return None
    return torch.from_numpy(np.flatnonzero(np.arange(max(lengths)) < np.array(lengths)[:, None]))


def pad_sources(sources: Sequence[NDArray[np.integer]]) -> torch.Tensor:
    """Source sentences as the encoder reads them: (B, S) int64, END behind each, padded at the right."""
    return _pad(sources, end=True)


def pad_positions(rows: Sequence[NDArray[np.integer]]) -> torch.Tensor:
    """Positions of source sentences as the encoder reads them: (B, S) int64; END and padding stay where they are."""
    padded = np.tile(np.arange(max(map(len, rows)) + 1, dtype=np.int64), (len(rows), 1))
    for number, row in enumerate(rows):
        padded[number, : len(row)] = row
    return torch.from_numpy(padded)


def _pad(rows: Sequence[NDArray[np.integer]], *, begin: bool = False, end: bool = False) -> torch.Tensor:
    first = int(begin)
    padded = np.full((len(rows), max(map(len, rows)) + 1), PAD, dtype=np.int64)
    for number, row in enumerate(rows):
        padded[number, first : first + len(row)] = row
        if end:
            padded[number, len(row)] = END
    if begin:
        padded[:, 0] = BEGIN
    return torch.from_numpy(padded)
