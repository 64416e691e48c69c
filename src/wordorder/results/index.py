"""The locations of a study's models and translations.

Models are shared by all studies, so their folders are outside the folder of a study. The workflow writes one index per
study, ``results/{study}/models.json``, which maps the names of each cell to the folder of its model:

    {"cells": {"DATASET/SIZE/ENCODING/SEED": "../models/…/SEED", …},
     "decodings": {"NAME": "FOLDER", …},
     "evaluations": {"DATASET": "FOLDER", …},
     "measures": {"DATASET/ANALYSIS": "FILE", …}}

Folders of cells are relative to the folder of the study. Folders of decodings and files of measures are relative to the
folder of a cell; folders of evaluations, which hold scores, to that of a decoding. A study with a single decoding has
only the decoding ''. A study with several decodings reports each test set once per decoding, as ``TEST@DECODING``.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from wordorder.errors import WordorderError
from wordorder.files import read_object, write_json

FILE = "models.json"


@dataclass(frozen=True)
class CellFiles:
    """The files of one cell: of its model, and of everything that was computed with the model."""

    folder: Path
    decodings: Mapping[str, str]
    evaluation: str
    measures: Mapping[str, str]

    @property
    def model(self) -> Path:
        """The trained model."""
        return self.folder / "model.pt"

    @property
    def record(self) -> Path:
        """The record of the training run."""
        return self.folder / "record.json"

    @property
    def metrics(self) -> Path:
        """The losses and perplexities that the training reported."""
        return self.folder / "metrics.jsonl"

    def hypotheses(self, test: str) -> Path:
        """Return the file of the translations of a test set, which may be ``TEST@DECODING``."""
        folder, name = self._decoded(test)
        return folder / f"{name}.hypotheses"

    def scores(self, test: str) -> Path:
        """Return the file of the scores of a test set, which may be ``TEST@DECODING``."""
        folder, name = self._decoded(test)
        return folder / self.evaluation / f"{name}.scores.json"

    def measure(self, name: str) -> Path:
        """Return the file of what an analysis measured with the model."""
        return self.folder / self.measures.get(name, f"{name}.json")

    def _decoded(self, test: str) -> tuple[Path, str]:
        """Return the folder of the decoding, and the test set."""
        name, _, decoding = test.partition("@")
        if decoding not in self.decodings:
            raise WordorderError(
                f"The test set '{test}' names a decoding that the study does not have. Its decodings are "
                f"{', '.join(filter(None, self.decodings)) or 'not named'}.",
                code="unknown-decoding",
            )
        return self.folder / self.decodings[decoding], name


@dataclass(frozen=True)
class Index:
    """The index of a study; the keys of ``cells`` are (dataset, size, encoding, seed)."""

    cells: Mapping[tuple[str, str, str, int], CellFiles]

    def cell(self, dataset: str, size: str, encoding: str, seed: int) -> CellFiles:
        """Return the files of a cell.

        Raises:
            WordorderError: The study has no such cell.
        """
        try:
            return self.cells[dataset, size, encoding, seed]
        except KeyError:
            raise WordorderError(
                f"The index of the study has no model of the dataset '{dataset}', the size '{size}', the encoding "
                f"'{encoding}' and the seed {seed}. Run the study again, which writes its index.",
                code="not-in-index",
            ) from None


def read_index(results: str | Path) -> Index:
    """Read the index of a study.

    Args:
        results: The folder of the study, ``results/{study}``.

    Raises:
        WordorderError: There is no index, or the results were written before models were shared.
    """
    path = Path(results) / FILE
    if not path.is_file():
        if is_old(results):
            raise WordorderError(
                f"{results} was written by a version in which every study had its own models (the folder 'cells'). "
                "This version shares models between studies and does not read them. Move the folder away and run the "
                "study again.",
                code="old-results",
                path=results,
            )
        raise WordorderError(
            f"{path} does not exist. Snakemake writes it when a study starts; run the study first.",
            code="missing-file",
            path=path,
        )
    content = read_object(path, "cells", "decodings", "evaluations", "measures")
    cells = {}
    for names, folder in content["cells"].items():
        dataset, size, encoding, seed = names.split("/")
        cells[dataset, size, encoding, int(seed)] = CellFiles(
            Path(results, folder),
            content["decodings"],
            content["evaluations"][dataset],
            {
                name.removeprefix(f"{dataset}/"): file
                for name, file in content["measures"].items()
                if name.startswith(f"{dataset}/")
            },
        )
    return Index(cells)


def indexed_folders(results: str | Path) -> dict[str, set[Path]]:
    """Return the folders of the models that the index of each study names, without symbolic links.

    Args:
        results: The folder of all results.

    Raises:
        WordorderError: An index is damaged.
    """
    return {
        path.parent.name: {
            Path(path.parent, folder).resolve() for folder in read_object(path, "cells")["cells"].values()
        }
        for path in sorted(Path(results).glob(f"*/{FILE}"))
    }


def is_old(results: str | Path) -> bool:
    """Return whether a study was run only by a version in which every study had its own models."""
    return Path(results, "cells").is_dir() and not Path(results, FILE).is_file()


def write_index(
    results: str | Path,
    cells: Mapping[tuple[str, str, str, int], str],
    decodings: Mapping[str, str],
    evaluations: Mapping[str, str],
    measures: Mapping[str, str],
) -> None:
    """Write the index of a study; a file that already says the same keeps its time stamp."""
    path = Path(results) / FILE
    content = {
        "cells": {"/".join(map(str, names)): folder for names, folder in cells.items()},
        "decodings": dict(decodings),
        "evaluations": dict(evaluations),
        "measures": dict(measures),
    }
    with suppress(WordorderError):  # damaged: it is written again
        if path.is_file() and read_object(path) == content:
            return
    write_json(path, content)


def text_of(test: str) -> str:
    """Return the test set of a name that may also name a decoding (``TEST@DECODING``)."""
    return test.partition("@")[0]
