"""Selection of the best few of very many continuations, faster than sorting and with deterministic ties."""

from __future__ import annotations

import math

import torch
from torch import Tensor

_BLOCK = 32


def best_continuations(log_probabilities: Tensor, scores: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """Select the ``count`` best continuations of each sentence, best first.

    Ties prefer the lower hypothesis, then the lower token index; NaN counts as -inf. Blocks of tokens are compared by
    their best token first: the ``count`` best continuations are in the ``count`` best blocks, where the earlier of two
    equal blocks is the better one.

    Args:
        log_probabilities: Log-probabilities of the tokens after each hypothesis, (B, K, V) in single precision; none
            above 0, -inf allowed.
        scores: Log-probability of each hypothesis, (B, K).
        count: Number of continuations.

    Returns:
        The sums of both log-probabilities, and the numbers k·V + token, (B, count) each; fewer if no more exist.
    """
    sentences, hypotheses, vocabulary = log_probabilities.shape
    device, blocks = scores.device, vocabulary // _BLOCK
    if hypotheses * blocks <= count:
        numbers = torch.arange(hypotheses * vocabulary, device=device).expand(sentences, -1)
    else:
        whole = log_probabilities[:, :, : blocks * _BLOCK].reshape(sentences, hypotheses, blocks, _BLOCK)
        totals = (whole.amax(-1) + scores[:, :, None]).flatten(1)
        _, best = _best(totals, torch.arange(hypotheses * blocks, device=device).expand(sentences, -1), count)
        first = best // blocks * vocabulary + best % blocks * _BLOCK
        numbers = (first[:, :, None] + torch.arange(_BLOCK, device=device)).flatten(1)
        if vocabulary % _BLOCK:
            rest = torch.arange(hypotheses * vocabulary, device=device).view(hypotheses, -1)[:, blocks * _BLOCK :]
            numbers = torch.cat((numbers, rest.reshape(1, -1).expand(sentences, -1)), dim=1)
    totals = log_probabilities.flatten(1).gather(1, numbers) + scores.gather(1, numbers // vocabulary)
    return _best(totals, numbers, count)


def _best(values: Tensor, numbers: Tensor, count: int) -> tuple[Tensor, Tensor]:
    values = values.nan_to_num(-math.inf, neginf=-math.inf)
    # The bits of non-negative floats have the order of the floats, so that one integer holds both criteria.
    costs = values.neg().clamp_min(0).view(torch.int32).long()
    keys = (costs << 32) | numbers
    _, places = keys.topk(min(count, keys.size(1)), largest=False)
    return values.gather(1, places), numbers.gather(1, places)
