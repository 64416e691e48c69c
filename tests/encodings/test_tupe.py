"""TUPE against released values, and against its formula one pair of tokens after the other."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch.nn import functional
from torch.testing import assert_close

from golden import golden
from raises import raises
from wordorder.encodings.base import Positions, Shape, Stack
from wordorder.encodings.registry import build, parse
from wordorder.encodings.t5 import T5Attention, T5Config, bucket
from wordorder.encodings.tupe import TUPEAttention, TUPEConfig
from wordorder.model.attention.base import attend

SHAPE = Shape(dim=12, heads=3, encoder_layers=2, decoder_layers=1)
STACKS: tuple[Stack, ...] = ("encoder", "decoder")


def attention_of(stack: Stack = "encoder", **parameters: object) -> TUPEAttention:
    """An attention with random numbers everywhere, in double precision."""
    attention = TUPEAttention(TUPEConfig.model_validate({"table": 20, **parameters}), SHAPE, stack).double()
    for parameter in attention.parameters():
        torch.nn.init.normal_(parameter)
    return attention


def load(attention: TUPEAttention, values: dict[str, Tensor], kind: str) -> None:
    names = {"table": "table", "norm.weight": "ln_w", "norm.bias": "ln_b"}
    names |= {"project_query.weight": "wq", "project_query.bias": "bq"}
    names |= {"project_key.weight": "wk", "project_key.bias": "bk"}
    state = {own: values[f"{kind}_{theirs}"] for own, theirs in names.items()}
    state["table"] = state["table"][1:]  # row 0 is that of [CLS]
    attention.load_state_dict(state, strict=False)


@pytest.mark.parametrize("kind", ["abs", "rel"])
def test_positions_without_cls_are_those_of_the_released_code(kind: str) -> None:
    values = golden("tupe")
    attention = attention_of(table=16)
    load(attention, values, kind)
    found = attention.bias(Positions.range(9), Positions.range(9))[0]
    assert_close(found, values[f"{kind}_absolute_untied_without_cls"], rtol=0, atol=1e-5)


def test_relative_adds_the_released_buckets() -> None:
    values = golden("tupe")
    attention = attention_of(table=16)
    load(attention, values, "rel")
    attention.buckets = T5Attention(T5Config(buckets=8, max_distance=16), SHAPE, "encoder").double()
    with torch.no_grad():
        attention.buckets.table.copy_(values["rel_buckets_table"][:8])
    found = attention.bias(Positions.range(9), Positions.range(9))[0]
    # The released code gives the first token, [CLS], a bias of its own.
    assert_close(found[:, 1:, 1:], values["rel_bias"][:, 1:, 1:], rtol=0, atol=1e-5)


@pytest.mark.parametrize("stack", STACKS)
@pytest.mark.parametrize("relative", [False, True])
@settings(deadline=None, max_examples=10)
@given(
    sentences=st.integers(1, 2),
    queries=st.integers(1, 3),
    length=st.integers(3, 6),
    offset=st.integers(0, 9),
    seed=st.integers(0, 99),
)
def test_scores_are_the_formula(
    stack: Stack, relative: bool, sentences: int, queries: int, length: int, offset: int, seed: int
) -> None:
    torch.manual_seed(seed)
    attention = attention_of(stack, relative=relative)
    key = torch.stack([torch.randperm(length) for _ in range(sentences)]) + offset
    query = key[:, -queries:]
    found = attention.bias(Positions(query, offset + length), Positions(key, offset + length))

    pairs = []
    for rows, columns in zip(query.tolist(), key.tolist(), strict=True):
        for i in rows:
            for j in columns:
                left, right = (
                    functional.layer_norm(attention.table[p], (12,), attention.norm.weight, attention.norm.bias)
                    for p in (i, j)
                )
                left = attention.project_query.weight @ left + attention.project_query.bias
                right = attention.project_key.weight @ right + attention.project_key.bias
                own = torch.stack([left[h : h + 4] @ right[h : h + 4] for h in (0, 4, 8)]) / math.sqrt(8)
                if attention.buckets is not None:
                    row = bucket(j - i, buckets=32, max_distance=128, causal=stack == "decoder")
                    own = own + attention.buckets.table[row]
                pairs.append(own)
    expected = torch.stack(pairs).view(sentences, queries, length, 3).permute(0, 3, 1, 2)
    assert_close(found, expected)

    leaves = list(attention.parameters())
    toward = torch.randn_like(found)
    assert_close(*(torch.autograd.grad((each * toward).sum(), leaves) for each in (found, expected)))


def test_content_is_divided_by_two_more_and_the_bias_is_not() -> None:
    torch.manual_seed(0)
    attention, positions = attention_of(), Positions.range(5)
    queries, keys, values = torch.randn(3, 2, 3, 5, 4, dtype=torch.float64)
    rotated, kept = attention.rotate(queries, keys, positions)
    found = attend(
        rotated, kept, values, unrotated=queries,
        mask=None, dropout_probability=0.0, training=False, encoding=attention, query=positions, key=positions,
    )  # fmt: skip
    scores = queries @ keys.mT / math.sqrt(8) + attention.bias(positions, positions)
    assert_close(found, scores.softmax(-1) @ values)


@pytest.mark.parametrize("stack", STACKS)
def test_gradients_are_those_of_small_differences(stack: Stack) -> None:
    torch.manual_seed(0)
    attention, positions = attention_of(stack, table=4, relative=True), Positions.range(4)
    names = [name for name, _ in attention.named_parameters()]

    def bias(*parameters: Tensor) -> Tensor:
        for name, parameter in zip(names, parameters, strict=True):
            owner, _, leaf = name.rpartition(".")
            module = attention.get_submodule(owner)
            delattr(module, leaf)
            setattr(module, leaf, parameter)
        return attention.bias(positions, positions)

    assert torch.autograd.gradcheck(bias, [p.detach().requires_grad_() for p in attention.parameters()])


def test_layers_of_a_stack_share_everything() -> None:
    encoding = build(parse({"type": "tupe", "relative": True}), SHAPE)
    assert encoding.attention("encoder", 0) is encoding.attention("encoder", 1)
    assert encoding.attention("encoder", 0) is not encoding.attention("decoder", 0)


def test_beyond_the_table_is_an_error() -> None:
    attention = attention_of(table=3)
    attention.bias(Positions.range(3), Positions.range(3))
    with raises("too-long", key="table", found=4, expected=3):
        attention.bias(Positions.range(1, offset=3), Positions.range(4))


def test_start_values() -> None:
    torch.manual_seed(0)
    shape = Shape(dim=128, heads=8, encoder_layers=1, decoder_layers=1)
    attention = TUPEAttention(TUPEConfig(relative=True), shape, "encoder")
    assert attention.buckets is not None
    for weight in (attention.table, attention.project_query.weight, attention.project_key.weight):
        assert float(weight.detach().std()) == pytest.approx(0.02, rel=0.05)
    assert float(attention.buckets.table.detach().std()) == pytest.approx(0.02, rel=0.25)
    for bias in (attention.project_query.bias, attention.project_key.bias, attention.norm.bias):
        assert not bias.any()
    assert bool((attention.norm.weight == 1).all())
