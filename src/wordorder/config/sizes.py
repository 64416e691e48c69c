"""Typed models of ``config/sizes.yaml``; the class of each architecture configures its sizes."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar

from pydantic import Field, RootModel

from wordorder.config.base import Model, Name, Positive, Rate
from wordorder.config.extensions import ByName


class ArchitectureSize(Model):
    """The common keys of the sizes of all architectures; each architecture derives its own class.

    A subclass narrows ``architecture`` to a ``Literal`` of the architecture's name.
    """

    architecture: str = Field(description="Name of the architecture; a Transformer if missing.")
    dim: Positive = Field(description="Model size d.")
    dropout: Rate = Field(description="Rate of dropout, unless the recipe sets another.")

    # Increased when a correction of the architecture changes what a model of the same configuration learns. It is part
    # of the address of the model, which distinguishes models from before and after the correction.
    revision: ClassVar[int] = 1

    @property
    def revisions(self) -> dict[str, int]:
        """The revision of the architecture, if it was corrected."""
        return {f"architectures.{self.architecture}": self.revision} if self.revision > 1 else {}

    @classmethod
    def name(cls) -> str:
        """Return the name of the architecture."""
        (name,) = cls.model_fields["architecture"].annotation.__args__  # type: ignore[union-attr]
        return str(name)


ModelSize = Annotated[ArchitectureSize, ByName("architectures", "architecture", default="transformer")]


class Sizes(RootModel[dict[Name, ModelSize]]):
    """``config/sizes.yaml``."""


class SizeNames(RootModel[dict[Name, Any]]):
    """The names in ``config/sizes.yaml``, regardless of their contents."""
