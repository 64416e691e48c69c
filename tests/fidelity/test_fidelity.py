"""Every encoding meets independent implementations, and ``docs/fidelity.md`` says so truly."""

from __future__ import annotations

import os
import re

import pytest

from fidelity import PAGE, Comparison, comparisons, read_page, render
from wordorder.encodings.registry import encoding_types


def named(comparison: Comparison) -> str:
    return f"{comparison.encoding}-{comparison.run.__name__}"


@pytest.mark.parametrize("comparison", comparisons(), ids=named)
def test_outputs_and_gradients_are_those_of_the_other_implementation(comparison: Comparison) -> None:
    if comparison.installed() is None:
        if os.environ.get("WORDORDER_FIDELITY"):
            pytest.fail(f"{comparison.against} is not installed")
        pytest.skip(f"needs {comparison.against}: pip install '.[fidelity]'")
    found = comparison.measure()
    assert found.allowed, found


def test_every_encoding_has_a_row() -> None:
    assert set(re.findall(r"^## `(\w+)`$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)) == set(encoding_types())


def test_the_page_is_what_make_fidelity_writes() -> None:
    text = PAGE.read_text(encoding="utf-8")
    rows = read_page(text)
    assert set(rows) == {comparison.key for comparison in comparisons()}
    assert render(rows) == text
    for key, row in rows.items():
        assert float(row.outputs) <= 1e-5, key
        assert row.gradients == "–" or float(row.gradients) <= 1e-4, key
