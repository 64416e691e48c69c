"""Tests of the downloader against a real HTTP server that misbehaves on request."""

from __future__ import annotations

import gzip
import hashlib
import socket
import subprocess
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from full_disk import no_file_larger_than
from local_server import Handler, serving
from raises import raises
from wordorder.config.datasets import Download
from wordorder.data import download as module
from wordorder.data.download import ATTEMPTS, download
from wordorder.integrity import is_note
from wordorder.locks import locked

CONTENT = b"".join(hashlib.sha256(b"%d" % number).digest() for number in range(20_000))  # 640 kB


@dataclass
class Behaviour:
    """What the server does, and what it was asked."""

    content: bytes = CONTENT
    cuts: list[int] = field(default_factory=list)  # the n-th answer ends after so many bytes
    errors: list[int] = field(default_factory=list)  # status codes of the first answers
    ranges: bool = True  # whether Range is understood
    shift: int = 0  # the server answers from another place than was asked
    length: bool = True  # whether Content-Length is sent
    redirect: str | None = None
    reason: str | None = None  # the words beside a status code
    halt: Event | None = None  # the server waits for this after the first bytes
    asked: list[str | None] = field(default_factory=list)  # the Range of each request


@pytest.fixture
def server() -> Iterator[tuple[str, Behaviour]]:
    behaviour = Behaviour()

    class Answers(Handler):
        def do_GET(self) -> None:
            asked = self.headers.get("Range")
            behaviour.asked.append(asked)
            if behaviour.redirect and self.path != "/elsewhere":
                self.send_response(302)
                self.send_header("Location", behaviour.redirect)
                self.end_headers()
                return
            if behaviour.errors:
                self.send_error(behaviour.errors.pop(0), behaviour.reason)
                return
            start, size = 0, len(behaviour.content)
            if asked and behaviour.ranges:
                start = int(asked.removeprefix("bytes=").removesuffix("-"))
                if start >= size:
                    self.send_response(416)
                    self.send_header("Content-Range", f"bytes */{size}")
                    self.send_header("Content-Length", "0")
                    self.end_headers()
                    return
                start += behaviour.shift
                self.send_response(206)
                self.send_header("Content-Range", f"bytes {start}-{size - 1}/{size}")
            else:
                self.send_response(200)
            if behaviour.length:
                self.send_header("Content-Length", str(size - start))
            self.end_headers()
            body = behaviour.content[start:]
            if behaviour.halt:
                self.wfile.write(body[:1000])
                behaviour.halt.wait()
                body = body[1000:]
            self.wfile.write(body[: behaviour.cuts.pop(0)] if behaviour.cuts else body)

    with serving(Answers) as url:
        yield f"{url}/corpus.tgz", behaviour


def entry(url: str, content: bytes = CONTENT, **values: Any) -> Download:
    return Download.model_validate({"url": url, "sha256": hashlib.sha256(content).hexdigest(), **values})


def fetch(item: Download, output: Path, mirror: Path | None = None) -> None:
    download(item, output, mirror=mirror, pause=0)


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if not is_note(path))


@pytest.mark.parametrize("length", [True, False])
def test_a_file_is_fetched(server: tuple[str, Behaviour], tmp_path: Path, length: bool) -> None:
    url, behaviour = server
    behaviour.length = length
    fetch(entry(url, bytes=len(CONTENT)), tmp_path / "new" / "corpus.tgz")
    assert (tmp_path / "new" / "corpus.tgz").read_bytes() == CONTENT
    assert names(tmp_path / "new") == ["corpus.tgz"]


def test_a_cut_connection_is_resumed(server: tuple[str, Behaviour], tmp_path: Path) -> None:
    url, behaviour = server
    behaviour.cuts = [100_000, 0, 250_000]
    fetch(entry(url), tmp_path / "corpus.tgz")
    assert (tmp_path / "corpus.tgz").read_bytes() == CONTENT
    assert behaviour.asked == [None, "bytes=100000-", "bytes=100000-", "bytes=350000-"]


def test_a_later_run_goes_on_where_an_earlier_one_stopped(server: tuple[str, Behaviour], tmp_path: Path) -> None:
    url, behaviour = server
    behaviour.cuts = [100_000] + [0] * ATTEMPTS
    with raises("download-failed", says="first 100000 bytes are kept"):
        fetch(entry(url), tmp_path / "corpus.tgz")
    assert names(tmp_path) == ["corpus.tgz.part"]
    behaviour.asked.clear()
    behaviour.cuts.clear()
    fetch(entry(url), tmp_path / "corpus.tgz")
    assert behaviour.asked == ["bytes=100000-"]
    assert (tmp_path / "corpus.tgz").read_bytes() == CONTENT
    assert names(tmp_path) == ["corpus.tgz"]


def test_a_redirect_is_followed_with_the_range(server: tuple[str, Behaviour], tmp_path: Path) -> None:
    url, behaviour = server
    behaviour.redirect, behaviour.cuts = "/elsewhere", [100_000]
    fetch(entry(url), tmp_path / "corpus.tgz")
    assert behaviour.asked == [None, None, "bytes=100000-", "bytes=100000-"]
    assert (tmp_path / "corpus.tgz").read_bytes() == CONTENT


def test_many_cuts_that_each_bring_something_are_no_reason_to_give_up(
    server: tuple[str, Behaviour], tmp_path: Path
) -> None:
    url, behaviour = server
    behaviour.cuts = [10_000] * (3 * ATTEMPTS)
    fetch(entry(url), tmp_path / "corpus.tgz")
    assert len(behaviour.asked) == 3 * ATTEMPTS + 1
    assert (tmp_path / "corpus.tgz").read_bytes() == CONTENT


def test_a_server_that_cannot_resume_is_asked_from_the_start(server: tuple[str, Behaviour], tmp_path: Path) -> None:
    url, behaviour = server
    behaviour.cuts, behaviour.ranges = [100_000], False
    fetch(entry(url), tmp_path / "corpus.tgz")
    assert (tmp_path / "corpus.tgz").read_bytes() == CONTENT
    assert behaviour.asked == [None, "bytes=100000-"]


def test_a_server_that_can_never_finish_is_given_up(server: tuple[str, Behaviour], tmp_path: Path) -> None:
    url, behaviour = server
    behaviour.cuts, behaviour.ranges = [100_000] * 100, False
    with raises("download-failed", says="breaks off"):
        fetch(entry(url), tmp_path / "corpus.tgz")
    assert len(behaviour.asked) == ATTEMPTS


def test_an_answer_from_another_place_is_not_appended(server: tuple[str, Behaviour], tmp_path: Path) -> None:
    url, behaviour = server
    behaviour.cuts, behaviour.shift = [100_000], 7
    fetch(entry(url), tmp_path / "corpus.tgz")
    assert (tmp_path / "corpus.tgz").read_bytes() == CONTENT
    assert behaviour.asked == [None, "bytes=100000-", None]


@pytest.mark.parametrize("size_known", [True, False])
def test_a_whole_part_is_only_verified(server: tuple[str, Behaviour], tmp_path: Path, size_known: bool) -> None:
    url, behaviour = server
    (tmp_path / "corpus.tgz.part").write_bytes(CONTENT)
    fetch(entry(url, bytes=len(CONTENT) if size_known else None), tmp_path / "corpus.tgz")
    assert (tmp_path / "corpus.tgz").read_bytes() == CONTENT
    assert behaviour.asked == ([] if size_known else [f"bytes={len(CONTENT)}-"])


@pytest.mark.parametrize("size_known", [True, False])
def test_a_part_that_is_too_long_is_begun_anew(server: tuple[str, Behaviour], tmp_path: Path, size_known: bool) -> None:
    (tmp_path / "corpus.tgz.part").write_bytes(CONTENT + b"more")
    fetch(entry(server[0], bytes=len(CONTENT) if size_known else None), tmp_path / "corpus.tgz")
    assert (tmp_path / "corpus.tgz").read_bytes() == CONTENT


@pytest.mark.parametrize("size", [1000, len(CONTENT)])
def test_a_part_of_something_else_is_fetched_once_more(
    server: tuple[str, Behaviour], tmp_path: Path, size: int
) -> None:
    url, behaviour = server
    (tmp_path / "corpus.tgz.part").write_bytes(b"x" * size)
    fetch(entry(url), tmp_path / "corpus.tgz")
    assert behaviour.asked == [f"bytes={size}-", None]
    assert (tmp_path / "corpus.tgz").read_bytes() == CONTENT
    assert names(tmp_path) == ["corpus.tgz"]


def test_a_wrong_file_is_fetched_only_once_more(server: tuple[str, Behaviour], tmp_path: Path) -> None:
    url, behaviour = server
    (tmp_path / "corpus.tgz.part").write_bytes(b"x" * 1000)
    with raises("download-failed", says=f"SHA-256 {hashlib.sha256(CONTENT).hexdigest()} instead of") as failed:
        fetch(entry(url, b"other"), tmp_path / "corpus.tgz")
    assert behaviour.asked == ["bytes=1000-", None]
    assert names(tmp_path) == [] and "kept" not in str(failed.error)


def test_a_part_of_another_address_is_not_mixed_in(server: tuple[str, Behaviour], tmp_path: Path) -> None:
    """The first address breaks off; the second one has another file, and nothing is kept of either."""
    url, behaviour = server
    behaviour.cuts = [100_000] + [0] * (ATTEMPTS - 1)
    item = entry(f"{url}/old", b"other", also=[f"{url}/new"])
    with raises("download-failed", says=f"{url}/new serves a file with SHA-256") as failed:
        fetch(item, tmp_path / "corpus.tgz")
    assert behaviour.asked[-2:] == ["bytes=100000-", None]
    assert names(tmp_path) == [] and "kept" not in str(failed.error)


def test_a_wrong_checksum_names_both_and_leaves_nothing(server: tuple[str, Behaviour], tmp_path: Path) -> None:
    url, _ = server
    expected, found = (hashlib.sha256(content).hexdigest() for content in (b"other", CONTENT))
    (tmp_path / "corpus.tgz").write_bytes(b"old")
    with raises("download-failed", says=f"{url} serves a file with SHA-256 {found} instead of {expected}"):
        fetch(entry(url, b"other"), tmp_path / "corpus.tgz")
    assert names(tmp_path) == ["corpus.tgz"]
    assert (tmp_path / "corpus.tgz").read_bytes() == b"old"


def test_a_wrong_size_is_said_before_the_file_is_fetched(server: tuple[str, Behaviour], tmp_path: Path) -> None:
    with raises("download-failed", says=f"serves {len(CONTENT)} bytes instead of 5"):
        fetch(entry(server[0], bytes=5), tmp_path / "corpus.tgz")
    assert names(tmp_path) == []


def test_a_file_that_is_longer_than_known_is_not_fetched_to_its_end(
    server: tuple[str, Behaviour], tmp_path: Path
) -> None:
    url, behaviour = server
    behaviour.length = False
    with raises("download-failed", says="serves more than 5 bytes."):
        fetch(entry(url, bytes=5), tmp_path / "corpus.tgz")
    assert names(tmp_path) == []


def test_two_processes_that_fetch_one_file_do_not_mix(server: tuple[str, Behaviour], tmp_path: Path) -> None:
    url, behaviour = server
    behaviour.halt = Event()
    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(fetch, entry(url), tmp_path / "corpus.tgz")
        while not behaviour.asked:
            time.sleep(0.01)
        second = pool.submit(fetch, entry(url), tmp_path / "corpus.tgz")
        with pytest.raises(TimeoutError):
            second.result(0.5)
        behaviour.halt.set()
        first.result(), second.result()
    assert (tmp_path / "corpus.tgz").read_bytes() == CONTENT
    assert names(tmp_path) == ["corpus.tgz"]
    assert len(behaviour.asked) == 1, "the second process has found the file"


def test_a_process_that_waited_for_one_that_failed_keeps_the_next_one_out(
    server: tuple[str, Behaviour], tmp_path: Path
) -> None:
    """The first removes its lock, so the second holds one without a name while the third creates it again."""
    lock = tmp_path / ".lock"
    with ThreadPoolExecutor(2) as pool:
        with locked(lock):
            second = pool.submit(_hold, lock, held := Event(), end := Event())
            time.sleep(0.1)
            lock.unlink()
        assert held.wait(10)
        third = pool.submit(_hold, lock, also := Event(), end)
        assert not also.wait(2)
        end.set()
        second.result(), third.result()


def _hold(lock: Path, held: Event, end: Event) -> None:
    with locked(lock, waiting="-"):
        held.set()
        end.wait(10)


def test_control_characters_of_a_server_do_not_reach_the_terminal(
    server: tuple[str, Behaviour], tmp_path: Path
) -> None:
    url, behaviour = server
    behaviour.errors, behaviour.reason = [404], "\x1b]0;title\x07gone"
    with raises("download-failed", says="answers 404  ]0;title gone."):
        fetch(entry(url), tmp_path / "corpus.tgz")


def test_sha256sum_reads_the_checksum_of_a_fetched_file(server: tuple[str, Behaviour], tmp_path: Path) -> None:
    fetch(entry(server[0]), tmp_path / "corpus.tgz")
    subprocess.run(["sha256sum", "--check", ".corpus.tgz.sha256"], cwd=tmp_path, check=True)


def test_a_busy_server_is_asked_again(server: tuple[str, Behaviour], tmp_path: Path) -> None:
    url, behaviour = server
    behaviour.errors = [503, 429, 500]
    fetch(entry(url), tmp_path / "corpus.tgz")
    assert (tmp_path / "corpus.tgz").read_bytes() == CONTENT


def test_a_missing_file_is_not_asked_for_again(server: tuple[str, Behaviour], tmp_path: Path) -> None:
    url, behaviour = server
    behaviour.errors = [404]
    with raises("download-failed", says="answers 404 Not Found."):
        fetch(entry(url), tmp_path / "corpus.tgz")
    assert len(behaviour.asked) == 1


def test_pauses_grow(server: tuple[str, Behaviour], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pauses: list[float] = []
    monkeypatch.setattr(module.time, "sleep", pauses.append)
    server[1].errors = [503] * ATTEMPTS
    with raises("download-failed", says="status 503"):
        download(entry(server[0]), tmp_path / "corpus.tgz", mirror=None)
    assert pauses == [1, 2, 4, 8]


def test_a_silent_server_is_not_waited_for_for_ever(
    server: tuple[str, Behaviour], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "TIMEOUT", 0.05)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}/corpus.tgz"
        with raises("download-failed", says="timed out"):
            fetch(entry(url), tmp_path / "corpus.tgz")


@pytest.mark.parametrize("address", ["file:///etc/hostname", "ftp://127.0.0.1/x"])
def test_only_http_is_spoken(server: tuple[str, Behaviour], tmp_path: Path, address: str) -> None:
    with raises("download-failed", says="is not an http or https address"):
        fetch(Download.model_construct(url=address, sha256="0" * 64), tmp_path / "out")
    server[1].redirect = address
    with raises("download-failed"):
        fetch(entry(server[0]), tmp_path / "out")
    assert names(tmp_path) == []


def test_without_a_network_the_message_says_what_to_do(tmp_path: Path) -> None:
    item = entry("http://127.0.0.1:9/corpus.tgz", mirror="wmt/corpus.tgz")
    with raises("download-failed") as caught:
        fetch(item, tmp_path / "corpus.tgz", tmp_path / "mirror")
    message = str(caught.error)
    for part in (
        f"{tmp_path}/mirror/wmt/corpus.tgz does not exist.",
        f"{tmp_path}/mirror/wmt/corpus.tgz.gz does not exist.",
        "http://127.0.0.1:9/corpus.tgz cannot be reached",
        "Connection refused",
        "WORDORDER_MIRROR",
        item.sha256,
        f"at {tmp_path}/by_hand/corpus.tgz, from where it is copied.",
    ):
        assert part in message


def test_a_full_disk_keeps_the_part(server: tuple[str, Behaviour], tmp_path: Path) -> None:
    with (
        raises("disk-full"),
        no_file_larger_than(300_000),
    ):
        fetch(entry(server[0]), tmp_path / "corpus.tgz")
    assert names(tmp_path) == ["corpus.tgz.part"]
    fetch(entry(server[0]), tmp_path / "corpus.tgz")
    assert server[1].asked[-1] == "bytes=300000-"
    assert (tmp_path / "corpus.tgz").read_bytes() == CONTENT


# ------------------------------------------------------------------------------------------------------- mirror


@pytest.fixture
def mirror(tmp_path: Path) -> Path:
    (tmp_path / "mirror" / "set").mkdir(parents=True)
    return tmp_path / "mirror"


OFFLINE = "http://127.0.0.1:9/corpus"


def test_the_mirror_is_asked_first(mirror: Path, tmp_path: Path) -> None:
    (mirror / "set" / "train.en").write_bytes(CONTENT)
    fetch(entry(OFFLINE, mirror="set/train.en"), tmp_path / "out" / "train.en", mirror)
    assert (tmp_path / "out" / "train.en").read_bytes() == CONTENT
    assert names(tmp_path / "out") == ["train.en"]


def test_a_compressed_copy_gives_the_original_bytes(mirror: Path, tmp_path: Path) -> None:
    (mirror / "set" / "train.en.gz").write_bytes(gzip.compress(CONTENT))
    fetch(entry(OFFLINE, mirror="set/train.en"), tmp_path / "train.en", mirror)
    assert (tmp_path / "train.en").read_bytes() == CONTENT


def test_an_original_that_is_compressed_stays_so(mirror: Path, tmp_path: Path) -> None:
    packed = gzip.compress(CONTENT)
    (mirror / "set" / "train.en.gz").write_bytes(packed)
    fetch(entry(OFFLINE, packed, mirror="set/train.en.gz"), tmp_path / "train.en.gz", mirror)
    assert (tmp_path / "train.en.gz").read_bytes() == packed


def test_a_wrong_copy_is_passed_over_with_a_warning(
    server: tuple[str, Behaviour], mirror: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (mirror / "set" / "train.en").write_bytes(b"wrong")
    (mirror / "set" / "train.en.gz").write_bytes(gzip.compress(CONTENT)[:-20])
    fetch(entry(server[0], mirror="set/train.en"), tmp_path / "train.en", mirror)
    assert (tmp_path / "train.en").read_bytes() == CONTENT
    warnings = [line for line in capsys.readouterr().err.splitlines() if "warning" in line]
    assert len(warnings) == 2
    assert hashlib.sha256(b"wrong").hexdigest() in warnings[0]
    assert "train.en.gz is damaged" in warnings[1]


def test_a_wrong_copy_and_a_wrong_url_are_both_named(
    server: tuple[str, Behaviour], mirror: Path, tmp_path: Path
) -> None:
    (mirror / "set" / "train.en").write_bytes(b"wrong")
    with raises("download-failed", says=f"{server[0]} serves a file"):
        fetch(entry(server[0], b"right", mirror="set/train.en"), tmp_path / "train.en", mirror)
    assert names(tmp_path) == ["mirror"]


def test_a_full_disk_is_not_blamed_on_the_mirror(mirror: Path, tmp_path: Path) -> None:
    (mirror / "set" / "train.en").write_bytes(CONTENT)
    with raises("disk-full"), no_file_larger_than(1000):
        fetch(entry(OFFLINE, mirror="set/train.en"), tmp_path / "train.en", mirror)
    assert names(tmp_path) == ["mirror"]


def test_further_addresses_are_tried_in_turn(server: tuple[str, Behaviour], tmp_path: Path) -> None:
    address, behaviour = server
    behaviour.errors = [404]
    entry = Download(url=f"{address}/gone", also=[f"{address}/here"], sha256=hashlib.sha256(CONTENT).hexdigest())
    download(entry, tmp_path / "file", pause=0)
    assert (tmp_path / "file").read_bytes() == CONTENT and len(behaviour.asked) == 2
    behaviour.errors = [404, 404]
    with raises("download-failed", says="/gone") as failed:
        download(entry, tmp_path / "other", pause=0)
    assert "/here" in str(failed.error)


def test_an_error_does_not_show_the_address_of_a_proxy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It may hold a password."""
    monkeypatch.setenv("http_proxy", "http:/user:secret@proxy")  # without '//'
    with raises("download-failed", says="the address in the environment") as failed:
        fetch(entry("http://elsewhere.invalid/corpus.tgz"), tmp_path / "corpus.tgz")
    assert "secret" not in str(failed.error)
