"""Tests of wordorder.report.reference: a table that disagrees with the translations is found."""

from __future__ import annotations

import json
import lzma
import re
import shutil
import tarfile
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from matplotlib.figure import Figure

from bundle_files import change_records
from evaluation_samples import family, report, write_finished_study
from raises import raises
from wordorder.cli.main import main
from wordorder.errors import WordorderError
from wordorder.files import read_json, write_json
from wordorder.report.reference import Verified, rebuild_reference, reference_texts, verify_reference, write_reference
from wordorder.report.ten_lines import LINES, README, TO_WRITE, _result, read_lines
from wordorder.results.bundle import DATA, STUDY, TRANSLATIONS, Bundled, read_study

ASKED = report(["null", "learned"], [1, 2])
TABLES = ["scores", "significance", "parameters", "credibility"]


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with 'bundle' and 'data', the folder of the datasets."""
    folder = tmp_path_factory.mktemp("reference")
    results = folder / "small"
    references = write_finished_study(results, ASKED, {"null": 0.4, "learned": 0.1})
    shutil.copytree(references, folder / "data" / "pair" / "raw")
    (results / "figures").mkdir()
    figure = Figure()
    figure.subplots().plot([1, 2])
    for end in ("svg", "png"):
        figure.savefig(results / "figures" / f"scores.{end}")
    for name in ("scores", "encoding_matrix"):
        (results / "figures" / f"{name}.csv").write_text("encoding,score\n")
    (folder / "bundle").mkdir()
    for name in ("study.json", "stale.svg"):  # of an earlier bundle
        (folder / "bundle" / name).touch()
    families = {"pair": family(["null", "learned"], [1, 2], samples=20)}
    study = Bundled(report=ASKED, families=families, tables=TABLES)
    write_reference(folder / "bundle", results, study, ["figures/scores"], {})
    shutil.copytree(results, folder / "results" / "small")
    return folder


@pytest.fixture
def copy(original: Path, tmp_path: Path) -> Path:
    for name in ("bundle", "data", "results"):
        shutil.copytree(original / name, tmp_path / name)
    return tmp_path


def verified(folder: Path) -> Verified:
    (folder / "scratch").mkdir()
    return verify_reference(folder / "bundle", folder / "data", folder / "scratch")


def test_an_unchanged_bundle_agrees_with_its_translations(copy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert verified(copy) == Verified(cells=8)
    names = [copy / "data" / "pair" / "raw" / f"test_{number}.target" for number in (1, 2)]
    assert reference_texts(copy / "bundle", copy / "data") == names
    assert main(["stage", "reference-texts", str(copy / "bundle"), "--data", str(copy / "data")]) == 0
    assert capsys.readouterr().out.split() == list(map(str, names))
    files = {path.relative_to(copy / "bundle").as_posix() for path in (copy / "bundle").rglob("*.*")}
    assert files == {
        *("README.md", "study.json", "records.jsonl.xz", "translations.tar.xz", "data.tar.xz", "figures/scores.svg"),
        *(f"tables/{name}.{end}" for name in TABLES for end in ("csv", "md")),
    }
    with tarfile.open(copy / "bundle" / "data.tar.xz") as archive:
        data = [name for name in archive.getnames() if name.endswith(".csv")]
    assert data == ["figures/scores.csv"], "data of pictures that the bundle does not have"


def test_a_new_bundle_has_a_page_of_ten_lines_to_complete(copy: Path) -> None:
    page = (copy / "bundle" / README).read_text("utf-8")
    lines = read_lines(page)
    assert tuple(lines) == LINES and page.startswith("# small: A small study\n")
    assert [name for name in LINES if TO_WRITE in lines[name]] == [
        *("Question", "Published", "Test", "Other evidence", "Conclusion", "Caveat")
    ]
    assert "25 sentences" in lines["Data"] and "2 seeds" in lines["Setup"] and "`snakemake small`" in lines["Command"]
    scores = pd.read_csv(copy / "bundle/tables/scores.csv", keep_default_na=False, na_values=[""])
    for row in scores[scores["metric"] == "bleu"].to_dict("records"):
        assert f"`{row['encoding']}` {row['mean']:.2f} ± {row['sd']:.2f}" in lines["Result"]
    files = set(re.findall(r"\]\(([^)]+)\)", page))
    assert files == {"figures/scores.svg", *(f"tables/{name}.md" for name in TABLES)}
    assert all((copy / "bundle" / file).is_file() for file in files)


def test_the_result_names_systems_and_counts_seeds_without_a_score(copy: Path) -> None:
    results = copy / "results/small"
    for cell in ("null/tiny/2", "learned/tiny/1", "learned/tiny/2"):
        (results / "cells/pair" / cell / "test_1.scores.json").unlink()
    first, second = _result(read_study(copy / "bundle"), results).split(" pair, ")
    assert re.fullmatch(r"pair, tiny, test_1: `null` [\d.]+ \(1 of 2 seeds\), `learned` without a score\.", first)
    assert re.fullmatch(r"tiny, test_2: `null` [\d.]+ ± [\d.]+, `learned` [\d.]+ ± [\d.]+\.", second)


def test_the_page_of_a_bundle_beside_others_leads_to_their_list(copy: Path) -> None:
    (copy / README).touch()
    folder, study = copy / "reference" / "small", read_study(copy / "bundle")
    write_reference(folder, copy / "results/small", study, [], {})
    page = (folder / README).read_text("utf-8")
    assert "](../../README.md)" in page and ".svg" not in page


@pytest.mark.parametrize(("recipe", "rate"), [({}, "0.3"), ({"dropout": 0.1}, "0.1"), ({"dropout": 0.0}, "0.0")])
def test_the_page_names_the_dropout_of_the_training(copy: Path, recipe: dict[str, float], rate: str) -> None:
    results = copy / "results" / "small"
    for path in results.rglob("record.json"):
        record = read_json(path)
        write_json(path, {**record, "cell": {"size": {"dim": 16, "dropout": 0.3}, "recipe": recipe}})
    write_reference(copy / "again", results, read_study(copy / "bundle"), [], {})
    assert f"(dim 16, dropout {rate})" in read_lines((copy / "again" / README).read_text("utf-8"))["Setup"]


def test_a_bundle_keeps_its_page_and_the_code_of_extensions(copy: Path) -> None:
    page, code = copy / "bundle" / README, copy / "code.py"
    page.write_bytes(b"# Mine\r\n\xff")
    code.write_text("# Mine")
    study = read_study(copy / "bundle")
    write_reference(copy / "bundle", copy / "results/small", study, ["figures/scores"], {"encodings/own.py": code})
    assert page.read_bytes() == b"# Mine\r\n\xff"
    (copy / "scratch").mkdir()
    rebuild_reference(copy / "bundle", copy / "data", copy / "scratch", study, {})
    assert page.read_bytes() == b"# Mine\r\n\xff"
    assert (copy / "bundle/extensions/encodings/own.py").read_text() == "# Mine"
    shutil.rmtree(copy / "scratch")
    assert not verified(copy).differences


def test_a_folder_with_other_files_is_not_replaced(copy: Path) -> None:
    own = copy / "mine" / "thesis.txt"
    own.parent.mkdir()
    own.write_text("mine")
    with pytest.raises(WordorderError) as raised:
        write_reference(own.parent, copy / "results/small", read_study(copy / "bundle"), [], {})
    assert (raised.value.code, raised.value.path) == ("not-empty", own.parent)
    assert own.read_text() == "mine"


def test_a_changed_byte_of_a_translation_is_found(copy: Path) -> None:
    path = copy / "bundle" / TRANSLATIONS
    content = lzma.decompress(path.read_bytes())
    assert content.count(b"Hund") > 0
    path.write_bytes(lzma.compress(content.replace(b"Hund", b"Hunt", 1)))
    differences = verified(copy).differences
    assert {"scores.csv", "scores.md", "significance.csv"} <= {each.table for each in differences}
    assert "mean" in {each.column for each in differences if each.table == "scores.csv"}


def test_a_changed_verdict_among_the_data_is_found(copy: Path) -> None:
    """Pages show the verdicts of the archive."""
    path = copy / "bundle" / DATA
    content = lzma.decompress(path.read_bytes())
    assert content.count(b" is better than ") > 0
    path.write_bytes(lzma.compress(content.replace(b" is better than ", b" is BETTER than ")))
    differences = verified(copy).differences
    assert {each.table for each in differences} == {f"{DATA}, significance/pair.tiny.test_1.json"}
    assert {each.column.split("/")[-1] for each in differences} == {"verdict"}


def test_a_changed_value_that_no_table_shows_is_found(copy: Path) -> None:
    path = copy / "bundle" / DATA
    content = lzma.decompress(path.read_bytes())
    changed = re.sub(rb'("optimiser_sd": \d+\.)(\d)', lambda found: found[1] + (b"1", b"2")[found[2] == b"1"], content)
    assert changed != content
    path.write_bytes(lzma.compress(changed))
    assert {each.column.split("/")[-1] for each in verified(copy).differences} == {"optimiser_sd"}


@pytest.mark.parametrize("table", ["scores", "significance", "parameters"])
def test_a_changed_number_of_a_table_is_found(copy: Path, table: str) -> None:
    path = copy / "bundle" / "tables" / f"{table}.csv"
    columns, first, *rest = path.read_text(encoding="utf-8").split("\n")
    column = {"scores": "mean", "significance": "mean_difference", "parameters": "parameters"}[table]
    place = columns.split(",").index(column)
    values = first.split(",")
    values[place] = str(float(values[place]) + 2e-6 * max(1, abs(float(values[place]))))
    path.write_text("\n".join([columns, ",".join(values), *rest]), encoding="utf-8")
    (difference,) = verified(copy).differences
    assert (difference.table, difference.row, difference.column) == (f"{table}.csv", 1, column)
    assert difference.committed == values[place]
    line = ["stage", "verify-reference", str(copy / "bundle"), "--data", str(copy / "data")]
    assert main(line) == 1


def test_a_changed_number_or_a_lost_row_of_a_printed_table_is_found(copy: Path) -> None:
    path = copy / "bundle" / "tables" / "scores.md"
    lines = path.read_text(encoding="utf-8").split("\n")
    row = next(number for number, line in enumerate(lines) if "± " in line and line.startswith("|"))
    path.write_text("\n".join([*lines[:row], *lines[row + 1 :]]), encoding="utf-8")
    assert {each.table for each in verified(copy).differences} == {"scores.md"}


def test_rounding_is_not_a_difference(copy: Path) -> None:
    path = copy / "bundle" / "tables" / "scores.csv"
    columns, first, *rest = path.read_text(encoding="utf-8").split("\n")
    values = first.split(",")
    place = columns.split(",").index("mean")
    values[place] = f"{float(values[place]):.9f}"
    path.write_text("\n".join([columns, ",".join(values), *rest]), encoding="utf-8")
    assert verified(copy).differences == []


def without_families(copy: Path) -> None:
    path = copy / "bundle" / STUDY
    path.write_text(json.dumps(json.loads(path.read_text()) | {"families": {}}))


def without_a_system(copy: Path) -> None:
    change_records(copy / "bundle", lambda lines: [line for line in lines if json.loads(line)["seed"] != 2])


@pytest.mark.parametrize(
    ("damage", "code"),
    [
        (without_a_system, "incomplete-bundle"),
        (lambda copy: (copy / "bundle" / "tables" / "scores.csv").unlink(), "incomplete-bundle"),
        (lambda copy: (copy / "data" / "pair" / "raw" / "test_2.target").unlink(), "missing-file"),
        (lambda copy: (copy / "data" / "pair" / "raw" / "test_2.target").write_text("x\n"), "other-references"),
        (lambda copy: (copy / "bundle" / STUDY).unlink(), "missing-file"),
        (without_families, "incomplete-bundle"),
    ],
)
def test_an_incomplete_bundle_is_an_error(copy: Path, damage, code: str) -> None:  # type: ignore[no-untyped-def]
    damage(copy)
    with pytest.raises(WordorderError) as raised:
        verified(copy)
    assert raised.value.code == code


def test_a_table_that_nothing_verifies_is_an_error_until_the_bundle_is_rebuilt(copy: Path) -> None:
    bundle, other = copy / "bundle", copy / "bundle" / "tables" / "other.csv"
    other.write_text("a,b\n1,2\n")
    with raises("damaged-bundle", path=other):
        verified(copy)
    (copy / "rebuilt").mkdir()
    rebuild_reference(bundle, copy / "data", copy / "rebuilt", read_study(bundle), {})
    assert not other.exists()


def test_a_number_beyond_the_last_column_is_a_difference(copy: Path) -> None:
    path = copy / "bundle" / "tables" / "scores.csv"
    columns, first, *rest = path.read_text(encoding="utf-8").split("\n")
    path.write_text("\n".join([columns, f"{first},7,8", *rest]), encoding="utf-8")
    (difference,) = verified(copy).differences
    assert (difference.row, difference.committed, difference.found) == (1, "7,8", None)


@pytest.mark.parametrize("change", [{"seeds": [1]}, {"encodings": ["null"]}, {"datasets": []}])
def test_a_bundle_of_other_cells_is_not_rebuilt(copy: Path, change: dict[str, Any]) -> None:
    bundle = copy / "bundle"
    study, before = read_study(bundle), {path: path.read_bytes() for path in bundle.rglob("*.*")}
    other = study.model_copy(update={"report": study.report.model_copy(update=change)})
    with raises("other-cells", path=bundle, key=next(iter(change))):
        rebuild_reference(bundle, copy / "data", copy / "rebuilt", other, {})
    assert {path: path.read_bytes() for path in bundle.rglob("*.*")} == before


def test_damage_of_a_study_is_an_error_before_its_references_are_listed(copy: Path) -> None:
    path = copy / "bundle" / STUDY
    content = read_json(path)
    path.write_text(json.dumps(content | {"references": content["references"] | {"nope": "0"}}))
    with raises("damaged-bundle", path=path):
        reference_texts(copy / "bundle", copy / "data")


def test_tables_are_rebuilt_with_the_current_settings(copy: Path) -> None:
    bundle = copy / "bundle"
    before = {path.name: path.read_bytes() for path in (bundle / "tables").iterdir()}
    for table in TABLES:
        (bundle / "tables" / f"{table}.csv").write_text("changed")
    study = read_study(bundle)
    (name,) = study.families
    significance = study.families[name].significance.model_copy(update={"alpha": 0.125})
    milder = study.families[name].model_copy(update={"significance": significance})
    new = study.model_copy(update={"tables": [*TABLES, "variance"], "families": {name: milder}})
    (copy / "rebuilt").mkdir()
    rebuild_reference(bundle, copy / "data", copy / "rebuilt", new, {})
    after = {path.name: path.read_bytes() for path in (bundle / "tables").iterdir()}
    assert set(after) == {*before, "variance.csv", "variance.md"}
    for same in ("scores.csv", "scores.md", "parameters.csv", "credibility.md"):
        assert after[same] == before[same]
    assert b",0.125," in after["significance.csv"] and b",0.125," not in before["significance.csv"]
    assert {path.name for path in (bundle / "figures").iterdir()} == {"scores.svg", "forest.svg", "variance.svg"}
    assert read_study(bundle) == new
    assert not verified(copy).differences


def test_the_figure_of_trainings_is_rebuilt_from_their_losses(copy: Path) -> None:
    bundle = copy / "bundle"
    drawing = bundle / "figures" / "perplexity.svg"
    study = read_study(bundle)

    def rebuilt(folder: str) -> str:
        drawing.write_text("earlier", encoding="utf-8")
        (copy / folder).mkdir()
        rebuild_reference(bundle, copy / "data", copy / folder, study, {})
        return drawing.read_text(encoding="utf-8")

    assert "lowest validation perplexity" in rebuilt("with")
    change_records(bundle, lambda lines: [json.dumps(json.loads(line) | {"metrics": []}) + "\n" for line in lines])
    assert rebuilt("without") == "earlier"
