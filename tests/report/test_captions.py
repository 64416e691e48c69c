"""Tests of captions: one source for Snakemake's report and the page, and one for everything a study can name."""

from __future__ import annotations

from pathlib import Path
from typing import get_args

import pytest

from raises import raises
from wordorder.analyses.base import REGISTRY
from wordorder.cli.evaluation import TableName
from wordorder.config.claims import PAPER_TABLES
from wordorder.config.pages import CONTROLS
from wordorder.figures.catalogue import FIGURES
from wordorder.report import CAPTIONS, captions
from wordorder.report.build import NAMES
from wordorder.report.captions import caption, first_sentence

EVERYTHING = [("table", {"table": name}) for name in (*NAMES, *PAPER_TABLES, CONTROLS)]
EVERYTHING += [("figure", {"figure": name}) for name in FIGURES]
EVERYTHING += [("analysis", {"analysis": name}) for name in REGISTRY.names()]
EVERYTHING += [("reordering", {"split": "test_2016_flickr", "figure": name}) for name in ("matrix", "tau")]
EVERYTHING += [("workflow", {})]


@pytest.mark.parametrize(("kind", "wildcards"), EVERYTHING, ids=str)
def test_everything_has_a_caption(kind: str, wildcards: dict[str, str]) -> None:
    text = caption(kind, **wildcards)
    assert text.startswith("<p>") and "{" not in text
    assert len(first_sentence(text)) > 20
    assert not first_sentence(text).startswith("The data are in"), "there is none of its own"


@pytest.mark.parametrize("test", ["dev_", "dev__", "0-__", "Mozilla+_", "a_.b_"])
def test_the_name_of_a_test_set_is_no_markup(test: str) -> None:
    assert f" of {test} whose " in caption("reordering", split=test, figure="tau").striptags()
    assert first_sentence(caption("reordering", split=test, figure="matrix")).startswith(
        f"One sentence of {test}: its "
    )


def test_the_tables_with_captions_are_those_of_the_command() -> None:
    assert {*NAMES, *PAPER_TABLES, CONTROLS} == set(get_args(TableName))


def test_the_workflow_takes_them_from_here() -> None:
    root = Path(__file__).parents[2]
    text = "".join(
        path.read_text(encoding="utf-8") for path in [root / "Snakefile", *root.glob("workflow/rules/*.smk")]
    )
    for path in CAPTIONS.glob("*.rst"):
        assert f'CAPTIONS / "{path.name}"' in text
    assert text.count("caption=") == text.count("caption=str(CAPTIONS")


def test_first_sentence_is_plain_text() -> None:
    assert first_sentence(caption("figure", figure="perplexity")) == (
        "Perplexity on the training set and on the validation set while the models were trained, for every seed (as in "
        "Figure 7 of the OPR paper)."
    )


@pytest.mark.parametrize("text", ["{{ snakemake.wildcards.nothing }}", "{% if %}", "*open", ".. include:: /etc/hosts"])
def test_a_broken_caption_is_named(text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(captions, "CAPTIONS", tmp_path)
    with raises("missing-file", tmp_path / "table.rst"):
        caption("table", table="scores")
    (tmp_path / "table.rst").write_text(text, encoding="utf-8")
    with raises("malformed-line", tmp_path / "table.rst"):
        caption("table", table="scores")
