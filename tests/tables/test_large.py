"""The table of a study with ten thousand files of scores."""

from __future__ import annotations

import hashlib
import json
import random
import time
from pathlib import Path

import pytest

from evaluation_samples import report
from index_samples import index_cells
from wordorder.integrity import note_of
from wordorder.report.build import build_table

ENCODINGS = ["none", *(f"encoding_{number}" for number in range(24))]
SEEDS = list(range(1, 51))
TESTS = tuple(f"test_{number}" for number in range(8))


def write(path: Path, value: object) -> None:
    """Write as :func:`.write_json` does, without waiting for the disk."""
    text = json.dumps(value).encode()
    path.write_bytes(text)
    note_of(path).write_text(f"{hashlib.sha256(text).hexdigest()}  {path.name}\n")


@pytest.mark.slow
def test_a_table_over_ten_thousand_files_takes_less_than_thirty_seconds(tmp_path: Path) -> None:
    asked, draw = report(ENCODINGS, SEEDS, TESTS), random.Random(1)
    index_cells(tmp_path, asked)
    scores = {name: {"score": 20.0, "sentences": [0.5] * 500, "signature": "x"} for name in asked.metrics}
    for place, encoding in enumerate(ENCODINGS):
        for seed in SEEDS:
            folder = tmp_path / "cells" / "pair" / encoding / "tiny" / str(seed)
            folder.mkdir(parents=True)
            for test in TESTS:
                for found in scores.values():
                    found["score"] = 20 + place / 10 + draw.gauss(0, 1)
                content = {"status": "scored", "hypotheses": {"sha256": "0" * 64}, "metrics": scores}
                write(folder / f"{test}.scores.json", content)
    for test in TESTS:  # as for a study that declares no comparison
        untested = {"size": "tiny", "test": test, "cells": [], "not_scored": [], "metrics": {}}
        (tmp_path / "significance").mkdir(exist_ok=True)
        write(tmp_path / "significance" / f"pair.tiny.{test}.json", untested)
    begun = time.process_time()
    table = build_table("scores", asked, tmp_path)
    seconds = time.process_time() - begun
    assert len(table.data) == len(ENCODINGS) * len(TESTS) * len(asked.metrics)
    assert (table.data["n"] == len(SEEDS)).all() and table.data["group"].all()
    assert seconds < 30
