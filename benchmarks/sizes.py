"""Compare the models of a bundle with a baseline of any size, such as one that has as many parameters.

    make verify-reference STUDY=captions_parameters  # prepares the references
    python benchmarks/sizes.py results/reference/captions_parameters sinusoidal tiny_1450

A study compares encodings within a size. Here all encodings in all sizes are one family for each test set and metric,
with the same tests (docs/statistics.md).
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

from wordorder.comparison.significance import compare
from wordorder.config.models import Comparison
from wordorder.results.bundle import unpack
from wordorder.results.frames import cell_folders
from wordorder.results.translations import raw


def label(encoding: str, size: str) -> str:
    """Return the name of an encoding in models of a size."""
    return f"{encoding}_in_{size}"


def main() -> None:
    options = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    options.add_argument("bundle", type=Path, help="the folder of the bundle")
    options.add_argument("encoding", help="the encoding of the baseline")
    options.add_argument("size", help="the size of the baseline")
    options.add_argument("--data", type=Path, default=Path("results/data"), help="default: results/data")
    given = options.parse_args()
    baseline = label(given.encoding, given.size)
    with tempfile.TemporaryDirectory() as results:
        study = unpack(given.bundle, Path(results))
        cells = list(cell_folders(study.report, results))
        systems = list(dict.fromkeys(label(cell["encoding"], cell["size"]) for cell, _ in cells))
        if baseline not in systems:
            options.error(f"{given.bundle} has no encoding '{given.encoding}' in models of size '{given.size}'")
        others = [Comparison(system=name, baseline=baseline) for name in systems if name != baseline]
        pairs = {"encodings": systems, "baseline": baseline, "comparisons": others}
        for dataset in study.report.datasets:
            family = study.families[dataset.name].model_copy(update=pairs)
            for test in dataset.tests:
                files = {
                    (label(cell["encoding"], cell["size"]), cell["seed"]): found.hypotheses(test)
                    for cell, found in cells
                    if cell["dataset"] == dataset.name
                }
                tested = compare(family, files, given.size, test, raw(given.data, dataset.name, test, "target"))
                for of in tested["metrics"].values():
                    for entry in of["comparisons"]:
                        print(f"{dataset.name}, {test}: {entry['verdict']}")


if __name__ == "__main__":
    main()
