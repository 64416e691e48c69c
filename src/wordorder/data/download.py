"""The downloader: a manually placed file, the mirror, or the URL. Files are verified and written atomically.

An interrupted download leaves ``OUTPUT.part``, and the next attempt requests only the remainder from the server. The
part may hold bytes of another address or of an earlier version of the file. If the completed file has a wrong checksum,
it is therefore fetched once more from its first byte. Of several processes that fetch one file, the others wait.
"""

from __future__ import annotations

import http.client
import re
import ssl
import string
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterable
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

from wordorder import __version__
from wordorder.config.datasets import Download
from wordorder.data.checksums import expected, fault
from wordorder.data.mirror import Unusable, by_hand, candidates, copy
from wordorder.data.text import one_line
from wordorder.errors import WordorderError
from wordorder.files import DISK_FULL, atomic, move_into_place, sha256
from wordorder.locks import locked
from wordorder.progress import Progress

ATTEMPTS = 5  # consecutive attempts without a new byte
TIMEOUT = 60.0  # seconds to wait for the server
_BLOCK = 1 << 18
_TRANSIENT = {408, 425, 429, 500, 502, 503, 504}


class _Interrupted(Exception):
    """The download was interrupted or could not start, and may succeed later."""


def download(config: Download, output: str | Path, *, mirror: str | Path | None = None, pause: float = 1.0) -> None:
    """Fetch one file.

    Copy the file from the folder by_hand next to the output, or from the local mirror; otherwise download
    the URL. The checksum is always verified; an interrupted download resumes.

    Example:
        wordorder stage download --config @download.yaml --output resources/downloads/multi30k/train.en

    Args:
        config: The entry of a dataset's 'downloads': URL, checksums and place in the mirror.
        output: The file to write. It appears when its checksum is right.
        mirror: The folder with local copies, plain or with .gz. A copy with another checksum is passed over with a
            warning, unless its text has the right one.
        pause: The seconds before the second attempt; doubled before each further one.
    """
    output = Path(output)
    tried = []
    for candidate in candidates(config, output, mirror):
        try:
            with atomic(output) as temporary:
                recompressed = copy(candidate, config, temporary, name=output.name)
            _tell(config, output, recompressed=recompressed)
            return
        except Unusable as error:
            tried.append(f"{candidate.path} {error}.")
            if candidate.path.exists():
                instead = " The URL is tried instead." if config.url else ""
                print(f"wordorder: warning: {tried[-1]}{instead}", file=sys.stderr)
    if not config.addresses:
        raise WordorderError(_by_hand(config, output, tried), code="manual-download", path=output)
    for url in config.addresses:
        try:
            _fetch(config, url, output, pause)
            _tell(config, output)
            return
        except Unusable as error:
            tried.append(f"{url} {error}.")
    if size := _size(part := _part(output)):
        tried.append(f"The first {size} bytes are kept in {part} for the next attempt.")
    raise WordorderError(
        f"{output.name} could not be obtained. {' '.join(tried)} {_advice(config, output)}",
        code="download-failed",
        path=output,
    )


def missing(entry: Download, output: str | Path, *, mirror: str | Path | None) -> str | None:
    """Return advice on a file that only people can obtain and that no place provides; None if there is one."""
    places = [candidate.path for candidate in candidates(entry, output, mirror)]
    if entry.url is not None or any(place.exists() for place in places):
        return None
    return _by_hand(entry, Path(output), [f"{place} does not exist." for place in places])


def _by_hand(entry: Download, output: Path, tried: Iterable[str]) -> str:
    return (
        f"{output.name} cannot be downloaded by a program. {' '.join([*tried, entry.by_hand or ''])} "
        f"{_advice(entry, output)}"
    )


def _advice(entry: Download, output: Path) -> str:
    network = "Without a network, set" if entry.url else "Then set"
    mirror = f"{network} WORDORDER_MIRROR to a folder that holds it as {entry.mirror}, or put" if entry.mirror else ""
    kinds = " and ".join(f"{kind} {value}" for kind, value in expected(entry).items())
    if not kinds and entry.text_sha256:
        kinds = f"text with SHA-256 {entry.text_sha256}"
    kinds = kinds or (f"{entry.lines} lines" if entry.lines else "")
    start = mirror or ("Without a network, put" if entry.url else "Then put")
    return f"{start} the file{f' with {kinds}' if kinds else ''} at {by_hand(output)}, from where it is copied."


def _tell(entry: Download, output: Path, *, recompressed: bool = False) -> None:
    """Report how the file was identified, if not by its SHA-256."""
    found = sha256(output)
    if found == entry.sha256:
        return
    text = "the SHA-256 of its text" if entry.text_sha256 else ""
    if recompressed:
        known = f"{text}, which was compressed otherwise"
    else:
        numbers = [f"its {n} {kind}" for kind, n in (("bytes", entry.bytes), ("lines", entry.lines)) if n]
        known = " and ".join(expected(entry)) or text or " and ".join(numbers) or "nothing but its name"
    print(f"wordorder: {output.name} is known by {known}. It has SHA-256 {found} here.", file=sys.stderr)


# ---------------------------------------------------------------------------------------------------------- URL


def opener() -> urllib.request.OpenerDirector:
    """Create an opener for HTTP and HTTPS with redirects and proxies; other schemes are rejected, also in redirects."""
    opener = urllib.request.OpenerDirector()
    for handler in (
        urllib.request.ProxyHandler,
        urllib.request.HTTPHandler,
        urllib.request.HTTPSHandler,
        urllib.request.HTTPDefaultErrorHandler,
        urllib.request.HTTPRedirectHandler,
        urllib.request.HTTPErrorProcessor,
        urllib.request.UnknownHandler,
    ):
        opener.add_handler(handler())
    return opener


def _without_proxies(text: str) -> str:
    """Remove the addresses of proxies, which may hold passwords, from the message of an error."""
    for address in urllib.request.getproxies().values():
        text = text.replace(address, "the address in the environment") if address else text
    return text


def _fetch(entry: Download, url: str, output: Path, pause: float) -> None:
    try:
        scheme = urlsplit(url).scheme
    except ValueError as error:
        raise Unusable(f"is not a valid address ({error})") from error
    if scheme not in ("http", "https"):
        raise Unusable("is not an http or https address")
    part, lock, before = _part(output), output.with_name(f".{output.name}.lock"), _state(output)
    try:
        output.parent.mkdir(parents=True, exist_ok=True)
        with locked(lock, waiting=f"Waiting for {{holder}}, which is downloading {output.name}."):
            try:
                if _state(output) == before or fault(entry, output):
                    _fetch_file(entry, url, part, output, pause)
            finally:
                lock.unlink(missing_ok=True)  # A process that waits for it gets it nevertheless, and finds the file.
    except OSError as error:
        if error.errno in DISK_FULL:
            kept = f" What was fetched is kept in {part}." if _size(part) else ""
            raise WordorderError(
                f"The disk (or a quota) is full while downloading {output}.{kept} Free some space and run the same "
                "command again.",
                code="disk-full",
                path=output,
            ) from error
        raise WordorderError(f"{output} cannot be downloaded: {error}.", code="download-failed", path=output) from error


def _state(path: Path) -> tuple[int, int] | None:
    """Return what differs once a file has been replaced; None if there is none."""
    return (path.stat().st_ino, path.stat().st_mtime_ns) if path.exists() else None


def _fetch_file(entry: Download, url: str, part: Path, output: Path, pause: float) -> None:
    """Complete ``part`` and move it to ``output`` if it is the described file."""
    resumed = part.exists()
    _fetch_part(entry, url, part, pause)
    why = fault(entry, part, name=output.name)
    if why and resumed:
        part.unlink()
        _fetch_part(entry, url, part, pause)
        why = fault(entry, part, name=output.name)
    if why:
        part.unlink()
        raise Unusable(
            f"serves a file with {why.removeprefix('has ')}: it was changed there, or what the dataset says of it is "
            "wrong"
        )
    move_into_place(part, output)


def _fetch_part(entry: Download, url: str, part: Path, pause: float) -> None:
    """Complete ``part``, resuming after interruptions."""
    failures, furthest = 0, _size(part)
    while True:
        try:
            _fetch_rest(entry, url, part)
            return
        except _Interrupted as error:
            if _size(part) > furthest:
                failures, furthest = 0, _size(part)
            failures += 1
            if failures == ATTEMPTS:
                raise Unusable(f"cannot be reached or breaks off ({_without_proxies(str(error))})") from error
            time.sleep(pause * 2 ** (failures - 1))


def _fetch_rest(entry: Download, url: str, part: Path) -> None:
    """Append the missing bytes to ``part`` in one request."""
    start = _size(part)
    if entry.bytes is not None and start >= entry.bytes:
        if start == entry.bytes:
            return
        part.unlink()
        start = 0
    headers = {"User-Agent": f"wordorder/{__version__}", "Accept-Encoding": "identity"}
    if start:
        headers["Range"] = f"bytes={start}-"
    try:
        with opener().open(request_of(url, headers), timeout=TIMEOUT) as response:
            if response.status == 200:
                start = 0
            elif response.status != 206 or not _starts_at(response.headers.get("Content-Range"), start):
                part.unlink(missing_ok=True)
                raise _Interrupted(f"status {response.status}, which does not answer the request")
            _append(response, part, start, entry)
    except urllib.error.HTTPError as error:
        if error.code == 416:  # Nothing remains: the part is complete, or must be downloaded again.
            if error.headers.get("Content-Range") == f"bytes */{start}":
                return
            part.unlink(missing_ok=True)
        elif error.code not in _TRANSIENT:
            raise Unusable(f"answers {error.code} {one_line(error.reason)}") from error
        raise _Interrupted(f"status {error.code} {one_line(error.reason)}") from error
    except (http.client.InvalidURL, ValueError) as error:  # UnicodeError of a host's name
        why = one_line(_without_proxies(str(error)))
        raise Unusable(f"is not a valid address, or redirects to an invalid one ({why})") from error
    except (urllib.error.URLError, http.client.HTTPException, TimeoutError, ConnectionError, ssl.SSLError) as error:
        raise _Interrupted(one_line(str(getattr(error, "reason", error))) or type(error).__name__) from error


def request_of(url: str, headers: dict[str, str], method: str = "GET") -> urllib.request.Request:
    """Return a request for an address whose path may have any letters; those beyond ASCII are percent-encoded."""
    parts = urlsplit(url)
    path, query = (quote(part, safe=string.printable) for part in (parts.path, parts.query))
    address = parts._replace(path=path, query=query).geturl()
    return urllib.request.Request(address, headers=headers, method=method)


def length_of(response: Any) -> int | None:
    """Return the number of bytes that a server announces, or None if there is no valid number."""
    length = response.headers.get("Content-Length") or ""
    return int(length) if re.fullmatch(r"[0-9]{1,18}", length) else None


def _append(response: Any, part: Path, start: int, entry: Download) -> None:
    length = length_of(response)
    end = None if length is None else start + length
    if end is not None and entry.bytes is not None and end != entry.bytes:
        raise Unusable(f"serves {end} bytes instead of {entry.bytes}")
    name = part.name.removesuffix(".part")
    with (
        part.open("ab" if start else "wb") as file,
        Progress(f"Downloading {name}", total=end or entry.bytes, unit="B", initial=start) as progress,
    ):
        while block := response.read1(_BLOCK):
            file.write(block)
            progress.advance(len(block))
            if entry.bytes is not None and file.tell() > entry.bytes:
                part.unlink()
                raise Unusable(f"serves more than {entry.bytes} bytes")
    if end is not None and _size(part) < end:
        raise _Interrupted(f"the connection was closed after {_size(part)} of {end} bytes")


def _starts_at(content_range: str | None, start: int) -> bool:
    return start > 0 and re.match(rf"bytes {start}-", content_range or "") is not None


def _part(output: Path) -> Path:
    return output.with_name(f"{output.name}.part")


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0
