from __future__ import annotations

import math
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn
from torch.nn.functional import scaled_dot_product_attention
from torch.testing import assert_close

from wordorder.encodings.base import AttentionEncoding, Positions, ScoreFunction
from wordorder.errors import WordorderError
from wordorder.model.attention.base import REGISTRY, Attention, attend, choose, needs_of
from wordorder.model.attention.multihead import CrossAttention, KeyValueCache, SelfAttention, merge_heads, split_heads
from wordorder.model.batch import PAD
from wordorder.model.masks import causal_mask, padding_mask

CPU = torch.device("cpu")
NOTHING = AttentionEncoding()


def plain(queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor | None, **rest: Any) -> Tensor:
    places = {
        "encoding": NOTHING,
        "query": Positions.range(queries.size(2)),
        "key": Positions.range(keys.size(2)),
    } | rest
    return attend(queries, keys, values, mask=mask, dropout_probability=0.0, training=True, **places)


def masks(queries: int, keys: int) -> dict[str, Tensor | None]:
    tokens = torch.ones(2, keys, dtype=torch.long)
    tokens[0, keys - 1 :] = PAD if keys > 1 else 1
    causal = causal_mask(max(queries, keys), on=CPU)[..., :queries, :keys]
    padding = padding_mask(tokens)
    return {"none": None, "padding": padding, "causal": causal, "both": causal if padding is None else causal + padding}


@settings(deadline=None, max_examples=15)
@given(queries=st.integers(1, 6), keys=st.integers(1, 6), seed=st.integers(0, 99))
@pytest.mark.parametrize("kind", ["none", "padding", "causal", "both"])
def test_values_and_gradients_are_pytorch_s(kind: str, queries: int, keys: int, seed: int) -> None:
    torch.manual_seed(seed)
    inputs = [torch.randn(2, 3, length, 4, requires_grad=True) for length in (queries, keys, keys)]
    mask = masks(queries, keys)[kind]
    own_queries, own_keys, own_values = inputs
    ours = plain(own_queries, own_keys, own_values, mask)
    theirs = scaled_dot_product_attention(own_queries, own_keys, own_values, attn_mask=mask)
    assert_close(ours, theirs)
    toward = torch.randn_like(ours)
    assert_close(torch.autograd.grad(ours, inputs, toward), torch.autograd.grad(theirs, inputs, toward))


def test_a_bias_is_added_to_the_scores_after_scaling() -> None:
    class Table(AttentionEncoding):
        needs = frozenset({"bias"})

        def bias(self, query: Positions, key: Positions) -> Tensor:
            return table[None, :, query.absolute[0]][..., key.absolute[0]]

    table = torch.randn(3, 9, 9)
    queries, keys, values = torch.randn(2, 3, 4, 5), torch.randn(2, 3, 6, 5), torch.randn(2, 3, 6, 5)
    for mask in masks(4, 6).values():
        result = plain(
            queries, keys, values, mask, encoding=Table(), query=Positions.range(4, offset=2), key=Positions.range(6)
        )
        bias = table[None, :, 2:6, :6]
        theirs = scaled_dot_product_attention(queries, keys, values, attn_mask=bias if mask is None else bias + mask)
        assert_close(result, theirs)


def test_masks() -> None:
    infinite = -math.inf
    tokens = torch.tensor([[5, 6, PAD], [5, 6, 7]])
    mask = padding_mask(tokens)
    assert mask is not None
    assert torch.equal(mask, torch.tensor([[[[0, 0, infinite]]], [[[0, 0, 0.0]]]]))
    assert padding_mask(tokens[1:]) is None
    expected = torch.tensor([[0, infinite, infinite], [0, 0, infinite], [0, 0, 0.0]])
    assert torch.equal(causal_mask(3, on=CPU), expected[None, None])
    assert torch.equal(causal_mask(1, on=CPU), torch.zeros(1, 1, 1, 1))


def test_masked_keys_get_no_attention() -> None:
    queries, keys, values = torch.randn(3, 2, 1, 4, 4)
    mask = padding_mask(torch.tensor([[5, 6, 7, PAD], [5, PAD, PAD, PAD]]))
    before = plain(queries, keys, values, mask)
    keys[0, :, 3], values[0, :, 3], values[1, :, 1:] = 99.0, -99.0, 99.0
    assert_close(plain(queries, keys, values, mask), before)
    assert_close(before[1], values[1, :, :1].expand_as(before[1]))


def through(backend: str, queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor | None, **rest: Any) -> Tensor:
    """Compute attention by one backend, regardless of the choice. Fused kernels run on CPUs, too."""
    given = {
        "encoding": NOTHING,
        "query": Positions.range(queries.size(2)),
        "key": Positions.range(keys.size(2)),
        "unrotated": queries,
        "weights_reader": None,
        "dropout": 0.0,
    } | rest
    return REGISTRY.get(backend).attend(Attention(queries, keys, values, mask=mask, **given))


class Unseen(AttentionEncoding):
    """The second key is hidden in the way of directional heads; half precision has no -1e9."""

    needs = frozenset({"bias"})

    def bias(self, query: Positions, key: Positions) -> Tensor:
        return torch.tensor([0.5, -1e9, 0.0, 0.0]).expand(1, 1, 4, 4)


@pytest.mark.parametrize("backend", ["sdpa", "flex"])
@pytest.mark.parametrize("precision", [torch.bfloat16, torch.float16])
def test_a_fused_kernel_stays_finite_in_half_precision(backend: str, precision: torch.dtype) -> None:
    torch.manual_seed(0)
    inputs = torch.randn(3, 2, 1, 4, 4)
    queries, keys, values = inputs.to(precision)
    mask = padding_mask(torch.tensor([[5, 6, 7, PAD], [PAD, 6, PAD, PAD]]))
    result = through(backend, queries, keys, values, mask, encoding=Unseen())
    assert result.dtype == precision
    exact = plain(*inputs, mask, encoding=Unseen())
    assert_close(result[0].float(), exact[0], atol=0.02, rtol=0.02)
    if backend == "sdpa":
        assert bool(result.isfinite().all())  # also of the second sentence, of which everything is hidden


@pytest.mark.parametrize("kind", ["none", "padding", "causal", "both"])
def test_the_fused_kernel_in_single_precision_is_pytorch_s(kind: str) -> None:
    torch.manual_seed(0)
    queries, keys, values = torch.randn(3, 2, 3, 5, 4)
    mask = masks(5, 5)[kind]
    expected = scaled_dot_product_attention(queries, keys, values, attn_mask=mask)
    assert torch.equal(through("sdpa", queries, keys, values, mask), expected)


@pytest.mark.parametrize(
    ("preferred", "device", "needs", "name"),
    [
        ("", "cpu", set(), "eager"),
        ("", "cpu", {"bias"}, "eager"),
        ("", "cuda", set(), "sdpa"),
        ("", "cuda", {"bias", "dropout"}, "sdpa"),
        ("", "cuda", {"scores", "bias"}, "eager"),
        ("", "cuda", {"score_function"}, "eager"),
        ("", "cuda", {"context"}, "eager"),
        ("", "cuda", {"weights"}, "eager"),
        ("flex", "cpu", {"bias"}, "eager"),
        ("flex", "cuda", set(), "flex"),
        ("flex", "cuda", {"bias"}, "flex"),
        ("flex", "cuda", {"bias", "score_function"}, "flex"),
        ("flex", "cuda", {"bias", "dropout"}, "sdpa"),
        ("flex", "cuda", {"scores"}, "eager"),
        ("flex", "cuda", {"weights"}, "eager"),
        ("eager", "cuda", {"bias"}, "eager"),
    ],
)
def test_the_backend_follows_from_what_is_needed(
    monkeypatch: pytest.MonkeyPatch, preferred: str, device: str, needs: set[Any], name: str
) -> None:
    monkeypatch.setenv("WORDORDER_ATTENTION", preferred)
    assert choose(device, frozenset(needs)).name == name


def test_an_unknown_backend_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORDORDER_ATTENTION", "flax")
    with pytest.raises(WordorderError) as raised:
        choose("cpu", frozenset())
    error = raised.value
    assert (error.code, error.key, error.found) == ("unknown-attention-backend", "WORDORDER_ATTENTION", "flax")


def test_needs_are_those_that_an_encoding_declares() -> None:
    class PairByPair(AttentionEncoding):
        needs = frozenset({"scores", "rotate"})
        pairwise = True

        def rotate(self, queries: Tensor, keys: Tensor, positions: Positions) -> tuple[Tensor, Tensor]:
            return queries, keys

        def scores(self, scores: Tensor, queries: Tensor, keys: Tensor, query: Positions, key: Positions) -> Tensor:
            return scores + 1

        def score_function(self, queries: Tensor, query: Positions, key: Positions) -> ScoreFunction:
            return lambda score, *_: score + 1

    assert needs_of(NOTHING, dropout=False, weights=False) == set()
    assert needs_of(PairByPair(), dropout=False, weights=False) == {"score_function"}
    assert needs_of(Watching(), dropout=True, weights=True) == {"context", "dropout", "weights"}


@pytest.mark.parametrize(
    ("members", "expected"),
    [
        ({"bias": lambda self, query, key: None}, ["bias"]),
        ({"biass": lambda self, query, key: None, "needs": frozenset({"bias"})}, []),
        ({"bias": lambda self, query, key: None, "needs": frozenset({"bias", "scores"})}, ["bias"]),
        ({"score_function": lambda self, queries, query, key: None}, True),
    ],
)
def test_a_declaration_that_does_not_match_is_refused_where_the_class_is_defined(
    members: dict[str, Any], expected: Any
) -> None:
    with pytest.raises(WordorderError) as raised:
        type("Own", (AttentionEncoding,), members)
    assert raised.value.code == "places-not-declared"
    assert raised.value.expected == expected
    assert "Own" in str(raised.value)


def test_weights_that_are_requested_are_handed_over() -> None:
    torch.manual_seed(0)
    queries, keys, values = torch.randn(3, 2, 3, 5, 4)
    read: list[Tensor] = []
    result = plain(queries, keys, values, None, weights_reader=read.append)
    assert torch.equal(result, plain(queries, keys, values, None))
    assert torch.equal(read[0] @ values, result)


def test_single_precision_without_a_fused_kernel_is_the_formula_bit_by_bit() -> None:
    torch.manual_seed(0)
    queries, keys, values = torch.randn(3, 2, 3, 5, 4)
    for mask in masks(5, 5).values():
        scores = (queries * (1 / math.sqrt(4))) @ keys.transpose(-1, -2)
        expected = torch.softmax(scores if mask is None else scores + mask, dim=-1) @ values
        assert torch.equal(plain(queries, keys, values, mask), expected)


class Watching(AttentionEncoding):
    """A reader that keeps the weights."""

    needs = frozenset({"context"})

    def context(self, context: Tensor, weights: Tensor, query: Positions, key: Positions) -> Tensor:
        self.weights = weights.detach()
        return context


def test_weights_are_dropped_in_training_only() -> None:
    torch.manual_seed(0)
    queries, keys, values = torch.randn(3, 2, 2, 30, 4)
    positions = Positions.range(30)
    watching = {training: Watching() for training in (True, False)}
    results = {
        training: attend(
            queries, keys, values,
            mask=None, dropout_probability=0.5, training=training, encoding=own, query=positions, key=positions,
        )
        for training, own in watching.items()
    }  # fmt: skip
    weights, kept = watching[False].weights, watching[True].weights
    assert_close(weights.sum(-1), torch.ones(2, 2, 30))
    assert float((kept == 0).float().mean()) == pytest.approx(0.5, abs=0.05)
    assert_close(kept[kept != 0], 2 * weights[kept != 0])
    assert_close(results[True], kept @ values)
    assert_close(results[False], weights @ values)


def test_heads() -> None:
    x = torch.arange(12.0).view(1, 2, 6)
    assert split_heads(x, 3)[0, 1].tolist() == [[2, 3], [8, 9]]
    assert torch.equal(merge_heads(split_heads(x, 3)), x)


def randomised(module: nn.Module) -> Any:
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.normal_(std=0.5)
    return module.eval()


def test_self_attention_is_pytorch_s() -> None:
    torch.manual_seed(0)
    ours = randomised(SelfAttention(12, 3, 0.0))
    theirs = nn.MultiheadAttention(12, 3, batch_first=True).eval()
    with torch.no_grad():
        theirs.in_proj_weight.copy_(ours.project_in.weight)
        theirs.in_proj_bias.copy_(ours.project_in.bias)
        theirs.out_proj.weight.copy_(ours.project_out.weight)
        theirs.out_proj.bias.copy_(ours.project_out.bias)
    x = torch.randn(2, 5, 12)
    mask = causal_mask(5, on=CPU)
    result = ours(x, mask=mask, encoding=NOTHING, positions=Positions.range(5))
    assert_close(result, theirs(x, x, x, attn_mask=mask[0, 0], need_weights=False)[0])


def test_cross_attention_is_pytorch_s() -> None:
    torch.manual_seed(0)
    ours = randomised(CrossAttention(12, 3, 0.0))
    theirs = nn.MultiheadAttention(12, 3, batch_first=True).eval()
    with torch.no_grad():
        theirs.in_proj_weight.copy_(torch.cat((ours.project_query.weight, ours.project_memory.weight)))
        theirs.in_proj_bias.copy_(torch.cat((ours.project_query.bias, ours.project_memory.bias)))
        theirs.out_proj.weight.copy_(ours.project_out.weight)
        theirs.out_proj.bias.copy_(ours.project_out.bias)
    x, memory = torch.randn(2, 5, 12), torch.randn(2, 4, 12)
    tokens = torch.tensor([[5, 5, 5, 5], [5, 5, PAD, PAD]])
    places = {"encoding": NOTHING, "query": Positions.range(5), "key": Positions.range(4)}
    result = ours(x, *ours.read(memory), mask=padding_mask(tokens), **places)
    expected = theirs(x, memory, memory, key_padding_mask=tokens == PAD, need_weights=False)[0]
    assert_close(result, expected)


def test_new_projections_have_the_glorot_bound() -> None:
    torch.manual_seed(0)
    dim = 64
    own, cross = SelfAttention(dim, 4, 0.0), CrossAttention(dim, 4, 0.0)
    for weight, inputs, outputs in (
        (own.project_in.weight, dim, 3 * dim),
        (own.project_out.weight, dim, dim),
        (cross.project_query.weight, dim, dim),
        (cross.project_memory.weight, dim, 2 * dim),
        (cross.project_out.weight, dim, dim),
    ):
        assert float(weight.detach().abs().max()) == pytest.approx(math.sqrt(6 / (inputs + outputs)), rel=0.01)
    biases = [value for module in (own, cross) for name, value in module.named_parameters() if name.endswith("bias")]
    assert len(biases) == 5
    assert not any(bool(bias.any()) for bias in biases)


def test_a_cache_holds_the_past_and_keeps_chosen_rows() -> None:
    cache = KeyValueCache()
    cache.select(torch.tensor([0]))  # of nothing is nothing
    keys, values = torch.randn(2, 3, 2, 5, 4)
    for step in range(5):
        part = slice(step, step + 1)
        all_keys, all_values, positions = cache.append(
            keys[:, :, part], values[:, :, part], Positions.range(1, offset=step)
        )
        assert torch.equal(all_keys, keys[:, :, : step + 1])
        assert torch.equal(all_values, values[:, :, : step + 1])
        assert positions.absolute.tolist() == [list(range(step + 1))]
        assert positions.limit == step + 1
    rows = torch.tensor([2, 0, 2])
    cache.select(rows)
    assert cache.keys is not None and torch.equal(cache.keys, keys[rows])
    assert cache.values is not None and torch.equal(cache.values, values[rows])
