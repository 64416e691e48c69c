from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from wordorder.config.decoding import Decoding
from wordorder.config.models import Cell, Recipe
from wordorder.decoding import translate as translation
from wordorder.decoding.translate import translate
from wordorder.model import packed as module
from wordorder.model.architectures.lstm import LSTMSize
from wordorder.model.architectures.prefix_lm import PrefixLMSize
from wordorder.model.architectures.transformer import TransformerSize
from wordorder.model.checkpoint import build_model
from wordorder.model.packed import PackedLinear, packed
from wordorder.training.device import prepare

VOCABULARY = 200
SHAPE = {"dim": 128, "dropout": 0.1}
STACK = {"ffn_dim": 96, "heads": 4}
SIZES = {
    "transformer": TransformerSize(encoder_layers=2, decoder_layers=2, **SHAPE, **STACK),
    "prefix_lm": PrefixLMSize(architecture="prefix_lm", layers=2, **SHAPE, **STACK),
    "lstm": LSTMSize(architecture="lstm", layers=2, **SHAPE),
}


def model_of(size: Any, encoding: str) -> Any:
    torch.manual_seed(1)
    cell = Cell(encoding={"type": encoding}, size=size, recipe=Recipe(norm="pre", max_updates=1), seed=0)
    return build_model(cell, VOCABULARY).eval()


@pytest.fixture(autouse=True)
def prepared() -> None:
    prepare()
    if not module._same_bits(torch.float32, torch.get_float32_matmul_precision()):
        pytest.skip("PyTorch does not multiply with oneDNN on this processor")


@pytest.mark.parametrize("precision", ["fp32", "bf16"])
@pytest.mark.parametrize(
    ("size", "encoding"),
    [("transformer", "sinusoidal"), ("transformer", "headxl"), ("prefix_lm", "rope"), ("lstm", "learned")],
)
def test_packed_weights_change_no_bit_of_translations(
    size: str, encoding: str, precision: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = model_of(SIZES[size], encoding)
    generator = np.random.default_rng(1)
    sources = [generator.integers(4, VOCABULARY, length) for length in (1, 3, 3, 7, 12)]
    positions = [np.arange(len(source))[::-1] for source in sources] if encoding == "headxl" else None
    config = Decoding.model_validate({"beam": 3, "nbest": 3, "max_length_b": 5, "precision": precision})
    found = translate(model, sources, config, positions=positions)
    monkeypatch.setattr(translation, "packed", lambda model: model)
    assert found == translate(model, sources, config, positions=positions)


def test_large_layers_are_packed_and_share_their_parameters() -> None:
    model = model_of(SIZES["transformer"], "sinusoidal")
    fast = packed(model)
    names = {name for name, layer in fast.named_modules() if isinstance(layer, PackedLinear)}
    assert names == {name for name, layer in model.named_modules() if type(layer) is torch.nn.Linear}
    for name, parameter in fast.named_parameters():
        assert parameter is model.get_parameter(name)


def test_small_layers_stay_because_pytorch_multiplies_them_otherwise() -> None:
    model = model_of(
        TransformerSize(encoder_layers=1, decoder_layers=1, dim=16, ffn_dim=32, heads=2, dropout=0), "none"
    )
    names = [name for name, layer in packed(model).named_modules() if isinstance(layer, PackedLinear)]
    assert names == []


def test_a_model_stays_as_it_is_where_other_products_have_other_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_same_bits", lambda *_: False)
    model = model_of(SIZES["transformer"], "sinusoidal")
    assert packed(model) is model


def test_a_model_of_two_precisions_stays_as_it_is_where_one_has_other_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_same_bits", lambda dtype, _: dtype == torch.float32)
    model = model_of(SIZES["transformer"], "sinusoidal")
    assert packed(model) is not model
    model.decoder.bfloat16()
    assert packed(model) is model
