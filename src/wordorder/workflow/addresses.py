"""Content addresses: where a model, its translations and its measures lie.

A model is addressed by what determines it: encoding, size, recipe and reordered positions, with every default left out,
so that a new option with a default changes no address. Studies that ask for the same model share it.

    results/models/DATASET/ENCODING/SIZE/DIGEST/cell.json          what the digest stands for
    results/models/DATASET/ENCODING/SIZE/DIGEST/SEED/model.pt
    results/models/DATASET/ENCODING/SIZE/DIGEST/SEED/DECODING/TEST.hypotheses
    results/models/DATASET/ENCODING/SIZE/DIGEST/SEED/measures/MEASURE.json

ENCODING and SIZE are names of encodings.yaml and sizes.yaml: of several entries that say the same, the first. The data
are addressed by the name of the dataset: when they change, Snakemake runs the jobs that depend on them again.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any, NamedTuple

from pydantic import BaseModel, RootModel

from wordorder.config.models import Decoding, Evaluation, Recipe

MODELS = "results/models"
MODEL_FOLDER = MODELS + "/{dataset}/{encoding}/{size}/{digest}"
# Keys that say which class a configuration has. They are part of its text even where a class has only one choice.
_KINDS = ("type", "architecture", "format")
_VERSION = 1


class ModelAddress(NamedTuple):
    """The address of the models that differ in their seed only: the wildcards of the rules about models."""

    dataset: str
    encoding: str
    size: str
    digest: str

    @property
    def folder(self) -> str:
        """The folder that holds ``cell.json`` and one folder per seed, relative to the working directory."""
        return MODEL_FOLDER.format(**self._asdict())


def minimal(value: Any) -> Any:
    """Return the JSON form of a configuration without what has its default value.

    Args:
        value: A configuration model, or a value inside one.

    Returns:
        Plain JSON data; validating it again gives an equal configuration.
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
    """Return the one JSON text of plain data: sorted keys, no spaces."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def digest(value: Any) -> str:
    """Return ten hexadecimal digits of the SHA-256 of plain data."""
    return hashlib.sha256(canonical_json(value).encode()).hexdigest()[:10]


def cell_content(
    encoding: Mapping[str, Any],
    size: Mapping[str, Any],
    recipe: Recipe,
    positions: Mapping[str, str],
    revisions: Mapping[str, int],
) -> dict[str, Any]:
    """Return what determines a model apart from its data and its seed: the content of ``cell.json``.

    Args:
        encoding: The minimal form of the encoding.
        size: The minimal form of the size.
        recipe: How the model is trained.
        positions: The reordered positions of 'train' and 'test'; empty where the encoding does not need any.
        revisions: The revisions of encodings that were corrected.
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
