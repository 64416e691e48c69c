"""Contextual positions."""

from __future__ import annotations

import torch

from fidelity import Compared, causal, doubled, formula, numbers, package, pairs, released
from golden import golden
from wordorder.encodings.base import Positions, Shape, Stack
from wordorder.encodings.cope import CoPEAttention, CoPEConfig


def _inside(stack: Stack, table: int, head_dim: int) -> CoPEAttention:
    return CoPEAttention(CoPEConfig(table=table), Shape(3 * head_dim, 3, 1, 1), stack)


def _added(inside: CoPEAttention, q: torch.Tensor, k: torch.Tensor) -> torch.Tensor:
    """What CoPE adds to the scores of queries and keys (B, H, L, d_h)."""
    divided, positions = q / q.size(-1) ** 0.5, Positions.range(q.size(2))
    scores = divided @ k.mT
    return inside.scores(scores, divided, k, positions, positions) - scores


@released("x-transformers 2.31.10 (the paper's appendix B)")
def appendix_b() -> Compared:
    """What is added to the scores, decoder"""
    values = golden("cope", dtype=None)
    inside = _inside("decoder", 5, 8)
    with torch.no_grad():
        inside.vectors.copy_(values["table"][None, None])
    return Compared(_added(inside, values["q"], values["k"]).tril(), values["added"].tril())


@package("x-transformers")
def x_transformers() -> Compared:
    """What is added to the scores, decoder, 40 tokens"""
    from x_transformers.x_transformers import CoPE

    inside = _inside("decoder", 16, 8)
    own = doubled(inside)
    theirs = CoPE(dim=8, heads=3, max_pos=16).double()
    (q, q_), (k, k_) = numbers(2, 3, 40, 8), numbers(2, 3, 40, 8)
    scores = q_ @ k_.mT / 8**0.5 + causal(40)
    expected = torch.func.functional_call(theirs, {"pos_emb": own["vectors"][0, 0]}, (q_, scores))
    return Compared(_added(inside, q, k).tril(), expected.tril(), [(q, q_), (k, k_), *pairs(inside, own)])


@formula("equations 3-6, keys behind the query included")
def pair_by_pair() -> Compared:
    """What is added to the scores, encoder, one pair after the other"""
    inside = _inside("encoder", 4, 2)
    own = doubled(inside)["vectors"]
    (q, q_), (k, k_) = numbers(1, 3, 6, 2), numbers(1, 3, 6, 2)
    expected = torch.zeros(1, 3, 6, 6, dtype=torch.float64)
    for head in range(3):
        for i in range(6):
            gates = torch.sigmoid(k_[0, head] @ q_[0, head, i] / 2**0.5)
            for j in range(6):
                position = (gates[j : i + 1] if j <= i else gates[i + 1 : j + 1]).sum().clamp(max=3)
                below = min(int(position), 2)
                table = own[int(j > i), 0]
                vector = table[below] + (position - below) * (table[below + 1] - table[below])
                expected[0, head, i, j] = q_[0, head, i] @ vector
    return Compared(_added(inside, q, k), expected, [(q, q_), (k, k_), (inside.vectors, own)])
