"""Token batches of a binary corpus, in an order that depends on the seed and the epoch alone."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import pairwise
from typing import TypeVar

import numpy as np
import torch
from numpy.typing import NDArray

from wordorder.data.binary import ParallelCorpus
from wordorder.errors import WordorderError
from wordorder.model.batch import BEGIN, END, PAD, Batch
from wordorder.training.lengths import kept_pairs

Indices = NDArray[np.int64] | NDArray[np.int32]
T = TypeVar("T")
R = TypeVar("R")


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
    source, target = corpus.source_lengths, corpus.target_lengths
    kept = None if max_positions is None else kept_pairs(corpus, max_positions)
    if kept is not None:
        source, target = source[kept], target[kept]
    if len(source) and max(source.max(), target.max()) + 1 > batch_tokens:
        longest = np.maximum(source, target) + 1
        worst = int(longest.argmax())
        raise WordorderError(
            f"Sentence pair {(worst if kept is None else kept[worst]) + 1} of the binary corpus has {longest[worst]} "
            f"subwords, more than a batch of batch_tokens = {batch_tokens}. Raise batch_tokens, or leave long training "
            "pairs out with 'max_positions' of the recipe.",
            code="too-long",
        )
    order = _mixed(len(source), generator)
    for lengths in (source, target):  # sorted by the target, then by the source
        order = order[_ascending(lengths[order])]
    starts = _starts(np.maximum(source[order], target[order]) + 1, batch_tokens)
    numbers = order if kept is None else kept[order]
    batches = [numbers[start:end] for start, end in pairwise([*starts, len(order)])]
    if generator:
        batches = [batches[number] for number in generator.permutation(len(batches))]
    return batches


def _mixed(count: int, generator: np.random.Generator | None) -> NDArray[np.int32]:
    """Return the order of sentences that are of equal length: a random one if there is a generator."""
    every = np.arange(count, dtype=np.int32)
    if generator is None:
        return every
    ranks = every.copy()
    generator.shuffle(ranks)
    order = np.empty_like(every)
    order[ranks] = every
    return order


def _ascending(lengths: NDArray[np.int32]) -> NDArray[np.int64]:
    """Return a stable order of ascending lengths; numbers of 16 bits are sorted by their digits, many times faster."""
    narrow = not len(lengths) or lengths.max() < 1 << 16
    return np.argsort(lengths.astype(np.uint16) if narrow else lengths, kind="stable")


def _starts(longest: NDArray[np.int32], batch_tokens: int) -> list[int]:
    """Return where each batch starts, if each takes sentences until the next one would not fit.

    Args:
        longest: Tokens of the longer side of each sentence pair, in order, none more than ``batch_tokens``.
        batch_tokens: What the longest pair of a batch, times the number of its pairs, must not exceed.
    """
    starts, start = [], 0
    counts = np.arange(1, batch_tokens + 1)
    while start < len(longest):
        starts.append(start)
        window = longest[start : start + batch_tokens // int(longest[start])]
        tokens = np.maximum.accumulate(window) * counts[: len(window)]
        start += int(tokens.searchsorted(batch_tokens, side="right"))
    return starts


def epoch_batches(
    corpus: ParallelCorpus, batch_tokens: int, *, seed: int, epoch: int, max_positions: int | None = None
) -> list[Indices]:
    """The batches of one epoch of training."""
    generator = np.random.default_rng([seed, epoch])
    return plan_batches(corpus, batch_tokens, generator=generator, max_positions=max_positions)


def ahead(make: Callable[[T], R], items: Sequence[T], *, depth: int) -> Generator[R, None, None]:
    """Make what is needed next while the current one is in use.

    Args:
        make: Makes one; it is called in the order of the items, in one thread, and must not use random generators that
            others use.
        items: What to make them from.
        depth: How many may wait for their use; with 0 each is made when it is asked for.

    Yields:
        What ``make`` returns, in the order of the items. An error of it is raised where its result is due.
    """
    if not depth:
        yield from map(make, items)
        return
    waiting: deque[Future[R]] = deque()
    worker = ThreadPoolExecutor(1, thread_name_prefix="batches")
    try:
        for item in items:
            waiting.append(worker.submit(make, item))
            if len(waiting) > depth:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        worker.shutdown(cancel_futures=True)


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
