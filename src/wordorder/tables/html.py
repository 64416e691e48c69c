"""A table as an HTML page of its own, which Snakemake's report shows in a frame."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

import pandas as pd

if TYPE_CHECKING:
    from wordorder.tables.study import Table

_STYLE = """
body { font: 15px/1.4 system-ui, sans-serif; margin: 1em; color: #222; background: #fff; }
div { overflow-x: auto; }
table { border-collapse: collapse; margin-bottom: 1.5em; font-variant-numeric: tabular-nums; }
caption { text-align: left; padding-bottom: .5em; font-weight: 600; }
th, td { text-align: left; vertical-align: top; padding: .25em .8em; border-bottom: 1px solid #ccc; }
thead th { border-bottom: 2px solid #222; }
"""


def to_html(table: Table) -> str:
    """Blocks and notes of ``table``, without anything that would be fetched from elsewhere."""
    blocks = []
    for caption, frame in table.blocks:
        with pd.option_context("display.max_colwidth", None):  # else long text is cut
            rows = frame.to_html(index=False, border=0, justify="left")
        opening, rest = rows.split(">", 1)
        blocks.append(f"<div>{opening}>\n<caption>{escape(caption)}</caption>{rest}</div>")
    notes = "".join(f"<li>{escape(note)}</li>\n" for note in table.notes)
    return (
        f'<!DOCTYPE html>\n<html lang="en">\n<head><meta charset="utf-8"><title>{escape(table.name)}</title>'
        f"<style>{_STYLE}</style></head>\n<body>\n{chr(10).join(blocks)}\n"
        f"{f'<ul>{chr(10)}{notes}</ul>' if notes else ''}\n</body>\n</html>\n"
    )
