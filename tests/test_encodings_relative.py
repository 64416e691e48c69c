"""Shaw's relative positions against equations 3 and 4 as they are written, L x L x d_h tensor and all."""

from __future__ import annotations

import itertools
import math
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch.testing import assert_close

from tiny_models import CONFIG
from wordorder.config.load import load_sizes
from wordorder.encodings.base import Positions, Shape, Stack
from wordorder.encodings.registry import parse
from wordorder.encodings.relative import RelativeAttention, RelativeConfig
from wordorder.errors import WordorderError
from wordorder.model.attention import attend
from wordorder.model.transformer import causal_mask

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
) -> Tensor:
    """Equations 3 and 4, one pair of tokens after the other. Vectors: (1 | H, distances, d_h), row 0 is -clip."""
    _, heads, length, head_dim = queries.shape

    def vectors(table: Tensor | None) -> Tensor:  # a_ij: (H, L, L, d_h)
        if table is None:
            return torch.zeros(heads, length, length, head_dim, dtype=queries.dtype)
        rows = []
        for head, i, j in itertools.product(range(heads), range(length), range(length)):
            distance = max(-clip, min(clip, j - i))
            seen = not causal or j <= i
            own = table[head if len(table) > 1 else 0]
            rows.append(own[distance + clip] if seen else torch.zeros(head_dim, dtype=queries.dtype))
        return torch.stack(rows).view(heads, length, length, head_dim)

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


def test_vectors_that_exist() -> None:
    for stack, distances in (("encoder", 9), ("decoder", 5)):
        for share_heads, heads in ((True, 1), (False, 2)):
            own = RelativeAttention(RelativeConfig(clip=4, share_heads=share_heads), SHAPE, stack)  # type: ignore[arg-type]
            assert [vectors.shape for vectors in own.parameters()] == [(heads, distances, 3)] * 2


@pytest.mark.parametrize(
    ("parameters", "expected"),
    [
        # Shaw's base model, and the clip that comes nearest to the PosNet paper's +0.29 M: a table a head, base shape.
        ({"clip": 16, "share_heads": False}, 307_200),
        ({"clip": 15, "share_heads": False}, 288_768),
        ({"clip": 16, "share_heads": True}, 307_200 // 8),
        ({"clip": 8, "values": False}, (17 + 9) * 6 * 64),
    ],
)
def test_parameters_of_the_base_shape(parameters: dict[str, Any], expected: int) -> None:
    config = parse({"type": "relative", **parameters})
    assert config.parameter_count(Shape.of(load_sizes(CONFIG)["base"])) == expected


def test_keys_or_values_must_be_there() -> None:
    with pytest.raises(WordorderError, match="keys or values must be true, or the encoding does nothing"):
        parse({"type": "relative", "keys": False, "values": False})
