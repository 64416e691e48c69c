"""Tests of the study page: its contents, escaping, and missing or damaged files."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest

from page_sample import ANALYSES, FIGURES, HOSTILE, LONG, write_sample
from wordorder.cli.main import main
from wordorder.config.pages import Companion, Controls, Page
from wordorder.files import atomic, read_json, write_json, write_text
from wordorder.report import records
from wordorder.report.links import read_image
from wordorder.report.page import build_page

Sample = tuple[Page, Path, Path]


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> tuple[Sample, str]:
    sample = write_sample(tmp_path_factory.mktemp("page"))
    return sample, build_page(*sample)


def test_tables_and_pages_are_made_without_pytorch() -> None:
    """Each is a process of its own, of which the import would be half."""
    code = "import sys, wordorder.report.page; print('wordorder.report.build' in sys.modules, 'torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["True", "False"]


@pytest.fixture
def page(written: tuple[Sample, str]) -> str:
    return written[1]


@pytest.fixture
def sample(written: tuple[Sample, str], tmp_path: Path) -> Sample:
    """Return a copy that a test may change."""
    asked, results, data = written[0]
    return asked, *(shutil.copytree(folder, tmp_path / folder.name) for folder in (results, data))


def run(sample: Sample, output: Path) -> int:
    asked, results, data = sample
    arguments = ["--config", asked.model_dump_json(), "--results", str(results), "--data", str(data)]
    return main(["stage", "page", *arguments, "--output", str(output)])


class Elements(HTMLParser):
    """Every element of a page with its attributes, and the text outside style and script."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.text, self.open = "", [""]
        self.feed(page)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attributes)))
        self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        while self.open.pop() != tag:
            pass

    def handle_data(self, data: str) -> None:
        self.text += "" if self.open[-1] in ("style", "script") else data

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.elements if name == tag]


def test_it_is_written_completely_and_repeatably(sample: Sample, tmp_path: Path) -> None:
    output = tmp_path / "index.html"
    assert run(sample, output) == 0
    first = output.read_bytes()
    assert run(sample, output) == 0
    assert output.read_bytes() == first
    assert first.endswith(b"</html>") and len(first) < 1_000_000
    assert not list(tmp_path.glob("*.partial"))


def test_text_is_escaped_everywhere(page: str) -> None:
    read = Elements(page)
    assert len(read.all("style")) == 1
    assert [tag.get("type") for tag in read.all("script")] == ["application/octet-stream", None], "data, and one script"
    assert all(image["src"] is not None and image["src"].startswith("data:") for image in read.all("img"))
    # As a source, as two translations and in the records of the six cells.
    assert read.text.count(HOSTILE) >= 2 and read.text.count(HOSTILE.replace('"', '\\"')) == 6
    assert "\u2028" not in page and "left right" in page
    assert f"<b>order</b> & {LONG}" in read.text
    assert not any(name.startswith("on") or name == "style" for _, found in read.elements for name in found)


def test_it_names_nothing_that_would_be_fetched(page: str) -> None:
    for tag, attributes in Elements(page).elements:
        for name in ("src", "href", "action", "srcset", "poster", "data"):
            assert (attributes.get(name) or "#").startswith(("data:", "#")), (tag, attributes)
    assert not re.search(r"@import|url\(", page.partition("</style>")[0])


def test_companions_are_linked_whether_they_are_finished_or_not(written: tuple[Sample, str]) -> None:
    (asked, results, data), page = written
    companions = [Companion(name="other", title="Another <b>study</b>"), Companion(name="third+1", title="A third")]
    linked = build_page(asked.model_copy(update={"companions": companions}), results, data)
    expected = (
        '<dt>Companions</dt><dd><span><a href="../other/index.html">Another &lt;b&gt;study&lt;/b&gt;</a></span>'
        '<span><a href="../third+1/index.html">A third</a></span></dd>'
    )
    assert expected in linked[linked.index('id="overview"') : linked.index('id="tables"')]
    assert "Companions" not in page
    lines = [line for line in linked.splitlines() if "<dt>Companions</dt>" not in line]
    assert lines == page.splitlines(), "nothing else is changed"


def test_encodings_are_linked_to_their_rows_of_the_fidelity_page(written: tuple[Sample, str]) -> None:
    (asked, results, data), page = written
    types = {"sinusoidal": ["sinusoidal"], "opr+rpr": ["opr", "relative"], "learned": []}
    linked = build_page(asked.model_copy(update={"fidelity": types}), results, data)
    links = [link for link in Elements(linked).all("a") if (link["href"] or "").startswith("../../docs/fidelity.md")]
    assert [link["href"] for link in links] == [
        f"../../docs/fidelity.md#{name}" for name in ("sinusoidal", "opr", "relative")
    ]
    lines = zip(linked.splitlines(), page.splitlines(), strict=True)
    assert len([0 for line, before in lines if line != before]) == 1, "nothing else is changed"


def test_the_policy_allows_only_this_style_and_this_script(page: str) -> None:
    (policy,) = [tag["content"] for tag in Elements(page).all("meta") if tag.get("http-equiv")]
    assert policy is not None and policy.startswith("default-src 'none'; img-src data:; ")
    for kind in ("style", "script"):
        start = page.index(f"<{kind}>") + len(kind) + 2
        content = page[start : page.index(f"</{kind}>", start)]
        digest = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
        assert f"{kind}-src 'sha256-{digest}'" in policy
    assert "unsafe" not in policy


def test_unfinished_and_diverged_cells_are_shown_as_such(page: str) -> None:
    text = " ".join(Elements(page).text.split())
    assert "5 of 8 cells" in text
    for cell in ("learned/tiny/1: diverged", "untrained/tiny/1: not trained", "untrained/tiny/2: not trained"):
        assert f"pair/{cell}" in text
    assert "sinusoidal: seed 1, opr+rpr: seed 1, learned: seed 2." in text, "the first seed that translated"
    assert "No translations of untrained: seed 1 not trained; seed 2 not trained." in text
    assert "untrained against sinusoidal: untested (untrained: fewer than two seeds)" in text
    assert "untrained/tiny/1 has no test.scores.json" in text, "the credibility list tells what it misses"


def test_verdicts_and_groups_stand_in_the_overview(page: str, written: tuple[Sample, str]) -> None:
    overview = page[page.index('id="overview"') : page.index('id="tables"')]
    found = re.findall(r'<li class="(\w+)">\s*<span class="outcome">([^<]+)<', overview)
    tested = read_json(written[0][1] / "significance" / "pair.tiny.test.json")["metrics"]
    outcomes = [entry["outcome"] for of in tested.values() for entry in of["comparisons"]]
    assert [outcome for _, outcome in found] == outcomes and "untested" in outcomes and "undecided" in outcomes
    assert [kind for kind, _ in found] == [outcome.partition(",")[0] for outcome in outcomes]
    detectable = tested["bleu"]["family"]["detectable"]
    assert f"2 seeds find a difference of {detectable:.2f} BLEU with 80 % probability" in overview
    assert overview.count('class="margin"') == sum(outcome != "untested" for outcome in outcomes)
    assert len(re.findall(r'class="group"', overview)) >= 2


def test_encodings_are_shown_next_to_their_controls(written: tuple[Sample, str]) -> None:
    (asked, results, data), page = written
    assert 'id="table-controls"' not in page
    controls = Controls(report=asked.report, controls={"opr+rpr": "learned"})
    controlled = asked.model_copy(update={"controls": controls, "tables": [*asked.tables, "controls"]})
    shown = build_page(controlled, results, data)
    assert 'id="table-controls"' in shown and "Encoding − control" in shown and "Control − sinusoidal" in shown


def test_files_to_save_are_those_of_the_study(page: str, written: tuple[Sample, str]) -> None:
    results = written[0][1]
    saved = {link["download"]: link["href"] for link in Elements(page).all("a") if "download" in link}
    folders = dict.fromkeys(FIGURES, "figures") | dict.fromkeys(ANALYSES, "analyses")
    names = [*folders, "scores", "significance", "parameters", "credibility"]
    assert set(saved) == {f"{name}.csv" for name in names}
    for name in ("perplexity", "length"):
        href = saved[f"{name}.csv"] or ""
        assert href.startswith("data:text/csv;charset=utf-8,")
        assert unquote(href.partition(",")[2]) == (results / folders[name] / f"{name}.csv").read_text(encoding="utf-8")


def test_every_entry_of_the_contents_leads_somewhere(page: str) -> None:
    read = Elements(page)
    places = [attributes["id"] for _, attributes in read.elements if "id" in attributes]
    assert len(places) == len(set(places))
    wanted = [link["href"] for link in read.all("a") if (link["href"] or "").startswith("#")]
    assert wanted and {link[1:] for link in wanted if link} <= set(places)


def test_pictures_have_their_size_and_words(page: str) -> None:
    pictures = [image for image in Elements(page).all("img") if image["alt"]]
    assert len(pictures) == len(FIGURES) + len(ANALYSES)
    assert [(image["width"], image["height"]) for image in pictures] == [("864", "192")] * 3
    assert pictures[0]["alt"] == "Scores. Scores of each encoding, with every seed shown."


def test_a_drawing_stays_a_drawing_unless_it_is_large(sample: Sample) -> None:
    prefix = sample[1] / "figures" / "scores"
    drawing = prefix.with_suffix(".svg")
    assert read_image(prefix).address.startswith("data:image/svg")
    for length, kind in ((0, "svg+xml"), (400_000, "png")):
        write_text(drawing, f'<svg width="864pt" height="192pt"><!--{" " * length}--></svg>')
        image = read_image(prefix)
        assert image.address.startswith(f"data:image/{kind};base64,")
        assert (image.width, image.height) == (1152, 256)
    pixels = prefix.with_suffix(".png").read_bytes()
    with atomic(prefix.with_suffix(".png")) as temporary:
        temporary.write_bytes(pixels + bytes(500_000))
    assert read_image(prefix).address.startswith("data:image/svg"), "pixels are larger still"


def test_exact_values_lie_over_a_figure_and_not_in_its_image(sample: Sample, page: str) -> None:
    image = read_image(sample[1] / "figures" / "scores")
    assert [hint.text for hint in image.hints] == [f"{HOSTILE}; 1; 3", f"{HOSTILE}; 2; 4"]
    assert image.points == (648.0, 144.0)
    content = base64.b64decode(image.address.partition(",")[2])
    assert b"hints" not in content
    assert Elements(page).text.count(f"{HOSTILE}; 1; 3") == len(FIGURES) + len(ANALYSES)


def remove(name: str) -> Callable[[Path], None]:
    return lambda folder: (folder / name).unlink()


def put(name: str, text: str) -> Callable[[Path], None]:
    def write(folder: Path) -> None:
        write_text(folder / name, text)

    return write


def without(name: str, key: str) -> Callable[[Path], None]:
    def write(folder: Path) -> None:
        content = read_json(folder / name)
        place = content
        *parents, last = key.split(".")
        for part in parents:
            place = place[int(part) if part.isdigit() else part]
        del place[last]
        write_json(folder / name, content)

    return write


CELL = "results/cells/pair/opr+rpr/tiny/1"
TESTS = "results/significance/pair.tiny.test.json"


@pytest.mark.parametrize(
    ("damage", "file", "code", "fact"),
    [
        (remove("results/figures/scores.svg"), "figures/scores.svg", "missing-file", {}),
        (remove("results/figures/scores.png"), "figures/scores.png", "missing-file", {}),
        (remove("results/analyses/length.csv"), "analyses/length.csv", "missing-file", {}),
        (remove("data/pair/raw/test.source"), "raw/test.source", "missing-file", {}),
        (remove(TESTS), "pair.tiny.test.json", "missing-file", {}),
        (put("results/figures/scores.svg", "<html>"), "figures/scores.svg", "damaged-file", {}),
        (put("results/figures/scores.png", "text"), "figures/scores.png", "damaged-file", {}),
        (put("results/figures/scores.csv", ""), "figures/scores.csv", "damaged-file", {}),
        (put(f"{CELL}/record.json", "[]"), f"{CELL}/record.json", "wrong-version", {"key": "status"}),
        (put(f"{CELL}/record.json", "{"), f"{CELL}/record.json", "invalid-json", {}),
        (without(f"{CELL}/record.json", "data.train"), "record.json", "wrong-version", {"key": "data.train"}),
        (
            without(f"{CELL}/test.scores.json", "references.sha256"),
            "test.scores.json",
            "wrong-version",
            {"key": "references.sha256"},
        ),
        (
            without(f"{CELL}/test.scores.json", "metrics.chrf++.segment_scores"),
            "test.scores.json",
            "missing-metric",
            {"key": "chrf++"},
        ),
        (without(TESTS, "settings.alpha"), "pair.tiny.test.json", "wrong-version", {"key": "settings.alpha"}),
        (without(TESTS, "metrics.bleu.comparisons"), "pair.tiny.test.json", "wrong-version", {"key": "comparisons"}),
        (
            without(TESTS, "metrics.bleu.comparisons.0.stratified"),
            "pair.tiny.test.json",
            "wrong-version",
            {"key": "stratified"},
        ),
        (
            put(f"{CELL}/test.hypotheses", "one\n"),
            f"{CELL}/test.hypotheses",
            "different-lengths",
            {"found": 1, "expected": 25},
        ),
    ],
)
def test_what_is_missing_or_broken_is_named(
    damage: Callable[[Path], None],
    file: str,
    code: str,
    fact: dict[str, Any],
    sample: Sample,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    damage(tmp_path)
    monkeypatch.setenv("WORDORDER_ERRORS", "json")
    assert run(sample, tmp_path / "index.html") == 1
    error = json.loads(capsys.readouterr().err)
    assert error["code"] == code and error["path"].endswith(file) and error["path"] in error["message"]
    assert {name: error[name] for name in fact} == fact
    assert not (tmp_path / "index.html").exists()


def test_the_records_tell_the_device_with_what_rounds_differently() -> None:
    def device(**content: Any) -> str:
        block = records.table([records.Record("pair", "none", "tiny", 1, "finished", content)])
        return block.rows[0][[heading.text for heading in block.headings].index("Device")].text

    hardware = {"processor": "A CPU", "instructions": "AVX512", "gpus": []}
    assert device(device="cpu", hardware=hardware) == "cpu (A CPU, AVX512)"
    assert device(device="cuda", hardware={**hardware, "gpus": ["A GPU", "A GPU"]}) == "cuda (A GPU)"
    assert device(device="cpu", hardware={"processor": "A CPU"}) == "cpu (A CPU)", "a record of before"
