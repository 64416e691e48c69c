"""Prepare tables for the page: sort keys and styles of their columns, and the data as a file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from markupsafe import Markup

from wordorder.report.captions import caption
from wordorder.report.links import File, csv_file
from wordorder.tables import table as tables
from wordorder.tables.table import MISSING, Cell, Table

_WORDY = 40  # characters: a cell above it makes its column one of words
# The page keeps the first column visible while a wide table scrolls, so the column that names the rows comes first.
_FIRST = ("Encoding", "System", "Claim", "Requirement")


@dataclass(frozen=True)
class Heading:
    """The heading of a column.

    Attributes:
        text: The text.
        numeric: Whether the column is sorted by number.
        style: The CSS class of the column: "number", "words" or empty.
    """

    text: str
    numeric: bool
    style: str


@dataclass(frozen=True)
class Block:
    """One grid of a table.

    Attributes:
        caption: The caption.
        headings: The headings of the columns.
        rows: The cells of each row, as many as headings; the first one is the row's heading.
    """

    caption: str
    headings: list[Heading]
    rows: list[list[Cell]]


@dataclass(frozen=True)
class Shown:
    """A table of the study, ready for the page.

    Attributes:
        name: The name, such as "scores".
        title: The heading.
        caption: The caption, HTML.
        blocks: The grids.
        notes: The notes below the grids.
        file: The complete data, CSV.
    """

    name: str
    title: str
    caption: Markup
    blocks: list[Block]
    notes: list[str]
    file: File


def show(table: Table) -> Shown:
    """Prepare a table for the page, with its complete data as a file to save."""
    return Shown(
        name=table.name,
        title=title_of(table.name),
        caption=caption("table", table=table.name),
        blocks=[show_block(block) for block in table.blocks],
        notes=table.notes,
        file=csv_file(f"{table.name}.csv", table.csv),
    )


def title_of(name: str) -> str:
    """Return the heading for the name of a table, a figure or an analysis."""
    return {"ngram_gap": "N-gram gap"}.get(name, name.replace("_", " ").capitalize())


def show_block(block: tables.Block) -> Block:
    """Prepare a block, with the column that names the rows first."""
    columns = sorted(block.columns, key=lambda name: name not in _first(block.columns))
    rows = [[row.get(name, MISSING) for name in columns] for row in block.rows]
    headings = [_heading(name, [row[index] for row in rows]) for index, name in enumerate(columns)]
    return Block(block.caption, headings, [list(map(_sorted_as, row, headings)) for row in rows])


def _sorted_as(cell: Cell, heading: Heading) -> Cell:
    """Give a number in a column of text a sort key that is text."""
    if cell.key is None or heading.numeric or isinstance(cell.key, str):
        return cell
    return replace(cell, key=cell.text.casefold())


def _first(columns: Sequence[str]) -> list[str]:
    return [name for name in columns if name in _FIRST][:1]


def _heading(name: str, cells: Sequence[Cell]) -> Heading:
    there = [cell for cell in cells if cell.key is not None]
    numeric = bool(there) and not any(isinstance(cell.key, str) for cell in there)
    if numeric and all(cell.is_number for cell in there):
        return Heading(name, numeric, "number")
    return Heading(name, numeric, "words" if any(len(cell.text) > _WORDY for cell in there) else "")
