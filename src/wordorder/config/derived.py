"""A study that is another one but for what its file says: a small twin of a large study, for instance."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

from wordorder.config.document import Document, Problem
from wordorder.config.problems import nearest

KEY = "based_on"


def is_derived(document: Document) -> bool:
    return isinstance(document.data, dict) and KEY in document.data


def derive(document: Document, read: Callable[[str], Document], known: Collection[str]) -> Document:
    """What a study's file says, on top of the study that it is based on; ``read`` reads one of the ``known`` studies.

    Groups of keys are merged key by key, everything else replaces what was there, and null takes a key away. What is
    wrong with inherited keys is told of the line that inherits them. Raises WordorderError.
    """
    return _derive(document, read, known, [])


def _derive(document: Document, read: Callable[[str], Document], known: Collection[str], before: list[str]) -> Document:
    name = document.data[KEY]
    if name not in known:
        hint = nearest(str(name), known, "studies")
        raise document.error([Problem((KEY,), f"'{KEY}' is the unknown study '{name}'{hint}")])
    if name in before:
        circle = "', which is based on '".join([*before, name])
        raise document.error([Problem((KEY,), f"The study is based on itself: '{KEY}' is '{circle}'.")])
    base = read(name)
    if is_derived(base):
        base = _derive(base, read, known, [*before, name])
    own = {key: value for key, value in document.data.items() if key != KEY}
    lines = {**document.lines, (): document.lines[(KEY,)]}
    return Document(document.origin, merged(base.data, own), lines)


def merged(base: Any, own: Any) -> Any:
    """``own`` on top of ``base``."""
    if not isinstance(own, dict):
        return own
    base = base if isinstance(base, dict) else {}
    both = {key: merged(base.get(key), value) for key, value in own.items()}
    return {key: value for key, value in {**base, **both}.items() if value is not None}
