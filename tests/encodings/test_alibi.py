"""ALiBi's slopes as they are published, and its bias against loops over pairs of tokens."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.testing import assert_close

from tiny_models import seen, tiny_model
from wordorder.encodings.alibi import ALiBiAttention, slopes
from wordorder.encodings.base import Positions, Shape
from wordorder.encodings.registry import build, parse
from wordorder.model.attention.base import attend
from wordorder.model.batch import END


@pytest.mark.parametrize(
    ("heads", "expected"),
    [
        (1, [1 / 256]),
        (2, [1 / 16, 1 / 256]),
        (4, [1 / 4, 1 / 16, 1 / 64, 1 / 256]),
        (8, [1 / 2, 1 / 4, 1 / 8, 1 / 16, 1 / 32, 1 / 64, 1 / 128, 1 / 256]),
        (16, [2 ** (-half / 2) for half in range(1, 17)]),
        (3, [1 / 16, 1 / 256, 1 / 4]),
        (6, [1 / 4, 1 / 16, 1 / 64, 1 / 256, 1 / 2, 1 / 8]),
        (12, [1 / 2, 1 / 4, 1 / 8, 1 / 16, 1 / 32, 1 / 64, 1 / 128, 1 / 256, 2**-0.5, 2**-1.5, 2**-2.5, 2**-3.5]),
    ],
)
def test_slopes_are_the_published(heads: int, expected: list[float]) -> None:
    assert slopes(heads) == pytest.approx(expected, rel=1e-12)
    assert_close(ALiBiAttention(heads).slopes, torch.tensor(expected))


@settings(deadline=None, max_examples=20)
@given(
    sentences=st.integers(1, 3),
    queries=st.integers(1, 4),
    length=st.integers(4, 9),
    heads=st.integers(1, 12),
    offset=st.integers(0, 5000),
)
def test_bias_is_the_formula(sentences: int, queries: int, length: int, heads: int, offset: int) -> None:
    key = torch.stack([torch.randperm(length) for _ in range(sentences)]) + offset
    query = key[:, :queries]
    found = ALiBiAttention(heads).bias(Positions(query, offset + length), Positions(key, offset + length))
    assert found.shape == (sentences, heads, queries, length)
    for sentence in range(sentences):
        for head, slope in enumerate(slopes(heads)):
            for i in range(queries):
                for j in range(length):
                    expected = -slope * abs(int(query[sentence, i]) - int(key[sentence, j]))
                    assert float(found[sentence, head, i, j]) == pytest.approx(expected, rel=1e-6)


def test_bias_is_added_to_the_divided_scores() -> None:
    queries, keys, values = torch.randn(3, 2, 2, 5, 4)
    positions = Positions.range(5, offset=3)
    found = attend(
        queries, keys, values,
        mask=None, dropout_probability=0.0, training=False, encoding=ALiBiAttention(2), query=positions, key=positions,
    )  # fmt: skip
    scores = queries @ keys.transpose(-1, -2) / 2
    for head, slope in enumerate((1 / 16, 1 / 256)):
        for i in range(5):
            for j in range(5):
                scores[:, head, i, j] -= slope * abs(i - j)
    assert_close(found, scores.softmax(-1) @ values)


@torch.no_grad()
def test_a_mirror_image_is_known_by_its_end_alone() -> None:
    model = tiny_model(parse({"type": "alibi"}))
    words = torch.tensor([[5, 9, 7, 12, 6]])
    assert_close(seen(model.encode(words.flip(1))), seen(model.encode(words)).flip(-2), rtol=1e-4, atol=2e-5)

    end = torch.tensor([[END]])
    there = seen(model.encode(torch.cat((words, end), dim=1)))
    back = seen(model.encode(torch.cat((words.flip(1), end), dim=1)))
    assert float((back[..., :5, :].flip(-2) - there[..., :5, :]).abs().max()) > 1e-2


@pytest.mark.parametrize("placement", ["both", "encoder", "decoder"])
def test_nothing_is_trained_or_saved(placement: str) -> None:
    shape = Shape(dim=512, heads=8, encoder_layers=6, decoder_layers=6)
    config = parse({"type": "alibi", "placement": placement})
    with torch.device("meta"):
        encoding = build(config, shape)
    assert config.parameter_count(shape) == 0
    assert not list(encoding.parameters()) and not encoding.state_dict()
