"""Compare every encoding with independent implementations, and the results with ``docs/fidelity.md``."""

from __future__ import annotations

import os
import re

import pytest

from fidelity import PAGE, Compared, Comparison, comparisons, numbers, read_page, render, sections
from wordorder.encodings.base import Shape
from wordorder.encodings.registry import encoding_types, parse


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


def test_every_encoding_is_compared() -> None:
    """Also with something other than a package, which a test without the extra can run."""
    compared = {comparison.encoding for comparison in comparisons() if comparison.kind != "package"}
    assert compared == set(encoding_types())


@pytest.mark.parametrize("name", encoding_types())
def test_every_encoding_says_where_it_starts_from_and_departs(name: str) -> None:
    expected = {"Source", "Departures", "Promises"}
    if parse({"type": name}).parameter_count(Shape(512, 8, 6, 6)):
        expected.add("Start")
    assert expected <= set(sections(name))


@pytest.mark.parametrize("wrong", ["outputs", "gradients"])
def test_a_comparison_sees_a_difference(wrong: str) -> None:
    def run() -> Compared:
        ours, theirs = numbers(3)
        if wrong == "outputs":
            return Compared(ours + 1e-4, theirs, [(ours, theirs)])
        return Compared(ours * (1 + 2e-4) - 2e-4 * ours.detach(), theirs, [(ours, theirs)])

    found = Comparison("none", "formula", "nothing", run).measure()
    assert not found.allowed
    assert (found.outputs > 1e-5) == (wrong == "outputs")


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
