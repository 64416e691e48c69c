"""Content addresses: the paths of a model, its translations and its measures.

The address of a model depends on everything that determines it: encoding, size, recipe, reordered positions, and the
code of extensions. Default values are omitted, so that a new option with a default changes no address. Studies that
need the same model share it.

    results/models/DATASET/ENCODING/SIZE/DIGEST/cell.json          the content of the digest
    results/models/DATASET/ENCODING/SIZE/DIGEST/SEED/model.pt
    results/models/DATASET/ENCODING/SIZE/DIGEST/SEED/DECODING/TEST.hypotheses
    results/models/DATASET/ENCODING/SIZE/DIGEST/SEED/measures/MEASURE.json

ENCODING and SIZE are names in encodings.yaml and sizes.yaml; of several equal entries, the first. The address contains
only the name of the dataset: if the data change, Snakemake reruns the jobs that depend on them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from wordorder.config.canonical import digest, minimal
from wordorder.config.decoding import Decoding
from wordorder.config.models import Evaluation, Recipe

MODELS = "results/models"
MODEL_FOLDER = MODELS + "/{dataset}/{encoding}/{size}/{digest}"
_VERSION = 1


class ModelAddress(NamedTuple):
    """The address of the models that differ only in their seed; its fields are wildcards of the model rules."""

    dataset: str
    encoding: str
    size: str
    digest: str

    @property
    def folder(self) -> str:
        """The folder that holds ``cell.json`` and one folder per seed, relative to the working directory."""
        return MODEL_FOLDER.format(**self._asdict())


def cell_content(
    encoding: Mapping[str, Any],
    size: Mapping[str, Any],
    recipe: Recipe,
    positions: Mapping[str, str],
    revisions: Mapping[str, int],
    code: Mapping[str, str],
) -> dict[str, Any]:
    """Return the content of ``cell.json``: everything that determines a model except its data and its seed.

    Args:
        encoding: The minimal form of the encoding.
        size: The minimal form of the size.
        recipe: The recipe of the run.
        positions: The kinds of reordered positions of 'train' and 'test'; empty if the encoding does not need them.
        revisions: The revisions of corrected encodings and architectures.
        code: The digests of the code of encodings and architectures outside of the package.
    """
    content = {"version": _VERSION, "encoding": encoding, "size": size, "recipe": minimal(recipe)}
    others = {"positions": dict(positions), "revisions": dict(revisions), "code": dict(code)}
    return content | {name: value for name, value in others.items() if value}


def decoding_label(decoding: Decoding) -> str:
    """Return the folder name of a decoding, such as ``beam5-1c2d…``."""
    return f"beam{decoding.beam}-{digest(minimal(decoding))}"


def evaluation_label(evaluation: Evaluation) -> str:
    """Return the name of an evaluation's file without its suffix."""
    return f"evaluation-{digest(minimal(evaluation))}"
