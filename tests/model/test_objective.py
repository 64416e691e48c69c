from __future__ import annotations

from dataclasses import replace
from typing import Any

import hypothesis
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch.nn.functional import cross_entropy
from torch.testing import assert_close

from raises import raises
from tiny_models import VOCABULARY, full, positions_of, sentences, tiny_model
from wordorder.encodings.registry import parse
from wordorder.model import objective as module
from wordorder.model.batch import PAD, Batch
from wordorder.model.objective import _ROWS, TranslationObjective, _LinearCrossEntropy, _rows_at_once
from wordorder.training.batches import real_places

ROWS = [1, 7, _ROWS - 1, _ROWS, _ROWS + 1, 2 * _ROWS + 3]


def example(rows: int, vocabulary: int, dim: int, seed: int) -> tuple[Tensor, Tensor, Tensor]:
    generator = torch.Generator().manual_seed(seed)
    hidden = torch.randn(rows, dim, generator=generator, requires_grad=True)
    weight = torch.randn(vocabulary, dim, generator=generator, requires_grad=True)
    return hidden, weight, torch.randint(vocabulary, (rows,), generator=generator)


@settings(deadline=None, max_examples=25)
@given(
    rows=st.sampled_from(ROWS),
    vocabulary=st.sampled_from([1, 2, 5, 33]),
    dim=st.integers(1, 9),
    smoothing=st.sampled_from([0.0, 0.1, 0.9]),
    seed=st.integers(0, 99),
    factor=st.sampled_from([1.0, -0.25]),
)
@hypothesis.example(rows=1027, vocabulary=1, dim=2, smoothing=0.9, seed=0, factor=1.0)  # a difference of two large sums
def test_value_and_gradients_are_pytorch_s(
    rows: int, vocabulary: int, dim: int, smoothing: float, seed: int, factor: float
) -> None:
    hidden, weight, labels = example(rows, vocabulary, dim, seed)
    loss, nll = _LinearCrossEntropy.apply(hidden, weight, labels, smoothing)
    logits = hidden @ weight.T
    expected = cross_entropy(logits, labels, label_smoothing=smoothing, reduction="sum")
    assert_close(loss, expected, rtol=1e-5, atol=1e-5)
    assert_close(nll, cross_entropy(logits.detach(), labels, reduction="sum"), rtol=1e-5, atol=1e-5)
    assert not nll.requires_grad
    gradients = torch.autograd.grad(loss * factor, (hidden, weight))
    assert_close(gradients, torch.autograd.grad(expected * factor, (hidden, weight)), rtol=1e-4, atol=1e-4)


def test_all_rows_at_once_give_the_same_to_rounding(monkeypatch: pytest.MonkeyPatch) -> None:
    """Compute all rows at once, as on a GPU with enough memory."""
    hidden, weight, labels = example(2 * _ROWS + 3, 33, 8, seed=0)
    found = []
    for count in (_ROWS, 10 * _ROWS):
        monkeypatch.setattr("wordorder.model.objective._rows_at_once", lambda *_, count=count: count)
        loss, nll = _LinearCrossEntropy.apply(hidden, weight, labels, 0.1)
        found.append((loss, nll, *torch.autograd.grad(loss, (hidden, weight))))
    assert_close(*found, rtol=1e-5, atol=1e-5)


def test_a_gpu_computes_all_rows_of_a_usual_batch_at_once() -> None:
    assert _rows_at_once(torch.device("cpu"), 37_000) == _ROWS
    assert _rows_at_once(torch.device("meta"), 37_000) > 4096
    assert _rows_at_once(torch.device("meta"), 10**9) == _ROWS  # as many as there is room for, and not none


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_under_bfloat16(smoothing: float) -> None:
    hidden, weight, labels = example(_ROWS + 5, 33, 8, seed=0)
    expected = cross_entropy(hidden @ weight.T, labels, label_smoothing=smoothing, reduction="sum")
    with torch.autocast("cpu", torch.bfloat16):
        loss, nll = _LinearCrossEntropy.apply(hidden, weight, labels, smoothing)
    assert loss.dtype == nll.dtype == torch.float32
    assert_close(loss, expected, rtol=5e-3, atol=0)
    for own, theirs in zip(
        torch.autograd.grad(loss, (hidden, weight)), torch.autograd.grad(expected, (hidden, weight)), strict=True
    ):
        assert own.dtype == torch.float32
        assert float((own - theirs).norm()) < 0.01 * float(theirs.norm())
        assert not torch.equal(own, theirs)  # the low precision was really used


def test_without_gradients_none_is_computed() -> None:
    hidden, weight, labels = example(9, 33, 8, seed=0)
    with torch.no_grad():
        loss, _ = _LinearCrossEntropy.apply(hidden, weight, labels, 0.1)
    assert not loss.requires_grad
    assert_close(loss, cross_entropy(hidden @ weight.T, labels, label_smoothing=0.1, reduction="sum").detach())
    frozen, _ = _LinearCrossEntropy.apply(hidden, weight.detach(), labels, 0.1)
    frozen.backward()
    assert hidden.grad is not None


def batch_of(lengths: list[int]) -> Batch:
    source, target = sentences(lengths), sentences(lengths, seed=1)
    return Batch(source, target, sentences(lengths, seed=2), real_places(lengths), sum(lengths))


def test_a_validation_computes_the_loss_without_its_gradients(monkeypatch: pytest.MonkeyPatch) -> None:
    original, replaced = module._normalise, []

    def normalise(*tensors: Any, replace: bool) -> tuple[Tensor, Tensor]:
        replaced.append(replace)
        return original(*tensors, replace=replace)

    monkeypatch.setattr(module, "_normalise", normalise)
    objective = TranslationObjective(tiny_model(parse({"type": "sinusoidal"})), 0.1)
    expected = objective(batch_of([5, 2, 4]))
    with torch.no_grad():
        found = objective(batch_of([5, 2, 4]))
    assert replaced == [True, False]
    assert all(torch.equal(*each) for each in zip(found, expected, strict=True))


def test_a_batch_is_the_sum_of_its_sentences() -> None:
    model = tiny_model(parse({"type": "sinusoidal"}))
    objective = TranslationObjective(model, 0.1)
    batch = batch_of([5, 2, 4])
    loss, nll = objective(batch)
    total, total_nll = torch.zeros(()), torch.zeros(())
    for row, length in enumerate([5, 2, 4]):
        one = slice(row, row + 1)
        source, target, gold = (
            tokens[one, :length] for tokens in (batch.source, batch.target_input, batch.target_output)
        )
        own, own_nll = objective(Batch(source, target, gold, None, length))
        logits = model.logits(model(source, target)).flatten(0, 1)
        assert_close(own, cross_entropy(logits, gold.flatten(), label_smoothing=0.1, reduction="sum"))
        assert_close(own_nll, cross_entropy(logits, gold.flatten(), reduction="sum").detach())
        total, total_nll = total + own, total_nll + own_nll
    assert_close(loss, total)
    assert_close(nll, total_nll)
    parameters = list(model.parameters())
    assert_close(torch.autograd.grad(loss, parameters), torch.autograd.grad(total, parameters))


def test_the_loss_of_uniform_probabilities_is_the_logarithm_of_the_vocabulary_size() -> None:
    model = tiny_model(parse({"type": "none"}))
    with torch.no_grad():
        model.output.weight.zero_()
    _, nll = TranslationObjective(model, 0.1)(batch_of([6, 6]))
    assert float(nll) == pytest.approx(12 * torch.tensor(VOCABULARY).log().item(), rel=1e-6)


def test_the_model_gets_the_reordered_positions_of_the_batch() -> None:
    model = tiny_model(parse({"type": "inxl"}))
    batch = batch_of([5, 2, 4])
    reordered = positions_of(batch.source).reordered
    _, nll = TranslationObjective(model, 0.0)(replace(batch, source_positions=reordered))
    logits = model.logits(full(model, batch.source, batch.target_input))
    real = batch.target_output != PAD
    assert_close(nll, cross_entropy(logits[real], batch.target_output[real], reduction="sum").detach())
    in_order = torch.arange(5).expand(3, 5)
    _, other = TranslationObjective(model, 0.0)(replace(batch, source_positions=in_order))
    assert abs(float(other - nll)) > 1e-3
    with raises("missing-positions", key="inxl"):
        TranslationObjective(model, 0.0)(batch)
