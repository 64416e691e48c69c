"""The ``wordorder`` command line."""

from __future__ import annotations

import sys
from types import TracebackType

_before = sys.excepthook


def _hook(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """Report Ctrl-C while the command imports its libraries, which takes a second, with one sentence."""
    if issubclass(kind, KeyboardInterrupt):
        print("wordorder: Ctrl-C stopped the command before it had begun.", file=sys.stderr)
    else:
        _before(kind, error, trace)


sys.excepthook = _hook
