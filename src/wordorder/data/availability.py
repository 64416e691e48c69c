"""Whether the downloads of datasets can be had, without fetching them: by hand, in the mirror, at their addresses."""

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
    """What was found at one place. ``good`` is None where nothing can be said: no copy, no network."""

    good: bool | None
    text: str


@dataclass(frozen=True)
class Availability:
    """Where one file can be had; ``folder`` is that of its dataset below resources/downloads, often its name."""

    folder: str
    file: str
    mirror: Place
    address: Place

    @property
    def had(self) -> bool:
        """Whether it can be had, and no place has a wrong file."""
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
    """Look for every file of pairs of a folder and its downloads, in their order; several addresses are asked at once.

    A file that several datasets share is looked for once. ``folder`` is where downloads go.
    """
    files = {(own, file): entry for own, entries in downloads for file, entry in entries.items()}
    with ThreadPoolExecutor(_WORKERS) as pool:
        asked = [pool.submit(_ask, entry, timeout) for entry in files.values()]
        for ((own, file), entry), answer in zip(files.items(), asked, strict=True):
            yield Availability(own, file, _look(entry, Path(folder, own, file), mirror), answer.result())


def summary(found: Iterable[Availability]) -> str:
    """A table: how many files each folder of downloads has, and how many can be had where."""
    rows: dict[str, Counter[str]] = {}
    for file in found:
        counts = rows.setdefault(file.folder, Counter())
        counts["files"] += 1
        counts["in the mirror"] += file.mirror.good is True
        counts["at the address"] += file.address.good is True
        counts["wrong"] += False in (file.mirror.good, file.address.good)
        counts["not to be had"] += not (file.mirror.good or file.address.good)
    columns = ("files", "in the mirror", "at the address", "wrong", "not to be had")
    width = max(map(len, ["folder", *rows]))
    lines = [" ".join([f"{'folder':<{width}}", *columns])]
    lines += [
        " ".join([f"{name:<{width}}", *(f"{counts[column]:>{len(column)}}" for column in columns)])
        for name, counts in rows.items()
    ]
    return "\n".join(lines)


def _look(entry: Download, output: Path, mirror: str | Path | None) -> Place:
    """In the mirror, and where people put files by hand; that one was put there is said."""
    wrong = []
    for candidate in candidates(entry, output, mirror):
        place = candidate.path
        if not place.exists():
            continue
        where = f"{place} is " if place.parent == by_hand(output).parent else ""
        try:
            if not candidate.compressed and fault(entry, place, name=output.name) is None:
                known = expected(entry) or entry.lines
                return Place(True, f"{where}right" if known else f"{where}there; no checksum is known")
        except WordorderError as error:  # damaged, a folder, or not allowed
            wrong.append(str(error).removesuffix("."))
            continue
        with tempfile.TemporaryDirectory() as folder:  # a copy that is compressed otherwise
            try:
                copy(candidate, entry, Path(folder, "copy"), name=output.name, quiet=True)
                return Place(True, f"{where}right, compressed otherwise")
            except Unusable as error:
                wrong.append(f"{place} {error}")
    if wrong:
        return Place(False, "; ".join(wrong))
    return Place(None, "no copy" if mirror else "WORDORDER_MIRROR is not set")


def _ask(entry: Download, timeout: float) -> Place:
    """Ask for the head of the file alone."""
    if entry.url is None:
        return Place(None, f"none, to be got by hand: {entry.by_hand}")
    headers = {"User-Agent": f"wordorder/{__version__}", "Accept-Encoding": "identity"}
    try:
        with opener().open(request_of(entry.url, headers, "HEAD"), timeout=timeout) as response:
            length = length_of(response)
    except urllib.error.HTTPError as error:
        return Place(False, f"answers {error.code} {error.reason}")
    except ValueError as error:  # also http.client's, of a host's name
        return Place(False, f"no address, or answers with none ({error})")
    except (urllib.error.URLError, http.client.HTTPException, OSError) as error:
        return Place(None, f"not reached ({getattr(error, 'reason', None) or error or type(error).__name__})")
    if length is None or entry.bytes is None:
        return Place(True, f"reached, {'size not told' if length is None else f'{length} bytes'}")
    if length != entry.bytes:
        return Place(False, f"serves {length} bytes instead of {entry.bytes}")
    return Place(True, "reached, size right")
