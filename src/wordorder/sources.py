"""Digests of Python code, which tell whether the code of an extension has changed."""

from __future__ import annotations

import ast
import hashlib
import tokenize
from pathlib import Path
from typing import Any

_WITH_DOCSTRING = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


def code_digest(path: Path) -> str:
    """Return the first ten hexadecimal digits of the SHA-256 of a file's code.

    Comments, docstrings and the layout do not count, because they do not affect what the code does.

    Args:
        path: A file with Python code; of a compiled file, all bytes count.

    Raises:
        OSError: The file cannot be read.
    """
    try:
        with tokenize.open(path) as file:
            content = repr(_plain(ast.parse(file.read()))).encode()
    except (SyntaxError, ValueError):  # It holds no source code.
        content = path.read_bytes()
    return hashlib.sha256(content).hexdigest()[:10]


def _plain(value: Any) -> Any:
    """Return a part of a syntax tree as lists and constants, without empty parts, in which Python's versions differ."""
    if isinstance(value, ast.AST):
        fields = dict(ast.iter_fields(value))
        if isinstance(value, _WITH_DOCSTRING) and ast.get_docstring(value, clean=False) is not None:
            fields["body"] = fields["body"][1:]
        if isinstance(value, ast.JoinedStr):
            fields["values"] = [own for own in value.values if getattr(own, "value", None) != ""]
        return [type(value).__name__, *([name, _plain(own)] for name, own in fields.items() if own not in (None, []))]
    return [_plain(own) for own in value] if isinstance(value, list) else value
