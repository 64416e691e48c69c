"""What both benchmarks of decoding share: a model with random weights, clocks, and agreement of translations."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import Any

import torch

from wordorder.config.models import Cell, Recipe
from wordorder.model.architectures.transformer import Transformer, TransformerSize
from wordorder.model.batch import END
from wordorder.model.checkpoint import build_model

TINY = TransformerSize(encoder_layers=3, decoder_layers=3, dim=256, ffn_dim=1024, heads=4, dropout=0.1)
RANDOM_LENGTH = 15  # tokens of every hypothesis of a random model, about those of a caption


def random_model(vocabulary: int) -> Transformer:
    """Return a model with random weights, no hypothesis of which ends before its maximum length."""
    torch.manual_seed(1)
    cell = Cell(encoding={"type": "sinusoidal"}, size=TINY, recipe=Recipe(norm="post", max_updates=1), seed=1)
    model = build_model(cell, vocabulary).eval()
    with torch.no_grad():
        model.output.weight[END].zero_()  # never among the best
    return model


def clocked(function: Callable[[], Any]) -> tuple[dict[str, float], Any]:
    """Return the wall time and the CPU seconds of a call, with those of ended child processes, and its result."""
    clock, cpu = time.perf_counter(), sum(os.times()[:4])
    result = function()
    return {"clock": time.perf_counter() - clock, "cpu": sum(os.times()[:4]) - cpu}, result


def share_equal(some: list[list[int]], others: list[list[int]]) -> float:
    """Return the share of sentences with the same translation."""
    return sum(mine == theirs for mine, theirs in zip(some, others, strict=True)) / len(some)
