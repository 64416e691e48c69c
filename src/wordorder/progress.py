"""Progress of long work: a bar on a terminal, plain lines in a log."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Iterator
from typing import Any, TypeVar

from tqdm import tqdm

T = TypeVar("T")


class Progress:
    """Counts ``total`` steps; ``note`` is a short text next to the count. The unit "B", bytes, is scaled.

    On a terminal this is a tqdm bar. Elsewhere one line is printed at most every ``interval`` seconds, so that a job's
    log stays readable.
    """

    def __init__(
        self, description: str, *, total: int | None = None, unit: str = "it", initial: int = 0, interval: float = 10.0
    ) -> None:
        self.description, self.total, self.unit, self.interval = description, total, unit, interval
        self.count = initial
        self.note = ""
        self._terminal = sys.stderr is not None and sys.stderr.isatty()
        self._printed = time.monotonic()
        self._bar: tqdm[Any] | None = None
        if self._terminal:
            self._bar = tqdm(
                desc=description, total=total, unit=unit, unit_scale=unit == "B", initial=initial, dynamic_ncols=True
            )

    def advance(self, steps: int = 1, note: str | None = None) -> None:
        """Count steps, and show a note."""
        self.count += steps
        if note is not None:
            self.note = note
        if self._bar is not None:
            if note is not None:
                self._bar.set_postfix_str(note, refresh=False)
            self._bar.update(steps)
        elif time.monotonic() - self._printed >= self.interval:
            self._print()

    def _print(self) -> None:
        if sys.stderr is None:  # It was closed before the process started.
            return
        self._printed = time.monotonic()
        total = f"/{self._amount(self.total)}" if self.total else ""
        note = f"  {self.note}" if self.note else ""
        print(f"{self.description}: {self._amount(self.count)}{total} {self.unit}{note}", file=sys.stderr, flush=True)

    def _amount(self, count: int) -> str:
        return tqdm.format_sizeof(count) if self.unit == "B" else str(count)

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if self._bar is not None:
            self._bar.close()
        # A generator that is not read to its end is closed at any later time, when its line would surprise the reader.
        elif kind is not GeneratorExit:
            self._print()


def track(items: Iterable[T], description: str, *, total: int | None = None, unit: str = "it") -> Iterator[T]:
    """Yield ``items`` and show how many are done."""
    with Progress(description, total=total, unit=unit) as progress:
        for item in items:
            yield item
            progress.advance()
