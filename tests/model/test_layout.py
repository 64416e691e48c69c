"""Layouts of tokens in a layer: nothing but rounding depends on them."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn
from torch.testing import assert_close

from tiny_models import SIZE, VOCABULARY, configurations, positions_of, sentences
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


@pytest.mark.parametrize("norm", ["pre", "post"])
@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_a_packed_batch_has_the_loss_and_gradients_of_a_padded_one(name: str, norm: str) -> None:
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
    parameters = [parameter for parameter in model.parameters() if parameter.requires_grad]
    found = []
    for places in (None, places_of(LENGTHS)):
        batch.source_places = places
        torch.manual_seed(0)
        loss, _ = TranslationObjective(model, 0.1)(batch)
        found.append((loss, *torch.autograd.grad(loss, parameters, allow_unused=True)))
    for padded, packed in zip(*found, strict=True):
        assert (padded is None) == (packed is None)
        if padded is not None:
            assert_close(packed, padded, rtol=1e-4, atol=1e-5)
