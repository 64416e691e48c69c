from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.testing import assert_close

from wordorder.dropout import Dropout, drawn, dropout


@pytest.mark.parametrize("probability", [0.1, 0.3, 0.5, 0.9])
def test_rate_scale_and_independence(probability: float) -> None:
    torch.manual_seed(0)
    count = 400_000
    result = dropout(torch.ones(count), probability, True)
    dropped = result == 0
    deviation = (probability * (1 - probability) / count) ** 0.5
    assert float(dropped.float().mean()) == pytest.approx(probability, abs=5 * deviation)
    # Four elements come from one draw; neighbours are independent all the same.
    for step in (1, 2, 3, 4):
        together = float((dropped[step:] & dropped[:-step]).float().mean())
        assert together == pytest.approx(probability**2, abs=5 * (probability**2 / count) ** 0.5)
    kept = result[~dropped]
    assert_close(kept, torch.full_like(kept, 1 / (1 - probability)), rtol=2e-4, atol=0)
    assert float(kept[0]) * (1 - round(probability * 2**16) / 2**16) == pytest.approx(1, rel=1e-6)


def test_a_seed_of_pytorch_decides() -> None:
    x = torch.randn(7, 13)
    torch.manual_seed(3)
    first, second = dropout(x, 0.5, True), dropout(x, 0.5, True)
    state = torch.get_rng_state()
    third = dropout(x, 0.5, True)
    torch.manual_seed(3)
    assert torch.equal(dropout(x, 0.5, True), first)
    assert torch.equal(dropout(x, 0.5, True), second)
    torch.set_rng_state(state)
    assert torch.equal(dropout(x, 0.5, True), third)
    assert not torch.equal(first, second)
    torch.manual_seed(4)
    assert not torch.equal(dropout(x, 0.5, True), first)


def test_it_does_nothing_in_evaluation_and_at_zero() -> None:
    x = torch.randn(5)
    state = torch.get_rng_state()
    assert dropout(x, 0.5, False) is x
    assert dropout(x, 0.0, True) is x
    module = Dropout(0.5)
    assert module.eval()(x) is x
    assert torch.equal(torch.get_rng_state(), state)
    assert not torch.equal(module.train()(x), x)


def test_a_dropout_that_was_drawn_has_one_mask_for_all() -> None:
    x, other = torch.rand(7, 13) + 1, (torch.rand(7, 13) + 1).requires_grad_()
    torch.manual_seed(3)
    alone, state = dropout(x, 0.5, True), torch.get_rng_state()
    torch.manual_seed(3)
    result, drop = drawn(x, 0.5, True)
    assert torch.equal(result, alone)
    assert torch.equal(drop(x), alone)
    assert torch.equal(drop(other), torch.where(alone == 0, 0, 2 * other))
    assert torch.equal(torch.get_rng_state(), state), "the mask was drawn more than once"
    (gradient,) = torch.autograd.grad(drop(other).sum(), other)
    assert torch.equal(gradient, torch.where(alone == 0, 0.0, 2.0))
    for nothing in (drawn(x, 0.5, False), drawn(x, 0.0, True), Dropout(0.5).eval().drawn(x)):
        assert nothing[0] is x and nothing[1](other) is other
    torch.manual_seed(3)
    assert torch.equal(Dropout(0.5).drawn(x)[0], alone)


@settings(deadline=None, max_examples=20)
@given(shape=st.lists(st.integers(0, 5), min_size=0, max_size=3), bf16=st.booleans(), turned=st.booleans())
def test_the_gradient_has_the_mask_of_the_values(shape: list[int], bf16: bool, turned: bool) -> None:
    x = torch.rand(shape, dtype=torch.bfloat16 if bf16 else torch.float32) + 1
    x = (x.mT if turned and x.dim() > 1 else x).requires_grad_()
    result = dropout(x, 0.5, True)
    assert result.shape == x.shape
    assert result.dtype == x.dtype
    (gradient,) = torch.autograd.grad(result, x, torch.full_like(result, 3.0))
    assert torch.equal(gradient == 0, result == 0)
    assert_close(gradient, torch.where(result == 0, 0.0, 6.0).to(x.dtype))
    assert_close(result, x * (result != 0) * 2)


@pytest.mark.parametrize("probability", [1e-9, 1 - 1e-9])
def test_extreme_rates(probability: float) -> None:
    torch.manual_seed(0)
    result = dropout(torch.ones(2000), probability, True)
    assert result.isfinite().all()
    assert float((result == 0).float().mean()) == pytest.approx(probability, abs=0.01)
