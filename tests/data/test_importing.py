"""Test that parts of a split become two aligned text files."""

from __future__ import annotations

import gzip
import zipfile
from pathlib import Path
from typing import Any

import pytest

from raises import raises
from wordorder.config.datasets import Choice, Part, Words
from wordorder.data.importing import import_parts
from wordorder.files import remove


def part(source: str, target: str, member: str | None = None) -> Part:
    return Part.model_validate(
        {
            "source": {"file": source, "member": member and f"{member}.en"},
            "target": {"file": target, "member": member and f"{member}.de"},
        }
    )


@pytest.fixture
def downloads(tmp_path: Path) -> Path:
    folder = tmp_path / "downloads"
    folder.mkdir()
    (folder / "a.en").write_bytes("\ufeffone\u2028and a half\r\n\r\nthree".encode())
    (folder / "a.de.gz").write_bytes(gzip.compress(b"eins\nzwei\ndrei\n"))
    with zipfile.ZipFile(folder / "b.zip", "w") as zipped:
        zipped.writestr("x/b.en", "four\n")
        zipped.writestr("x/b.de", "vier\x85!\n")
    (folder / "long.de").write_text("1\n2\n3\n4\n")
    (folder / "latin1.de").write_bytes("1\n2\nfür\n".encode("latin-1"))
    return folder


GOOD = [part("a.en", "a.de.gz"), part("b.zip", "b.zip", "x/b")]


def test_parts_follow_each_other(downloads: Path, tmp_path: Path) -> None:
    assert import_parts(GOOD, downloads, tmp_path / "s", tmp_path / "t") == 4
    assert (tmp_path / "s").read_bytes() == b"one and a half\n\nthree\nfour\n"
    assert (tmp_path / "t").read_bytes() == b"eins\nzwei\ndrei\nvier !\n"


@pytest.mark.parametrize(
    ("bad", "problem"),
    [
        (part("a.en", "long.de"), {"code": "unequal-lines", "says": "delete its copy in"}),
        (part("a.en", "latin1.de"), {"code": "not-utf-8", "line": 3}),
        (part("b.zip", "b.zip", "y/b"), {"code": "unknown-name", "suggestion": "x/b.en"}),
        (part("a.en", "nothing.de"), {"code": "missing-file"}),
    ],
)
def test_a_bad_part_is_said_and_nothing_written(
    downloads: Path, tmp_path: Path, bad: Part, problem: dict[str, Any]
) -> None:
    with raises(**problem):
        import_parts([*GOOD, bad, *GOOD], downloads, tmp_path / "s", tmp_path / "t")
    assert [path.name for path in tmp_path.iterdir()] == ["downloads"]


def test_parts_whose_faults_cancel_out_are_refused(downloads: Path, tmp_path: Path) -> None:
    crossed = [part("a.en", "long.de"), part("long.de", "a.en")]
    with raises("unequal-lines"):
        import_parts(crossed, downloads, tmp_path / "s", tmp_path / "t")


def test_a_gated_file_is_explained(downloads: Path, tmp_path: Path) -> None:
    advice, missing = "Sign the licence and put train-1 there.", [downloads / "aspec.en", downloads / "aspec.ja"]
    with raises("missing-file", path=missing[0], found=missing, says=str(missing[1])) as raised:
        import_parts(
            [GOOD[0], part("aspec.en", "a.de.gz"), part("aspec.en", "aspec.ja")],
            downloads,
            tmp_path / "s",
            tmp_path / "t",
            by_hand=advice,
        )
    assert advice in str(raised.error)


def test_a_split_without_pairs_is_refused(downloads: Path, tmp_path: Path) -> None:
    (downloads / "empty").touch()
    nothing = part("empty", "empty")
    assert import_parts([nothing, *GOOD], downloads, tmp_path / "s", tmp_path / "t") == 4  # a part may have none
    remove(tmp_path / "s")
    remove(tmp_path / "t")
    for bad, names in (
        (nothing, "downloads/empty"),
        (GOOD[0].model_copy(update={"choose": Choice(by="line", of=9, keep=[8])}), "a.en"),
        (GOOD[0].model_copy(update={"words": Words(source=(9, 10))}), "a.en"),
    ):
        with raises("empty-file", says=names):
            import_parts([bad], downloads, tmp_path / "s", tmp_path / "t")
        assert [path.name for path in tmp_path.iterdir()] == ["downloads"]


def test_the_chosen_pairs_have_the_asked_numbers_of_words(tmp_path: Path) -> None:
    (tmp_path / "en").write_text("one\none two\n\none two three\nhat 車車車車\n")
    (tmp_path / "de").write_text("eins zwei\neins\neins\neins zwei drei\neins\n")

    def chosen(**words: Any) -> list[str]:
        asked = part("en", "de").model_copy(update={"words": Words(**words)})
        import_parts([asked], tmp_path, tmp_path / "s", tmp_path / "t")
        return (tmp_path / "s").read_text().splitlines()

    assert chosen(source=(1, 2)) == ["one", "one two"]
    assert chosen(target=(2, 2)) == ["one"]
    assert chosen(source=(2, 9), target=(1, 1)) == ["one two", "hat 車車車車"]
    assert chosen(source=(3, 3)) == ["one two three", "hat 車車車車"]  # two such characters count as a word


def test_lengths_are_those_of_the_chosen_pairs(tmp_path: Path) -> None:
    (tmp_path / "en").write_text("one two\none\none two three\none two\n")
    (tmp_path / "de").write_text("1\n2\n3\n4\n")
    asked = part("en", "de").model_copy(
        update={"choose": Choice(by="line", of=2, keep=[0]), "words": Words(source=(2, 2))}
    )
    assert import_parts([asked], tmp_path, tmp_path / "s", tmp_path / "t") == 1
    assert (tmp_path / "t").read_text() == "4\n"  # the fourth line is even, though it is the second of two words
