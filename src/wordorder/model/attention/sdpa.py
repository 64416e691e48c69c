"""PyTorch's fused kernel, ``scaled_dot_product_attention``, for a mask and a bias on a GPU."""

from __future__ import annotations

from torch import Tensor
from torch.nn import functional

from wordorder.model.attention.base import Attention, AttentionBackend, register
from wordorder.model.masks import as_precise_as


@register
class SDPA(AttentionBackend):
    """The fused kernel, which never stores the scores or the weights."""

    name = "sdpa"
    supports = frozenset({"bias", "dropout"})
    devices = frozenset({"cuda"})
    rank = 2

    def attend(self, asked: Attention) -> Tensor:
        """Compute attention; see :meth:`.AttentionBackend.attend`."""
        bias, mask = asked.encoding.bias(asked.query, asked.key), asked.mask
        if bias is not None:
            mask = bias if mask is None else mask + bias
        mask = None if mask is None else as_precise_as(asked.queries, mask)
        return functional.scaled_dot_product_attention(
            asked.queries, asked.keys, asked.values, attn_mask=mask, dropout_p=asked.dropout
        )
