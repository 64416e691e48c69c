"""The typed entries of ``config/encodings.yaml``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, RootModel
from typing_extensions import override

from wordorder.config.base import Name, Revised
from wordorder.config.extensions import ByName
from wordorder.errors import WordorderError
from wordorder.registry import code_of

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


class EncodingConfig(Revised):
    """Parameters that every encoding has. Each encoding's file adds its own and fixes ``type``."""

    type: str = Field(description="Type of the encoding.")
    placement: Literal["both", "encoder", "decoder"] = Field(
        default="both", description="Stacks in which the encoding acts."
    )

    @property
    def with_contained(self) -> list[EncodingConfig]:
        """This configuration and those of the encodings that it contains."""
        return [self]

    @property
    def revisions(self) -> dict[str, int]:
        """The revision of each corrected encoding in this configuration."""
        revisions = {name: number for each in self.with_contained for name, number in each.own_revisions.items()}
        return {name: number for name, number in revisions.items() if number > 1}

    @property
    def own_revisions(self) -> dict[str, int]:
        """The revision of the encoding, without those of encodings that it contains."""
        return {self.type: self.revision}

    @property
    def own_code(self) -> dict[str, str]:
        """The digest of the code of each encoding outside of the package that does not state its revision."""
        return code_of("encodings", [each.type for each in self.with_contained if not each.states_revision()])

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
        """Return the number of trainable parameters by formula.

        Tests compare it with the module; ``wordorder check`` does so for encodings outside of the package.
        """
        return 0


class ControllableConfig(EncodingConfig):
    """Parameters of an encoding that looks up positions or distances, so that several tokens may share a position.

    Attributes:
        control_revision: As ``revision``, increased when a correction changes only what controls learn.
    """

    control_revision: ClassVar[int] = 1
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

    @property
    @override
    def own_revisions(self) -> dict[str, int]:
        control = {} if self.control is None else {f"{self.type}.control": self.control_revision}
        return super().own_revisions | control


# An entry is {type: NAME, parameters…}, or {compose: [entry, …]} for several encodings at once.
AnyEncoding = Annotated[EncodingConfig, ByName("encodings", "type", implied={"compose": "composed"})]


class EncodingEntry(RootModel[AnyEncoding]):
    """One entry of ``config/encodings.yaml``."""


class Encodings(RootModel[dict[Name, AnyEncoding]]):
    """``config/encodings.yaml``."""


class UntypedEncodings(RootModel[dict[Name, dict[str, Any]]]):
    """``config/encodings.yaml`` as far as it can be read without importing the encodings."""
