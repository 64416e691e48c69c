"""Tests of Shaw's relative positions against equations 3 and 4 as printed, with the L x L x d_h tensor."""

from __future__ import annotations

import itertools
import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch.testing import assert_close

from raises import raises
from tiny_models import CONFIG
from wordorder.config.load import load_sizes
from wordorder.encodings.base import AttentionEncoding, Positions, Shape, Stack
from wordorder.encodings.registry import build, parse
from wordorder.encodings.relative import RelativeAttention, RelativeConfig
from wordorder.model.architectures.transformer import Transformer, TransformerSize
from wordorder.model.attention.base import attend
from wordorder.model.masks import causal_mask

SHAPE = Shape(dim=6, heads=2, encoder_layers=1, decoder_layers=1)
CHOICES = [(True, True), (True, False), (False, True)]


def naive(
    queries: Tensor,
    keys: Tensor,
    values: Tensor,
    key_vectors: Tensor | None,
    value_vectors: Tensor | None,
    clip: int,
    causal: bool,
    query_positions: list[int] | None = None,
    key_positions: list[int] | None = None,
) -> Tensor:
    """Equations 3 and 4, one pair of tokens after the other. Vectors: (1 | H, distances, d_h), row 0 is -clip."""
    _, heads, length, head_dim = queries.shape
    width = keys.size(2)
    query_positions = query_positions or list(range(length))
    key_positions = key_positions or list(range(width))

    def vectors(table: Tensor | None) -> Tensor:  # a_ij: (H, Lq, Lk, d_h)
        if table is None:
            return torch.zeros(heads, length, width, head_dim, dtype=queries.dtype)
        rows = []
        for head, i, j in itertools.product(range(heads), query_positions, key_positions):
            distance = max(-clip, min(clip, j - i))
            seen = not causal or j <= i
            own = table[head if len(table) > 1 else 0]
            rows.append(own[distance + clip] if seen else torch.zeros(head_dim, dtype=queries.dtype))
        return torch.stack(rows).view(heads, length, width, head_dim)

    scores = torch.einsum("bhid,bhijd->bhij", queries, keys[:, :, None] + vectors(key_vectors)) / math.sqrt(head_dim)
    if causal:
        scores = scores.masked_fill(torch.ones(length, length).triu(1).bool(), -math.inf)
    weights = scores.softmax(-1)
    return torch.einsum("bhij,bhijd->bhid", weights, values[:, :, None] + vectors(value_vectors))


@pytest.mark.parametrize("stack", ["encoder", "decoder"])
@pytest.mark.parametrize("share_heads", [True, False])
@pytest.mark.parametrize(("keys", "values"), CHOICES)
@settings(deadline=None, max_examples=5)
@given(length=st.integers(1, 6), clip=st.integers(1, 7), seed=st.integers(0, 99), offset=st.integers(0, 9))
def test_attention_is_the_papers(
    stack: Stack, share_heads: bool, keys: bool, values: bool, length: int, clip: int, seed: int, offset: int
) -> None:
    torch.manual_seed(seed)
    config = RelativeConfig(clip=clip, keys=keys, values=values, share_heads=share_heads)
    encoding = RelativeAttention(config, SHAPE, stack).double()
    queries, keys_, values_ = (torch.randn(2, 2, length, 3, dtype=torch.float64, requires_grad=True) for _ in range(3))
    positions = Positions.range(length, offset=offset)
    causal = stack == "decoder"
    result = attend(
        queries,
        keys_,
        values_,
        mask=causal_mask(length, on=torch.device("cpu")).double() if causal else None,
        dropout_probability=0.0,
        training=True,
        encoding=encoding,
        query=positions,
        key=positions,
    )
    expected = naive(queries, keys_, values_, encoding.key_vectors, encoding.value_vectors, clip, causal)
    assert_close(result, expected)

    leaves = [queries, keys_, values_, *encoding.parameters()]
    toward = torch.randn_like(result)
    gradients = torch.autograd.grad((result * toward).sum(), leaves, allow_unused=True, materialize_grads=True)
    naive_gradients = torch.autograd.grad((expected * toward).sum(), leaves, allow_unused=True, materialize_grads=True)
    assert_close(gradients, naive_gradients)


@pytest.mark.parametrize("stack", ["encoder", "decoder"])
def test_starts_within_the_bound_of_a_whole_table(stack: Stack) -> None:
    """As tensor2tensor, whose decoder has the 2k + 1 rows of the encoder, though k of them are never read."""
    torch.manual_seed(0)
    shape = Shape(dim=64 * 8, heads=8, encoder_layers=1, decoder_layers=1)
    encoding = RelativeAttention(RelativeConfig(clip=20), shape, stack)
    for vectors in (encoding.key_vectors, encoding.value_vectors):
        assert vectors is not None and vectors.size(1) == (41 if stack == "encoder" else 21)
        assert float(vectors.detach().abs().max()) == pytest.approx((6 / (41 + 64)) ** 0.5, rel=0.01)


@pytest.mark.parametrize("share_heads", [True, False])
@pytest.mark.parametrize(("keys", "values"), CHOICES)
@settings(deadline=None, max_examples=5)
@given(
    target=st.integers(1, 6),
    source=st.integers(1, 6),
    clip=st.integers(1, 7),
    seed=st.integers(0, 99),
    steps=st.lists(st.integers(0, 3), min_size=6, max_size=6),
)
def test_between_target_and_source_the_distance_is_source_minus_target(
    share_heads: bool, keys: bool, values: bool, target: int, source: int, clip: int, seed: int, steps: list[int]
) -> None:
    torch.manual_seed(seed)
    config = RelativeConfig(clip=clip, keys=keys, values=values, share_heads=share_heads, cross=True)
    encoding = build(config, SHAPE).double().cross_attention(0)
    assert isinstance(encoding, RelativeAttention)
    queries = torch.randn(2, 2, target, 3, dtype=torch.float64, requires_grad=True)
    keys_, values_ = (torch.randn(2, 2, source, 3, dtype=torch.float64, requires_grad=True) for _ in range(2))
    # Target positions may be anything: all of a sentence, or the same one for several hypotheses.
    query_positions, key_positions = list(itertools.accumulate(steps))[:target], list(range(source))
    result = attend(
        queries, keys_, values_,
        mask=None, dropout_probability=0.0, training=True, encoding=encoding,
        query=Positions(torch.tensor([query_positions]), 99), key=Positions.range(source),
    )  # fmt: skip
    expected = naive(
        queries, keys_, values_, encoding.key_vectors, encoding.value_vectors, clip, False,
        query_positions, key_positions,
    )  # fmt: skip
    assert_close(result, expected)
    leaves = [queries, keys_, values_, *encoding.parameters()]
    toward = torch.randn_like(result)
    gradients, naive_gradients = (
        torch.autograd.grad((own * toward).sum(), leaves, allow_unused=True, materialize_grads=True)
        for own in (result, expected)
    )
    assert_close(gradients, naive_gradients)


def test_between_target_and_source_is_instead_of_inside_self_attention() -> None:
    shape = Shape(dim=6, heads=2, encoder_layers=2, decoder_layers=3)
    own, between = (build(RelativeConfig(clip=2, cross=cross), shape) for cross in (False, True))
    x, query, key = torch.randn(1, 2, 4, 5), Positions.range(4), Positions.range(5)

    def acts(attention: AttentionEncoding) -> bool:
        return not torch.equal(attention.scores(x, torch.ones(1, 2, 4, 3), torch.ones(1, 2, 4, 3), query, key), x)

    for stack, layers in (("encoder", 2), ("decoder", 3)):
        assert all(acts(own.attention(stack, layer)) for layer in range(layers))  # type: ignore[arg-type]
        assert not any(acts(between.attention(stack, layer)) for layer in range(layers))  # type: ignore[arg-type]
    assert all(acts(between.cross_attention(layer)) for layer in range(3))
    assert not any(acts(own.cross_attention(layer)) for layer in range(3))
    assert len({id(between.cross_attention(layer)) for layer in range(3)}) == 3
    both = build(parse({"compose": [{"type": "relative"}, {"type": "relative", "cross": True}]}), shape)
    assert acts(both.attention("encoder", 0)) and acts(both.cross_attention(0))


def test_layers_that_share_their_vectors() -> None:
    shape = Shape(dim=6, heads=2, encoder_layers=2, decoder_layers=3)
    shared = build(RelativeConfig(clip=2, share_layers=True), shape)
    for stack, layers, distances in (("encoder", 2, 5), ("decoder", 3, 3)):
        found = [shared.attention(stack, layer) for layer in range(layers)]  # type: ignore[arg-type]
        assert all(one is found[0] for one in found)
        assert [vectors.shape for vectors in found[0].parameters()] == [(1, distances, 3)] * 2
    # The stacks share nothing, because a decoder's distances are other ones.
    assert shared.attention("encoder", 0) is not shared.attention("decoder", 0)
    between = build(RelativeConfig(clip=2, share_layers=True, cross=True), shape)
    assert between.cross_attention(0) is between.cross_attention(2)
    assert [vectors.shape for vectors in between.parameters()] == [(1, 5, 3)] * 2
    # A stack without layers has no vectors.
    for share_layers in (True, False):
        config = RelativeConfig(clip=2, share_layers=share_layers)
        alone = Shape(dim=6, heads=2, encoder_layers=0, decoder_layers=3)
        built = sum(vectors.numel() for vectors in build(config, alone).parameters())
        assert built == config.parameter_count(alone) == (1 if share_layers else 3) * 3 * 3 * 2


def test_sentences_of_a_batch_may_have_positions_of_their_own() -> None:
    encoding = RelativeAttention(RelativeConfig(clip=3), SHAPE, "encoder")
    queries, keys, values = torch.randn(3, 2, 2, 5, 3)
    order = torch.tensor([[0, 1, 2, 3, 4], [4, 0, 3, 1, 2]])

    def run(rows: slice) -> Tensor:
        positions = Positions(order[rows], 5)
        return attend(
            queries[rows], keys[rows], values[rows],
            mask=None, dropout_probability=0.0, training=False, encoding=encoding, query=positions, key=positions,
        )  # fmt: skip

    assert_close(run(slice(0, 2)), torch.cat((run(slice(0, 1)), run(slice(1, 2)))))
    assert not torch.allclose(
        run(slice(1, 2)),
        naive(queries[1:], keys[1:], values[1:], encoding.key_vectors, encoding.value_vectors, 3, False),
    )


def shape_of(name: str) -> Shape:
    size = load_sizes(CONFIG)[name]
    assert isinstance(size, TransformerSize)
    return Transformer.shape(size)


def test_vectors_that_exist() -> None:
    for stack, distances in (("encoder", 9), ("decoder", 5)):
        for share_heads, heads in ((True, 1), (False, 2)):
            own = RelativeAttention(RelativeConfig(clip=4, share_heads=share_heads), SHAPE, stack)  # type: ignore[arg-type]
            assert [vectors.shape for vectors in own.parameters()] == [(heads, distances, 3)] * 2


def test_parameters_of_the_encoder_free_model() -> None:
    """The +0.01 M of the cross-lingual paper's table 4: 2 · 20 + 1 key and value vectors of 64, all layers' own."""
    config = parse({"type": "relative", "clip": 20, "cross": True, "share_layers": True})
    shape = shape_of("big_no_encoder")
    assert config.parameter_count(shape) == 5_248
    assert sum(vectors.numel() for vectors in build(config, shape).parameters()) == 5_248
    assert parse({"type": "relative", "clip": 20, "cross": True}).parameter_count(shape) == 6 * 5_248


def test_keys_or_values_must_be_there() -> None:
    with raises("invalid-value", says="keys or values must be true"):
        parse({"type": "relative", "keys": False, "values": False})


def test_between_target_and_source_there_is_no_encoder() -> None:
    assert parse({"type": "relative", "cross": True, "placement": "decoder"}).stacks == ("decoder",)
    with raises("invalid-value", says="its placement is 'encoder'"):
        parse({"type": "relative", "cross": True, "placement": "encoder"})
