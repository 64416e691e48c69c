"""Tests of Adaptive-T5 against its formula, for one head and one pair of tokens at a time."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn
from torch.func import functional_call
from torch.testing import assert_close

from golden import golden
from wordorder.encodings.adaptive_t5 import AdaptiveT5, AdaptiveT5Attention, AdaptiveT5Config
from wordorder.encodings.base import AttentionEncoding, Positions, Shape, Stack
from wordorder.encodings.registry import build, parse

SHAPE = Shape(dim=6, heads=3, encoder_layers=3, decoder_layers=2)
STACKS: tuple[Stack, ...] = ("encoder", "decoder")
SMALL = AdaptiveT5Config(hidden=3, second_hidden=2, scale=20.0)


def attention_of(stack: Stack, config: AdaptiveT5Config = SMALL) -> AdaptiveT5Attention:
    """In double precision and with numbers that make distances count."""
    attention = AdaptiveT5Attention(config, SHAPE, stack).double().eval()
    with torch.no_grad():
        for name, parameter in attention.named_parameters():
            if name != "rate":
                parameter.normal_()
    return attention


def naive(attention: AdaptiveT5Attention, head: int, r: int) -> Tensor:
    """g_h(u) of a key r behind the query, written like its formula."""
    sign = 1 if r > 0 else 0  # r ≤ 0 comes first
    rate = attention.rate[sign, head]
    a = rate / attention.scale if rate > 0 else rate * 0
    u = 1 - torch.exp(-a * r) if r > 0 else 1 - torch.exp(a * r)
    first = [
        torch.sigmoid(attention.weight_1[sign, head, 0, m] * u + attention.bias_1[sign, head, 0, m])
        for m in range(attention.weight_1.size(-1))
    ]
    second = []
    for n in range(attention.weight_2.size(-1)):
        total = attention.bias_2[sign, head, 0, n]
        for m, one in enumerate(first):
            total = total + attention.weight_2[sign, head, m, n] * one
        second.append(torch.sigmoid(total))
    result = torch.zeros((), dtype=u.dtype) if attention.bias_3 is None else attention.bias_3[sign, head, 0]
    for n, one in enumerate(second):
        result = result + attention.weight_3[sign, head, 0, n] * one
    return result


@pytest.mark.parametrize("stack", STACKS)
@settings(deadline=None, max_examples=10)
@given(
    sentences=st.integers(1, 2),
    queries=st.integers(1, 3),
    length=st.integers(3, 5),
    offset=st.integers(0, 40),
    seed=st.integers(0, 99),
)
def test_bias_is_the_formula(stack: Stack, sentences: int, queries: int, length: int, offset: int, seed: int) -> None:
    torch.manual_seed(seed)
    attention = attention_of(stack)
    key = torch.stack([torch.randperm(length) for _ in range(sentences)]) + offset
    query = key[:, -queries:]
    found = attention.bias(Positions(query, offset + length), Positions(key, offset + length))
    assert found.shape == (sentences, 3, queries, length)
    toward, hidden = torch.randn_like(found), torch.zeros_like(found, dtype=torch.bool)
    pairs = []
    for sentence in range(sentences):
        for head in range(3):
            for i in range(queries):
                for j in range(length):
                    r = int(key[sentence, j] - query[sentence, i])
                    if stack == "encoder" or r <= 0:  # the decoder's mask hides the others
                        expected = naive(attention, head, r)
                        assert_close(found[sentence, head, i, j], expected)
                        pairs.append(expected * toward[sentence, head, i, j])
                    else:
                        hidden[sentence, head, i, j] = True
    leaves = list(attention.parameters())
    assert_close(
        torch.autograd.grad((found * toward)[~hidden].sum(), leaves),
        torch.autograd.grad(torch.stack(pairs).sum(), leaves),
    )


def test_u_grows_from_nothing_to_one_on_either_side() -> None:
    attention = attention_of("encoder", AdaptiveT5Config(hidden=1, second_hidden=1))
    with torch.no_grad():
        attention.rate.copy_(torch.tensor([[2.0, 4.0, 8.0], [1.0, 3.0, 5.0]]))
        for one in (attention.weight_1, attention.weight_2, attention.weight_3):
            one.fill_(1)
        for zero in (attention.bias_1, attention.bias_2, attention.bias_3):
            assert zero is not None
            zero.zero_()
    bias = attention.bias(Positions(torch.tensor([[3000]]), 3001), Positions.range(6001))[0, :, 0]
    # Back through the two sigmoids.
    u = torch.logit(torch.logit(bias))
    assert_close(u[:, 3000], torch.zeros(3, dtype=torch.float64), atol=1e-9, rtol=0)
    assert_close(u[:, [0, -1]], torch.ones(3, 2, dtype=torch.float64), atol=1e-4, rtol=0)
    assert (u[:, :3001].diff() <= 0).all() and (u[:, 3000:].diff() >= 0).all()
    # β belongs to keys before the query, α to those behind it, and both are divided by 256.
    assert_close(u[:, 2900], 1 - torch.exp(-100 * torch.tensor([2.0, 4.0, 8.0]).double() / 256))
    assert_close(u[:, 3100], 1 - torch.exp(-100 * torch.tensor([1.0, 3.0, 5.0]).double() / 256))


@pytest.mark.parametrize("stack", STACKS)
def test_gradients_are_those_of_small_differences(stack: Stack) -> None:
    torch.manual_seed(0)
    attention = attention_of(stack)
    names = [name for name, _ in attention.named_parameters()]
    values = [value.detach().requires_grad_() for value in attention.parameters()]

    def bias(*parameters: Tensor) -> Tensor:
        given_names = {f"attention.{name}": parameter for name, parameter in zip(names, parameters, strict=True)}
        return functional_call(_Bias(attention), given_names, (Positions.range(4),))  # type: ignore[no-any-return]

    assert torch.autograd.gradcheck(bias, values)


class _Bias(nn.Module):
    def __init__(self, attention: AdaptiveT5Attention) -> None:
        super().__init__()
        self.attention = attention

    def forward(self, positions: Positions) -> Tensor:
        bias = self.attention.bias(positions, positions)
        return bias if len(self.attention.rate) > 1 else bias.tril()


def test_a_negative_rate_switches_its_side_off_and_nothing_else() -> None:
    attention = attention_of("encoder")
    with torch.no_grad():
        attention.rate[0, 1] = -1
    bias = attention.bias(Positions.range(5), Positions.range(5))[0]
    assert_close(bias[1, 4], bias[1, 4, 4].expand(5))  # everything up to the query is as near as the query
    assert len(set(bias[1, 0, 1:].tolist())) == 4
    assert len(set(bias[0, 4].tolist())) == 5
    (gradient,) = torch.autograd.grad(bias.square().sum(), attention.rate)
    assert (gradient == 0).tolist() == [[False, True, False], [False, False, False]]


def test_dropout_lies_between_the_hidden_layers_and_is_shared_by_pairs_of_a_distance() -> None:
    torch.manual_seed(0)
    attention, positions = attention_of("encoder"), Positions.range(6)
    expected = attention.bias(positions, positions)
    attention.train()
    dropped = attention.bias(positions, positions)
    assert not torch.allclose(dropped, expected)
    assert not torch.allclose(attention.bias(positions, positions), dropped)
    for distance in range(-5, 6):
        diagonal = dropped[0].diagonal(distance, dim1=1, dim2=2)
        assert_close(diagonal, diagonal[:, :1].expand_as(diagonal))

    with torch.no_grad():
        attention.weight_2.zero_()  # what comes before no longer counts
    assert_close(attention.bias(positions, positions), attention.eval().bias(positions, positions))
    without = attention_of("encoder", AdaptiveT5Config(dropout=0))
    assert_close(without.train().bias(positions, positions), without.eval().bias(positions, positions))


@pytest.mark.parametrize("stack", STACKS)
def test_dropout_of_pairs_is_the_published_one(stack: Stack) -> None:
    torch.manual_seed(0)
    config = SMALL.model_copy(update={"dropout_per": "pair"})
    attention, shared = attention_of(stack, config), attention_of(stack)
    shared.load_state_dict(attention.state_dict())
    positions = Positions.range(6)
    assert_close(attention.bias(positions, positions), shared.bias(positions, positions))  # without dropout the same
    dropped = attention.train().bias(positions, positions)
    assert dropped.shape == (1, 3, 6, 6)  # one mask for all sentences
    for distance in range(-4, 1 if stack == "decoder" else 5):
        diagonal = dropped[0].diagonal(distance, dim1=1, dim2=2)
        assert not torch.allclose(diagonal, diagonal[:, :1].expand_as(diagonal))
    attention.dropout = 0
    visible = torch.ones(6, 6, dtype=torch.bool).tril(0 if stack == "decoder" else 6)
    assert_close(attention.bias(positions, positions)[..., visible], shared.bias(positions, positions)[..., visible])


def test_the_mean_of_dropout_of_pairs_keeps_signs_apart() -> None:
    torch.manual_seed(0)
    attention = attention_of("encoder", AdaptiveT5Config(hidden=64, dropout_per="pair"))
    with torch.no_grad():
        attention.weight_2.mul_(1e-4)  # so small that the second sigmoid is a straight line
        attention.weight_3.mul_(1e4)
    positions = Positions.range(4)
    expected = attention.bias(positions, positions).detach()
    attention.train()
    mean = torch.stack([attention.bias(positions, positions).detach() for _ in range(2000)]).mean(0)
    assert float((mean - expected).abs().max()) < 0.3 * float(expected.std())


def test_the_input_bias_moves_source_embeddings_only() -> None:
    torch.manual_seed(0)
    shape = Shape(dim=512, heads=8, encoder_layers=2, decoder_layers=2)
    encoding = build(AdaptiveT5Config(input_bias=True), shape)
    assert isinstance(encoding, AdaptiveT5) and encoding.input_bias is not None
    x, positions = torch.randn(2, 5, 512), Positions.range(5)
    assert_close(encoding.add_to_embeddings(x, positions, "encoder"), x + encoding.input_bias)
    assert_close(encoding.add_to_embeddings(x, positions, "decoder"), x, rtol=0, atol=0)
    # The authors' framework starts it from U[-√(3/d), √(3/d)].
    bound = (3 / 512) ** 0.5
    assert 0.9 * bound < float(encoding.input_bias.detach().abs().max()) <= bound
    assert "input_bias" not in dict(
        build(AdaptiveT5Config(input_bias=True, placement="decoder"), shape).named_parameters()
    )


@pytest.mark.parametrize("stack", STACKS)
def test_bias_is_that_of_the_authors_functions(stack: Stack) -> None:
    values = golden("adaptive_t5")
    attention = AdaptiveT5Attention(AdaptiveT5Config(), Shape(64, 4, 1, 1), stack).double().eval()
    signs = ("neg", "pos")[: len(attention.rate)]
    with torch.no_grad():
        for sign, (part, rate) in enumerate(zip(signs, ("beta", "alpha"), strict=False)):
            attention.rate[sign] = values[f"{stack}_{rate}"] * attention.scale  # the file has them divided
            for head in range(4):
                own = {key: values[f"{stack}_{part}_{head}_{key}"] for key in ("w1", "b1", "w2", "b2", "w3", "b3")}
                attention.weight_1[sign, head], attention.bias_1[sign, head] = own["w1"], own["b1"]
                attention.weight_2[sign, head], attention.bias_2[sign, head] = own["w2"], own["b2"]
                attention.weight_3[sign, head] = own["w3"].T
                if attention.bias_3 is not None:
                    attention.bias_3[sign, head] = own["b3"]
    found, expected = attention.bias(Positions.range(40), Positions.range(40)), values[f"{stack}_bias"]
    if stack == "decoder":  # without the last bias, and without what the mask hides
        last = torch.stack([values[f"decoder_neg_{head}_b3"] for head in range(4)])
        found, expected = (found + last[:, :, None]).tril(), expected.tril()
    assert_close(found, expected, rtol=0, atol=1e-5)


def test_dropout_keeps_the_mean_of_the_first_hidden_layer() -> None:
    torch.manual_seed(0)
    attention, positions = attention_of("decoder", AdaptiveT5Config(hidden=64)), Positions.range(4)
    with torch.no_grad():
        attention.weight_2.mul_(1e-4)  # so small that the second sigmoid is a straight line
        attention.weight_3.mul_(1e4)
    expected = attention.bias(positions, positions).detach()
    attention.train()
    mean = torch.stack([attention.bias(positions, positions).detach() for _ in range(2000)]).mean(0)
    spread = float(expected.std())
    assert float((mean - expected).abs().max()) < 0.3 * spread


def test_the_curve_is_computed_for_distances_not_for_pairs(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []
    curves = AdaptiveT5Attention._curves

    def counted(self: AdaptiveT5Attention, distance: Tensor) -> Tensor:
        asked.append(distance.numel())
        return curves(self, distance)

    monkeypatch.setattr(AdaptiveT5Attention, "_curves", counted)
    attention_of("encoder").bias(Positions.range(50), Positions.range(50))
    assert asked == [50]


def test_only_the_first_layers_have_it() -> None:
    encoding = build(parse({"type": "adaptive_t5"}), SHAPE)
    for stack in STACKS:
        for layer in range(SHAPE.layers(stack)):
            attention = encoding.attention(stack, layer)
            assert isinstance(attention, AdaptiveT5Attention) is (layer == 0)
            assert (type(attention) is AttentionEncoding) is (layer > 0)
    assert encoding.attention("encoder", 0) is not encoding.attention("decoder", 0)


def test_starts_from_the_papers_numbers() -> None:
    torch.manual_seed(0)
    shape = Shape(dim=512, heads=64, encoder_layers=1, decoder_layers=1)
    attention = AdaptiveT5Attention(AdaptiveT5Config(hidden=32), shape, "encoder")
    rates = attention.rate.flatten().tolist()
    assert 1 <= min(rates) < 2 and 14 < max(rates) <= 15
    for weight in (attention.weight_1, attention.weight_2, attention.weight_3):
        assert float(weight.detach().abs().max()) <= 0.2
        assert abs(float(weight.detach().std()) - 0.088) < 0.006  # normal, cut off at two deviations
        assert abs(float(weight.detach().mean())) < 0.015
    for bias in (attention.bias_1, attention.bias_2, attention.bias_3):
        assert bias is not None and (bias == 0.1).all()
