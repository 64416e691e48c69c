"""Forced decoding (teacher forcing): apply a finished model to given translations.

Notation: B sentences, S source tokens with their end, T target tokens with their end, d model size, V vocabulary.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from wordorder.data.binary import ParallelCorpus
from wordorder.decoding.recording import recorded
from wordorder.draws import repeatable
from wordorder.encodings.base import Positions
from wordorder.model.architectures.base import Kind, Translator
from wordorder.model.batch import PAD, Batch
from wordorder.progress import Progress
from wordorder.training.batches import Indices, collate, plan_batches

BATCH_TOKENS = 2048
_ROWS = 512  # rows of logits at a time, as in training


@dataclass(frozen=True)
class Forced:
    """A batch after a forward pass.

    Attributes:
        sentences: Indices of the sentences in the corpus, (B,).
        log_probabilities: Log-probability of each token of ``batch.target_output`` in nats, (B, T); 0 at padding.
        attention: For each requested kind a list of layers, (B, H, queries, keys) each; see :mod:`.recording`.
    """

    sentences: Indices
    batch: Batch
    log_probabilities: Tensor
    attention: dict[Kind, list[Tensor]]


@torch.inference_mode()
def force(
    model: Translator, corpus: ParallelCorpus, *, attention: Sequence[Kind] = (), first: int | None = None
) -> Iterator[Forced]:
    """Pass pairs of a corpus through the model, those of similar lengths together.

    Args:
        model: The model, in evaluation mode.
        corpus: The corpus, with the reordered positions that some models need.
        attention: The kinds of attention to record.
        first: The number of pairs; all if missing.

    Yields:
        The batches.
    """
    count = len(corpus) if first is None else min(first, len(corpus))
    with recorded(model, attention) as recording, Progress("forced decoding", total=count, unit="pairs") as progress:
        for number, sentences in enumerate(batches(corpus, count)):
            batch = collate(corpus, sentences).to(next(model.parameters()).device)
            positions = source_positions(batch.source, batch.source_positions)
            with repeatable(number):
                hidden = model(batch.source, batch.target_input, source_positions=positions)
            yield Forced(sentences, batch, _log_probabilities(model, hidden, batch.target_output), recording.take())
            progress.advance(len(sentences))


def batches(corpus: ParallelCorpus, count: int) -> Iterator[Indices]:
    """Yield the indices of the first ``count`` sentences in batches as in training; a longer pair has its own batch."""
    lengths = [int(sides.max()) + 1 for sides in (corpus.source_lengths, corpus.target_lengths) if len(sides)]
    for batch in plan_batches(corpus, max(BATCH_TOKENS, *lengths, 1)):
        kept = batch[batch < count]
        if len(kept):
            yield kept


def source_positions(source: Tensor, reordered: Tensor | None) -> Positions:
    """Create the positions of tokens (B, S), with their positions in target order, (B, S) or None."""
    return Positions.range(source.size(1), on=source.device).with_reordered(reordered)


def encode(model: Translator, source: Tensor, reordered: Tensor | None = None) -> Tensor:
    """Return the last representation of source tokens (B, S), padded at the right: (B, S, d)."""
    with repeatable(0):
        return model.encoder_output(source, positions=source_positions(source, reordered))


def _log_probabilities(model: Translator, hidden: Tensor, labels: Tensor) -> Tensor:
    """Compute the log-probabilities of labels (B, T) from (B, T, d), without holding all logits at once."""
    real = labels != PAD
    rows, gold = hidden[real], labels[real]
    found = [
        torch.log_softmax(model.logits(rows[start : start + _ROWS]).float(), dim=-1).gather(
            1, gold[start : start + _ROWS, None]
        )
        for start in range(0, len(rows), _ROWS)
    ]
    return torch.zeros(labels.shape, device=labels.device).masked_scatter(real, torch.cat(found).squeeze(1))
