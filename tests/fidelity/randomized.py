"""Randomized positions."""

from __future__ import annotations

from dataclasses import replace

import torch

from fidelity import Compared, doubled, formula, numbers, pairs, released, weights
from golden import golden
from wordorder.encodings.base import Encoding, Positions, Shape
from wordorder.encodings.registry import build, parse
from wordorder.encodings.sinusoidal import frequencies
from wordorder.encodings.waves import waves

CODE = "google-deepmind/randomized_positional_encodings e8c6474"


def _encoding(base: str, shape: Shape, among: int, **parameters: str) -> Encoding:
    entry = {"type": "randomized", "base": base, "range": among, "longest": among, **parameters}
    return build(parse(entry), shape)


def _drawn(encoding: Encoding, *smallest: torch.Tensor, sentences: int = 1) -> Positions:
    """Positions of sentences of 7 tokens whose draws are given; the same ones where lengths are not known."""
    orders = torch.full((2 * len(smallest), encoding.draws.among), 2048)  # type: ignore[union-attr,arg-type]
    for row, drawn in enumerate(2 * smallest):
        orders[row, drawn.long()] = torch.arange(len(drawn))
    lengths = torch.full((sentences, 1), 7)
    return replace(Positions.range(7), drawn=orders.view(1, -1).expand(sentences, -1), lengths=lengths)


@released(CODE)
def sinusoids() -> Compared:
    """What is added to the embeddings, base sinusoidal"""
    values = golden("randomized", dtype=None)
    encoding = _encoding("sinusoidal", Shape(8, 2, 1, 1), int(values["noise_max_length"]))
    positions = _drawn(encoding, values["sincos_indices"])
    added = encoding.add_to_embeddings(torch.zeros(1, 7, 8), positions, "encoder")[0]
    return Compared(torch.cat((added[:, 0::2], added[:, 1::2]), dim=1), values["sincos_out"])


@released(CODE)
def rotations() -> Compared:
    """Rotated queries, base rope"""
    values = golden("randomized", dtype=None)
    encoding = _encoding("rope", Shape(24, 3, 1, 1), int(values["noise_max_length"]))
    positions = _drawn(encoding, values["rotary_indices"], sentences=2)
    halves = torch.arange(8).view(4, 2).T.flatten()  # its pairs are neighbours
    queries, expected = (values[name].transpose(1, 2)[..., halves] for name in ("rotary_q", "rotary_out"))
    return Compared(encoding.attention("encoder", 0).rotate(queries, queries, positions)[0], expected)


def _biases(name: str, sides: str, *order: str) -> Compared:
    values = golden("randomized", dtype=None)
    encoding = _encoding("alibi", Shape(32, 4, 1, 1), int(values["noise_max_length"]), sides=sides)
    positions = _drawn(encoding, *(values[f"alibi_{name}_{side}"] - 1 for side in order))
    bias = encoding.attention("encoder", 0).bias(positions, positions)
    assert bias is not None
    return Compared(bias[0], values[f"alibi_{name}_bias"])


@released(CODE)
def same_distances() -> Compared:
    """Bias, base alibi, the same distances on both sides"""
    return _biases("sym", "same", "left")


@released(CODE)
def independent_distances() -> Compared:
    """Bias, base alibi, other distances on either side"""
    return _biases("both", "independent", "left", "right")


@formula("section 3")
def section_3() -> Compared:
    """Embeddings of 2 sentences with learned vectors and their products with sinusoids at drawn positions"""
    encoding = _encoding("learned", Shape(16, 2, 1, 1), 40)
    positions = _drawn(encoding, torch.tensor([31, 2, 17, 39, 5, 11, 0]), sentences=2)
    drawn = torch.tensor([0, 2, 5, 11, 17, 31, 39])
    x, x_ = numbers(2, 7, 16)
    (name, table), *_ = encoding.named_parameters()
    copy = table.detach().double().requires_grad_()
    fixed = waves(drawn, frequencies(16))
    added = encoding.add_to_embeddings(x, positions, "encoder")
    assert "encoder" in name
    return Compared(added * fixed.float(), (x_ + copy[drawn]) * fixed, [(x, x_), (table, copy)])


@formula("section 3 and Dai et al. 2019, section 3.3")
def transformer_xl() -> Compared:
    """Attention weights of the encoder, base transformer_xl"""
    encoding = _encoding("transformer_xl", Shape(12, 3, 1, 1), 40)
    inside = encoding.attention("encoder", 0)
    copies = doubled(inside)
    (queries, queries_), (keys, keys_) = numbers(2, 3, 7, 4), numbers(2, 3, 7, 4)
    neighbours = torch.tensor([3, 4, 9, 20, 21, 38])
    positions = _drawn(encoding, neighbours - 1, sentences=2)
    u, v, projection = (copies[f"base.{name}"] for name in ("content_bias", "position_bias", "project.weight"))
    far = torch.cat((torch.zeros(1), neighbours)).double()
    signs = torch.arange(7)[:, None] - torch.arange(7)  # i - j
    angles = (signs.sign() * far[signs.abs()])[..., None] * frequencies(12)
    vectors = (torch.cat((angles.sin(), angles.cos()), dim=-1) @ projection.T).unflatten(-1, (3, 4))
    scores = (queries_ + u[:, None]) @ keys_.mT + torch.einsum("bhid,ijhd->bhij", queries_ + v[:, None], vectors)
    leaves = [(queries, queries_), (keys, keys_), *pairs(inside, copies)]
    return Compared(weights(inside, queries, keys, positions), (scores / 2).softmax(-1), leaves)
