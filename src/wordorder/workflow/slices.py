"""The JSON text of what a job depends on."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel

from wordorder.workflow.addresses import canonical_json, minimal


def canonical(model: BaseModel) -> str:
    """Return the one JSON text of a configuration; what has its default value is left out."""
    return canonical_json(minimal(model))


def only(kind: type[Any], value: BaseModel) -> Any:
    """Return the part of ``value`` that its base class ``kind`` has."""
    return kind(**{field: getattr(value, field) for field in kind.model_fields})
