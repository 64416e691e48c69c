"""A small study with the data that analyses read: sources, binary corpora of given lengths, gold trees, links."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from evaluation_samples import report, sentences, write_lines, write_study
from wordorder.config.models import Analysed
from wordorder.data.binary import write_corpus

PAIRS = 25
ENCODINGS = ["sinusoidal", "opr", "none", "untrained"]
TREES = ["[ 0 [ 1 2 ] ]", "< 0 [ 1 2 ] >", "< 0 < 1 2 > >", "[ 0 < 1 2 > ]", "[ 0 1 ]"]
LINKS = ["0-0 1-2 2-1", "0-1 1-0", "0-0 1-1", "", "5-0"]


def analysed(**analysis: dict[str, Any]) -> Analysed:
    """Return a slice with one analysis: two seeds of four encodings, one of which has no files."""
    return Analysed.model_validate(
        {
            "report": report(ENCODINGS, [1, 2], tests=("test",)),
            "settings": analysis,
            "source_languages": {"pair": "en"},
            "target_languages": {"pair": "de"},
        }
    )


def write_sample(folder: Path, diverged: tuple[str, int] | None = ("none", 2)) -> tuple[Path, Path]:
    """Write the study below ``folder``, and return the folders of results and data."""
    results, data = folder / "results", folder / "data"
    asked = analysed(position={}).report
    references = write_study(results, asked, {"sinusoidal": 0.3, "opr": 0.2, "none": 0.6}, diverged)
    raw = data / "pair" / "raw"
    raw.mkdir(parents=True)
    (references / "test.target").rename(raw / "test.target")
    write_lines(raw / "test.source", sentences(PAIRS, seed=99))
    write_lines(raw / "test.trees", [TREES[i % 5] for i in range(PAIRS)])
    write_lines(data / "pair" / "alignment" / "hmm" / "test.links", [LINKS[i % 5] for i in range(PAIRS)])
    # Sources of 1 to 10 subwords were trained on; those of the test set have 1 to 25.
    write_binary(data, "train", range(1, 11))
    write_binary(data, "test", range(1, PAIRS + 1))
    return results, data


def write_binary(data: Path, split: str, lengths: range) -> None:
    pairs = [([4] * length, [4]) for length in lengths]
    write_corpus(data / "pair" / "binary" / split, pairs, vocabulary_size=5)
