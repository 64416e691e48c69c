"""Disentangled attention against released values, and against its formula one pair of tokens after the other."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn
from torch.testing import assert_close

from golden import golden
from raises import raises
from raw_scores import raw_scores
from wordorder.encodings.base import Positions, Shape, Stack
from wordorder.encodings.deberta import DeBERTa, DeBERTaAttention, DeBERTaConfig
from wordorder.encodings.registry import build, parse

SHAPE = Shape(dim=12, heads=3, encoder_layers=2, decoder_layers=2)
STACKS: tuple[Stack, ...] = ("encoder", "decoder")


def attention_of(stack: Stack = "encoder", **parameters: Any) -> DeBERTaAttention:
    attention = DeBERTa(DeBERTaConfig(**parameters), SHAPE).attention(stack, 0).double()
    for parameter in attention.parameters():
        nn.init.normal_(parameter)
    assert isinstance(attention, DeBERTaAttention)
    return attention


@pytest.mark.parametrize("kind", ["plain", "bucket"])
def test_weights_are_those_of_the_released_code(kind: str) -> None:
    values = {name.removeprefix(f"{kind}_"): value for name, value in golden("deberta").items()}
    buckets = {"plain": {"span": 4}, "bucket": {"buckets": 4, "span": 16}}[kind]
    attention = attention_of(third_term="released", **buckets)
    # The released bucket variant projects positions as it projects words.
    own = "pos_" if kind == "plain" else ""
    attention.load_state_dict(
        {
            "table.vectors": values["rel_embeddings"],
            "project_key.weight": values[f"{own}key_proj_weight"],
            "project_query.weight": values[f"{own}query_proj_weight"],
            "project_query.bias": values[f"{own}query_proj_bias"],
        }
    )
    queries, keys, contents = (
        (values["x"] @ values[f"{name}_proj_weight"].T + values[f"{name}_proj_bias"]).unflatten(-1, (3, 4))
        for name in ("query", "key", "value")
    )
    queries, keys, contents = (each.transpose(1, 2) for each in (queries, keys, contents))
    weights = raw_scores(attention, queries, keys, Positions.range(11)).softmax(-1)
    assert_close(weights, values["weights"], rtol=0, atol=1e-5)
    assert_close((weights @ contents).transpose(1, 2).flatten(2), values["out"], rtol=0, atol=1e-5)


def test_log_buckets_are_those_of_the_released_code() -> None:
    values = golden("deberta")
    config = DeBERTaConfig(buckets=256, span=512)
    rows = [config.row(int(distance)) for distance in values["log_bucket_256_512_r"]]
    expected = (values["log_bucket_256_512"].long() + 256).clamp(0, 511)
    assert rows == expected.tolist()


def formula(attention: DeBERTaAttention, config: DeBERTaConfig, vectors: list[Tensor], i: int, j: int) -> Tensor:
    """e_ij of each head, from the undivided query and key of all heads, (H, d_h) each."""
    query, key = vectors
    other = config.row(j - i) if config.third_term == "paper" else config.row(i - j)
    rows = attention.table.norm(attention.table.vectors)
    position_key = (attention.project_key.weight @ rows[config.row(i - j)]).view(3, 4)
    position_query = (attention.project_query.weight @ rows[other] + attention.project_query.bias).view(3, 4)
    return ((query * key).sum(-1) + (query * position_key).sum(-1) + (key * position_query).sum(-1)) / math.sqrt(12)


@pytest.mark.parametrize("stack", STACKS)
@pytest.mark.parametrize("third_term", ["paper", "released"])
@pytest.mark.parametrize("parameters", [{"span": 3}, {"span": 9, "buckets": 6}, {"span": 4, "norm": True}])
@settings(deadline=None, max_examples=6)
@given(
    sentences=st.integers(1, 2),
    queries=st.integers(1, 3),
    length=st.integers(3, 7),
    offset=st.integers(0, 30),
    stretched=st.integers(1, 4),
    seed=st.integers(0, 99),
)
def test_scores_are_the_formula(
    stack: Stack,
    third_term: Any,
    parameters: dict[str, Any],
    sentences: int,
    queries: int,
    length: int,
    offset: int,
    stretched: int,
    seed: int,
) -> None:
    torch.manual_seed(seed)
    config = DeBERTaConfig(third_term=third_term, **parameters)
    attention = attention_of(stack, third_term=third_term, **parameters)
    places = stretched * torch.stack([torch.randperm(length) for _ in range(sentences)]) + offset
    limit = offset + stretched * length
    query, key = Positions(places[:, -queries:], limit), Positions(places, limit)
    all_queries, keys = torch.randn(2, sentences, 3, length, 4, dtype=torch.float64, requires_grad=True)
    rows = all_queries[:, :, -queries:]
    found = raw_scores(attention, rows, keys, query, key)

    ours, theirs = [], []
    for b in range(sentences):
        for i, here in enumerate(query.absolute[b].tolist()):
            for j, there in enumerate(places[b].tolist()):
                if stack == "encoder" or there <= here:
                    ours.append(found[b, :, i, j])
                    theirs.append(formula(attention, config, [rows[b, :, i], keys[b, :, j]], here, there))
    assert_close(torch.stack(ours), torch.stack(theirs))
    leaves = [*attention.parameters(), all_queries, keys]
    toward = torch.randn(len(ours), 3, dtype=torch.float64)
    gradients = [torch.autograd.grad((torch.stack(each) * toward).sum(), leaves) for each in (ours, theirs)]
    assert_close(*gradients)


@pytest.mark.parametrize("stack", STACKS)
def test_gradients_are_those_of_small_differences(stack: Stack) -> None:
    torch.manual_seed(0)
    attention = attention_of(stack, span=3)
    queries, keys = (torch.randn(1, 3, 4, 4, dtype=torch.float64, requires_grad=True) for _ in range(2))

    def scores(queries: Tensor, keys: Tensor) -> Tensor:
        return raw_scores(attention, queries, keys, Positions.range(4)).tril()

    assert torch.autograd.gradcheck(scores, (queries, keys))


def test_distances_beyond_the_span_share_two_rows() -> None:
    config = DeBERTaConfig(span=4)
    assert [config.row(distance) for distance in range(-6, 7)] == [0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 7, 7, 7]


def test_layers_share_a_table_and_have_projections_of_their_own() -> None:
    encoding = build(parse({"type": "deberta", "span": 8}), SHAPE)
    first, second, other = (encoding.attention(*of) for of in (("encoder", 0), ("encoder", 1), ("decoder", 0)))
    assert isinstance(first, DeBERTaAttention) and isinstance(second, DeBERTaAttention)
    assert isinstance(other, DeBERTaAttention)
    assert first.table is second.table and first.table is not other.table
    assert first.project_key is not second.project_key


def test_start_values() -> None:
    torch.manual_seed(0)
    shape = Shape(dim=128, heads=8, encoder_layers=1, decoder_layers=1)
    attention = DeBERTa(DeBERTaConfig(), shape).attention("encoder", 0)
    assert isinstance(attention, DeBERTaAttention)
    for weight in (attention.table.vectors, attention.project_key.weight, attention.project_query.weight):
        assert float(weight.detach().std()) == pytest.approx(0.02, rel=0.05)
    assert not attention.project_query.bias.any()


def test_buckets_that_no_distance_fills_are_refused() -> None:
    with raises("invalid-value", says="span must exceed"):
        parse({"type": "deberta", "span": 8, "buckets": 16})
