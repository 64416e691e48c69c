"""Tables: typed cells, rendered as CSV, Markdown, LaTeX and HTML; :mod:`wordorder.report.tables` adds the page."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape
from pathlib import Path

import pandas as pd
from tabulate import tabulate

from wordorder.files import write_text

NOTHING = "–"
# Smallest p-value that is printed as a number; smaller ones are printed as "<0.001".
_SMALLEST_P = 0.001


@dataclass(frozen=True)
class Cell:
    """A printed value.

    Attributes:
        main: The main text, or the number with its unit.
        key: Sort key: a number, text in lower case, or None if there is no value.
        rest: Text printed smaller after it, such as a standard deviation and a count.
        mark: Significance letters or a paper's mark at the end.
        link: An address on the page.
        is_number: Whether the cell is only a number with its unit, to be set with tabular figures.
    """

    main: str
    key: float | str | None
    rest: str = ""
    mark: str = ""
    link: str = ""
    is_number: bool = False

    @property
    def text(self) -> str:
        """The whole text."""
        return " ".join(filter(None, (self.main, self.rest, self.mark)))


MISSING = Cell(NOTHING, None)


def text(value: str, *, link: str = "", key: float | None = None) -> Cell:
    """Create a cell of text, sorted alphabetically or by ``key``; a dash if it is empty."""
    return Cell(value, value.casefold() if key is None else key, link=link) if value else MISSING


def missing(reason: str) -> Cell:
    """Create a cell with the reason why it has no value, such as "not scored"."""
    return Cell(reason, None)


def number(
    value: float | None, digits: int = 0, *, sign: str = "", group: bool = True, unit: str = "", mark: str = ""
) -> Cell:
    """Create a cell of a number; a dash for None and NaN.

    Args:
        value: The number.
        digits: The number of decimals.
        sign: "+" prints the sign of positive numbers.
        group: Whether thousands are separated by commas.
        unit: Printed after the number, such as " %".
        mark: Printed directly after the number.
    """
    if value is None or math.isnan(value):
        return MISSING
    return Cell(f"{value:{sign}{',' if group else ''}.{digits}f}{unit}{mark}", float(value), is_number=True)


def mean_and_sd(values: Sequence[float], wanted: int, digits: int = 2, mark: str = "") -> Cell:
    """Create a cell such as "35.21 ± 0.34 (n = 3) a": mean, standard deviation (n - 1), count and mark.

    Args:
        values: One value per seed; NaN if there is none.
        wanted: The number of seeds that were requested; "(n = 2 of 3)" if some have no value.
        digits: The number of decimals.
        mark: Significance letters or a paper's mark.
    """
    series = pd.Series(values, dtype=float).dropna()
    count = f"(n = {len(series)}{f' of {wanted}' if len(series) < wanted else ''})"
    if series.empty:
        return Cell(NOTHING, None, count, mark)
    spread = f"± {series.std():.{digits}f} " if len(series) > 1 else ""
    return Cell(f"{series.mean():.{digits}f}", float(series.mean()), f"{spread}{count}", mark)


def interval(ends: Sequence[float] | None, digits: int) -> Cell:
    """Create a cell such as "[-0.33, +1.18]", sorted by the lower end; a dash for None."""
    if ends is None:
        return MISSING
    low, high = ends
    return Cell(f"[{low:+.{digits}f}, {high:+.{digits}f}]", low)


def p_values(*values: float | None) -> Cell:
    """Create a cell of p-values, sorted by the first."""
    shown = [NOTHING if p is None else format_p(p) for p in values]
    if not any(p is not None for p in values):
        return Cell(", ".join(shown) or NOTHING, None)
    return Cell(", ".join(shown), next(p for p in values if p is not None), is_number=len(shown) == 1)


def format_p(p: float) -> str:
    """Return "0.012", or "<0.001"."""
    return f"{p:.3f}" if p >= _SMALLEST_P else f"<{_SMALLEST_P}"


Row = dict[str, Cell]


@dataclass(frozen=True)
class Block:
    """One grid of a table.

    Attributes:
        caption: Description of the rows and columns.
        rows: The cells of each row by column; a missing cell is printed as a dash.
    """

    caption: str
    rows: list[Row]

    @property
    def columns(self) -> list[str]:
        """The columns in their order."""
        return list(dict.fromkeys(name for row in self.rows for name in row))

    @property
    def texts(self) -> list[list[str]]:
        """The texts of all cells."""
        return [[row.get(name, MISSING).text for name in self.columns] for row in self.rows]


@dataclass(frozen=True)
class Table:
    """A table of a study.

    Attributes:
        name: The name of its files.
        data: All numbers, at full precision: the content of the CSV file.
        blocks: What is printed.
        notes: Sentences below all blocks.
    """

    name: str
    data: pd.DataFrame
    blocks: list[Block]
    notes: list[str] = field(default_factory=list)

    @property
    def csv(self) -> str:
        """The content of the CSV file."""
        return str(self.data.to_csv(index=False, lineterminator="\n"))


def write_table(table: Table, prefix: str | Path) -> None:
    """Write ``prefix`` + .csv, .md, .tex (booktabs) and .html."""
    write_text(f"{prefix}.csv", table.csv)
    write_text(f"{prefix}.md", to_markdown(table))
    write_text(f"{prefix}.tex", to_latex(table))
    write_text(f"{prefix}.html", to_html(table))


def to_markdown(table: Table) -> str:
    """Render the blocks and notes as Markdown."""
    parts = []
    for block in table.blocks:
        cells = [[text.replace("|", "\\|") for text in row] for row in block.texts]
        parts.append(f"{block.caption}\n\n{tabulate(cells, block.columns, tablefmt='pipe', disable_numparse=True)}")
    if table.notes:
        parts.append("\n".join(f"- {note}" for note in table.notes))
    return "\n\n".join(parts) + "\n"


def to_latex(table: Table) -> str:
    """Render each block as a booktabs table with the notes in its caption.

    The document needs the packages booktabs and graphicx.
    """
    notes = " ".join(table.notes)
    return "\n".join(_latex_block(table, index, notes) for index in range(len(table.blocks)))


def _latex_block(table: Table, index: int, notes: str) -> str:
    block = table.blocks[index]
    rows = [[_latex_escape(value) for value in row] for row in (block.columns, *block.texts)]
    wide = [any(len(row[column]) > 40 for row in block.texts) for column in range(len(block.columns))]
    heading, *body = (f"{' & '.join(row)} \\\\" for row in rows)
    label = f"tab:{table.name}" + (f"-{index + 1}" if index else "")
    lines = [
        r"\begin{table}[tbp]",
        f"\\caption{{{_latex_escape(f'{block.caption} {notes}'.strip())}}}",
        f"\\label{{{label}}}",
        # A table with many test sets may be wider than a page, so tables are limited to the text width.
        r"\resizebox{\ifdim\width>\linewidth\linewidth\else\width\fi}{!}{%",
        f"\\begin{{tabular}}{{{''.join('p{6cm}' if each else 'l' for each in wide)}}}",
        *(r"\toprule", heading, r"\midrule", *body, r"\bottomrule"),
        r"\end{tabular}}",
        r"\end{table}",
    ]
    return "\n".join(lines) + "\n"


_LATEX = {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "|": r"\textbar{}"}
_LATEX |= {character: f"\\{character}" for character in "&%$#_{}"} | {"±": r"$\pm$", "–": "--"}
_LATEX |= {"→": r"$\rightarrow$", "×": r"$\times$", "↑": r"$\uparrow$", "↓": r"$\downarrow$", "<": "$<$", ">": "$>$"}
_LATEX |= {"σ": r"$\sigma$", "ν": r"$\nu$"}


def _latex_escape(text: str) -> str:
    return "".join(_LATEX.get(character, character) for character in text)


_STYLE = """
:root { color-scheme: light dark; --page: #fff; --text: #222; --line: #ccc; }
@media (prefers-color-scheme: dark) { :root { --page: #15181b; --text: #dfe3e6; --line: #3d444b; } }
body { font: 15px/1.4 system-ui, sans-serif; margin: 1em; color: var(--text); background: var(--page); }
div { overflow-x: auto; }
table { border-collapse: collapse; margin-bottom: 1.5em; font-variant-numeric: tabular-nums; }
caption { text-align: left; padding-bottom: .5em; font-weight: 600; }
th, td { text-align: left; vertical-align: top; padding: .25em .8em; border-bottom: 1px solid var(--line); }
thead th { border-bottom: 2px solid var(--text); }
tbody th { font-weight: inherit; }
"""


def to_html(table: Table) -> str:
    """Render a separate page, which Snakemake's report shows in a frame, and which fetches nothing."""
    blocks = "\n".join(_html_block(block) for block in table.blocks)
    notes = "".join(f"<li>{escape(note)}</li>\n" for note in table.notes)
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head><meta charset="utf-8">'
        f'<meta name="viewport" content="width=device-width, initial-scale=1"><title>{escape(table.name)}</title>'
        f"<style>{_STYLE}</style></head>\n<body>\n{blocks}\n"
        f"{f'<ul>{chr(10)}{notes}</ul>' if notes else ''}\n</body>\n</html>\n"
    )


def _html_block(block: Block) -> str:
    heading = "".join(f'<th scope="col">{escape(name)}</th>' for name in block.columns)
    rows = "\n".join(_html_row(row) for row in block.texts)
    return (
        f"<div><table>\n<caption>{escape(block.caption)}</caption>\n<thead>\n<tr>{heading}</tr>\n</thead>\n"
        f"<tbody>\n{rows}\n</tbody>\n</table></div>"
    )


def _html_row(values: Sequence[str]) -> str:
    """Render a row, whose first cell is its heading."""
    first, *rest = map(escape, values)
    return f'<tr><th scope="row">{first}</th>{"".join(f"<td>{value}</td>" for value in rest)}</tr>'
