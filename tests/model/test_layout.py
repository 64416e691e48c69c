"""Layouts of tokens in a layer: nothing but rounding depends on them."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import pytest
import torch
from torch import Tensor, nn
from torch.testing import assert_close

from tiny_models import SIZE, VOCABULARY, configurations, positions_of, sentences, types
from wordorder.config.models import Recipe
from wordorder.encodings.registry import build
from wordorder.errors import WordorderError
from wordorder.model.architectures.transformer import Transformer
from wordorder.model.batch import BEGIN, Batch
from wordorder.model.layout import SENTENCES, Layout, layout_of
from wordorder.model.objective import TranslationObjective

LENGTHS = [5, 2, 7]
CONFIGURATIONS = configurations()


def places_of(lengths: list[int]) -> Tensor:
    return torch.cat([number * max(lengths) + torch.arange(length) for number, length in enumerate(lengths)])


def layouts() -> dict[str, Layout]:
    tokens = torch.zeros(3, 7)
    return {"sentences": SENTENCES, "flat": layout_of(tokens), "packed": layout_of(tokens, places_of(LENGTHS))}


@pytest.mark.parametrize("name", layouts())
def test_a_layout_and_back_keeps_tokens_and_their_gradients(name: str) -> None:
    layout = layouts()[name]
    real = (torch.arange(7) < torch.tensor(LENGTHS)[:, None])[..., None]
    x = (torch.randn(3, 7, 12, dtype=torch.float64) * real).requires_grad_()
    inside = layout.from_sentences(x)
    assert inside.shape == {"sentences": (3, 7, 12), "flat": (21, 12), "packed": (14, 12)}[name]
    assert torch.equal(layout.to_sentences(inside), x)
    assert torch.equal(layout.to_sentences(inside, 2, 3), x.view(3, 7, 2, 3, 2))
    assert torch.equal(layout.from_sentences(x.view(3, 7, 3, 4)), inside)
    assert torch.autograd.gradcheck(layout.from_sentences, (x,))
    assert torch.autograd.gradcheck(layout.to_sentences, (inside.detach().requires_grad_(),))


def without_dropout(model: nn.Module) -> None:
    for module in model.modules():  # encodings have dropout of their own
        for name in ("dropout", "probability"):
            if isinstance(getattr(module, name, None), float):
                setattr(module, name, 0.0)


@pytest.mark.parametrize(("name", "norm"), [*product(CONFIGURATIONS, ["pre"]), *product(types(), ["post"])])
def test_packed_batches_and_rows_of_sentences_have_the_loss_and_gradients_of_padded_ones(name: str, norm: str) -> None:
    torch.manual_seed(0)
    try:
        encoding = build(CONFIGURATIONS[name], Transformer.shape(SIZE))
        model = Transformer(SIZE, Recipe(max_updates=1, norm=norm, dropout=0.0), encoding, VOCABULARY).train()
    except WordorderError as error:
        pytest.skip(str(error))
    without_dropout(model)
    source, gold = sentences(LENGTHS), sentences(LENGTHS, seed=1)
    inputs = torch.cat((torch.full((len(gold), 1), BEGIN), gold[:, :-1]), dim=1)
    batch = Batch(source, inputs, gold, places_of(LENGTHS), sum(LENGTHS), positions_of(source).reordered)
    batches = [batch, replace(batch, source_places=places_of(LENGTHS))]
    if model.shares_rows:
        batches.append(in_rows(batch))
    assert model.shares_rows or name not in ("none", "sinusoidal", "learned", "opr", "headxl", "rope")
    parameters = [parameter for parameter in model.parameters() if parameter.requires_grad]
    found = []
    for each in batches:
        torch.manual_seed(0)
        loss, _ = TranslationObjective(model, 0.1)(each)
        found.append((loss, *torch.autograd.grad(loss, parameters, allow_unused=True)))
    for padded, *others in zip(*found, strict=True):
        for other in others:
            assert (padded is None) == (other is None)
            if padded is not None:
                assert_close(other, padded, rtol=1e-4, atol=1e-5)


def in_rows(batch: Batch) -> Batch:
    """Put the first two sentences into one row, and the third into another, with padding between and behind them."""
    places = torch.tensor([[0, 0, 0, 0, 0, -1, 1, 1, -1], [2] * 7 + [-1] * 2])
    positions = torch.tensor([[*range(5), 0, 0, 1, 0], [*range(7), 0, 0]])
    real = places >= 0
    numbers = torch.where(real, torch.where(places == 1, 2, 1), 0)

    def moved(tokens: Tensor) -> Tensor:
        return tokens[places, positions].where(real, 0)

    assert batch.source_positions is not None
    rows = torch.stack((numbers, positions))
    return Batch(
        moved(batch.source), moved(batch.target_input), moved(batch.target_output), real.flatten().nonzero().flatten(),
        batch.target_tokens, moved(batch.source_positions), source_rows=rows, target_rows=rows, longest=(7, 7),
    )  # fmt: skip
