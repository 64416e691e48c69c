"""Tests of whole layers against PyTorch's, which have the same parts under other names."""

from __future__ import annotations

from typing import Any, Literal

import pytest
import torch
from torch import nn
from torch.testing import assert_close

from wordorder.config.models import Recipe
from wordorder.dropout import Dropout
from wordorder.encodings.base import AttentionEncoding, Positions
from wordorder.model.architectures.transformer import TransformerSize
from wordorder.model.batch import PAD
from wordorder.model.layers import DecoderLayer, EncoderLayer, FeedForward
from wordorder.model.masks import causal_mask, padding_mask

SIZE = TransformerSize(encoder_layers=1, decoder_layers=1, dim=12, ffn_dim=20, heads=3, dropout=0.3)
SOURCE = torch.tensor([[5, 5, 5, 5], [5, 5, PAD, PAD]])
NOTHING = AttentionEncoding()
both_norms = pytest.mark.parametrize("norm", ["pre", "post"])
Norm = Literal["pre", "post"]


def randomised(module: nn.Module) -> Any:
    torch.manual_seed(1)
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.normal_(std=0.5)
    return module.eval()


def copy(theirs: nn.Module, ours: nn.Module, names: dict[str, list[str]]) -> None:
    """Fill PyTorch's parameters; several of ours are concatenated along the first dimension."""
    state = dict(ours.named_parameters())
    used = {own for group in names.values() for own in group}
    filled = {
        f"{name}{suffix}": torch.cat([state[f"{own}.{kind}"] for own in group])
        for name, group in names.items()
        for kind, suffix in (
            ("weight", "_weight" if name.endswith("in_proj") else ".weight"),
            ("bias", "_bias" if name.endswith("in_proj") else ".bias"),
        )
    }
    theirs.load_state_dict(filled)
    assert {name.rpartition(".")[0] for name in state} == used


@both_norms
@torch.no_grad()
def test_encoder_layer(norm: Norm) -> None:
    ours = randomised(EncoderLayer(SIZE, Recipe(norm=norm, max_updates=1)))
    theirs = nn.TransformerEncoderLayer(12, 3, 20, batch_first=True, norm_first=norm == "pre").eval()
    copy(
        theirs,
        ours,
        {
            "self_attn.in_proj": ["self_attention.project_in"],
            "self_attn.out_proj": ["self_attention.project_out"],
            "linear1": ["feed_forward.expand"],
            "linear2": ["feed_forward.contract"],
            "norm1": ["around_self.norm"],
            "norm2": ["around_ffn.norm"],
        },
    )
    x = torch.randn(2, 4, 12)
    result = ours(x, mask=padding_mask(SOURCE), encoding=NOTHING, positions=Positions.range(4))
    real = SOURCE != PAD  # PyTorch's fast path leaves zeros at padding
    assert_close(result[real], theirs(x, src_key_padding_mask=SOURCE == PAD)[real])


@both_norms
@torch.no_grad()
def test_decoder_layer(norm: Norm) -> None:
    ours = randomised(DecoderLayer(SIZE, Recipe(norm=norm, max_updates=1)))
    theirs = nn.TransformerDecoderLayer(12, 3, 20, batch_first=True, norm_first=norm == "pre").eval()
    copy(
        theirs,
        ours,
        {
            "self_attn.in_proj": ["self_attention.project_in"],
            "self_attn.out_proj": ["self_attention.project_out"],
            "multihead_attn.in_proj": ["cross_attention.project_query", "cross_attention.project_memory"],
            "multihead_attn.out_proj": ["cross_attention.project_out"],
            "linear1": ["feed_forward.expand"],
            "linear2": ["feed_forward.contract"],
            "norm1": ["around_self.norm"],
            "norm2": ["around_cross.norm"],
            "norm3": ["around_ffn.norm"],
        },
    )
    x, memory = torch.randn(2, 5, 12), torch.randn(2, 4, 12)
    causal = causal_mask(5, on=torch.device("cpu"))
    result = ours(
        x,
        memory=ours.cross_attention.read(memory),
        memory_mask=padding_mask(SOURCE),
        memory_positions=Positions.range(4),
        mask=causal,
        encoding=NOTHING,
        cross_encoding=NOTHING,
        positions=Positions.range(5),
    )
    assert_close(result, theirs(x, memory, tgt_mask=causal[0, 0], memory_key_padding_mask=SOURCE == PAD))


def rates(module: nn.Module) -> dict[str, float]:
    return {name: own.probability for name, own in module.named_modules() if isinstance(own, Dropout)}


def test_dropout_is_the_size_s_unless_the_recipe_has_one() -> None:
    recipe = Recipe(max_updates=1, attention_dropout=0.2, activation_dropout=0.4)
    layer = DecoderLayer(SIZE, recipe)
    around = ["around_self", "around_cross", "around_ffn"]
    assert rates(layer) == {"feed_forward.dropout": 0.4, **{f"{name}.dropout": 0.3 for name in around}}
    assert layer.self_attention.dropout_probability == layer.cross_attention.dropout_probability == 0.2
    for given in (0.1, 0.0):
        replaced = rates(EncoderLayer(SIZE, recipe.model_copy(update={"dropout": given})))
        assert replaced == {"feed_forward.dropout": 0.4, "around_self.dropout": given, "around_ffn.dropout": given}


def test_dropout_acts_on_what_a_sublayer_gives_and_not_on_the_residual() -> None:
    torch.manual_seed(0)
    layer = EncoderLayer(SIZE.model_copy(update={"dropout": 0.5}), Recipe(max_updates=1)).train()
    x = torch.randn(1, 40, 12)
    with torch.no_grad():
        given = layer.around_self(x, lambda inner: torch.ones_like(inner)) - x
    assert set(given.round(decimals=3).flatten().tolist()) == {0.0, 2.0}


def test_feed_forward_is_linear_relu_linear() -> None:
    ours = randomised(FeedForward(3, 5, 0.9))
    x = torch.randn(2, 3)
    hidden = (x @ ours.expand.weight.T + ours.expand.bias).clamp(min=0)
    assert_close(ours(x), hidden @ ours.contract.weight.T + ours.contract.bias)
