"""What commands have in common: options that many share, and types, which say what is wrong before a command begins."""

from __future__ import annotations

import argparse
import math
from pathlib import Path
from typing import Any


def add_command(commands: Any, name: str, run: Any, text: str) -> argparse.ArgumentParser:
    """Add a command. The first sentence of ``text`` stands in the list of commands, all of it over the options."""
    first = text.partition(". ")[0].rstrip(".")
    parser: argparse.ArgumentParser = commands.add_parser(name, help=f"{first}.", description=text)
    parser.set_defaults(run=run)
    return parser


def add_config(parser: argparse.ArgumentParser, what: str) -> None:
    """The slice of the configuration that the command depends on."""
    parser.add_argument("--config", required=True, metavar="SLICE", help=f"{what}, as JSON or @FILE.yaml")


def add_paths(parser: argparse.ArgumentParser, **options: str) -> None:
    """A required option for each file or folder, by what it is."""
    for name, text in options.items():
        parser.add_argument(f"--{name.replace('_', '-')}", required=True, type=Path, metavar="PATH", help=text)


def positive(text: str) -> int:
    """A whole number from 1 on."""
    number = _whole(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no positive number")
    return number


def not_negative(text: str) -> int:
    """A whole number from 0 on."""
    number = _whole(text)
    if number < 0:
        raise argparse.ArgumentTypeError(f"{text!r} is less than 0")
    return number


def seconds(text: str) -> float:
    """A finite number above 0."""
    number = _real(text)
    if not 0 < number < math.inf:
        raise argparse.ArgumentTypeError(f"{text!r} is no positive number of seconds")
    return number


def share(text: str) -> float:
    """A number from 0 to 1."""
    number = _real(text)
    if not 0 <= number <= 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no number from 0 to 1")
    return number


def folder(text: str) -> Path:
    """A folder that is there. argparse asks this only of what was given, never of a default that is a path."""
    if not Path(text).is_dir():
        raise argparse.ArgumentTypeError(f"there is no folder {text!r}")
    return Path(text)


def _whole(text: str) -> int:
    try:
        return int(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number") from error


def _real(text: str) -> float:
    try:
        return float(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{text!r} is no number") from error
