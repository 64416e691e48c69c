"""The base of all configuration models."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

NAME = r"^[A-Za-z0-9][A-Za-z0-9_+.-]*$"

Name = Annotated[str, Field(pattern=NAME)]
Positive = Annotated[int, Field(gt=0)]
# NumPy takes no larger ones.
Seed = Annotated[int, Field(ge=0, le=2**32 - 1)]
Rate = Annotated[float, Field(ge=0, lt=1)]
# Of a test. Equivalence is decided at twice the level.
Level = Annotated[float, Field(gt=0, lt=0.5)]


class Model(BaseModel):
    """Base of all configuration models: immutable, without unknown keys, with finite numbers and validated defaults."""

    model_config = ConfigDict(frozen=True, extra="forbid", validate_default=True, allow_inf_nan=False)
