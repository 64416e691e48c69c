"""Assemble the page of a study from the data of the other modules and the files page.html.jinja, page.css and page.js.

A Content-Security-Policy lets the browser fetch nothing and apply only this style and this script, identified by their
SHA-256. Corpus text that looks like HTML would therefore be harmless even if it were not escaped.
"""

from __future__ import annotations

import base64
import hashlib
from importlib.resources import files
from pathlib import Path

from jinja2 import Environment, StrictUndefined, Template
from markupsafe import Markup

from wordorder import __version__
from wordorder.comparison.levels import level_of
from wordorder.config.claims import PAPER_TABLES
from wordorder.config.pages import CONTROLS, Page
from wordorder.files import write_text
from wordorder.report import inputs, overview, pairs, pictures, records, tables, translations
from wordorder.report.answer import answer
from wordorder.report.build import build_controls_table, build_paper_table, build_table
from wordorder.report.captions import caption
from wordorder.report.ten_lines import inline_html
from wordorder.tables.credibility import credibility_items, credibility_table


def write_page(*, config: Page, results: Path, data: Path, output: Path) -> None:
    """Make the page of a study.

    Write one HTML page with the results of a study: overview, tables, figures, translations side by side, records and
    the credibility checklist. The page is self-contained and needs no network.

    Example:
        wordorder stage page --config SLICE --results results/demo --data results/data --output results/demo/index.html

    Args:
        config: The contents of the study.
        results: The folder results/{study}.
        data: The folder results/data.
        output: The HTML page to write.
    """
    write_text(output, build_page(config, results, data))


def build_page(asked: Page, results: str | Path, data: str | Path) -> str:
    """Build the page of a study.

    The same files give the same bytes. Cells that are not trained, and those that diverged, are shown with their
    status.

    Args:
        asked: The configuration of the page.
        results: The folder of the study's results.
        data: The folder of the datasets, ``results/data``.

    Returns:
        The HTML page.

    Raises:
        WordorderError: A file other than those of a training is missing or damaged.
    """
    results, data = Path(results), Path(data)
    report = asked.report
    inputs.check(report, results)
    own = [name for name in asked.tables if name not in (*PAPER_TABLES, CONTROLS)]
    built = {name: build_table(name, report, results, asked.published) for name in dict.fromkeys(["scores", *own])}
    if asked.controls is not None:
        built[CONTROLS] = build_controls_table(asked.controls, results)
    if asked.paper is not None:
        built |= {name: build_paper_table(name, asked.paper, results.parent) for name in PAPER_TABLES}
    cells = records.load(asked, results)
    items = credibility_items(report, results)
    texts = translations.read(asked, results, data)
    scores = built["scores"].data
    alike = overview.alike(report, scores)
    compared = pairs.load(report, results, scores, cells, texts)
    style, script = _resource("page.css"), _resource("page.js")
    return _template().render(
        version=__version__,
        policy=_policy(style, script),
        style=Markup(style),
        script=Markup(script),
        study=report.study,
        title=report.title,
        about=caption("workflow"),
        facts=overview.facts(asked, cells),
        companions=asked.companions,
        paper=asked.paper and asked.paper.claims.name,
        bundled=asked.bundled,
        undocumented=asked.undocumented,
        fidelity=asked.fidelity,
        comparisons=overview.comparisons(report, results),
        lines={name: inline_html(text) for name, text in asked.lines.items()},
        answer=answer(report, results, cells, items, alike),
        alike=alike,
        exact=compared["exact"],
        alpha=level_of(report.alpha, report.seeds, report.looks).level,
        tables=[tables.show(built[name]) for name in asked.tables],
        pictures={
            "Figures": pictures.figures(asked, results),
            "Analyses": pictures.analyses(asked, results),
            "Reordering": pictures.reorderings(asked, data),
        },
        pairs=pairs.packed(compared),
        compared_sentences=pairs.SENTENCES,
        test_sets=[translations.select(text) for text in texts],
        sentences=translations.SENTENCES,
        records=cells,
        record_table=records.table(cells),
        items=items,
        credibility=tables.show(credibility_table(items, report)),
    )


def _policy(style: str, script: str) -> str:
    return (
        f"default-src 'none'; img-src data:; style-src '{_digest(style)}'; script-src '{_digest(script)}'; "
        "base-uri 'none'; form-action 'none'"
    )


def _digest(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


def _resource(name: str) -> str:
    return files("wordorder.report").joinpath(name).read_text(encoding="utf-8")


def _template() -> Template:
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    return environment.from_string(_resource("page.html.jinja"))
