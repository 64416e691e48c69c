"""What all configuration models share."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

NAME = r"^[A-Za-z0-9][A-Za-z0-9_+.-]*$"

Name = Annotated[str, Field(pattern=NAME)]
Positive = Annotated[int, Field(gt=0)]
Rate = Annotated[float, Field(ge=0, lt=1)]


def unset(value: Any) -> bool:
    """For 'exclude_if' of keys that came later, and are no part of a slice that does not use them.

    What was finished before they could be given stays finished.
    """
    return value is None or value is False or value == [] or value == {}


class Model(BaseModel):
    """Base of all configuration models: immutable, no unknown keys, finite numbers, defaults are checked too."""

    model_config = ConfigDict(frozen=True, extra="forbid", validate_default=True, allow_inf_nan=False)
