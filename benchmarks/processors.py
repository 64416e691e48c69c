"""Compare the scores of models that two bundles share, such as models that two kinds of processor trained.

    make verify-reference STUDY=captions_processors  # prepares the references
    python benchmarks/processors.py results/reference/arena_captions_core results/reference/captions_processors

Prints the mean of the differences, first bundle minus second, over all models and per encoding, with its 95 % interval
(t). The third table says whether a seed means the same in both bundles: the standard deviation of the seeds within an
encoding in the first and in the second bundle, and the correlation between the bundles. No interval of these tables is
corrected for the number of rows. With --baseline, each seed's scores are averaged over both bundles, and all encodings
are compared with the baseline by the step-down test and the simultaneous intervals of a study.
"""

from __future__ import annotations

import argparse
import tempfile
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import sacrebleu
from scipy import stats
from tabulate import tabulate

from wordorder.files import read_text
from wordorder.results.bundle import unpack
from wordorder.results.frames import cell_folders
from wordorder.results.translations import raw
from wordorder.statistics.blocked import block
from wordorder.statistics.dunnett import against_baseline

Model = tuple[str, str, str, int]
LEVEL = 0.05
METRICS = {"BLEU": sacrebleu.BLEU(), "chrF++": sacrebleu.CHRF(word_order=2)}


def translations(bundle: Path) -> dict[tuple[str, str, Model], list[str]]:
    """Return the translations of a bundle by dataset, test set and model."""
    with tempfile.TemporaryDirectory() as results:
        report = unpack(bundle, Path(results)).report
        return {
            (cell["dataset"], test, (cell["dataset"], cell["size"], cell["encoding"], cell["seed"])): read_text(
                files.hypotheses(test)
            ).split("\n")
            for cell, files in cell_folders(report, results)
            for test in report.tests[cell["dataset"]]
        }


def difference(pairs: np.ndarray) -> list[float]:
    """Return the number of models, and the mean, interval and largest size of their differences."""
    differences = pairs[:, 0] - pairs[:, 1]
    low, high = stats.t.interval(0.95, len(differences) - 1, differences.mean(), stats.sem(differences))
    return [len(differences), differences.mean(), low, high, abs(differences).max()]


def agreement(groups: list[np.ndarray]) -> list[float]:
    """Return both standard deviations of the seeds within an encoding, and the correlation with its interval (Fisher).

    Each group holds the scores of one encoding, one row per seed and one column per bundle.
    """
    deviations = np.concatenate([pairs - pairs.mean(axis=0) for pairs in groups])
    freedom = len(deviations) - len(groups)
    (first, both), (_, second) = deviations.T @ deviations / freedom
    correlation = both / np.sqrt(first * second)
    low, high = np.tanh(np.arctanh(correlation) + stats.norm.interval(0.95) / np.sqrt(freedom - 2))
    return [np.sqrt(first), np.sqrt(second), correlation, low, high]


def against(encodings: Mapping[str, Sequence[Sequence[float]]], baseline: str) -> list[list[object]]:
    """Compare encodings with a baseline by the means of both bundles: difference, interval, p-value and verdict."""
    means = {name: {seed: float(np.mean(pair)) for seed, pair in enumerate(own)} for name, own in encodings.items()}
    tested = against_baseline(block(means), baseline).differences
    rows: list[list[object]] = []
    for name, found in sorted(tested.items(), key=lambda item: -item[1].value):
        verdict = "undecided" if found.p > LEVEL else "better" if found.value > 0 else "worse"
        rows.append([name, found.value, *found.interval, found.p, verdict])
    return rows


def show(heads: list[str], rows: Sequence[Sequence[object]]) -> None:
    formats = [".3f" if head == "p" else "+.2f" for head in heads]
    print(tabulate(rows, heads, tablefmt="github", floatfmt=formats), end="\n\n")


def main() -> None:
    options = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    options.add_argument("bundles", type=Path, nargs=2, help="the folders of the bundles")
    options.add_argument("--baseline", help="compare the means of both bundles with this encoding")
    options.add_argument("--data", type=Path, default=Path("results/data"), help="default: results/data")
    given = options.parse_args()
    first, second = map(translations, given.bundles)
    found: dict[tuple[str, str, str], dict[str, list[list[float]]]] = defaultdict(lambda: defaultdict(list))
    for key in sorted(first.keys() & second.keys()):
        dataset, test, (_, _, encoding, _) = key
        references = [read_text(raw(given.data, dataset, test, "target")).split("\n")]
        for name, metric in METRICS.items():
            scores = [metric.corpus_score(bundle[key], references).score for bundle in (first, second)]
            found[dataset, test, name][encoding].append(scores)
    heads = ["dataset", "test set", "metric"]
    differences = ["models", "mean", "from", "to", "largest"]
    everything, by_encoding, seeds = [], [], []
    for names, encodings in found.items():
        groups = [np.array(pairs) for pairs in encodings.values()]
        everything.append([*names, *difference(np.concatenate(groups))])
        by_encoding += [[*names, encoding, *difference(np.array(pairs))] for encoding, pairs in encodings.items()]
        seeds.append([*names, *agreement(groups)])
    show([*heads, *differences], everything)
    show([*heads, "encoding", *differences], by_encoding)
    show([*heads, "deviation 1", "deviation 2", "correlation", "from", "to"], seeds)
    if given.baseline:
        rows = [[*names, *row] for names, own in found.items() for row in against(own, given.baseline)]
        show([*heads, "encoding", "difference", "from", "to", "p", "verdict"], rows)


if __name__ == "__main__":
    main()
