"""The scores of an attention with an encoding, step by step, before mask and softmax."""

from __future__ import annotations

from torch import Tensor

from wordorder.encodings.base import AttentionEncoding, Positions


def raw_scores(
    encoding: AttentionEncoding, queries: Tensor, keys: Tensor, query: Positions, key: Positions | None = None
) -> Tensor:
    """Compute what a softmax would be given: queries and keys (B, H, L, d_h) -> (B, H, Lq, Lk).

    The queries are the last tokens of the keys, unless there are as many.
    """
    key = query if key is None else key
    scale = queries.size(-1) ** -0.5
    rotated = encoding.rotate(queries, queries, query)[0]
    keys = encoding.rotate(keys, keys, key)[1]
    scores = encoding.scores(rotated * scale @ keys.mT, queries * scale, keys, query, key)
    bias = encoding.bias(query, key)
    return scores if bias is None else scores + bias
