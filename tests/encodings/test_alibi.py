"""Tests of ALiBi's published slopes, and of its bias against loops over pairs of tokens."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch.testing import assert_close

from golden import golden
from raises import raises
from tiny_models import seen, tiny_model
from wordorder.encodings.alibi import ALiBiAttention, ALiBiConfig, slopes
from wordorder.encodings.base import Positions, Shape, Stack
from wordorder.encodings.registry import build, parse
from wordorder.model.attention.base import attend
from wordorder.model.batch import END


def attention_of(heads: int, stack: Stack = "encoder", **parameters: Any) -> ALiBiAttention:
    return ALiBiAttention(ALiBiConfig(**parameters), heads, stack)


@pytest.mark.parametrize(
    ("heads", "expected"),
    [
        (1, [1 / 256]),
        (2, [1 / 16, 1 / 256]),
        (4, [1 / 4, 1 / 16, 1 / 64, 1 / 256]),
        (8, [1 / 2, 1 / 4, 1 / 8, 1 / 16, 1 / 32, 1 / 64, 1 / 128, 1 / 256]),
        (16, [2 ** (-half / 2) for half in range(1, 17)]),
        (3, [1 / 16, 1 / 256, 1 / 4]),
        (6, [1 / 4, 1 / 16, 1 / 64, 1 / 256, 1 / 2, 1 / 8]),
        (12, [1 / 2, 1 / 4, 1 / 8, 1 / 16, 1 / 32, 1 / 64, 1 / 128, 1 / 256, 2**-0.5, 2**-1.5, 2**-2.5, 2**-3.5]),
    ],
)
def test_slopes_are_the_published(heads: int, expected: list[float]) -> None:
    assert slopes(heads) == pytest.approx(expected, rel=1e-12)
    assert_close(attention_of(heads).rises, -torch.tensor([expected]))


@settings(deadline=None, max_examples=20)
@given(
    sentences=st.integers(1, 3),
    queries=st.integers(1, 4),
    length=st.integers(4, 9),
    heads=st.integers(1, 12),
    offset=st.integers(0, 5000),
)
def test_bias_is_the_formula(sentences: int, queries: int, length: int, heads: int, offset: int) -> None:
    key = torch.stack([torch.randperm(length) for _ in range(sentences)]) + offset
    query = key[:, :queries]
    found = attention_of(heads).bias(Positions(query, offset + length), Positions(key, offset + length))
    assert found.shape == (sentences, heads, queries, length)
    for sentence in range(sentences):
        for head, slope in enumerate(slopes(heads)):
            for i in range(queries):
                for j in range(length):
                    expected = -slope * abs(int(query[sentence, i]) - int(key[sentence, j]))
                    assert float(found[sentence, head, i, j]) == pytest.approx(expected, rel=1e-6)


def test_bias_is_added_to_the_divided_scores() -> None:
    queries, keys, values = torch.randn(3, 2, 2, 5, 4)
    positions = Positions.range(5, offset=3)
    found = attend(
        queries, keys, values,
        mask=None, dropout_probability=0.0, training=False, encoding=attention_of(2), query=positions, key=positions,
    )  # fmt: skip
    scores = queries @ keys.transpose(-1, -2) / 2
    for head, slope in enumerate((1 / 16, 1 / 256)):
        for i in range(5):
            for j in range(5):
                scores[:, head, i, j] -= slope * abs(i - j)
    assert_close(found, scores.softmax(-1) @ values)


def naive(attention: ALiBiAttention, sides: str, heads: int, stack: Stack, length: int) -> Tensor:
    """The table of the file's docstring, one pair of tokens after the other: (H, L, L)"""
    found = torch.zeros(heads, length, length, dtype=torch.float64)
    for h in range(heads):
        m = slopes(heads)[h]
        for i in range(length):
            for j in range(length):
                value = -m * abs(i - j)
                if sides == "learned":
                    value = attention.rises[0 if j < i else -1, h].item() * abs(i - j)
                if sides == "offset" and j < i:
                    value = -m * (i - j - 0.5)
                if sides == "masked" and stack == "encoder":
                    half = heads // 2
                    unseen = j > i if h < half else j < i
                    value = -math.inf if unseen else -slopes(half)[h % half] * abs(i - j)
                found[h, i, j] = value
    return found


@pytest.mark.parametrize("stack", ["encoder", "decoder"])
@pytest.mark.parametrize("sides", ["symmetric", "masked", "learned", "offset"])
def test_sides_are_the_table(sides: str, stack: Stack) -> None:
    torch.manual_seed(0)
    attention, positions = attention_of(6, stack, sides=sides).double(), Positions.range(7)
    queries, keys = torch.randn(2, 1, 6, 7, 4, dtype=torch.float64)
    expected = naive(attention, sides, 6, stack, 7)
    if stack == "decoder":
        expected = expected.tril()  # later keys are masked
    scores = (queries @ keys.mT / 2 + expected).softmax(-1)
    found = attention.bias(positions, positions)[0].clone()
    scored = attention.score_function(queries, positions, positions)
    every = [torch.tensor(each) for each in range(7)]
    pairs = torch.stack([
        torch.stack([torch.stack([scored(torch.tensor(0.0), every[0], h, i, j) for j in every]) for i in every])
        for h in every[:6]
    ])  # fmt: skip
    assert_close(pairs.double(), found.double())
    if stack == "decoder":
        found = found.tril()
    assert_close((queries @ keys.mT / 2 + found).softmax(-1), scores, check_dtype=False)


def test_heads_that_see_one_side_are_those_of_the_formula() -> None:
    arrays = golden("alibi")
    found = attention_of(8, sides="masked").bias(Positions.range(9), Positions.range(9))[0].double()
    expected = arrays["formula_masked_8"]
    unseen = expected < -1e8
    assert torch.equal(found < -1e8, unseen)
    assert_close(found[~unseen], expected[~unseen])


@pytest.mark.parametrize("heads", [6, 8])
def test_released_implementations_give_the_same(heads: int) -> None:
    found = attention_of(heads).bias(Positions.range(9), Positions.range(9))[0].double()
    assert_close(found, golden("alibi")[f"bias_{heads}"])


def test_ruoss_et_al_start_half_a_token_nearer_on_the_left() -> None:
    expected = golden("randomized")["alibi"]
    found = attention_of(4, sides="offset").bias(Positions.range(7), Positions.range(7))[0].double()
    assert_close(found, expected)


def test_learned_slopes_start_as_the_authors_and_are_counted() -> None:
    torch.manual_seed(0)
    rises = attention_of(5000, sides="learned").rises.detach()
    assert abs(float(rises.mean()) + 2) < 0.05 and abs(float(rises.std()) - 1) < 0.05
    shape = Shape(dim=512, heads=8, encoder_layers=6, decoder_layers=6)
    encoding = build(parse({"type": "alibi", "sides": "learned"}), shape)
    assert [p.shape for p in encoding.parameters()] == [(2, 8), (1, 8)]
    assert encoding.config.parameter_count(shape) == 24
    positions = Positions.range(5)
    attention = attention_of(2, sides="learned").double()
    leaf = attention.rises.detach().requires_grad_()

    def bias(rises: Tensor) -> Tensor:
        return torch.func.functional_call(_Bias(attention), {"attention.rises": rises}, (positions,))  # type: ignore[no-any-return]

    assert torch.autograd.gradcheck(bias, (leaf,))


class _Bias(torch.nn.Module):
    def __init__(self, attention: ALiBiAttention) -> None:
        super().__init__()
        self.attention = attention

    def forward(self, positions: Positions) -> Tensor:
        return self.attention.bias(positions, positions)


def test_masked_sides_need_an_even_number_of_heads() -> None:
    shape = Shape(dim=6, heads=3, encoder_layers=1, decoder_layers=1)
    with raises("unfit-size", key="heads", found=3):
        build(parse({"type": "alibi", "sides": "masked"}), shape)
    build(parse({"type": "alibi", "sides": "masked", "placement": "decoder"}), shape)


@torch.no_grad()
@pytest.mark.parametrize("sides", ["masked", "learned", "offset"])
def test_other_sides_know_a_mirror_image(sides: str) -> None:
    model = tiny_model(parse({"type": "alibi", "sides": sides}))
    words = torch.tensor([[5, 9, 7, 12, 6]])
    mirrored = seen(model.encode(words.flip(1))).flip(-2)
    assert float((mirrored - seen(model.encode(words))).abs().max()) > 1e-3


@torch.no_grad()
def test_a_mirror_image_is_known_by_its_end_alone() -> None:
    model = tiny_model(parse({"type": "alibi"}))
    words = torch.tensor([[5, 9, 7, 12, 6]])
    assert_close(seen(model.encode(words.flip(1))), seen(model.encode(words)).flip(-2), rtol=1e-4, atol=2e-5)

    end = torch.tensor([[END]])
    there = seen(model.encode(torch.cat((words, end), dim=1)))
    back = seen(model.encode(torch.cat((words.flip(1), end), dim=1)))
    assert float((back[..., :5, :].flip(-2) - there[..., :5, :]).abs().max()) > 1e-2


@pytest.mark.parametrize("placement", ["both", "encoder", "decoder"])
def test_nothing_is_trained_or_saved(placement: str) -> None:
    shape = Shape(dim=512, heads=8, encoder_layers=6, decoder_layers=6)
    config = parse({"type": "alibi", "placement": placement})
    with torch.device("meta"):
        encoding = build(config, shape)
    assert config.parameter_count(shape) == 0
    assert not list(encoding.parameters()) and not encoding.state_dict()
