"""PyTorch's fused kernel, ``scaled_dot_product_attention``, for a mask and a bias on a GPU."""

from __future__ import annotations

from torch import Tensor
from torch.nn import functional

from wordorder.encodings.base import AttentionEncoding, Positions
from wordorder.model.attention.base import AttentionBackend, WeightsReader, register
from wordorder.model.masks import as_precise_as


@register
class SDPA(AttentionBackend):
    """The fused kernel, which never stores the scores or the weights."""

    name = "sdpa"
    supports = frozenset({"bias", "dropout"})
    devices = frozenset({"cuda"})
    rank = 2

    def attend(
        self,
        queries: Tensor,
        keys: Tensor,
        values: Tensor,
        *,
        mask: Tensor | None,
        dropout: float,
        encoding: AttentionEncoding,
        query: Positions,
        key: Positions,
        unrotated: Tensor,
        weights_reader: WeightsReader | None,
    ) -> Tensor:
        """Compute attention; see :meth:`.AttentionBackend.attend`."""
        bias = encoding.bias(query, key)
        if bias is not None:
            mask = bias if mask is None else mask + bias
        return functional.scaled_dot_product_attention(
            queries,
            keys,
            values,
            attn_mask=None if mask is None else as_precise_as(queries, mask),
            dropout_p=dropout,
        )
