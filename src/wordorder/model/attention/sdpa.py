"""PyTorch's fused kernel, ``scaled_dot_product_attention``, for all that is added to the scores on a GPU."""

from __future__ import annotations

import math

from torch import Tensor
from torch.nn import functional

from wordorder.model.attention.base import Attention, AttentionBackend, register
from wordorder.model.masks import as_precise_as


@register
class SDPA(AttentionBackend):
    """The fused kernel, which never stores the scores or the weights."""

    name = "sdpa"
    supports = frozenset({"bias", "added_scores", "added_score_function", "dropout"})
    devices = frozenset({"cuda"})
    rank = 2

    def attend(self, asked: Attention) -> Tensor:
        """Compute attention; see :meth:`.AttentionBackend.attend`."""
        return functional.scaled_dot_product_attention(
            asked.queries, asked.keys, asked.values, attn_mask=_added(asked), dropout_p=asked.dropout
        )


# Numbers by which each row of a bias must begin after the one before, or the kernel copies the bias in every layer.
_ALIGNMENT = 8


def _aligned(bias: Tensor) -> Tensor:
    """Return a bias whose rows are stored with as many unused numbers behind them as the kernel wants."""
    columns = bias.size(-1)
    return functional.pad(bias, (0, -columns % _ALIGNMENT))[..., :columns] if columns % _ALIGNMENT else bias


def _added(asked: Attention) -> Tensor | None:
    """Return what is added to the scores, (1 | B, 1 | H, 1 | Lq, Lk), in the precision of the queries."""
    queries, encoding, mask = asked.queries, asked.encoding, asked.mask
    bias = encoding.shared_bias(asked.query, asked.key)

    def compute() -> tuple[Tensor | None, ...]:
        added = mask if bias is None else bias if mask is None else mask + bias
        # The mask and the bias are kept too, so that no other tensors get their ids.
        return None if added is None else _aligned(as_precise_as(queries, added)), mask, bias

    added, *_ = asked.query.once(("added", id(mask), id(bias), queries.dtype), compute)
    if "scores" not in encoding.needs:
        return added
    own = asked.unrotated / math.sqrt(queries.size(-1))  # (B, H, Lq, d_h)
    nothing = own.new_zeros(()).expand(*own.shape[:-1], asked.keys.size(2))  # (B, H, Lq, Lk)
    term = as_precise_as(queries, encoding.scores(nothing, own, asked.keys, asked.query, asked.key))
    return term if added is None else added + term
