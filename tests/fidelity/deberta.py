"""Disentangled attention."""

from __future__ import annotations

from typing import Any, cast

import torch

from fidelity import Compared, doubled, formula, numbers, pairs, released, weights
from golden import golden
from wordorder.encodings.base import Positions, Shape
from wordorder.encodings.deberta import DeBERTaAttention, DeBERTaConfig
from wordorder.encodings.registry import build


def _inside(**parameters: Any) -> DeBERTaAttention:
    return cast(DeBERTaAttention, build(DeBERTaConfig(**parameters), Shape(12, 3, 1, 1)).attention("encoder", 0))


def _released(kind: str, own: str, **parameters: Any) -> Compared:
    values = {name.removeprefix(f"{kind}_"): value for name, value in golden("deberta", dtype=None).items()}
    inside = _inside(third_term="released", **parameters)
    state = {"table.vectors": values["rel_embeddings"], "project_query.bias": values[f"{own}query_proj_bias"]}
    state |= {f"project_{side}.weight": values[f"{own}{side}_proj_weight"] for side in ("key", "query")}
    inside.load_state_dict(state)
    queries, keys = (
        (values["x"] @ values[f"{side}_proj_weight"].T + values[f"{side}_proj_bias"]).unflatten(-1, (3, 4))
        for side in ("query", "key")
    )
    found = weights(inside, queries.transpose(1, 2), keys.transpose(1, 2), Positions.range(11))
    return Compared(found, values["weights"])


@released("transformers 5.23.0 (DeBERTa-v2)")
def plain() -> Compared:
    """Attention weights, `third_term: released`, projections of positions"""
    return _released("plain", "pos_", span=4)


@released("transformers 5.23.0 (DeBERTa-v2)")
def bucket() -> Compared:
    """Attention weights, `third_term: released`, log buckets, positions projected as words"""
    return _released("bucket", "", buckets=4, span=16)


@formula("section 3.1, δ(j, i) in the third term")
def pair_by_pair() -> Compared:
    """Attention weights of the encoder, one pair of tokens after the other, distances beyond the span"""
    inside = _inside(span=3)
    own = doubled(inside)
    (q, q_), (k, k_) = numbers(2, 3, 9, 4), numbers(2, 3, 9, 4)
    keys = (own["table.vectors"] @ own["project_key.weight"].T).view(6, 3, 4)
    queries = (own["table.vectors"] @ own["project_query.weight"].T + own["project_query.bias"]).view(6, 3, 4)

    def row(i: int, j: int) -> int:
        return min(max(i - j + 3, 0), 5)

    scores = [
        ((q_[:, :, i] * k_[:, :, j]) + q_[:, :, i] * keys[row(i, j)] + k_[:, :, j] * queries[row(j, i)]).sum(-1)
        for i in range(9)
        for j in range(9)
    ]
    expected = (torch.stack(scores, dim=-1) / 12**0.5).view(2, 3, 9, 9).softmax(-1)
    return Compared(weights(inside, q, k, Positions.range(9)), expected, [(q, q_), (k, k_), *pairs(inside, own)])
