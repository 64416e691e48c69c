"""Render captions for the study page from the templates that Snakemake's report uses.

Each caption is a Jinja template of reStructuredText. Snakemake gives a template ``snakemake.wildcards`` and
``snakemake.config``, to which the workflow adds the captions of figures and analyses. This module provides an object
with the same attributes.
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

# Captions must not read other files or depend on the user's docutils settings; a warning is an error.
_SETTINGS = {
    "file_insertion_enabled": False,
    "raw_enabled": False,
    "_disable_config": True,
    "report_level": 5,
    "halt_level": 2,
    "initial_header_level": 3,
}


def caption(kind: str, **wildcards: str) -> Markup:
    """Render a caption as HTML.

    Args:
        kind: The name of the template: "table", "figure", "analysis", "reordering" or "workflow".
        wildcards: The values of ``snakemake.wildcards``.

    Returns:
        HTML that needs no further escaping.

    Raises:
        WordorderError: The template is missing, or is not valid Jinja or reStructuredText.
    """
    path = CAPTIONS / f"{kind}.rst"
    try:
        template = Environment(undefined=StrictUndefined).from_string(path.read_text(encoding="utf-8"))
        given = {"wildcards": SimpleNamespace(**wildcards), "config": {"captions": captions()}}
        text = template.render(snakemake=SimpleNamespace(**given))
        return Markup(publish_parts(text, writer="html5", settings_overrides=_SETTINGS)["body"])
    except FileNotFoundError as error:
        raise WordorderError(
            f"{path} does not exist. It is a template of captions and part of the package. Reinstall wordorder.",
            code="missing-file",
            path=path,
        ) from error
    except (TemplateError, SystemMessage) as error:
        raise WordorderError(
            f"{path} is not a valid template of reStructuredText: {error}. Correct the template or reinstall "
            "wordorder.",
            code="malformed-line",
            path=path,
        ) from error


def first_sentence(text: Markup) -> str:
    """Return the first sentence of a caption as plain text, for the text alternative of an image."""
    plain = " ".join(text.striptags().split())
    return plain.partition(". ")[0].rstrip(".") + "."
