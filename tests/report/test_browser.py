"""Tests of the study page in a real browser, at phone and desktop width."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import permutations
from pathlib import Path
from typing import Literal

import pytest

from browser import Visit, visit
from browser_session import Session, axe
from page_sample import HOSTILE, SEEDS, write_sample
from pair_sample import RATES, write_pairs
from wordorder.config.pages import Page
from wordorder.files import read_json, write_json
from wordorder.report.page import build_page
from wordorder.statistics.all_pairs import Pairs, all_pairs
from wordorder.statistics.blocked import block

# One process, so that the page is visited once a width.
pytestmark = [pytest.mark.xdist_group("browser"), pytest.mark.slow]

PHONE, DESKTOP = 390, 1280

# Does what a reader does, and tells what is then to be seen.
SCRIPT = r"""
const all = (selector, from = document) => [...from.querySelectorAll(selector)];
const seen = (element) => element.checkVisibility({ visibilityProperty: true });
const found = { hacked: [window.hacked ?? null, window.parent.hacked ?? null] };
await Promise.all(all("img").map((image) => image.decode().catch(() => {})));
found.images = all(".card img").map((image) => [image.complete, image.naturalWidth > 0]);

const overflow = () => {
  const width = document.documentElement.clientWidth;
  const inside = (element) => element.closest(".scroll, pre, .skip, dialog");
  const beyond = all("body *").filter((element) => seen(element) && !inside(element));
  const wide = beyond.filter((element) => element.getBoundingClientRect().right > width + 1);
  return { page: document.documentElement.scrollWidth - width, wide: wide.map((e) => e.outerHTML.slice(0, 80)) };
};
found.overflow = overflow();
found.navigation = { side: seen(document.querySelector(".side")), menu: seen(document.querySelector(".menu")) };

const sorting = (table, name) => {
  const heading = all("thead th", table).find((th) => th.textContent === name);
  const column = heading.cellIndex;
  const look = () => [
    heading.getAttribute("aria-sort"),
    [...table.tBodies[0].rows].map((row) => row.cells[0].textContent + ": " + row.cells[column].textContent),
  ];
  const steps = [look()];
  const button = heading.querySelector("button");
  for (let click = 0; click < 3; click += 1) {
    button.focus();
    steps.push([...(button.click(), look()), document.activeElement === button]);
  }
  return steps;
};
const tables = { scores: "#table-scores table", records: "#records table" };
const has = (table, name) => all("thead th", table).some((th) => th.textContent === name);
found.sorted = {
  score: sorting(document.querySelector(tables.scores), "test BLEU"),
  name: sorting(document.querySelector(tables.scores), "Encoding"),
  p: sorting(all("#table-significance table").find((table) => has(table, "p of each seed")), "p of each seed"),
  status: sorting(document.querySelector(tables.records), "Status"),
};
all("thead th button", document.querySelector(tables.records))[4].click();
all("thead th button", document.querySelector(tables.records))[0].click();
found.oneOrder = all("[aria-sort]", document.querySelector(tables.records)).length;
const first = document.querySelector(tables.scores + " tbody th");
found.sticky = window.getComputedStyle(first).position;

const filter = document.getElementById("filter");
const type = (text) => {
  filter.value = text;
  filter.dispatchEvent(new window.Event("input"));
  return [all(".sentence").filter(seen).length, document.querySelector("output[for=filter]").textContent];
};
found.filter = [type(""), type("FAHRRAD"), type("nothing has this"), type("</STYLE><script>"), type("")];

const dialog = document.querySelector("dialog");
found.dialog = [dialog.open];
document.querySelector(".card button").click();
const large = dialog.querySelector("img");
await large.decode();
found.dialog.push(dialog.open, large.getBoundingClientRect().width > document.querySelector(".card img").width);
large.click();
found.dialog.push(dialog.open);
dialog.querySelector("button").click();
found.dialog.push(dialog.open);

const link = document.querySelector("#records tbody th a");
link.addEventListener("click", (event) => event.preventDefault());  // some browsers would open it by themselves
link.click();
found.record = seen(document.getElementById(link.getAttribute("href").slice(1)));
const menu = document.querySelector(".menu");
menu.open = true;
found.menuOverflow = overflow();
menu.querySelector("a[href='#translations']").click();
found.menuOpen = menu.open;
await new Promise((done) => setTimeout(done, 500));
found.here = all(".side a.here").map((entry) => entry.textContent);

const frames = document.querySelector("#translations .found").children;
found.sideBySide = frames[0].getBoundingClientRect().top === frames[1].getBoundingClientRect().top;
found.fetched = window.performance.getEntriesByType("resource").map((entry) => entry.name.slice(0, 40));
return found;
"""


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("page")
    path = folder / "index.html"
    path.write_text(build_page(*write_sample(folder)), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def visits(page: Path) -> dict[int, Visit]:
    return {width: visit(page, SCRIPT, width=width, folder=page.parent / str(width)) for width in (PHONE, DESKTOP)}


@pytest.fixture(params=[PHONE, DESKTOP])
def at(request: pytest.FixtureRequest, visits: dict[int, Visit]) -> Visit:
    return visits[request.param]


def test_nothing_is_fetched_refused_or_injected(at: Visit) -> None:
    assert at.console == []
    assert all(name.startswith(("data:", "file:")) for name in at.found["fetched"])
    assert at.found["hacked"] == [None, None]
    assert at.found["images"] == [[True, True]] * 3


def test_the_page_never_scrolls_sideways(at: Visit) -> None:
    assert at.found["overflow"] == at.found["menuOverflow"] == {"page": 0, "wide": []}


def test_a_heading_sorts_up_down_and_back(at: Visit) -> None:
    original, up, down, back = at.found["sorted"]["score"]
    assert [order for order, *_ in (original, up, down, back)] == [None, "ascending", "descending", None]
    assert all(focused for *_, focused in (up, down, back)), "the button that sorts lost the focus"
    assert original[1] == back[1] and original[1] not in (up[1], down[1])
    assert original[1][3] == "untrained: – (n = 0 of 2)"

    def numbers(rows: list[str]) -> list[float]:
        return [float(row.partition(": ")[2].partition(" ±")[0].partition(" (")[0]) for row in rows]

    assert up[1][3] == down[1][3] == original[1][3], "what is missing stays last"
    assert numbers(up[1][:3]) == sorted(numbers(original[1][:3]))
    assert numbers(down[1][:3]) == sorted(numbers(original[1][:3]), reverse=True)


def test_text_is_sorted_as_words_and_equal_cells_keep_their_order(at: Visit) -> None:
    _, up, down, _ = at.found["sorted"]["name"]
    names = [row.partition(":")[0] for row in up[1]]
    assert names == ["learned", "opr+rpr", "sinusoidal", "untrained"]
    assert [row.partition(":")[0] for row in down[1]] == names[::-1]
    original, up, *_ = at.found["sorted"]["status"]
    for status in ("diverged", "finished", "not trained"):
        assert [row for row in up[1] if status in row] == [row for row in original[1] if status in row]
    assert [row.partition(": ")[2] for row in up[1]] == sorted(row.partition(": ")[2] for row in original[1])
    assert len(original[1]) == 4 * len(SEEDS)
    assert at.found["oneOrder"] == 1


def test_the_first_column_stays_in_sight(at: Visit) -> None:
    assert at.found["sticky"] == "sticky"


CLAIM = "Encodings with reordered positions are better than those with the positions of the source. " * 2


@pytest.mark.parametrize("width", [PHONE, DESKTOP])
def test_the_first_column_leaves_room_for_a_second_one(page: Path, tmp_path: Path, width: int) -> None:
    """Before and after the first column gets a long claim, with the class that its length gives it."""
    columns = """
return [...document.querySelectorAll("main .scroll")].map((box) => {
  const [first, second] = box.querySelector("tbody tr").cells;
  const left = Math.max(first.getBoundingClientRect().right, second.getBoundingClientRect().left);
  return [box.getBoundingClientRect().right - left, first.scrollWidth - first.clientWidth];
});
"""
    lengthen = f"""
for (const cell of document.querySelectorAll("tbody th")) {{
  cell.textContent = {json.dumps(CLAIM)};
  cell.className = "words";
}}
"""
    with Session(page, tmp_path / "profile", width=width) as session:
        session.run(READY + OPEN)
        for change in ("", lengthen):
            session.run(change)
            found = session.run(columns)
            assert len(found) >= 5
            for room, hidden in found:
                assert room > 80 and hidden == 0, found


def test_the_box_leaves_the_sentences_with_a_text(at: Visit) -> None:
    everything, some, nothing, hostile, again = at.found["filter"]
    assert everything == again == [20, ""]
    assert 0 < some[0] < 20 and some[1] == f"{some[0]} of 20"
    assert nothing == [0, "0 of 20"]
    assert hostile == [1, "1 of 20"], f"the sentence {HOSTILE} is shown as text"


def test_a_click_enlarges_a_figure_and_another_closes_it(at: Visit) -> None:
    closed, opened, larger, after_image, after_button = at.found["dialog"]
    assert [closed, opened, after_button] == [False, True, False]
    assert after_image, "a click on the enlarged figure keeps it"
    assert larger


def test_a_cell_links_to_its_complete_record(at: Visit) -> None:
    assert at.found["record"]


def test_the_contents_are_at_the_side_or_in_a_menu(visits: dict[int, Visit]) -> None:
    assert visits[DESKTOP].found["navigation"] == {"side": True, "menu": False}
    assert visits[PHONE].found["navigation"] == {"side": False, "menu": True}
    assert not visits[PHONE].found["menuOpen"], "a link in the menu closes it"
    assert visits[DESKTOP].found["here"] == ["Translations"]


def test_translations_stand_side_by_side_or_below_each_other(visits: dict[int, Visit]) -> None:
    assert visits[DESKTOP].found["sideBySide"] and not visits[PHONE].found["sideBySide"]


def test_the_browser_refuses_any_other_script_style_or_image(page: Path, tmp_path: Path) -> None:
    """If text were shown as HTML, it could do nothing, and the browser's console would report it."""
    bad = tmp_path / "bad.html"
    more = "<script>hacked = 1</script><style>main { display: none }</style><img src='https://example.org/x.png'>"
    bad.write_text(page.read_text(encoding="utf-8").replace("</main>", f"{more}</main>"), encoding="utf-8")
    script = """
const display = window.getComputedStyle(document.querySelector("main")).display;
return { hacked: window.hacked ?? null, display };
"""
    looked = visit(bad, script, width=DESKTOP, folder=tmp_path)
    assert looked.found == {"hacked": None, "display": "block"}
    assert len([line for line in looked.console if "Content Security Policy" in line]) == 3


def test_it_can_be_read_without_a_script(page: Path, tmp_path: Path) -> None:
    plain = tmp_path / "plain.html"
    text = page.read_text(encoding="utf-8")
    start, end = text.rindex("<script>"), text.rindex("</script>")
    plain.write_text(text[:start] + text[end + len("</script>") :], encoding="utf-8")
    script = """
const seen = (selector) => [...document.querySelectorAll(selector)].filter((found) => found.checkVisibility()).length;
const root = document.documentElement;
return { rows: seen("#table-scores tbody tr"), sentences: seen(".sentence"), images: seen(".card img"),
  controls: seen("button, input, select"), overflow: root.scrollWidth - root.clientWidth };
"""
    looked = visit(plain, script, width=PHONE, folder=tmp_path)
    assert looked.found == {"rows": 4, "sentences": 20, "images": 3, "controls": 0, "overflow": 0}


READY = """
while (document.getElementById("compared").hidden) await new Promise((done) => setTimeout(done, 50));
"""
# Every ordered pair on every test set: the text, the rows of the table, and the sentences.
PAIRS = (
    READY
    + r"""
const pick = (name) => document.getElementById(`pick-${name}`);
const choose = (name, value) => {
  pick(name).value = value;
  pick(name).dispatchEvent(new window.Event("change"));
};
const texts = (selector) => [...document.querySelectorAll(`#compared ${selector}`)].map((found) => found.textContent);
const names = [...pick("system").options].map((option) => option.value);
const found = { names, pairs: {} };
for (const place of [0, 1]) {
  choose("place", place);
  for (const system of names) {
    choose("system", system);
    for (const other of names) {
      choose("other", other);
      const rows = [...document.querySelectorAll("#compared tbody tr")];
      found.pairs[`${place} ${system} ${other}`] = {
        said: texts("[role=status]")[0],
        rows: rows.map((row) => [...row.cells].map((cell) => cell.textContent)),
        notes: texts(".below p"),
        sentences: texts(".sentence h4").map((text) => Number(text.replace("Sentence ", ""))),
        translations: texts(".sentence .found p"),
        marks: texts(".sentence .found mark"),
      };
    }
  }
}
choose("system", names[1]);
choose("other", names[2]);
document.querySelector(".pick button").click();
found.swapped = [pick("system").value, pick("other").value, texts("[role=status]")[0]];
return found;
"""
)


@pytest.fixture(scope="module")
def pair_study(tmp_path_factory: pytest.TempPathFactory) -> tuple[Page, Path, Path]:
    written = write_pairs(tmp_path_factory.mktemp("pairs"))
    second = written[1] / "significance" / "pair.tiny.test_2.json"
    tested = read_json(second)
    tested["metrics"]["bleu"]["family"]["baseline_check"] = {"f": 9.0, "p": 0.01, "corrects": True}
    write_json(second, tested)
    return written


@pytest.fixture(scope="module")
def compared(pair_study: tuple[Page, Path, Path]) -> Visit:
    folder = pair_study[1].parent
    path = folder / "index.html"
    path.write_text(build_page(*pair_study), encoding="utf-8")
    return visit(path, PAIRS, width=DESKTOP, folder=folder / "browser")


def by_statistics(results: Path, test: str, metric: str) -> Pairs:
    """All pairs by the project's statistics, from the files of scores."""
    scores: dict[str, dict[int, float]] = {}
    for path in sorted(results.glob(f"cells/pair/*/tiny/*/{test}.scores.json")):
        score = read_json(path)["metrics"][metric]["score"]
        scores.setdefault(path.parts[-4], {})[int(path.parts[-2])] = score
    return all_pairs(block({name: scores[name] for name in RATES}))


def test_any_two_systems_show_the_difference_and_interval_of_the_statistics(
    compared: Visit, pair_study: tuple[Page, Path, Path]
) -> None:
    assert compared.console == [] and compared.found["names"] == list(RATES)
    for place, test in enumerate(("test_1", "test_2")):
        for row, metric in enumerate(("bleu", "chrf++")):
            found = by_statistics(pair_study[1], test, metric)
            for system, other in permutations(RATES, 2):
                sign = 1 if (system, other) in found.differences else -1
                tested = found.differences[(system, other) if sign == 1 else (other, system)]
                low, high = sorted(sign * end for end in tested.interval)
                shown = compared.found["pairs"][f"{place} {system} {other}"]
                cells = shown["rows"][row]
                assert cells[1:3] == [f"{sign * tested.value:+.2f}", f"[{low:+.2f}, {high:+.2f}]"]
                assert cells[3] == (f"{tested.p:.3f}" if tested.p >= 0.001 else "<0.001")
                if tested.p < 0.05:
                    assert cells[4].partition(",")[0] == ("better" if sign * tested.value > 0 else "worse")
                else:
                    assert cells[4] in ("undecided", "equivalent")
                if metric == "bleu":
                    assert f"on {test}" in shown["said"] and f"interval {low:+.2f} to {high:+.2f}." in shown["said"]


def test_the_sentences_of_a_pair_are_the_same_in_both_directions(compared: Visit) -> None:
    for place in (0, 1):
        for system, other in permutations(RATES, 2):
            shown = compared.found["pairs"][f"{place} {system} {other}"]
            turned = compared.found["pairs"][f"{place} {other} {system}"]
            assert len(shown["sentences"]) == 10 and shown["sentences"] == turned["sentences"]
            lines = shown["translations"]
            assert [*zip(lines[::2], lines[1::2], strict=True)] == [
                *zip(turned["translations"][1::2], turned["translations"][::2], strict=True)
            ]
            assert shown["marks"]


def test_a_declared_comparison_keeps_its_verdict_next_to_that_of_all_pairs(
    compared: Visit, pair_study: tuple[Page, Path, Path]
) -> None:
    tested = read_json(pair_study[1] / "significance" / "pair.tiny.test_1.json")["metrics"]["bleu"]["comparisons"]
    for entry in tested:
        for pair in ((entry["system"], entry["baseline"]), (entry["baseline"], entry["system"])):
            assert f"Declared comparison: {entry['verdict']}" in compared.found["pairs"][f"0 {' '.join(pair)}"]["notes"]
    assert compared.found["pairs"]["0 opr learned"]["notes"] == []
    system, baseline = tested[0]["system"], tested[0]["baseline"]
    steady, wide = (" ".join(compared.found["pairs"][f"{place} {system} {baseline}"]["notes"]) for place in (0, 1))
    assert "check of the baseline" not in steady
    assert f"It uses the spread of {baseline}, which varies more over the seeds" in wide


def test_a_system_is_not_compared_with_itself_and_two_can_be_swapped(compared: Visit) -> None:
    shown = compared.found["pairs"]["0 opr opr"]
    assert shown["said"] == "Choose two different systems." and shown["sentences"] == []
    system, other, said = compared.found["swapped"]
    assert (system, other) == ("learned", "opr") and said.startswith("learned ")


OPEN = "for (const folded of document.querySelectorAll('details')) folded.open = true;"


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [PHONE, DESKTOP])
def test_axe_finds_no_violation(page: Path, tmp_path: Path, width: int, scheme: Literal["light", "dark"]) -> None:
    """On all that the page can show: with every part unfolded, and with the enlarged figure."""
    script = """
const found = await axe.run(document);
return {
  violations: found.violations.map((rule) => [rule.id, rule.impact, rule.nodes.map((node) => node.html.slice(0, 120))]),
  passed: found.passes.map((rule) => rule.id),
};
"""
    source = axe()
    with Session(page, tmp_path / "profile", width=width, scheme=scheme) as session:
        session.run(READY + OPEN)
        session.load(source)
        found = session.run(script)
        assert {"color-contrast", "heading-order", "aria-hidden-focus", "label", "select-name"} <= set(found["passed"])
        assert found["violations"] == []
        session.run("document.querySelector('.card button').click()")
        assert session.run(script)["violations"] == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_borders_of_controls_and_margins_are_easy_to_see(
    page: Path, tmp_path: Path, scheme: Literal["light", "dark"]
) -> None:
    """WCAG 1.4.11: a contrast of at least 3:1, which axe-core does not measure for borders."""
    script = """
const luminance = (colour) => {
  const parts = colour.match(/[\\d.]+/g).slice(0, 3).map((part) => part / 255);
  const [red, green, blue] = parts.map((part) => part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4);
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
};
const paper = luminance(getComputedStyle(document.body).backgroundColor);
const contrast = (colour) => {
  const [low, high] = [luminance(colour), paper].sort((one, other) => one - other);
  return (high + 0.05) / (low + 0.05);
};
const drawing = document.querySelector(".verdicts svg");
drawing.insertAdjacentHTML("beforeend", '<rect class="margin" width="9" height="9"/>');
const styles = (selector) => [...document.querySelectorAll(selector)].map((found) => getComputedStyle(found));
const border = (selector) => styles(selector).map((style) => style.borderTopColor);
return Object.fromEntries([
  ["box", border(".rows input, .filter input")],
  ["select", border(".pick select")],
  ["swap", border(".pick button")],
  ["margin", styles(".verdicts .margin").map((style) => style.stroke)],
].map(([name, colours]) => [name, Math.min(...colours.map(contrast))]));
"""
    with Session(page, tmp_path / "profile", width=DESKTOP, scheme=scheme) as session:
        found = session.run(READY + script)
    assert found.keys() == {"box", "select", "swap", "margin"}
    assert all(value is not None and value >= 3 for value in found.values()), found


# What has the focus: a number for each element, in the order of the page, and whether the reader sees it and the focus.
FOCUS = """
const element = document.activeElement;
if (element === document.body) return null;
const style = getComputedStyle(element);
const box = element.getBoundingClientRect();
const outlined = style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 1.5;
return {
  number: [...document.querySelectorAll("*")].indexOf(element),
  what: element.outerHTML.slice(0, 90),
  visible: element.matches(":focus-visible") && (outlined || (style.stroke !== "none" && style.fillOpacity > 0)),
  inside: box.bottom > 0 && box.top < innerHeight && box.right > 0 && box.left < innerWidth,
};
"""
REACHABLE = """
const all = [...document.querySelectorAll("*")];
const kinds = "a[href], button, input, select, summary, [tabindex='0']";
return all.flatMap((element, number) => element.matches(kinds) && element.checkVisibility({ visibilityProperty: true })
  ? [[number, element.outerHTML.slice(0, 90)]] : []);
"""


@pytest.mark.parametrize("width", [PHONE, DESKTOP])
def test_the_tab_key_reaches_everything_in_order_and_shows_where_it_is(page: Path, tmp_path: Path, width: int) -> None:
    with Session(page, tmp_path / "profile", width=width) as session:
        session.run(READY + OPEN + "if (innerWidth < 900) document.querySelector('.menu').open = false;")
        wanted = session.run(REACHABLE)
        assert len(wanted) > 60
        visited = []
        for _ in range(len(wanted) + 1):
            session.press("Tab")
            focus = session.run(FOCUS)
            if focus is None:
                break
            assert focus["visible"] and focus["inside"], focus
            visited.append([focus["number"], focus["what"]])
        assert visited == wanted


@pytest.fixture(scope="module")
def keys(page: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    with Session(page, tmp_path_factory.mktemp("profile"), width=DESKTOP) as session:
        session.run(READY)
        yield session


def test_headings_sort_and_boxes_filter_by_keys(keys: Session) -> None:
    order = "return document.querySelector('#records th[aria-sort]')?.getAttribute('aria-sort') ?? null;"
    keys.run("document.querySelector('#records thead button').focus()")
    for key, expected in (("Enter", "ascending"), (" ", "descending"), ("Enter", None)):
        keys.press(key)
        assert keys.run(order) == expected
    keys.run("document.querySelector('#records .rows input').focus()")
    for letter in "DIVER":
        keys.press(letter)
    shown = """
const rows = [...document.querySelectorAll("#records tbody tr")].filter((row) => row.checkVisibility());
return [rows.map((row) => row.cells[4].textContent), document.querySelector("#records output").textContent];
"""
    assert keys.run(shown) == [["diverged"], "1 of 8"]
    assert keys.run("return document.querySelectorAll('#records tbody tr').length;") == 8, "the others are hidden"
    keys.press("Escape")
    assert len(keys.run(shown)[0]) == 8 and keys.run(shown)[1] == ""


def test_systems_are_chosen_by_keys(keys: Session) -> None:
    said = "return document.querySelector('#compared [role=status]').textContent;"
    keys.run("document.getElementById('pick-system').focus()")
    before = keys.run(said)
    keys.press("l")
    assert keys.run("return document.getElementById('pick-system').value;") == "learned"
    assert keys.run(said) == "learned and sinusoidal could not be tested on test." != before
    assert keys.run("return document.querySelector('#compared .below').textContent;").startswith(
        "BLEU: no interval (learned: diverged)."
    )


def test_exact_values_of_a_figure_follow_the_arrow_keys(keys: Session) -> None:
    tip = """
const [tip, mark] = [document.getElementById("tip"), document.activeElement];
if (tip.hidden) return null;
const [at, of] = [tip.getBoundingClientRect(), mark.getBoundingClientRect()];
const near = Math.min(Math.abs(at.bottom - of.top), Math.abs(at.top - of.bottom));
return [tip.textContent, near < 10, mark.getAttribute("aria-label") === tip.textContent];
"""
    keys.run("document.querySelector('.hints [tabindex=\"0\"]').focus()")
    first, second = f"{HOSTILE}; 1; 3", f"{HOSTILE}; 2; 4"
    assert keys.run(tip) == [first, True, True]
    for key, expected in (("ArrowRight", second), ("ArrowRight", second), ("ArrowLeft", first), ("End", second)):
        keys.press(key)
        assert keys.run(tip) == [expected, True, True]
    keys.press("Escape")
    assert keys.run(tip) is None
    assert keys.run("return document.querySelectorAll('.hints')[0].querySelectorAll('[tabindex=\"0\"]').length;") == 1


def test_exact_values_can_be_pointed_at_and_are_hidden_by_escape(keys: Session) -> None:
    """WCAG 1.4.13: the pointer moves from a mark to its values, which then remain; Escape needs no focus."""
    middle = """
const mark = document.querySelector(".hints circle");
mark.scrollIntoView({ block: "center" });
document.activeElement.blur();
const wanted = %s;
const box = wanted.getBoundingClientRect();
return [box.left + box.width / 2, box.top + box.height / 2];
"""
    shown = "await new Promise((done) => setTimeout(done, 600)); return !document.getElementById('tip').hidden;"
    for place in ("mark", "document.getElementById('tip')"):
        keys.point(*keys.run(middle % place))
        assert keys.run(shown)
    keys.press("Escape")
    assert not keys.run(shown)
    for place in ("mark", "document.getElementById('tip')"):
        keys.point(*keys.run(middle % place))
    keys.point(1, 1)
    assert not keys.run(shown), "the pointer is elsewhere"
    keys.point(*keys.run(middle % "mark"))
    assert keys.run(shown)
    keys.press("Escape")
    assert not keys.run(shown)


def test_values_lie_on_their_marks(keys: Session) -> None:
    """The layer over a figure is as large as its image."""
    boxes = """
return [...document.querySelectorAll(".card")].map((card) => [card.querySelector("img"), card.querySelector("svg")]
  .map((element) => Object.values(element.getBoundingClientRect().toJSON()).map(Math.round)));
"""
    for image, layer in keys.run(boxes):
        assert all(abs(one - other) <= 1 for one, other in zip(image, layer, strict=True))


def test_a_figure_is_enlarged_and_closed_by_keys(keys: Session) -> None:
    state = "return [document.querySelector('dialog').open, document.activeElement.title];"
    keys.run("document.querySelector('.card button').focus()")
    keys.press("Enter")
    assert keys.run("return document.querySelector('dialog').open;")
    keys.press("Escape")
    assert keys.run(state) == [False, "Enlarge"], "the focus is where it was"
