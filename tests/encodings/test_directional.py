from __future__ import annotations

import math

import torch
from torch.testing import assert_close

from wordorder.encodings.base import Positions, Shape
from wordorder.encodings.registry import build, parse
from wordorder.model.architectures.transformer import padding_mask
from wordorder.model.attention.base import attend
from wordorder.model.batch import PAD

SHAPE = Shape(dim=8, heads=4, encoder_layers=2, decoder_layers=1)


def test_heads_look_forward_and_backward_in_turn() -> None:
    encoding = build(parse({"type": "directional"}), SHAPE)
    queries, keys, values = torch.randn(3, 2, 4, 5, 2)
    positions = Positions.range(5)
    for layer in range(2):
        result = attend(
            queries, keys, values, mask=None, dropout_probability=0, training=True,
            encoding=encoding.attention("encoder", layer), query=positions, key=positions,
        )  # fmt: skip
        for head in range(4):
            for i in range(5):
                seen = slice(0, i + 1) if head % 2 == 0 else slice(i, 5)
                scores = queries[:, head, i, None] @ keys[:, head, seen].mT / math.sqrt(2)
                assert_close(result[:, head, i], (scores.softmax(-1) @ values[:, head, seen])[:, 0])
    assert encoding.attention("decoder", 0).bias(positions, positions) is None


def test_a_padding_query_stays_a_number() -> None:
    """Its backward heads see only padding; a NaN there would corrupt the next layer."""
    encoding = build(parse({"type": "directional"}), SHAPE)
    positions = Positions.range(4)
    x = torch.randn(3, 1, 4, 4, 2)
    result = attend(
        x[0], x[1], x[2], mask=padding_mask(torch.tensor([[5, 5, PAD, PAD]])), dropout_probability=0, training=True,
        encoding=encoding.attention("encoder", 0), query=positions, key=positions,
    )  # fmt: skip
    assert bool(result.isfinite().all())
