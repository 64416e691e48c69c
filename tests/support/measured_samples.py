"""The slice of an analysis of a study with two encodings and two seeds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from index_samples import index_cells
from wordorder.config.models import Analysed


def analysed(settings: dict[str, Any]) -> Analysed:
    report = {
        "study": "s",
        "title": "S",
        "datasets": [{"name": "pair", "title": "Pair", "tests": ["test"]}],
        "encodings": ["none", "opr"],
        "sizes": ["mini"],
        "seeds": [1, 2],
        "metrics": ["bleu"],
        "baseline": "none",
    }
    return Analysed.model_validate({"report": report, "settings": settings})


def cell_folder(results: Path, encoding: str, seed: int) -> Path:
    folder = results / "cells" / "pair" / encoding / "mini" / str(seed)
    index_cells(results, analysed({}).report)
    folder.mkdir(parents=True, exist_ok=True)
    return folder
