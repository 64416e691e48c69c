from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.testing import assert_close

from golden import golden
from wordorder.encodings.base import Positions, Shape, Stack
from wordorder.encodings.cope import CoPEAttention, CoPEConfig

SHAPE = Shape(dim=6, heads=2, encoder_layers=1, decoder_layers=1)


@pytest.mark.parametrize("stack", ["encoder", "decoder"])
@pytest.mark.parametrize("share_heads", [True, False])
@settings(deadline=None, max_examples=8)
@given(length=st.integers(1, 6), table=st.integers(2, 6), seed=st.integers(0, 99), moved=st.booleans())
def test_scores_are_the_papers(
    stack: Stack, share_heads: bool, length: int, table: int, seed: int, moved: bool
) -> None:
    torch.manual_seed(seed)
    encoding = CoPEAttention(CoPEConfig(table=table, share_heads=share_heads), SHAPE, stack).double()
    torch.nn.init.normal_(encoding.vectors)
    queries, keys = torch.randn(2, 2, 2, length, 3, dtype=torch.float64)
    queries = queries / math.sqrt(3)
    scores = queries @ keys.mT
    order = torch.randperm(length) if moved else torch.arange(length)
    positions = Positions(order[None] * 3 + 1, 3 * length + 1)  # only the order of positions counts
    result = encoding.scores(scores, queries, queries, positions, positions)

    at = {int(place): token for token, place in enumerate(order)}  # position -> token
    for b in range(2):
        for h in range(2):
            for i in range(length):
                for j in range(length):
                    query_place, key_place = int(order[i]), int(order[j])
                    if stack == "decoder" and key_place > query_place:
                        continue  # masked
                    behind = key_place > query_place
                    between = range(query_place + 1, key_place + 1) if behind else range(key_place, query_place + 1)
                    counted = sum(1 / (1 + math.exp(-float(scores[b, h, i, at[place]]))) for place in between)
                    counted = min(counted, table - 1)
                    below = min(int(counted), table - 2)
                    vectors = encoding.vectors[1 if behind else 0, 0 if share_heads else h]
                    vector = (1 - (counted - below)) * vectors[below] + (counted - below) * vectors[below + 1]
                    expected = scores[b, h, i, j] + math.sqrt(3) * queries[b, h, i] @ vector  # q undivided
                    assert_close(result[b, h, i, j], expected, rtol=1e-5, atol=1e-5)


def test_a_released_implementation_gives_the_same() -> None:
    arrays = golden("cope")
    queries, table = (arrays[name].requires_grad_() for name in ("q", "table"))
    config = CoPEConfig(table=len(table), placement="decoder")
    encoding = CoPEAttention(config, Shape(dim=24, heads=3, encoder_layers=0, decoder_layers=1), "decoder").double()
    encoding.vectors = torch.nn.Parameter(table.detach()[None, None].clone())
    positions = Positions.range(queries.size(2))
    before = arrays["scores_before"]
    added = encoding.scores(before, queries / math.sqrt(8), arrays["k"], positions, positions) - before
    assert_close(added.tril(), arrays["added"].tril(), rtol=0, atol=1e-5)


def test_one_query_against_many_keys_is_the_last_row() -> None:
    encoding = CoPEAttention(CoPEConfig(), SHAPE, "decoder")
    queries, keys = torch.randn(2, 1, 2, 5, 3)
    scores = queries @ keys.mT
    full = encoding.scores(scores, queries, queries, Positions.range(5), Positions.range(5))
    step = encoding.scores(
        scores[..., 4:, :], queries[..., 4:, :], queries, Positions.range(1, offset=4), Positions.range(5)
    )
    assert_close(step, full[..., 4:, :])


def test_gates_get_gradients() -> None:
    torch.manual_seed(0)
    encoding = CoPEAttention(CoPEConfig(table=4), SHAPE, "encoder").double()
    torch.nn.init.normal_(encoding.vectors)
    queries = torch.randn(1, 2, 4, 3, dtype=torch.float64)
    scores = torch.randn(1, 2, 4, 4, dtype=torch.float64, requires_grad=True)

    def added(own: torch.Tensor) -> torch.Tensor:
        return encoding.scores(own, queries, queries, Positions.range(4), Positions.range(4)) - own

    assert bool(torch.autograd.grad(added(scores).square().sum(), scores)[0].any())


def test_counts() -> None:
    base = Shape(dim=512, heads=8, encoder_layers=6, decoder_layers=6)
    assert CoPEConfig().parameter_count(base) == (2 + 1) * 6 * 64 * 64
    assert CoPEConfig(share_heads=False, placement="decoder", table=10).parameter_count(base) == 6 * 10 * 64 * 8


@pytest.mark.parametrize("stack", ["encoder", "decoder"])
@settings(deadline=None, max_examples=20)
@given(
    sentences=st.integers(1, 3),
    queries=st.integers(1, 5),
    length=st.integers(5, 9),
    table=st.integers(2, 6),
    own_positions=st.booleans(),
    scale=st.sampled_from([0.1, 1.0, 30.0]),
    seed=st.integers(0, 99),
)
def test_loops_and_tensors_give_the_same(
    stack: Stack, sentences: int, queries: int, length: int, table: int, own_positions: bool, scale: float, seed: int
) -> None:
    torch.manual_seed(seed)
    encoding = CoPEAttention(CoPEConfig(table=table), SHAPE, stack).double()
    torch.nn.init.normal_(encoding.vectors)
    places = torch.stack([torch.randperm(length) for _ in range(sentences if own_positions else 1)])
    query, key = Positions(places[:, -queries:], length), Positions(places, length)
    x = torch.randn(sentences, 2, queries, 3, dtype=torch.float64, requires_grad=True)
    scores = (scale * torch.randn(sentences, 2, queries, length, dtype=torch.float64)).requires_grad_()
    visible = torch.ones(1, 1, queries, length, dtype=torch.bool)
    if stack == "decoder":  # other pairs are masked
        visible = (key.absolute[:, None] <= query.absolute[:, :, None])[:, None]
    results = [encoding.scores(scores, x, x, query, key), encoding.scores_by_tensors(scores, x, query, key)]
    ours, theirs = (each.where(visible, 0) for each in results)
    assert_close(ours, theirs)
    toward = torch.randn_like(ours)
    leaves = [scores, x, encoding.vectors]
    assert_close(*(torch.autograd.grad((each * toward).sum(), leaves) for each in (ours, theirs)))


def test_gradients_are_those_of_small_differences() -> None:
    torch.manual_seed(1)
    encoding = CoPEAttention(CoPEConfig(table=3), SHAPE, "encoder").double()
    torch.nn.init.normal_(encoding.vectors)
    scores, queries = (torch.randn(1, 2, 4, n, dtype=torch.float64, requires_grad=True) for n in (4, 3))
    positions = Positions.range(4)
    assert torch.autograd.gradcheck(lambda s, q: encoding.scores(s, q, q, positions, positions), (scores, queries))


def test_threads_change_no_bit() -> None:
    torch.manual_seed(0)
    encoding, positions = CoPEAttention(CoPEConfig(), SHAPE, "encoder"), Positions.range(300)
    scores = torch.randn(2, 2, 300, 300, requires_grad=True)
    queries = torch.randn(2, 2, 300, 3)
    results = []
    threads = torch.get_num_threads()
    try:
        for number in (1, 3):
            torch.set_num_threads(number)
            result = encoding.scores(scores, queries, queries, positions, positions)
            results.append((result, *torch.autograd.grad(result.square().sum(), (scores, encoding.vectors))))
    finally:
        torch.set_num_threads(threads)
    assert_close(*results, rtol=0, atol=0)
