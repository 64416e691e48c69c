"""Transformer-XL against released code, and against its formula, one pair of tokens after the other."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch.testing import assert_close

from golden import golden
from raises import raises
from raw_scores import raw_scores
from wordorder.encodings.base import Encoding, Positions, Shape, Stack
from wordorder.encodings.registry import build, parse
from wordorder.encodings.transformer_xl import TransformerXLAttention
from wordorder.model.attention.multihead import split_heads
from wordorder.model.masks import causal_mask

SHAPE = Shape(dim=12, heads=3, encoder_layers=2, decoder_layers=3)
STACKS: tuple[Stack, ...] = ("encoder", "decoder")


def attention_of(stack: Stack, **parameters: Any) -> TransformerXLAttention:
    """The attention of the first layer in double precision, with numbers larger than those that it starts with."""
    attention = build(parse({"type": "transformer_xl", **parameters}), SHAPE).attention(stack, 0).double()
    assert isinstance(attention, TransformerXLAttention)
    with torch.no_grad():
        for parameter in attention.parameters():
            parameter.normal_(std=0.5)
    return attention


def vector(distance: int, dim: int) -> Tensor:
    """R(distance), written out."""
    angles = [distance * 10000 ** (-2 * m / dim) for m in range(dim // 2)]
    return torch.cat([wave(torch.tensor(angles, dtype=torch.float64)) for wave in (torch.sin, torch.cos)])


def naive(attention: TransformerXLAttention, queries: Tensor, keys: Tensor, query: Tensor, key: Tensor) -> Tensor:
    """Scores of (B, H, L, d_h) queries and keys at (B, L) positions, pair by pair."""
    sentences, heads, length, size = queries.shape
    scores = []
    for b in range(sentences):
        for h in range(heads):
            projection = attention.project.weight[h * size : (h + 1) * size]
            for i in range(length):
                for j in range(keys.size(2)):
                    apart = projection @ vector(int(query[b, i] - key[b, j]), heads * size)
                    content = (queries[b, h, i] + attention.content_bias[h]) @ keys[b, h, j]
                    position = (queries[b, h, i] + attention.position_bias[h]) @ apart
                    scores.append((content + position) / size**0.5)
    return torch.stack(scores).view(sentences, heads, length, -1)


@pytest.mark.parametrize("stack", STACKS)
@settings(deadline=None, max_examples=10)
@given(
    sentences=st.integers(1, 2),
    queries=st.integers(1, 2),
    length=st.integers(2, 4),
    offset=st.sampled_from([0, 3, 600]),
    seed=st.integers(0, 99),
)
def test_scores_are_the_formula(
    stack: Stack, sentences: int, queries: int, length: int, offset: int, seed: int
) -> None:
    torch.manual_seed(seed)
    attention = attention_of(stack)
    key = torch.stack([torch.randperm(length) if stack == "encoder" else torch.arange(length)] * sentences) + offset
    query = key[:, -queries:]
    content = torch.randn(2, sentences, 3, length, 4, dtype=torch.float64)
    leaves = [content[0, :, :, -queries:].requires_grad_(), content[1].requires_grad_(), *attention.parameters()]
    found = raw_scores(
        attention, leaves[0], leaves[1], Positions(query, offset + length), Positions(key, offset + length)
    )
    expected = naive(attention, leaves[0], leaves[1], query, key)
    if stack == "decoder":  # what is later is masked
        later = key[:, None, None, :] > query[:, None, :, None]
        found, expected = found.masked_fill(later, 0), expected.masked_fill(later, 0)
    assert_close(found, expected, rtol=0, atol=1e-5)
    toward = torch.randn_like(found)
    ours, theirs = (torch.autograd.grad((each * toward).sum(), leaves) for each in (found, expected))
    assert_close(ours, theirs, rtol=0, atol=1e-4)


@pytest.mark.parametrize("stack", STACKS)
@torch.no_grad()
def test_weights_are_those_of_released_code(stack: Stack) -> None:
    values = golden("transformer_xl")
    prefix = "both_" if stack == "encoder" else ""
    attention = attention_of(stack)
    projection = values[f"{prefix}wr"]
    if stack == "encoder":  # sines and cosines interleaved there
        projection = torch.cat((projection[:, ::2], projection[:, 1::2]), dim=1)
    attention.project.weight.copy_(projection)
    attention.content_bias.copy_(values[f"{prefix}u"])
    attention.position_bias.copy_(values[f"{prefix}v"])
    queries, keys = (
        split_heads(values["x"] @ values[f"{prefix}w{side}"].T + values.get(f"{prefix}b{side}", torch.tensor(0.0)), 3)
        for side in "qk"
    )
    scores = raw_scores(attention, queries, keys, Positions.range(7))
    if stack == "decoder":
        scores = scores + causal_mask(7, on=scores.device)
    expected = values["both_weights" if stack == "encoder" else "causal_weights"]
    assert_close(scores.softmax(-1), expected, rtol=0, atol=1e-5)


def parameters_of(encoding: Encoding, layers: list[tuple[Stack, int]]) -> list[TransformerXLAttention]:
    return [encoding.attention(stack, layer) for stack, layer in layers]  # type: ignore[misc]


def test_layers_have_their_own_projection_and_share_biases_unless_each_has_its_own() -> None:
    layers: list[tuple[Stack, int]] = [("encoder", 0), ("encoder", 1), ("decoder", 0), ("decoder", 2)]
    for share, pairs in ((True, 2), (False, 4)):
        encoding = build(parse({"type": "transformer_xl", "share_biases": share}), SHAPE)
        found = parameters_of(encoding, layers)
        assert len({id(each.project.weight) for each in found}) == 4
        assert len({id(each.content_bias) for each in found}) == pairs
        assert len({id(each.position_bias) for each in found}) == pairs


def test_start_values_are_small_and_random() -> None:
    torch.manual_seed(0)
    shape = Shape(dim=256, heads=4, encoder_layers=1, decoder_layers=1)
    for parameter in build(parse({"type": "transformer_xl"}), shape).parameters():
        assert float(parameter.detach().std()) == pytest.approx(0.02, rel=0.15)
        assert abs(float(parameter.detach().mean())) < 0.005


def test_sizes_must_be_even() -> None:
    with raises("unfit-size", key="dim", found=9):
        build(parse({"type": "transformer_xl"}), Shape(dim=9, heads=3, encoder_layers=1, decoder_layers=1))
