"""A table as the page shows it: its cells as text, with the numbers by which a column is sorted."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import pandas as pd
from markupsafe import Markup

from wordorder.report.captions import caption
from wordorder.report.links import File, csv_file
from wordorder.tables.study import NOTHING, Table

# "-54.55", "+0.07", "7,922", "<0.001", "88 %", "[-56.08, -53.03]", "24.28 ± 0.27 (n = 3) c", "3 finished": a number
# that ends where a word does, or in a mark: "40.81++". "2016_flickr" is a name.
_NUMBER = re.compile(r"\[?(<?)([-+−]?\d[\d,]*(?:\.\d+)?)(?=$|[\s%\],+↑])")
_BARE = re.compile(r"<?[-+−]?\d[\d,]*(?:\.\d+)?( %|[+↑]+)?")
# mean ± sd (n = 3) letters or a mark: the mean is read first, the rest is small.
_SCORE = re.compile(r"(?P<main>\S+)(?P<rest>(?: ± \S+)? \(n = [^)]*\))(?: (?P<letters>[\w()+↑]+))?")
_WORDY = 40
# What tells the rows apart stands first, where it stays in sight while a wide table is scrolled.
_FIRST = ("Encoding", "System", "Demand")


def sort_number(text: str) -> float | None:
    """The number by which a cell is sorted; None for one without. Less than 0.001 comes before 0.001."""
    found = _NUMBER.match(text)
    if not found:
        return None
    number = float(found[2].replace(",", "").replace("−", "-"))
    return number * (1 - 1e-6) if found[1] else number


def is_missing(text: str) -> bool:
    """Whether a cell says that there is nothing: such cells come last, whichever way the column is sorted."""
    return not text or text == NOTHING or text.startswith((f"{NOTHING} (", "not scored"))


@dataclass(frozen=True)
class Cell:
    """``key`` is a number or lower-case text to sort by, None where nothing is there; ``link`` is an address."""

    text: str
    key: str | None
    main: str
    rest: str = ""
    letters: str = ""
    link: str = ""
    title: str = ""


@dataclass(frozen=True)
class Heading:
    """``numeric``: the column is sorted by numbers. ``style`` is "number", "words" or nothing."""

    text: str
    numeric: bool
    style: str


@dataclass(frozen=True)
class Block:
    """One table of rows and columns; the first column heads the rows."""

    caption: str
    headings: list[Heading]
    rows: list[list[Cell]]


@dataclass(frozen=True)
class Shown:
    """A table of the study with what stands above and below it."""

    name: str
    title: str
    caption: Markup
    blocks: list[Block]
    notes: list[str]
    file: File


def show(table: Table) -> Shown:
    """What the page shows of a table, with its whole data as a file to save."""
    return Shown(
        name=table.name,
        title=title_of(table.name),
        caption=caption("table", table=table.name),
        blocks=[block(text, frame) for text, frame in table.blocks],
        notes=table.notes,
        file=csv_file(f"{table.name}.csv", table.data.to_csv(index=False, lineterminator="\n")),
    )


def title_of(name: str) -> str:
    """A heading made of the name of a table, a figure or an analysis."""
    return {"ngram_gap": "N-gram gap"}.get(name, name.replace("_", " ").capitalize())


def block(text: str, frame: pd.DataFrame) -> Block:
    """A frame of strings, its most telling column first."""
    first = [name for name in frame.columns if name in _FIRST][:1]
    columns = [*first, *(name for name in frame.columns if name not in first)]
    shown = frame.astype(object).where(frame.notna(), NOTHING)
    return build_block(text, columns, shown[columns].astype(str).to_numpy().tolist())


def build_block(
    text: str, columns: Sequence[str], rows: Iterable[Sequence[str]], links: dict[str, list[str]] | None = None
) -> Block:
    """Cells and headings from text; ``links`` has an address for each row, by column."""
    rows, links = list(rows), links or {}
    headings = [_heading(name, [row[index] for row in rows]) for index, name in enumerate(columns)]
    cells = [
        [
            _cell(value, heading.numeric, links.get(heading.text, [""] * len(rows))[number])
            for value, heading in zip(row, headings, strict=True)
        ]
        for number, row in enumerate(rows)
    ]
    return Block(text, headings, cells)


def _heading(name: str, values: Sequence[str]) -> Heading:
    there = [value for value in values if not is_missing(value)]
    numeric = bool(there) and all(sort_number(value) is not None for value in there)
    if numeric and all(_BARE.fullmatch(value) for value in there):
        return Heading(name, numeric, "number")
    return Heading(name, numeric, "words" if any(len(value) > _WORDY for value in there) else "")


def _cell(text: str, numeric: bool, link: str) -> Cell:
    number = sort_number(text) if numeric else None
    key = None if is_missing(text) else text.casefold() if number is None else repr(number)
    if score := _SCORE.fullmatch(text):
        return Cell(text, key, score["main"], score["rest"].strip(), score["letters"] or "", link)
    return Cell(text, key, text, link=link)
