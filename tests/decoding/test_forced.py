"""Tests of forced decoding and recorded attention against step-by-step decoding and formulas written as loops."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.testing import assert_close

from forced_samples import corpus_of, lstm
from tiny_models import SIZE, configurations, positions_of, sentences, tiny_model
from wordorder.decoding.forced import Forced, batches, encode, force
from wordorder.decoding.recording import recorded
from wordorder.encodings.base import EncodingConfig, Positions
from wordorder.encodings.registry import parse
from wordorder.model.architectures.base import Translator
from wordorder.model.architectures.lstm import LSTMTranslator
from wordorder.model.architectures.transformer import Transformer
from wordorder.model.batch import BEGIN, END, PAD
from wordorder.model.layers import DecoderLayer, EncoderLayer

CONFIGURATIONS = configurations()


def one_by_one(model: Translator, source: list[int], target: list[int]) -> list[float]:
    """The log-probability of each target token and of the end, with the decoder fed token by token."""
    with torch.no_grad():
        memory, caches, found = model.encode(torch.tensor([[*source, END]])), model.new_caches(), []
        for step, (token, wanted) in enumerate(zip([BEGIN, *target], [*target, END], strict=True)):
            hidden = model.step(torch.tensor([[token]]), memory, caches, step)
            found.append(float(torch.log_softmax(model.logits(hidden)[0, 0], -1)[wanted]))
    return found


@pytest.mark.parametrize("kind", ["sinusoidal", "relative", "rope", "lstm", "fed lstm"])
def test_log_probabilities_are_those_of_decoding_step_by_step(kind: str, tmp_path: Path) -> None:
    models = {"lstm": lambda: lstm(), "fed lstm": lambda: lstm(input_feeding=True, bidirectional=False)}
    model = models[kind]() if kind in models else tiny_model(parse({"type": kind}))
    corpus = corpus_of(tmp_path, [(3, 5), (7, 2), (1, 1), (4, 9), (5, 5)])
    seen = []
    for forced in force(model, corpus):
        for row, sentence in enumerate(forced.sentences.tolist()):
            target = corpus.target(sentence).tolist()
            wanted = one_by_one(model, corpus.source(sentence).tolist(), target)
            own = forced.log_probabilities[row]
            assert own[: len(wanted)].tolist() == pytest.approx(wanted, abs=2e-5)
            assert not own[len(wanted) :].any()
            seen.append(sentence)
    assert sorted(seen) == list(range(len(corpus)))


def test_the_first_sentences_of_a_corpus(tmp_path: Path) -> None:
    corpus = corpus_of(tmp_path, [(3, 5), (7, 2), (1, 1), (4, 9), (3000, 5)])
    assert sorted(np.concatenate(list(batches(corpus, 3))).tolist()) == [0, 1, 2]
    assert sorted(np.concatenate(list(batches(corpus, 5))).tolist()) == [0, 1, 2, 3, 4]


# ----------------------------------------------------------------------------------------------- recorded attention


def run(model: Transformer, source: Tensor, target: Tensor) -> Tensor:
    with torch.no_grad():
        hidden: Tensor = model(source, target, source_positions=positions_of(source))
    return hidden


@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_recording_changes_nothing_and_every_row_of_weights_is_a_distribution(name: str) -> None:
    model = tiny_model(CONFIGURATIONS[name])
    source, target = sentences([5, 3], padding=1), sentences([4, 4], seed=1)
    before = run(model, source, target)
    encoding, names = model.encoding, list(model.state_dict())
    with recorded(model, ("encoder", "decoder", "cross")) as recording:
        assert torch.equal(run(model, source, target), before)
        weights = recording.take()
        assert recording.take() == {"encoder": [], "decoder": [], "cross": []}
    assert model.encoding is encoding and list(model.state_dict()) == names
    assert torch.equal(run(model, source, target), before)
    for kind, shape in {"encoder": (6, 6), "decoder": (4, 4), "cross": (4, 6)}.items():
        layers = weights[cast(Any, kind)]
        assert [tuple(layer.shape) for layer in layers] == [(2, SIZE.heads, *shape)] * 2
        for layer in layers:
            assert_close(layer.sum(-1), torch.ones(layer.shape[:-1]))
    for layer in weights["encoder"] + weights["cross"]:
        assert not layer[0, ..., 5:].any() and not layer[1, ..., 3:].any()
    assert all(not layer.triu(1).any() for layer in weights["decoder"])


def test_only_what_is_asked_for_is_recorded() -> None:
    model = tiny_model(parse({"type": "sinusoidal"}))
    with recorded(model, ("cross",)) as recording:
        run(model, sentences([3]), sentences([2]))
        assert set(recording.take()) == {"cross"}


def test_weights_in_training_are_refused() -> None:
    with pytest.raises(ValueError, match="evaluation"), recorded(tiny_model(parse({"type": "none"})).train(), ()):
        pass


def loop(queries: Tensor, keys: Tensor, added: Any, allowed: Any) -> Tensor:
    """softmax_j(q_i · k_j / √d_h + added(h, i, j)) over the keys that may be seen, one weight after the other."""
    heads, width = queries.shape[:2]
    found = torch.zeros(heads, width, keys.size(1))
    for h in range(heads):
        for i in range(width):
            scores = {
                j: float(queries[h, i] @ keys[h, j]) / math.sqrt(queries.size(-1)) + added(h, i, j)
                for j in range(keys.size(1))
                if allowed(i, j)
            }
            total = sum(math.exp(score) for score in scores.values())
            for j, score in scores.items():
                found[h, i, j] = math.exp(score) / total
    return found


def split(x: Tensor) -> Tensor:
    return x[0].view(x.size(1), SIZE.heads, -1).transpose(0, 1)


@pytest.mark.parametrize("norm", ["pre", "post"])
def test_weights_of_the_first_layers_are_those_of_the_formula(norm: str) -> None:
    """With T5's bias, which is in the scores: what is recorded must have it."""
    model = tiny_model(parse({"type": "t5"}), norm=norm)
    source, target = sentences([6]), sentences([5], seed=1)
    with recorded(model, ("encoder", "decoder", "cross")) as recording:
        run(model, source, target)
        weights = recording.take()
    with torch.no_grad():
        for stack, tokens, layers in (("encoder", source, model.encoder), ("decoder", target, model.decoder)):
            layer = cast(EncoderLayer | DecoderLayer, layers[0])
            x = model.source_embedding(tokens) * math.sqrt(SIZE.dim)
            inner = layer.around_self.norm(x) if norm == "pre" else x
            queries, keys, _ = map(split, layer.self_attention.project_in(inner).chunk(3, -1))
            places = Positions.range(tokens.size(1))
            bias = model.encoding.attention(cast(Any, stack), 0).bias(places, places)
            assert bias is not None and bias.std() > 0.01
            causal = stack == "decoder"
            wanted = loop(
                queries,
                keys,
                lambda h, i, j, bias=bias: float(bias[0, h, i, j]),
                lambda i, j, causal=causal: j <= i or not causal,
            )
            assert_close(weights[cast(Any, stack)][0][0], wanted, atol=1e-5, rtol=1e-4)


def test_weights_of_attention_to_the_source_are_those_of_the_formula() -> None:
    model = tiny_model(parse({"type": "sinusoidal"}))
    source, target = sentences([6]), sentences([5], seed=1)
    read: list[Tensor] = []
    cross = cast(DecoderLayer, model.decoder[1]).cross_attention
    handle = cross.register_forward_pre_hook(lambda _module, arguments: read.append(arguments[0]))
    with recorded(model, ("cross",)) as recording:
        run(model, source, target)
        weights = recording.take()["cross"]
    handle.remove()
    with torch.no_grad():
        memory = encode(model, source)
        keys = split(cross.project_memory(memory)[..., : SIZE.dim])
        wanted = loop(split(cross.project_query(read[0])[None]), keys, lambda *_: 0.0, lambda *_: True)
    assert_close(weights[1][0], wanted, atol=1e-5, rtol=1e-4)


def test_a_decoder_that_goes_token_by_token_tells_the_same_weights(tmp_path: Path) -> None:
    """An LSTM with input feeding; its weights times the encoder's states must be what the attention reads."""
    model = cast(LSTMTranslator, lstm(input_feeding=True, bidirectional=False))
    corpus = corpus_of(tmp_path, [(4, 3), (6, 3)])
    read: list[Tensor] = []
    model.attention.combine.register_forward_pre_hook(lambda _module, arguments: read.append(arguments[0]))
    (forced,) = force(model, corpus, attention=("cross",))
    (weights,) = forced.attention["cross"]
    assert weights.shape == (2, 1, 4, 7)
    assert_close(weights.sum(-1), torch.ones(2, 1, 4))
    with torch.inference_mode():
        context = weights[:, 0] @ encode(model, forced.batch.source)
    assert_close(context, torch.cat(read, 1)[..., : model.dim])


# ------------------------------------------------------------------------------------------------- encoder output


@pytest.mark.parametrize("norm", ["pre", "post"])
def test_encoder_output_is_what_the_decoder_makes_keys_of(norm: str) -> None:
    model = tiny_model(parse({"type": "relative"}), norm=norm)
    source = sentences([5, 3])
    with torch.no_grad():
        memory, output = model.encode(source), encode(model, source)
        keys, values = cast(DecoderLayer, model.decoder[1]).cross_attention.read(output)
    assert torch.equal(memory.keys_values[1][0], keys) and torch.equal(memory.keys_values[1][1], values)


def test_forced_decoding_tells_the_tokens_of_a_batch(tmp_path: Path) -> None:
    corpus = corpus_of(tmp_path, [(3, 5), (2, 2)])
    (forced,) = force(tiny_model(parse({"type": "none"})), corpus)
    assert isinstance(forced, Forced) and forced.batch.target_tokens == 9
    assert (forced.batch.target_output != PAD).sum() == 9


def test_every_encoding_is_tried() -> None:
    kinds = {config.type for config in CONFIGURATIONS.values() if isinstance(config, EncodingConfig)}
    assert {"relative", "t5", "alibi", "rope", "inxl", "cope"} <= kinds
