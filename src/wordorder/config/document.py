"""Configuration text, read safely, that remembers on which line each key stands."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from copy import deepcopy
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import yaml

from wordorder.errors import WordorderError

Location = tuple[str | int, ...]  # ("recipe", "adam_betas", 0)


class Problem(NamedTuple):
    """Something wrong at one place of a document; ``sentence`` does not repeat the file or the line."""

    location: Location
    sentence: str
    line: int | None = None  # that of the location when missing


class Document:
    """Data of plain types (``None``, bool, int, float, str, list, dict with text keys) and where it came from."""

    def __init__(self, origin: str, data: Any, lines: dict[Location, int] | None = None) -> None:
        self.origin, self.data, self.lines = origin, data, lines or {}

    def line(self, location: Location) -> int | None:
        """Line (from 1) of the key at ``location``, or of the nearest group around it."""
        while location and location not in self.lines:
            location = location[:-1]
        return self.lines.get(location)

    def error(self, problems: list[Problem]) -> WordorderError:
        """All ``problems``, in the order of the lines, as one error."""
        placed = sorted({(p.line or self.line(p.location) or 0, p.sentence) for p in problems})
        if len(placed) == 1:
            line, sentence = placed[0]
            return WordorderError(f"{self.origin}{f', line {line}' if line else ''}: {sentence}")
        told = (f"  {f'line {line}: ' if line else ''}{sentence}" for line, sentence in placed)
        return WordorderError("\n".join([f"{self.origin} has {len(placed)} problems:", *told]))


class _Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
    """Scalars as in YAML 1.2: ``1e-3`` is a number, while ``no`` (Norwegian), ``on`` and dates are text."""

    yaml_implicit_resolvers: ClassVar[dict[str, Any]] = {}


_SCALARS: dict[str, tuple[str, Callable[[str], Any]]] = {
    "null": (r"~|null|Null|NULL|", lambda text: None),
    "bool": (r"true|True|TRUE|false|False|FALSE", lambda text: text.lower() == "true"),
    "int": (r"[-+]?[0-9]{1,19}", int),  # more digits are text, such as a checksum
    "float": (r"[-+]?(?:(?:\.[0-9]+|[0-9]+\.[0-9]*)(?:[eE][-+]?[0-9]+)?|[0-9]+[eE][-+]?[0-9]+)", float),
    "str": (r".*", str),
}
_TAG = "tag:yaml.org,2002:"
for _tag, (_pattern, _) in _SCALARS.items():
    _Loader.add_implicit_resolver(f"{_TAG}{_tag}", re.compile(rf"^(?:{_pattern})$"), None)


def read_yaml(path: str | Path) -> Document:
    """Read a YAML (or JSON) file. Duplicate keys, aliases and tags of other types are errors."""
    try:
        text = Path(path).read_text(encoding="utf-8")
    except FileNotFoundError as error:
        raise WordorderError(f"{path} does not exist.") from error
    except UnicodeDecodeError as error:
        raise WordorderError(f"{path} is not UTF-8: byte {error.start} is invalid. Save it as UTF-8.") from error
    except OSError as error:
        raise WordorderError(f"{path} cannot be read: {error.strerror}.") from error
    # A workflow asks for the same files thousands of times. Whoever asks may change the data that they get.
    document = _parsed(text, str(path))
    return Document(document.origin, deepcopy(document.data), document.lines)


def parse_yaml(text: str, origin: str) -> Document:
    """As :func:`read_yaml`, from text; ``origin`` names it in errors."""
    loader = _Loader(text)
    try:
        node = loader.get_single_node()
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        place = f", line {mark.line + 1}" if mark else ""
        problem = " ".join(str(getattr(error, "problem", None) or error).split())
        raise WordorderError(f"{origin}{place}: this is not valid YAML: {problem}.") from error
    finally:
        loader.dispose()
    document = Document(origin, None)
    if node is not None:
        problems: list[Problem] = []
        document.data = _build(node, (), document.lines, problems, set())
        if problems:
            raise document.error(problems)
    return document


_parsed = lru_cache(maxsize=256)(parse_yaml)


def _build(
    node: yaml.Node, location: Location, lines: dict[Location, int], problems: list[Problem], seen: set[int]
) -> Any:
    """The data under ``node``; fills in ``lines`` and ``problems``."""
    if id(node) in seen:  # also what an endless or exponentially large document would be made of
        problems.append(Problem(location, f"{quoted(location)} is an alias (*), which is not read; write it out."))
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
                problems.append(
                    Problem(location, f"the key {key} in {quoted(location)} is not text; put it in quotes.", line)
                )
                continue
            place = (*location, key_node.value)
            if place in lines:
                problems.append(
                    Problem(place, f"{quoted(place)} was already given on line {lines[place]}; keep one of them.", line)
                )
                continue
            lines[place] = line
            data[key_node.value] = _build(child, place, lines, problems, seen)
        return data
    problems.append(
        Problem(location, f"{quoted(location)} has the type {node.tag}, which is not read; remove it.", line)
    )
    return None


def parse_json(text: str, origin: str) -> Document:
    """JSON text; duplicate keys are errors."""

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        for _, key in repeated([key for key, _ in pairs]):
            raise WordorderError(f"{origin}: the key '{key}' is given more than once; keep one of them.")
        return dict(pairs)

    try:
        return Document(origin, json.loads(text, object_pairs_hook=unique))
    except (ValueError, RecursionError) as error:
        raise WordorderError(f"{origin}: this is not valid JSON: {error}.") from error


def repeated(values: list[Any]) -> list[tuple[int, Any]]:
    """Place and value of those ``values`` that stand earlier in the list too."""
    return [(i, value) for i, value in enumerate(values) if value in values[:i]]


def quoted(location: Location) -> str:
    """``'recipe.adam_betas[0]'``, as people write it."""
    text = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in location)
    return f"'{text.removeprefix('.')}'" if text else "the top level"
