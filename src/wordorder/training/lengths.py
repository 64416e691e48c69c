"""Long sentences: the pairs that training excludes, and whether the encoding has enough positions for all others.

A sentence of n subwords has n + 1 positions: the encoder also reads END, the decoder BEGIN.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from wordorder.data.binary import ParallelCorpus
from wordorder.encodings.base import Encoding, EncodingConfig, Stack
from wordorder.encodings.compose import ComposedConfig
from wordorder.errors import WordorderError

_STACKS: dict[Stack, str] = {"encoder": "source", "decoder": "target"}


def kept_pairs(corpus: ParallelCorpus, max_positions: int | None) -> NDArray[np.int64]:
    """Return the pairs on which a model is trained.

    Args:
        corpus: The sentence pairs.
        max_positions: The maximum number of positions of each side; None keeps all pairs.

    Returns:
        The numbers of the pairs, (pairs,) int64.
    """
    if max_positions is None:
        return np.arange(len(corpus))
    return np.flatnonzero(np.maximum(corpus.source_lengths, corpus.target_lengths) + 1 <= max_positions)


def check_lengths(
    encoding: Encoding,
    train: ParallelCorpus,
    valid: ParallelCorpus,
    max_positions: int | None,
    *,
    one_stream: bool = False,
) -> None:
    """Check that training pairs remain and that the encoding has enough positions for every sentence.

    Without this check, training would stop at the first sentence that is too long, perhaps after hours.

    Args:
        encoding: The encoding of the model.
        train: The training pairs.
        valid: The validation pairs.
        max_positions: Training pairs with a longer side are excluded.
        one_stream: Whether the positions of the target continue those of the source.

    Raises:
        WordorderError: No training pair remains, or a sentence needs more positions than the encoding has.
    """
    kept = kept_pairs(train, max_positions)
    if max_positions is not None and not len(kept):
        raise WordorderError(
            f"The recipe's 'max_positions: {max_positions}' excludes all {len(train)} sentence pairs of "
            f"{train.directory}. Raise 'max_positions'.",
            code="too-long",
            key="max_positions",
            path=train.directory,
            found=max_positions,
        )
    limits = {stack: limit for stack in _STACKS if (limit := encoding.limit(stack)) is not None}
    if not limits:
        return
    name = _name(encoding.config)
    larger = f"give '{name}' more positions ('table' in encodings.yaml)"
    if problem := _too_long(limits, valid, np.arange(len(valid)), one_stream):
        raise WordorderError(
            f"The encoding '{name}' {problem.clause} Validation sentences are never excluded, so that perplexities are "
            f"comparable: {larger}, or remove it from the study.",
            code="too-few-positions",
            path=valid.directory,
            line=problem.line,
            found=problem.needed,
            expected=problem.limit,
        )
    if problem := _too_long(limits, train, kept, one_stream):
        enough = min(limits.values()) // (1 + one_stream)
        raise WordorderError(
            f"The encoding '{name}' {problem.clause} Set 'max_positions: {enough}' in the study's recipe, which "
            f"excludes longer training pairs for all encodings, or {larger}.",
            code="too-few-positions",
            path=train.directory,
            line=problem.line,
            key="max_positions",
            found=problem.needed,
            expected=problem.limit,
        )


def check_batches(valid: ParallelCorpus, batch_tokens: int) -> None:
    """Check that a batch can hold each validation pair, before an epoch is trained.

    Args:
        valid: The validation pairs.
        batch_tokens: The maximum tokens per batch and side.

    Raises:
        WordorderError: A pair is longer than a batch.
    """
    longest = np.maximum(valid.source_lengths, valid.target_lengths) + 1
    if longest.max() <= batch_tokens:
        return
    line, needed = int(longest.argmax()) + 1, int(longest.max())
    raise WordorderError(
        f"Line {line} of {valid.directory} has {needed} subwords, including its end, but a batch holds {batch_tokens}. "
        "Validation sentences are never excluded, so that perplexities are comparable: raise 'batch_tokens' in the "
        "study's recipe.",
        code="too-long",
        path=valid.directory,
        line=line,
        key="batch_tokens",
        found=needed,
        expected=batch_tokens,
    )


class _TooLong(NamedTuple):
    """A sentence that needs more positions than its stack has."""

    clause: str
    line: int
    needed: int
    limit: int


def _too_long(
    limits: dict[Stack, int], corpus: ParallelCorpus, pairs: NDArray[np.int64], one_stream: bool
) -> _TooLong | None:
    """Return the longest sentence if it needs more positions than its stack has; otherwise None."""
    for stack, limit in limits.items():
        side = _STACKS[stack]
        lengths = (corpus.source_lengths if side == "source" else corpus.target_lengths)[pairs] + 1
        if one_stream and side == "target":
            lengths = lengths + corpus.source_lengths[pairs] + 1
        if len(lengths) and lengths.max() > limit:
            line, needed = int(pairs[lengths.argmax()]) + 1, int(lengths.max())
            after = ", after those of its source" if one_stream and side == "target" else ""
            clause = (
                f"has {limit} positions in the {stack}, but line {line} of the {side} of {corpus.directory} needs "
                f"{needed}: its subwords and its end{after}."
            )
            return _TooLong(clause, line, needed, limit)
    return None


def _name(config: EncodingConfig) -> str:
    return "+".join(part.type for part in config.compose) if isinstance(config, ComposedConfig) else config.type
