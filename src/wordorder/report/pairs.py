"""The data with which the page compares any two systems: scores, Tukey's intervals, and translations that differ.

Tukey's test is the one for pairs that a reader chooses after the results are known (docs/statistics.md). The browser
subtracts means and adds half the width of the intervals; everything else is computed here.
"""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from wordorder.comparison.levels import NOT_EXACT, level_of
from wordorder.config.models import Report
from wordorder.metrics.base import metric
from wordorder.report.overview import place
from wordorder.report.records import Record
from wordorder.report.translations import Translated, token_pattern
from wordorder.results.frames import groups, load_significance
from wordorder.statistics.all_pairs import all_pairs
from wordorder.statistics.blocked import Blocked, block, score_floor
from wordorder.statistics.verdicts import verdict
from wordorder.tables.comparisons import all_exact, is_small

SENTENCES = 10
_OTHER_SIZE = "the study trains it in other sizes only"


def load(
    report: Report, results: Path, scores: pd.DataFrame, records: Sequence[Record], texts: Sequence[Translated]
) -> dict[str, Any]:
    """Collect the data of all pairs.

    Args:
        report: The study.
        results: The folder of the study's results.
        scores: The data of the table of scores, with one column per seed.
        records: The records of all cells.
        texts: The translations of every test set.

    Returns:
        The confidence in per cent, the systems, and one entry per dataset, size and test set with its title, its
        metrics and its sentences.
    """
    level = level_of(report.alpha, report.seeds, report.looks)
    files = load_significance(report, results)
    tested = {(file["dataset"], file["size"], file["test"]): file for file in files}
    places = []
    for text in texts:
        key = (text.dataset, text.size, text.test)
        rows = scores[(scores[["dataset", "size", "test"]] == list(key)).all(axis=1)]
        diverged = {
            record.encoding
            for record in records
            if (record.dataset, record.size, record.status) == (text.dataset, text.size, "diverged")
        }
        file = tested[key]
        diverged |= {cell["encoding"] for cell in file["cells"] if cell["status"] == "no hypotheses"}
        nothing: dict[str, Any] = {"comparisons": [], "family": None}
        metrics = [
            _metric(name, found, diverged, file["metrics"].get(name) or nothing, level.level)
            for (name,), found in groups(rows, ["metric"])
        ]
        places.append({"title": place(report, *key), "metrics": metrics} | _texts(text))
        others = dict.fromkeys(
            (name for name in report.encodings if name not in report.encodings_of(text.size)), _OTHER_SIZE
        )
        for said in (places[-1]["absent"], *(own["why"] for own in metrics)):
            said.update(others)
    return {
        "confidence": f"{100 * (1 - level.level):.3g}",
        "exact": level.exact and all_exact(files),
        "notExact": NOT_EXACT,
        "count": SENTENCES,
        "systems": report.encodings,
        "places": places,
    }


def _metric(name: str, rows: pd.DataFrame, diverged: set[str], tested: dict[str, Any], alpha: float) -> dict[str, Any]:
    """Test all pairs by one metric."""
    seeds = [int(column.removeprefix("seed ")) for column in rows.columns if column.startswith("seed ")]
    of = {
        row["encoding"]: {seed: row[f"seed {seed}"] for seed in seeds if not pd.isna(row[f"seed {seed}"])}
        for row in rows.to_dict("records")
    }
    chosen = metric(name)
    margin = tested["family"] and tested["family"]["margin"]
    floor = score_floor(margin, lower_is_better=chosen.lower_is_better)
    model = block(of, seeds=seeds, diverged=diverged, floor=floor)
    systems = list(model.systems) if model.seeds else []  # systems without a common seed cannot be compared
    found = all_pairs(model, alpha=alpha)
    differences = list(found.differences.values())
    decided = [
        verdict(each, margin=margin or 0.0, alpha=alpha, lower_is_better=chosen.lower_is_better).outcome.value
        for each in differences
    ]
    return {
        "label": chosen.label,
        "digits": chosen.digits,
        "lower": chosen.lower_is_better,
        "systems": systems,
        "seeds": list(model.seeds),
        "scores": model.scores.tolist() if systems else [],
        "means": model.means.tolist() if systems else [],
        "halves": [(each.interval[1] - each.interval[0]) / 2 for each in differences],
        "unstable": list(model.unstable),
        "p": [each.p for each in differences],
        "outcomes": decided,
        "margin": margin,
        "problem": found.problem,
        "small": is_small(tested["family"] or {}),
        "baselineVaries": bool(((tested["family"] or {}).get("baseline_check") or {}).get("corrects")),
        "why": _why(model, of, systems),
        "declared": [[entry["system"], entry["baseline"], entry["verdict"]] for entry in tested["comparisons"]],
    }


def _why(model: Blocked, of: dict[str, dict[int, float]], systems: Sequence[str]) -> dict[str, str]:
    """Return why systems are in no test."""
    reasons = dict.fromkeys((name for name, own in of.items() if not own), "no scores") | {
        name: str(reason) for name, reason in model.excluded.items() if of.get(name) or reason == "diverged"
    }
    return reasons | {name: "no seed that all have" for name in model.systems if name not in systems}


def _texts(found: Translated) -> dict[str, Any]:
    """Choose the sentences of every pair, and collect what they need once."""
    pairs: dict[str, list[int]] = {}
    needed: dict[str, set[int]] = {name: set() for name in found.lines}
    rated = {name: np.array(own) for name, own in found.scores.items()}
    for one, other in combinations(found.lines, 2):
        chosen = choose(found, one, other, rated)
        pairs[f"{one}\n{other}"] = chosen
        needed[one].update(chosen)
        needed[other].update(chosen)
    numbers = sorted({index for chosen in needed.values() for index in chosen})
    return {
        "languages": [found.source_language, found.target_language],
        "tokens": token_pattern(found.target_language),
        "rated": metric(found.metric).label if found.metric else "",
        "total": len(found.pairs),
        "shown": dict(found.shown),
        "absent": dict(found.absent),
        "sentences": {str(index): found.pairs[index] for index in numbers},
        "lines": {
            name: {str(index): found.lines[name][index] for index in sorted(indices)}
            for name, indices in needed.items()
        },
        "ratings": {
            name: {str(index): round(found.scores[name][index], 1) for index in sorted(needed[name])}
            for name in found.scores
        },
        "pairs": pairs,
    }


def choose(found: Translated, one: str, other: str, rated: dict[str, Any], count: int = SENTENCES) -> list[int]:
    """Choose the sentences with the largest difference between the scores of two systems.

    No pair of source and reference is chosen twice, and no sentence with the same translation by both systems. Of equal
    differences the first in the test set is chosen.

    Args:
        found: The translations.
        one: A system.
        other: Another system.
        rated: The sentence scores of each system that has them.
        count: The largest number of sentences.

    Returns:
        Their indices, the largest difference first.
    """
    apart = np.abs(rated[one] - rated[other]) if one in rated and other in rated else np.zeros(len(found.pairs))
    chosen: dict[tuple[str, str], int] = {}
    for index in np.argsort(-apart, kind="stable").tolist():
        if len(chosen) == count:
            break
        if found.lines[one][index] != found.lines[other][index]:
            chosen.setdefault(found.pairs[index], index)
    return list(chosen.values())


def packed(content: dict[str, Any]) -> str:
    """Return an object as compressed JSON in base64; the same object gives the same text."""
    text = json.dumps(content, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return base64.b64encode(gzip.compress(text.encode(), mtime=0)).decode()
