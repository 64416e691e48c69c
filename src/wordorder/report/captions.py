"""Captions: each is written once, as a template of reStructuredText, for Snakemake's report and for the page.

A template knows what Snakemake gives it: ``snakemake.wildcards``, and ``snakemake.config``, in which the workflow puts
the captions of figures and analyses. Here a stand-in has the same names.
"""

from __future__ import annotations

from types import SimpleNamespace

from docutils.core import publish_parts
from docutils.utils import SystemMessage
from jinja2 import Environment, StrictUndefined, TemplateError
from markupsafe import Markup

from wordorder.errors import WordorderError
from wordorder.report import CAPTIONS
from wordorder.report.caption_texts import captions

# docutils reads no other file and no settings of the user's, and ends at what it would otherwise warn of.
_SETTINGS = {
    "file_insertion_enabled": False,
    "raw_enabled": False,
    "_disable_config": True,
    "report_level": 5,
    "halt_level": 2,
    "initial_header_level": 3,
}


def caption(kind: str, **wildcards: str) -> Markup:
    """The caption ``kind`` (table, figure, analysis, reordering or workflow) for these wildcards, as HTML.

    Raises WordorderError where the caption is missing, is no good template, or is no good reStructuredText.
    """
    path = CAPTIONS / f"{kind}.rst"
    try:
        template = Environment(undefined=StrictUndefined).from_string(path.read_text(encoding="utf-8"))
        given = {"wildcards": SimpleNamespace(**wildcards), "config": {"captions": captions()}}
        text = template.render(snakemake=SimpleNamespace(**given))
        return Markup(publish_parts(text, writer="html5", settings_overrides=_SETTINGS)["body"])
    except FileNotFoundError as error:
        raise WordorderError(
            f"{path} does not exist. It holds the captions of one kind; reinstall wordorder.",
            code="missing-file",
            path=path,
        ) from error
    except (TemplateError, SystemMessage) as error:
        raise WordorderError(
            f"{path} is no template of reStructuredText: {error}. Mend or reinstall it.",
            code="malformed-line",
            path=path,
        ) from error


def first_sentence(text: Markup) -> str:
    """The first sentence of a caption as plain text, to say what a picture shows to who cannot see it."""
    plain = " ".join(text.striptags().split())
    return plain.partition(". ")[0].rstrip(".") + "."
