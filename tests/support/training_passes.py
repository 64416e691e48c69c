"""Training passes of tiny models of every architecture with every encoding."""

from __future__ import annotations

from itertools import product

import pytest
import torch
from torch import Tensor

from tiny_models import PREFIX_LM, SIZE, VOCABULARY, configurations, positions_of, sentences, types
from wordorder.config.encodings import EncodingConfig
from wordorder.config.models import Recipe
from wordorder.config.sizes import ArchitectureSize
from wordorder.encodings.registry import build
from wordorder.errors import WordorderError
from wordorder.model.architectures.base import Translator, architecture_of
from wordorder.model.architectures.lstm import LSTMSize
from wordorder.model.batch import BEGIN, Batch
from wordorder.model.objective import TranslationObjective
from wordorder.training.batches import real_places

LENGTHS = [5, 2, 7]
SIZES: dict[str, ArchitectureSize] = {
    "transformer": SIZE,
    "prefix_lm": PREFIX_LM,
    "lstm": LSTMSize(architecture="lstm", layers=1, dim=16, dropout=0.1),
    "lstm_feeding": LSTMSize(
        architecture="lstm", layers=1, dim=16, dropout=0.1, bidirectional=False, input_feeding=True
    ),
}
CONFIGURATIONS = configurations()
# Variants of an encoding are the same code in all architectures, so they are tested in one of them.
PASSES = [("transformer", name) for name in CONFIGURATIONS] + list(product(list(SIZES)[1:], types()))


def model_of(config: EncodingConfig, size: ArchitectureSize, *, dropout: float) -> Translator:
    """Build a new model in training mode; skip the test if no such model exists."""
    torch.manual_seed(0)
    kind = architecture_of(size)
    rates = dict.fromkeys(("dropout", "attention_dropout", "activation_dropout"), dropout)
    recipe = Recipe(max_updates=1, **rates)
    try:
        return kind(size, recipe, build(config, kind.shape(size)), VOCABULARY).train()
    except WordorderError as error:
        pytest.skip(str(error))


def batch_of(lengths: list[int]) -> Batch:
    source, gold = sentences(lengths), sentences(lengths, seed=1)
    inputs = torch.cat((torch.full((len(gold), 1), BEGIN), gold[:, :-1]), dim=1)
    return Batch(
        source, inputs, gold, real_places(lengths), sum(lengths), positions_of(source).reordered, torch.tensor(lengths)
    )


def without_dropout(model: Translator) -> Translator:
    """Return the model after the dropout that encodings have of their own was removed, too."""
    for module in model.modules():
        for name in ("dropout", "probability"):
            if isinstance(getattr(module, name, None), float):
                setattr(module, name, 0.0)
    return model


def results(model: Translator, batch: Batch) -> list[Tensor]:
    """Return the loss and its gradients."""
    loss, _ = TranslationObjective(model, 0.1)(batch)
    parameters = [parameter for parameter in model.parameters() if parameter.requires_grad]
    gradients = torch.autograd.grad(loss, parameters, allow_unused=True)
    return [loss, *(each for each in gradients if each is not None)]
