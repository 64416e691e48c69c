"""The run records of the page: one table row per cell, and the complete records."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from wordorder.config.pages import Page
from wordorder.hardware import hardware_name
from wordorder.report.tables import Block, show_block
from wordorder.results import typed
from wordorder.results.bundle import ORIGIN
from wordorder.results.frames import cell_folders
from wordorder.tables import table as tables
from wordorder.tables.table import NOTHING, Row, number, text

MISSING = "not trained"
_LIBRARIES = ("wordorder", "torch", "sacrebleu", "snakemake")


@dataclass(frozen=True)
class Record:
    """A cell with its run record.

    Attributes:
        dataset: The dataset.
        encoding: The encoding.
        size: The model size.
        seed: The seed.
        status: The status in the record, or ``MISSING`` without a record.
        content: The record; empty without one.
    """

    dataset: str
    encoding: str
    size: str
    seed: int
    status: str
    content: dict[str, Any]

    @property
    def name(self) -> str:
        """The name of the cell, as DATASET/ENCODING/SIZE/SEED."""
        return f"{self.dataset}/{self.encoding}/{self.size}/{self.seed}"

    @property
    def anchor(self) -> str:
        """The HTML id of the complete record."""
        return f"record-{self.name.replace('/', '-')}"

    @property
    def text(self) -> str:
        """The complete record as indented JSON."""
        return json.dumps(self.content, indent=2, ensure_ascii=False)


def load(asked: Page, results: Path) -> list[Record]:
    """Load the record of every cell of a study, trained or not.

    :func:`wordorder.report.inputs.check` must have checked the files.
    """
    found = []
    for cell, files in cell_folders(asked.report, results):
        path = files.record
        content = typed.read_typed(path, typed.Record) if path.is_file() else {}
        found.append(Record(**cell, status=content.get("status", MISSING), content=content))
    return found


def table(records: list[Record]) -> Block:
    """Build a block with one row per cell, in which a dash marks values that a record lacks."""
    return show_block(tables.Block("Every cell, one trained model each.", [_row(record) for record in records]))


def _row(record: Record) -> Row:
    content = record.content
    seconds, commit = content.get("seconds"), content.get("git_commit")
    packages, data = _part(content, "packages"), _part(content, "data")
    python = [f"Python {content['python']}"] if "python" in content else []
    versions = [f"{name} {packages[name]}" for name in _LIBRARIES if packages.get(name)]
    return {
        "Encoding": text(record.encoding, link=f"#{record.anchor}" if content else ""),
        "Dataset": text(record.dataset),
        "Size": text(record.size),
        "Seed": number(record.seed, group=False),
        "Status": text(f"{record.status}, imported from {content[ORIGIN]}" if ORIGIN in content else record.status),
        "Updates": number(content.get("updates")),
        "Epochs": number(content.get("epochs"), 2),
        "Tokens/s": number(content.get("target_tokens_per_second")),
        "Minutes": number(None if seconds is None else seconds / 60, 1),
        "Device": text(_device(content)),
        "Versions": text(", ".join(versions + python)),
        "Commit": text(commit[:10] if commit else ""),
        "SHA-256 of training data": text(data["train"][:12] if data.get("train") else ""),
    }


def _part(content: dict[str, Any], name: str) -> dict[str, Any]:
    found = content.get(name)
    return found if isinstance(found, dict) else {}


def _device(content: dict[str, Any]) -> str:
    where, device = hardware_name(content), content.get("device") or NOTHING
    return f"{device} ({where})" if where else device
