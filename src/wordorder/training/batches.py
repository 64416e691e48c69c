"""Token batches of a binary corpus, in an order that depends only on the seed and the epoch."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
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
_WIDTH, _MULTIPLE = 256, 64  # Rows of several sentences have this width, or a multiple of 64 that the longest needs.
T = TypeVar("T")
R = TypeVar("R")


def plan_batches(
    corpus: ParallelCorpus,
    batch_tokens: int,
    *,
    generator: np.random.Generator | None = None,
    max_positions: int | None = None,
) -> list[Indices]:
    """Divide a corpus into batches.

    The longest side of a batch, including END, times its number of sentences is at most ``batch_tokens``. Sentences of
    similar lengths share a batch, so that batches contain little padding.

    Args:
        corpus: The sentence pairs.
        batch_tokens: The maximum tokens per batch and side, including padding.
        generator: Shuffles the pairs of equal length and the batches; without it, batches are ordered by length.
        max_positions: Exclude pairs with a longer side; see :mod:`wordorder.training.lengths`.

    Returns:
        The sentence numbers of each batch, (sentences,).

    Raises:
        WordorderError: A sentence pair is longer than a batch.
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
            f"subwords, more than a batch can hold (batch_tokens = {batch_tokens}). Raise 'batch_tokens' in the "
            "recipe, or exclude long training pairs with 'max_positions'.",
            code="too-long",
            key="batch_tokens",
            line=int(worst if kept is None else kept[worst]) + 1,
            found=int(longest[worst]),
            expected=batch_tokens,
        )
    order = _mixed(len(source), generator)
    for lengths in (source, target):  # The order is by the target, then by the source.
        order = order[np.argsort(_narrow(lengths)[order], kind="stable")]
    starts = _starts(np.maximum(source[order], target[order]) + 1, batch_tokens)
    numbers = order if kept is None else kept[order]
    batches = [numbers[start:end] for start, end in pairwise([*starts, len(order)])]
    if generator:
        batches = [batches[number] for number in generator.permutation(len(batches))]
    return batches


def _mixed(count: int, generator: np.random.Generator | None) -> NDArray[np.int32]:
    """Return the numbers 0 … count-1, int32, in random order if there is a generator."""
    every = np.arange(count, dtype=np.int32)
    if generator is None:
        return every
    ranks = every.copy()
    generator.shuffle(ranks)
    order = np.empty_like(every)
    order[ranks] = every
    return order


def _narrow(lengths: NDArray[np.int32]) -> NDArray[np.uint16] | NDArray[np.int32]:
    """Return lengths in 16 bits if they fit, which NumPy sorts by radix: many times faster, in less memory."""
    return lengths.astype(np.uint16) if not len(lengths) or lengths.max() < 1 << 16 else lengths


def _starts(longest: NDArray[np.int32], batch_tokens: int) -> list[int]:
    """Return the start of each batch, if each batch takes sentences until the next one would not fit.

    Args:
        longest: Tokens of the longer side of each sentence pair, in order, (pairs,); none exceeds ``batch_tokens``.
        batch_tokens: The maximum of a batch's longest pair times its number of pairs.
    """
    starts, start = [], 0
    counts = np.arange(1, min(batch_tokens, len(longest)) + 1)
    while start < len(longest):
        starts.append(start)
        window = longest[start : start + batch_tokens // int(longest[start])]
        tokens = np.maximum.accumulate(window) * counts[: len(window)]
        start += int(tokens.searchsorted(batch_tokens, side="right"))
    return starts


def epoch_batches(
    corpus: ParallelCorpus, batch_tokens: int, *, seed: int, epoch: int, max_positions: int | None = None
) -> list[Indices]:
    """Divide a corpus into the shuffled batches of one training epoch.

    Args:
        corpus: The sentence pairs.
        batch_tokens: The maximum tokens per batch and side, including padding.
        seed: The seed of the run.
        epoch: The number of the epoch, from 0.
        max_positions: Exclude pairs with a longer side.

    Returns:
        The sentence numbers of each batch, (sentences,).
    """
    generator = np.random.default_rng([seed, epoch])
    return plan_batches(corpus, batch_tokens, generator=generator, max_positions=max_positions)


def ahead(make: Callable[[T], R], items: Sequence[T], *, depth: int) -> Generator[R, None, None]:
    """Compute the next results in the background while the current one is in use.

    Args:
        make: Computes one result. It is called in the order of the items, in one thread, and must not use shared random
            generators.
        items: The arguments of ``make``.
        depth: The maximum number of results that wait for use; with 0, each is computed on request.

    Yields:
        The results of ``make``, in the order of the items. If ``make`` raises an error, it is raised when the result
        is due.
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


@dataclass(frozen=True)
class PassLimit:
    """What one pass through a model may hold.

    Attributes:
        tokens: The largest number of tokens of each side; with 0, each micro-batch is a separate pass.
        per_pair: The tokens that need as much memory as one pair of positions of a padded sentence; 0 if pairs do not
            count.
    """

    tokens: int = 0
    per_pair: float = 0.0


ALONE = PassLimit()  # Each micro-batch is a separate pass.


def joined(corpus: ParallelCorpus, batches: Sequence[Indices], limit: PassLimit) -> list[Indices]:
    """Join batches while neither side of a joined one exceeds a limit.

    Neighbours are joined. If pairs of positions count, batches of similar lengths become neighbours first, because
    every sentence of a joined batch is padded to the longest one.

    Args:
        corpus: The corpus of the batches.
        batches: Sentence numbers of each batch.
        limit: What a joined batch may hold; tokens are counted without padding.

    Returns:
        Sentence numbers of each joined batch.
    """
    sides = corpus.source_lengths, corpus.target_lengths
    longest = [1 + max(int(lengths[batch].max()) for lengths in sides) for batch in batches]
    order = sorted(range(len(batches)), key=longest.__getitem__) if limit.per_pair else range(len(batches))
    found: list[list[Indices]] = []
    tokens, sentences = np.zeros(2, dtype=np.int64), 0
    for number in order:
        batch = batches[number]
        own = np.array([lengths[batch].sum(dtype=np.int64) + len(batch) for lengths in sides])
        # With pairs, the batch is the longest so far.
        pairs = (sentences + len(batch)) * longest[number] ** 2
        if not found or (tokens + own).max() + limit.per_pair * pairs > limit.tokens:
            found.append([])
            tokens, sentences = np.zeros(2, dtype=np.int64), 0
        found[-1].append(batch)
        tokens, sentences = tokens + own, sentences + len(batch)
    return [np.concatenate(each).astype(np.int64) for each in found]


def collate(corpus: ParallelCorpus, sentences: Indices, *, packed: bool = False) -> Batch:
    """Collect sentence pairs into a batch, padded on the right.

    Args:
        corpus: The sentence pairs, with reordered positions if the encoding needs them.
        sentences: The numbers of the pairs, (B,).
        packed: Whether models may leave padding out.
    """
    sources = [corpus.source(int(sentence)) for sentence in sentences]
    targets = [corpus.target(int(sentence)) for sentence in sentences]
    source_lengths = [len(source) + 1 for source in sources]
    lengths = [len(target) + 1 for target in targets]
    positions = corpus.positions
    return Batch(
        source=_pad(sources, end=True),
        target_input=_pad(targets, begin=True),
        target_output=_pad(targets, end=True),
        real=_places(lengths) if packed else real_places(lengths),
        target_tokens=sum(lengths),
        source_positions=None if positions is None else pad_positions([positions[int(i)] for i in sentences]),
        source_lengths=torch.from_numpy(corpus.source_lengths[sentences] + 1),
        source_places=_places(source_lengths) if packed else None,
    )


def collate_rows(corpus: ParallelCorpus, sentences: Indices) -> Batch:
    """Collect sentence pairs into a batch whose rows hold several sentences, so that almost nothing is padding.

    Args:
        corpus: The sentence pairs, with reordered positions if the encoding needs them.
        sentences: The numbers of the pairs, (N,).
    """
    lengths = corpus.source_lengths[sentences] + 1, corpus.target_lengths[sentences] + 1
    longest = int(lengths[0].max()), int(lengths[1].max())
    width = max(_WIDTH, -(-max(longest) // _MULTIPLE) * _MULTIPLE)
    rows = _rows(*lengths, width)
    sentences = sentences[np.concatenate(rows)]
    counts = np.array([len(row) for row in rows])
    source, target = (_Side(side[np.concatenate(rows)], counts, width) for side in lengths)
    sources, targets = (
        np.concatenate([read(int(each)) for each in sentences]) for read in (corpus.source, corpus.target)
    )
    own = corpus.positions
    positions = None if own is None else np.concatenate([own[int(each)] for each in sentences])
    return Batch(
        source=source.tokens(sources, end=True),
        target_input=target.tokens(targets, begin=True),
        target_output=target.tokens(targets, end=True),
        real=torch.from_numpy(target.places),
        target_tokens=len(target.places),
        source_positions=None if positions is None else source.reordered(positions),
        source_rows=source.rows(),
        target_rows=target.rows(),
        longest=longest,
    )


def _rows(source: NDArray[np.int32], target: NDArray[np.int32], width: int) -> list[list[int]]:
    """Distribute sentence pairs over rows: the longest pair first, each into the first row in which both sides fit.

    Args:
        source: The tokens of each source, (N,).
        target: The tokens of each target, (N,).
        width: The tokens that a row holds of each side.

    Returns:
        The pairs of each row.
    """
    order = np.argsort(-np.maximum(source, target), kind="stable")
    room = np.full((2, len(order)), width)
    rows: list[list[int]] = []
    for pair, own, other in zip(order.tolist(), source[order].tolist(), target[order].tolist(), strict=True):
        fits = (room[0, : len(rows) + 1] >= own) & (room[1, : len(rows) + 1] >= other)
        row = int(fits.argmax())
        if row == len(rows):
            rows.append([])
        rows[row].append(pair)
        room[0, row] -= own
        room[1, row] -= other
    return rows


class _Side:
    """The places of one side's tokens in rows of several sentences.

    Args:
        lengths: The tokens of each sentence, in the order of the rows, (N,).
        counts: The number of sentences of each row, (R,).
        width: The tokens that a row holds.

    Attributes:
        places: The places of the tokens in the flattened rows, sentence by sentence, (tokens,) int64.
    """

    def __init__(self, lengths: NDArray[np.int32], counts: NDArray[np.int64], width: int) -> None:
        self.shape = len(counts), width
        self._lengths = lengths.astype(np.int64)
        before = np.cumsum(self._lengths) - self._lengths  # Tokens of the sentences before each sentence.
        first = np.cumsum(counts) - counts  # The first sentence of each row.
        starts = before - np.repeat(before[first], counts) + np.repeat(np.arange(len(counts)) * width, counts)
        self._positions = np.arange(self._lengths.sum()) - np.repeat(before, self._lengths)
        self._numbers = np.repeat(np.arange(len(lengths)) - np.repeat(first, counts) + 1, self._lengths)
        self.places = np.repeat(starts, self._lengths) + self._positions
        self._last = self._positions == np.repeat(self._lengths - 1, self._lengths)

    def _filled(self, values: NDArray[np.int64], others: NDArray[np.int64] | int) -> torch.Tensor:
        rows = np.empty(self.shape, dtype=np.int64)
        rows[:] = others
        rows.reshape(-1)[self.places] = values
        return torch.from_numpy(rows)

    def tokens(self, subwords: NDArray[np.integer], *, begin: bool = False, end: bool = False) -> torch.Tensor:
        """Return the tokens of all sentences, (R, width), with BEGIN before or END behind each sentence."""
        values = np.full(len(self.places), BEGIN if begin else END)
        values[self._positions > 0 if begin else ~self._last] = subwords
        return self._filled(values, PAD)

    def reordered(self, positions: NDArray[np.integer]) -> torch.Tensor:
        """Return the reordered positions, (R, width); the end of each sentence keeps its own position."""
        values = self._positions.copy()
        values[~self._last] = positions
        return self._filled(values, 0)

    def rows(self) -> torch.Tensor:
        """Return the number of each token's sentence in its row, and its position in it, (2, R, width)."""
        return torch.stack((self._filled(self._numbers, 0), self._filled(self._positions, 0)))


def real_places(lengths: Sequence[int]) -> torch.Tensor | None:
    """Return the indices of the tokens in a padded and flattened matrix.

    Args:
        lengths: The number of tokens of each row.

    Returns:
        The indices, (tokens,) int64; None if all rows have the same length.
    """
    return None if min(lengths) == max(lengths) else _places(lengths)


def _places(lengths: Sequence[int]) -> torch.Tensor:
    return torch.from_numpy(np.flatnonzero(np.arange(max(lengths)) < np.array(lengths)[:, None]))


def pad_sources(sources: Sequence[NDArray[np.integer]]) -> torch.Tensor:
    """Pad source sentences for the encoder.

    Args:
        sources: The subwords of each sentence.

    Returns:
        The sentences, each followed by END and padded on the right, (B, S) int64.
    """
    return _pad(sources, end=True)


def pad_positions(rows: Sequence[NDArray[np.integer]]) -> torch.Tensor:
    """Pad the reordered positions of source sentences for the encoder.

    Args:
        rows: The reordered position of each subword.

    Returns:
        The positions, (B, S) int64; END and padding keep their own positions.
    """
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
