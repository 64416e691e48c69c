from __future__ import annotations

from functools import partial

import pytest
import torch
from torch.testing import assert_close

from raises import raises
from wordorder.encodings.base import Positions, Shape
from wordorder.encodings.learned import LearnedConfig
from wordorder.encodings.registry import build, parse

SHAPE = Shape(8, 2, 1, 1)


def test_each_stack_has_a_table_of_its_own() -> None:
    encoding = build(LearnedConfig(table=20), SHAPE)
    source, target = encoding.table(20, "encoder"), encoding.table(20, "decoder")
    assert source is not None and target is not None
    assert not torch.allclose(source, target)
    embeddings = torch.randn(2, 5, 8)
    for stack, table in (("encoder", source), ("decoder", target)):
        added = encoding.add_to_embeddings(embeddings, Positions.range(5, offset=3), stack)  # type: ignore[arg-type]
        assert_close(added, embeddings + table[3:8])


def test_tables_start_as_small_as_embeddings() -> None:
    torch.manual_seed(0)
    encoding = build(LearnedConfig(), Shape(64, 2, 1, 1))
    for table in encoding.parameters():
        assert table.shape == (1024, 64)
        assert float(table.detach().std()) == pytest.approx(64**-0.5, rel=0.02)


def test_the_last_position_of_a_table_works_and_the_next_does_not() -> None:
    encoding = build(LearnedConfig(table=20), SHAPE)
    assert encoding.limit("encoder") == encoding.limit("decoder") == 20
    encoding.add_to_embeddings(torch.zeros(1, 20, 8), Positions.range(20), "encoder")
    encoding.add_to_embeddings(torch.zeros(1, 1, 8), Positions.range(1, offset=19), "decoder")
    refused = partial(raises, "too-long", key="table", found=21, expected=20, says="'learned'")
    with refused():
        encoding.add_to_embeddings(torch.zeros(1, 21, 8), Positions.range(21), "encoder")
    with refused():
        encoding.add_to_embeddings(torch.zeros(1, 1, 8), Positions.range(1, offset=20), "decoder")
    with refused():
        encoding.table(21)


def test_only_positions_that_occur_are_trained() -> None:
    encoding = build(LearnedConfig(table=20), SHAPE)
    encoding.add_to_embeddings(torch.zeros(3, 2, 8), Positions.range(2, offset=4), "encoder").sum().backward()
    gradients = [parameter.grad for parameter in encoding.parameters()]
    assert gradients[1] is None
    assert gradients[0] is not None
    assert gradients[0].sum(1).nonzero().flatten().tolist() == [4, 5]
    assert_close(gradients[0][4], torch.full((8,), 3.0))  # once a sentence


@pytest.mark.parametrize("table", [0, -5, 2.5, "many"])
def test_a_table_has_a_positive_size(table: object) -> None:
    with raises("invalid-configuration", key="table"):
        parse({"type": "learned", "table": table})
