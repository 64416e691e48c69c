"""wordorder.workflow.bundle_pages: the pages of reference runs, from their bundles alone."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from matplotlib.figure import Figure

from evaluation_samples import family, report, sentences, write_finished_study, write_lines
from little_study import Workspace
from raises import raises
from wordorder.cli.main import main
from wordorder.errors import WordorderError
from wordorder.files import write_json
from wordorder.report.reference import write_reference
from wordorder.report.ten_lines import README, TO_WRITE
from wordorder.results.bundle import Bundled, read_study
from wordorder.workflow.bundle_pages import write_pages
from wordorder.workflow.configuration import Configuration

NAMES, SEEDS = ["sinusoidal", "opr"], [1, 2]
RATES = {"sinusoidal": 0.4, "opr": 0.1}
ASKED = report(NAMES, SEEDS, tests=("test",)).model_copy(update={"study": "little", "title": "A little <study>"})


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A configuration, the bundle of its study 'little' with two of its pictures, and the data."""
    folder = tmp_path_factory.mktemp("pages")
    workspace = Workspace(folder)
    workspace.write()
    workspace.change("studies/little.yaml", "encodings: [opr, sinusoidal]", "encodings: [sinusoidal, opr, same]")
    workspace.change("encodings.yaml", "sinusoidal:", "same: {type: opr, k: 8.0}\nsinusoidal:")
    workspace.change(
        "studies/little.yaml", "title:", "companions: [twin]\nanalyses: {length: {}, position: {}}\ntitle:"
    )
    (workspace.config / "studies/twin.yaml").write_text("name: twin\nbased_on: little\ntitle: Its twin\n")
    results = folder / "little"
    references = write_finished_study(results, ASKED, RATES)
    raw = folder / "data/pair/raw"
    shutil.copytree(references, raw)
    write_lines(raw / "test.source", sentences(25, seed=9))
    for name in ("figures/scores", "analyses/length"):
        figure = Figure()
        figure.subplots().plot([1, 2])
        (results / name).parent.mkdir(exist_ok=True)
        for end in ("svg", "png"):
            figure.savefig(results / f"{name}.{end}")
        (results / f"{name}.csv").write_text("encoding,score\nopr,1\n")
    study = Bundled(
        report=ASKED,
        families={"pair": family(NAMES, SEEDS, samples=20)},
        tables=["scores", "significance", "parameters", "credibility"],
    )
    (folder / "bundles").mkdir()
    write_reference(folder / "bundles/little", results, study, ["figures/scores", "analyses/length"], {})
    shutil.rmtree(results)
    return folder


def arguments(folder: Path, *bundles: str) -> list[str]:
    named = [str(folder / "bundles" / name) for name in bundles]
    options = {"data": folder / "data", "root": folder / "config", "output": folder / "out"}
    return [
        "stage",
        "reference-pages",
        *named,
        *(word for name in options for word in (f"--{name}", str(options[name]))),
    ]


def test_a_page_shows_what_its_bundle_holds_and_says_what_it_lacks(
    original: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments(original, "little")) == 0
    page = (original / "out/little/index.html").read_text(encoding="utf-8")
    shown = ("overview", "table-scores", "table-significance", "figure-scores", "analysis-length", "translations")
    assert [name for name in shown if f'id="{name}"' not in page] == []
    assert 'id="figure-perplexity"' not in page and "image/png" not in page and "fidelity.md" not in page
    assert "<span>4 of 4 cells</span>" in page
    start = page.index("Not in the bundle")
    lacking = page[start : page.index("</div>", start)]
    for words in ("figures: forest", "perplexity", "analyses: position", "encodings: same", "companions: twin"):
        assert words in lacking
    assert "scores" not in lacking and "length" not in lacking
    listed = (original / "out/index.html").read_text(encoding="utf-8")
    assert 'href="little/index.html"' in listed and "A little &lt;study&gt;" in listed
    assert "lists 1 pages" in capsys.readouterr().out


def test_a_page_shows_the_lines_of_its_bundle_that_a_person_has_written(original: Path, tmp_path: Path) -> None:
    for name in ("bundles", "config", "data"):
        shutil.copytree(original / name, tmp_path / name)
    readme = tmp_path / "bundles/little" / README
    question = "Is `opr` <b>better</b>\n  in [a table](tables/scores.md) [−1, 2]?"
    readme.write_text(readme.read_text("utf-8").replace(TO_WRITE, question, 1), "utf-8")
    assert main(arguments(tmp_path, "little")) == 0
    page = (tmp_path / "out/little/index.html").read_text(encoding="utf-8")
    start = page.index('<section id="lines">')
    shown = page[start : page.index("</section>", start)]
    assert "<p>Is <code>opr</code> &lt;b&gt;better&lt;/b&gt; in a table [−1, 2]?</p>" in shown
    assert re.findall(r"<dt>(.*?)</dt>", shown) == ["Question", "Data", "Setup", "Command", "Result"]
    readme.unlink()
    assert main(arguments(tmp_path, "little")) == 0
    page = (tmp_path / "out/little/index.html").read_text(encoding="utf-8")
    assert 'href="#lines"' not in page and '<section id="lines">' not in page


def test_pages_are_the_same_whatever_the_number_of_processes(original: Path, tmp_path: Path) -> None:
    shutil.copytree(original / "bundles/little", tmp_path / "twin")
    folders = [original / "bundles/little", tmp_path / "twin"]
    written = [
        write_pages(folders, Configuration(original / "config"), original / "data", tmp_path / str(n), processes=n)
        for n in (1, 2)
    ]
    assert [path.relative_to(tmp_path / "1").as_posix() for path in written[0]] == [
        "index.html",
        "little/index.html",
        "twin/index.html",
    ]
    assert [path.read_bytes() for path in written[0]] == [path.read_bytes() for path in written[1]]
    page = written[0][1].read_text(encoding="utf-8")
    assert 'href="../twin/index.html"' in page and "companions: twin" not in page


def without_source(folder: Path) -> None:
    (folder / "data/pair/raw/test.source").unlink()


def with_other_references(folder: Path) -> None:
    (folder / "data/pair/raw/test.target").write_text("x\n")


def without_study(folder: Path) -> None:
    (folder / "config/studies/little.yaml").unlink()


@pytest.mark.parametrize(
    ("damage", "code"),
    [
        (without_source, "missing-file"),
        (with_other_references, "other-references"),
        (without_study, "unknown-name"),
    ],
)
def test_what_a_page_needs_is_named(original: Path, tmp_path: Path, damage: Callable[[Path], None], code: str) -> None:
    for name in ("bundles", "config", "data"):
        shutil.copytree(original / name, tmp_path / name)
    damage(tmp_path)
    with pytest.raises(WordorderError) as caught:
        write_pages(
            [tmp_path / "bundles/little"], Configuration(tmp_path / "config"), tmp_path / "data", tmp_path / "out"
        )
    assert caught.value.code == code
    assert not (tmp_path / "out").exists()


def test_two_bundles_of_one_study_are_refused(original: Path, tmp_path: Path) -> None:
    with raises("duplicate-entry", key="bundles"):
        write_pages(
            [original / "bundles/little"] * 2, Configuration(original / "config"), original / "data", tmp_path / "out"
        )


def test_the_claims_of_a_paper_are_decided_by_the_bundles(
    original: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("bundles", "config", "data"):
        shutil.copytree(original / name, tmp_path / name)
    monkeypatch.chdir(tmp_path)
    Path("docs/papers").mkdir(parents=True)
    Path("docs/papers/some.md").touch()
    published = tmp_path / "config/published"
    (published / "claims").mkdir(parents=True)
    decided = {"kind": "table", "table": "some_table1", "better": ["OPR"], "worse": ["APE"]}
    claim = {"name": "best", "place": "Table 1", "words": "OPR is better.", "decided_by": decided}
    contents = {"name": "some", "paper": "Some (2025)", "title": "Some paper", "claims": [claim]}
    write_json(published / "claims/some.yaml", contents)
    (published / "parameters.yaml").write_text("[]\n")
    column = {"column": "BLEU", "dataset": "pair", "test": "test", "metric": "bleu"}
    rows = [
        {"row": row, "encoding": name, "size": "tiny", "scores": [score]}
        for row, name, score in (("APE", "sinusoidal", 1.0), ("OPR", "opr", 2.0))
    ]
    printed = {
        "name": "some_table1",
        "paper": "Some (2025)",
        "table": "Table 1",
        "baseline": "APE",
        "computed": "one run",
    }
    write_json(published / "scores.yaml", [{**printed, "columns": [column], "rows": rows}])  # the bundle has none
    study = tmp_path / "config/studies/little.yaml"
    added = "paper: some\npublished: [{table: some_table1}]\ntitle:"
    study.write_text(study.read_text().replace("title:", added, 1))
    assert main(arguments(tmp_path, "little")) == 0
    page = (tmp_path / "out/little/index.html").read_text(encoding="utf-8")
    start = page.index('id="table-claims"')
    assert "confirmed" in page[start : page.index("</table>", start)]
    assert 'id="table-contradictions"' in page and "docs/papers/some.md" in page


def test_sources_are_listed_for_pages_only(original: Path, capsys: pytest.CaptureFixture[str]) -> None:
    line = ["stage", "reference-texts", str(original / "bundles/little"), "--data", "data"]
    assert main(line) == 0
    assert capsys.readouterr().out.split() == ["data/pair/raw/test.target"]
    assert main([*line, "--sources"]) == 0
    assert capsys.readouterr().out.split() == ["data/pair/raw/test.source", "data/pair/raw/test.target"]
    assert list(read_study(original / "bundles/little").references) == ["pair/test"]
