"""The base of all configuration models."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar

from pydantic import BaseModel, ConfigDict, Field

from wordorder.errors import WordorderError

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


class Revised(Model):
    """Base of the configurations of encodings and architectures, whose code determines what a model learns.

    Attributes:
        revision: A number that is increased when a correction changes what a model of the same configuration learns. It
            is part of the address of the model, which distinguishes models from before and after the correction. If
            code outside of the package states no revision, every change of the code counts.
    """

    revision: ClassVar[int] = 1

    @classmethod
    def __pydantic_init_subclass__(cls, **arguments: Any) -> None:
        """Check the revision.

        Raises:
            WordorderError: It is no whole number from 1, or it is a field, which configuration files could change.
        """
        super().__pydantic_init_subclass__(**arguments)
        if "revision" in cls.model_fields or type(cls.revision) is not int or cls.revision < 1:
            raise WordorderError(
                f"'revision' of the class {cls.__name__} must be a whole number from 1, written without a type, such "
                "as 'revision = 2'.",
                code="wrong-revision",
                key="revision",
            )

    @classmethod
    def states_revision(cls) -> bool:
        """Return whether this class itself states its revision."""
        return "revision" in vars(cls)


class WithCode(Model):
    """Base of the slices of jobs that may run code from outside of the package."""

    code: dict[str, str] = Field(
        default={},
        exclude_if=lambda code: not code,
        description="Digest of the code of each extension that the job uses, by KIND/NAME. A change of the code is "
        "thus a change of the slice. The job ends with an error if the code has changed since the workflow began.",
    )
