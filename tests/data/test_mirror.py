"""Tests of downloads identified by something other than their SHA-256, recompressed copies, and manual files."""

from __future__ import annotations

import bz2
import gzip
import hashlib
import os
import subprocess
import zipfile
from pathlib import Path
from typing import Any

import pytest

from raises import raises
from wordorder.config.datasets import Download
from wordorder.data.checksums import fault
from wordorder.data.download import download, missing
from wordorder.data.mirror import by_hand, demand_unchanged

TEXT = "ein Satz\nzwei Sätze\n".encode() * 500
URL = "http://localhost:1/none"  # nobody answers there


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def entry(**keys: Any) -> Download:
    return Download.model_validate({"url": URL, "mirror": "corpus/x", **keys})


@pytest.fixture
def mirror(tmp_path: Path) -> Path:
    (tmp_path / "mirror/corpus").mkdir(parents=True)
    return tmp_path / "mirror"


def get(download_entry: Download, output: Path, mirror: Path | None = None) -> bytes:
    download(download_entry, output, mirror=mirror, pause=0)
    return output.read_bytes()


def test_md5_and_git_blob_are_enough(mirror: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (mirror / "corpus/x").write_bytes(TEXT)
    blob = subprocess.run(["git", "hash-object", mirror / "corpus/x"], capture_output=True, text=True, check=True)
    md5 = hashlib.md5(TEXT, usedforsecurity=False).hexdigest()
    for keys, known in (({"md5": md5}, "MD5"), ({"git_blob": blob.stdout.strip()}, "git blob number")):
        assert get(entry(**keys), tmp_path / "out", mirror) == TEXT
        assert f"out is known by {known}. It has SHA-256 {sha256(TEXT)} here." in capsys.readouterr().err
    assert get(entry(sha256=sha256(TEXT)), tmp_path / "out", mirror) == TEXT
    assert "known by" not in capsys.readouterr().err


@pytest.mark.parametrize("kind", ["md5", "git_blob"])
def test_a_wrong_one_is_refused(mirror: Path, tmp_path: Path, kind: str) -> None:
    (mirror / "corpus/x").write_bytes(TEXT)
    wrong = "0" * (32 if kind == "md5" else 40)
    with raises("download-failed", says=f"instead of {wrong}"):
        get(entry(**{kind: wrong}), tmp_path / "out", mirror)
    assert not (tmp_path / "out").exists()


def test_all_of_several_must_agree(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(TEXT)
    both = entry(sha256=sha256(TEXT), md5="0" * 32)
    assert fault(both, tmp_path / "x") is not None
    assert fault(entry(sha256=sha256(TEXT)), tmp_path / "x") is None


@pytest.mark.parametrize("name", ["x.bz2", "x.gz", "x.txt", "x.zip"])
def test_a_copy_compressed_otherwise_becomes_what_its_name_says(
    mirror: Path, tmp_path: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (mirror / "corpus/x.gz").write_bytes(gzip.compress(TEXT))
    described = entry(
        mirror="corpus/x.gz",
        sha256="0" * 64,
        text_sha256=sha256(TEXT),
        text_member="deep/x.txt" if ".zip" in name else None,
    )
    first = get(described, tmp_path / name, mirror)
    assert first == get(described, tmp_path / name, mirror)  # byte by byte the same every time
    if name == "x.zip":
        with zipfile.ZipFile(tmp_path / name) as archive:
            assert archive.namelist() == ["deep/x.txt"] and archive.read("deep/x.txt") == TEXT
    else:
        unpack = {"x.bz2": bz2.decompress, "x.gz": gzip.decompress}.get(name, bytes)
        assert unpack(first) == TEXT
    assert "known by the SHA-256 of its text" in capsys.readouterr().err


def test_another_text_is_no_copy(mirror: Path, tmp_path: Path) -> None:
    (mirror / "corpus/x.gz").write_bytes(gzip.compress(TEXT + b"more\n"))
    described = entry(mirror="corpus/x.gz", sha256="0" * 64, text_sha256=sha256(TEXT))
    with raises("download-failed", says=f"instead of {sha256(TEXT)}"):
        get(described, tmp_path / "x.bz2", mirror)
    assert list(tmp_path.glob("*x.bz2*")) == []


BY_HAND = {"url": None, "by_hand": "Apply at https://example.org for it.", "lines": 1000}


def test_what_nobody_may_download_is_asked_for(mirror: Path, tmp_path: Path) -> None:
    with raises("manual-download") as caught:
        get(entry(**BY_HAND), tmp_path / "out", mirror)
    assert str(caught.error) == (
        f"out cannot be downloaded by a program. {mirror}/corpus/x does not exist. {mirror}/corpus/x.gz does not "
        "exist. Apply at https://example.org for it. Then set WORDORDER_MIRROR to a folder that holds it as corpus/x, "
        f"or put the file with 1000 lines at {tmp_path}/by_hand/out, from where it is copied."
    )


def test_what_was_put_there_by_hand_is_verified_and_copied(
    mirror: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    described, place = entry(sha256=sha256(TEXT)), tmp_path / "by_hand/out"
    place.parent.mkdir()
    place.write_bytes(TEXT)
    assert get(described, tmp_path / "out") == TEXT == place.read_bytes()
    (tmp_path / "out").unlink()
    place.rename(place.with_name("out.gz")).write_bytes(gzip.compress(TEXT))
    assert get(described, tmp_path / "out") == TEXT
    (tmp_path / "out").unlink()
    place.write_bytes(TEXT[1:])
    place.with_name("out.gz").unlink()
    (mirror / "corpus/x").write_bytes(TEXT)
    assert get(described, tmp_path / "out", mirror) == TEXT  # of the mirror
    assert f"warning: {place} has SHA-256 {sha256(TEXT[1:])} instead of" in capsys.readouterr().err
    (tmp_path / "out").unlink()
    with raises("manual-download", says="1000 lines instead of 999"):
        get(entry(**BY_HAND | {"lines": 999, "mirror": None}), tmp_path / "out", mirror)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("name", ["x.txt", "x.gz", "x.zip"])
def test_a_file_that_only_its_text_identifies_is_verified(
    tmp_path: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    described = entry(**BY_HAND | {"lines": None, "mirror": None, "text_sha256": sha256(TEXT), "text_member": "deep/x"})
    place = tmp_path / "by_hand" / name
    place.parent.mkdir()

    def put(text: bytes) -> None:
        place.write_bytes(gzip.compress(text) if name == "x.gz" else text)
        if name == "x.zip":
            with zipfile.ZipFile(place, "w") as archive:
                archive.writestr("deep/x", text)
                archive.writestr("readme", b"of the archive")

    put(TEXT)
    assert get(described, tmp_path / name) == place.read_bytes()
    assert f"{name} is known by the SHA-256 of its text. It has" in capsys.readouterr().err
    for damage in (lambda: put(TEXT[1:]), lambda: place.write_bytes(b"anything")):
        damage()
        (tmp_path / name).unlink(missing_ok=True)
        with raises("manual-download", says=f"the file with text with SHA-256 {sha256(TEXT)} at {place}"):
            get(described, tmp_path / name)
        assert not (tmp_path / name).exists()


def test_a_copy_with_the_right_md5_was_not_compressed_otherwise(
    mirror: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (mirror / "corpus/x").write_bytes(TEXT)
    md5 = hashlib.md5(TEXT, usedforsecurity=False).hexdigest()
    get(entry(md5=md5, text_sha256=sha256(TEXT)), tmp_path / "out", mirror)
    assert "out is known by MD5." in capsys.readouterr().err


def test_the_size_of_a_copy_is_compared(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    described = entry(**BY_HAND | {"lines": None, "mirror": None, "bytes": len(TEXT)})
    (tmp_path / "by_hand").mkdir()
    (tmp_path / "by_hand/out").write_bytes(TEXT[1:])
    with raises("manual-download", says=f"has {len(TEXT) - 1} bytes instead of {len(TEXT)}"):
        get(described, tmp_path / "out")
    (tmp_path / "by_hand/out").write_bytes(TEXT)
    assert get(described, tmp_path / "out") == TEXT
    assert f"out is known by its {len(TEXT)} bytes." in capsys.readouterr().err


def test_a_file_that_only_people_can_get_is_missing_until_it_can_be_copied(tmp_path: Path) -> None:
    described = entry(**BY_HAND | {"mirror": None})
    (tmp_path / "out").write_bytes(TEXT)  # made anew where its job runs, so Snakemake deletes it before
    said = missing(described, tmp_path / "out", mirror=None)
    assert said and f"Then put the file with 1000 lines at {tmp_path}/by_hand/out, from where it is" in said
    (tmp_path / "by_hand").mkdir()
    (tmp_path / "by_hand/out").write_bytes(TEXT)
    assert missing(described, tmp_path / "out", mirror=None) is None


def test_a_file_that_was_changed_after_it_was_copied_is_noticed(tmp_path: Path) -> None:
    output = tmp_path / "out"
    by_hand(output).parent.mkdir()
    asked = entry(url=None, mirror=None, by_hand="Ask us.")
    demand_unchanged(asked, output, None)  # nothing was copied yet
    by_hand(output).write_bytes(TEXT)
    assert get(asked, output) == TEXT
    later = output.stat().st_mtime + 10
    os.utime(by_hand(output), (later, later))
    demand_unchanged(asked, output, None)  # the same text
    for changed in (TEXT.replace(b"ein", b"das"), TEXT + b"noch einer\n"):
        by_hand(output).write_bytes(changed)
        os.utime(by_hand(output), (later, later))
        with raises("changed-file", by_hand(output), says=f"snakemake {output} --cores 1"):
            demand_unchanged(asked, output, None)
        demand_unchanged(entry(sha256=sha256(TEXT)), output, None)  # The checksum says which is right.
    assert output.read_bytes() == TEXT
    output.unlink()
    by_hand(output).write_bytes(TEXT * 2)
    assert get(asked, output) == TEXT * 2
    demand_unchanged(asked, output, None)


def test_another_copy_is_noticed_whatever_its_place_and_its_time(mirror: Path, tmp_path: Path) -> None:
    output = tmp_path / "out"
    asked = entry(url=None, by_hand="Ask us.")
    other = TEXT.replace(b"ein", b"das")
    for place, changed in (
        (mirror / "corpus/x", other),
        (mirror / "corpus/x.gz", gzip.compress(other)),
        (by_hand(output).with_name("out.gz"), gzip.compress(other)),
    ):
        place.parent.mkdir(exist_ok=True)
        place.write_bytes(TEXT if place.suffix != ".gz" else gzip.compress(TEXT))
        assert get(asked, output, mirror) == TEXT
        demand_unchanged(asked, output, mirror)
        replacement = place.with_name("replacement")
        replacement.write_bytes(changed)
        os.utime(replacement, (0, 0))  # as with 'cp -p'
        replacement.rename(place)
        with raises("changed-file", place):
            demand_unchanged(asked, output, mirror)
        place.unlink()
        demand_unchanged(asked, output, mirror)


def test_the_text_of_a_zip_archive_is_its_member(mirror: Path, tmp_path: Path) -> None:
    """The archive may be compressed in another way; its lines are those of the text, too."""
    with zipfile.ZipFile(mirror / "corpus/x.zip", "w", zipfile.ZIP_LZMA) as archive:
        archive.writestr("x", TEXT)
    for keys in ({"sha256": "0" * 64, "text_sha256": sha256(TEXT)}, {"url": None, "by_hand": "Ask us.", "lines": 1000}):
        get(entry(mirror="corpus/x.zip", **keys), tmp_path / "x.zip", mirror)
        with zipfile.ZipFile(tmp_path / "x.zip") as archive:
            assert archive.read("x") == TEXT


def test_its_lines_are_counted(mirror: Path, tmp_path: Path) -> None:
    (mirror / "corpus/x.gz").write_bytes(gzip.compress(TEXT))
    assert get(entry(**BY_HAND), tmp_path / "out", mirror) == TEXT
    (mirror / "corpus/x.gz").write_bytes(gzip.compress(TEXT[:-1]))  # the last line without its end
    assert get(entry(**BY_HAND), tmp_path / "out", mirror) == TEXT[:-1]
    (mirror / "corpus/x.gz").write_bytes(gzip.compress(TEXT + b"x"))
    with raises("manual-download", says="1001 lines instead of 1000"):
        get(entry(**BY_HAND), tmp_path / "out", mirror)


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"url": URL}, "'sha256', 'md5' and 'git_blob'"),
        ({}, "either 'url' or 'by_hand'"),
        ({"url": URL, "md5": "0" * 32, "by_hand": "x"}, "either 'url' or 'by_hand'"),
        ({"url": URL, "md5": "0" * 31}, "pattern"),
    ],
)
def test_descriptions_that_do_not_do(keys: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Download.model_validate(keys)
