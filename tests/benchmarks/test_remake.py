"""Test that ``make benchmarks`` recreates tables from records, and that the short suite warns."""

from __future__ import annotations

import json
from pathlib import Path
from types import ModuleType

import pytest

FOLDER = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture
def remake() -> ModuleType:
    import remake

    return remake


def test_each_table_names_the_processor_of_its_record(remake: ModuleType, tmp_path: Path) -> None:
    record = json.loads((FOLDER / "records/encoding_cost.json").read_text())
    record["hardware"] |= {"processor": "Z80", "threads": 3}
    (tmp_path / "encoding_cost.json").write_text(json.dumps(record))
    made = remake.tables(tmp_path)
    assert "Z80, 3 threads" in made and "| posnet_embed" in made
    assert "Reordering" not in made, "it has no record"


def test_only_what_stands_between_the_marks_is_made_again(remake: ModuleType) -> None:
    page = f"before\n\n{remake.BEGIN}\n\nold\n\n{remake.END}\n\nafter\n"
    made = remake.rewrite(page, "new")
    assert made == page.replace("old", "new") and remake.rewrite(made, "new") == made
    with pytest.raises(SystemExit):
        remake.rewrite("no marks", "new")


def test_the_page_shows_the_tables_of_the_records(remake: ModuleType) -> None:
    page = remake.PAGE.read_text(encoding="utf-8")
    assert remake.rewrite(page, remake.tables(remake.RECORDS)) == page, "run python benchmarks/remake.py --tables"


def test_a_clear_excess_over_the_stored_ratio_is_named(remake: ModuleType) -> None:
    stored = {"rope": 1.1, "alibi": 0.9, "cope": 1.3}
    assert remake.slower(stored, {"rope": 1.3, "alibi": 1.2, "cope": 1.5, "new": 9.0}) == []
    (sentence,) = remake.slower(stored, {"rope": 1.4, "alibi": 1.2})
    assert "rope" in sentence
    record = json.loads((remake.RECORDS / "encoding_cost.json").read_text())
    assert set(remake.SHORT_TYPES) <= remake.ratios(record).keys()
