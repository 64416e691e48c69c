"""Tests of what is known of an encoding."""

from __future__ import annotations

from pathlib import Path

from wordorder.api.inspection import inspect


def test_an_encoding_has_the_positions_of_its_shortest_table(tmp_path: Path) -> None:
    parts = "{type: learned, table: 6, placement: encoder}, {type: learned, table: 9, placement: decoder}"
    (tmp_path / "encodings.yaml").write_text(f"two:\n  compose: [{parts}]\n")
    assert inspect("two", root=tmp_path).longest == 6
