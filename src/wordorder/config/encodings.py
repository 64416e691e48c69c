"""The typed entries of ``config/encodings.yaml``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal, Protocol

from pydantic import Field, RootModel

from wordorder.config.base import Model, Name
from wordorder.config.extensions import ByName

Stack = Literal["encoder", "decoder"]


class _Size(Protocol):
    """The shape of a Transformer."""

    @property
    def dim(self) -> int: ...
    @property
    def heads(self) -> int: ...
    @property
    def encoder_layers(self) -> int: ...
    @property
    def decoder_layers(self) -> int: ...


@dataclass(frozen=True)
class Shape:
    """What an encoding needs to know of the model around it."""

    dim: int
    heads: int
    encoder_layers: int
    decoder_layers: int

    @staticmethod
    def of(size: _Size) -> Shape:
        return Shape(size.dim, size.heads, size.encoder_layers, size.decoder_layers)

    @property
    def head_dim(self) -> int:
        return self.dim // self.heads

    def layers(self, stack: Stack) -> int:
        return self.encoder_layers if stack == "encoder" else self.decoder_layers


class EncodingConfig(Model):
    """Parameters that every encoding has. Each encoding's file adds its own and fixes ``type``."""

    type: str
    placement: Literal["both", "encoder", "decoder"] = "both"

    # Raised when a correction changes what a model of the same configuration learns. It is part of the address of the
    # model, so that models from before the correction are not taken for those after it.
    revision: ClassVar[int] = 1

    @property
    def revisions(self) -> dict[str, int]:
        """The revision of each encoding in this configuration that was corrected."""
        return {self.type: self.revision} if self.revision > 1 else {}

    @property
    def stacks(self) -> tuple[Stack, ...]:
        """Where the encoding acts."""
        return ("encoder", "decoder") if self.placement == "both" else (self.placement,)

    @property
    def needs_reordered(self) -> bool:
        """Whether source positions must come with ``Positions.reordered``."""
        return False

    @property
    def places(self) -> int | None:
        """The number of places of a control, whose positions carry no order; None for an encoding."""
        return None

    def parameter_count(self, shape: Shape) -> int:
        """Return the number of trainable parameters by the formula. Tests compare it with the module."""
        return 0


class ControllableConfig(EncodingConfig):
    """Parameters of an encoding that looks up positions or distances, so that several tokens may share a position."""

    control: Annotated[
        int | None,
        Field(
            gt=1,
            description="Take the position of a token from its subword, one of so many, instead of from the sentence: "
            "the same parameters without order.",
        ),
    ] = None

    @property
    def places(self) -> int | None:
        return self.control


# An entry is {type: NAME, parameters…}, or {compose: [entry, …]} for several encodings at once.
AnyEncoding = Annotated[EncodingConfig, ByName("encodings", "type", implied={"compose": "composed"})]


class EncodingEntry(RootModel[AnyEncoding]):
    """One entry of ``config/encodings.yaml``."""


class Encodings(RootModel[dict[Name, AnyEncoding]]):
    """``config/encodings.yaml``."""


class UntypedEncodings(RootModel[dict[Name, dict[str, Any]]]):
    """``config/encodings.yaml`` as far as it can be read without the encodings."""
