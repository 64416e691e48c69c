"""Types of command-line options: what is wrong with one is said before the command begins."""

from __future__ import annotations

import argparse
import math
from pathlib import Path


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
