"""How many micro-batches a GPU takes in one pass."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from torch import Tensor

from raises import raises
from training_runs import VOCABULARY, cell
from wordorder.config.load import load_sizes
from wordorder.encodings.base import AttentionEncoding, Positions
from wordorder.encodings.registry import encoding_types, parse
from wordorder.model.architectures.base import Translator
from wordorder.model.architectures.lstm import LSTMSize
from wordorder.model.attention import base as attention
from wordorder.model.batch import Batch
from wordorder.model.checkpoint import build_model
from wordorder.training import memory
from wordorder.training.batches import ALONE, PassLimit, epoch_batches, joined
from wordorder.training.memory import PASS_TOKENS, bytes_per_token, kept_bytes, measured_bytes, pass_limit
from wordorder.training.probe import simulated_corpus

CONFIGURATIONS = {name: parse({"type": name}) for name in encoding_types()}
GPU = torch.device("cuda")


@pytest.fixture
def base() -> Callable[[str], Translator]:
    """Return base models of 32,000 subwords without memory, by their encoding."""

    def build(encoding: str) -> Translator:
        size = load_sizes("config")["base"]
        with torch.device("meta"):
            return build_model(cell(encoding={"type": encoding}).model_copy(update={"size": size}), 32_000)

    return build


def test_the_environment_sets_the_tokens_of_a_pass(
    base: Callable[[str], Translator], monkeypatch: pytest.MonkeyPatch
) -> None:
    for tokens in (0, 32768):
        monkeypatch.setenv(PASS_TOKENS, str(tokens))
        assert [pass_limit(GPU, base(name)) for name in ("sinusoidal", "t5")] == [PassLimit(tokens)] * 2
        assert pass_limit(torch.device("cpu"), base("sinusoidal")) == ALONE


@pytest.mark.parametrize("text", ["many", "-1", "1.5", "³"])
def test_other_words_than_a_number_of_tokens_are_refused(
    text: str, base: Callable[[str], Translator], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(PASS_TOKENS, text)
    with raises("out-of-range", key=PASS_TOKENS, found=text):
        pass_limit(GPU, base("sinusoidal"))


@pytest.mark.parametrize(
    ("gigabytes", "least", "most"),
    [(80, 8 * 4096, 80_000), (40, 6 * 4096, 8 * 4096), (16, 4096, 4 * 4096), (1, 1, 1)],
)
def test_the_free_memory_decides_how_many_micro_batches_a_gpu_takes_in_one_pass(
    gigabytes: int, least: int, most: int, base: Callable[[str], Translator], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(PASS_TOKENS, raising=False)
    monkeypatch.setattr(memory, "free_memory", lambda on: gigabytes * 1_000_000_000)
    limit = pass_limit(GPU, base("sinusoidal"))
    assert least <= limit.tokens <= most and limit.per_pair == 0  # whose rows hold several sentences
    assert pass_limit(torch.device("cpu"), base("sinusoidal")) == ALONE


@pytest.mark.parametrize("size", ["base", "big", "deep", "micro"])
@pytest.mark.parametrize("encoding", ["sinusoidal", "rope"])
def test_no_token_needs_more_memory_than_estimated(size: str, encoding: str) -> None:
    """Bytes that the backward pass will read, counted on the device 'meta', with every kind of dropout."""
    asked = cell(encoding={"type": encoding}, attention_dropout=0.1, activation_dropout=0.1)
    with torch.device("meta"):
        model = build_model(asked.model_copy(update={"size": load_sizes("config")[size]}), 32_000)
    tokens = torch.ones(16, 256, dtype=torch.int64, device="meta")
    rows = torch.stack((tokens, tokens))
    batch = Batch(
        tokens, tokens, tokens, tokens.flatten(), tokens.numel(), source_rows=rows, target_rows=rows, longest=(99, 99)
    )
    total = kept_bytes(model.to("meta"), batch)
    assert 0.6 * bytes_per_token(model) < total / tokens.numel() < bytes_per_token(model)


def packed_batch(count: int, length: int, *, reordered: bool) -> Batch:
    """Return ``count`` pairs of ``length`` tokens per side on the device 'meta'."""
    tokens = torch.ones(count, length, dtype=torch.int64, device="meta")
    places, lengths = torch.arange(count * length, device="meta"), torch.full((count,), length)
    return Batch(tokens, tokens, tokens, places, count * length, tokens if reordered else None, lengths, places)


@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_no_pass_needs_more_memory_than_estimated(name: str) -> None:
    size = load_sizes("config")["tiny"].model_copy(update={"encoder_layers": 1, "decoder_layers": 1})
    model = build_model(cell().model_copy(update={"encoding": CONFIGURATIONS[name], "size": size}), VOCABULARY)
    generator, used, before = torch.get_rng_state(), attention.used(), next(model.parameters()).device
    per_token, per_pair = measured_bytes(model)
    assert torch.equal(torch.get_rng_state(), generator) and attention.used() == used
    assert next(model.parameters()).device == before
    count, length = 24, 20
    batch = packed_batch(count, length, reordered=CONFIGURATIONS[name].needs_reordered)
    estimated = count * length * per_token + count * length**2 * per_pair
    assert 0.5 * estimated < kept_bytes(model.to("meta"), batch) < 1.05 * estimated


@pytest.mark.parametrize("name", ["t5", "relative", "cope"])
def test_the_estimate_is_near_what_a_gpu_took(name: str, tmp_path: Path) -> None:
    """The GPU's number includes logits and what PyTorch reserves, and its precision was fp16."""
    record = json.loads(Path("benchmarks/records/gpu.json").read_text())
    of_joined = [
        each["gpu_bytes"]
        for each in record["measurements"]
        if (each["encoding"], each["variant"]) == (name, "micro-batches joined")
    ]
    corpus = simulated_corpus(tmp_path / "corpus", record["settings"]["vocabulary"])
    micro_batches = epoch_batches(corpus, 4096, seed=1, epoch=0)[:8]
    (pairs,) = joined(corpus, micro_batches, PassLimit(32_768))
    tokens = max(int((lengths[pairs] + 1).sum()) for lengths in (corpus.source_lengths, corpus.target_lengths))
    longest = 1 + max(int(lengths[pairs].max()) for lengths in (corpus.source_lengths, corpus.target_lengths))
    asked = cell(encoding={"type": name}).model_copy(update={"size": load_sizes("config")["base"]})
    with torch.device("meta"):
        model = build_model(asked, corpus.vocabulary_size)
    states = 20 * sum(parameter.numel() for parameter in model.parameters())
    per_token, per_pair = measured_bytes(model)
    estimated = states + tokens * per_token + len(pairs) * longest**2 * per_pair
    assert 0.7 < estimated / min(of_joined) < 1.1


def test_pairs_of_positions_take_memory(base: Callable[[str], Translator]) -> None:
    limits = {name: pass_limit(GPU, base(name), free=80_000_000_000) for name in ("t5", "relative", "cope")}
    assert 0 < limits["t5"].per_pair < limits["relative"].per_pair < limits["cope"].per_pair
    assert all(limit.tokens >= 8 * 4096 for limit in limits.values())


def test_models_that_do_not_leave_padding_out_join_nothing() -> None:
    size = LSTMSize(architecture="lstm", layers=1, dim=16, dropout=0.1)
    model = build_model(cell().model_copy(update={"size": size}), VOCABULARY)
    assert pass_limit(GPU, model, free=80_000_000_000) == ALONE


class OccurringDistances(AttentionEncoding):
    """A bias of the distances that occur, whose number the device 'meta' does not know."""

    needs = frozenset({"bias"})

    def bias(self, query: Positions, key: Positions) -> Tensor:
        distances, rows = torch.unique(key.absolute[:, None, :] - query.absolute[:, :, None], return_inverse=True)
        return distances.float()[rows][:, None]


def test_a_model_that_cannot_be_measured_joins_nothing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    model = build_model(cell(encoding={"type": "t5"}), VOCABULARY)
    monkeypatch.setattr(type(model.encoding), "_attention", lambda *_: OccurringDistances())
    generator = torch.get_rng_state()
    assert pass_limit(GPU, model, free=80_000_000_000) == ALONE
    assert torch.equal(torch.get_rng_state(), generator)
    (warning,) = capsys.readouterr().err.splitlines()
    assert warning.startswith("wordorder: warning: ") and "'t5'" in warning and "unique" in warning
    monkeypatch.setenv(PASS_TOKENS, "4096")
    assert pass_limit(GPU, model) == PassLimit(4096)
