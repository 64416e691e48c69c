"""Typed models of ``config/aligners.yaml`` and ``config/reorderers.yaml``."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, RootModel

from wordorder.config.base import Model, Name, Positive

Symmetrisation = Literal["intersection", "grow-diag-final-and", "union"]


class HMM(Model):
    """The embedded aligner: two HMMs trained by agreement; see :mod:`wordorder.alignment.hmm`."""

    type: Literal["hmm"] = "hmm"
    ibm1_iterations: int = Field(default=12, ge=0, description="Of IBM model 1, which the HMMs start from.")
    iterations: Positive = Field(default=3, description="Of the HMMs.")
    sentences: Positive = Field(
        default=2_000_000, description="Trained on at most this many pairs, evenly spread; all are aligned."
    )


class ExternalAligner(Model):
    """A program that is found on PATH. Only the HMM gives the same links on every run and machine."""

    type: Literal["eflomal", "fast_align", "mgiza"]


class Alignment(Model):
    """Which source unit belongs to which target unit: the slice of an alignment job."""

    aligner: Annotated[HMM | ExternalAligner, Field(discriminator="type")] = HMM()
    unit: Literal["word", "subword"] = Field(
        default="word", description="What is aligned and later reordered; the subwords of a word stay together."
    )
    symmetrisation: Symmetrisation = "intersection"


class Aligners(RootModel[dict[Name, Alignment]]):
    """``config/aligners.yaml``."""


class Oracle(Model):
    """The tree of a source sentence that fits its links best; see :mod:`wordorder.reordering.oracle`."""

    nulls: Literal["left", "right"] = Field(
        default="left", description="The side of a unit without links that it joins."
    )


class Parser(Model):
    """The BTG parser that predicts the order from the source alone; see :mod:`wordorder.reordering.train`."""

    iterations: Positive = 20
    classes: int = Field(default=50, ge=0, description="Word classes, found in the training source; 0 uses none.")
    loss: Literal["tau", "chunks"] = Field(
        default="tau", description="What a wrong tree costs: discordant pairs, or breaks between chunks."
    )
    learner: Literal["perceptron", "pa"] = Field(
        default="pa", description="Latent perceptron or passive-aggressive (I)."
    )
    beam: Positive = Field(default=20, description="Of sentences that are longer than 'exact'.")
    exact: int = Field(default=40, ge=0, description="Up to so many units the best tree of all is found.")
    inversion_penalty: float = Field(
        default=0.0, ge=0, description="Taken from the score of every inverted node, for pairs of much the same order."
    )
    sentences: Positive = Field(
        default=200_000, description="Trained on at most this many sentences, evenly spread; all are parsed."
    )
    seed: int = Field(default=1, ge=0)


class Reorderer(Model):
    """From links to positions."""

    aligner: Name = Field(description="A name in aligners.yaml.")
    oracle: Oracle = Oracle()
    parser: Parser = Parser()
    folds: int = Field(
        default=0,
        ge=0,
        description="With n folds the training set's positions are predicted by n parsers, each trained without the "
        "sentences that it parses, so that they are as imperfect as those of a test set; 0 takes the one parser.",
    )


class Reorderers(RootModel[dict[Name, Reorderer]]):
    """``config/reorderers.yaml``."""
