from __future__ import annotations

from typing import Any, cast

import pytest
import torch
from torch import Tensor, nn
from torch.testing import assert_close

from place_encodings import Added, Bias, HeadInputs, InAttention, Rotate, Scores, Transformed, Values, every_place, gap
from raises import raises
from raw_scores import raw_scores
from tiny_models import CONFIG, configurations, seen, sentences, tiny_model
from wordorder.config.load import load_encodings
from wordorder.dropout import unchanged
from wordorder.encodings.base import REGISTRY, AttentionEncoding, Encoding, EncodingConfig, Positions, Shape, Stack
from wordorder.encodings.compose import Composed, ComposedConfig
from wordorder.encodings.registry import build, parse
from wordorder.model.attention.multihead import SelfAttention, merge_heads, split_heads

SHAPE = Shape(dim=8, heads=2, encoder_layers=2, decoder_layers=3)
POSITIONS = Positions.range(5)
STACKS: tuple[Stack, ...] = ("encoder", "decoder")
OPR, RELATIVE = {"type": "opr"}, {"type": "relative", "clip": 3}


def composed(*parts: Encoding) -> Composed:
    return Composed(ComposedConfig(compose=tuple(part.config for part in parts)), SHAPE, list(parts))


class Doubled(AttentionEncoding):
    needs = frozenset({"rotate", "values", "scores", "context"})

    def rotate(self, queries: Tensor, keys: Tensor, positions: Positions) -> tuple[Tensor, Tensor]:
        return 2 * queries, 3 * keys

    def values(self, values: Tensor, positions: Positions) -> Tensor:
        return 5 * values

    def scores(self, scores: Tensor, queries: Tensor, keys: Tensor, query: Positions, key: Positions) -> Tensor:
        return 7 * scores

    def context(self, context: Tensor, weights: Tensor, query: Positions, key: Positions) -> Tensor:
        return 11 * context


@pytest.mark.parametrize(
    ("entry", "problem"),
    [
        (
            {"compose": [{"type": "sinusoidal"}, RELATIVE, {"type": "learned"}]},
            {"code": "invalid-value", "says": "sinusoidal and learned are both absolute"},
        ),
        ({"compose": [OPR, OPR]}, {"code": "invalid-value", "says": "opr and opr are both absolute"}),
        ({"compose": [OPR]}, {"code": "wrong-length", "key": "compose"}),
        ({"compose": "opr"}, {"code": "wrong-type", "key": "compose"}),
        ({"compose": [OPR, "relative"]}, {"code": "wrong-type", "key": "compose[1]"}),
        (
            {"compose": [OPR, {"compose": [RELATIVE, RELATIVE]}]},
            {"code": "invalid-value", "says": "cannot hold another composition"},
        ),
        (
            {"compose": [OPR, RELATIVE], "placement": "encoder"},
            {"code": "unknown-choice", "key": "placement"},
        ),
        (
            {"compose": [OPR, RELATIVE], "k": None},
            {"code": "unknown-key", "key": "k"},
        ),
        (
            {"compose": [OPR, {"type": "relativ"}]},
            {"code": "unknown-name", "key": "compose[1].type", "suggestion": "relative"},
        ),
        (
            {"compose": [OPR, {**RELATIVE, "clop": 1}]},
            {"code": "unknown-key", "key": "compose[1].clop", "suggestion": "clip"},
        ),
    ],
)
def test_mistakes_in_a_composition(entry: dict[str, Any], problem: dict[str, str]) -> None:
    with raises(**problem):
        parse(entry)


def test_two_that_feed_heads_are_refused() -> None:
    one, other = (InAttention(HeadInputs(2), SHAPE) for _ in range(2))
    with raises("conflicting-encodings", says="HeadInputs and HeadInputs"):
        composed(one, other)
    # Not where they cannot meet.
    apart = [InAttention(HeadInputs(2), SHAPE, placement=stack) for stack in ("encoder", "decoder")]
    composed(*apart)


def test_parts_keep_their_placement() -> None:
    encoding = build(parse({"compose": [{**OPR, "placement": "encoder"}, {**RELATIVE, "placement": "decoder"}]}), SHAPE)
    x = torch.randn(1, 5, 8)
    assert not torch.equal(encoding.add_to_embeddings(x, POSITIONS, "encoder"), x)
    assert torch.equal(encoding.add_to_embeddings(x, POSITIONS, "decoder"), x)
    assert not encoding.attention("encoder", 0).needs
    assert encoding.attention("decoder", 2).needs == {"scores", "context"}
    assert len(list(encoding.parameters())) == 2 * SHAPE.decoder_layers


def test_one_part_s_need_of_the_scores_is_enough() -> None:
    """On a GPU a fused kernel is used where nobody needs the scores."""
    places = every_place(SHAPE)
    need = {name for name, encoding in places.items() if encoding.attention("encoder", 0).needs & {"scores", "context"}}
    assert need == {"Scores", "Context"}
    for name, encoding in places.items():
        both = composed(encoding, InAttention(Bias(2), SHAPE)).attention("encoder", 0)
        assert bool(both.needs & {"scores", "context"}) is (name in need)


class Declared(InAttention):
    """Declares that it changes queries and keys; the configuration of :func:`composed` does not know it."""

    product = "rotated"


def test_places_are_visited_in_the_order_of_the_list() -> None:
    queries, keys, values = torch.randn(3, 2, 2, 5, 4)
    scores = torch.randn(2, 2, 5, 5)
    inner: list[AttentionEncoding] = [Rotate(), Values(), Scores()]
    for one in inner:
        for first, second in ((Doubled(), one), (one, Doubled())):
            both = composed(Declared(first, SHAPE), Declared(second, SHAPE)).attention("decoder", 1)
            assert_close(
                both.rotate(queries, keys, POSITIONS),
                second.rotate(*first.rotate(queries, keys, POSITIONS), POSITIONS),
            )
            assert_close(both.values(values, POSITIONS), second.values(first.values(values, POSITIONS), POSITIONS))
            expected = first.scores(scores, queries, queries, POSITIONS, POSITIONS)
            expected = second.scores(expected, queries, queries, POSITIONS, POSITIONS)
            assert_close(both.scores(scores, queries, queries, POSITIONS, POSITIONS), expected)
            expected = second.context(first.context(values, scores, POSITIONS, POSITIONS), scores, POSITIONS, POSITIONS)
            assert_close(both.context(values, scores, POSITIONS, POSITIONS), expected)

    added, transformed = Added(EncodingConfig(type="a"), SHAPE), Transformed(EncodingConfig(type="t"), SHAPE)
    x = torch.randn(2, 5, 8)
    for parts in ([added, transformed], [transformed, added]):
        encoding = composed(*parts)
        assert_close(
            encoding.add_to_embeddings(x, POSITIONS, "encoder"), added.add_to_embeddings(x, POSITIONS, "encoder")
        )
        assert_close(
            encoding.transform_embeddings(x, POSITIONS, "encoder"),
            transformed.transform_embeddings(x, POSITIONS, "encoder"),
        )


ROTATING = [{"type": "rope"}, {"type": "xpos"}, {"type": "transformer_xl"}, {"type": "deberta"}]


@pytest.mark.parametrize(
    "other", ["relative", "cope", "t5", "alibi", "fire", "kerple", "dape", "forgetting", *ROTATING]
)
@pytest.mark.parametrize("rotating", ROTATING, ids=lambda entry: entry["type"])
@pytest.mark.parametrize("rotating_first", [True, False])
@torch.no_grad()
def test_relative_encodings_stay_relative_beside_a_rotation(
    rotating: dict[str, Any], other: str | dict[str, Any], rotating_first: bool
) -> None:
    """Their vectors meet queries that are not rotated: a shift of all positions changes nothing."""
    both = [rotating, {"type": other} if isinstance(other, str) else other]
    entry = {"compose": both if rotating_first else both[::-1]}
    if other in ROTATING:
        with raises("invalid-value", says="follows the formula of none"):
            parse(entry)
        return
    model = tiny_model(parse(entry))
    tokens = sentences([7, 4])
    memories = [seen(model.encode(tokens, positions=Positions.range(7, offset=offset))) for offset in (0, 40)]
    assert_close(memories[0], memories[1], rtol=1e-4, atol=2e-4)


@pytest.mark.parametrize(
    ("parts", "names"),
    [
        ([{"type": "rope"}, RELATIVE, {"type": "xpos", "sides": "released"}], "rope and xpos"),
        ([{"type": "rope"}, {"type": "randomized", "base": "rope"}], "rope and randomized"),
        ([{"type": "randomized", "base": "transformer_xl"}, {"type": "rope"}], "randomized and rope"),
        ([{"type": "rope"}, {"type": "deberta", "control": 32}], "rope and deberta"),
        ([{"type": "tupe"}, {"type": "xpos"}], "tupe and xpos"),
        ([{"type": "tupe"}, {"type": "deberta"}], "tupe and deberta"),
        ([{"type": "tupe"}, {"type": "transformer_xl"}], "tupe and transformer_xl"),
        ([{"type": "tupe"}, {"type": "tupe"}], "tupe and tupe"),
        ([{"type": "tupe"}, {"type": "rope"}, {"type": "xpos", "placement": "encoder"}], "tupe and rope and xpos"),
    ],
)
def test_products_are_changed_by_one_encoding_of_a_stack(parts: list[dict[str, Any]], names: str) -> None:
    with raises("invalid-value", says=f"the encodings {names} change the same products"):
        parse({"compose": parts})


def test_an_encoding_that_does_not_declare_its_rotation_is_refused_beside_another() -> None:
    undeclared = InAttention(Rotate(), SHAPE)
    composed(undeclared, InAttention(Bias(SHAPE.heads), SHAPE))
    with raises("conflicting-encodings", says="'Rotate' rotates queries and keys"):
        composed(build(parse({"type": "rope"}), SHAPE), undeclared)


def test_encodings_that_change_products_may_act_in_different_stacks() -> None:
    parts = [{"type": "rope", "placement": "encoder"}, {"type": "xpos", "placement": "decoder"}]
    encoding = build(parse({"compose": parts}), SHAPE)
    assert all(encoding.attention(stack, 0).needs == {"rotate"} for stack in STACKS)
    build(parse({"compose": [{"type": "rope"}, {"type": "randomized", "base": "alibi"}]}), SHAPE)


@torch.no_grad()
def test_absolute_encodings_may_act_in_different_stacks() -> None:
    parts = [{"type": "learned", "table": 9, "placement": "encoder"}, {"type": "sinusoidal", "placement": "decoder"}]
    encoding = build(parse({"compose": parts}), SHAPE)
    assert (encoding.limit("encoder"), encoding.limit("decoder")) == (9, None)
    for stack, part in zip(STACKS, parts, strict=True):
        alone = build(parse(part), SHAPE)
        alone.load_state_dict(dict(encoding.parts[STACKS.index(stack)].named_parameters()))
        assert_close(encoding.table(5, stack), alone.table(5, stack))
    for placement in ("both", "decoder"):
        with raises("invalid-value", says="learned and sinusoidal are both absolute and cannot be used at once in the"):
            parse({"compose": [{**parts[0], "placement": placement}, parts[1]]})


@torch.no_grad()
def test_rotated_products_can_be_scaled() -> None:
    """e_ij = (R_i q_i) · (R_j k_j) / √(2 d_h) + p_i U_Q · p_j U_K / √(2 d_h)"""
    queries, keys = torch.randn(2, 1, 2, 5, 4)
    rope = raw_scores(build(parse({"type": "rope"}), SHAPE).attention("encoder", 0), queries, keys, POSITIONS)
    for parts in ([{"type": "rope"}, {"type": "tupe"}], [{"type": "tupe"}, {"type": "rope"}]):
        both = build(parse({"compose": parts}), SHAPE).attention("encoder", 0)
        bias = both.bias(POSITIONS, POSITIONS)
        assert bias is not None
        assert_close(raw_scores(both, queries, keys, POSITIONS), rope / 2**0.5 + bias)


@pytest.mark.parametrize("name", [name for name, config in configurations().items() if config.type != "composed"])
def test_encodings_declare_that_they_change_products(name: str) -> None:
    config = configurations()[name]
    encoding = build(config, Shape(dim=16, heads=4, encoder_layers=2, decoder_layers=2))
    needs = frozenset().union(*(encoding.attention(stack, 0).needs for stack in STACKS))
    assert (REGISTRY.get(config.type).product_of(config) != "plain") == ("rotate" in needs)


def test_every_composition_of_the_project_can_be_built() -> None:
    composed = {name: config for name, config in load_encodings(CONFIG).items() if isinstance(config, ComposedConfig)}
    assert len(composed) > 9
    for config in composed.values():
        build(parse({"compose": [part.model_dump() for part in config.compose]}), SHAPE)


@torch.no_grad()
def test_keys_of_relative_positions_are_their_formula_beside_a_rotation() -> None:
    """e_ij = (R_i q_i) · (R_j k_j) / √d_h + q_i · a_ij / √d_h"""
    relative = {"type": "relative", "clip": 3, "values": False}
    encoding = build(parse({"compose": [{"type": "rope"}, relative]}), SHAPE).attention("encoder", 0)
    module = SelfAttention(SHAPE.dim, SHAPE.heads, 0.0)
    module.project_out.weight.copy_(torch.eye(SHAPE.dim))
    x = torch.randn(2, 5, SHAPE.dim)
    queries, keys, values = (split_heads(part, SHAPE.heads) for part in module.project_in(x).chunk(3, dim=-1))
    rope, shaw = cast(Any, encoding).parts
    rotated_queries, rotated_keys = rope.rotate(queries, keys, POSITIONS)
    apart = torch.arange(5) - torch.arange(5)[:, None]
    vectors = shaw.key_vectors[0][apart.clamp(-3, 3) + 3]  # (Lq, Lk, d_h)
    scores = rotated_queries @ rotated_keys.mT + torch.einsum("bhid,ijd->bhij", queries, vectors)
    expected = merge_heads((scores / SHAPE.head_dim**0.5).softmax(-1) @ values)
    assert_close(module(x, mask=None, encoding=encoding, positions=POSITIONS), expected)


def test_biases_are_added() -> None:
    one, other = Bias(2), Bias(2)
    encoding = composed(InAttention(one, SHAPE), InAttention(Values(), SHAPE), InAttention(other, SHAPE))
    total = encoding.attention("encoder", 0).bias(POSITIONS, POSITIONS)
    assert_close(total, (one.slopes + other.slopes)[:, None, None] * gap(POSITIONS, POSITIONS))
    nothing = composed(InAttention(Values(), SHAPE), InAttention(Rotate(), SHAPE))
    assert nothing.attention("encoder", 0).bias(POSITIONS, POSITIONS) is None


def test_the_one_that_feeds_heads_is_heard() -> None:
    x = torch.randn(2, 5, 8)
    encoding = composed(InAttention(Values(), SHAPE), InAttention(HeadInputs(2), SHAPE))
    inputs = encoding.attention("encoder", 0).head_inputs(x, POSITIONS, unchanged)
    assert_close(inputs, HeadInputs(2).head_inputs(x, POSITIONS, unchanged))


def test_the_table_and_the_limit_are_those_of_the_part_that_has_them() -> None:
    encoding = build(parse({"compose": [RELATIVE, {"type": "learned", "table": 12}]}), SHAPE)
    tables: Any = encoding.parts[1]  # type: ignore[index]
    assert_close(encoding.table(12), tables.table(12))
    assert encoding.limit("encoder") == encoding.limit("decoder") == 12
    with raises("too-long", found=13, expected=12):
        encoding.table(13)

    class Limited(Encoding):
        def _limit(self, stack: Stack) -> int:
            return 9

    both = composed(encoding.parts[1], Limited(EncodingConfig(type="limited"), SHAPE))  # type: ignore[index, arg-type]
    assert both.limit("encoder") == 9


def test_a_composition_owns_the_parameters_of_its_parts() -> None:
    encoding = build(parse({"compose": [OPR, RELATIVE]}), SHAPE)
    alone = build(parse(RELATIVE), SHAPE)
    assert [value.shape for value in encoding.parameters()] == [value.shape for value in alone.parameters()]
    assert isinstance(encoding.parts, nn.ModuleList)
