"""The typed entries of ``config/encodings.yaml``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, RootModel
from typing_extensions import override

from wordorder.config.base import Model, Name
from wordorder.config.extensions import ByName
from wordorder.errors import WordorderError

Stack = Literal["encoder", "decoder"]


@dataclass(frozen=True)
class Shape:
    """The properties of a model that an encoding needs.

    Attributes:
        dim: Model size, d.
        heads: Number of heads, H.
        encoder_layers: Number of layers of the encoder.
        decoder_layers: Number of layers of the decoder.
    """

    dim: int
    heads: int
    encoder_layers: int
    decoder_layers: int

    def __post_init__(self) -> None:
        if self.heads < 1 or self.dim < 1 or self.dim % self.heads:
            raise WordorderError(
                f"A model size of {self.dim} cannot be divided into {self.heads} heads. Choose a multiple of the "
                "number of heads.",
                code="wrong-shape",
                key="dim",
                found=self.dim,
            )

    @property
    def head_dim(self) -> int:
        """Size of a head, d_h."""
        return self.dim // self.heads

    def layers(self, stack: Stack) -> int:
        """Return the number of layers of a stack."""
        return self.encoder_layers if stack == "encoder" else self.decoder_layers


class EncodingConfig(Model):
    """Parameters that every encoding has. Each encoding's file adds its own and fixes ``type``."""

    type: str = Field(description="Type of the encoding.")
    placement: Literal["both", "encoder", "decoder"] = Field(
        default="both", description="Stacks in which the encoding acts."
    )

    # Increased when a correction changes what a model of the same configuration learns. It is part of the address of
    # the model, which distinguishes models from before and after the correction.
    revision: ClassVar[int] = 1

    @property
    def revisions(self) -> dict[str, int]:
        """The revision of each corrected encoding in this configuration, including those that it contains."""
        return {self.type: self.revision} if self.revision > 1 else {}

    @property
    def stacks(self) -> tuple[Stack, ...]:
        """The stacks in which the encoding acts."""
        return ("encoder", "decoder") if self.placement == "both" else (self.placement,)

    @property
    def needs_reordered(self) -> bool:
        """Whether source positions must come with ``Positions.reordered``."""
        return False

    @property
    def places(self) -> int | None:
        """The number of positions of a control, which carry no order; None for an encoding."""
        return None

    def parameter_count(self, shape: Shape) -> int:
        """Return the number of trainable parameters by formula. Tests compare it with the module."""
        return 0


class ControllableConfig(EncodingConfig):
    """Parameters of an encoding that looks up positions or distances, so that several tokens may share a position."""

    control: Annotated[
        int | None,
        Field(
            gt=1,
            description="Derive the position of a token, one of this many, from its subword instead of the sentence: "
            "the same parameters without order.",
        ),
    ] = None

    @property
    @override
    def places(self) -> int | None:
        return self.control


# An entry is {type: NAME, parameters…}, or {compose: [entry, …]} for several encodings at once.
AnyEncoding = Annotated[EncodingConfig, ByName("encodings", "type", implied={"compose": "composed"})]


class EncodingEntry(RootModel[AnyEncoding]):
    """One entry of ``config/encodings.yaml``."""


class Encodings(RootModel[dict[Name, AnyEncoding]]):
    """``config/encodings.yaml``."""


class UntypedEncodings(RootModel[dict[Name, dict[str, Any]]]):
    """``config/encodings.yaml`` as far as it can be read without importing the encodings."""
