"""The one JSON text of what a job depends on."""

from __future__ import annotations

import json
from typing import Any

from pydantic import BaseModel


def canonical(model: BaseModel) -> str:
    """The one JSON text of a model's content."""
    return json.dumps(model.model_dump(mode="json"), sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def only(kind: type[Any], value: BaseModel) -> Any:
    """The part of ``value`` that its base class ``kind`` has."""
    return kind(**{field: getattr(value, field) for field in kind.model_fields})
