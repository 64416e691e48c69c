"""Whatever a server answers, a download ends with the right file or a sentence."""

from __future__ import annotations

import hashlib
import random
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from fuzzing import cases, damaged
from raises import raises
from wordorder.config.datasets import Download
from wordorder.data import download as module
from wordorder.data.download import download
from wordorder.errors import WordorderError

BODY = b"".join(b"line %d\n" % i for i in range(100))
ENTRY = {"sha256": hashlib.sha256(BODY).hexdigest(), "bytes": len(BODY)}


def answer(generator: random.Random) -> bytes:
    """Return a response that is damaged, or has an unusual header."""
    status = generator.choice(("200 OK", "206 Partial Content", "416 x", "301 x", "404 x", "503 x", "999 x", "abc", ""))
    length = generator.choice((str(len(BODY)), "-1", "²", "9" * 5000, "0x10", "", "1", "1e3", "1,1"))
    headers = [f"HTTP/1.1 {status}", f"Content-Length: {length}"]
    span = generator.choice(("bytes 0-9/10", "bytes */0", "bytes x", "items 1-2/3", "bytes 10-5/2"))
    strange = (
        f"Content-Range: {span}",
        "Location: http://[::1",
        "Location: /é\u2028",
        "Location: ftp://x/",
        "Transfer-Encoding: chunked",
        "X: " + "y" * 70_000,
    )
    headers += generator.sample(strange, generator.randrange(3))
    whole = "\r\n".join([*headers, "", ""]).encode() + BODY
    return damaged(whole, generator)[1] if generator.random() < 0.5 else whole


@contextmanager
def serving(generator: random.Random) -> Iterator[str]:
    """Start a server that answers each request differently, and return the address of a file on it."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            while True:
                try:
                    connection, _ = server.accept()
                except OSError:
                    return
                with connection:
                    connection.settimeout(1)
                    try:
                        connection.recv(1 << 16)
                        connection.sendall(answer(generator))
                    except OSError:
                        continue

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.getsockname()[1]}/file"
        finally:
            server.shutdown(socket.SHUT_RDWR)
            thread.join()


def test_a_strange_server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "TIMEOUT", 1.0)
    for name, generator in cases(60):
        output = tmp_path / name.replace("/", "-") / "file"
        with serving(generator) as address:
            try:
                download(Download(url=address, **ENTRY), output, mirror=None, pause=0)
            except WordorderError as error:
                assert not output.exists() and "file" in str(error)
            except BaseException as error:
                error.add_note(f"case {name}")
                raise
            else:
                assert output.read_bytes() == BODY


@pytest.mark.parametrize(
    "url",
    [
        "http://.example.invalid/a",
        "http://a..b.invalid/",
        f"http://{'x' * 70}.invalid/",
        "http://[::1/",
        "http://127.0.0.1:99999/",
        "http://127.0.0.1:x/",
        "http:///a",
        "http://127.0.0.1:1/ä b",
        "http://a\u2028b/",
    ],
)
def test_a_strange_address(url: str, tmp_path: Path) -> None:
    with raises("download-failed", tmp_path / "file"):
        download(Download(url=url, **ENTRY), tmp_path / "file", mirror=None, pause=0)
    assert not (tmp_path / "file").exists()


@pytest.mark.parametrize("proxy", ["http://u:{}@127.0.0.1:x", "http:/u:{}@h", "http://u:{}@x..y:1", "ftp:u:{}@h", "{}"])
@pytest.mark.parametrize("scheme", ["http", "https"])
def test_no_error_names_the_password_of_a_proxy(
    proxy: str, scheme: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    secret = "plantedsecret0123456789"
    monkeypatch.delenv("no_proxy", raising=False)
    monkeypatch.delenv("NO_PROXY", raising=False)
    monkeypatch.setenv(f"{scheme}_proxy", proxy.format(secret))
    with pytest.raises(WordorderError) as caught:
        download(Download(url=f"{scheme}://example.invalid/x", **ENTRY), tmp_path / "file", mirror=None, pause=0)
    assert secret not in str(caught.value)


@pytest.mark.parametrize("part", [b"", BODY[:50]])
def test_416_with_and_without_a_part(part: bytes, tmp_path: Path) -> None:
    def only_416(_: random.Random) -> bytes:
        return b"HTTP/1.1 416 x\r\nContent-Length: 0\r\n\r\n"

    with pytest.MonkeyPatch.context() as patch, serving(random.Random(0)) as address:
        patch.setitem(globals(), "answer", only_416)
        if part:
            (tmp_path / "file.part").write_bytes(part)
        with raises("download-failed", tmp_path / "file", says="416"):
            download(Download(url=address, **ENTRY), tmp_path / "file", mirror=None, pause=0)
