"""Tests of every hook of encodings, through the model and against attention written head by head."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn
from torch.testing import assert_close

from place_encodings import BetweenTargetAndSource, Bias, Context, InAttention, Rotate, Scores, every_place, gap
from raises import raises
from tiny_models import SIZE, around, seen, sentences, step_by_step, without_encoding
from training_passes import CONFIGURATIONS, LENGTHS, SIZES, batch_of
from training_passes import model_of as new_model
from wordorder.dropout import unchanged
from wordorder.encodings.base import AttentionEncoding, Encoding, Positions, Shape
from wordorder.encodings.compose import Composed, ComposedConfig
from wordorder.encodings.sinusoidal import SinusoidalConfig
from wordorder.model.architectures.transformer import Transformer
from wordorder.model.attention.multihead import SelfAttention
from wordorder.model.masks import causal_mask
from wordorder.model.objective import TranslationObjective
from wordorder.model.places import refuse_untrained

SHAPE = Transformer.shape(SIZE)
PLACES = [*every_place(SHAPE), "all"]


def encoding_of(place: str) -> Encoding:
    torch.manual_seed(0)
    places = every_place(SHAPE)
    if place != "all":
        return places[place]
    config = ComposedConfig(compose=tuple(part.config for part in places.values()))
    return Composed(config, SHAPE, list(places.values()))


def model_of(place: str) -> Transformer:
    return around(encoding_of(place))


def naive(
    module: SelfAttention, x: Tensor, mask: Tensor | None, encoding: AttentionEncoding, positions: Positions
) -> Tensor:
    """Project head by head, each from its own input, and call each hook of the encoding."""
    heads, dim = module.heads, x.size(-1)
    inputs = [x] * heads
    if (groups := encoding.head_inputs(x, positions, unchanged)) is not None:
        inputs = [own for count, own in groups for _ in range(count)]
    weight, bias = module.project_in.weight, module.project_in.bias
    projected = []
    for third in range(3):
        rows = [
            slice(third * dim + head * dim // heads, third * dim + (head + 1) * dim // heads) for head in range(heads)
        ]
        projected.append(
            torch.stack([own @ weight[row].T + bias[row] for own, row in zip(inputs, rows, strict=True)], 1)
        )
    positions = replace(positions, state=encoding.gates(x, positions))
    rotated, keys = encoding.rotate(projected[0], projected[1], positions)
    values = encoding.values(projected[2], positions)
    scale = math.sqrt(dim // heads)
    scores = encoding.scores(rotated @ keys.mT / scale, projected[0] / scale, keys, positions, positions)
    if (added := encoding.bias(positions, positions)) is not None:
        scores = scores + added
    weights = (scores if mask is None else scores + mask).softmax(-1)
    context = encoding.context(weights @ values, weights, positions, positions)
    together = torch.cat([context[:, head] for head in range(heads)], dim=-1)
    return together @ module.project_out.weight.T + module.project_out.bias


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("masked", [True, False])
@settings(deadline=None, max_examples=5)
@given(length=st.integers(1, 6), offset=st.integers(0, 4), seed=st.integers(0, 99))
def test_self_attention_calls_each_hook(place: str, masked: bool, length: int, offset: int, seed: int) -> None:
    model = model_of(place)
    module = model.encoder[0].self_attention
    assert isinstance(module, SelfAttention)
    encoding = model.encoding.attention("encoder", 0)
    x = torch.randn(2, length, SIZE.dim, generator=torch.Generator().manual_seed(seed))
    mask = causal_mask(length, on=x.device) if masked else None
    for positions in (
        Positions.range(length, offset=offset),
        Positions(torch.stack((torch.arange(length), torch.arange(length).flip(0))), length),
    ):
        inputs = encoding.head_inputs(x, positions, unchanged)
        result = module(x, mask=mask, encoding=encoding, positions=positions, head_inputs=inputs)
        expected = naive(module, x, mask, encoding, positions)
        assert_close(result, expected, rtol=1e-4, atol=1e-5)
        parameters = list(module.parameters()) + list(encoding.parameters())
        gradients, naive_gradients = (
            torch.autograd.grad(own.square().sum(), parameters, allow_unused=True) for own in (result, expected)
        )
        assert_close(gradients, naive_gradients, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("place", PLACES)
@torch.no_grad()
def test_full_forward_is_step_by_step_decoding(place: str) -> None:
    model = model_of(place)
    source, target = sentences([6, 3]), sentences([7, 7], seed=1)
    memory = model.encode(source)
    hidden = model.decode(target, memory)
    assert_close(step_by_step(model, target, memory), hidden, rtol=1e-4, atol=2e-5)
    # Hypotheses that grow side by side and change places are sentences of their own.
    caches = model.new_caches()
    beams = torch.stack((target, target.flip(0)), dim=1)  # (B, K, T)
    swap = torch.tensor([[1, 0], [3, 2]])
    for step in range(7):
        result = model.step(beams[:, :, step], memory, caches, step)
        alone = torch.stack([model.decode(beams[:, k, : step + 1], memory)[:, -1] for k in range(2)], dim=1)
        assert_close(result, alone, rtol=1e-4, atol=2e-5)
        for cache in caches:
            cache.select(swap)
        beams = beams.flip(1)


@pytest.mark.parametrize("place", PLACES)
@torch.no_grad()
def test_each_place_is_felt_in_both_stacks(place: str) -> None:
    model = model_of(place)
    plain = without_encoding(model)
    source, target = sentences([6, 3]), sentences([5, 5], seed=1)
    memory = plain.encode(source)
    assert float((seen(model.encode(source)) - seen(memory)).abs().max()) > 1e-2
    assert float((model.decode(target, memory) - plain.decode(target, memory)).abs().max()) > 1e-2


@pytest.mark.parametrize("place", PLACES)
def test_gradients_reach_the_encoding_s_parameters(place: str) -> None:
    model = model_of(place).train()
    model(sentences([6, 3]), sentences([5, 5], seed=1)).square().sum().backward()
    assert all(parameter.grad is not None and parameter.grad.any() for parameter in model.encoding.parameters())


def test_embeddings_are_scaled_marked_dropped_and_transformed_in_that_order() -> None:
    class Watching(Encoding):
        def _add_to_embeddings(self, x: Tensor, positions: Positions, stack: str) -> Tensor:
            self.seen = [(stack, x)]
            return torch.ones_like(x)

        def _transform_embeddings(self, x: Tensor, positions: Positions, stack: str) -> Tensor:
            self.seen.append((stack, x))
            return x

    encoding = Watching(encoding_of("Added").config, SHAPE)
    model = around(encoding, dropout=0.5).train()
    source, target = sentences([30, 30]), sentences([9, 9], seed=1)
    memory = model.encode(source)
    (stack, added), (other, transformed) = encoding.seen
    assert stack == other == "encoder"
    assert_close(added, model.source_embedding.weight[source] * math.sqrt(SIZE.dim))
    assert set(transformed.detach().flatten().tolist()) == {0.0, 2.0}
    model.decode(target, memory)
    assert [stack for stack, _ in encoding.seen] == ["decoder", "decoder"]
    assert_close(encoding.seen[0][1], model.target_embedding.weight[target] * math.sqrt(SIZE.dim))


@pytest.mark.parametrize("place", [Bias(SIZE.heads), Scores(), Context()])
@torch.no_grad()
def test_an_encoding_may_act_between_target_and_source(place: AttentionEncoding) -> None:
    torch.manual_seed(0)
    encoding = BetweenTargetAndSource(place, SHAPE)
    config = ComposedConfig.model_construct(compose=(encoding.config,))
    for model in (around(encoding), around(Composed(config, SHAPE, [encoding]))):
        plain = without_encoding(model)
        source, target = sentences([6, 3]), sentences([5, 5], seed=1)
        memory, same = model.encode(source), plain.encode(source)
        assert_close(seen(memory), seen(same))
        hidden = model.decode(target, memory)
        assert float((hidden - plain.decode(target, same)).abs().max()) > 1e-2
        # Sentences that leave the batch, hypotheses side by side, and one token at a time change nothing.
        assert_close(step_by_step(model, target, memory), hidden, rtol=1e-4, atol=2e-5)
        kept = memory.select(torch.tensor([1]))
        caches = model.new_caches()
        for step in range(5):
            pair = model.step(target[1:, [step]].expand(-1, 2), kept, caches, step)
            assert_close(pair, hidden[1:, [step]].expand(-1, 2, -1), rtol=1e-4, atol=2e-5)
        # Positions of the source are those it was encoded with.
        far = Positions(torch.stack((torch.arange(6), 2 * torch.arange(6))), 11)
        moved = model.decode(target, model.encode(source, positions=far).select(torch.tensor([0, 1])))
        assert_close(moved[0], hidden[0], rtol=1e-4, atol=2e-5)
        assert float((moved[1] - hidden[1]).abs().max()) > 1e-2


class DrawnSlopes(AttentionEncoding):
    """A bias with a slope that is drawn for each sentence."""

    needs = frozenset({"bias"})

    def bias(self, query: Positions, key: Positions) -> Tensor:
        assert query.drawn is not None
        return query.drawn[:, :, None, None] * gap(query, key)


class DrawnEverywhere(InAttention):
    """Draws a number per sentence for each attention between target and source, and adds a hook in self-attention."""

    def draw(self, sentences: int) -> Tensor:
        return torch.arange(1.0, sentences + 1)[:, None] / 5

    def _cross_attention(self, layer: int) -> AttentionEncoding:
        return DrawnSlopes()


@pytest.mark.parametrize("inside", [Bias(SIZE.heads), DrawnSlopes(), Rotate()])
@torch.no_grad()
def test_all_attentions_of_a_step_see_the_numbers_of_their_sentence(inside: AttentionEncoding) -> None:
    torch.manual_seed(0)
    model = around(DrawnEverywhere(inside, SHAPE))
    source, target = sentences([6, 3, 5]), sentences([5, 5, 5], seed=1)
    memory = model.encode(source)
    beams = torch.stack((target, target.flip(0)), dim=1)  # (B, K, T)
    whole = torch.stack([model.decode(beams[:, k], memory) for k in range(2)], dim=1)
    caches = model.new_caches()
    for step in range(5):
        pair = model.step(beams[:, :, step], memory, caches, step)
        assert_close(pair, whole[:, :, step], rtol=1e-4, atol=2e-5)


class Idle(Encoding):
    """A table per stack, also for the stack in which the encoding does not act."""

    def __init__(self, config: SinusoidalConfig, shape: Shape) -> None:
        super().__init__(config, shape)
        self.tables = nn.ModuleDict({stack: nn.Embedding(64, shape.dim) for stack in ("encoder", "decoder")})

    def _add_to_embeddings(self, x: Tensor, positions: Positions, stack: str) -> Tensor:
        return x + self.tables[stack](positions.absolute)


def test_parameters_that_nothing_trains_are_refused() -> None:
    model = around(Idle(SinusoidalConfig(placement="encoder"), SHAPE)).train()
    TranslationObjective(model, 0.1)(batch_of(LENGTHS))[0].backward()
    with raises("no-place-for-encoding", key="encoding.tables.decoder.weight", found="sinusoidal"):
        refuse_untrained(model, model.encoding, one_stream=False)
    model.encoding.tables["decoder"].requires_grad_(False)
    refuse_untrained(model, model.encoding, one_stream=False)


@pytest.mark.parametrize("name", ["dape", "learned_rpr", "relative_control", "sinusoidal", "t5_per_layer"])
@pytest.mark.parametrize("size", SIZES)
def test_the_first_update_trains_all_parameters(name: str, size: str) -> None:
    model = new_model(CONFIGURATIONS[name], SIZES[size], dropout=0.1)
    TranslationObjective(model, 0.1)(batch_of(LENGTHS))[0].backward()
    refuse_untrained(model, model.encoding, one_stream=model.one_stream)
