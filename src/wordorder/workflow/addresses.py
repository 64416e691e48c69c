"""Content addresses: the paths of a model, its translations and its measures.

The address of a model depends on everything that determines it: encoding, size, recipe and reordered positions. Default
values are omitted, so that a new option with a default changes no address. Studies that need the same model share it.

    results/models/DATASET/ENCODING/SIZE/DIGEST/cell.json          the content of the digest
    results/models/DATASET/ENCODING/SIZE/DIGEST/SEED/model.pt
    results/models/DATASET/ENCODING/SIZE/DIGEST/SEED/DECODING/TEST.hypotheses
    results/models/DATASET/ENCODING/SIZE/DIGEST/SEED/measures/MEASURE.json

ENCODING and SIZE are names in encodings.yaml and sizes.yaml; of several equal entries, the first. The address contains
only the name of the dataset: if the data change, Snakemake reruns the jobs that depend on them.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any, NamedTuple

from pydantic import BaseModel, RootModel

from wordorder.config.decoding import Decoding
from wordorder.config.models import Evaluation, Recipe

MODELS = "results/models"
MODEL_FOLDER = MODELS + "/{dataset}/{encoding}/{size}/{digest}"
# Keys that select the class of a configuration. They are part of its text even if there is only one choice.
_KINDS = ("type", "architecture", "format")
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


def minimal(value: Any) -> Any:
    """Return the JSON form of a configuration without default values.

    Args:
        value: A configuration model, or a value inside one.

    Returns:
        Plain JSON data; its validation gives an equal configuration.
    """
    if isinstance(value, RootModel):
        return minimal(value.root)
    if isinstance(value, BaseModel):
        fields = type(value).model_fields
        return {
            name: minimal(getattr(value, name))
            for name, field in fields.items()
            if name in _KINDS or getattr(value, name) != field.get_default(call_default_factory=True)
        }
    if isinstance(value, Mapping):
        return {key: minimal(own) for key, own in value.items()}
    if isinstance(value, list | tuple):
        return [minimal(own) for own in value]
    return value


def canonical_json(value: Any) -> str:
    """Return the canonical JSON text of plain data, with sorted keys and without spaces."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def digest(value: Any) -> str:
    """Return the first ten hexadecimal digits of the SHA-256 of plain data."""
    return hashlib.sha256(canonical_json(value).encode()).hexdigest()[:10]


def cell_content(
    encoding: Mapping[str, Any],
    size: Mapping[str, Any],
    recipe: Recipe,
    positions: Mapping[str, str],
    revisions: Mapping[str, int],
) -> dict[str, Any]:
    """Return the content of ``cell.json``: everything that determines a model except its data and its seed.

    Args:
        encoding: The minimal form of the encoding.
        size: The minimal form of the size.
        recipe: The recipe of the run.
        positions: The kinds of reordered positions of 'train' and 'test'; empty if the encoding does not need them.
        revisions: The revisions of corrected encodings.
    """
    content = {"version": _VERSION, "encoding": encoding, "size": size, "recipe": minimal(recipe)}
    others = {"positions": dict(positions), "revisions": dict(revisions)}
    return content | {name: value for name, value in others.items() if value}


def decoding_label(decoding: Decoding) -> str:
    """Return the folder name of a decoding, such as ``beam5-1c2d…``."""
    return f"beam{decoding.beam}-{digest(minimal(decoding))}"


def evaluation_label(evaluation: Evaluation) -> str:
    """Return the name of an evaluation's file without its suffix."""
    return f"evaluation-{digest(minimal(evaluation))}"
