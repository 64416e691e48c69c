"""A small study on disk, as it is before the evaluation: real translations of generated sentences."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from index_samples import index_cells
from wordorder.comparison.significance import compare
from wordorder.config.models import Comparison, Family, Report, ReportedDataset, Significance
from wordorder.files import read_json, write_json
from wordorder.metrics.base import TextMetric, build
from wordorder.metrics.scores import score_files
from wordorder.tables.table import Block

_TEXT = "ein Mann fährt auf dem Fahrrad , der Hund läuft über die Straße - Tom's (rot) Ball liegt im Garten"
_WORDS = _TEXT.split()
METRICS = ["bleu", "chrf++"]


def sentences(count: int, seed: int = 0) -> list[str]:
    draw = random.Random(seed)
    return [" ".join(draw.choices(_WORDS, k=draw.randint(4, 12))) + "." for _ in range(count)]


def noisy(lines: list[str], rate: float, seed: int) -> list[str]:
    """Replace each word with probability ``rate``; the higher the rate, the worse the translation."""
    draw = random.Random(seed)
    return [" ".join(w if draw.random() > rate else draw.choice(_WORDS) for w in line.split(" ")) for line in lines]


def write_lines(path: Path, lines: list[str]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes("".join(f"{line}\n" for line in lines).encode())
    return path


def family(encodings: list[str], seeds: list[int], samples: int = 50, metrics: Sequence[Any] = METRICS) -> Family:
    """Compare every encoding with the first."""
    return Family.model_validate(
        {
            "encodings": encodings,
            "seeds": seeds,
            "baseline": encodings[0],
            "comparisons": [Comparison(system=name, baseline=encodings[0]) for name in encodings[1:]],
            "metrics": metrics,
            "target_language": "de",
            "significance": Significance(bootstrap_samples=samples, seed=7),
        }
    )


def text_metrics(*names: str) -> list[TextMetric]:
    """Build metrics for German text."""
    found = [build(name, "de") for name in names]
    return [metric for metric in found if isinstance(metric, TextMetric)]


def frame_of(block: Block) -> pd.DataFrame:
    """Return the text that a block of a table prints."""
    return pd.DataFrame(block.texts, columns=block.columns)


def translations(results: Path, asked: Family, test: str) -> dict[tuple[str, int], Path]:
    """Return the hypotheses files that :func:`write_study` writes for a family of size 'tiny' on the dataset 'pair'."""
    cells = results / "cells" / "pair"
    return {
        (name, seed): cells / name / "tiny" / str(seed) / f"{test}.hypotheses"
        for name in asked.encodings
        for seed in asked.seeds
    }


def report(encodings: list[str], seeds: list[int], tests: tuple[str, ...] = ("test_1", "test_2")) -> Report:
    return Report.model_validate(
        {
            "study": "small",
            "title": "A small study",
            "datasets": [ReportedDataset(name="pair", title="Pair German→English", tests=list(tests))],
            "encodings": encodings,
            "sizes": ["tiny"],
            "seeds": seeds,
            "metrics": METRICS,
            "baseline": encodings[0],
        }
    )


def write_study(results: Path, asked: Report, rates: dict[str, float], diverged: tuple[str, int] | None = None) -> Path:
    """Write hypotheses, scores, records and metrics of each cell; returns the folder of the references.

    The cell called ``diverged`` has empty hypotheses, as 'wordorder stage translate' leaves them. An encoding without a
    rate has no files at all.
    """
    index_cells(results, asked)
    references = results / "references"
    for number, test in enumerate(asked.datasets[0].tests):
        write_lines(references / f"{test}.target", sentences(25, seed=number))
    for encoding, rate in rates.items():
        for seed in asked.seeds:
            folder = results / "cells" / "pair" / encoding / "tiny" / str(seed)
            status = "diverged" if (encoding, seed) == diverged else "finished"
            for test in asked.datasets[0].tests:
                target = references / f"{test}.target"
                lines = noisy(target.read_text(encoding="utf-8").splitlines(), rate, seed)
                path = write_lines(folder / f"{test}.hypotheses", lines if status == "finished" else [])
                write_json(folder / f"{test}.scores.json", score_files(path, target, METRICS, "de"))
            write_record(folder, encoding, seed, status)
    return references


def write_finished_study(
    results: Path, asked: Report, rates: dict[str, float], diverged: tuple[str, int] | None = None
) -> Path:
    """Write the study of :func:`write_study`, significance tests, and records of the trainings."""
    references = write_study(results, asked, rates, diverged)
    compared = family(asked.encodings, asked.seeds, samples=20)
    for test in asked.datasets[0].tests:
        found = compare(compared, translations(results, compared, test), "tiny", test, references / f"{test}.target")
        write_json(results / "significance" / f"pair.tiny.{test}.json", found)
    recipe = {"learning_rate": 1e-3, "batch_tokens": 512}
    for path in results.glob("cells/*/*/*/*/record.json"):
        trained = {"data": {"train": "abc"}, "vocabulary_size": 99, "cell": {"recipe": recipe}}
        write_json(path, read_json(path) | trained)
    return references


def write_record(folder: Path, encoding: str, seed: int, status: str) -> None:
    extra = 1000 * len(encoding) if encoding != "none" else 0
    write_json(
        folder / "record.json",
        {
            "status": status,
            "seed": seed,
            "parameters": {"total": 2_000_000 + extra, "encoding": extra},
            "updates": 400,
            "best_update": 300,
            "epochs": 4,
            "best_valid_perplexity": 7.5 + seed if status == "finished" else 99.0,
            "seconds": 120.0,
            "target_tokens_per_second": 1000.0 * seed,
            "precision": "fp32",
            "device": "cpu",
            "efficiency": {"used": {"memory_bytes": 900_000_000 + 100_000_000 * seed, "gpu_memory_bytes": None}},
        },
    )
    nll = {"nll": 4.6, "perplexity": math.exp(4.6)}
    rows = [{"kind": "train", "update": 50, "epoch": 1, "loss": 5.0, **nll, "gradient_norm": 1.0}]
    rows += [
        {"kind": "valid", "update": 100 * i, "epoch": i, "loss": 3.0 - i / 10, "perplexity": 20.0 / i + seed}
        for i in range(1, 5)
    ]
    write_lines(folder / "metrics.jsonl", [json.dumps(row) for row in rows])
