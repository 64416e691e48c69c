"""DAPE against released values, and its blocks against the network applied to all pairs at once."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn
from torch.nn import functional
from torch.testing import assert_close

from golden import golden
from raises import raises
from wordorder.encodings import dape
from wordorder.encodings.base import Positions, Shape, Stack
from wordorder.encodings.dape import DAPEAttention, DAPEConfig
from wordorder.encodings.registry import build, parse

SHAPE = Shape(dim=12, heads=3, encoder_layers=2, decoder_layers=2)
STACKS: tuple[Stack, ...] = ("encoder", "decoder")
OVER: list[dict[str, Any]] = [
    {"type": "kerple"},
    {"type": "alibi"},
    {"type": "fire", "hidden": 4, "threshold": 3.0},
    {"type": "t5"},
]


def attention_of(stack: Stack, over: dict[str, Any]) -> DAPEAttention:
    config = parse({"type": "dape", "over": over, "hidden": 5})
    attention = build(config, SHAPE).attention(stack, 0).double()
    assert isinstance(attention, DAPEAttention)
    return attention


def naive(attention: DAPEAttention, scores: Tensor, query: Positions, key: Positions) -> Tensor:
    """Compute the formula with a tensor of the hidden units of all pairs."""
    bias = attention.over.bias(query, key)
    assert bias is not None
    both = torch.cat((scores, bias.expand(scores.shape)), dim=1).permute(0, 2, 3, 1)
    changed = attention.outer(functional.leaky_relu(attention.inner(both), 0.01)).permute(0, 3, 1, 2)
    return scores + bias + changed


def adapted(attention: DAPEAttention, scores: Tensor, query: Positions, key: Positions) -> Tensor:
    nothing = scores.new_zeros(0)  # it reads neither queries nor keys
    return attention.scores(scores, nothing, nothing, query, key)


def test_scores_over_alibi_are_those_of_the_released_code() -> None:
    values = golden("fire_dape")
    shape = Shape(dim=16, heads=4, encoder_layers=0, decoder_layers=1)
    config = parse({"type": "dape", "over": {"type": "alibi"}, "hidden": 8, "placement": "decoder"})
    attention = build(config, shape).attention("decoder", 0).double()
    assert isinstance(attention, DAPEAttention)
    names = {"inner.weight": "w1", "inner.bias": "b1", "outer.weight": "w2", "outer.bias": "b2"}
    attention.load_state_dict({own: values[f"dape_alibi_{theirs}"] for own, theirs in names.items()})
    positions = Positions.range(9)
    found = adapted(attention, values["scores"], positions, positions)
    assert_close(found.tril(), values["dape_alibi_out"].tril(), rtol=0, atol=1e-5)


@pytest.mark.parametrize("stack", STACKS)
@pytest.mark.parametrize("over", OVER, ids=lambda over: over["type"])
@settings(deadline=None, max_examples=10)
@given(
    sentences=st.integers(1, 3),
    queries=st.integers(1, 4),
    length=st.integers(4, 7),
    own_positions=st.booleans(),
    moved=st.booleans(),
    room=st.sampled_from([1, 30, 100, 10**6]),
    seed=st.integers(0, 99),
)
def test_blocks_are_the_formula(
    stack: Stack,
    over: dict[str, Any],
    sentences: int,
    queries: int,
    length: int,
    own_positions: bool,
    moved: bool,
    room: int,
    seed: int,
) -> None:
    torch.manual_seed(seed)
    attention = attention_of(stack, over)
    order = [
        torch.randperm(length) if moved else torch.arange(length) for _ in range(sentences if own_positions else 1)
    ]
    places = torch.stack(order)
    query, key = Positions(places[:, -queries:], length), Positions(places, length)
    scores = torch.randn(sentences, 3, queries, length, dtype=torch.float64, requires_grad=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(dape, "_CACHED", room)
        found = adapted(attention, scores, query, key)
        expected = naive(attention, scores, query, key)
        visible = torch.ones(1, 1, queries, length, dtype=torch.bool)
        if stack == "decoder":  # other pairs are masked
            visible = (key.absolute[:, None] <= query.absolute[:, :, None])[:, None]
        assert_close(found.where(visible, 0), expected.where(visible, 0))
        toward = torch.randn_like(found).where(visible, 0)
        leaves = [scores, *attention.parameters()]
        ours, theirs = (torch.autograd.grad((each * toward).sum(), leaves) for each in (found, expected))
    assert_close(ours, theirs)


@pytest.mark.parametrize("stack", STACKS)
def test_gradients_are_those_of_small_differences(stack: Stack) -> None:
    torch.manual_seed(0)
    attention, positions = attention_of(stack, {"type": "alibi"}), Positions.range(3)
    scores = torch.randn(2, 3, 3, 3, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda own: adapted(attention, own, positions, positions).tril(), (scores,))


def test_keys_behind_all_queries_of_a_block_are_left_out_of_a_decoder() -> None:
    attention, positions = attention_of("decoder", {"type": "alibi"}), Positions.range(4)
    assert attention._keys_seen(positions, positions) == [1, 2, 3, 4]
    assert attention._keys_seen(Positions.range(1, offset=3), positions) == [4]
    moved = Positions(torch.tensor([[2, 0, 1, 3], [0, 1, 2, 3]]), 4)
    assert attention._keys_seen(moved, moved) == [3, 3, 3, 4]
    assert attention_of("encoder", {"type": "alibi"})._keys_seen(positions, positions) == [4] * 4


def test_layers_have_networks_and_biases_of_their_own() -> None:
    encoding = build(parse({"type": "dape"}), SHAPE)
    first, second = (encoding.attention("encoder", layer) for layer in (0, 1))
    assert isinstance(first, DAPEAttention) and isinstance(second, DAPEAttention)
    assert first.inner is not second.inner and first.over is not second.over


def test_start_values_are_those_of_linear_layers() -> None:
    torch.manual_seed(0)
    attention = build(DAPEConfig(), Shape(512, 64, 1, 1)).attention("encoder", 0)
    assert isinstance(attention, DAPEAttention)
    for linear in (attention.inner, attention.outer):
        bound = linear.in_features**-0.5
        assert isinstance(linear, nn.Linear)
        for numbers in (linear.weight, linear.bias):
            assert 0.8 * bound < float(numbers.detach().abs().max()) <= bound


@pytest.mark.parametrize("over", ["sinusoidal", "relative", "rope", "forgetting"])
def test_an_encoding_without_biases_of_distances_is_refused(over: str) -> None:
    with raises("conflicting-encodings", key="over", found=over):
        build(parse({"type": "dape", "over": {"type": over}}), SHAPE)


@pytest.mark.parametrize(
    "over",
    [
        {"compose": [{"type": "alibi"}, {"type": "t5"}]},
        {"type": "alibi", "placement": "encoder"},
    ],
)
def test_compositions_and_placements_of_their_own_are_refused(over: dict[str, Any]) -> None:
    with raises("invalid-value", says="'over'"):
        parse({"type": "dape", "over": over})


@pytest.mark.parametrize(
    ("over", "says"),
    [
        ({"type": "randomized", "base": "alibi"}, "random positions"),
        ({"type": "alibi", "sides": "masked"}, "hides keys"),
        ({"type": "directional", "placement": "both"}, "hides keys"),
        ({"type": "adaptive_t5", "input_bias": True}, "parameters outside attention"),
    ],
)
def test_an_encoding_that_does_more_than_add_biases_is_refused(over: dict[str, Any], says: str) -> None:
    shape = Shape(dim=16, heads=4, encoder_layers=2, decoder_layers=2)
    with raises("conflicting-encodings", key="over", found=over["type"], says=says):
        build(parse({"type": "dape", "over": over}), shape)


def test_settings_that_hide_nothing_are_adapted() -> None:
    shape = Shape(dim=16, heads=4, encoder_layers=2, decoder_layers=2)
    build(parse({"type": "dape", "over": {"type": "alibi", "sides": "masked"}, "placement": "decoder"}), shape)
    build(parse({"type": "dape", "over": {"type": "adaptive_t5"}}), shape)
