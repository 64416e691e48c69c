"""Relative positions of Shaw et al."""

from __future__ import annotations

import torch

from fidelity import Compared, causal, doubled, formula, numbers, pairs, released
from golden import golden
from wordorder.encodings.base import Positions, Shape, Stack
from wordorder.encodings.relative import Relative, RelativeAttention, RelativeConfig
from wordorder.model.attention.multihead import SelfAttention

SHAPE = Shape(dim=32, heads=4, encoder_layers=1, decoder_layers=1)


def _released(name: str, stack: Stack) -> Compared:
    values = golden("relative_attention", dtype=None)
    own = {key: values[f"{name}_{key}"] for key in ("in_weight", "in_bias", "out_weight", "out_bias", "x", "padding")}
    inside = Relative(RelativeConfig(clip=8, values=name == "kv"), SHAPE).attention(stack, 0)
    assert isinstance(inside, RelativeAttention)
    attention = SelfAttention(32, 4, 0.0)
    with torch.no_grad():
        attention.project_in.weight.copy_(own["in_weight"])
        attention.project_in.bias.copy_(own["in_bias"])
        attention.project_out.weight.copy_(own["out_weight"])
        attention.project_out.bias.copy_(own["out_bias"])
        for side, vectors in (("keys", inside.key_vectors), ("values", inside.value_vectors)):
            if vectors is not None:
                vectors[0] = values[f"{name}_{side}"][: vectors.size(1)]  # in the decoder those of distances -k … 0
    padding = own["padding"]
    mask = torch.zeros(3, 1, 1, 25).masked_fill(padding[:, None, None], -torch.inf)
    found = attention(
        own["x"].transpose(0, 1),
        mask=mask if stack == "encoder" else causal(25),
        encoding=inside,
        positions=Positions.range(25),
    )
    expected = values[f"{name}_{stack}"].transpose(0, 1)
    seen = ~padding if stack == "encoder" else torch.ones_like(padding)
    return Compared(found[seen], expected[seen])


@released("zyneu/OPR-NMT f505b29")
def keys_in_the_encoder() -> Compared:
    """Keys only, padded sentences, encoder"""
    return _released("k", "encoder")


@released("zyneu/OPR-NMT f505b29")
def keys_in_the_decoder() -> Compared:
    """Keys only, decoder"""
    return _released("k", "decoder")


@released("zyneu/OPR-NMT f505b29")
def both_in_the_encoder() -> Compared:
    """Keys and values, padded sentences, encoder"""
    return _released("kv", "encoder")


@released("zyneu/OPR-NMT f505b29")
def both_in_the_decoder() -> Compared:
    """Keys and values, decoder"""
    return _released("kv", "decoder")


@formula("equations 3 and 4")
def pair_by_pair() -> Compared:
    """Outputs of two heads with vectors of their own, one pair after the other"""
    inside = RelativeAttention(RelativeConfig(clip=2, share_heads=False), Shape(6, 2, 1, 1), "encoder")
    own = doubled(inside)
    (q, q_), (k, k_), (v, v_) = numbers(1, 2, 5, 3), numbers(1, 2, 5, 3), numbers(1, 2, 5, 3)
    positions = Positions.range(5)
    scores = inside.scores(q @ k.mT / 3**0.5, q / 3**0.5, k, positions, positions)
    shares = scores.softmax(-1)
    found = inside.context(shares @ v, shares, positions, positions)

    def vector(side: str, head: int, i: int, j: int) -> torch.Tensor:
        return own[f"{side}_vectors"][head, max(-2, min(2, j - i)) + 2]

    expected = torch.zeros(1, 2, 5, 3, dtype=torch.float64)
    for head in range(2):
        for i in range(5):
            logits = [q_[0, head, i] @ (k_[0, head, j] + vector("key", head, i, j)) / 3**0.5 for j in range(5)]
            for j, share in enumerate(torch.stack(logits).softmax(-1)):
                expected[0, head, i] = expected[0, head, i] + share * (v_[0, head, j] + vector("value", head, i, j))
    return Compared(found, expected, [(q, q_), (k, k_), (v, v_), *pairs(inside, own)])
