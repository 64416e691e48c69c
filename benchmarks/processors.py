"""Compare the scores of models that two bundles share, such as models that two kinds of processor trained.

    make verify-reference STUDY=captions_processors  # prepares the references
    python benchmarks/processors.py results/reference/captions_processors results/reference/arena_captions_core

Prints the mean of the differences over all models, first bundle minus second, with its 95 % interval (t). The intervals
are not corrected for the number of rows.
"""

from __future__ import annotations

import argparse
import tempfile
from collections import defaultdict
from pathlib import Path

import numpy as np
import sacrebleu
from scipy import stats
from tabulate import tabulate

from wordorder.files import read_text
from wordorder.results.bundle import unpack
from wordorder.results.frames import cell_folders
from wordorder.results.translations import raw

Model = tuple[str, str, str, int]
METRICS = {"BLEU": sacrebleu.BLEU(), "chrF++": sacrebleu.CHRF(word_order=2)}


def translations(bundle: Path) -> dict[tuple[str, str, Model], list[str]]:
    """Return the translations of a bundle by dataset, test set and model."""
    with tempfile.TemporaryDirectory() as results:
        report = unpack(bundle, Path(results)).report
        tests = {dataset.name: dataset.tests for dataset in report.datasets}
        return {
            (cell["dataset"], test, (cell["dataset"], cell["size"], cell["encoding"], cell["seed"])): read_text(
                files.hypotheses(test)
            ).split("\n")
            for cell, files in cell_folders(report, results)
            for test in tests[cell["dataset"]]
        }


def main() -> None:
    options = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    options.add_argument("bundles", type=Path, nargs=2, help="the folders of the bundles")
    options.add_argument("--data", type=Path, default=Path("results/data"), help="default: results/data")
    given = options.parse_args()
    first, second = map(translations, given.bundles)
    found: dict[tuple[str, str, str], list[float]] = defaultdict(list)
    for key in sorted(first.keys() & second.keys()):
        dataset, test, _ = key
        references = [read_text(raw(given.data, dataset, test, "target")).split("\n")]
        for name, metric in METRICS.items():
            scores = [metric.corpus_score(bundle[key], references).score for bundle in (first, second)]
            found[dataset, test, name].append(scores[0] - scores[1])
    rows = []
    for names, differences in found.items():
        mean, error = np.mean(differences), stats.sem(differences)
        low, high = stats.t.interval(0.95, len(differences) - 1, mean, error)
        rows.append([*names, len(differences), mean, low, high, max(map(abs, differences))])
    heads = ["dataset", "test set", "metric", "models", "mean", "from", "to", "largest"]
    print(tabulate(rows, heads, tablefmt="github", floatfmt="+.2f"))


if __name__ == "__main__":
    main()
