"""The canonical text of a configuration, which identifies it: without default values, with sorted keys."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, RootModel

# Keys that select the class of a configuration. They are part of its text even if there is only one choice.
_KINDS = ("type", "architecture", "format")


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
