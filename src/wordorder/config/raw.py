"""Access to raw data of any shape, and the problems that all checks look for."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from typing import Any

from wordorder.config.base import NAME
from wordorder.config.document import Location, Problem, quoted
from wordorder.config.problems import unknown
from wordorder.errors import closest, nearest


def get(data: Any, key: Any) -> Any:
    """Return a value of a group; None if there is no such key, or no group."""
    return data.get(key) if isinstance(data, dict) else None


def list_of(data: Any, key: str) -> list[Any]:
    """Return a list of a group; empty if there is none."""
    value = get(data, key)
    return value if isinstance(value, list) else []


def texts_of(data: Any, key: str) -> Iterator[tuple[Location, str]]:
    """Yield the texts of a list of a group, with their places."""
    return (((key, i), value) for i, value in enumerate(list_of(data, key)) if isinstance(value, str))


def unknown_names(used: Iterable[tuple[Location, Any]], kind: str, names: Collection[str]) -> Iterator[Problem]:
    """Yield a problem for each name that is not known; ``kind`` is the plural of what it names."""
    for location, name in used:
        if isinstance(name, str) and name not in names:
            yield unknown(location, name, kind[:-1], names)


def foreign(location: Location, name: str, role: str, known: Iterable[str], plural: str) -> Problem:
    """Create the problem that a name is not among those that ``role`` allows."""
    sentence = f"{quoted(location)} is '{name}', which is not {role}{nearest(name, known, plural)}"
    suggestion = closest(name, known)
    return Problem(location, sentence, "unknown-name", found=name, expected=sorted(known), suggestion=suggestion)


def name_problems(data: Any, stem: str, kind: str) -> Iterator[Problem]:
    """Check that the name in a file is that of the file."""
    name = get(data, "name")
    if isinstance(name, str) and name != stem:
        sentence = f"'name' is '{name}', but the file is '{stem}.yaml'. The two names of a {kind} must be equal."
        yield Problem(("name",), sentence, "wrong-name", found=name, expected=stem)


def dot_problems(location: Location, what: str) -> Iterator[Problem]:
    """Refuse a dot, which separates this name from others in the names of files."""
    name = str(location[-1])
    if "." in name and re.match(NAME, name):
        sentence = f"the name of {what} cannot contain a dot, but is '{name}'; write '-' or '_' instead."
        yield Problem(location, sentence, "reserved-name", found=name)
