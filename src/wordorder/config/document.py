"""Safe reading of configuration text that remembers the line of each key."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable
from copy import deepcopy
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import yaml
from typing_extensions import override

from wordorder.errors import WordorderError
from wordorder.files import read_bytes

Location = tuple[str | int, ...]  # ("recipe", "adam_betas", 0)


class Problem(NamedTuple):
    """A mistake at one location of a document.

    Attributes:
        location: The location.
        sentence: The mistake, without the file and the line.
        code: The kind of mistake, as in :class:`WordorderError`.
        line: The line of the mistake; that of the location if missing.
        found: The value that was found.
        expected: The expected value.
        suggestion: The known name that was most likely meant.
    """

    location: Location
    sentence: str
    code: str = "invalid-value"
    line: int | None = None
    found: Any = None
    expected: Any = None
    suggestion: str | None = None

    @property
    def attributes(self) -> dict[str, Any]:
        """The attributes of an error about the mistake, except for its sentence, code and file."""
        names = ("line", "found", "expected", "suggestion")
        return {"key": dotted(self.location) or None} | {name: getattr(self, name) for name in names}


class ConfigurationError(WordorderError):
    """All mistakes of one document. Its own line, key and so on are those of the first of its ``problems``."""

    def __init__(self, message: str, origin: str | Path, problems: list[Problem]) -> None:
        super().__init__(message, code="invalid-configuration", path=_file(origin), **problems[0].attributes)
        self.problems = problems

    @property
    @override
    def parts(self) -> list[WordorderError]:
        """One error per problem."""
        return [WordorderError(own.sentence, code=own.code, path=self.path, **own.attributes) for own in self.problems]


class Document:
    """Data of plain types (``None``, bool, int, float, str, list, dict with text keys) and their origin.

    Args:
        origin: The file, or words that name another source in errors.
        data: The data.
        lines: The line of each location, from 1.
    """

    def __init__(self, origin: str | Path, data: Any, lines: dict[Location, int] | None = None) -> None:
        self.origin, self.data, self.lines = origin, data, lines or {}

    def line(self, location: Location) -> int | None:
        """Return the line (from 1) of the key at ``location``, or of the nearest group around it."""
        while location and location not in self.lines:
            location = location[:-1]
        return self.lines.get(location)

    def error(self, problems: list[Problem]) -> ConfigurationError:
        """Combine all ``problems``, in the order of the lines, into one error."""
        placed = {(p.line or self.line(p.location) or 0, p.sentence): p for p in problems}
        found = [placed[place]._replace(line=place[0] or None) for place in sorted(placed)]
        lines = [f"line {line}: {sentence}" if line else sentence for line, sentence in sorted(placed)]
        if len(lines) == 1:
            return ConfigurationError(f"{self.origin}{', ' if found[0].line else ': '}{lines[0]}", self.origin, found)
        message = "\n  ".join([f"{self.origin} has {len(lines)} problems:", *lines])
        return ConfigurationError(message, self.origin, found)


class _Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
    """A loader for scalars as in YAML 1.2: ``1e-3`` is a number; ``no`` (Norwegian), ``on`` and dates are text."""

    yaml_implicit_resolvers: ClassVar[dict[str, Any]] = {}


_SCALARS: dict[str, tuple[str, Callable[[str], Any]]] = {
    "null": (r"~|null|Null|NULL|", lambda text: None),
    "bool": (r"true|True|TRUE|false|False|FALSE", lambda text: text.lower() == "true"),
    "int": (r"[-+]?[0-9]{1,19}", int),  # More digits are text, such as a checksum.
    "float": (r"[-+]?(?:(?:\.[0-9]+|[0-9]+\.[0-9]*)(?:[eE][-+]?[0-9]+)?|[0-9]+[eE][-+]?[0-9]+)", float),
    "str": (r".*", str),
}
_TAG = "tag:yaml.org,2002:"
for _tag, (_pattern, _) in _SCALARS.items():
    _Loader.add_implicit_resolver(f"{_TAG}{_tag}", re.compile(rf"^(?:{_pattern})$"), None)


def read_yaml(path: str | Path) -> Document:
    """Read a YAML (or JSON) file. Duplicate keys, aliases and tags of other types are errors."""
    if not os.path.lexists(path):
        raise WordorderError(f"{path} does not exist.", code="missing-file", path=path)
    try:
        text = read_bytes(path).decode()
    except UnicodeDecodeError as error:
        raise WordorderError(
            f"{path} is not UTF-8: byte {error.start} is invalid. Save it as UTF-8.", code="not-utf-8", path=path
        ) from error
    # A workflow reads the same files thousands of times. Callers may change their copy of the data.
    document = _parsed(text, Path(path))
    return Document(document.origin, deepcopy(document.data), document.lines)


def parse_yaml(text: str, origin: str | Path) -> Document:
    """Parse text as :func:`read_yaml` does; ``origin`` names it in errors."""
    loader = _Loader(text)
    try:
        node = loader.get_single_node()
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        place = f", line {mark.line + 1}" if mark else ""
        problem = " ".join(str(getattr(error, "problem", None) or error).split())
        tab = mark and "\t" in "".join(text.splitlines()[mark.line : mark.line + 1])
        remedy = " Use spaces instead of tabs." if tab else ""
        raise WordorderError(
            f"{origin}{place}: this is not valid YAML: {problem}.{remedy}",
            code="invalid-yaml",
            path=_file(origin),
            line=mark and mark.line + 1,
        ) from error
    except RecursionError as error:
        raise _too_deep(origin) from error
    finally:
        loader.dispose()
    document = Document(origin, None)
    if node is not None:
        problems: list[Problem] = []
        try:
            document.data = _build(node, (), document.lines, problems, set())
        except RecursionError as error:
            raise _too_deep(origin) from error
        if problems:
            raise document.error(problems)
    return document


def _too_deep(origin: str | Path) -> WordorderError:
    return WordorderError(
        f"{origin}: this is not valid YAML: its values are nested too deeply. Remove brackets or indentation.",
        code="invalid-yaml",
        path=_file(origin),
    )


_parsed = lru_cache(maxsize=256)(parse_yaml)


def _build(
    node: yaml.Node, location: Location, lines: dict[Location, int], problems: list[Problem], seen: set[int]
) -> Any:
    """Build the data of ``node``, and fill in ``lines`` and ``problems``."""
    if id(node) in seen:  # Aliases could also create an endless or exponentially large document.
        sentence = f"{quoted(location)} is an alias (*), which is not supported; write the value out."
        problems.append(Problem(location, sentence, "yaml-alias"))
        return None
    seen.add(id(node))
    line = node.start_mark.line + 1
    lines.setdefault(location, line)
    tag = node.tag.removeprefix(_TAG)
    if isinstance(node, yaml.ScalarNode) and tag in _SCALARS:
        pattern, convert = _SCALARS[tag]
        if re.fullmatch(pattern, node.value, re.DOTALL):
            return convert(node.value)
    if isinstance(node, yaml.SequenceNode) and tag == "seq":
        return [_build(child, (*location, i), lines, problems, seen) for i, child in enumerate(node.value)]
    if isinstance(node, yaml.MappingNode) and tag == "map":
        data: dict[str, Any] = {}
        for key_node, child in node.value:
            line = key_node.start_mark.line + 1
            if key_node.tag != f"{_TAG}str":
                key = f"'{key_node.value}'" if isinstance(key_node.value, str) else "of several parts"
                sentence = f"the key {key} in {quoted(location)} is not text; put it in quotes."
                problems.append(Problem(location, sentence, "key-not-text", line))
                continue
            place = (*location, key_node.value)
            if place in lines:
                sentence = f"{quoted(place)} was already given on line {lines[place]}; keep one of them."
                problems.append(Problem(place, sentence, "duplicate-key", line))
                continue
            lines[place] = line
            data[key_node.value] = _build(child, place, lines, problems, seen)
        return data
    sentence = f"{quoted(location)} has the type {node.tag}, which is not supported; remove it."
    problems.append(Problem(location, sentence, "yaml-tag", line))
    return None


def parse_json(text: str, origin: str | Path) -> Document:
    """Parse JSON text; duplicate keys are errors."""

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        for _, key in repeated([key for key, _ in pairs]):
            raise WordorderError(
                f"{origin}: the key '{key}' is given more than once; keep one of them.",
                code="duplicate-key",
                path=_file(origin),
                key=key,
            )
        return dict(pairs)

    try:
        return Document(origin, json.loads(text, object_pairs_hook=unique))
    except (ValueError, RecursionError) as error:
        raise WordorderError(
            f"{origin}: this is not valid JSON: {error}.", code="invalid-json", path=_file(origin)
        ) from error


def repeated(values: list[Any]) -> list[tuple[int, Any]]:
    """Return index and value of all ``values`` that also occur earlier in the list."""
    return [(i, value) for i, value in enumerate(values) if value in values[:i]]


def _file(origin: str | Path) -> Path | None:
    return origin if isinstance(origin, Path) else None


def dotted(location: Location) -> str:
    """Format a location as ``recipe.adam_betas[0]``."""
    text = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in location)
    return text.removeprefix(".")


def quoted(location: Location) -> str:
    """Format a location for a sentence."""
    return f"'{dotted(location)}'" if location else "the top level"
