"""Test that each bundle has a page of ten lines and a row in results/README.md, with the numbers of the bundle."""

from __future__ import annotations

import json
import lzma
import re
import statistics

import pandas as pd
import pytest

from snakemake_runs import ROOT
from wordorder.config.load import load_study
from wordorder.report.ten_lines import LINES, README, TO_WRITE, read_lines
from wordorder.results.bundle import read_addresses

REFERENCE = ROOT / "results" / "reference"
INDEX = (ROOT / "results" / README).read_text("utf-8")
BUNDLES = sorted(path.name for path in REFERENCE.iterdir())
LINK = re.compile(r"reference/(\w+)/README\.md")


def page(study: str) -> str:
    """Return the page of a study, with one line per item."""
    return re.sub(r"\n +", " ", (REFERENCE / study / README).read_text("utf-8"))


def rows(study: str) -> list[list[str]]:
    """Return the cells of the rows of a study in the table of reference runs, after the column of the data."""
    found = re.search(rf"^\| \[{study}\]\(reference/{study}/README\.md\) .*\n(?:\| \| .*\n)*", INDEX, re.MULTILINE)
    assert found, f"no row for {study}"
    return [[cell.strip() for cell in line.split("|")[3:-1]] for line in found[0].splitlines()]


def test_the_bundles_are_small() -> None:
    """Each change of a bundle stays in the history, which every clone copies. A study has 0.6 MB on average."""
    assert sum(path.stat().st_size for path in REFERENCE.rglob("*.*") if path.is_file()) <= 30_000_000


@pytest.mark.parametrize("study", BUNDLES)
def test_every_bundle_has_a_page_of_ten_lines_with_a_figure_and_its_tables(study: str) -> None:
    text = page(study)
    assert re.findall(r"^- \*\*([\w ]+):\*\*", text, re.MULTILINE) == list(LINES) == list(read_lines(text))
    assert TO_WRITE not in text and text.startswith(f"# {study}: ") and "](../../README.md)" in text
    assert re.search(r"^!\[.+\]\((figures|analyses)/\w+\.svg\)$", text, re.MULTILINE)
    targets = re.findall(r"\]\(([^)#]+)", text)
    assert {f"tables/{table.name}" for table in (REFERENCE / study / "tables").glob("*.md")} <= set(targets)
    assert [target for target in targets if not (REFERENCE / study / target).exists()] == []


def test_every_study_of_the_table_has_a_bundle_and_a_conclusion() -> None:
    studies = re.findall(r"^\| \[(\w+)\]\(reference/", INDEX, re.MULTILINE)
    assert sorted(studies) == BUNDLES
    assert [study for study in studies if not rows(study)[0][-1]] == []


@pytest.mark.parametrize("study", BUNDLES)
def test_the_table_counts_the_verdicts_of_the_bundle(study: str) -> None:
    verdicts = pd.read_csv(REFERENCE / study / "tables" / "significance.csv", keep_default_na=False, na_values=[""])
    expected = []
    for _, family in verdicts[verdicts["metric"] == "bleu"].groupby(["dataset", "test"], sort=False):
        kinds = family["outcome"].str.split(",").str[0].value_counts()
        counts = [str(kinds.get(kind, 0)) for kind in ("better", "worse", "undecided")]
        numbers = [*counts, f"{family['detectable'].min():.2f}"] if "untested" not in kinds else ["–"] * 4
        expected.append([str(family["seeds"].iloc[0]), *numbers])
    assert [row[2:-1] for row in rows(study)] == expected


@pytest.mark.parametrize("study", BUNDLES)
def test_the_scores_of_a_page_are_in_the_tables_of_the_bundle(study: str) -> None:
    shown = re.findall(r"\d+\.\d\d (?:± \d+\.\d\d|\(n = 1\))", page(study))
    stored = (REFERENCE / study / "tables" / "scores.md").read_text("utf-8")
    assert shown
    assert [score for score in shown if score not in stored] == []


@pytest.mark.parametrize("study", BUNDLES)
def test_the_differences_of_a_page_are_in_the_tables_of_the_bundle(study: str) -> None:
    shown = re.findall(r"([+−]\d+\.\d\d) \[([+−]\d+\.\d\d), ([+−]\d+\.\d\d)\]", page(study))
    stored = (REFERENCE / study / "tables" / "significance.md").read_text("utf-8")
    for difference, low, high in shown:
        row = rf"\| {re.escape(difference)} +\| \[{re.escape(low)}, {re.escape(high)}\]".replace("−", "-")
        assert re.search(row, stored), (study, difference, low, high)


FINDINGS = {
    f"{page} {number}": line
    for page in ("findings.md", "evidence.md")
    for number, line in enumerate((ROOT / "docs" / page).read_text("utf-8").splitlines(), 1)
    if LINK.search(line) and re.search(r"\[[+−]", line)
}


def test_the_findings_have_intervals() -> None:
    assert sum(name.startswith("findings.md") for name in FINDINGS) > 10


def test_the_findings_are_two_pages() -> None:
    """A page has about 550 words. Details belong to the page of evidence."""
    words = re.sub(r"\]\([^)]*\)|\|", " ", (ROOT / "docs" / "findings.md").read_text("utf-8")).split()
    assert len(words) <= 1_100


@pytest.mark.parametrize("line", FINDINGS.values(), ids=FINDINGS)
def test_the_intervals_of_a_finding_are_in_the_tables_of_its_study(line: str) -> None:
    (study,) = set(LINK.findall(line))
    stored = (REFERENCE / study / "tables" / "significance.md").read_text("utf-8")
    for numbers in re.findall(r"([+−]\d+\.\d\d) \[([+−]\d+\.\d\d), ([+−]\d+\.\d\d)\]", line):
        difference, low, high = (re.escape(number.replace("−", "-")) for number in numbers)
        assert re.search(rf"\| {difference} +\| \[{low}, {high}\]", stored), (study, numbers)


def test_the_recipe_of_arena_captions_is_the_best_of_its_search() -> None:
    """The search is declared: the mean of the best validation perplexities of four kinds of encodings decides."""
    means = {}
    for name in (bundle for bundle in BUNDLES if bundle.startswith("captions_recipe_")):
        lines = lzma.decompress((REFERENCE / name / "records.jsonl.xz").read_bytes()).decode("utf-8").splitlines()
        records = [json.loads(line)["record"] for line in lines]
        (rate,) = {record["cell"]["recipe"]["learning_rate"] for record in records}
        means[rate] = statistics.mean(record["best_valid_perplexity"] for record in records)
    recipe = load_study("arena_captions", ROOT / "config").recipe
    assert recipe.learning_rate == min(means, key=lambda rate: means[rate])


def test_the_bundles_that_can_be_imported_are_listed() -> None:
    line = re.search(r"`make import` works with the bundles of (.+?),\s+and with every", INDEX, re.DOTALL)
    assert line and set(re.findall(r"`(\w+)`", line[1])) == {
        name for name in BUNDLES if read_addresses(REFERENCE / name)
    }
