"""What several benchmarks share as scripts: a type of options, and the end with a sentence instead of a traceback."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence

from wordorder.errors import WordorderError


def positive(text: str) -> int:
    value = int(text)
    if value < 1:
        raise ValueError
    return value


def run_script(
    run: Callable[[argparse.Namespace], None], parse: Callable[[Sequence[str] | None], argparse.Namespace]
) -> None:
    """Run a benchmark with the options of the command line."""
    try:
        run(parse(None))
    except WordorderError as error:
        sys.exit(str(error))
    except KeyboardInterrupt:
        sys.exit(130)
