"""Tests of the encoder-free Transformer, whose decoder attends to source embeddings and their positions."""

from __future__ import annotations

import math
from itertools import product
from pathlib import Path
from typing import cast

import pytest
import torch
from torch import Tensor, nn
from torch.testing import assert_close

from place_encodings import Bias, HeadInputs, InAttention, every_place
from raises import raises
from tiny_models import VOCABULARY, around, configurations, full, positions_of, seen, sentences, step_by_step, types
from wordorder.config.decoding import Decoding
from wordorder.config.models import Cell, Recipe
from wordorder.decoding.beam import search
from wordorder.encodings.base import AttentionEncoding, Encoding, EncodingConfig, Positions, Shape, Stack
from wordorder.encodings.compose import Composed, ComposedConfig
from wordorder.encodings.registry import build, parse
from wordorder.encodings.sinusoidal import frequencies
from wordorder.errors import WordorderError
from wordorder.model.architectures.transformer import Transformer, TransformerSize
from wordorder.model.batch import BEGIN, END, Batch
from wordorder.model.checkpoint import build_model, count_parameters, load_model, save_model
from wordorder.model.layers import DecoderLayer
from wordorder.model.objective import TranslationObjective

SIZE = TransformerSize(encoder_layers=0, decoder_layers=2, dim=16, ffn_dim=24, heads=4, dropout=0.3)
SHAPE = Transformer.shape(SIZE)
ALL = configurations()
BETWEEN = {"type": "relative", "clip": 3, "cross": True}


def model_of(config: EncodingConfig, **recipe: str) -> Transformer:
    torch.manual_seed(0)
    return around(build(config, SHAPE), size=SIZE, **recipe)


@pytest.mark.parametrize("norm", ["pre", "post"])
@torch.no_grad()
def test_the_decoder_reads_embeddings_and_positions_as_they_are(norm: str) -> None:
    model = model_of(parse({"type": "sinusoidal"}), norm=norm)
    source = sentences([5, 3])
    memory = model.encode(source)
    for number in range(2):
        attention = cast(DecoderLayer, model.decoder[number]).cross_attention
        weight, bias = attention.project_memory.weight, attention.project_memory.bias
        for row, place in ((0, 0), (0, 4), (1, 2)):
            angles = place * frequencies(16)
            wave = torch.stack((angles.sin(), angles.cos()), -1).flatten().float()
            x = model.source_embedding.weight[source[row, place]] * math.sqrt(16) + wave
            key, value = (weight @ x + bias).view(2, 4, 4)
            assert_close(memory.keys_values[number][0][row, :, place], key)
            assert_close(memory.keys_values[number][1][row, :, place], value)


@pytest.mark.parametrize("norm", ["pre", "post"])
def test_there_is_nothing_of_an_encoder(norm: str) -> None:
    model = model_of(parse({"type": "none"}), norm=norm)
    d, f = 16, 24
    attention, feed_forward, layer_norm = 4 * (d * d + d), 2 * d * f + d + f, 2 * d
    layer = 2 * attention + feed_forward + 3 * layer_norm
    assert count_parameters(model)["total"] == VOCABULARY * d + 2 * layer + (layer_norm if norm == "pre" else 0)
    assert isinstance(model.encoder_norm, nn.Identity)


@pytest.mark.parametrize(("name", "norm"), [*product(ALL, ["pre"]), *product(types(), ["post"])])
def test_every_encoding_works_or_is_refused_in_a_sentence(name: str, norm: str) -> None:
    config = ALL[name]
    try:
        model = model_of(config, norm=norm)
    except WordorderError as error:
        assert "that the size does not have (encoder_layers: 0, decoder_layers: 2)." in str(error)
        return
    source, target = sentences([7, 4, 6], padding=1), sentences([6, 6, 6], seed=1)
    with torch.no_grad():
        memory = model.encode(source, positions=positions_of(source))
        hidden = model.decode(target, memory)
        assert_close(step_by_step(model, target, memory), hidden, rtol=1e-4, atol=2e-5)
        assert_close(full(model, source[1:2, :4], target[1:2]), hidden[1:2], rtol=1e-4, atol=2e-5)
    model.train()
    model.logits(full(model, source, target)).log_softmax(-1)[..., 5].sum().backward()
    unreached = [key for key, value in model.named_parameters() if value.grad is None or not value.grad.any()]
    assert not unreached
    assert sum(value.numel() for value in model.encoding.parameters()) == config.parameter_count(SHAPE)


@torch.no_grad()
def test_only_positions_tell_source_orders_apart() -> None:
    source, target = sentences([6]), sentences([4], seed=1)
    order = torch.tensor([3, 0, 5, 1, 4, 2])
    for entry, tells in (({"type": "none"}, False), ({"type": "sinusoidal"}, True), (BETWEEN, True)):
        model = model_of(parse(entry))
        difference = full(model, source[:, order], target) - full(model, source, target)
        assert (float(difference.abs().max()) > 1e-3) is tells
    # Relative positions between target and source leave what is read as it is.
    model = model_of(parse(BETWEEN))
    assert_close(seen(model.encode(source[:, order])), seen(model.encode(source))[..., order, :])
    # As far as positions move together, nothing changes.
    here, there = (
        step_by_step(model, target, model.encode(source, positions=positions_of(source, offset=offset)), offset=offset)
        for offset in (0, 9)
    )
    assert_close(there, here, rtol=1e-4, atol=2e-5)


class OneBiasAStack(Encoding):
    """Trained slopes, one object per stack."""

    def __init__(self, config: EncodingConfig, shape: Shape) -> None:
        super().__init__(config, shape)
        self.stacks = nn.ModuleDict({stack: Bias(shape.heads) for stack in config.stacks})

    def _attention(self, stack: Stack, layer: int) -> AttentionEncoding:
        return cast(AttentionEncoding, self.stacks[stack])


class FirstEncoderLayer(Encoding):
    """An encoding that marks the embeddings, but concerns the first layer of the encoder, like HeadXL."""

    def _add_to_embeddings(self, x: Tensor, positions: Positions, stack: Stack) -> Tensor:
        return x + 1

    def _attention(self, stack: Stack, layer: int) -> AttentionEncoding:
        return HeadInputs(self.shape.heads) if (stack, layer) == ("encoder", 0) else self._nothing


class Misspelt(AttentionEncoding):
    def biass(self) -> None: ...


class GivesNothing(Encoding):
    def _attention(self, stack: Stack, layer: int) -> AttentionEncoding:
        return Misspelt()


def test_an_encoding_without_hooks_is_refused() -> None:
    with raises("no-place-for-encoding", found="Misspelt", says="'own'"):
        around(GivesNothing(EncodingConfig(type="own"), SHAPE), size=SIZE)


def test_what_has_no_place_is_refused() -> None:
    def refusal(encoding: Encoding) -> str:
        with pytest.raises(WordorderError) as raised:
            around(encoding, size=SIZE)
        return str(raised.value)

    assert refusal(build(parse({"type": "relative", "placement": "encoder"}), SHAPE)) == (
        "The encoding 'relative' with 'placement: encoder' acts only in layers that the size does not have "
        "(encoder_layers: 0, decoder_layers: 2). Give the encoding another placement, or choose another encoding or "
        "size."
    )
    for place, encoding in every_place(SHAPE).items():
        around(encoding, size=SIZE)  # in both stacks
        if isinstance(encoding, InAttention):
            alone = InAttention(encoding.inside, SHAPE, placement="encoder")
            assert f"'{place}' with 'placement: encoder' acts only in layers that" in refusal(alone)
    assert "acts only in layers" in refusal(FirstEncoderLayer(EncodingConfig(type="first"), SHAPE))

    both, decoder = (
        OneBiasAStack(EncodingConfig(type="slopes", placement=placement), SHAPE)  # type: ignore[arg-type]
        for placement in ("both", "decoder")
    )
    message = "'slopes' with 'placement: both' has trainable parameters for layers"
    assert message in refusal(both)
    around(decoder, size=SIZE)
    none = build(parse({"type": "none"}), SHAPE)
    together = Composed(ComposedConfig(compose=(none.config, both.config)), SHAPE, [none, both])
    assert message in refusal(together)

    class Unused(Encoding):
        """An encoding that forgot to return its attention encoding."""

        def __init__(self, config: EncodingConfig, shape: Shape) -> None:
            super().__init__(config, shape)
            self.inside = both.attention("decoder", 0)

        def _add_to_embeddings(self, x, positions, stack):  # type: ignore[no-untyped-def]
            return x

    assert "overrides neither '_attention' nor '_cross_attention'" in refusal(Unused(EncodingConfig(type="own"), SHAPE))
    # With an encoder, all of them are at home.
    size = SIZE.model_copy(update={"encoder_layers": 1})
    for kind in (OneBiasAStack, FirstEncoderLayer):
        around(kind(EncodingConfig(type="own"), Transformer.shape(size)), size=size)


@pytest.mark.parametrize("entry", [{"type": "sinusoidal"}, BETWEEN], ids=["sinusoidal", "relative"])
def test_training_decoding_and_saving(tmp_path: Path, entry: dict[str, object]) -> None:
    """A few updates on copying lower the loss; the saved model translates like the one in memory."""
    torch.manual_seed(0)
    cell = Cell(encoding=entry, size=SIZE, recipe=Recipe(max_updates=1, dropout=0.0), seed=0)
    model = build_model(cell, VOCABULARY)
    objective = TranslationObjective(model, 0.0)
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    source = torch.cat((sentences([4] * 32), torch.full((32, 1), END)), dim=1)
    begun = torch.cat((torch.full((32, 1), BEGIN), source[:, :-1]), dim=1)
    batch = Batch(source, begun, source, real=None, target_tokens=source.numel())
    losses = []
    for _ in range(30):
        loss, _ = objective(batch)
        losses.append(float(loss.detach()))
        optimizer.zero_grad()
        (loss / source.numel()).backward()
        optimizer.step()
    assert losses[-1] < 0.5 * losses[0]
    save_model(tmp_path / "model.pt", cell, VOCABULARY, model.state_dict())
    found = search(model.eval(), source[:3], Decoding(beam=3))
    assert found == search(load_model(tmp_path / "model.pt"), source[:3], Decoding(beam=3))
    assert all(hypotheses[0].tokens for hypotheses in found)
