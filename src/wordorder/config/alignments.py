"""Typed models of ``config/gold_alignments.yaml``: sentence pairs whose words people have linked manually."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, RootModel, model_validator

from wordorder.config.base import Model, Name, Positive
from wordorder.config.datasets import Download, Preparation

_PREFIX = (
    "gold."  # The files of a gold set are stored with the splits of a dataset, whose names may not start like this.
)


def gold_split(name: str) -> str:
    """Return the split name that the files of a gold set have."""
    return f"{_PREFIX}{name}"


def gold_name(split: str) -> str | None:
    """Return the gold set of a split name, or None if the split is not a gold set."""
    return split.removeprefix(_PREFIX) if split.startswith(_PREFIX) else None


class GoldText(Model):
    """The files of text and links: two texts, or one with lines 'source ||| target'. Spaces separate words."""

    archive: Name | None = Field(
        default=None,
        description="A .tar or .zip archive whose members are the files, named by their paths.",
    )
    source: str | None = Field(default=None, description="File with the source sentences, if they are separate.")
    target: str | None = Field(default=None, description="File with the target sentences, if they are separate.")
    joint: str | None = Field(
        default=None, description="File with both sides of each pair, instead of 'source' and 'target'."
    )
    links: str = Field(description="Pharaoh format: 'i-j' is a sure and 'ipj' a possible link.")
    first: Literal[0, 1] = Field(description="Index of the first word of a sentence in the links.")
    encoding: Literal["utf-8", "latin-1"] = Field(default="utf-8", description="Character encoding of all files.")
    skip_blank: bool = Field(default=False, description="Skip pairs of which any file has a blank line.")
    pairs: Positive | None = Field(default=None, description="Expected number of pairs, if no checksum is published.")

    @model_validator(mode="after")
    def _one_way(self) -> GoldText:
        given = [self.source is not None, self.target is not None, self.joint is not None]
        if given not in ([True, True, False], [False, False, True]):
            raise ValueError("either 'source' and 'target' or 'joint' must be given")
        return self

    @property
    def files(self) -> list[str]:
        """The keys of the required downloads."""
        names = [self.archive] if self.archive else [self.source, self.target, self.joint, self.links]
        return [name for name in names if name is not None]


class GoldSet(Model):
    """Sentence pairs with gold links, which are sure or only possible (Och and Ney 2003)."""

    title: str = Field(description="Title on pages and in tables.")
    source_language: str = Field(description="ISO 639-1 code of the source language.")
    target_language: str = Field(description="ISO 639-1 code of the target language.")
    licence: str = Field(description="Licence or terms of use.")
    homepage: str | None = Field(default=None, description="Address of a page about the set.")
    downloads: Annotated[dict[Name, Download], Field(min_length=1)] = Field(
        description="Files to download or to place manually, by name."
    )
    text: GoldText = Field(description="The files of sentences and links.")

    @model_validator(mode="after")
    def _files_exist(self) -> GoldSet:
        unknown = sorted(set(self.text.files) - set(self.downloads))
        if unknown:
            raise ValueError(f"'text' names the file '{unknown[0]}', which is not a key of 'downloads'")
        return self

    def direction(self, source: str, target: str) -> Literal["same", "reverse"] | None:
        """Return the direction in which a model between two languages reads the set, or None for other languages."""
        pair = self.source_language, self.target_language
        return "same" if pair == (source, target) else "reverse" if pair == (target, source) else None


class GoldSets(RootModel[dict[Name, GoldSet]]):
    """``config/gold_alignments.yaml``."""


class GoldImport(Model):
    """The slice of an 'import-gold' job: a gold set, and the preprocessing of a dataset."""

    text: GoldText
    members: dict[Name, str] = Field(description="Members to read from files that are archives, without folders.")
    reverse: bool = Field(description="Whether the dataset translates in the other direction.")
    preparation: Preparation
