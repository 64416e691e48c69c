"""The record of every cell: a row of a table, and the whole of it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from wordorder.config.models import Page
from wordorder.files import read_json
from wordorder.report.tables import Block, build_block
from wordorder.results.frames import cell_folders
from wordorder.tables.study import NOTHING

MISSING = "not trained"
_LIBRARIES = ("wordorder", "torch", "sacrebleu", "snakemake")


@dataclass(frozen=True)
class Record:
    """A cell with its training record: ``status`` is the record's, or MISSING where there is none."""

    dataset: str
    encoding: str
    size: str
    seed: int
    status: str
    content: dict[str, Any]

    @property
    def name(self) -> str:
        return f"{self.dataset}/{self.encoding}/{self.size}/{self.seed}"

    @property
    def anchor(self) -> str:
        return f"record-{self.name.replace('/', '-')}"

    @property
    def text(self) -> str:
        return json.dumps(self.content, indent=2, ensure_ascii=False)


def load(asked: Page, results: Path) -> list[Record]:
    """The record of every cell of the study, also of those that are not trained; :mod:`.inputs` has checked them."""
    found = []
    for cell, files in cell_folders(asked.report, results):
        path = files.record
        content = read_json(path) if path.is_file() else {}
        found.append(Record(**cell, status=content.get("status", MISSING), content=content))
    return found


def table(records: list[Record]) -> Block:
    """A row for each cell; what a record does not tell is a dash."""
    columns = list(_row(records[0])) if records else []
    rows = [list(_row(record).values()) for record in records]
    whole = [f"#{record.anchor}" if record.content else "" for record in records]
    return build_block("Every cell, one trained model each.", columns, rows, {"Encoding": whole})


def _row(record: Record) -> dict[str, str]:
    content = record.content
    seconds, commit = content.get("seconds"), content.get("git_commit")
    packages, data = _part(content, "packages"), _part(content, "data")
    python = [f"Python {content['python']}"] if "python" in content else []
    versions = [f"{name} {packages[name]}" for name in _LIBRARIES if packages.get(name)]
    return {
        "Encoding": record.encoding,
        "Dataset": record.dataset,
        "Size": record.size,
        "Seed": str(record.seed),
        "Status": record.status,
        "Updates": _number(content.get("updates")),
        "Epochs": _number(content.get("epochs"), 2),
        "Tokens/s": _number(content.get("target_tokens_per_second")),
        "Minutes": _number(None if seconds is None else seconds / 60, 1),
        "Device": _device(content),
        "Versions": ", ".join(versions + python) or NOTHING,
        "Commit": commit[:10] if commit else NOTHING,
        "SHA-256 of training data": data["train"][:12] if data.get("train") else NOTHING,
    }


def _part(content: dict[str, Any], name: str) -> dict[str, Any]:
    found = content.get(name)
    return found if isinstance(found, dict) else {}


def _device(content: dict[str, Any]) -> str:
    hardware = _part(content, "hardware")
    names = dict.fromkeys(hardware.get("gpus") or [hardware.get("processor"), hardware.get("instructions")])
    where = ", ".join(name for name in names if name)
    device = content.get("device") or NOTHING
    return f"{device} ({where})" if where else device


def _number(value: float | None, digits: int = 0) -> str:
    return NOTHING if value is None else f"{value:,.{digits}f}"
