"""Typed models of ``config/aligners.yaml`` and ``config/reorderers.yaml``."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, RootModel, field_validator

from wordorder.config.base import Model, Name, Positive

Symmetrisation = Literal["intersection", "grow-diag-final-and", "union"]


class HMM(Model):
    """The embedded aligner: two HMMs trained by agreement; see :mod:`wordorder.alignment.hmm`."""

    type: Literal["hmm"] = "hmm"
    ibm1_iterations: int = Field(default=12, ge=0, description="Iterations of IBM model 1, from which the HMMs start.")
    iterations: Positive = Field(default=3, description="Iterations of the HMMs.")
    sentences: Positive = Field(
        default=2_000_000, description="Largest number of evenly spread pairs for training; all pairs are aligned."
    )


class ExternalAligner(Model):
    """A program on PATH. Only the HMM gives the same links in every run."""

    type: Literal["eflomal", "fast_align", "mgiza"] = Field(description="Name of the program.")


class Alignment(Model):
    """The alignment of source and target tokens: the slice of an alignment job."""

    aligner: Annotated[HMM | ExternalAligner, Field(discriminator="type", description="The program that aligns.")] = (
        HMM()
    )
    unit: Literal["word", "subword"] = Field(
        default="word", description="Tokens that are aligned and later reordered; the subwords of a word stay together."
    )
    symmetrisation: Symmetrisation = Field(
        default="intersection", description="How the links of both directions are combined."
    )


class Aligners(RootModel[dict[Name, Alignment]]):
    """``config/aligners.yaml``."""


class Oracle(Model):
    """The tree of a source sentence that fits its links best; see :mod:`wordorder.reordering.oracle`."""

    nulls: Literal["left", "right"] = Field(
        default="left", description="Side to which a token without links is attached."
    )


class Parser(Model):
    """The BTG parser that predicts the order from the source only; see :mod:`wordorder.reordering.train`."""

    iterations: Positive = Field(default=20, description="Iterations of the training.")
    classes: int = Field(
        default=50, ge=0, description="Number of word classes, learned from the training source; 0 uses none."
    )
    loss: Literal["tau", "chunks"] = Field(
        default="tau", description="Cost of a wrong tree: discordant pairs, or breaks between chunks."
    )
    learner: Literal["perceptron", "pa"] = Field(
        default="pa", description="Training algorithm: latent perceptron or passive-aggressive (I)."
    )
    beam: Positive = Field(default=20, description="Beam for sentences that are longer than 'exact'.")
    exact: int = Field(default=40, ge=0, description="Largest number of tokens for exact search.")
    inversion_penalty: float = Field(
        default=0.0,
        ge=0,
        description="Subtracted from the score of every inverted node, for languages with similar order.",
    )
    sentences: Positive = Field(
        default=200_000, description="Largest number of evenly spread sentences for training; all are parsed."
    )
    seed: int = Field(default=1, ge=0, description="Seed of the order of the training sentences.")


class Reorderer(Model):
    """The stages from links to positions."""

    aligner: Name = Field(description="Name in aligners.yaml.")
    oracle: Oracle = Field(default=Oracle(), description="Settings of the trees that fit the links best.")
    parser: Parser = Field(default=Parser(), description="Settings of the parser.")
    folds: int = Field(
        default=0,
        ge=0,
        description="With n folds the training set's positions are predicted by n parsers, each trained without the "
        "sentences that it parses, so that they are as imperfect as those of a test set; 0 takes the one parser. One "
        "fold is refused, because no sentence would be left for training.",
        json_schema_extra={"not": {"const": 1}},
    )

    @field_validator("folds")
    @classmethod
    def _none_or_several(cls, folds: int) -> int:
        if folds == 1:
            raise ValueError("'folds' is 1, which leaves no sentence to train with; write 0 or a number from 2 on")
        return folds


class Reorderers(RootModel[dict[Name, Reorderer]]):
    """``config/reorderers.yaml``."""
