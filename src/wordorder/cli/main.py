"""The ``wordorder`` command line. Every workflow rule calls it; so can a person."""

from __future__ import annotations

import argparse
import importlib
import os
import signal
import sys
import threading
from collections.abc import Sequence
from typing import NoReturn

from wordorder import __version__
from wordorder.errors import EXIT_INTERRUPTED, EXIT_RETRY, Interrupted, WordorderError

# Each of these modules has add_commands(subparsers). They import heavy libraries inside the commands, not at the top,
# because the workflow starts hundreds of short processes.
COMMAND_MODULES = (
    "wordorder.cli.config",
    "wordorder.cli.data",
    "wordorder.cli.datasets",
    "wordorder.cli.alignment",
    "wordorder.cli.reordering",
    "wordorder.cli.parameters",
    "wordorder.cli.training",
    "wordorder.cli.decoding",
    "wordorder.cli.evaluate",
    "wordorder.cli.evaluation",
    "wordorder.cli.measuring",
    "wordorder.cli.figures",
    "wordorder.cli.analyses",
    "wordorder.cli.page",
    "wordorder.cli.plan",
    "wordorder.cli.status",
    "wordorder.cli.models",
)


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: error: {message}. See '{self.prog} --help'.\n")


def build_parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="wordorder", description="Fair comparisons of positional encodings in machine translation.")
    parser.add_argument("--version", action="version", version=f"wordorder {__version__}")
    subparsers = parser.add_subparsers(metavar="COMMAND", required=True, parser_class=_Parser)
    for name in COMMAND_MODULES:
        importlib.import_module(name).add_commands(subparsers)
    return parser


def _tidy_up_on_sigterm() -> None:
    """Let SIGTERM end the process as an exception does, so that nothing half-written is left; a second one kills it.

    'wordorder train' listens in its own way once it has begun, and a process that was told to ignore the signal does.
    """

    def end(number: int, _: object) -> None:
        signal.signal(number, signal.SIG_DFL)
        sys.exit(128 + number)

    on_main_thread = threading.current_thread() is threading.main_thread()
    if on_main_thread and signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
        signal.signal(signal.SIGTERM, end)


def main(arguments: Sequence[str] | None = None) -> int:
    try:
        _tidy_up_on_sigterm()
        arguments = sys.argv[1:] if arguments is None else list(arguments)
        options = build_parser().parse_args(arguments[1:] if arguments[:1] == ["stage"] else arguments)
        options.run(options)
    except WordorderError as error:
        print(f"wordorder: error: {error}", file=sys.stderr)
        return 1
    except Interrupted as error:
        print(f"wordorder: {error}", file=sys.stderr)
        return EXIT_RETRY
    except KeyboardInterrupt:
        print("wordorder: stopped by Ctrl-C before it was done.", file=sys.stderr)
        return EXIT_INTERRUPTED
    except BrokenPipeError:
        # The reader of our output (a pager, head) has gone; there is nobody to tell.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
