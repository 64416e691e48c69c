"""The ``wordorder`` command line: run a command, report its errors and return its exit status."""

from __future__ import annotations

import difflib
import importlib
import io
import os
import signal
import sys
import threading
import traceback
from collections.abc import Sequence
from types import FrameType
from typing import Annotated, Any

import typer
from typer.exceptions import TyperException

from wordorder import __version__
from wordorder.cli.app import UnknownCommand, app
from wordorder.cli.unforeseen import as_sentence
from wordorder.errors import EXIT_INTERRUPTED, EXIT_RETRY, Interrupted, WordorderError, as_json
from wordorder.files import DISK_FULL

EXIT_USAGE = 2
EXIT_TERMINATED = 128 + signal.SIGTERM
VARIABLE = "WORDORDER_ERRORS"
_INTERRUPTED = threading.Event()  # Ctrl-C was pressed

# Importing a module registers its commands; the order is that of the help. The modules import heavy libraries inside
# the commands, because the workflow starts hundreds of short processes.
for _module in (
    "project",
    "study",
    "evaluation",
    "decoding",
    "encodings",
    "datasets",
    "schema",
    "stages",
    "reference",
):
    importlib.import_module(f"wordorder.cli.{_module}")


def _print_version(wanted: bool) -> None:
    if wanted:
        print(f"wordorder {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of every error.")] = False,
) -> None:
    pass


def _tidy_up_on_signals() -> None:
    """Make SIGTERM raise SystemExit, so that partly written files are removed; a second signal kills the process.

    Ctrl-C raises KeyboardInterrupt, as in every Python program. It is also remembered, because libraries that swallow
    this exception while they are imported fail later, for another reason.

    'wordorder stage train' replaces these handlers by its own. A process that ignores a signal continues to ignore it.
    """

    def end(number: int, _: object) -> None:
        signal.signal(number, signal.SIG_DFL)
        sys.exit(128 + number)

    def interrupt(number: int, frame: FrameType | None) -> None:
        _INTERRUPTED.set()
        signal.default_int_handler(number, frame)

    _INTERRUPTED.clear()
    if threading.current_thread() is not threading.main_thread():
        return
    if signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
        signal.signal(signal.SIGTERM, end)
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, interrupt)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command.

    Args:
        arguments: The command line without the name of the program; None for that of the process.

    Returns:
        The exit status: 0 after success, 1 after an error, 2 after a mistake in the command line, 75 if the command was
        stopped and can resume, and 130 after Ctrl-C. After SIGTERM, it raises SystemExit with 143.
    """
    _tidy_up_on_signals()
    threading.excepthook = _report_of_thread
    words = list(sys.argv[1:] if arguments is None else arguments)
    debug = "--debug" in words
    try:
        _use_utf8()
        status = _run([word for word in words if word != "--debug"])
        if sys.stdout is not None:
            sys.stdout.flush()
    except WordorderError as error:
        return _report(error, debug=debug)
    except TyperException as error:
        return _usage_error(error)
    except Interrupted as error:
        print(f"wordorder: {error}", file=sys.stderr)
        return EXIT_RETRY
    except Exception as error:
        if isinstance(error, OSError) and error.filename is None and error.errno in DISK_FULL:
            _forget_output()  # otherwise Python would flush the buffer at exit and fail again
        if _INTERRUPTED.is_set():
            return _report_interrupt()
        return _report(as_sentence(error, log=not debug), debug=debug)
    except SystemExit as error:
        # Typer raises this when the reader of the output, such as head or a pager, has exited.
        if isinstance(error.__context__, BrokenPipeError):
            _forget_output()
        if error.code == EXIT_TERMINATED:
            print("wordorder: SIGTERM stopped the command before it had finished.", file=sys.stderr)
        raise
    return _report_interrupt() if status == EXIT_INTERRUPTED else status or 0


def _report_interrupt() -> int:
    print("wordorder: Ctrl-C stopped the command before it had finished.", file=sys.stderr)
    return EXIT_INTERRUPTED


def _report_of_thread(failed: threading.ExceptHookArgs) -> None:
    """Print errors of threads, except a full disk: TensorBoard's thread passes that on to the main thread."""
    if not (isinstance(failed.exc_value, OSError) and failed.exc_value.errno in DISK_FULL):
        threading.__excepthook__(failed)


def _run(words: list[str]) -> Any:
    return typer.main.get_command(app).main(words, prog_name="wordorder", standalone_mode=False)


def _use_utf8() -> None:
    """Use UTF-8 for the standard streams in every locale, and skip streams that are closed."""
    for stream in (sys.stdin, sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors="strict" if stream is sys.stdin else "backslashreplace")


def _forget_output() -> None:
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _report(error: WordorderError, *, debug: bool = False) -> int:
    """Print an error, as JSON lines if WORDORDER_ERRORS is 'json', and return the exit status."""
    if debug:
        for each in dict.fromkeys((error, *error.parts)):  # Each of several mistakes has its own cause.
            traceback.print_exception(each)
    if os.environ.get(VARIABLE) == "json":
        print(as_json(error), file=sys.stderr)
    else:
        print(f"wordorder: error: {error}", file=sys.stderr)
    return 1


def _usage_error(error: TyperException) -> int:
    """Report a mistake in the command line and return the exit status."""
    context: Any = getattr(error, "ctx", None)
    path = context.command_path if context else "wordorder"
    if type(error).__name__ == "NoArgsIsHelpError":
        print(error.format_message(), file=sys.stderr)
        return EXIT_USAGE
    text, code, found = f"{error.message.removeprefix('Value error, ').rstrip('.')}.", "usage", None
    param, key = getattr(error, "param", None), getattr(error, "option_name", None)
    suggestion = getattr(error, "suggestion", None)
    if isinstance(error, UnknownCommand):
        code = "unknown-command"
    elif param is not None:
        option = param.param_type_name == "option"
        key = max(param.opts, key=len) if option else param.metavar or param.name.upper()
        what = f"{param.param_type_name} {key}"
        code = "invalid-value" if error.message else "missing-value"
        text = f"The {what} is invalid. {text}" if error.message else f"The {what} is required."
        if isinstance(error.__cause__, ValueError) and hasattr(error.__cause__, "errors"):
            found = error.__cause__.errors()[0]["input"]
            text = f"The {what} is {found!r}. {text.partition('. ')[2]}"
    elif hasattr(error, "possibilities"):
        near = difflib.get_close_matches(str(key), _options(context), n=1)
        suggestion = near[0] if near else None
        code, text = "unknown-option", f"'{path}' has no option {key}."
    elif key:
        code, text = "missing-value", f"The option {key} requires a value."
    if suggestion:
        text += f" Did you mean '{suggestion}'?"
    _report(WordorderError(f"{text} See '{path} --help'.", code=code, key=key, found=found, suggestion=suggestion))
    return EXIT_USAGE


def _options(context: Any) -> list[str]:
    return [name for param in context.command.get_params(context) for name in param.opts]
