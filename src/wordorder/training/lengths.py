"""Long sentences: which pairs a training leaves out, and whether its encoding has positions enough for all others.

A sentence of n subwords takes n + 1 positions: in the encoder its end is counted, in the decoder its beginning.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from wordorder.data.binary import ParallelCorpus
from wordorder.encodings.base import Encoding, EncodingConfig, Stack
from wordorder.encodings.compose import ComposedConfig
from wordorder.errors import WordorderError

_STACKS: dict[Stack, str] = {"encoder": "source", "decoder": "target"}


def kept_pairs(corpus: ParallelCorpus, max_positions: int | None) -> NDArray[np.int64]:
    """The numbers of the pairs neither side of which takes more than ``max_positions``; of all pairs with None."""
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
    """Check that there is a pair to learn from, and that the encoding can number every sentence.

    Unchecked, the training would stop at that sentence, perhaps after hours.

    Args:
        encoding: The encoding of the model.
        train: Training pairs.
        valid: Validation pairs.
        max_positions: Training pairs with a longer side are left out.
        one_stream: Whether the positions of the target continue those of the source.

    Raises:
        WordorderError: No pair is left, or a sentence takes more positions than there are.
    """
    kept = kept_pairs(train, max_positions)
    if max_positions is not None and not len(kept):
        raise WordorderError(
            f"None of the {len(train)} sentence pairs of {train.directory} is as short as 'max_positions: "
            f"{max_positions}' of the study's recipe demands. Raise it.",
            code="too-long",
        )
    limits = {stack: limit for stack in _STACKS if (limit := encoding.limit(stack)) is not None}
    if not limits:
        return
    name = _name(encoding.config)
    larger = f"give '{name}' more positions ('table' in encodings.yaml)"
    if problem := _too_long(limits, valid, np.arange(len(valid)), one_stream):
        raise WordorderError(
            f"The encoding '{name}' {problem} Validation sentences are never left out, so that perplexities compare: "
            f"{larger}, or leave it out of the study.",
            code="too-few-positions",
        )
    if problem := _too_long(limits, train, kept, one_stream):
        enough = min(limits.values()) // (1 + one_stream)
        raise WordorderError(
            f"The encoding '{name}' {problem} Set 'max_positions: {enough}' in the study's recipe, which "
            f"leaves longer training pairs out for all encodings, or {larger}.",
            code="too-few-positions",
        )


def _too_long(
    limits: dict[Stack, int], corpus: ParallelCorpus, pairs: NDArray[np.int64], one_stream: bool
) -> str | None:
    """What is said of the longest of ``pairs`` where it takes more positions than a stack has."""
    for stack, limit in limits.items():
        side = _STACKS[stack]
        lengths = (corpus.source_lengths if side == "source" else corpus.target_lengths)[pairs] + 1
        if one_stream and side == "target":
            lengths = lengths + corpus.source_lengths[pairs] + 1
        if len(lengths) and lengths.max() > limit:
            return (
                f"has {limit} positions in the {stack}, but line {pairs[lengths.argmax()] + 1} of the {side} of "
                f"{corpus.directory} takes {lengths.max()}: its subwords and its end"
                f"{', behind those of its source' if one_stream and side == 'target' else ''}."
            )
    return None


def _name(config: EncodingConfig) -> str:
    return "+".join(part.type for part in config.compose) if isinstance(config, ComposedConfig) else config.type
