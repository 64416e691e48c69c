"""Tests of the prefix language model against one pass over the whole stream, and of its positions."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.testing import assert_close

from analysis_runs import sentences as measured
from raises import raises
from tiny_models import PREFIX_LM, VOCABULARY, around, full, positions_of, sentences, tiny_model
from wordorder.analyses.attention_distance import AttentionDistance
from wordorder.config.decoding import Decoding
from wordorder.config.models import Cell, Recipe
from wordorder.data.binary import ParallelCorpus, write_corpus
from wordorder.decoding.beam import search
from wordorder.decoding.forced import force
from wordorder.decoding.recording import recorded
from wordorder.decoding.translate import translate
from wordorder.encodings.base import Encoding, EncodingConfig, Positions, Stack
from wordorder.encodings.registry import build, parse
from wordorder.encodings.sinusoidal import frequencies
from wordorder.encodings.waves import waves
from wordorder.errors import WordorderError
from wordorder.model.architectures.prefix_lm import PrefixLM
from wordorder.model.batch import BEGIN, END, PAD
from wordorder.model.checkpoint import build_model, count_parameters, load_model, save_model
from wordorder.training.lengths import check_lengths
from wordorder.training.usage import corpus_ratio, operations_per_token

SHAPE = PrefixLM.shape(PREFIX_LM)
LEARNED = parse({"type": "learned", "table": 12})


def model_of(entry: dict[str, Any], **recipe: Any) -> Any:
    return tiny_model(parse(entry), size=PREFIX_LM, **recipe)


@pytest.mark.parametrize("norm", ["pre", "post"])
@torch.no_grad()
def test_it_is_one_pass_over_one_stream(norm: str) -> None:
    """Compute without shortcuts: one sequence, one mask, positions 0 … s + t - 1, no cache and no memory."""
    model = model_of({"type": "sinusoidal"}, norm=norm)
    source, target = sentences([4]), sentences([3], seed=1)
    stream = torch.cat((source, target), dim=1)
    x = model.source_embedding.weight[stream] * math.sqrt(16) + waves(torch.arange(7), frequencies(16)).float()
    mask = torch.zeros(7, 7)
    for query in range(7):
        for key in range(7):
            if key >= 4 and key > query:
                mask[query, key] = -math.inf
    nothing = build(parse({"type": "none"}), SHAPE).attention("encoder", 0)
    for layer in model.layers:
        x = layer(x, mask=mask[None, None], encoding=nothing, positions=Positions.range(7))
    expected = model.norm(x)
    assert_close(model(source, target), expected[:, 4:], rtol=1e-4, atol=2e-5)
    assert_close(model.encoder_output(source), expected[:, :4], rtol=1e-4, atol=2e-5)


class Watching(Encoding):
    """An encoding that keeps the positions that it receives."""

    def _add_to_embeddings(self, x: Tensor, positions: Positions, stack: Stack) -> Tensor:
        self.seen = positions
        return x


@torch.no_grad()
def test_positions_continue_behind_the_tokens_of_the_own_source() -> None:
    encoding = Watching(EncodingConfig(type="watching"), SHAPE)
    model: Any = around(encoding, size=PREFIX_LM)
    memory = model.encode(sentences([5, 2], padding=3))
    assert encoding.seen.absolute.tolist() == [list(range(8))]
    model.decode(sentences([3, 3]), memory)
    assert encoding.seen.absolute.tolist() == [[5, 6, 7], [2, 3, 4]]
    model.step(torch.full((2, 2), BEGIN), memory, model.new_caches(), 0)
    assert encoding.seen.absolute.tolist() == [[5], [5], [2], [2]]
    assert encoding.seen.limit > 5


def test_source_tokens_do_not_see_the_target_and_all_layers_are_shared() -> None:
    model = model_of({"type": "none"})
    d, f = 16, 24
    layer = 4 * (d * d + d) + 2 * d * f + d + f + 2 * 2 * d
    assert count_parameters(model)["total"] == VOCABULARY * d + 2 * layer + 2 * d
    source, target = sentences([4]), sentences([3], seed=1)
    first = full(model, source, target)[:, :1]
    assert_close(full(model, source, target[:, :1]), first)


# ------------------------------------------------------------------------------------------------------- decoding


def by_hand(model: Any, source: Tensor, most: int) -> list[int]:
    """Translate one sentence greedily, and read the whole target again for each token."""
    tokens = [BEGIN]
    while True:
        logits = model.logits(full(model, source, torch.tensor([tokens]))[0, -1])
        logits[[PAD, BEGIN]] = -math.inf
        best = END if len(tokens) > most else int(logits.argmax())
        if best == END:
            return tokens[1:]
        tokens.append(best)


@pytest.mark.parametrize(
    "entry", [{"type": "alibi"}, {"type": "rope"}, {"type": "cope"}, {"type": "learned", "table": 12}]
)
@torch.no_grad()
def test_search_in_a_batch_equals_search_of_single_sentences(entry: dict[str, Any]) -> None:
    model = model_of(entry)
    source = sentences([6, 2, 4, 1])
    config = Decoding(beam=1, max_length_a=0, max_length_b=9)
    found = search(model, source, config)
    for row, hypotheses in enumerate(found):
        alone = source[row : row + 1, : int((source[row] != PAD).sum())]
        room = model.room(alone.size(1))
        most = 9 if room is None else min(9, room - 1)
        assert hypotheses[0].tokens == by_hand(model, alone, most)
    # With a larger beam a sentence's neighbours change nothing, and no better hypothesis is lost.
    wide = Decoding(beam=3, max_length_a=0, max_length_b=9)
    for row, hypotheses in enumerate(search(model, source, wide)):
        alone = source[row : row + 1, : int((source[row] != PAD).sum())]
        (again,) = search(model, alone, wide)
        assert [each.tokens for each in again] == [each.tokens for each in hypotheses]


# --------------------------------------------------------------------------------------------------------- limits


@pytest.mark.parametrize("kind", ["learned", "tupe"])
@torch.no_grad()
def test_a_table_must_hold_source_and_target(kind: str) -> None:
    model = model_of({"type": kind, "table": 12})
    assert [model.room(length) for length in (5, 12, 20)] == [7, 0, 0]
    # The longest source and the longest target of a batch need not belong together.
    source, target = sentences([9, 2]), sentences([3, 10], seed=1)
    assert full(model, source, target).isfinite().all()
    assert full(model, sentences([5]), sentences([6], seed=1)).isfinite().all(), "as many as there are"
    memory = model.encode(source)
    with raises("too-long", key="table", found=13, expected=12):
        full(model, source, sentences([4, 1]))
    model.step(torch.full((2, 1), BEGIN), memory, model.new_caches(), 9)  # the first sentence was ended before
    with raises("too-long", key="table", found=13, expected=12):
        model.step(torch.full((2, 1), BEGIN), memory, model.new_caches(), 10)
    found = search(model, source, Decoding(beam=2, max_length_a=0, max_length_b=50))
    assert [len(hypotheses[0].tokens) <= room for hypotheses, room in zip(found, (2, 9), strict=True)] == [True, True]
    with pytest.raises(WordorderError) as raised:
        translate(model, [sentences([11])[0].numpy()], Decoding())
    assert raised.value.code == "too-few-positions"


def test_a_training_checks_source_and_target_together(tmp_path: Path) -> None:
    write_corpus(tmp_path / "corpus", [([4] * 6, [5] * 5)], vocabulary_size=VOCABULARY)  # 7 and 6 with their ends
    corpus = ParallelCorpus.open(tmp_path / "corpus")
    encoding = build(LEARNED, SHAPE)
    check_lengths(encoding, corpus, corpus, None)
    with raises("too-few-positions", corpus.directory, 1, found=13, expected=12):
        check_lengths(encoding, corpus, corpus, None, one_stream=True)


@pytest.mark.parametrize("entry", [{"type": "relative", "cross": True}, {"type": "rope", "placement": "encoder"}])
def test_what_has_no_meaning_in_one_stream_is_refused(entry: dict[str, Any]) -> None:
    with pytest.raises(WordorderError) as raised:
        model_of(entry)
    assert raised.value.code == "no-place-for-encoding"


# ------------------------------------------------------------------------------------- what others do with a model


@torch.no_grad()
def test_weights_of_target_queries_on_the_source_can_be_read() -> None:
    model = model_of({"type": "alibi"})
    source, target = sentences([5, 3]), sentences([4, 4], seed=1)
    expected = full(model, source, target)
    with recorded(model, ("encoder", "decoder", "cross")) as recording:
        assert torch.equal(full(model, source, target), expected)
        weights = recording.take()
        memory = model.encode(source, positions=positions_of(source))
        caches = model.new_caches()
        for place in range(4):
            model.step(target[:, place : place + 1], memory, caches, place)
        stepped = recording.take()
    assert [own.shape for own in weights["encoder"]] == [(2, 4, 5, 5)] * 2
    assert [own.shape for own in weights["cross"]] == [(2, 4, 4, 5)] * 2
    assert weights["decoder"] == []
    assert_close(weights["encoder"][0].sum(-1), torch.ones(2, 4, 5))
    assert not bool(weights["cross"][1][1, :, :, 3:].any())  # padding
    assert bool((weights["cross"][0].sum(-1) < 1).all())
    assert_close(stepped["cross"], weights["cross"], rtol=1e-4, atol=1e-5)
    assert model.recorder is None


def test_analyses_and_counts(tmp_path: Path) -> None:
    write_corpus(tmp_path / "corpus", [([4, 5], [6, 7, 8]), ([9], [9])], vocabulary_size=VOCABULARY)
    corpus = ParallelCorpus.open(tmp_path / "corpus")
    model = model_of({"type": "rope"})
    alone = list(force(model, corpus, attention=("cross",)))
    assert all(len(forced.attention["cross"]) == PREFIX_LM.layers for forced in alone)
    found = AttentionDistance(sentences=2).measure(model, measured(corpus))
    assert found["status"] == "measured"
    assert len(found["stacks"]["encoder"]["layers"]) == 2
    assert found["stacks"]["decoder"]["layers"] == []
    # 3 and 2 source tokens with their ends, 4 and 2 target tokens; the output layer meets target tokens only.
    layers = 2 * (4 * 16 * 16 + 2 * 16 * 24)
    expected = 6 * (layers * 5 / 6 + layers + VOCABULARY * 16)
    assert operations_per_token(model, corpus_ratio(corpus)) == pytest.approx(expected, abs=1)


def test_a_saved_model_is_the_same_model(tmp_path: Path) -> None:
    cell = Cell(encoding={"type": "t5"}, size=PREFIX_LM, recipe=Recipe(max_updates=1), seed=0)
    model = build_model(cell, VOCABULARY).eval()
    assert isinstance(model, PrefixLM)
    save_model(tmp_path / "model.pt", cell, VOCABULARY, model.state_dict())
    source, target = sentences([5, 3]), sentences([4, 4], seed=1)
    assert torch.equal(load_model(tmp_path / "model.pt")(source, target), model(source, target))


def test_the_advised_limit_fits_source_and_target_together(tmp_path: Path) -> None:
    long, short = ([4] * 6, [5] * 5), ([4] * 2, [5] * 2)
    for name, pairs in (("train", [long, short]), ("valid", [short])):
        write_corpus(tmp_path / name, pairs, vocabulary_size=VOCABULARY)
    train, valid = (ParallelCorpus.open(tmp_path / name) for name in ("train", "valid"))
    encoding = build(LEARNED, SHAPE)
    with raises("too-few-positions", says="'max_positions: 6'"):
        check_lengths(encoding, train, valid, None, one_stream=True)
    check_lengths(encoding, train, valid, 6, one_stream=True)
