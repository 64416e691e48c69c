"""xPos against released code, and against its formula, one pair of numbers after the other."""

from __future__ import annotations

import math
from typing import Any, cast

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch.testing import assert_close

from golden import golden
from raises import raises
from raw_scores import raw_scores
from tiny_models import sentences, tiny_model
from wordorder.encodings.base import Positions, Shape, Stack
from wordorder.encodings.registry import build, parse
from wordorder.encodings.xpos import XPosAttention

SHAPE = Shape(dim=16, heads=2, encoder_layers=2, decoder_layers=2)  # heads of 8
STACKS: tuple[Stack, ...] = ("encoder", "decoder")


def attention_of(stack: Stack, **parameters: Any) -> XPosAttention:
    return cast(XPosAttention, build(parse({"type": "xpos", **parameters}), SHAPE).attention(stack, 0))


def naive(
    queries: Tensor, keys: Tensor, query: Tensor, key: Tensor, *, interleaved: bool, symmetric: bool, base: float
) -> Tensor:
    """Scores of one head, (L, d_h) twice at (L,) positions."""
    size = queries.size(1)
    scores = []
    for q, i in zip(queries, query.tolist(), strict=True):
        for k, j in zip(keys, key.tolist(), strict=True):
            products = []
            for m in range(size // 2):
                one, other = (2 * m, 2 * m + 1) if interleaved else (m, m + size // 2)
                angle = (j - i) * 10000 ** (-2 * m / size)
                turned = (q[one] * k[one] + q[other] * k[other]) * math.cos(angle)
                turned = turned + (q[other] * k[one] - q[one] * k[other]) * math.sin(angle)
                zeta = (2 * m + 0.4 * size) / (1.4 * size)
                products.append(turned * zeta ** ((abs(i - j) if symmetric else i - j) / base))
            scores.append(torch.stack(products).sum() / size**0.5)
    return torch.stack(scores).view(len(queries), len(keys))


@pytest.mark.parametrize("stack", STACKS)
@pytest.mark.parametrize("layout", ["half", "interleaved"])
@pytest.mark.parametrize("sides", ["symmetric", "released"])
@settings(deadline=None, max_examples=5)
@given(
    queries=st.integers(1, 3),
    offset=st.sampled_from([0, 7, 900]),
    base=st.sampled_from([512.0, 20.0]),
    seed=st.integers(0, 99),
)
def test_scores_are_the_formula(
    stack: Stack, layout: str, sides: str, queries: int, offset: int, base: float, seed: int
) -> None:
    torch.manual_seed(seed)
    length, decoder = 5, stack == "decoder"
    attention = attention_of(stack, layout=layout, sides=sides, scale_base=base)
    key = torch.stack([torch.arange(length) if decoder else torch.randperm(length)] * 2) + offset
    query = key[:, -queries:]
    x = torch.randn(2, 2, 2, length, 8, dtype=torch.float64)
    leaves = [x[0, :, :, -queries:].requires_grad_(), x[1].requires_grad_()]
    found = raw_scores(attention, *leaves, Positions(query, offset + length), Positions(key, offset + length))
    symmetric = sides == "symmetric" and not decoder
    options: dict[str, Any] = {"interleaved": layout == "interleaved", "symmetric": symmetric, "base": base}
    expected = torch.stack(
        [
            torch.stack([naive(leaves[0][b, h], leaves[1][b, h], query[b], key[b], **options) for h in range(2)])
            for b in range(2)
        ]
    )
    if decoder:  # what is later is masked
        later = key[:, None, None, :] > query[:, None, :, None]
        found, expected = found.masked_fill(later, 0), expected.masked_fill(later, 0)
    assert_close(found, expected, rtol=1e-4, atol=1e-4 if offset else 1e-5)
    toward = torch.randn_like(found)
    ours, theirs = (torch.autograd.grad((each * toward).sum(), leaves) for each in (found, expected))
    assert_close(ours, theirs, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("stack", STACKS)
def test_released_code_gives_the_same(stack: Stack) -> None:
    values = golden("xpos")
    attention = attention_of(stack, layout="interleaved", sides="released")
    queries, keys = (values[name].view(3, 2, 9, 8) for name in ("q", "k"))
    positions = Positions.range(9)
    assert_close(raw_scores(attention, queries, keys, positions).flatten(0, 1), values["scores"], rtol=0, atol=1e-5)
    # Its exponents are 0 in the middle of the sentence.
    found = attention.rotate(queries, keys, positions)
    centre = values["zeta"].repeat_interleave(2) ** (5 / 512)
    assert_close(found[0].flatten(0, 1) / centre, values["out_q"], rtol=0, atol=1e-5)
    assert_close(found[1].flatten(0, 1) * centre, values["out_k"], rtol=0, atol=1e-5)


@torch.no_grad()
def test_no_factor_exceeds_1_on_either_side_of_the_encoder() -> None:
    """Of pairs that are turned into each other, only the factor is left."""
    attention, positions = attention_of("encoder", scale_base=10), Positions.range(30)
    x = torch.zeros(1, 2, 30, 8, dtype=torch.float64)
    x[..., 0] = x[..., 4] = 1  # the pair that turns fastest
    scores = raw_scores(attention, x, x, positions)
    plain = raw_scores(build(parse({"type": "rope"}), SHAPE).attention("encoder", 0), x, x, positions)
    factors = (scores / plain)[0, 0]
    assert bool((factors <= 1 + 1e-6).all())
    assert_close(factors, factors.T, rtol=1e-4, atol=1e-6)
    assert bool((factors[0].diff() < 0).all())
    released = raw_scores(attention_of("encoder", scale_base=10, sides="released"), x, x, positions)
    assert float((released / plain)[0, 0, 0, 20]) > 5


def test_only_the_symmetric_encoder_changes_scores() -> None:
    assert attention_of("encoder").needs == {"rotate", "scores"}
    assert attention_of("decoder").needs == attention_of("encoder", sides="released").needs == {"rotate"}


@torch.no_grad()
def test_other_relative_encodings_are_added() -> None:
    torch.manual_seed(0)
    shaw = {"type": "relative", "clip": 2, "values": False}
    both = build(parse({"compose": [shaw, {"type": "xpos"}]}), SHAPE).attention("encoder", 0)
    own, nothing = both.parts[0], build(parse({"type": "none"}), SHAPE).attention("encoder", 0)  # type: ignore[index]
    x, positions = torch.randn(2, 1, 2, 6, 8), Positions.range(6)
    xpos, relative, plain = (raw_scores(each, *x, positions) for each in (attention_of("encoder"), own, nothing))
    assert_close(raw_scores(both, *x, positions), xpos + relative - plain)


@pytest.mark.parametrize(("stack", "most"), [("encoder", 18_000), ("decoder", 35_600)])
@torch.no_grad()
def test_texts_of_the_promised_length_work(stack: Stack, most: int) -> None:
    """Up to the position at which numbers leave the range of single precision, and not much further."""
    torch.manual_seed(0)
    shape = Shape(dim=64, heads=1, encoder_layers=1, decoder_layers=1)
    attention = build(parse({"type": "xpos"}), shape).attention(stack, 0)
    x = torch.randn(2, 1, 1, 101, 64)
    near, far, too_far = (
        raw_scores(attention, *x, Positions.range(101, offset=offset)) for offset in (0, most - 101, most + 2_000)
    )
    assert_close(far, near, rtol=1e-4, atol=1e-4)
    assert float((too_far - near).abs().max()) > 1e-4 or bool(too_far.isnan().any())


@torch.no_grad()
def test_later_keys_lose_digits_with_the_distance() -> None:
    torch.manual_seed(0)
    x = torch.randn(2, 20, 2, 2, 8)
    errors = []
    for apart in (2_000, 8_000):
        single, double = (
            raw_scores(attention_of("encoder"), *x.to(kind), Positions(torch.tensor([[0, apart]]), apart + 1))[
                ..., 0, 1
            ]
            for kind in (torch.float32, torch.float64)
        )
        errors.append(float((single - double).square().mean().sqrt() / double.square().mean().sqrt()))
    assert errors[0] < 1e-4 < 1e-2 < errors[1]


def test_nothing_is_trained_or_saved() -> None:
    model = tiny_model(parse({"type": "xpos"}))
    assert not list(model.encoding.parameters()) and not model.encoding.state_dict()
    with torch.no_grad():
        assert model(sentences([5, 3]), sentences([4, 4])).isfinite().all()


def test_heads_must_be_even() -> None:
    with raises("unfit-size", key="heads", found=3, says="xpos"):
        build(parse({"type": "xpos"}), Shape(dim=12, heads=4, encoder_layers=1, decoder_layers=1))
