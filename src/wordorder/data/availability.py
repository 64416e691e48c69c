"""Availability of downloads without downloading them: manually placed files, the mirror, and their addresses."""

from __future__ import annotations

import http.client
import tempfile
import urllib.error
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from wordorder import __version__
from wordorder.config.datasets import Download
from wordorder.data.checksums import expected, fault
from wordorder.data.download import length_of, opener, request_of
from wordorder.data.mirror import Unusable, by_hand, candidates, copy
from wordorder.errors import WordorderError

TIMEOUT = 20.0  # seconds for an answer
_WORKERS = 8
DOWNLOADS = "resources/downloads"


@dataclass(frozen=True)
class Place:
    """The result for one place. ``good`` is None if nothing is known: no copy, no network."""

    good: bool | None
    text: str


@dataclass(frozen=True)
class Availability:
    """The places of one file; ``folder`` is that of its dataset below resources/downloads, often its name."""

    folder: str
    file: str
    mirror: Place
    address: Place

    @property
    def had(self) -> bool:
        """Whether the file is available, and no place has a wrong file."""
        places = (self.mirror.good, self.address.good)
        return True in places and False not in places

    def __str__(self) -> str:
        mark = "ok  " if self.had else "BAD "
        return f"{mark}{self.folder}/{self.file}: mirror: {self.mirror.text}; address: {self.address.text}"


def check_downloads(
    downloads: Iterable[tuple[str, Mapping[str, Download]]],
    mirror: str | Path | None,
    *,
    folder: str | Path = DOWNLOADS,
    timeout: float = TIMEOUT,
) -> Iterator[Availability]:
    """Check every file, in order; several addresses are checked at once.

    A file that several datasets share is checked once.

    Args:
        downloads: Pairs of a folder and its downloads.
        mirror: The mirror, if there is one.
        folder: The folder of downloads.
        timeout: Seconds to wait for an answer.

    Yields:
        The availability of each file.
    """
    files = {(own, file): entry for own, entries in downloads for file, entry in entries.items()}
    with ThreadPoolExecutor(_WORKERS) as pool:
        asked = [pool.submit(_ask, entry, Path(folder, *names), timeout) for names, entry in files.items()]
        for ((own, file), entry), answer in zip(files.items(), asked, strict=True):
            yield Availability(own, file, _look(entry, Path(folder, own, file), mirror), answer.result())


def summary(found: Iterable[Availability]) -> str:
    """Format a table of the number of files per folder, and how many are available where."""
    rows: dict[str, Counter[str]] = {}
    for file in found:
        counts = rows.setdefault(file.folder, Counter())
        counts["files"] += 1
        counts["in the mirror"] += file.mirror.good is True
        counts["at the address"] += file.address.good is True
        counts["wrong"] += False in (file.mirror.good, file.address.good)
        counts["unavailable"] += not (file.mirror.good or file.address.good)
    columns = ("files", "in the mirror", "at the address", "wrong", "unavailable")
    width = max(map(len, ["folder", *rows]))
    lines = [" ".join([f"{'folder':<{width}}", *columns])]
    lines += [
        " ".join([f"{name:<{width}}", *(f"{counts[column]:>{len(column)}}" for column in columns)])
        for name, counts in rows.items()
    ]
    return "\n".join(lines)


def _look(entry: Download, output: Path, mirror: str | Path | None) -> Place:
    """Check the mirror and the manually placed files, and say so if a file was placed manually."""
    wrong = []
    for candidate in candidates(entry, output, mirror):
        place = candidate.path
        if not place.exists():
            continue
        where = f"{place} is " if place.parent == by_hand(output).parent else ""
        try:
            if not candidate.compressed and fault(entry, place, name=output.name) is None:
                known = expected(entry) or entry.text_sha256 or entry.lines
                return Place(True, f"{where}right" if known else f"{where}there; no checksum is known")
        except WordorderError as error:  # damaged, a folder, or not permitted
            wrong.append(str(error).removesuffix("."))
            continue
        with tempfile.TemporaryDirectory() as folder:  # a copy with other compression
            try:
                copy(candidate, entry, Path(folder, "copy"), name=output.name, quiet=True)
                return Place(True, f"{where}right, compressed otherwise")
            except Unusable as error:
                wrong.append(f"{place} {error}")
    if wrong:
        return Place(False, "; ".join(wrong))
    if not mirror:
        return Place(None, "WORDORDER_MIRROR is not set")
    return Place(None, f"no copy at {Path(mirror, entry.mirror)}" if entry.mirror else "no copy")


def _ask(entry: Download, output: Path, timeout: float) -> Place:
    """Request the header of the file from every address; it is available if one of them has it."""
    if not entry.addresses:
        return Place(None, f"none; place the file manually at {by_hand(output)}: {entry.by_hand}")
    asked = {url: _ask_one(entry, url, timeout) for url in entry.addresses}
    if len(asked) == 1:
        return asked[entry.addresses[0]]
    good = [place.good for place in asked.values()]
    text = "; ".join(f"{url}: {place.text}" for url, place in asked.items())
    return Place(True if True in good else False if False in good else None, text)


def _ask_one(entry: Download, url: str, timeout: float) -> Place:
    """Request only the header of the file."""
    headers = {"User-Agent": f"wordorder/{__version__}", "Accept-Encoding": "identity"}
    try:
        with opener().open(request_of(url, headers, "HEAD"), timeout=timeout) as response:
            length = length_of(response)
    except urllib.error.HTTPError as error:
        return Place(False, f"answers {error.code} {error.reason}")
    except ValueError as error:  # includes http.client's error about host names
        return Place(False, f"no address, or answers with none ({error})")
    except (urllib.error.URLError, http.client.HTTPException, OSError) as error:
        return Place(None, f"not reached ({getattr(error, 'reason', None) or error or type(error).__name__})")
    if length is None or entry.bytes is None:
        return Place(True, f"reached, {'unknown size' if length is None else f'{length} bytes'}")
    if length != entry.bytes:
        return Place(False, f"serves {length} bytes instead of {entry.bytes}")
    return Place(True, "reached, size right")
