"""A tiny LSTM, and corpora of random sentences of given lengths."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import numpy as np
import torch

from tiny_models import VOCABULARY
from wordorder.config.models import Cell, Recipe
from wordorder.data.binary import ParallelCorpus, write_corpus
from wordorder.model.architectures.base import Translator
from wordorder.model.architectures.lstm import LSTMSize
from wordorder.model.checkpoint import build_model


def lstm(**size: Any) -> Translator:
    torch.manual_seed(0)
    shape = LSTMSize(architecture="lstm", layers=2, dim=16, dropout=0.3, **size)
    cell = Cell(encoding={"type": "sinusoidal"}, size=shape, recipe=Recipe(max_updates=1), seed=1)
    return build_model(cell, VOCABULARY).eval()


def corpus_of(folder: Path, lengths: list[tuple[int, int]]) -> ParallelCorpus:
    generator = np.random.default_rng(0)
    pairs = [tuple(generator.integers(4, VOCABULARY, length).tolist() for length in pair) for pair in lengths]
    write_corpus(folder / "corpus", cast(Any, pairs), vocabulary_size=VOCABULARY)
    return ParallelCorpus.open(folder / "corpus")
