from __future__ import annotations

import math
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.functional import scaled_dot_product_attention
from torch.testing import assert_close

from wordorder.encodings.base import AttentionEncoding, Positions
from wordorder.model.attention import CrossAttention, KeyValueCache, SelfAttention, attend, merge_heads, split_heads
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


def test_what_is_masked_is_not_looked_at() -> None:
    queries, keys, values = torch.randn(3, 2, 1, 4, 4)
    mask = padding_mask(torch.tensor([[5, 6, 7, PAD], [5, PAD, PAD, PAD]]))
    before = plain(queries, keys, values, mask)
    keys[0, :, 3], values[0, :, 3], values[1, :, 1:] = 99.0, -99.0, 99.0
    assert_close(plain(queries, keys, values, mask), before)
    assert_close(before[1], values[1, :, :1].expand_as(before[1]))


class OnGPU(Tensor):
    """Says that it is on a GPU, so that the way of the fused kernel is taken."""

    is_cuda = True


def fused(queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor | None, **rest: Any) -> tuple[Tensor, Any]:
    """What comes out of the fused kernel, and the mask that it was given."""
    given: list[Any] = []

    def kernel(*inputs: Tensor, attn_mask: Tensor | None, dropout_p: float) -> Tensor:
        given.append(attn_mask)
        plain_inputs = [own.as_subclass(Tensor) for own in inputs]
        return scaled_dot_product_attention(*plain_inputs, attn_mask=attn_mask, dropout_p=dropout_p)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(functional, "scaled_dot_product_attention", kernel)
        result = plain(queries.as_subclass(OnGPU), keys, values, mask, **rest)
    (mask,) = given
    return result, mask


@pytest.mark.parametrize("precision", [torch.bfloat16, torch.float16])
def test_a_fused_kernel_gets_the_mask_in_the_precision_of_the_queries(precision: torch.dtype) -> None:
    class Unseen(AttentionEncoding):
        """The second key is hidden as directional heads hide one: half precision has no -1e9."""

        def bias(self, query: Positions, key: Positions) -> Tensor:
            return torch.tensor([0.5, -1e9, 0.0, 0.0]).expand(1, 1, 4, 4)

    torch.manual_seed(0)
    inputs = torch.randn(3, 2, 1, 4, 4)
    queries, keys, values = inputs.to(precision)
    tokens = torch.tensor([[5, 6, 7, PAD], [PAD, 6, PAD, PAD]])
    result, mask = fused(queries, keys, values, padding_mask(tokens), encoding=Unseen())
    assert mask.dtype == precision and result.dtype == precision
    assert bool(mask.isfinite().all())
    exact = plain(*inputs, padding_mask(tokens), encoding=Unseen())
    assert_close(result[0].float(), exact[0], atol=0.02, rtol=0.02)
    assert bool(result.isfinite().all())  # also of the second sentence, of which everything is hidden
    assert fused(queries, keys, values, None)[1] is None


@pytest.mark.parametrize("kind", ["none", "padding", "causal", "both"])
def test_a_fused_kernel_in_single_precision_gets_the_mask_as_it_is(kind: str) -> None:
    torch.manual_seed(0)
    queries, keys, values = torch.randn(3, 2, 3, 5, 4)
    mask = masks(5, 5)[kind]
    result, given_mask = fused(queries, keys, values, mask)
    assert given_mask is mask
    assert torch.equal(result, scaled_dot_product_attention(queries, keys, values, attn_mask=mask))


def test_single_precision_without_a_fused_kernel_is_the_formula_bit_by_bit() -> None:
    torch.manual_seed(0)
    queries, keys, values = torch.randn(3, 2, 3, 5, 4)
    for mask in masks(5, 5).values():
        scores = (queries * (1 / math.sqrt(4))) @ keys.transpose(-1, -2)
        expected = torch.softmax(scores if mask is None else scores + mask, dim=-1) @ values
        assert torch.equal(plain(queries, keys, values, mask), expected)


class Watching(AttentionEncoding):
    """Keeps the weights that it is shown."""

    def context(self, context: Tensor, weights: Tensor, query: Positions, key: Positions) -> Tensor:
        self.weights = weights.detach()
        return context


def test_dropout_of_weights_is_for_training_alone() -> None:
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
