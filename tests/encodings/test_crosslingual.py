from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor
from torch.testing import assert_close

from raises import raises
from tiny_models import SIZE, around, positions_of, seen, sentences
from wordorder.dropout import unchanged
from wordorder.encodings.base import Encoding, Positions, Shape
from wordorder.encodings.registry import build, parse
from wordorder.encodings.sinusoidal import frequencies
from wordorder.encodings.waves import waves
from wordorder.model.architectures.transformer import Transformer, TransformerSize

DIM = 8
SHAPE = Shape(dim=DIM, heads=4, encoder_layers=2, decoder_layers=2)
POSITIONS = Positions.range(4).with_reordered(torch.tensor([[2, 0, 1, 3], [0, 1, 2, 3]]))


def built(**entry: Any) -> Encoding:
    torch.manual_seed(0)
    return build(parse(entry), SHAPE)


def sinusoid(positions: Tensor) -> Tensor:
    return waves(positions, frequencies(DIM)).float()


def fused(encoding: Any) -> Tensor:
    """Equation 7, written out."""
    absolute, reordered = sinusoid(POSITIONS.absolute), sinusoid(POSITIONS.reordered)  # type: ignore[arg-type]
    if encoding.config.fusion == "sum":
        return absolute + reordered
    u, v = encoding.fuse.absolute, encoding.fuse.reordered
    if u.dim() == 1:
        u, v = torch.diag(u), torch.diag(v)
    return torch.tanh(absolute @ u + reordered @ v)


@pytest.mark.parametrize("fusion", ["full", "diagonal", "sum"])
def test_inxl_adds_the_fused_positions(fusion: str) -> None:
    encoding = built(type="inxl", fusion=fusion)
    x = torch.randn(2, 4, DIM)
    assert_close(encoding.add_to_embeddings(x, POSITIONS, "encoder"), x + fused(encoding))
    assert_close(encoding.add_to_embeddings(x, POSITIONS, "decoder"), x + sinusoid(torch.arange(4)))


@pytest.mark.parametrize("fusion", [None, "full", "diagonal", "sum"])
def test_headxl_gives_tau_heads_the_reordered_positions(fusion: str | None) -> None:
    encoding = built(type="headxl", tau=3, fusion=fusion)
    embedded = torch.randn(2, 4, DIM)
    x = encoding.add_to_embeddings(embedded, POSITIONS, "encoder")
    assert_close(x, embedded + sinusoid(torch.arange(4)))
    inputs = encoding.attention("encoder", 0).head_inputs(x, POSITIONS, unchanged)
    assert inputs is not None
    (tau, cross_lingual), (others, plain) = inputs
    assert (tau, others) == (3, 1)
    cross_lingual_positions = fused(encoding) if fusion else sinusoid(POSITIONS.reordered)  # type: ignore[arg-type]
    assert_close(cross_lingual, embedded + cross_lingual_positions)
    assert plain is x
    assert encoding.attention("encoder", 1).head_inputs(x, POSITIONS, unchanged) is None
    assert encoding.attention("decoder", 0).head_inputs(x, POSITIONS, unchanged) is None


@pytest.mark.parametrize("norm", ["pre", "post"])
@torch.no_grad()
def test_tau_0_is_the_sinusoidal_transformer_and_all_heads_are_not(norm: str) -> None:
    tokens = sentences([7, 5])
    positions = positions_of(tokens)
    memories = {}
    for name, entry in {
        "sinusoidal": {"type": "sinusoidal"}, "none": {"type": "headxl", "tau": 0}, "all": {"type": "headxl", "tau": 4},
    }.items():  # fmt: skip
        torch.manual_seed(0)
        memories[name] = seen(
            around(build(parse(entry), Transformer.shape(SIZE)), norm=norm).encode(tokens, positions=positions)
        )
    assert_close(memories["none"], memories["sinusoidal"])
    assert float((memories["all"] - memories["sinusoidal"]).abs().max()) > 1e-2


@torch.no_grad()
def test_a_pre_norm_layer_normalises_what_each_head_sees() -> None:
    """With cross-lingual positions in all heads, the first layer reads norm(X + PE_XL)."""
    torch.manual_seed(0)
    model = around(build(parse({"type": "headxl", "tau": 4}), Transformer.shape(SIZE)))
    tokens = sentences([6])
    positions = positions_of(tokens)
    layer: Any = model.encoder[0]
    read = []
    handle = layer.around_self.norm.register_forward_pre_hook(lambda _, inputs: read.append(inputs[0]))
    model.encode(tokens, positions=positions)
    handle.remove()
    embedded = model.source_embedding.weight[tokens] * 4  # √16
    own = waves(positions.reordered, frequencies(SIZE.dim)).float()  # type: ignore[arg-type]
    assert any(torch.allclose(inputs, embedded + own, atol=1e-5) for inputs in read)


@torch.no_grad()
def test_dropout_takes_the_same_numbers_from_what_each_head_sees() -> None:
    """The τ heads read dropout(X + PE_XL) with the mask of the embeddings, which is drawn once."""
    torch.manual_seed(0)
    model = around(build(parse({"type": "headxl", "tau": 4}), Transformer.shape(SIZE)), dropout=0.5).train()
    tokens = sentences([6, 4])
    positions = positions_of(tokens)
    embedded = model.source_embedding.weight[tokens] * 4  # √16
    absolute, own = (
        waves(numbers, frequencies(SIZE.dim)).float()
        for numbers in (positions.absolute, positions.reordered)  # type: ignore[arg-type]
    )
    layer: Any = model.encoder[0]
    read: list[Tensor] = []
    handle = layer.around_self.norm.register_forward_pre_hook(lambda _, inputs: read.append(inputs[0]))
    torch.manual_seed(1)
    model.encode(tokens, positions=positions)
    handle.remove()
    torch.manual_seed(1)
    plain, drop = model.dropout.drawn(embedded + absolute)
    assert 0.3 < float((plain == 0).float().mean()) < 0.7
    cross_lingual, residual = read
    assert_close(residual.view_as(plain), plain)
    assert_close(cross_lingual, drop(embedded + own))
    assert torch.equal(cross_lingual == 0, plain == 0)


@pytest.mark.parametrize("norm", ["pre", "post"])
def test_dropout_draws_as_often_as_with_sinusoids(norm: str) -> None:
    """So all other masks of a training are those of another encoding."""
    tokens = sentences([6, 4])
    states = []
    for entry in ({"type": "sinusoidal"}, {"type": "headxl"}):
        torch.manual_seed(0)
        model = around(build(parse(entry), Transformer.shape(SIZE)), norm=norm).train()
        torch.manual_seed(1)
        model.encode(tokens, positions=positions_of(tokens))
        states.append(torch.get_rng_state())
    assert torch.equal(*states)


def test_reordered_positions_must_come() -> None:
    for entry in ({"type": "inxl"}, {"type": "headxl"}):
        assert parse(entry).needs_reordered
        assert parse({"compose": [entry, {"type": "relative"}]}).needs_reordered
        model = around(build(parse(entry), Transformer.shape(SIZE)))
        with raises("missing-positions", key=entry["type"]):
            model.encode(sentences([3]))
    assert not parse({"type": "sinusoidal"}).needs_reordered


def test_counts_and_mistakes() -> None:
    big = Transformer.shape(
        TransformerSize(encoder_layers=6, decoder_layers=6, dim=1024, ffn_dim=4096, heads=16, dropout=0.3)
    )
    counts = {
        entry: parse({"type": entry[0], "fusion": entry[1]}).parameter_count(big)
        for entry in [("inxl", "full"), ("inxl", "diagonal"), ("headxl", None), ("headxl", "full")]
    }
    assert list(counts.values()) == [2 * 1024**2, 2 * 1024, 0, 2 * 1024**2]
    default: Any = build(parse({"type": "headxl"}), big)
    assert default.first_layer.tau == 4
    for heads, tau in ((1, 1), (2, 1), (4, 1), (8, 2)):  # an encoding that requires reordered positions uses them
        small: Any = build(parse({"type": "headxl"}), Shape(dim=DIM, heads=heads, encoder_layers=1, decoder_layers=1))
        assert small.first_layer.tau == tau
    with raises("out-of-range", key="tau", found=5, expected=4):
        built(type="headxl", tau=5)
    with raises("unknown-choice", key="placement"):
        parse({"type": "inxl", "placement": "decoder"})
