"""Test that results/README.md has ten lines per bundle, and that its numbers are those of the bundles."""

from __future__ import annotations

import re

import pandas as pd
import pytest

from snakemake_runs import ROOT

PAGE = (ROOT / "results" / "README.md").read_text("utf-8")
BUNDLES = sorted(path.name for path in (ROOT / "results" / "reference").iterdir())
LINES = [
    "Question", "Published", "Data", "Setup", "Command", "Result", "Test", "Other evidence", "Conclusion", "Caveat",
]  # fmt: skip


def sections() -> dict[str, str]:
    """Return the sections about studies by name, with one line per item."""
    page = re.sub(r"\n +", " ", re.split(r"^## The same", PAGE, flags=re.MULTILINE)[0])
    parts = re.split(r"^### (\w+)$", page, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def rows(study: str) -> list[list[str]]:
    """Return the cells of the rows of a study in the table of verdicts, after the column of the data."""
    found = re.search(rf"^\| \[{study}\]\(#{study}\) .*\n(?:\| \| .*\n)*", PAGE, re.MULTILINE)
    assert found, f"no row for {study}"
    return [[cell.strip() for cell in line.split("|")[3:-1]] for line in found[0].splitlines()]


def test_the_bundles_are_small() -> None:
    """Each change of a bundle stays in the history, which every clone copies."""
    assert (
        sum(path.stat().st_size for path in (ROOT / "results/reference").rglob("*.*") if path.is_file()) <= 10_000_000
    )


def test_every_bundle_has_a_section_of_ten_lines() -> None:
    assert sorted(sections()) == BUNDLES
    for study, text in sections().items():
        assert re.findall(r"^- \*\*([\w ]+):\*\*", text, re.MULTILINE) == LINES, study


@pytest.mark.parametrize("study", BUNDLES)
def test_the_table_counts_the_verdicts_of_the_bundle(study: str) -> None:
    folder = ROOT / "results" / "reference" / study
    verdicts = pd.read_csv(folder / "tables" / "significance.csv", keep_default_na=False, na_values=[""])
    expected = []
    for _, family in verdicts[verdicts["metric"] == "bleu"].groupby(["dataset", "test"], sort=False):
        kinds = family["outcome"].str.split(",").str[0].value_counts()
        counts = [str(kinds.get(kind, 0)) for kind in ("better", "worse", "undecided")]
        expected.append([str(family["seeds"].iloc[0]), *counts, f"{family['detectable'].iloc[0]:.2f}"])
    assert [row[2:] for row in rows(study)] == expected


@pytest.mark.parametrize("study", BUNDLES)
def test_the_scores_of_a_section_are_in_the_tables_of_the_bundle(study: str) -> None:
    shown = re.findall(r"\d+\.\d\d ± \d+\.\d\d", sections()[study])
    stored = (ROOT / "results" / "reference" / study / "tables" / "scores.md").read_text("utf-8")
    assert shown
    assert [score for score in shown if score not in stored] == []


@pytest.mark.parametrize("study", BUNDLES)
def test_the_differences_of_a_section_are_in_the_tables_of_the_bundle(study: str) -> None:
    shown = re.findall(r"([+−]\d+\.\d\d) \[([+−]\d+\.\d\d), ([+−]\d+\.\d\d)\]", sections()[study])
    stored = (ROOT / "results" / "reference" / study / "tables" / "significance.md").read_text("utf-8")
    for difference, low, high in shown:
        row = rf"\| {re.escape(difference)} +\| \[{re.escape(low)}, {re.escape(high)}\]".replace("−", "-")
        assert re.search(row, stored), (study, difference, low, high)


FINDINGS = [
    line
    for line in (ROOT / "docs" / "findings.md").read_text("utf-8").splitlines()
    if re.search(r"README\.md#\w+", line) and re.search(r"\[[+−]", line)
]


def test_the_findings_have_intervals() -> None:
    assert len(FINDINGS) > 10


@pytest.mark.parametrize("line", FINDINGS, ids=range(len(FINDINGS)))
def test_the_intervals_of_a_finding_are_in_the_tables_of_its_study(line: str) -> None:
    (study,) = set(re.findall(r"README\.md#(\w+)", line))
    stored = (ROOT / "results" / "reference" / study / "tables" / "significance.md").read_text("utf-8")
    for numbers in re.findall(r"([+−]\d+\.\d\d) \[([+−]\d+\.\d\d), ([+−]\d+\.\d\d)\]", line):
        difference, low, high = (re.escape(number.replace("−", "-")) for number in numbers)
        assert re.search(rf"\| {difference} +\| \[{low}, {high}\]", stored), (study, numbers)
