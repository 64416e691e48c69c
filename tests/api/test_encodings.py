"""Tests of encodings outside a translation model, and in a language model."""

from __future__ import annotations

import ast
import math
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from torch.testing import assert_close

import wordorder
from raises import raises
from wordorder.encodings.base import Positions, Stack
from wordorder.encodings.registry import encoding_types
from wordorder.model.attention.multihead import SelfAttention
from wordorder.model.batch import PAD
from wordorder.model.masks import causal_mask, padding_mask

# Encodings whose attention needs more than projected queries, keys and values.
ELSEWHERE = {"headxl", "inxl"}


def test_the_package_imports_no_library() -> None:
    code = "import sys, wordorder; print(sorted({'torch', 'numpy', 'pandas', 'pydantic'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "[]\n"


def test_every_name_of_the_package_exists() -> None:
    for name in wordorder.__all__:
        assert getattr(wordorder, name)
    stub = ast.parse(Path(wordorder.__file__).with_suffix(".pyi").read_text(encoding="utf-8")).body[-1]
    assert isinstance(stub, ast.Assign) and sorted(ast.literal_eval(stub.value)) == sorted(wordorder.__all__)
    with pytest.raises(AttributeError):
        _ = wordorder.nothing  # type: ignore[attr-defined]


@pytest.mark.parametrize("name", sorted(set(encoding_types()) - ELSEWHERE))
@pytest.mark.parametrize("causal", [True, False])
def test_attention_is_that_of_the_models(name: str, causal: bool) -> None:
    encoding = wordorder.build_encoding(name, dim=16, heads=4, layers=2).eval()
    module = SelfAttention(16, 4, 0.0).eval()
    lengths = None if causal else torch.tensor([6, 4])
    positions = wordorder.positions(encoding, torch.zeros(2, 6, dtype=torch.int64), lengths=lengths)
    x = torch.randn(2, 6, 16, generator=torch.Generator().manual_seed(1))
    own = encoding.attention("decoder" if causal else "encoder", 1)
    with torch.no_grad():
        queries, keys, values = module.project_in(x).chunk(3, dim=-1)
        found = wordorder.attention(encoding, queries, keys, values, positions, layer=1, inputs=x, causal=causal)
        ends = torch.tensor([[1] * 6, [1] * 4 + [PAD] * 2])
        mask = causal_mask(6, on=torch.device("cpu")) if causal else padding_mask(ends)
        assert_close(module.project_out(found), module(x, mask=mask, encoding=own, positions=positions))


@pytest.mark.parametrize("name", ["none", "rope", "alibi"])
def test_tokens_do_not_attend_to_padding(name: str) -> None:
    encoding = wordorder.build_encoding(name, dim=16, heads=4).eval()
    positions = wordorder.positions(encoding, torch.zeros(2, 5, dtype=torch.int64), lengths=torch.tensor([5, 3]))
    x = torch.randn(2, 5, 16, generator=torch.Generator().manual_seed(1))
    changed = x.clone()
    changed[1, 3:] = 100

    def attended(inputs: torch.Tensor) -> torch.Tensor:
        return wordorder.attention(encoding, inputs, inputs, inputs, positions, inputs=inputs, causal=False)

    assert_close(attended(changed)[1, :3], attended(x)[1, :3])
    assert_close(attended(changed)[0], attended(x)[0])


@pytest.mark.parametrize("entry", [{"type": "number", "range": "unit"}, {"type": "randomized", "evaluation": "mean"}])
def test_sentences_of_an_encoder_have_lengths(entry: dict[str, str]) -> None:
    encoding, zeros = wordorder.build_encoding(entry, dim=16, heads=4).eval(), torch.zeros(2, 5, 16)
    tokens = torch.zeros(2, 5, dtype=torch.int64)

    def vectors(stack: Stack, lengths: list[int] | None = None) -> torch.Tensor:
        given = None if lengths is None else torch.tensor(lengths)
        return wordorder.embed(encoding, zeros, wordorder.positions(encoding, tokens, lengths=given), stack=stack)

    expected = Positions.range(5)
    of_model = replace(expected, lengths=torch.tensor([[5], [3]]))  # as an encoder does
    assert_close(vectors("encoder", [5, 3]), encoding.add_to_embeddings(zeros, of_model, "encoder"))
    assert_close(vectors("encoder"), vectors("encoder", [5, 5]))
    assert_close(vectors("decoder"), encoding.add_to_embeddings(zeros, expected, "decoder"))
    assert not torch.equal(vectors("encoder", [5, 3])[0], vectors("encoder", [5, 3])[1])
    with raises(code="wrong-shape", key="lengths"):
        vectors("encoder", [5])


def test_equal_tokens_differ_by_position_only() -> None:
    weights = wordorder.attention_weights(wordorder.build_encoding("none", dim=16, heads=4), 5)
    assert_close(weights, torch.full((4, 5, 5), 0.2))
    fading = wordorder.attention_weights(wordorder.build_encoding("alibi", dim=16, heads=4), 5, causal=True)
    assert bool((fading[:, 4].diff() > 0).all())  # the nearest token has the largest weight
    assert bool((fading.triu(1) == 0).all())


@pytest.mark.parametrize("name", ["adaptive_t5", "cape", "shape", "randomized"])
def test_attention_weights_depend_on_their_seed_only(name: str) -> None:
    encoding = wordorder.build_encoding(name, dim=16, heads=4)
    first, second = (wordorder.attention_weights(encoding, 9, seed=3) for _ in range(2))
    assert torch.equal(first, second) and encoding.training


def test_similarity_is_the_cosine_of_vectors() -> None:
    encoding = wordorder.build_encoding({"type": "opr", "k": 4}, dim=16, heads=4)
    found, table = wordorder.similarity(encoding, 9), encoding.table(9)
    assert found is not None and table is not None
    cosine = float(table[2] @ table[7] / (table[2].norm() * table[7].norm()))
    assert math.isclose(float(found[2, 7]), cosine, rel_tol=1e-5)
    assert wordorder.similarity(wordorder.build_encoding("rope", dim=16, heads=4), 9) is None


def test_positions_of_an_encoder_have_its_limit() -> None:
    encoding = wordorder.build_encoding({"type": "randomized", "base": "learned"}, dim=16, heads=4)
    limit = encoding.limit("decoder")
    assert limit is not None
    tokens, lengths = torch.zeros(1, limit + 1, dtype=torch.int64), torch.tensor([limit + 1])
    assert wordorder.positions(encoding, tokens, lengths=lengths).absolute.size(-1) == limit + 1
    with raises(code="too-few-positions", found=limit + 1, expected=limit):
        wordorder.positions(encoding, tokens)


@pytest.mark.parametrize("layer", [-1, 2])
def test_a_layer_for_which_the_encoding_was_not_built_is_refused(layer: int) -> None:
    encoding = wordorder.build_encoding("rope", dim=16, heads=4, layers=2)
    with raises(code="out-of-range", key="layer", found=layer, expected=1):
        wordorder.attention_weights(encoding, 3, layer=layer)


def test_a_model_of_another_size_is_refused() -> None:
    encoding = wordorder.build_encoding("rope", dim=16, heads=4)
    x, wide = torch.zeros(1, 3, 16), torch.zeros(1, 3, 32)
    places = wordorder.positions(encoding, torch.zeros(1, 3, dtype=torch.int64))
    for name, tensors in {"queries": (wide, x, x), "keys": (x, wide, x), "values": (x, x, wide)}.items():
        with raises(code="wrong-shape", key=name, found=32, expected=16):
            wordorder.attention(encoding, *tensors, places)
    with raises(code="wrong-shape", key="embeddings", found=32, expected=16):
        wordorder.embed(encoding, wide, places)


def test_mistakes_are_sentences() -> None:
    with raises(code="unknown-name"):
        wordorder.build_encoding("ropes", dim=16, heads=4)
    for dim in (2, 65, 66):
        with raises(code="wrong-shape", found=dim):
            wordorder.build_encoding("rope", dim=dim, heads=4)
    learned = wordorder.build_encoding({"type": "learned", "table": 4}, dim=16, heads=4)
    with raises(code="too-few-positions", found=5, expected=4):
        wordorder.positions(learned, torch.zeros(1, 5, dtype=torch.int64))
    with raises(code="no-place-for-encoding", found="forgetting"):
        forgetting = wordorder.build_encoding("forgetting", dim=16, heads=4)
        x = torch.zeros(1, 3, 16)
        wordorder.attention(forgetting, x, x, x, wordorder.positions(forgetting, torch.zeros(1, 3, dtype=torch.int64)))


def test_numbers_may_be_those_of_numpy() -> None:
    entry = {"type": "opr", "k": np.int64(2)}
    assert wordorder.build_encoding(entry, dim=np.int64(16), heads=np.int32(4)).config.k == 2  # type: ignore[arg-type]


@pytest.mark.parametrize("entry", [None, ["rope"], 3])
def test_an_entry_is_a_name_or_a_dictionary(entry: object) -> None:
    with raises(code="not-an-entry", key="entry"):
        wordorder.build_encoding(entry, dim=16, heads=4)  # type: ignore[arg-type]


@pytest.mark.parametrize("change", [{"dim": "16"}, {"dim": 16.0}, {"heads": 0}, {"layers": 0}])
def test_sizes_are_positive_whole_numbers(change: dict[str, object]) -> None:
    with raises(code="out-of-range", key=next(iter(change))):
        wordorder.build_encoding("rope", **({"dim": 16, "heads": 4} | change))  # type: ignore[arg-type]


def test_an_unknown_stack_and_a_length_without_tokens_are_errors() -> None:
    encoding = wordorder.build_encoding("sinusoidal", dim=16, heads=4)
    tokens = torch.zeros(1, 3, dtype=torch.int64)
    with raises(code="unknown-name", key="stack", suggestion="encoder"):
        wordorder.similarity(encoding, 3, stack="encode")  # type: ignore[arg-type]
    with raises(code="unknown-name", key="stack"):
        x = torch.zeros(1, 3, 16)
        wordorder.embed(encoding, x, wordorder.positions(encoding, tokens), stack="both")  # type: ignore[arg-type]
    for length in (0, -1):
        with raises(code="out-of-range", key="length", found=length):
            wordorder.similarity(encoding, length)
        with raises(code="out-of-range", key="length", found=length):
            wordorder.attention_weights(encoding, length)
