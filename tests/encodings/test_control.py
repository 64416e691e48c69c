"""Test that controls have the parameters of their encoding, but no order."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.testing import assert_close

from raises import raises
from tiny_models import CONFIG, SIZE, positions_of, seen, sentences, tiny_model
from wordorder.config.load import load_encodings
from wordorder.encodings.base import Positions, Shape
from wordorder.encodings.compose import ComposedConfig
from wordorder.encodings.registry import build, parse
from wordorder.model.architectures.transformer import Transformer

CONTROLS = {name: config for name, config in load_encodings(CONFIG).items() if config.places is not None}
every_control = pytest.mark.parametrize("name", CONTROLS)
few = settings(deadline=None, max_examples=8)


def test_the_encodings_with_a_control() -> None:
    assert {config.type for config in CONTROLS.values()} == {
        "posnet_embed", "posnet_attention", "learned", "relative", "fire", "kerple", "deberta",
    }  # fmt: skip


@every_control
def test_a_control_has_as_many_parameters_and_the_same_start(name: str) -> None:
    ordered = CONTROLS[name].model_copy(update={"control": None})
    shape = Shape(dim=64, heads=4, encoder_layers=2, decoder_layers=2)
    starts = []
    for config in (CONTROLS[name], ordered):
        torch.manual_seed(0)
        starts.append([parameter.detach() for parameter in build(config, shape).parameters()])
    assert_close(starts[0], starts[1], rtol=0, atol=0)
    assert CONTROLS[name].parameter_count(shape) == ordered.parameter_count(shape) == sum(p.numel() for p in starts[0])


@every_control
@few
@given(length=st.integers(2, 7), seed=st.integers(0, 99))
@torch.no_grad()
def test_permuted_source_tokens_give_the_permuted_memory_and_the_same_output(name: str, length: int, seed: int) -> None:
    model = tiny_model(CONTROLS[name])
    source = sentences([length] * 2, seed=seed)
    order = torch.randperm(length, generator=torch.Generator().manual_seed(seed))
    memory, permuted = (model.encode(each, positions=positions_of(each)) for each in (source, source[:, order]))
    assert_close(seen(permuted), seen(memory)[..., order, :], rtol=1e-4, atol=2e-5)
    target = sentences([4] * 2, seed=seed + 1)
    assert_close(model.decode(target, permuted), model.decode(target, memory), rtol=1e-4, atol=2e-5)


@pytest.mark.parametrize("threshold", [2.0, 512.0])
@torch.no_grad()
def test_padding_and_later_tokens_change_no_control_of_fire(threshold: float) -> None:
    """Also where tokens have places beyond the threshold, so that divisors depend on them."""
    model = tiny_model(parse({"type": "fire", "threshold": threshold, "control": 32}))
    source, target = torch.tensor([[20, 9, 17, 22]]), torch.tensor([[12, 21, 15, 4]])
    padded = torch.nn.functional.pad(source, (0, 2))
    memory = model.encode(source)
    assert_close(seen(model.encode(padded))[..., :4, :], seen(memory), rtol=1e-4, atol=2e-5)
    assert_close(model.decode(target[:, :3], memory), model.decode(target, memory)[:, :3], rtol=1e-4, atol=2e-5)


@every_control
@torch.no_grad()
def test_the_parameters_are_used(name: str) -> None:
    """A control is not an encoding switched off: other parameters give other outputs."""
    model = tiny_model(CONTROLS[name])
    source = sentences([6, 5])
    before = model.encoder_output(source)
    for parameter in model.encoding.parameters():
        parameter.add_(torch.randn_like(parameter))
    assert float((model.encoder_output(source) - before).abs().max()) > 1e-3


@every_control
@torch.no_grad()
def test_a_control_is_its_encoding_at_the_places_of_the_tokens(name: str) -> None:
    control = tiny_model(CONTROLS[name])
    ordered = tiny_model(CONTROLS[name].model_copy(update={"control": None}))
    ordered.load_state_dict(
        {key.replace("encoding.encoding.", "encoding."): value for key, value in control.state_dict().items()}
    )
    source = torch.tensor([[5, 9, 7, 22, 4]])
    places = Positions(source % CONTROLS[name].places, 32)
    assert_close(control.encoder_output(source), ordered.encoder_output(source, positions=places))


@torch.no_grad()
def test_the_decoder_of_a_control_meets_distances_to_both_sides() -> None:
    for control in (None, 32):
        model = tiny_model(parse({"type": "deberta", "third_term": "released", "control": control}))
        source, target = sentences([6, 5]), sentences([6, 5], seed=1)
        memory = model.encode(source)
        before = model.decode(target, memory)
        table = next(value for key, value in model.named_parameters() if "decoder.0.table.vectors" in key)
        table[: len(table) // 2].normal_()  # i < j, which a decoder that knows the order never meets
        assert torch.equal(before, model.decode(target, memory)) == (control is None)


@pytest.mark.parametrize("entry", [{"type": "relative", "clip": 40}, {"type": "kerple"}])
@torch.no_grad()
def test_in_the_decoder_of_a_control_distances_to_both_sides_are_one(entry: dict[str, Any]) -> None:
    attention = build(parse({**entry, "control": 32}), Transformer.shape(SIZE)).attention("decoder", 0)
    queries, keys = (torch.randn(1, SIZE.heads, 4, 4) for _ in range(2))
    tokens = torch.tensor([[20, 9, 17, 30]])

    def added(places: torch.Tensor) -> torch.Tensor:
        positions = replace(Positions.range(4), tokens=places)
        bias = attention.bias(positions, positions)
        return attention.scores(torch.zeros(1, SIZE.heads, 4, 4), queries, keys, positions, positions) + (
            0 if bias is None else bias
        )

    assert_close(added(31 - tokens), added(tokens), rtol=0, atol=0)
    assert len(added(tokens)[0, 0, 3].unique()) == 4, "no two of the distances 10, 21, 13 and 0 are the same"


@pytest.mark.parametrize("type_", ["posnet_embed", "posnet_attention", "learned"])
def test_a_control_needs_no_more_places_than_there_are_positions(type_: str) -> None:
    build(parse({"type": type_, "table": 8, "control": 8}), Transformer.shape(SIZE))
    with raises("out-of-range", key="control", found=9, expected=8):
        build(parse({"type": type_, "table": 8, "control": 9}), Transformer.shape(SIZE))


@pytest.mark.parametrize(
    ("entry", "code"),
    [({"type": "learned", "control": 1}, "out-of-range"), ({"type": "cope", "control": 9}, "unknown-key")],
)
def test_entries_that_are_no_control(entry: dict[str, Any], code: str) -> None:
    with raises(code, key="control"):
        parse(entry)


def test_a_control_goes_beside_an_absolute_encoding_and_takes_sentences_of_any_length() -> None:
    entries = [{"type": "sinusoidal"}, {"type": "learned", "table": 32, "control": 32}]
    config = parse({"compose": entries})
    assert isinstance(config, ComposedConfig)
    encoding = build(config, Transformer.shape(SIZE))
    assert encoding.limit("encoder") is None
    long = tiny_model(config).encoder_output(sentences([60]))
    assert long.shape == (1, 60, SIZE.dim)


def test_two_controls_can_be_composed_and_one_with_an_encoding_that_draws() -> None:
    controls = [{"type": "learned", "control": 64}, {"type": "relative", "control": 64}]
    for parts, drawn in ((controls, False), ([controls[1], {"type": "cape"}], True)):
        assert (build(parse({"compose": parts}), Transformer.shape(SIZE)).draw(2) is not None) == drawn


def test_positions_without_tokens_are_refused() -> None:
    encoding = build(parse({"type": "learned", "control": 8}), Transformer.shape(SIZE))
    positions = Positions.range(3)
    with raises("missing-tokens", key="control"):
        encoding.add_to_embeddings(torch.zeros(1, 3, SIZE.dim), positions, "encoder")
    known = replace(positions, tokens=torch.tensor([[1, 2, 3]]))
    assert encoding.add_to_embeddings(torch.zeros(1, 3, SIZE.dim), known, "encoder").any()
