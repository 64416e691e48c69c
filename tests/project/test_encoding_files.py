"""Test that the file of every encoding states its source, its promises and its departures from the source."""

from __future__ import annotations

import pytest

from wordorder.encodings.documentation import sections
from wordorder.encodings.registry import encoding_types


@pytest.mark.parametrize("name", encoding_types())
def test_a_file_has_source_promises_and_departures(name: str) -> None:
    texts = sections(name)
    for heading in ("Source", "Promises", "Departures"):
        assert texts.get(heading, "").endswith("."), f"encodings/{name}.py: '{heading}: …' is missing or no sentence"
