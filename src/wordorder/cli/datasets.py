"""``wordorder data``: check datasets and compare their numbers of pairs with published ones."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Any

from typer import Argument, Option

from wordorder.cli.app import DATA, group
from wordorder.cli.options import Results, Root, complete_dataset, seconds
from wordorder.errors import WordorderError

data = group("data", "Check datasets and compare their numbers of pairs with published ones.", DATA)


def _datasets(also: str = "") -> Any:
    return Argument(
        metavar="[DATASET]...",
        help=f"names of datasets{also} (default: all)",
        autocompletion=complete_dataset,
        show_default=False,
    )


@data("check", "check multi30k --timeout 5")
def check(
    datasets: Annotated[list[str] | None, _datasets(" or gold alignment sets")] = None,
    *,
    timeout: Annotated[float, Option(parser=seconds, metavar="SECONDS", help="seconds to wait for each answer")] = 20.0,
    root: Root = Path("config"),
) -> None:
    """Check that the files of datasets are available.

    Look for every file of the datasets and gold alignments without downloading it. A file is available if the local
    mirror (WORDORDER_MIRROR) or the folder by_hand in resources/downloads of the current folder has it with the
    expected checksum, or if its URL answers with the expected size. The exit status is 1 if a file is unavailable or a
    wrong file was found.
    """
    from wordorder.config.load import dataset_names, load_dataset, load_gold_sets
    from wordorder.data.availability import check_downloads, summary

    known, gold = dataset_names(root), load_gold_sets(root)
    names = datasets or [*known, *gold]
    if not names:
        raise WordorderError(
            f"There are no dataset files in {root / 'datasets'}. Name the configuration folder with --root.",
            code="no-datasets",
            path=root / "datasets",
        )
    loaded = [load_dataset(name, root) for name in names if name in known or name not in gold]
    downloads = [(data.folder, data.downloads) for data in loaded]
    downloads += [(f"gold_alignments/{name}", gold[name].downloads) for name in names if name in gold]
    found = []
    for file in check_downloads(downloads, os.environ.get("WORDORDER_MIRROR") or None, timeout=timeout):
        print(file, flush=True)
        found.append(file)
    print(f"\n{summary(found)}")
    bad = sum(not file.had for file in found)
    if bad:
        raise WordorderError(
            f"{bad} of {len(found)} files are unavailable or differ from their description. The lines with BAD name "
            "them and the reason.",
            code="files-unavailable",
            found=bad,
        )


@data("pairs", "pairs multi30k")
def pairs(
    datasets: Annotated[list[str] | None, _datasets()] = None,
    *,
    results: Results = Path("results"),
    root: Root = Path("config"),
) -> None:
    """Compare numbers of sentence pairs with the published ones.

    Show how many pairs of the prepared datasets were imported, how many remained after cleaning, and how many the
    papers report.
    """
    from wordorder.config.load import dataset_names
    from wordorder.data.pairs import describe_pairs
    from wordorder.files import read_json

    printed = False
    for name in datasets or dataset_names(root):
        path = results / "data" / name / "pairs.json"
        if path.exists():
            print(describe_pairs(name, read_json(path)))
            printed = True
        elif datasets:
            raise WordorderError(
                f"{path} does not exist. Add 'published_pairs' to the file of the dataset if it has none, and prepare "
                "the dataset by running a study.",
                code="missing-file",
                path=path,
            )
    if not printed:
        print(f"{results / 'data'} contains no prepared dataset with 'published_pairs'.")
