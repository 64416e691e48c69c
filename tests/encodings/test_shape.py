"""Tests of SHAPE: sinusoids at other positions in training than in translation."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from torch import Tensor
from torch.testing import assert_close

from golden import golden
from wordorder.encodings.base import Encoding, Positions, Shape
from wordorder.encodings.registry import build, parse
from wordorder.encodings.sinusoidal import frequencies
from wordorder.encodings.waves import waves

DIM = 32
SHAPE = Shape(dim=DIM, heads=4, encoder_layers=1, decoder_layers=1)


def sinusoids(length: int) -> Tensor:
    return waves(torch.arange(length), frequencies(DIM)).float()


def added(encoding: Encoding, sentences: int, length: int, stack: str = "encoder") -> Tensor:
    """What is added to the embeddings: (sentences, length, DIM)"""
    zeros = torch.zeros(sentences, length, DIM)
    return encoding.add_to_embeddings(zeros, Positions.range(length), stack).expand(sentences, -1, -1)  # type: ignore[arg-type]


def places(vectors: Tensor, among: int) -> Tensor:
    """The positions whose sinusoids these are: (B, L)"""
    near, found = torch.cdist(vectors, sinusoids(among)).min(-1)
    assert float(near.max()) < 1e-2  # neighbours are 0.9 apart
    return found


def test_shape_shifts_every_sentence_by_an_amount_of_its_own() -> None:
    torch.manual_seed(0)
    encoding = build(parse({"type": "shape", "shift": 9}), SHAPE).train()
    found = places(added(encoding, 400, 5), 20)
    shifts = found[:, 0]
    assert_close(found, shifts[:, None] + torch.arange(5))
    counts = torch.bincount(shifts, minlength=9)
    assert len(counts) == 9  # 0 … 8, each about 44 times
    assert 17 < int(counts.min()) <= int(counts.max()) < 80
    assert not torch.equal(places(added(encoding, 400, 5, "decoder"), 20), found)


@pytest.mark.parametrize(("evaluation", "first"), [("shift", 9), ("zero", 0)])
def test_shape_translates_from_one_position_on(evaluation: str, first: int) -> None:
    encoding = build(parse({"type": "shape", "shift": 9, "evaluation": evaluation}), SHAPE).eval()
    for stack in ("encoder", "decoder"):
        assert_close(added(encoding, 3, 5, stack), sinusoids(first + 5)[first:].expand(3, -1, -1))
    step = encoding.add_to_embeddings(torch.zeros(2, 1, DIM), Positions.range(1, offset=3), "decoder")
    assert_close(step, sinusoids(first + 4)[None, -1:].expand(2, -1, -1))


def test_shape_translates_as_released_code() -> None:
    arrays = golden("shape")
    encoding = build(parse({"type": "shape", "shift": int(arrays["K"])}), replace(SHAPE, dim=8)).eval()
    x = arrays["x_length_first"].transpose(0, 1)
    found = encoding.add_to_embeddings(8**0.5 * x, Positions.range(x.size(1)), "encoder")
    assert_close(found, arrays["eval_out"].transpose(0, 1), rtol=0, atol=1e-5)
