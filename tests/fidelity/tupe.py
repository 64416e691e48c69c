"""Untied positions."""

from __future__ import annotations

import torch
from torch.nn import functional

from fidelity import Compared, doubled, formula, pairs, released
from golden import golden
from wordorder.encodings.base import Positions, Shape
from wordorder.encodings.tupe import TUPEAttention, TUPEConfig


def _released(kind: str) -> Compared:
    values = golden("tupe", dtype=None)
    inside = TUPEAttention(TUPEConfig(table=16), Shape(12, 3, 1, 1), "encoder")
    names = {"norm.weight": "ln_w", "norm.bias": "ln_b", "project_query.weight": "wq", "project_query.bias": "bq"}
    names |= {"project_key.weight": "wk", "project_key.bias": "bk"}
    table = {"table": values[f"{kind}_table"][1:]}  # without the row of [CLS]
    inside.load_state_dict(table | {own: values[f"{kind}_{theirs}"] for own, theirs in names.items()})
    expected = values[f"{kind}_absolute_untied_without_cls"]
    return Compared(inside.bias(Positions.range(9), Positions.range(9))[0], expected)


@released("guolinke/TUPE 4c64ff7")
def absolute() -> Compared:
    """Bias of positions, TUPE-A, tokens after [CLS]"""
    return _released("abs")


@released("guolinke/TUPE 4c64ff7")
def relative() -> Compared:
    """Bias of positions, TUPE-R without its buckets, tokens after [CLS]"""
    return _released("rel")


@formula("section 3.1")
def pair_by_pair() -> Compared:
    """Bias of the encoder, one pair of tokens after the other"""
    inside = TUPEAttention(TUPEConfig(table=9), Shape(12, 3, 1, 1), "encoder")
    own = doubled(inside)
    rows = [functional.layer_norm(p, (12,), own["norm.weight"], own["norm.bias"]) for p in own["table"]]
    left = [own["project_query.weight"] @ row + own["project_query.bias"] for row in rows]
    right = [own["project_key.weight"] @ row + own["project_key.bias"] for row in rows]
    biases = [left[i][h : h + 4] @ right[j][h : h + 4] / 8**0.5 for h in (0, 4, 8) for i in range(9) for j in range(9)]
    expected = torch.stack(biases).view(1, 3, 9, 9)
    return Compared(inside.bias(Positions.range(9), Positions.range(9)), expected, pairs(inside, own))
