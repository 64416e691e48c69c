"""Finds the encodings: every module of this package, and every file of the folders in ``WORDORDER_ENCODINGS``."""

from __future__ import annotations

import difflib
import importlib
import importlib.util
import json
import os
import pkgutil
import sys
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

from pydantic import ValidationError

from wordorder.encodings.base import Encoding, EncodingConfig, Shape
from wordorder.encodings.compose import Composed, ComposedConfig
from wordorder.errors import WordorderError

_registered: dict[str, tuple[type[EncodingConfig], type[Encoding]]] = {}
Class = TypeVar("Class", bound=type[Encoding])


def register(config: type[EncodingConfig]) -> Callable[[Class], Class]:
    """Class decorator: makes an encoding known under the default of its configuration's ``type``."""

    def add(encoding: Class) -> Class:
        name = config.model_fields["type"].default
        if not isinstance(name, str):
            raise WordorderError(
                f"{config.__name__} of {encoding.__module__} does not name its type. Give it a line such as "
                '\'type: Literal["name"] = "name"\'.'
            )
        known = _registered.get(name, (config, encoding))[1]
        # The same class comes again when its file is read again after another file was broken.
        if (known.__module__, known.__qualname__) != (encoding.__module__, encoding.__qualname__):
            raise WordorderError(
                f"Two encodings are called '{name}': {known.__qualname__} of {known.__module__} and "
                f"{encoding.__qualname__} of {encoding.__module__}. Rename one of them."
            )
        _registered[name] = (config, encoding)
        return encoding

    return add


@cache
def _discover() -> None:
    package = importlib.import_module("wordorder.encodings")
    for module in pkgutil.iter_modules(package.__path__):
        importlib.import_module(f"wordorder.encodings.{module.name}")
    for folder in filter(None, os.environ.get("WORDORDER_ENCODINGS", "").split(os.pathsep)):
        if not Path(folder).is_dir():
            problem = "is a file; name the folder that it lies in" if Path(folder).exists() else "does not exist"
            raise WordorderError(f"WORDORDER_ENCODINGS names {folder}, which {problem}.")
        for file in sorted(Path(folder).glob("*.py")):
            _import_file(file)


def _import_file(file: Path) -> None:
    name = str(file.resolve())  # as the module's name, so that files of one name in two folders stay apart
    spec = importlib.util.spec_from_file_location(name, file)
    assert spec is not None and spec.loader is not None  # always so for an existing .py file
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except WordorderError as error:
        raise WordorderError(f"The encoding file {file} cannot be loaded. {error}") from error
    except Exception as error:
        raise WordorderError(f"The encoding file {file} cannot be loaded: {type(error).__name__}: {error}.") from error


def encoding_types() -> list[str]:
    """The names of all encodings that can be used, sorted."""
    _discover()
    return sorted(_registered)


def parse(entry: Mapping[str, Any]) -> EncodingConfig:
    """Give an entry of encodings.yaml its type.

    ``{type: NAME, parameters…}`` is one encoding, ``{compose: [entry, …]}`` several at once.
    Raises WordorderError with a full sentence where the entry is wrong.
    """
    if "compose" in entry:
        return _parse_composition(entry)
    name = entry.get("type")
    if not isinstance(name, str):
        raise WordorderError(f"An encoding needs a 'type' or a 'compose' list, but {dict(entry)} has neither.")
    _discover()
    if name not in _registered:
        near = difflib.get_close_matches(name, _registered, n=1)
        hint = f" Did you mean '{near[0]}'?" if near else ""
        raise WordorderError(
            f"There is no encoding of type '{name}'.{hint} Known types: {', '.join(encoding_types())}."
        )
    try:
        # Strictly, as in the other files of the configuration: the text "8" and the truth value true are no numbers.
        return _registered[name][0].model_validate_json(json.dumps(dict(entry)), strict=True)
    except ValidationError as error:
        raise WordorderError(_explain(name, error)) from error


def _parse_composition(entry: Mapping[str, Any]) -> EncodingConfig:
    # A parsed composition that was written down again names its type and placement too.
    known = {"type": "composed", "placement": "both"}
    unknown = [key for key in entry if key != "compose" and (key not in known or entry[key] != known[key])]
    parts = entry["compose"]
    if unknown:
        raise WordorderError(
            f"A composition of encodings has only the key 'compose', but also '{min(unknown)}' is given. "
            "Give it to the encodings of the list."
        )
    if not isinstance(parts, (list, tuple)) or len(parts) < 2 or not all(isinstance(part, Mapping) for part in parts):
        raise WordorderError(
            f"'compose' must be a list of at least two encodings, each with a 'type', but is {parts!r}."
        )
    if any("compose" in part for part in parts):
        raise WordorderError("A composition cannot hold another composition; write all encodings in one list.")
    configs = tuple(parse(part) for part in parts)
    absolute = [config.type for config in configs if _registered[config.type][1].absolute]
    if len(absolute) > 1:
        raise WordorderError(
            f"The encodings {' and '.join(absolute)} are both absolute and cannot be used at once, because the sum of "
            "two absolute encodings is neither. Keep one of them and compose it with relative encodings."
        )
    return ComposedConfig(compose=configs)


def _explain(name: str, error: ValidationError) -> str:
    known = [field for field in _registered[name][0].model_fields if field != "type"]
    problems = []
    for problem in error.errors():
        key = ".".join(str(part) for part in problem["loc"]) or "the entry"
        if problem["type"] == "extra_forbidden":
            near = difflib.get_close_matches(key, known, n=1)
            hint = f" Did you mean '{near[0]}'?" if near else ""
            problems.append(f"the encoding '{name}' has no parameter '{key}' (it has {', '.join(known)}).{hint}")
        else:
            problems.append(f"its '{key}' is {problem['input']!r}: {problem['msg']}.")
    return f"The encoding '{name}' is not well configured: " + " ".join(problems)


def build(config: EncodingConfig, shape: Shape) -> Encoding:
    """Make the module of a parsed configuration for a model of the given shape."""
    if isinstance(config, ComposedConfig):
        return Composed(config, shape, [build(part, shape) for part in config.compose])
    _discover()
    return _registered[config.type][1](config, shape)
