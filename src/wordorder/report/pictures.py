"""The figures and analyses of the page: image, caption and the data behind them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from markupsafe import Markup

from wordorder.config.pages import Page
from wordorder.report.captions import caption, first_sentence
from wordorder.report.links import File, Image, read_csv_file, read_drawing, read_image
from wordorder.report.tables import title_of


@dataclass(frozen=True)
class Picture:
    """A figure of the page.

    Attributes:
        name: The HTML id.
        title: The heading.
        image: The drawing.
        words: The text alternative of the image.
        caption: The caption, HTML.
        file: The data behind the drawing, CSV.
    """

    name: str
    title: str
    image: Image
    words: str
    caption: Markup
    file: File


def figures(asked: Page, results: Path) -> list[Picture]:
    """Load the figures of a study.

    Raises:
        WordorderError: A file of a figure is missing or damaged.
    """
    read = _reader(asked)
    return [
        _picture(f"figure-{name}", title_of(name), results / "figures" / name, caption("figure", figure=name), read)
        for name in asked.figures
    ]


def analyses(asked: Page, results: Path) -> list[Picture]:
    """Load the figures of a study's analyses.

    Raises:
        WordorderError: A file of an analysis is missing or damaged.
    """
    read = _reader(asked)
    return [
        _picture(
            f"analysis-{name}",
            title_of(name),
            results / "analyses" / name,
            caption("analysis", analysis=name),
            read,
        )
        for name in asked.analyses
    ]


def reorderings(asked: Page, data: Path) -> list[Picture]:
    """Load the figures of a study's reorderers, two per reorderer and test set.

    Args:
        asked: The configuration of the page.
        data: The folder of the datasets, ``results/data``.

    Raises:
        WordorderError: A file of a figure is missing or damaged.
    """
    titles = {"matrix": "A sentence and its tree", "tau": "Distance from the target's order"}
    return [
        _picture(
            f"reordering-{drawn.dataset}-{drawn.reorderer}-{drawn.test}-{figure}",
            f"{title}: {drawn.reorderer}, {drawn.dataset}, {drawn.test}",
            data / drawn.dataset / "reordering" / drawn.reorderer / "figures" / f"{drawn.test}.{figure}",
            caption("reordering", split=drawn.test, figure=figure),
            read_image,
        )
        for drawn in asked.reorderings
        for figure, title in titles.items()
    ]


def _reader(asked: Page) -> Callable[[Path], Image]:
    """Return the function that embeds a picture, of which a bundle has the drawing only."""
    return read_drawing if asked.bundled else read_image


def _picture(name: str, title: str, prefix: Path, text: Markup, read: Callable[[Path], Image]) -> Picture:
    file = read_csv_file(prefix.with_name(f"{prefix.name}.csv"))
    return Picture(name, title, read(prefix), f"{title}. {first_sentence(text)}", text, file)
