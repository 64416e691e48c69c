"""The forget gates against released values, and against sums of gates written out."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch.nn import functional
from torch.testing import assert_close

from golden import golden
from tiny_models import PREFIX_LM, full, positions_of, sentences, step_by_step, tiny_model
from wordorder.encodings.base import Positions, Shape, Stack
from wordorder.encodings.forgetting import ForgettingAttention, ForgettingConfig
from wordorder.encodings.registry import parse
from wordorder.model.attention.base import attend
from wordorder.model.masks import causal_mask

SHAPE = Shape(dim=12, heads=3, encoder_layers=2, decoder_layers=1)
STACKS: tuple[Stack, ...] = ("encoder", "decoder")


def attention_of(stack: Stack) -> ForgettingAttention:
    attention = ForgettingAttention(ForgettingConfig(), SHAPE, stack).double()
    for parameter in attention.parameters():
        torch.nn.init.normal_(parameter)
    return attention


def read(attention: ForgettingAttention, x: Tensor, positions: Positions) -> Positions:
    """Positions with the gates of x, in double precision."""
    gates = functional.logsigmoid(attention.project(x))
    return replace(positions, state=gates if attention.both_sides else functional.pad(gates, (0, attention.heads)))


@pytest.mark.parametrize(("stack", "name"), [("encoder", "both"), ("decoder", "causal")])
def test_biases_are_those_of_released_code(stack: Stack, name: str) -> None:
    values = golden("forgetting", dtype=None)
    attention = ForgettingAttention(ForgettingConfig(), SHAPE, stack)
    attention.load_state_dict({"project.weight": values[f"{name}_w"], "project.bias": values[f"{name}_b"]})
    positions = Positions.range(7)
    positions = replace(positions, state=attention.gates(values["x"], positions))
    bias, expected = attention.bias(positions, positions), values[f"{name}_bias"]
    if stack == "decoder":
        bias, expected = bias.tril(), expected.tril()
    assert_close(bias, expected, rtol=0, atol=1e-5)
    if stack == "decoder":
        heads = [values[of].transpose(1, 2) for of in ("q", "k", "v")]
        context = attend(
            *heads, mask=causal_mask(7, on=heads[0].device), dropout_probability=0.0, training=False,
            encoding=attention, query=positions, key=positions,
        )  # fmt: skip
        assert_close(context.transpose(1, 2), values["attention_out"], rtol=0, atol=1e-5)


@pytest.mark.parametrize("stack", STACKS)
@settings(deadline=None, max_examples=15)
@given(
    sentences=st.integers(1, 2),
    queries=st.integers(1, 4),
    length=st.integers(4, 7),
    shared=st.booleans(),
    seed=st.integers(0, 99),
)
def test_bias_is_the_sum_of_the_gates_between(
    stack: Stack, sentences: int, queries: int, length: int, shared: bool, seed: int
) -> None:
    torch.manual_seed(seed)
    attention = attention_of(stack)
    x = torch.randn(sentences, length, 12, dtype=torch.float64)
    rows = 1 if shared else sentences
    places = 3 * torch.stack([torch.randperm(length) for _ in range(rows)]) + 1  # only the order counts
    key = read(attention, x, Positions(places, 3 * length + 1))
    query = key.part(slice(length - queries, length))
    found = attention.bias(query, key)

    gates = torch.sigmoid(x @ attention.project.weight.T + attention.project.bias).log()
    expected = 0 * gates.sum() + torch.zeros_like(found)
    seen = torch.zeros(found.shape, dtype=torch.bool)
    for b in range(sentences):
        order = places[b % rows].tolist()
        for i in range(queries):
            here = order[length - queries + i]
            for j, there in enumerate(order):
                if stack == "decoder" and there > here:
                    continue  # masked
                low, high, first = (there, here, 0) if there <= here else (here, there, 3)
                between = [t for t, place in enumerate(order) if low < place <= high]
                expected[b, :, i, j] = sum(gates[b, t, first : first + 3] for t in between)
                seen[b, :, i, j] = True
    assert_close(found[seen], expected[seen])

    leaves, toward = list(attention.parameters()), torch.randn_like(found)[seen]
    assert_close(*(torch.autograd.grad((each[seen] * toward).sum(), leaves) for each in (found, expected)))


@pytest.mark.parametrize("stack", STACKS)
def test_gradients_are_those_of_small_differences(stack: Stack) -> None:
    torch.manual_seed(0)
    attention, positions = attention_of(stack), Positions.range(4)
    state = torch.randn(2, 4, 6, dtype=torch.float64, requires_grad=True)

    def bias(state: Tensor) -> Tensor:
        return attention.bias(*[replace(positions, state=state)] * 2)

    assert torch.autograd.gradcheck(bias, (state,))


@torch.no_grad()
def test_biases_of_a_decoder_are_not_positive_and_fall_with_the_distance() -> None:
    attention = attention_of("decoder")
    positions = read(attention, torch.randn(2, 9, 12, dtype=torch.float64), Positions.range(9))
    bias = attention.bias(positions, positions).tril()
    assert float(bias.max()) == 0
    assert bool((bias.diff(dim=-1).tril(-1) >= 0).all())


@pytest.mark.parametrize("placement", ["both", "decoder", "encoder"])
@torch.no_grad()
def test_gates_of_a_prefix_language_model(placement: str) -> None:
    """If the source has no gates, target tokens forget its end as much as its beginning."""
    config = parse({"type": "forgetting", "placement": placement})
    model = tiny_model(config, size=PREFIX_LM)
    source, target = sentences([5, 3]), sentences([4, 4], seed=1)
    expected = full(model, source, target)
    memory = model.encode(source, positions=positions_of(source))
    assert_close(step_by_step(model, target, memory), expected, rtol=1e-4, atol=2e-5)


def test_tokens_without_gates_forget_nothing() -> None:
    attention = attention_of("decoder")
    target = read(attention, torch.randn(1, 2, 12, dtype=torch.float64), Positions.range(2, offset=3))
    assert target.state is not None
    key = Positions.range(3).followed_by(target)
    bias = attention.bias(target, key)
    assert_close(bias[..., :3], bias[..., 2:3].expand(-1, -1, -1, 3))
    assert_close(bias[0, :, 1, 2], target.state[0, :, :3].sum(0))


def test_start_values() -> None:
    torch.manual_seed(0)
    shape = Shape(dim=256, heads=16, encoder_layers=1, decoder_layers=1)
    project = ForgettingAttention(ForgettingConfig(), shape, "encoder").project
    assert float(project.weight.detach().std()) == pytest.approx(0.02, rel=0.05)
    assert not project.bias.any()
    other = ForgettingAttention(ForgettingConfig(start=5), shape, "decoder").project
    assert other.bias.tolist() == [5.0] * 16
