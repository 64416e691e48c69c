"""JSON schemas of the files under ``config/``, generated from their models."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel

from wordorder.config.alignments import GoldSets
from wordorder.config.claims import PaperClaims
from wordorder.config.datasets import Dataset, DerivedDataset
from wordorder.config.derived import KEY
from wordorder.config.encodings import Encodings
from wordorder.config.models import Recipes, Study
from wordorder.config.published import PublishedParameters
from wordorder.config.published_scores import PublishedScoreTables
from wordorder.config.reordering import Aligners, Reorderers
from wordorder.config.sizes import Sizes

_MODELS: dict[str, type[BaseModel]] = {
    "dataset": Dataset,
    "derived_dataset": DerivedDataset,
    "sizes": Sizes,
    "recipes": Recipes,
    "encodings": Encodings,
    "aligners": Aligners,
    "reorderers": Reorderers,
    "gold_alignments": GoldSets,
    "published_parameters": PublishedParameters,
    "published_scores": PublishedScoreTables,
    "claims": PaperClaims,
}


def schemas() -> dict[str, dict[str, Any]]:
    """Return the schema of each file by its name.

    The parameters of encodings are open, because each encoding checks its own.
    """
    draft = {"$schema": "https://json-schema.org/draft/2020-12/schema"}
    written = {name: model.model_json_schema() for name, model in _MODELS.items()}
    written |= {"study": _study(), "derived_study": _derived_study()}
    return {name: {**draft, **schema} for name, schema in written.items()}


def _study() -> dict[str, Any]:
    """Return the schema of a study, which may name a recipe instead of containing one."""
    schema = Study.model_json_schema()
    named = {"description": "Name in recipes.yaml.", "type": "string"}
    recipe = schema["properties"]["recipe"]
    schema["properties"]["recipe"] = {"anyOf": [recipe, named], "description": recipe["description"]}
    return schema


def _derived_study() -> dict[str, Any]:
    """Return the schema of a derived study, which may omit any key of its original, and whose nulls remove keys."""
    schema = _partial(_study())
    based_on = {
        "description": "The original study, from which this one differs only by the other keys.",
        "type": "string",
    }
    schema["properties"] = {"name": {"type": "string"}, KEY: based_on} | schema["properties"]
    return {**schema, "title": "DerivedStudy", "required": ["name", KEY]}


def _partial(schema: Any) -> Any:
    """Make every key of every group optional and nullable."""
    if isinstance(schema, list):
        return [_partial(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    found = {name: _partial(part) for name, part in schema.items() if name not in ("required", "minProperties")}
    for group in ("properties", "patternProperties"):
        if group in found:
            found[group] = {name: _or_null(part) for name, part in found[group].items()}
    if isinstance(found.get("additionalProperties"), dict):
        found["additionalProperties"] = _or_null(found["additionalProperties"])
    return found


def _or_null(schema: dict[str, Any]) -> dict[str, Any]:
    return {"anyOf": [schema, {"type": "null"}]}
