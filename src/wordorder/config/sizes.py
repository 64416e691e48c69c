"""Typed models of ``config/sizes.yaml``; the class of each architecture configures its sizes."""

from __future__ import annotations

from typing import Annotated, Any, Literal, get_args, get_origin

from pydantic import Field, RootModel

from wordorder.config.base import Name, Positive, Rate, Revised
from wordorder.config.extensions import ByName, name_of
from wordorder.registry import code_of


class ArchitectureSize(Revised):
    """The common keys of the sizes of all architectures; each architecture derives its own class.

    A subclass narrows ``architecture`` to a ``Literal`` of the architecture's name, or gives the name as its default.
    """

    architecture: str = Field(description="Name of the architecture; a Transformer if missing.")
    dim: Positive = Field(description="Model size d.")
    dropout: Rate = Field(description="Rate of dropout, unless the recipe sets another.")

    @property
    def revisions(self) -> dict[str, int]:
        """The revision of the architecture, if it was corrected."""
        return {f"architectures.{self.architecture}": self.revision} if self.revision > 1 else {}

    @property
    def own_code(self) -> dict[str, str]:
        """The digest of the code of an architecture outside of the package that does not state its revision."""
        return code_of("architectures", [] if self.states_revision() else [self.architecture])

    @classmethod
    def name(cls) -> str:
        """Return the name of the architecture.

        Raises:
            WordorderError: The class does not name it.
        """
        annotation = cls.model_fields["architecture"].annotation
        names = get_args(annotation) if get_origin(annotation) is Literal else ()
        return str(names[0]) if len(names) == 1 else name_of(cls, "architecture")


ModelSize = Annotated[ArchitectureSize, ByName("architectures", "architecture", default="transformer")]


class Sizes(RootModel[dict[Name, ModelSize]]):
    """``config/sizes.yaml``."""


class SizeNames(RootModel[dict[Name, Any]]):
    """The names in ``config/sizes.yaml``, regardless of their contents."""
