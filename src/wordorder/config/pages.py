"""Slices of the tables of papers and of the study page."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from wordorder.config.base import Model, Name
from wordorder.config.claims import PaperClaims
from wordorder.config.encodings import AnyEncoding
from wordorder.config.models import Report
from wordorder.config.published import PublishedTable
from wordorder.config.published_scores import PublishedInStudy
from wordorder.config.sizes import ModelSize


class PublishedReport(Model):
    """The slice of the table 'published', and in :class:`Paper` a study whose results decide claims."""

    report: Report
    published: list[PublishedInStudy] = []
    analyses: list[Name] = []


class Paper(Model):
    """The slice of the tables of a paper: its claims, and the studies that decide them, its own first."""

    claims: PaperClaims
    studies: Annotated[list[PublishedReport], Field(min_length=1)]
    counted: list[PublishedTable] = Field(default=[], description="The paper's tables of parameters.")
    encodings: dict[Name, AnyEncoding] = Field(default={}, description="Those whose parameters are counted.")
    sizes: dict[Name, ModelSize] = Field(default={}, description="Those of the models that are counted.")


class DrawnReordering(Model):
    """A test set whose predicted orders are drawn, below results/data/{dataset}/reordering/{reorderer}/figures."""

    dataset: Name
    reorderer: Name
    test: Name


class Companion(Model):
    """A study that runs together with another, whose page links to its page."""

    name: Name
    title: str


CONTROLS = "controls"
"""The table that a study has if encodings of it have controls."""


class Controls(Model):
    """The slice of the table 'controls'."""

    report: Report
    controls: dict[Name, Name] = Field(description="Each control, with the encoding whose parameters it has.")


class Page(Model):
    """The slice of a study's page: the items, tables and pictures to show."""

    report: Report
    tables: list[Name]
    published: list[PublishedInStudy] = []
    controls: Controls | None = None
    paper: Paper | None = None
    figures: list[Name]
    analyses: list[Name] = []
    reorderings: list[DrawnReordering] = []
    companions: list[Companion] = []
    fidelity: dict[Name, list[Name]] = Field(
        default={},
        description="Types of each encoding that belong to the package; each has a row in docs/fidelity.md. Empty "
        "if there is no such file.",
    )
    undocumented: bool = Field(default=False, description="Whether docs/papers has no page about the paper.")
    bundled: bool = Field(default=False, description="Whether the results are those of a bundle, without pixels.")
    lines: dict[str, str] = Field(default={}, description="The lines of the README.md of a bundle, by name.")
    lacking: list[str] = Field(default=[], description="Items that the study requests and its bundle lacks.")
    source_languages: dict[Name, str] = Field(description="By dataset.")
    target_languages: dict[Name, str] = Field(description="By dataset.")
