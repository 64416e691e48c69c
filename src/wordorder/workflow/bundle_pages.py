"""The pages of reference runs, made from their bundles without a training."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from html import escape
from pathlib import Path
from typing import TypeVar

from wordorder.config.claims import PAPER_TABLES
from wordorder.config.load import slice_argument
from wordorder.config.models import Study
from wordorder.config.pages import Page, PublishedReport
from wordorder.errors import WordorderError
from wordorder.files import read_text, write_text
from wordorder.progress import track
from wordorder.report.page import write_page
from wordorder.report.reference import restore_results
from wordorder.report.ten_lines import README, TO_WRITE, read_lines
from wordorder.results.bundle import Bundled
from wordorder.workflow.configuration import Configuration
from wordorder.workflow.study_slices import page_slice, published_tables

INDEX = "index.html"
T = TypeVar("T")
R = TypeVar("R")


def write_pages(
    folders: Sequence[Path], configuration: Configuration, data: Path, output: Path, *, processes: int = 1
) -> list[Path]:
    """Write the page of each bundle, and a page that lists them.

    Translations are scored again. The page of a paper decides its claims by the bundles among ``folders``.

    Args:
        folders: The bundles; each has the name of its study.
        configuration: The configuration folder.
        data: The folder of the datasets, with the raw sources and references of the test sets.
        output: The folder to write; a page is ``STUDY/index.html``.
        processes: The number of bundles to work on at the same time.

    Returns:
        The files: the list first, then the pages.

    Raises:
        WordorderError: A bundle is damaged, two have one name, or a text is missing.
    """
    by_name = {folder.resolve().name: folder for folder in folders}
    if len(by_name) < len(folders):
        raise WordorderError(
            "Two of the bundles have the same name, which is that of their study. Name each bundle once.",
            code="duplicate-entry",
            key="bundles",
        )
    with tempfile.TemporaryDirectory() as scratch:
        results = Path(scratch)
        restore = partial(_restore, data=data, results=results)
        bundles = dict(zip(by_name, _each(restore, by_name.items(), processes, "scores"), strict=True))
        pages = {
            name: page_of_bundle(name, bundles, configuration, results).model_copy(update={"lines": _lines(folder)})
            for name, folder in by_name.items()
        }
        write = partial(_write, data=data, results=results, output=output)
        files = _each(write, pages.items(), processes, "pages")
    write_text(output / INDEX, _list(pages), checksum="none")
    return [output / INDEX, *files]


def _restore(named: tuple[str, Path], *, data: Path, results: Path) -> Bundled:
    name, folder = named
    return restore_results(folder, data, results / name)


def _write(named: tuple[str, Page], *, data: Path, results: Path, output: Path) -> Path:
    name, page = named
    file = output / name / INDEX
    write_page(config=page, results=results / name, data=data, output=file)
    return file


def _lines(folder: Path) -> dict[str, str]:
    """Return the lines that a person has written about a bundle."""
    page = folder / README
    lines = read_lines(read_text(page)) if page.is_file() else {}
    return {name: text for name, text in lines.items() if TO_WRITE not in text}


def _each(work: Callable[[T], R], items: Iterable[T], processes: int, what: str) -> list[R]:
    todo = list(items)
    if processes == 1:
        return list(track(map(work, todo), what, total=len(todo), unit="bundles"))
    with ProcessPoolExecutor(processes) as pool:
        return list(track(pool.map(work, todo), what, total=len(todo), unit="bundles"))


def page_of_bundle(name: str, bundles: Mapping[str, Bundled], configuration: Configuration, results: Path) -> Page:
    """Return the slice of the page of a bundle: what the study requests, as far as its bundle has it.

    Args:
        name: The study.
        bundles: All bundles, by study.
        configuration: The configuration folder.
        results: The folder with the results of each bundle.
    """
    bundle, asked = bundles[name], configuration.study(name)
    report = bundle.report
    companions = [each for each in asked.companions if each in bundles]
    run = {
        "datasets": [dataset.name for dataset in report.datasets],
        "companions": companions,
        "published": [],
        **{key: getattr(report, key) for key in ("encodings", "sizes", "only", "seeds")},
    }
    page = slice_argument(page_slice(asked.model_copy(update=run), configuration), Page)
    figures = [each for each in page.figures if _is_drawn(results / name / "figures" / each)]
    analyses = _analyses(asked, results / name)
    paper = page.paper and page.paper.model_copy(
        update={
            "studies": [
                PublishedReport(
                    report=bundles[each].report,
                    # The printed tables of today: claims may name rows that were not known at the time of the run.
                    published=published_tables(configuration.study(each), configuration),
                    analyses=_analyses(configuration.study(each), results / each),
                )
                for each in (name, *companions)
            ]
        }
    )
    tables = [each for each in bundle.tables if each != "credibility"]
    lacking = {
        "figures": [each for each in page.figures if each not in figures],
        "analyses": [each for each in page.analyses if each not in analyses],
        "reordering": ["drawings"] if page.reorderings else [],
        "encodings": [each for each in asked.encodings if each not in report.encodings],
        "companions": [each for each in asked.companions if each not in companions],
    }
    return page.model_copy(
        update={
            "report": report,
            "tables": [*(PAPER_TABLES if paper else []), *tables],
            "published": bundle.published,
            "controls": bundle.controls,
            "paper": paper,
            "figures": figures,
            "analyses": analyses,
            "reorderings": [],
            "fidelity": {},  # whose rows are in another folder
            "bundled": True,
            "lacking": [f"{what}: {', '.join(names)}" for what, names in lacking.items() if names],
        }
    )


def _analyses(study: Study, results: Path) -> list[str]:
    return [name for name in study.analyses.names if _is_drawn(results / "analyses" / name)]


def _is_drawn(prefix: Path) -> bool:
    return all(prefix.with_name(f"{prefix.name}.{end}").is_file() for end in ("svg", "csv"))


def _list(pages: Mapping[str, Page]) -> str:
    """Return the page that links to all others."""
    items = "\n".join(
        f'<li><a href="{escape(name)}/{INDEX}">{escape(page.report.title)}</a> ({escape(name)}): '
        f"{len(page.report.encodings)} encodings, {len(page.report.seeds)} seeds, "
        f"{escape(', '.join(dataset.title for dataset in page.report.datasets))}</li>"
        for name, page in pages.items()
    )
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head><meta charset="utf-8"><title>Reference runs</title>\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        "<style>body { font: 16px/1.5 system-ui, sans-serif; max-width: 60em; margin: 2em auto; padding: 0 1em; }"
        "</style></head>\n<body>\n<h1>Reference runs</h1>\n"
        "<p>Each page shows the results of one reference run, made from its bundle in results/reference.</p>\n"
        f"<ul>\n{items}\n</ul>\n</body>\n</html>\n"
    )
