"""The best few of very many tokens, faster than sorting them and with ties decided."""

from __future__ import annotations

import torch
from torch import Tensor

_BLOCK = 32


def best_tokens(log_probabilities: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """The ``count`` highest of each row, highest first, and of equals the lower token number first.

    (N, V) single precision, none above 0 and -inf allowed -> values (N, count) and token numbers (N, count).

    Blocks of tokens are compared by their best token first: the ``count`` best tokens of a row lie in its ``count``
    best blocks, where of two equal blocks the earlier is the better one.
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
    # The bits of floats that are not negative have the order of the floats, so that one integer holds both criteria.
    costs = values.neg().clamp_min(0).view(torch.int32).long()
    keys = (costs << 32) | numbers
    _, places = keys.topk(min(count, keys.size(1)), largest=False)
    return values.gather(1, places), numbers.gather(1, places)
