"""Biases that adapt to the scores."""

from __future__ import annotations

from typing import Any, cast

import torch
from torch.nn import functional

from fidelity import Compared, doubled, formula, numbers, pairs, released
from golden import golden
from wordorder.encodings.base import Positions, Shape, Stack
from wordorder.encodings.dape import DAPEAttention
from wordorder.encodings.registry import build, parse


def _inside(stack: Stack, heads: int, over: dict[str, Any], hidden: int = 32) -> DAPEAttention:
    config = parse({"type": "dape", "over": over, "hidden": hidden})
    return cast(DAPEAttention, build(config, Shape(4 * heads, heads, 1, 1)).attention(stack, 0))


def _adapted(inside: DAPEAttention, scores: torch.Tensor) -> torch.Tensor:
    nothing, positions = scores.new_zeros(0), Positions.range(scores.size(-1))  # queries and keys are not read
    return inside.scores(scores, nothing, nothing, positions, positions)


@released("chuanyang-Zheng/DAPE bde344a")
def over_alibi() -> Compared:
    """Scores of the decoder, over ALiBi"""
    values = golden("fire_dape", dtype=None)
    inside = _inside("decoder", 4, {"type": "alibi"}, hidden=8)
    names = {"inner.weight": "w1", "inner.bias": "b1", "outer.weight": "w2", "outer.bias": "b2"}
    inside.load_state_dict({own: values[f"dape_alibi_{theirs}"] for own, theirs in names.items()})
    return Compared(_adapted(inside, values["scores"]).tril(), values["dape_alibi_out"].tril())


@formula("the network for all pairs at once")
def over_kerple() -> Compared:
    """Scores of the encoder, over KERPLE, 40 tokens"""
    inside = _inside("encoder", 4, {"type": "kerple"})
    own = doubled(inside, drawn=False)
    scores, scores_ = numbers(3, 4, 40, 40)
    apart = torch.arange(40)[None] - torch.arange(40)[:, None]
    a, p = (own[f"over.{name}"].clamp(min=0.01) for name in ("a", "p"))
    sides = [-p[side, :, None, None] * torch.log(1 + a[side, :, None, None] * apart.abs()) for side in (0, 1)]
    bias = torch.where(apart > 0, sides[1], sides[0])
    both = torch.cat((scores_, bias.expand(3, -1, -1, -1)), dim=1).permute(0, 2, 3, 1)
    hidden = functional.leaky_relu(both @ own["inner.weight"].T + own["inner.bias"], 0.01)
    expected = scores_ + bias + (hidden @ own["outer.weight"].T + own["outer.bias"]).permute(0, 3, 1, 2)
    return Compared(_adapted(inside, scores), expected, [(scores, scores_), *pairs(inside, own)])
