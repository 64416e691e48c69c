"""Label-smoothed cross-entropy over a large vocabulary, without holding all logits at once."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from wordorder.encodings.base import Positions
from wordorder.model.architectures.base import Translator
from wordorder.model.batch import Batch
from wordorder.precision import autocast_dtype

# Rows of logits computed at a time on a CPU: 512 x 32,000 in single precision are 64 MB.
_ROWS = 512
# Logits whose softmax is computed at a time on a CPU: 2 MB in single precision, which fit into the cache of a core.
_CACHED = 1 << 19
# On other devices the logits, their probabilities and their gradient may take this share of the memory.
_SHARE = 1 / 8


class _LinearCrossEntropy(torch.autograd.Function):
    """Computes the sum over rows of (1 - ε) · nll + ε · mean over the vocabulary of -log p.

    The forward pass computes the gradient while a block of logits is available. So the logits of a whole batch (131 MB
    for 4,096 tokens and 8,000 subwords) never exist and are never computed twice.
    """

    @staticmethod
    def forward(
        context: Any, hidden: Tensor, weight: Tensor, labels: Tensor, smoothing: float
    ) -> tuple[Tensor, Tensor]:
        vocabulary = weight.size(0)
        needs_gradient = any(context.needs_input_grad)
        low_precision = autocast_dtype(hidden.device.type)
        matrix = weight.to(low_precision)
        rows = hidden.to(low_precision)
        nll = hidden.new_zeros((), dtype=torch.float32)
        mean_nll = torch.zeros_like(nll)  # mean over the vocabulary
        hidden_gradient = torch.empty_like(rows) if needs_gradient else None
        weight_gradient = torch.zeros_like(weight, dtype=torch.float32) if needs_gradient else None
        count = _rows_at_once(hidden.device, vocabulary)
        cached = max(1, _CACHED // vocabulary) if hidden.device.type == "cpu" else count
        memory = rows.new_empty(min(count, len(rows)), vocabulary)
        for start in range(0, len(rows), count):
            block, gold = rows[start : start + count], labels[start : start + count, None]
            logits = torch.mm(block, matrix.T, out=memory[: len(block)])
            gold_logits = logits.gather(-1, gold).squeeze(-1).float()
            parts = zip(torch.split(logits, cached), torch.split(gold, cached), strict=True)
            sums = [_normalise(*part, smoothing, replace=needs_gradient) for part in parts]
            normaliser, means = (torch.cat(own) for own in zip(*sums, strict=True))
            nll += (normaliser - gold_logits).sum()
            mean_nll += (normaliser - means).sum()
            if hidden_gradient is not None and weight_gradient is not None:
                torch.mm(logits, matrix, out=hidden_gradient[start : start + count])
                weight_gradient += logits.T @ block
        if hidden_gradient is not None and weight_gradient is not None:
            hidden_gradient -= (smoothing / vocabulary) * matrix.sum(0, dtype=torch.float32)
            weight_gradient -= (smoothing / vocabulary) * rows.sum(0, dtype=torch.float32)
            context.save_for_backward(hidden_gradient.to(hidden.dtype), weight_gradient.to(weight.dtype))
        context.mark_non_differentiable(nll)
        return torch.lerp(nll, mean_nll, smoothing), nll

    @staticmethod
    def backward(context: Any, *gradients: Tensor) -> tuple[Tensor, Tensor, None, None]:
        hidden_gradient, weight_gradient = context.saved_tensors
        return hidden_gradient * gradients[0], weight_gradient * gradients[0], None, None


def _normalise(logits: Tensor, gold: Tensor, smoothing: float, *, replace: bool) -> tuple[Tensor, Tensor]:
    """Compute log Σ exp and the mean of each row of logits, (rows, V) to (rows,) each.

    Args:
        logits: The logits. With ``replace``, their gradient without the term -ε / V takes their place.
        gold: The correct subword of each row, (rows, 1).
        smoothing: The label smoothing ε.
        replace: Whether to replace the logits.
    """
    single = logits.float()
    probabilities = torch.softmax(single, dim=-1)
    # From the most likely subword, whose probability cannot underflow.
    normaliser, means = single.amax(-1) - probabilities.amax(-1).log(), single.mean(-1)
    if replace:
        # d loss / d logits = p - (1 - ε) · one-hot - ε / V
        logits.copy_(probabilities.scatter_(-1, gold, probabilities.gather(-1, gold) + (smoothing - 1)))
    return normaliser, means


def _rows_at_once(on: torch.device, vocabulary: int) -> int:
    """Return how many rows of logits are computed at a time: on a GPU, as a rule, those of the whole batch."""
    if on.type == "cpu":
        return _ROWS
    memory = torch.cuda.get_device_properties(on).total_memory if on.type == "cuda" else 1 << 34
    return max(_ROWS, int(_SHARE * memory) // (12 * vocabulary))  # bytes of a logit, once in 4 and twice in up to 4


class TranslationObjective(nn.Module):
    """A model and its training loss as one module, so that a wrapper sees every use of a parameter."""

    def __init__(self, transformer: Translator, label_smoothing: float) -> None:
        super().__init__()
        self.transformer = transformer
        self.label_smoothing = label_smoothing

    def forward(self, batch: Batch) -> tuple[Tensor, Tensor]:
        """Sum over the target tokens of a batch.

        Args:
            batch: The batch.

        Returns:
            The smoothed loss, and the negative log-likelihood in nats.
        """
        if batch.source_rows is None or batch.target_rows is None:
            positions, target_positions = Positions.range(batch.source.size(1), on=batch.source.device), None
        else:
            longest_source, longest_target = batch.longest
            positions = Positions.of_rows(batch.source_rows, longest_source)
            target_positions = Positions.of_rows(batch.target_rows, longest_target)
        packed = self.transformer.packs and batch.source_places is not None and batch.real is not None
        hidden = self.transformer(
            batch.source,
            batch.target_input,
            source_positions=positions.with_reordered(batch.source_positions),
            target_positions=target_positions,
            source_lengths=batch.source_lengths,
            places=(batch.source_places, batch.real) if packed else None,
        )
        labels = batch.target_output.flatten()
        if hidden.dim() == 3:
            hidden = hidden.flatten(0, 1)
            hidden = hidden if batch.real is None else hidden.index_select(0, batch.real)
        if batch.real is not None:
            labels = labels.index_select(0, batch.real)
        weight = self.transformer.output.weight
        if not torch.is_grad_enabled():
            hidden, weight = hidden.detach(), weight.detach()  # Otherwise the loss computes their gradients.
        loss, nll = _LinearCrossEntropy.apply(hidden, weight, labels, self.label_smoothing)  # type: ignore[no-untyped-call]
        return loss, nll
