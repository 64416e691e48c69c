"""Test that the benchmarks start, compare equal work, and count the operations done. Nothing is timed."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from wordorder.config.load import load_sizes
from wordorder.config.models import Cell
from wordorder.data.binary import ParallelCorpus, write_corpus
from wordorder.errors import WordorderError
from wordorder.training.batches import collate

pytest.importorskip("transformers", reason="the extra 'benchmark' is not installed")
FOLDER = Path(__file__).parents[2] / "benchmarks"
VOCABULARY = 60


@pytest.fixture(autouse=True)
def settings(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Restore the process settings of a variant."""
    precision = torch.get_float32_matmul_precision()
    monkeypatch.setattr("wordorder.training.device._keep_freed_memory", lambda: None)
    yield
    torch.set_float32_matmul_precision(precision)
    torch.use_deterministic_algorithms(False)


def corpus(folder: Path, lengths: list[tuple[int, int]]) -> ParallelCorpus:
    random = np.random.default_rng(1)
    pairs = [tuple(random.integers(4, VOCABULARY, length).tolist() for length in pair) for pair in lengths]
    write_corpus(folder / "corpus", pairs, vocabulary_size=VOCABULARY)
    return ParallelCorpus.open(folder / "corpus")


def small(**recipe: float) -> Cell:
    """The benchmark's cell with a smaller model, and changes of its recipe."""
    from training_variants import CONFIG, cell

    config = cell("fp32")
    changes = {"size": load_sizes(CONFIG)["micro"], "recipe": config.recipe.model_copy(update=recipe)}
    return config.model_copy(update=changes)


@pytest.mark.parametrize("script", ["training.py", "decoding.py"])
def test_help(script: str) -> None:
    shown = subprocess.run([sys.executable, FOLDER / script, "--help"], capture_output=True, text=True, check=True)
    assert "--threads" in shown.stdout


@pytest.mark.parametrize("lengths", [[(5, 7), (5, 7)], [(3, 9), (6, 2), (1, 1)]], ids=["rectangle", "padded"])
def test_all_variants_have_one_loss_and_learn_alike(tmp_path: Path, lengths: list[tuple[int, int]]) -> None:
    from training import compare_losses
    from training_variants import VARIANTS

    # Clipping, which only the peer as shipped does, must not matter: Adam does not feel the gradient's length.
    config, data = small(dropout=0.0, warmup_updates=1), corpus(tmp_path, lengths)
    sentences = np.arange(len(lengths))
    variants = {name: build(config, data) for name, build in VARIANTS.items()}
    before = {name: variant.check(sentences) for name, variant in variants.items()}
    compare_losses(before)
    for variant in variants.values():
        variant.update(sentences)
    after = {name: variant.check(sentences) for name, variant in variants.items()}
    compare_losses(after)
    assert all(after[name][0] < before[name][0] - 0.01 for name in variants)


def test_dropout_reaches_every_variant(tmp_path: Path) -> None:
    from training_variants import VARIANTS

    data = corpus(tmp_path, [(5, 7), (5, 7)])
    for build in VARIANTS.values():
        variant: Any = build(small(), data)
        batch = collate(data, np.arange(2))
        compute = getattr(variant, "loss", None) or (lambda batch, ours=variant: ours.objective(batch)[0])
        assert compute(batch).item() != compute(batch).item()


@pytest.mark.parametrize("change", [(1e-3, 0.0), (0.0, 1e-2)], ids=["loss", "gradient"])
def test_different_models_are_refused(change: tuple[float, float]) -> None:
    from training import compare_losses
    from training_variants import OURS, SHIPPED

    with pytest.raises(WordorderError, match=re.escape(f"'{SHIPPED}'")):
        compare_losses({OURS: (9.0, 1.0), SHIPPED: (9.0 + change[0], 1.0 + change[1])})


def test_the_counted_operations_are_those_done(tmp_path: Path) -> None:
    """The formula and the list of products agree with PyTorch's own count for batches without padding."""
    from flops import model_flops, products
    from training_variants import OURS, TUNED, VARIANTS

    data, sentences = corpus(tmp_path, [(5, 7)] * 3), np.arange(3)
    config = small()
    expected = model_flops(config.size, VOCABULARY, data.source_lengths + 1, data.target_lengths + 1)
    forward = sum(2 * p.times * p.batch * p.m * p.k * p.n for p in products(config.size, VOCABULARY, 3, 6, 8))
    assert 3 * forward == expected
    for name in (OURS, TUNED[0]):
        variant = VARIANTS[name](config, data)
        with FlopCounterMode(display=False) as counter:
            variant.update(sentences)
        assert counter.get_total_flops() == expected


def test_all_variants_get_the_same_batches_over_epochs(tmp_path: Path) -> None:
    from training import draw_batches

    data = corpus(tmp_path, [(5, 7)] * 8)
    batches = draw_batches(data, 16, 6)  # two sentences a batch, four batches an epoch
    assert [batch.tolist() for batch in batches] == [batch.tolist() for batch in draw_batches(data, 16, 6)]
    assert sorted(np.concatenate(batches[:4]).tolist()) == list(range(8))
    assert len(batches) == 6


def test_sentences_without_a_position_are_refused(tmp_path: Path) -> None:
    from training import parse, run

    data = corpus(tmp_path, [(5, 7), (600, 7)])
    with pytest.raises(WordorderError, match=r"\b601\b"):
        run(parse(["--corpus", str(data.directory)]))


def test_summary() -> None:
    from flops import TYPES
    from training import report, summary
    from training_variants import OURS, SHIPPED, TUNED

    def turn(tokens: int, seconds: list[float], cpu: list[float]) -> dict[str, Any]:
        names = [OURS, SHIPPED, *TUNED]
        return {
            "target_tokens": tokens,
            "flops": tokens * 50,
            "seconds": dict(zip(names, seconds, strict=True)),
            "cpu_seconds": dict(zip(names, cpu, strict=True)),
            "square_flops_per_second": dict.fromkeys(names, 80_000.0) | {TUNED[0]: 100_000.0},
        }

    turns = [turn(1000, [1, 2, 1.5, 1.2], [2, 4, 2, 2]), turn(2000, [2, 5, 3, 2.4], [4, 9, 4, 4])]
    found = summary([*turns, turn(1000, [10, 30, 15, 10], [2, 5, 2, 2])], 62_500.0)
    assert found["target_tokens_per_second"][OURS] == {"median": 1000, "rounds": [1000, 1000, 100]}
    assert found["wordorder_over"][SHIPPED]["rounds"] == [2, 2.5, 3]
    assert found["wordorder_over"][SHIPPED]["median"] == 2.5
    assert found["wordorder_over"][SHIPPED]["cpu_median"] == 2.25
    assert found["best_tuned"] == TUNED[1]
    assert found["share_of_square"][OURS] == 0.5
    assert found["share_of_own_shapes"][OURS] == 0.8
    for precision in TYPES:
        assert "1,000" in report(precision, found)
