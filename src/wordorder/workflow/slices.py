"""The JSON text of the configuration on which a job depends."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel

from wordorder.config.canonical import canonical_json, minimal


def canonical(model: BaseModel) -> str:
    """Return the canonical JSON text of a configuration, without default values."""
    return canonical_json(minimal(model))


def only(kind: type[Any], value: BaseModel) -> Any:
    """Return the part of a configuration that belongs to one of its base classes.

    Args:
        kind: The base class.
        value: The configuration.

    Returns:
        An object of the base class.
    """
    return kind(**{field: getattr(value, field) for field in kind.model_fields})
