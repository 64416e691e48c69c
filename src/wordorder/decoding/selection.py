"""Selection of the best few of very many tokens, faster than sorting and with deterministic ties."""

from __future__ import annotations

import torch
from torch import Tensor

_BLOCK = 32


def best_tokens(log_probabilities: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """Select the ``count`` highest log-probabilities of each row, highest first; ties prefer the lower token index.

    Blocks of tokens are compared by their best token first: the ``count`` best tokens of a row are in its ``count``
    best blocks, where the earlier of two equal blocks is the better one.

    Args:
        log_probabilities: Log-probabilities, (N, V) in single precision; none above 0, -inf allowed.
        count: Number of tokens.

    Returns:
        Values and token indices, (N, count) each.
    """
    vocabulary = log_probabilities.size(1)
    blocks = vocabulary // _BLOCK
    if blocks <= count:
        tokens = torch.arange(vocabulary, device=log_probabilities.device).expand_as(log_probabilities)
        return _best(log_probabilities, tokens, count)
    whole = log_probabilities[:, : blocks * _BLOCK].view(-1, blocks, _BLOCK)
    numbers = torch.arange(blocks, device=whole.device).expand(len(whole), -1)
    _, best_blocks = _best(whole.amax(-1), numbers, count)
    tokens = (best_blocks[:, :, None] * _BLOCK + torch.arange(_BLOCK, device=whole.device)).flatten(1)
    rest = torch.arange(blocks * _BLOCK, vocabulary, device=whole.device).expand(len(whole), -1)
    tokens = torch.cat((tokens, rest), dim=1)
    return _best(log_probabilities.gather(1, tokens), tokens, count)


def _best(values: Tensor, numbers: Tensor, count: int) -> tuple[Tensor, Tensor]:
    # The bits of non-negative floats have the order of the floats, so that one integer holds both criteria.
    costs = values.neg().clamp_min(0).view(torch.int32).long()
    keys = (costs << 32) | numbers
    _, places = keys.topk(min(count, keys.size(1)), largest=False)
    return values.gather(1, places), numbers.gather(1, places)
