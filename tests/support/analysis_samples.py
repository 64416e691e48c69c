"""A study with translations of 25 sentences: four encodings, two seeds, one diverged, one not trained."""

from __future__ import annotations

import random
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from index_samples import index_cells
from wordorder.config.models import Analysed
from wordorder.data.binary import write_corpus
from wordorder.files import write_json

PAIRS = 25
WORDS = ["der", "Hund", "sieht", "die", "Katze", ",", "und", "ein", "alter", "Mann", "schläft", "im", "Haus", "."]
# Kendall's tau 1, 1/3, 0, 2/3 and 1; and of the links 2/3, 0, 1, 1 and 1.
TREES = ["[ 0 [ 1 2 ] ]", "< 0 [ 1 2 ] >", "< 0 < 1 2 > >", "[ 0 < 1 2 > ]", "0"]
LINKS = ["0-0 1-2 2-1", "0-1 1-0", "0-0 1-1", "0-0", ""]


def analysed(**settings: Any) -> Analysed:
    """Return the slice of one analysis."""
    report = {
        "study": "sample",
        "title": "A sample",
        "datasets": [{"name": "pair", "title": "A pair", "tests": ["test"]}],
        "encodings": ["sinusoidal", "opr", "none", "untrained"],
        "sizes": ["tiny"],
        "seeds": [1, 2],
        "metrics": ["bleu", "chrf++"],
        "baseline": "sinusoidal",
    }
    languages = {"source_languages": {"pair": "en"}, "target_languages": {"pair": "de"}}
    return Analysed.model_validate({"report": report, "settings": settings, **languages})


def write_lines(path: Path, lines: Iterable[str]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path


def write_binary(data: Path, split: str, lengths: Iterable[int]) -> None:
    """Write a corpus whose sources have these lengths in subwords."""
    write_corpus(data / "pair/binary" / split, (([4] * length, [5]) for length in lengths), vocabulary_size=10)


def write_sample(folder: Path, diverged: tuple[str, int] | None = ("none", 2)) -> tuple[Path, Path]:
    """Write the study, and return results/{study} and results/data. Sentence i, from 1, has i subwords and i words."""
    results, data = folder / "results", folder / "data"
    index_cells(results, analysed().report)
    draw = random.Random(1)
    references = [" ".join(draw.choices(WORDS, k=draw.randint(3, 12))) for _ in range(PAIRS)]
    write_lines(data / "pair/raw/test.source", (" ".join(["word"] * number) for number in range(1, PAIRS + 1)))
    write_lines(data / "pair/raw/test.target", references)
    write_lines(data / "pair/raw/test.trees", TREES * 5)
    write_lines(data / "pair/alignment/hmm/test.links", LINKS * 5)
    write_binary(data, "test", range(1, PAIRS + 1))
    write_binary(data, "train", range(1, 11))
    for encoding in ("sinusoidal", "opr", "none"):
        for seed in (1, 2):
            cell = results / "cells/pair" / encoding / "tiny" / str(seed)
            failed = (encoding, seed) == diverged
            write_lines(cell / "test.hypotheses", [] if failed else (_changed(line, draw) for line in references))
            write_json(cell / "record.json", {"status": "diverged" if failed else "finished"})
    return results, data


def _changed(line: str, draw: random.Random) -> str:
    """Return a translation that differs slightly from the reference."""
    words = [draw.choice(WORDS) if draw.random() < 0.3 else word for word in line.split()]
    return " ".join(words[: len(words) - (draw.random() < 0.2)])
