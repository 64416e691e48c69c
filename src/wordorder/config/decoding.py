"""Typed settings of the beam search of a study, which has one, or several by name."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Discriminator, Field, Tag, model_validator

from wordorder.config.base import Model, Name, Positive


class Decoding(Model):
    """Beam search: the slice of a decoding job."""

    beam: Positive = Field(default=5, description="Number of hypotheses that are kept per sentence.")
    length_penalty: Literal["power", "gnmt"] = Field(
        default="power",
        description="Divisor of the log-probability: 'power' is length^alpha (fairseq), 'gnmt' ((5+length)/6)^alpha.",
    )
    alpha: float = Field(default=1.0, ge=-5, le=5, description="Exponent of the length penalty; 0 disables it.")
    max_length_a: float = Field(
        default=1.0, ge=0, le=100, description="a in the largest length of a hypothesis, a * source + b tokens."
    )
    max_length_b: int = Field(default=50, ge=0, le=10_000, description="b in the same formula.")
    stop: Literal["beam", "exact"] = Field(
        default="beam",
        description="'beam' ends a sentence when as many hypotheses have finished as the beam holds (fairseq); 'exact' "
        "when no open hypothesis can become one of the n best any more, which takes several times longer.",
    )
    batch_tokens: Positive = Field(
        default=8192,
        description="Largest number of source tokens in a batch, including padding and all hypotheses of the beam.",
    )
    nbest: Positive = Field(default=1, description="Number of hypotheses to write per sentence.")
    precision: Literal["fp32", "bf16"] = Field(
        default="fp32",
        description="Precision of the search; 'bf16' rounds the model, except for learned frequencies.",
    )

    @model_validator(mode="after")
    def _nbest_fits(self) -> Decoding:
        if self.nbest > self.beam:
            raise ValueError(f"nbest ({self.nbest}) cannot exceed beam ({self.beam})")
        return self


def _one_or_several(decoding: Any) -> str:
    """Distinguish a single decoding from several named ones, whose values are groups of keys."""
    groups = isinstance(decoding, dict) and all(isinstance(own, dict | Model) for own in decoding.values())
    return "several" if groups and decoding else "one"


Decodings = Annotated[
    Annotated[Decoding, Tag("one")] | Annotated[dict[Name, Decoding], Tag("several")], Discriminator(_one_or_several)
]
