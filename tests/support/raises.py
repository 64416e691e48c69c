"""Expect errors by their attributes, so that their wording can improve."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from wordorder.errors import WordorderError


class Raised:
    """The error, once it was raised."""

    error: WordorderError


@contextmanager
def raises(
    code: str,
    path: str | Path | None = None,
    line: int | None = None,
    key: str | None = None,
    suggestion: str | None = None,
    *,
    found: Any = None,
    expected: Any = None,
    says: str = "",
) -> Iterator[Raised]:
    """Expect a WordorderError with the given attributes; those that are missing here are not looked at.

    If the error reports several mistakes, one of them must fit. ``says`` is a fact, such as a name or a number, that
    the message must contain, where no attribute holds it.
    """
    raised = Raised()
    with pytest.raises(WordorderError) as caught:
        yield raised
    raised.error = caught.value
    wanted = {
        "code": code,
        "path": None if path is None else Path(path),
        "line": line,
        "key": key,
        "suggestion": suggestion,
        "found": found,
        "expected": expected,
    }
    wanted = {name: value for name, value in wanted.items() if value is not None}
    seen = [{name: getattr(part, name) for name in wanted} for part in (caught.value, *caught.value.parts)]
    assert wanted in seen, f"expected {wanted}, but the error has {seen}: {caught.value}"
    assert says in str(caught.value), str(caught.value)
    assert str(caught.value).endswith((".", "?", "!")), f"no full sentence: {caught.value}"
