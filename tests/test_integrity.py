"""Tests of checksums: recorded when a file is written, compared when it is read."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from raises import raises
from wordorder.cli.main import main
from wordorder.files import atomic, read_bytes, read_json, remove_leftovers, sha256, write_json, write_text
from wordorder.integrity import check_inside, demand_below, note_of, record, remove_orphans


def write_inside(path: Path, content: bytes) -> None:
    with atomic(path, checksum="inside") as temporary:
        temporary.write_bytes(content)


def test_sha256sum_reads_the_checksum_file(tmp_path: Path) -> None:
    write_text(tmp_path / "a.txt", "text\n")
    assert note_of(tmp_path / "a.txt").name == ".a.txt.sha256"
    subprocess.run(["sha256sum", "--check", "--quiet", ".a.txt.sha256"], cwd=tmp_path, check=True)


@pytest.mark.parametrize("damaged", [b"taxt\n", b"text\n\0", b"text", b"", bytes(5)])
def test_a_damaged_file_is_refused_and_named(tmp_path: Path, damaged: bytes) -> None:
    path = tmp_path / "a.txt"
    write_text(path, "text\n")
    path.write_bytes(damaged)
    for read in (read_bytes, sha256):
        with raises("damaged-file", path=path, says=f"snakemake --force {path}"):
            read(path)


@pytest.mark.parametrize("damaged", [b"", b"0" * 64 + b"  a.json\n", b"\0" * 72])
def test_a_damaged_checksum_is_refused(tmp_path: Path, damaged: bytes) -> None:
    write_json(tmp_path / "a.json", {})
    note_of(tmp_path / "a.json").write_bytes(damaged)
    with raises("damaged-file", path=tmp_path / "a.json", says=".a.json.sha256"):
        read_json(tmp_path / "a.json")


def test_the_remedy_for_translations_names_the_rule_that_makes_them(tmp_path: Path) -> None:
    write_text(tmp_path / "test.hypotheses", "a\n")
    (tmp_path / "test.hypotheses").write_text("b\n")
    with raises("damaged-file", says="--forcerun evaluate_model"):
        read_bytes(tmp_path / "test.hypotheses")
    rules = Path(__file__).parents[1] / "workflow" / "rules" / "evaluate.smk"
    assert "rule evaluate_model:" in rules.read_text(encoding="utf-8")


def test_a_file_without_a_checksum_file_is_accepted(tmp_path: Path) -> None:
    (tmp_path / "by_hand.txt").write_bytes(b"text")
    assert read_bytes(tmp_path / "by_hand.txt") == b"text"


def test_a_file_that_lost_its_checksum_is_refused_where_all_must_have_one(tmp_path: Path) -> None:
    results = tmp_path / "results"
    demand_below(results)
    write_json(results / "deep" / "a.json", {"score": 17.25})
    (results / "deep" / "a.json").write_bytes(b'{"score": 71.25}')
    note_of(results / "deep" / "a.json").unlink()
    (results / "by_hand.txt").write_bytes(b"text")
    for path in (results / "deep" / "a.json", results / "by_hand.txt"):
        with raises("damaged-file", path=path, says=f"wordorder stage seal {path}"):
            read_bytes(path)
        assert main(["stage", "seal", str(path)]) == 0
        read_bytes(path)
        path.write_bytes(b"{}")
        with raises("damaged-file", path=path, says=note_of(path).name):
            read_bytes(path)
        assert main(["stage", "seal", str(path)]) == 0
        assert read_bytes(path) == b"{}"


def test_two_files_that_change_places_with_their_checksums_are_refused(tmp_path: Path) -> None:
    demand_below(tmp_path / "results")
    first, second = (tmp_path / "results" / f"ä{seed}" / "scores.json" for seed in (1, 2))
    for seed, path in enumerate((first, second)):
        write_json(path, {"score": seed})
        subprocess.run(["sha256sum", "--check", "--quiet", note_of(path).name], cwd=path.parent, check=True)
    first.parent.rename(tmp_path / "results" / "aside")
    second.parent.rename(first.parent)
    (tmp_path / "results" / "aside").rename(second.parent)
    for path in (first, second):
        with raises("damaged-file", path=path, says="moved"):
            read_json(path)
    (tmp_path / "results").rename(tmp_path / "elsewhere")
    with raises("damaged-file", says="moved"):
        read_json(tmp_path / "elsewhere" / "ä1" / "scores.json")
    (tmp_path / "elsewhere" / "ä1").rename(tmp_path / "elsewhere" / "ä3")
    (tmp_path / "elsewhere" / "ä2").rename(tmp_path / "elsewhere" / "ä1")
    assert read_json(tmp_path / "elsewhere" / ".." / "elsewhere" / "ä1" / "scores.json") == {"score": 0}
    (tmp_path / "by_hand").write_bytes(b"text")
    assert read_bytes(tmp_path / "elsewhere" / ".." / "by_hand") == b"text"


def test_a_folder_of_an_earlier_version_demands_checksums_after_it_was_sealed(tmp_path: Path) -> None:
    (tmp_path / "old").mkdir()
    for name in ("a.json", "model.pt"):
        (tmp_path / "old" / name).write_bytes(b"{}")
    demand_below(tmp_path / "old")
    read_bytes(tmp_path / "old" / "a.json")
    assert main(["stage", "seal", str(tmp_path / "old")]) == 0
    assert check_inside(tmp_path / "old" / "model.pt", "") == 2
    read_bytes(tmp_path / "old" / "model.pt")
    note_of(tmp_path / "old" / "a.json").unlink()
    with raises("damaged-file", path=tmp_path / "old" / "a.json"):
        read_bytes(tmp_path / "old" / "a.json")


@pytest.mark.parametrize("has_checksum", [True, False])
@pytest.mark.parametrize("call", range(3))
def test_a_process_that_is_killed_between_two_renames_leaves_a_file_with_its_checksum(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: int, has_checksum: bool
) -> None:
    path = tmp_path / "results" / "a"
    if has_checksum:
        demand_below(path.parent)
    write_text(path, "one", checksum="beside" if has_checksum else "none")
    replace, left = os.replace, [call]

    def replace_or_die(source: Path, target: Path) -> None:
        left[0] -= 1
        if left[0] < 0:
            raise KeyboardInterrupt
        replace(source, target)

    monkeypatch.setattr(os, "replace", replace_or_die)
    with suppress(KeyboardInterrupt):
        write_text(path, "two")
    assert left[0] < 0 or not has_checksum
    assert read_bytes(path) == (b"two" if call == 2 or (call == 1 and not has_checksum) else b"one")
    monkeypatch.undo()
    write_text(path, "three")
    assert read_bytes(path) == b"three"
    subprocess.run(["sha256sum", "--check", "--quiet", ".a.sha256"], cwd=path.parent, check=True)


def test_a_rewritten_file_has_the_new_checksum_only(tmp_path: Path) -> None:
    for text in ("one", "two"):
        write_text(tmp_path / "a", text)
        assert read_bytes(tmp_path / "a") == text.encode()
    with atomic(tmp_path / "a", checksum="none") as temporary:
        temporary.write_bytes(b"three")
    assert read_bytes(tmp_path / "a") == b"three"
    assert not note_of(tmp_path / "a").exists()


def test_a_writer_that_replaces_both_files_disturbs_no_reader(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The checksum that was read first belongs to the previous content."""
    write_text(tmp_path / "a", "one")
    read, first = Path.read_bytes, []

    def read_late(path: Path) -> bytes:
        content = read(path)
        if path == note_of(tmp_path / "a") and not first:
            first.append(content)
            write_text(tmp_path / "a", "two")
        return content

    monkeypatch.setattr(Path, "read_bytes", read_late)
    assert read_bytes(tmp_path / "a") == b"two"
    assert first


def test_a_name_that_is_not_utf_8_has_a_checksum(tmp_path: Path) -> None:
    demand_below(tmp_path / "results")
    path = tmp_path / "results" / os.fsdecode(b"a\xff")
    write_text(path, "text")
    assert read_bytes(path) == b"text"
    path.write_bytes(b"taxt")
    with raises("damaged-file", path=path):
        read_bytes(path)


def test_each_file_of_a_folder_has_a_checksum(tmp_path: Path) -> None:
    with atomic(tmp_path / "folder") as temporary:
        (temporary / "below").mkdir(parents=True)
        (temporary / "below" / "plain").write_bytes(b"plain")
        write_text(temporary / "written", "written")
    for name in ("below/plain", "written"):
        (tmp_path / "folder" / name).write_bytes(b"other")
        with raises("damaged-file", path=tmp_path / "folder" / name):
            read_bytes(tmp_path / "folder" / name)


def test_a_checksum_inside_covers_every_byte_and_every_cut(tmp_path: Path) -> None:
    path = tmp_path / "a.bin"
    write_inside(path, bytes(range(40)))
    whole = path.read_bytes()
    assert check_inside(path, "") == 40
    damages = [whole[:n] for n in range(len(whole))] + [whole + b"\0", whole + whole]
    for place in range(len(whole)):
        for bit in range(8):
            damages.append(whole[:place] + bytes([whole[place] ^ 1 << bit]) + whole[place + 1 :])
    for damaged in damages:
        path.write_bytes(damaged)
        with raises("damaged-file", path=path, says="REMEDY."):
            check_inside(path, "REMEDY.")


def test_equal_contents_have_equal_bytes_and_a_second_seal_changes_nothing(tmp_path: Path) -> None:
    for name in ("a", "b"):
        write_inside(tmp_path / name, b"content")
    before = (tmp_path / "a").read_bytes()
    record(tmp_path / "a", "inside", tmp_path / "a")
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes() == before


def test_a_file_of_an_earlier_version_can_be_sealed(tmp_path: Path) -> None:
    (tmp_path / "old.pt").write_bytes(b"old")
    with raises("damaged-file", says="wordorder stage seal"):
        check_inside(tmp_path / "old.pt", "")
    assert main(["stage", "seal", str(tmp_path / "old.pt")]) == 0
    assert check_inside(tmp_path / "old.pt", "") == 3


def test_a_file_with_a_checksum_inside_that_was_changed_on_purpose_can_be_sealed(tmp_path: Path) -> None:
    path = tmp_path / "mine.npz"
    write_inside(path, b"old content")
    path.write_bytes(path.read_bytes().replace(b"old", b"new"))
    assert main(["stage", "seal", str(tmp_path)]) == 0
    with raises("damaged-file", path=path):  # A folder is sealed without its damaged files.
        check_inside(path, "REMEDY.")
    assert main(["stage", "seal", str(path)]) == 0
    assert check_inside(path, "") == len("new content")


KILLED = """
import os, signal, sys; from pathlib import Path
from wordorder.files import atomic
with atomic(Path(sys.argv[1])) as temporary:
    if sys.argv[2] == "folder": temporary.mkdir()
    else: temporary.write_text("half")
    print("ready", flush=True)
    if sys.argv[2] == "lives": sys.stdin.read()
    os.kill(os.getpid(), signal.SIGKILL)
"""


def leftovers(folder: Path) -> list[Path]:
    return list(folder.glob(".*.partial"))


@pytest.mark.parametrize("what", ["file", "folder"])
def test_the_next_writer_removes_what_a_killed_one_left(tmp_path: Path, what: str) -> None:
    output = tmp_path / "out [1]"
    killed = subprocess.run([sys.executable, "-c", KILLED, str(output), what], check=False, capture_output=True)
    assert killed.returncode == -signal.SIGKILL and len(leftovers(tmp_path)) == 1
    write_text(tmp_path / "other", "text")
    assert len(leftovers(tmp_path)) == 1, "another output's"
    write_text(output, "text")
    assert not leftovers(tmp_path)


REPLACING = """
import os, signal, sys; from pathlib import Path
from wordorder.files import atomic
replace, calls = os.replace, []
def killed_the_second_time(*paths):
    calls.append(paths)
    if len(calls) == 2: os.kill(os.getpid(), signal.SIGKILL)
    replace(*paths)
os.replace = killed_the_second_time
with atomic(Path(sys.argv[1])) as temporary:
    temporary.mkdir()
"""


@pytest.mark.parametrize("all_of_them", [False, True])
def test_a_folder_returns_whose_writer_was_killed_while_replacing_it(tmp_path: Path, *, all_of_them: bool) -> None:
    output = tmp_path / "out [1]"
    output.mkdir()
    (output / "README.md").write_text("by hand")
    killed = subprocess.run([sys.executable, "-c", REPLACING, str(output)], check=False)
    assert killed.returncode == -signal.SIGKILL and not output.exists()
    if all_of_them:
        remove_leftovers(tmp_path)
    else:
        with pytest.raises(ValueError), atomic(output):
            raise ValueError
    assert (output / "README.md").read_text() == "by hand"
    assert not leftovers(tmp_path)


def test_files_of_a_living_process_are_kept(tmp_path: Path) -> None:
    output = tmp_path / "out"
    with subprocess.Popen(
        [sys.executable, "-c", KILLED, str(output), "lives"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None and process.stdout.readline() == b"ready\n"
        write_text(output, "text")
        assert len(leftovers(tmp_path)) == 1
        process.kill()
    write_text(output, "text")
    assert not leftovers(tmp_path)


def test_leftovers_of_an_earlier_version_are_removed(tmp_path: Path) -> None:
    (tmp_path / ".out.0123456789ab.partial").write_text("half")
    folder = tmp_path / ".out.ba9876543210.partial"
    folder.mkdir()
    os.utime(folder, (0, 0))
    write_text(tmp_path / "out", "text")
    assert not leftovers(tmp_path)


def test_checksums_of_files_that_another_run_writes_are_no_orphans(tmp_path: Path) -> None:
    gone, there, writing = tmp_path / "gone", tmp_path / "data" / "there", tmp_path / "data" / ".x.1.partial" / "new"
    for path in (gone, there, writing):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("text")
        record(path, "beside", path)
    gone.unlink()
    writing.unlink()
    remove_orphans(tmp_path)
    assert [path for path in (gone, there, writing) if note_of(path).exists()] == [there, writing]
