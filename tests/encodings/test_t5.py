"""Tests of T5's buckets against the published integer formula, and of its bias against loops over pairs."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch.testing import assert_close

from raises import raises
from wordorder.encodings import lookup
from wordorder.encodings.base import Positions, Shape, Stack
from wordorder.encodings.registry import build, parse
from wordorder.encodings.t5 import T5Attention, T5Config, bucket
from wordorder.model.attention.base import attend

SHAPE = Shape(dim=6, heads=3, encoder_layers=2, decoder_layers=2)
STACKS: tuple[Stack, ...] = ("encoder", "decoder")


def exact_bucket(distance: int, buckets: int, max_distance: int, causal: bool) -> int:
    """The formula without logarithms: the k-th of n steps begins where (|r| / e)^n reaches (m / e)^k."""
    if causal:
        offset, apart = 0, max(0, -distance)
    else:
        buckets //= 2
        offset, apart = (buckets if distance > 0 else 0), abs(distance)
    e = buckets // 2
    if apart < e:
        return offset + apart
    n, k = buckets - e, 0
    while k < n - 1 and apart**n * e ** (k + 1) >= max_distance ** (k + 1) * e**n:
        k += 1
    return offset + e + k


@settings(deadline=None, max_examples=300)
@given(half=st.integers(2, 40), max_distance=st.integers(3, 300), distance=st.integers(-700, 700), causal=st.booleans())
def test_buckets_are_the_formulas(half: int, max_distance: int, distance: int, causal: bool) -> None:
    assume(max_distance > half)
    found = bucket(distance, buckets=2 * half, max_distance=max_distance, causal=causal)
    assert found == exact_bucket(distance, 2 * half, max_distance, causal)


def test_a_logarithm_that_comes_out_whole_begins_a_bucket() -> None:
    # 5 exact buckets, then 5 steps to 160, each twice as far; log 2 / log 32 · 5 is a little less than 1 in a computer.
    for distance, expected in ((4, 4), (5, 5), (9, 5), (10, 6), (19, 6), (20, 7), (40, 8), (79, 8), (80, 9), (999, 9)):
        assert bucket(-distance, buckets=10, max_distance=160, causal=True) == expected


@pytest.mark.parametrize(
    ("distances", "expected"),
    [
        # 8 + ⌊2 log2(|r| / 8)⌋: steps begin at 8, 11.3, 16, 22.6, 32, 45.3, 64 and 90.5.
        (range(8), range(8)),
        ((8, 11, 12, 15, 16, 22, 23, 31), (8, 8, 9, 9, 10, 10, 11, 11)),
        ((32, 45, 46, 63, 64, 90, 91, 127), (12, 12, 13, 13, 14, 14, 15, 15)),
        ((128, 129, 100_000), (15, 15, 15)),
    ],
)
def test_t5_of_32_buckets_in_the_encoder(distances: Any, expected: Any) -> None:
    for distance, own in zip(distances, expected, strict=True):
        assert bucket(-distance, buckets=32, max_distance=128, causal=False) == own
        if distance:
            assert bucket(distance, buckets=32, max_distance=128, causal=False) == 16 + own


@pytest.mark.parametrize(
    ("distances", "expected"),
    [
        # 16 + ⌊16/3 log2(|r| / 16)⌋: steps begin at 16, 18.2, 20.7, …, 45.3 (the eighth), …, 112.3 (the fifteenth).
        (range(16), range(16)),
        ((16, 18, 19, 20, 21, 45, 46, 64, 112, 113, 128, 5000), (16, 16, 17, 17, 18, 23, 24, 26, 30, 31, 31, 31)),
    ],
)
def test_t5_of_32_buckets_in_the_decoder_is_a_side_of_64_in_the_encoder(distances: Any, expected: Any) -> None:
    for distance, own in zip(distances, expected, strict=True):
        assert bucket(-distance, buckets=32, max_distance=128, causal=True) == own
        assert bucket(-distance, buckets=64, max_distance=128, causal=False) == own
        if distance:
            assert bucket(distance, buckets=32, max_distance=128, causal=True) == 0
            assert bucket(distance, buckets=64, max_distance=128, causal=False) == 32 + own


def naive(attention: T5Attention, config: T5Config, query: Tensor, key: Tensor, causal: bool) -> Tensor:
    """t_h[bucket(j - i)], one pair after the other: (B, H, Lq, Lk)"""
    rows = [
        [
            [
                attention.table[exact_bucket(int(j - i), config.buckets, config.max_distance, causal)]
                for j in key[each % len(key)]
            ]
            for i in query[each % len(query)]
        ]
        for each in range(max(len(query), len(key)))
    ]
    return torch.stack([torch.stack([torch.stack(row) for row in sentence]) for sentence in rows]).permute(0, 3, 1, 2)


@pytest.mark.parametrize("stack", STACKS)
@settings(deadline=None, max_examples=15)
@given(
    sentences=st.integers(1, 3),
    queries=st.integers(1, 4),
    length=st.integers(4, 9),
    offset=st.integers(0, 900),
    seed=st.integers(0, 99),
)
def test_bias_is_the_formula(stack: Stack, sentences: int, queries: int, length: int, offset: int, seed: int) -> None:
    torch.manual_seed(seed)
    config = T5Config(buckets=8, max_distance=6)
    attention = T5Attention(config, SHAPE, stack).double()
    key = torch.stack([torch.randperm(length) for _ in range(sentences)]) + offset
    query = key[:, -queries:]
    found = attention.bias(Positions(query, offset + length), Positions(key, offset + length))
    expected = naive(attention, config, query, key, stack == "decoder")
    assert_close(found, expected)

    toward = torch.randn_like(expected)
    ours, theirs = (torch.autograd.grad((each * toward).sum(), attention.table)[0] for each in (found, expected))
    assert_close(ours, theirs)


@pytest.mark.parametrize("stack", STACKS)
def test_gradient_is_that_of_small_differences(stack: Stack) -> None:
    attention = T5Attention(T5Config(buckets=8, max_distance=6), SHAPE, stack).double()
    positions = Positions.range(8)

    def bias(table: Tensor) -> Tensor:
        return torch.func.functional_call(_Bias(attention), {"attention.table": table}, (positions,))  # type: ignore[no-any-return]

    assert torch.autograd.gradcheck(bias, (attention.table.detach().requires_grad_(),))


class _Bias(torch.nn.Module):
    def __init__(self, attention: T5Attention) -> None:
        super().__init__()
        self.attention = attention

    def forward(self, positions: Positions) -> Tensor:
        return self.attention.bias(positions, positions)


def test_bias_is_added_to_the_divided_scores() -> None:
    attention = T5Attention(T5Config(), SHAPE, "encoder")
    queries, keys, values = torch.randn(3, 2, 3, 5, 4)
    positions = Positions.range(5)
    found = attend(
        queries, keys, values,
        mask=None, dropout_probability=0.0, training=False, encoding=attention, query=positions, key=positions,
    )  # fmt: skip
    scores = queries @ keys.transpose(-1, -2) / 2
    for head in range(3):
        for i in range(5):
            for j in range(5):
                scores[:, head, i, j] += attention.table[abs(j - i) + (16 if j > i else 0), head].detach()
    assert_close(found, scores.softmax(-1) @ values)


def test_both_ways_to_spread_are_one() -> None:
    torch.manual_seed(0)
    values = torch.randn(3, 7, dtype=torch.float64, requires_grad=True)
    rows = torch.randint(7, (2, 4, 5))
    toward = torch.randn(2, 3, 4, 5, dtype=torch.float64)
    results = [way(values, rows) for way in (lookup._gathered, lookup._embedded)]
    for result in results:
        for sentence in range(2):
            for head in range(3):
                assert_close(result[sentence, head], values[head][rows[sentence]])
        assert_close(
            torch.autograd.grad((result * toward).sum(), values)[0],
            torch.stack([
                torch.stack([toward[:, head][rows == case].sum() for case in range(7)]) for head in range(3)
            ]),
        )  # fmt: skip


def test_a_table_a_layer() -> None:
    shape = Shape(dim=12, heads=3, encoder_layers=2, decoder_layers=3)
    encoding = build(T5Config(tables="per_layer"), shape)
    tables = [encoding.attention(stack, layer).table for stack in STACKS for layer in range(shape.layers(stack))]
    assert len({table.data_ptr() for table in tables}) == 5
    assert T5Config(tables="per_layer").parameter_count(shape) == 5 * 32 * 3


def test_layers_of_a_stack_share_their_table() -> None:
    encoding = build(T5Config(), SHAPE)
    encoder, decoder = ([encoding.attention(stack, layer) for layer in range(2)] for stack in STACKS)
    assert encoder[0] is encoder[1] and decoder[0] is decoder[1] and encoder[0] is not decoder[0]
    assert set(encoding.state_dict()) == {"attentions.encoder.table", "attentions.decoder.table"}


def test_starts_from_normal_numbers() -> None:
    torch.manual_seed(0)
    shape = Shape(dim=256, heads=8, encoder_layers=1, decoder_layers=1)
    table = T5Attention(T5Config(buckets=2048, max_distance=4096), shape, "encoder").table.detach()
    assert abs(float(table.std()) * 16 - 1) < 0.03
    assert abs(float(table.mean())) < 0.002


@pytest.mark.parametrize(
    ("parameters", "problem"),
    [
        ({"buckets": 31}, {"code": "out-of-range", "key": "buckets", "expected": "a multiple of 2"}),
        ({"buckets": 2}, {"code": "out-of-range", "key": "buckets"}),
        ({"buckets": 64, "max_distance": 32}, {"code": "invalid-value", "says": "max_distance must exceed"}),
    ],
)
def test_parameters_that_make_no_buckets_are_refused(parameters: dict[str, Any], problem: dict[str, str]) -> None:
    with raises(**problem):
        parse({"type": "t5", **parameters})
