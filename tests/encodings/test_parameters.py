"""Tests that encodings have the number of parameters that their formulas give at the base shape."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from wordorder.encodings.base import Shape
from wordorder.encodings.registry import build, parse

BASE = Shape(dim=512, heads=8, encoder_layers=6, decoder_layers=6)
EXPECTED: dict[str, list[tuple[dict[str, Any], int]]] = {
    # Per head and sign: a rate, 16 + 16, 64 + 4, 4 and, in the encoder, 1.
    "adaptive_t5": [
        ({}, 8 * 2 * 106 + 8 * 105),
        ({"placement": "encoder"}, 8 * 2 * 106),
        ({"placement": "decoder"}, 8 * 105),
        ({"hidden": 32}, 8 * 2 * 202 + 8 * 201),
        ({"input_bias": True}, 8 * 2 * 106 + 8 * 105 + 512),
        ({"input_bias": True, "placement": "decoder"}, 8 * 105),
        ({"second_hidden": 1}, 8 * 2 * 52 + 8 * 51),
    ],
    # A network of 8 heads: 16 · 32 + 32 and 32 · 8 + 8; KERPLE has 2 · 8 numbers per side.
    "dape": [
        ({}, 12 * 808 + 6 * 32 + 6 * 16),
        ({"over": {"type": "alibi"}, "placement": "encoder"}, 6 * 808),
        ({"over": {"type": "fire"}, "placement": "decoder"}, 6 * (808 + 2 + 64 + 256)),
        ({"over": {"type": "t5"}, "hidden": 8, "placement": "decoder"}, 6 * (16 * 8 + 8 + 64 + 8 + 256)),
    ],
    # Per stack: a table, and two vectors with 'norm'; per layer: two projections, one of them with a bias.
    "deberta": [
        ({}, 2 * 1024 * 512 + 12 * (2 * 512**2 + 512)),
        ({"placement": "encoder", "buckets": 256, "norm": True}, 512 * 512 + 1024 + 6 * (2 * 512**2 + 512)),
        ({"placement": "decoder", "span": 16}, 32 * 512 + 6 * (2 * 512**2 + 512)),
    ],
    # Per layer: c and L; 32 + 32 and 8 · 32 per curve, and 8 more in the encoder, which has two curves.
    "fire": [
        ({}, 6 * (2 + 2 * 328) + 6 * (2 + 320)),
        ({"placement": "encoder"}, 3948),
        ({"placement": "decoder"}, 1932),
        ({"hidden": 16}, 6 * (2 + 2 * 168) + 6 * (2 + 160)),
    ],
    # Per layer, head and direction, of which the encoder has two: 512 weights and a bias.
    "forgetting": [
        ({}, (2 + 1) * 6 * 8 * 513),
        ({"placement": "encoder"}, 2 * 6 * 8 * 513),
        ({"placement": "decoder"}, 6 * 8 * 513),
    ],
    # Per stack, head and side, of which the encoder has two: two numbers.
    "kerple": [
        ({}, 48),
        ({"kernel": "power"}, 48),
        ({"placement": "encoder"}, 32),
        ({"placement": "decoder"}, 16),
    ],
    # Shaw's base model, and the clip that comes nearest to the PosNet paper's +0.29 M: a table per head.
    "relative": [
        ({"clip": 16, "share_heads": False}, 307_200),
        ({"clip": 15, "share_heads": False}, 288_768),
        ({"clip": 16, "share_heads": True}, 307_200 // 8),
        ({"clip": 8, "values": False}, (17 + 9) * 6 * 64),
    ],
    # Per layer, which both stacks share: a frequency of each rotated pair.
    "rope": [
        ({}, 0),
        ({"fraction": 0.25}, 0),
        ({"trained": True}, 6 * 32),
        ({"trained": True, "fraction": 0.25}, 6 * 8),
        ({"trained": True, "spectrum": "proportional", "fraction": 0.75, "skip": 2}, 3 * 24),
        ({"trained": True, "placement": "encoder"}, 6 * 32),
    ],
    # Per stack: a number for each bucket and head.
    "t5": [
        ({}, 512),
        ({"buckets": 64}, 1024),
        ({"placement": "encoder"}, 256),
        ({"placement": "decoder"}, 256),
    ],
    # 512² per layer; u and v of 512 numbers each, per stack or layer.
    "transformer_xl": [
        ({}, 12 * 262_144 + 2 * 1024),
        ({"share_biases": False}, 12 * 262_144 + 12 * 1024),
        ({"placement": "encoder"}, 6 * 262_144 + 1024),
    ],
    # Per stack: a table, two projections with biases, a layer norm and, with 'relative', T5's 32 buckets.
    "tupe": [
        ({}, 2 * (1024 * 512 + 2 * (512 * 512 + 512) + 2 * 512)),
        ({"placement": "encoder", "table": 200}, 200 * 512 + 2 * (512 * 512 + 512) + 1024),
        ({"placement": "decoder", "relative": True}, 1024 * 512 + 2 * (512 * 512 + 512) + 1024 + 32 * 8),
    ],
}


@pytest.mark.parametrize(
    ("entry", "expected"),
    [({"type": name} | options, expected) for name, entries in EXPECTED.items() for options, expected in entries],
    ids=str,
)
def test_parameters_of_the_base_shape(entry: dict[str, Any], expected: int) -> None:
    config = parse(entry)
    assert config.parameter_count(BASE) == expected
    with torch.device("meta"):
        assert sum(parameter.numel() for parameter in build(config, BASE).parameters()) == expected
