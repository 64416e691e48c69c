"""PosNet against its equations as they are written, one position and one head after the other."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch.testing import assert_close

from golden import golden
from raises import raises
from tiny_models import CONFIG
from wordorder.config.load import load_encodings, load_sizes
from wordorder.encodings.base import AttentionEncoding, Positions, Shape
from wordorder.encodings.kernels import PositionalKernels, positional_product, weight_concatenation
from wordorder.encodings.posnet_attention import PosNetAttention, PosNetAttentionConfig
from wordorder.encodings.posnet_embed import PosNetEmbed, PosNetEmbedConfig
from wordorder.encodings.registry import build, parse
from wordorder.model.architectures.transformer import Transformer
from wordorder.model.attention.base import attend

SHAPE = Shape(dim=6, heads=2, encoder_layers=2, decoder_layers=3)
OWN = torch.tensor([[0, 3, 1, 5], [4, 0, 8, 2]])  # two sentences, each with positions of its own
few = settings(deadline=None, max_examples=10)
seeds = st.integers(0, 99)


@pytest.fixture(autouse=True)
def seeded() -> None:
    torch.manual_seed(0)


def numbers(*shape: int) -> Tensor:
    return torch.randn(*shape, dtype=torch.float64)


def embed(**parameters: Any) -> PosNetEmbed:
    return PosNetEmbed(PosNetEmbedConfig(**parameters), SHAPE).double()


def attention(**parameters: Any) -> PosNetAttention:
    return PosNetAttention(PosNetAttentionConfig(**parameters), SHAPE).double()


def times(vector: Tensor, matrix: Tensor) -> Tensor:
    """A row vector times a matrix, number by number."""
    sums = [sum(vector[i] * matrix[i, j] for i in range(len(vector))) for j in range(matrix.size(1))]
    return torch.stack([torch.as_tensor(total) for total in sums])


def place(positions: Tensor, sentence: int, i: int) -> int:
    return int(positions[sentence if len(positions) > 1 else 0, i])


def written_out(attention_weights: Tensor, values: Tensor, projection: Tensor) -> Tensor:
    """Equations 10 and 11 with Python's own lists: (Lq, L), (L, d_v), (L·d_v, d_o) -> (Lq, d_o)."""
    outputs = []
    for scores in attention_weights.tolist():
        side_by_side = [a * v for a, vector in zip(scores, values.tolist(), strict=True) for v in vector]
        columns = projection.t().tolist()
        outputs.append([sum(x * w for x, w in zip(side_by_side, column, strict=True)) for column in columns])
    return torch.tensor(outputs, dtype=torch.float64)


def plain_attention(queries: Tensor, keys: Tensor, values: Tensor, inside: AttentionEncoding | None = None) -> Tensor:
    """The project's own attention: (B, H, L, d_h) three times -> the same shape."""
    positions = Positions.range(keys.size(2))
    inside = inside or AttentionEncoding()
    return attend(
        queries,
        keys,
        inside.values(values, positions),
        mask=None,
        dropout_probability=0.0,
        training=False,
        encoding=inside,
        query=positions,
        key=positions,
    )


# ----------------------------------------------------------------------------------------------------- X ⊗ Φ


@pytest.mark.parametrize("positions", [torch.tensor([[2, 3, 4, 5]]), torch.tensor([[7, 0, 0, 2]]), OWN])
def test_each_vector_meets_the_matrix_of_its_own_position(positions: Tensor) -> None:
    x, kernels = numbers(2, 3, 4, 5).requires_grad_(), numbers(9, 5, 2).requires_grad_()
    expected = torch.stack(
        [
            torch.stack(
                [torch.stack([times(x[b, n, i], kernels[place(positions, b, i)]) for i in range(4)]) for n in range(3)]
            )
            for b in range(2)
        ]
    )
    result = positional_product(x, kernels, positions)
    assert_close(result, expected)
    # Without the dimension of the heads it is the same.
    assert_close(positional_product(x[:, 1], kernels, positions), expected[:, 1])

    toward = numbers(2, 3, 4, 2)
    assert_close(
        torch.autograd.grad((result * toward).sum(), (x, kernels)),
        torch.autograd.grad((expected * toward).sum(), (x, kernels)),
    )


@few
@given(
    length=st.integers(1, 9), queries=st.integers(1, 4), inner=st.integers(1, 6), outer=st.integers(1, 6), seed=seeds
)
def test_sum_form_is_weight_concatenation(length: int, queries: int, inner: int, outer: int, seed: int) -> None:
    """Equations 14 to 17, to 1e-12."""
    torch.manual_seed(seed)
    weights, values = numbers(queries, length).softmax(-1), numbers(length, inner)
    kernels = numbers(length, inner, outer)
    expected = written_out(weights, values, kernels.flatten(0, 1))
    exactly = {"rtol": 0, "atol": 1e-12}
    assert_close(weight_concatenation(weights, values, kernels.flatten(0, 1)), expected, **exactly)
    one_by_one = torch.stack([sum(a[j] * times(values[j], kernels[j]) for j in range(length)) for a in weights])
    assert_close(one_by_one, expected, **exactly)  # equation 14
    positions = torch.arange(length)[None]
    assert_close(weights @ positional_product(values[None], kernels, positions)[0], expected, **exactly)  # 15 to 17


def test_concatenation_takes_batches_and_heads() -> None:
    weights, values, projection = numbers(2, 3, 5, 4).softmax(-1), numbers(2, 3, 4, 2), numbers(8, 6)
    result = weight_concatenation(weights, values, projection)
    assert result.shape == (2, 3, 5, 6)
    for b in range(2):
        for head in range(3):
            assert_close(result[b, head], written_out(weights[b, head], values[b, head], projection))


def test_only_weight_sums_do_not_see_a_permutation() -> None:
    """Equation 9 without an encoding; equation 13 with weight concatenation and with PosNet-Attn, which is made of it.

    The queries stay where they are; keys and values, that is the words looked at, change places.
    """
    queries, keys, values = numbers(3, 1, 2, 5, 3)
    order = torch.tensor([3, 0, 4, 1, 2])
    inside = attention().inside.eval()
    kernels = inside.kernels.matrices[:5].detach()

    def concatenated(keys: Tensor, values: Tensor) -> Tensor:
        weights = (queries @ keys.transpose(-1, -2) / math.sqrt(3)).softmax(-1)
        return weight_concatenation(weights, values, kernels.flatten(0, 1))

    moved_keys, moved_values = keys[:, :, order], values[:, :, order]
    assert_close(
        plain_attention(queries, moved_keys, moved_values), plain_attention(queries, keys, values), rtol=0, atol=1e-14
    )
    assert float((concatenated(moved_keys, moved_values) - concatenated(keys, values)).abs().max()) > 0.05
    difference = plain_attention(queries, moved_keys, moved_values, inside) - plain_attention(
        queries, keys, values, inside
    )
    assert float(difference.detach().abs().max()) > 0.05


# ---------------------------------------------------------------------------------------------- the two encodings


@pytest.mark.parametrize("positions", [torch.tensor([[2, 3, 4, 5]]), OWN])
@pytest.mark.parametrize("stack", ["encoder", "decoder"])
def test_posnet_embed_is_equation_24(positions: Tensor, stack: Any) -> None:
    encoding = embed(kernel_dim=3, table=9).eval()
    x = numbers(2, 4, 6)
    expected = torch.empty_like(x)
    for b in range(2):
        for i in range(4):
            inner = times(times(x[b, i], encoding.project_in), encoding.kernels.matrices[place(positions, b, i)])
            positive = torch.stack([max(number, torch.zeros_like(number)) for number in inner])
            expected[b, i] = x[b, i] + times(positive, encoding.project_out).detach()
    assert_close(encoding.transform_embeddings(x, Positions(positions, 9), stack).detach(), expected)
    assert encoding.add_to_embeddings(x, Positions(positions, 9), stack) is x


@pytest.mark.parametrize("positions", [torch.tensor([[2, 3, 4, 5]]), OWN])
def test_posnet_attention_is_equations_20_and_23(positions: Tensor) -> None:
    encoding = attention(table=9).eval()
    queries, keys, values = numbers(3, 2, 2, 4, 3)
    expected = torch.zeros(2, 2, 4, 3, dtype=torch.float64)
    for b in range(2):
        for head in range(2):
            weights = (queries[b, head] @ keys[b, head].t() / math.sqrt(3)).softmax(-1)
            for j in range(4):
                value = values[b, head, j]
                moved = times(value, encoding.inside.kernels.matrices[place(positions, b, j)]).detach()
                expected[b, head] += weights[:, j, None] * (value + moved.clamp(min=0))
    for stack, layer in (("encoder", 0), ("encoder", 1), ("decoder", 2)):
        inside = encoding.attention(stack, layer)  # type: ignore[arg-type]
        moved_values = inside.values(values, Positions(positions, 9)).detach()
        assert_close(plain_attention(queries, keys, moved_values), expected)
        assert inside.needs == {"values"}


def test_hypotheses_of_a_step_share_a_position() -> None:
    """Step-by-step decoding has one position and B·K rows."""
    x, values = numbers(5, 1, 6), numbers(5, 2, 1, 3)
    at_three = Positions.range(1, offset=3)
    embedding, inside = embed().eval(), attention().inside.eval()
    every = Positions.range(4)
    for row in range(5):
        at_end = torch.cat((numbers(1, 3, 6), x[row : row + 1]), dim=1)
        assert_close(
            embedding.transform_embeddings(x, at_three, "decoder")[row],
            embedding.transform_embeddings(at_end, every, "decoder")[0, 3:],
        )
        at_end = torch.cat((numbers(1, 2, 3, 3), values[row : row + 1]), dim=2)
        assert_close(inside.values(values, at_three)[row], inside.values(at_end, every)[0, :, 3:])


def test_dropout_drops_the_posnet_and_never_what_it_is_added_to() -> None:
    positions = Positions.range(50)
    x, values = numbers(4, 50, 6), numbers(4, 2, 50, 3)
    embedding, inside = embed(kernel_dim=5, dropout=0.25).train(), attention(dropout=0.25).inside.train()
    cases = [
        (x, lambda: embedding.transform_embeddings(x, positions, "encoder") - x, embedding),
        (values, lambda: inside.values(values, positions) - values, inside),
    ]
    for given_, moved, module in cases:
        with torch.no_grad():
            dropped, whole = moved(), module.eval() and moved()
        kept = dropped != 0
        assert_close(dropped[kept], whole[kept] / 0.75)
        nonzero = whole != 0
        assert float((kept & nonzero).sum() / nonzero.sum()) == pytest.approx(0.75, abs=0.06)
        assert given_.shape == dropped.shape


def test_paddings_zero_vector_stays_zero() -> None:
    assert not embed().eval().transform_embeddings(torch.zeros(1, 3, 6).double(), Positions.range(3), "encoder").any()


def test_only_positions_that_occur_are_trained() -> None:
    kernels = PositionalKernels("posnet", 9, 3, 2)
    kernels(torch.ones(4, 2, 3), Positions.range(2, offset=4)).sum().backward()
    gradient = kernels.matrices.grad
    assert gradient is not None
    assert gradient.flatten(1).any(1).nonzero().flatten().tolist() == [4, 5]
    assert_close(gradient[4:6], torch.full((2, 3, 2), 4.0))  # once a sentence


# --------------------------------------------------------------------------------------- sizes, start, refusals


@pytest.mark.parametrize(
    ("size", "entry", "expected"),
    [
        # The PosNet paper's Table 1: +3.41 M and +1.02 M of 63.08 M, to the last number.
        ("base", {"type": "posnet_embed"}, 3_407_872),
        ("base", {"type": "posnet_attention"}, 1_024_000),
        ("base", {"type": "posnet_embed", "kernel_dim": 96}, 2 * 512 * 96 + 200 * 96 * 96),
        ("big", {"type": "posnet_embed"}, 2 * 1024 * 256 + 200 * 256 * 256),
        ("big", {"type": "posnet_attention"}, 1_024_000),  # heads of the big model are as large
    ],
)
@pytest.mark.parametrize("placement", ["both", "encoder"])
def test_parameters_of_the_papers_sizes(size: str, entry: dict[str, Any], expected: int, placement: str) -> None:
    """One module whatever the placement; counted without memory, as ``wordorder params`` does."""
    shape = Transformer.shape(load_sizes(CONFIG)[size])
    config = parse({**entry, "placement": placement})
    with torch.device("meta"):
        encoding = build(config, shape)
    assert sum(parameter.numel() for parameter in encoding.parameters()) == expected
    assert all(parameter.is_meta for parameter in encoding.parameters())
    assert config.parameter_count(shape) == expected


def test_every_matrix_starts_by_itself() -> None:
    """Xavier: variance 2 / (n + m) of the matrix, not of the tensor that holds them all."""
    shape = Shape(64, 2, 1, 1)
    embedding = PosNetEmbed(PosNetEmbedConfig(kernel_dim=32, table=90), shape)
    inside = PosNetAttention(PosNetAttentionConfig(table=90), shape).inside
    for matrix, expected in (
        (embedding.project_in, 2 / 96),
        (embedding.project_out, 2 / 96),
        (embedding.kernels.matrices, 2 / 64),
        (inside.kernels.matrices, 2 / 64),
    ):
        assert float(matrix.detach().var()) == pytest.approx(expected, rel=0.1)
        assert float(matrix.detach().mean()) == pytest.approx(0, abs=0.01)


@pytest.mark.parametrize(("table", "inner", "outer"), [(512, 128, 128), (250, 64, 64)])
def test_the_released_start_takes_the_table_for_one_tensor(table: int, inner: int, outer: int) -> None:
    released = PositionalKernels("posnet", table, inner, outer, "released").matrices.detach()
    assert float(released.std()) == pytest.approx(math.sqrt(2 / (outer * (table + inner))), rel=0.01)


def test_starts_are_those_of_the_released_module() -> None:
    """W_1, Φ and W_2 of d 512, d_p 128 and 512 kernels: standard deviations that the released code was run for."""
    shape = Shape(dim=512, heads=8, encoder_layers=1, decoder_layers=1)
    encoding = PosNetEmbed(PosNetEmbedConfig(table=512, start="released"), shape)
    matrices = (encoding.project_in, encoding.kernels.matrices, encoding.project_out)
    found = torch.stack([matrix.detach().std() for matrix in matrices]).double()
    assert_close(found, golden("posnet_embed")["start_std_W1_Phi_W2_at_512_128_512"], rtol=0.02, atol=0)


def test_values_are_those_of_the_released_module() -> None:
    values = golden("posnet_embed")
    table, inner = values["Phi"].shape[:2]
    encoding = PosNetEmbed(
        PosNetEmbedConfig(kernel_dim=inner, table=table),
        Shape(dim=values["x"].size(-1), heads=2, encoder_layers=1, decoder_layers=1),
    ).eval()
    for parameter, name in (
        (encoding.project_in, "W1"),
        (encoding.kernels.matrices, "Phi"),
        (encoding.project_out, "W2"),
    ):
        parameter.data = values[name]
    found = encoding.transform_embeddings(values["x"], Positions.range(values["x"].size(1)), "encoder")
    assert_close(found, values["y"], rtol=0, atol=1e-5)


def test_the_preset_of_the_released_script() -> None:
    config = load_encodings(CONFIG)["posnet_embed_released"]
    assert config == PosNetEmbedConfig(placement="encoder", table=512, dropout=0, start="released")
    assert config.parameter_count(Shape(512, 8, 6, 6)) == 2 * 512 * 128 + 512 * 128**2


@pytest.mark.parametrize("name", ["posnet_embed", "posnet_attention"])
def test_the_last_position_of_a_table_works_and_the_next_does_not(name: str) -> None:
    encoding = build(parse({"type": name, "table": 20}), SHAPE)
    assert encoding.limit("encoder") == encoding.limit("decoder") == 20

    def run(positions: Positions) -> None:
        length = positions.absolute.size(1)
        encoding.transform_embeddings(torch.zeros(2, length, 6), positions, "decoder")
        encoding.attention("encoder", 1).values(torch.zeros(2, 2, length, 3), positions)

    run(Positions.range(20))
    run(Positions.range(1, offset=19))
    for beyond in (Positions.range(21), Positions.range(1, offset=20)):
        with raises("too-long", key="table", found=21, expected=20, says=f"'{name}'"):
            run(beyond)


@pytest.mark.parametrize("name", ["posnet_embed", "posnet_attention"])
@pytest.mark.parametrize(("key", "value"), [("table", 0), ("dropout", 1), ("dropout", -0.1), ("kernel_dim", 0)])
def test_parameters_out_of_range(name: str, key: str, value: float) -> None:
    with raises("invalid-configuration", key=key):
        parse({"type": name, key: value})


def test_what_it_goes_with() -> None:
    """PosNet-Embed is a position's mark at the embeddings, so no other stands beside it; PosNet-Attn is none."""
    with raises("invalid-value", says="posnet_embed and sinusoidal are both absolute"):
        parse({"compose": [{"type": "posnet_embed"}, {"type": "sinusoidal"}]})
    parse({"compose": [{"type": "posnet_embed"}, {"type": "relative"}]})
    parse({"compose": [{"type": "posnet_attention"}, {"type": "sinusoidal"}]})
