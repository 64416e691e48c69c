"""Attention as plain products: the reference, which supports everything.

On a CPU it is also several times faster than the fused kernel for sentences of usual length.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

from wordorder.dropout import dropout as drop
from wordorder.model.attention.base import Attention, AttentionBackend, register


@register
class Eager(AttentionBackend):
    """Scores, softmax and weighted sum, one after the other."""

    name = "eager"
    supports = frozenset({"bias", "scores", "score_function", "context", "weights", "dropout"})
    rank = 1

    def attend(self, asked: Attention) -> Tensor:
        """Compute attention; see :meth:`.AttentionBackend.attend`."""
        queries, encoding, mask = asked.queries, asked.encoding, asked.mask
        places = asked.query, asked.key
        bias = encoding.shared_bias(*places)  # (1 | B, 1 | H, Lq, Lk)
        if bias is not None:
            mask = bias if mask is None else mask + bias  # (1 | B, 1 | H, Lq, Lk)
        scale = 1 / math.sqrt(queries.size(-1))
        scaled = queries * scale  # (B, H, Lq, d_h)
        scores = scaled @ asked.keys.transpose(-1, -2)  # (B, H, Lq, d_h) @ (B, H, d_h, Lk) -> (B, H, Lq, Lk)
        own = scaled if asked.unrotated is queries else asked.unrotated * scale  # (B, H, Lq, d_h)
        scores = encoding.scores(scores, own, asked.keys, *places)  # (B, H, Lq, Lk)
        if mask is not None:
            scores = scores + mask  # (B, H, Lq, Lk)
        weights = drop(torch.softmax(scores, dim=-1), asked.dropout, True).to(asked.values.dtype)  # (B, H, Lq, Lk)
        if asked.weights_reader is not None:
            asked.weights_reader(weights)
        context = weights @ asked.values  # (B, H, Lq, Lk) @ (B, H, Lk, d_h) -> (B, H, Lq, d_h)
        return encoding.context(context, weights, *places)  # (B, H, Lq, d_h)
