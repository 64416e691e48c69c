"""Tests of each corpus format on small files, and that the two sides never get out of step."""

from __future__ import annotations

import bz2
import gzip
import io
import tarfile
import tracemalloc
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from raises import raises
from wordorder.config.datasets import Choice, Part, TextFile
from wordorder.config.document import Document
from wordorder.config.load import load_dataset
from wordorder.config.problems import validated
from wordorder.data.formats.base import Sentence, read_sentences, unescape
from wordorder.data.importing import choose, import_parts


def described(**keys: Any) -> TextFile:
    text = {"file": "x", **keys}
    return validated(Document("here", {"source": text, "target": text}), Part).source


def read(content: str | bytes, **keys: Any) -> list[Sentence]:
    data = content.encode() if isinstance(content, str) else content
    return list(read_sentences(io.BytesIO(data), described(**keys), "FILE"))


def texts(content: str | bytes, **keys: Any) -> list[str]:
    return [sentence.text for sentence in read(content, **keys)]


# ---------------------------------------------------------------------------------------------------------- TSV

TSV = "\ufeffHi.\tHallo!\tCC-BY\r\nA\u2028b\x0c c.\tZ\x85w.\n\n"


def test_tsv_gives_a_column_and_an_empty_sentence_for_an_empty_line() -> None:
    assert texts(TSV, format="tsv", column=1) == ["Hi.", "A b  c.", ""]
    assert texts(TSV, format="tsv", column=2) == ["Hallo!", "Z w.", ""]


def test_tsv_with_another_separator() -> None:
    line = "0.9 ||| A-1 ||| 3 ||| これは\t本 ||| a | book\n"
    assert texts(line, format="tsv", column=4, separator=" ||| ") == ["これは 本"]
    assert texts(line, format="tsv", column=5, separator=" ||| ") == ["a | book"]


def test_a_separator_of_several_characters_may_have_tabs() -> None:
    assert texts("a\tb\t\tc\n", format="tsv", column=2, separator="\t\t") == ["c"]
    assert texts("a\tb\t\tc\n", format="tsv", column=1, separator="\t\t") == ["a b"]


def test_tsv_with_too_few_columns_is_told_with_its_line() -> None:
    with raises("missing-column", line=2, key="column"):
        texts("a\tb\nc\n", format="tsv", column=2)
    with raises("missing-column", line=1, key="column"):
        texts("a ||| b\n", format="tsv", column=3, separator=" ||| ")


# ---------------------------------------------------------------------------------------------------------- TMX

DOCTYPE = '<!DOCTYPE tmx SYSTEM "tmx14.dtd">'
TMX = """<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE tmx SYSTEM "tmx14.dtd">
<tmx version="1.4"><header srclang="en"><note>not text</note></header><body>
<tu><tuv xml:lang="en"><prop>no</prop><seg>Fish &amp; chips
 are &lt;good&gt;.</seg></tuv><tuv xml:lang="ro"><seg>Pește</seg></tuv></tu>
<tu><tuv xml:lang="ro"><seg>Doar română</seg></tuv></tu>
<tu><tuv lang="EN-US"><seg>one</seg></tuv><tuv xml:lang="en"><seg>two</seg></tuv><tuv xml:lang="RO"><seg/></tuv></tu>
<tu><tuv xml:lang="ro"><seg>Un <bpt i="1">&lt;b&gt;</bpt><hi>cuvânt</hi><ept i="1">x</ept>.</seg></tuv>
<tuv xml:lang="en"><seg>A word\u2028.</seg></tuv></tu>
</body></tmx>"""


def test_tmx_gives_one_line_for_every_unit_in_each_language() -> None:
    assert texts(TMX, format="tmx", language="en") == ["Fish & chips  are <good>.", "", "one", "A word ."]
    assert texts(TMX, format="tmx", language="ro") == ["Pește", "Doar română", "", "Un cuvânt."]


def test_a_part_of_the_dtd_of_tmx_is_not_read() -> None:
    document = TMX.replace(DOCTYPE, '<!DOCTYPE tmx SYSTEM "tmx14.dtd" [%more;]>')
    assert texts(document, format="tmx", language="en") == texts(TMX, format="tmx", language="en")


def test_tmx_in_utf_16() -> None:
    utf16 = TMX.replace('encoding="UTF-8"', 'encoding="UTF-16"').encode("utf-16")
    assert texts(utf16, format="tmx", language="ro") == texts(TMX, format="tmx", language="ro")


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (TMX[:-20], {"code": "invalid-xml", "line": 9}),
        (TMX.replace("</seg>", "</sag>", 1), {"code": "invalid-xml", "line": 5}),
        (
            TMX.replace('"tmx14.dtd">', '"x.dtd" [\n<!ENTITY a "aaaa">\n<!ENTITY b "&a;&a;">]>'),
            {"code": "xml-entities", "line": 3},
        ),
        ("", {"code": "invalid-xml", "line": 1}),
        # Undefined entities: with an external DTD, without one, and in another language.
        (TMX.replace("Fish ", "Fish&nbsp;"), {"code": "xml-entities", "line": 4}),
        (TMX.replace("Fish ", "Fish&nbsp;").replace(DOCTYPE, ""), {"code": "xml-entities", "line": 4}),
        (TMX.replace("Doar", "Do&eacute;ar"), {"code": "xml-entities", "line": 6}),
    ],
)
def test_bad_tmx_is_told(content: str, problem: dict[str, Any]) -> None:
    with raises(**problem):
        texts(content, format="tmx", language="en")


def test_tmx_without_the_language_names_those_it_has() -> None:
    with raises("missing-language", key="language"):
        texts(TMX, format="tmx", language="de")
    with raises("missing-language", key="language"):  # 'en' may be any English
        texts(TMX, format="tmx", language="en-GB")


class Endless(io.RawIOBase):
    """A translation memory of so many units, made while it is read."""

    def __init__(self, units: int) -> None:
        unit = b'<tu><tuv xml:lang="en"><seg>word</seg></tuv></tu>\n'
        self.blocks: Iterator[bytes] = iter([b"<tmx>", *[unit * 1000] * (units // 1000), b"</tmx>"])

    def read(self, size: int = -1) -> bytes:
        return next(self.blocks, b"")


def test_tmx_needs_constant_memory() -> None:
    def peak(units: int) -> int:
        tracemalloc.start()
        text = described(format="tmx", language="en")
        assert sum(1 for _ in read_sentences(Endless(units), text, "FILE")) == units  # type: ignore[arg-type]
        found = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return found

    assert peak(40_000) < 2 * peak(4_000)


# ------------------------------------------------------------------------------------------------ SGM and TED XML

SGM = """<srcset setid="newstest2013" srclang="any">
<doc sysid="ref" docid="abc-1" genre="news">
<hl>
<seg id="1"> A headline &amp; more </seg>
</hl>
<p><seg id="2">One.</seg><seg id="3">Two
lines.</seg></p>
</doc>
<DOC docid='abc-2'>
<seg id=1></seg>
<description>no <b>text</b></description>
</doc></srcset>
"""


def test_sgm_gives_its_segments_and_their_places() -> None:
    assert texts(SGM, format="sgm") == ["A headline & more", "One.", "Two lines.", ""]
    places = [sentence.place for sentence in read(SGM, format="sgm")]
    assert places[2:] == ["document 'abc-1', segment 3", "document 'abc-2', segment 1"]


def test_sgm_may_have_several_documents_on_a_line_and_a_tag_on_several_lines() -> None:
    text = """<doc docid="a"><seg id="1">One.</seg></doc><doc docid="b"><seg id="1">Two.</seg></doc>
<doc genre="news"
     docid="c"><seg id="1">Three.
<doc docid="d"> is text here.</seg><seg id="2">Four.</seg></doc>
<doc docid="e"><seg id="1">Five.</seg></doc>"""
    found = [(sentence.text, sentence.place) for sentence in read(text, format="sgm")]
    assert found == [
        ("One.", "document 'a', segment 1"),
        ("Two.", "document 'b', segment 1"),
        ('Three. <doc docid="d"> is text here.', "document 'c', segment 1"),
        ("Four.", "document 'c', segment 2"),
        ("Five.", "document 'e', segment 1"),
    ]


def test_an_empty_element_of_sgm_is_an_empty_segment() -> None:
    segments = '<doc docid="a"><seg id="1"/>\n<seg id="2">two</seg>\n<seg id="3" />\n<seg id="4">f/our</seg></doc>\n'
    found = [(sentence.text, sentence.place) for sentence in read(segments, format="sgm")]
    assert found == [(text, f"document 'a', segment {i}") for i, text in enumerate(["", "two", "", "f/our"], start=1)]


def test_cut_sgm_is_told() -> None:
    with raises("incomplete-file", line=13):
        texts(f"{SGM}<doc docid='x'", format="sgm")
    with raises("incomplete-file", line=6):
        texts(SGM[: SGM.index("lines")], format="sgm")
    with raises("wrong-format"):
        texts("A house.\nA tree.\n", format="sgm")
    with raises("empty-file"):
        texts("", format="sgm")


# --------------------------------------------------------------------------------------------- TED's train.tags

TAGS = """<url>http://www.ted.com/talks/{lang}/1</url>
<keywords>talks</keywords>
<talkid>1</talkid>
<title>Title {lang}</title>
<description>TED Talk: about {lang}.</description>
 First {lang}.
<3 Second {lang}.
</doc>
<reviewer></reviewer>
{more}<url>http://www.ted.com/talks/{lang}/2</url>
<title>Other {lang}</title>
Third {lang}.
"""


def test_ted_gives_lines_that_are_no_tags() -> None:
    english = TAGS.format(lang="en", more="")
    assert texts(english, format="ted") == ["First en.", "<3 Second en.", "Third en."]
    kept = texts(english, format="ted", keep_tags=["title", "description"])
    assert kept == ["Title en", "TED Talk: about en.", "First en.", "<3 Second en.", "Other en", "Third en."]
    german = TAGS.format(lang="de", more='<translator href="x">A B</translator>\n')
    assert [s.place for s in read(german, format="ted")] == [s.place for s in read(english, format="ted")]


# --------------------------------------------------------------------------------------------------- two sides


def write(folder: Path, **files: str) -> None:
    for name, text in files.items():
        (folder / name.replace("_", ".")).write_text(text)


def test_a_line_of_ted_that_begins_with_markup_is_text() -> None:
    tags = "<url>http://x</url>\n<title>A <b>bold</b> talk</title>\n"
    lines = f"{tags}<b>Bold</b> start.\n<i>One</i> and <i>two</i>\nPlain.\n"
    assert texts(lines, format="ted") == ["<b>Bold</b> start.", "<i>One</i> and <i>two</i>", "Plain."]
    assert texts(lines, format="ted", keep_tags=["title"])[0] == "A <b>bold</b> talk"
    assert texts("<applause> Thank you.\n<b>Bold\n<doc id=1>\n", format="ted") == ["<applause> Thank you.", "<b>Bold"]


def imported(folder: Path, part: dict[str, Any]) -> list[tuple[str, str]]:
    import_parts([Part.model_validate(part)], folder, folder / "s", folder / "t")
    return list(zip((folder / "s").read_text().splitlines(), (folder / "t").read_text().splitlines(), strict=True))


def both(format: str, **keys: Any) -> dict[str, Any]:
    return {
        side: {"file": f"x.{lang}", "format": format, **keys} for side, lang in (("source", "en"), ("target", "de"))
    }


def test_segments_that_one_side_lacks_shift_nothing(tmp_path: Path) -> None:
    write(tmp_path, x_en=SGM, x_de=SGM.replace('<seg id="2">One.</seg>', '<seg id="2">Eins.</seg>'))
    assert imported(tmp_path, both("sgm"))[1] == ("One.", "Eins.")
    # As many segments on both sides, but other ones.
    write(tmp_path, x_de=SGM.replace('<seg id="2">One.</seg>', "").replace("</doc></srcset>", "<seg id=2>x</seg>"))
    with raises("shifted-sides"):
        imported(tmp_path, both("sgm"))


def test_talks_of_other_lengths_are_told_though_the_sums_agree(tmp_path: Path) -> None:
    english, german = TAGS.format(lang="en", more=""), TAGS.format(lang="de", more="")
    write(tmp_path, x_en=english, x_de=german)
    assert len(imported(tmp_path, both("ted"))) == 3
    write(tmp_path, x_de=german.replace("<3 Second de.\n", "") + "Fourth de.\n")
    with raises("shifted-sides"):
        imported(tmp_path, both("ted"))


def test_both_sides_of_one_file(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "x.zip", "w") as zipped:
        zipped.writestr("deep/x.tmx", TMX)
    side = {"file": "x.zip", "member": "deep/x.tmx", "format": "tmx"}
    pairs = imported(tmp_path, {"source": {**side, "language": "ro"}, "target": {**side, "language": "en"}})
    assert pairs[0] == ("Pește", "Fish & chips  are <good>.") and len(pairs) == 4


def test_compression_goes_by_the_name_inside_archives_too(tmp_path: Path) -> None:
    (tmp_path / "x.en.bz2").write_bytes(bz2.compress(b"one\ntwo\n"))
    with tarfile.open(tmp_path / "x.tar", "w") as tar:
        for name, data in (("./a/x.de.gz", gzip.compress(b"eins\nzwei\n")), ("x.fr.bz2", bz2.compress(b"un\ndeux\n"))):
            info = tarfile.TarInfo(name)
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    for member, first in (("a/x.de.gz", "eins"), ("x.fr.bz2", "un")):
        part = {"source": {"file": "x.en.bz2"}, "target": {"file": "x.tar", "member": member}}
        assert imported(tmp_path, part)[0] == ("one", first)
    (tmp_path / "x.en.bz2").write_bytes(bz2.compress(b"one\ntwo\n")[:-8])
    with raises("damaged-file"):
        imported(tmp_path, part)


# ------------------------------------------------------------------------------------------------------ choices

PAIRS = [(f"Sentence {number // 3}.", f"Satz {number}!") for number in range(900)]


def chosen(**keys: Any) -> list[tuple[str, str]]:
    return list(choose(PAIRS, Choice(**keys)))


def test_every_23rd_line_is_put_aside() -> None:
    aside = chosen(by="line", of=23, keep=[0])
    assert aside == PAIRS[22::23]
    assert chosen(by="line", of=23, drop=[0]) == [pair for i, pair in enumerate(PAIRS, 1) if i % 23]


def test_a_split_by_sentence_parts_no_two_pairs_with_the_same() -> None:
    rest, valid, test = (
        chosen(by="source", of=10, **keys) for keys in ({"drop": [0, 1]}, {"keep": [0]}, {"keep": [1]})
    )
    assert len(rest) + len(valid) + len(test) == len(PAIRS)
    for one, other in ((rest, valid), (rest, test), (valid, test)):
        assert not {source for source, _ in one} & {source for source, _ in other}
    assert 40 < len(valid) < 150 and 40 < len(test) < 150  # about 90 each
    assert chosen(by="source", of=10, keep=[0], unique=True) == valid[::3]
    spaced = [(source.upper().replace(" ", "  ") + " ?", target) for source, target in PAIRS]
    same = list(choose(spaced, Choice(by="source", of=10, keep=[0])))
    assert [target for _, target in same] == [target for _, target in valid]


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"by": "line", "of": 5}, "either 'keep' or 'drop'"),
        ({"by": "line", "of": 5, "keep": [5]}, r"\b0 to 4\b"),
        ({"by": "line", "of": 5, "keep": [1], "unique": True}, "'unique' needs"),
    ],
)
def test_choices_that_make_no_sense(keys: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Choice(**keys)


@pytest.mark.parametrize(
    ("keys", "problem"),
    [
        ({"format": "tsv"}, {"code": "missing-key", "key": "source.column"}),
        ({"format": "tmx"}, {"code": "missing-key", "key": "source.language"}),
        ({"format": "tsv", "column": "1"}, {"code": "wrong-type", "key": "source.column"}),
        ({"column": 1}, {"code": "unknown-key", "key": "source.column", "says": "dataset format 'tsv'"}),
        (
            {"format": "sgm", "keep_tags": ["title"]},
            {"code": "unknown-key", "key": "source.keep_tags", "says": "dataset format 'ted'"},
        ),
        ({"format": "tvs"}, {"code": "unknown-name", "key": "source.format", "suggestion": "tsv"}),
        ({"member": "y"}, {"code": "invalid-value", "key": "source", "says": "archives"}),
    ],
)
def test_keys_that_do_not_fit_the_format(keys: dict[str, Any], problem: dict[str, Any]) -> None:
    with raises(**problem):
        described(**keys)


def test_a_side_is_written_with_the_keys_of_its_format_and_read_back() -> None:
    part = Part(source=described(format="tsv", column=2), target=described(unescape=True))
    written = part.model_dump(mode="json")
    assert (written["source"]["column"], written["source"]["separator"]) == (2, "\t")
    assert set(written["target"]) == {"file", "member", "format", "unescape"}
    assert Part.model_validate_json(part.model_dump_json()) == part


REVERSED = """
from collections.abc import Iterator
from typing import IO, Literal

from wordorder.config.datasets import TextFile
from wordorder.data.formats.base import Sentence, register


class ReversedFile(TextFile):
    format: Literal["reversed"] = "reversed"
    mark: str = ""


@register(ReversedFile)
def read(file: IO[bytes], text: ReversedFile, name: str) -> Iterator[Sentence]:
    for line in file:
        yield Sentence(text.mark + line.decode().rstrip("\\n")[::-1])
"""


def test_a_format_of_one_s_own(plugins: Path, config: Path, tmp_path: Path) -> None:
    (plugins / "dataset_formats/reversed.py").write_text(REVERSED)
    dataset = config / "datasets/own.yaml"
    lines = f"""
name: own
title: Own
source_language: en
target_language: de
licence: free
downloads: {{x: {{url: "https://example.org/x", sha256: {"a" * 64}}}}}
train: &parts
  - {{source: {{file: x, format: reversed, mark: "> "}}, target: {{file: x}}}}
"""
    overlap = "preprocessing: {remove_overlap: true}\n"  # all splits have the same text
    text = lines.replace("&parts", "") + lines.split("&parts")[1].join(["valid:", "tests:\n  test:"])
    dataset.write_text(text + lines.split("&parts")[1].replace("  - ", "    - ") + overlap)
    part = load_dataset("own", config).train[0]
    write(tmp_path, x="abc\nde\n")
    assert imported(tmp_path, part.model_dump()) == [("> cba", "abc"), ("> ed", "de")]
    dataset.write_text(dataset.read_text().replace("mark:", "marc:", 1))
    with raises("unknown-key", path=dataset, line=9, key="train[0].source.marc", suggestion="mark"):
        load_dataset("own", config)


def test_entities_become_text_once() -> None:
    line = "a &amp;lt; b &#91;x&#93; &quot;&apos;&#x2028;| &nbsp; &#0; &#xD800; R&D"
    assert unescape(line) == "a &lt; b [x] \"' | &nbsp;     R&D"
    assert texts("&apos;s\n", unescape=True) == ["'s"] and texts("&apos;s\n") == ["&apos;s"]
