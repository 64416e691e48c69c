"""What is wrong with a document, said in full sentences."""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Iterable
from types import UnionType
from typing import Annotated, Any, TypeVar, Union, get_args, get_origin

from pydantic import BaseModel, RootModel, Tag, ValidationError
from pydantic_core import ErrorDetails

from wordorder.config.base import NAME
from wordorder.config.datasets import MD5, SHA1, SHA256, URL
from wordorder.config.document import Document, Location, Problem, quoted
from wordorder.config.published import COUNT

M = TypeVar("M", bound=BaseModel)

# What was expected, by pydantic's type of error; the fields in braces come from the error's context.
_EXPECTED = {
    "literal_error": "{expected}",
    "string_type": "text",
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "finite_number": "a finite number",
    "bool_type": "true or false",
    "list_type": "a list",
    "tuple_type": "a list",
    "dict_type": "a group of keys",
    "model_type": "a group of keys",
    "greater_than": "a number greater than {gt:g}",
    "greater_than_equal": "a number not less than {ge:g}",
    "less_than": "a number less than {lt:g}",
    "less_than_equal": "a number not greater than {le:g}",
    "too_short": "a list of at least {min_length}",
    "too_long": "a list of at most {max_length}",
}
_PATTERNS = {
    NAME: "a name of letters, digits and . _ + - that starts with a letter or digit",
    SHA256: "64 hexadecimal digits in lower case",
    SHA1: "40 hexadecimal digits in lower case",
    MD5: "32 hexadecimal digits in lower case",
    COUNT: "millions with their decimals, such as '63.08' or '+0.06', or 'none'",
    URL: "an address that starts with https:// or http://",
}


def validate(document: Document, model: type[M]) -> tuple[M | None, list[Problem]]:
    """The document as a ``model``, or ``None`` and every problem.

    Types are taken strictly, as in JSON: the text "1" and the truth value true are no numbers.
    """
    try:
        return model.model_validate_json(json.dumps(document.data), strict=True), []
    except ValidationError as error:
        return None, [_problem(details, model) for details in error.errors()]


def _problem(details: ErrorDetails, model: type[BaseModel]) -> Problem:
    location = _written(details["loc"], model)
    kind, context, found = details["type"], details.get("ctx", {}), details["input"]
    if kind == "union_tag_invalid":
        return _wrong_tag(location, context)
    if location and location[-1] == "[key]":
        location = location[:-1]
    name = quoted(location)
    if kind == "missing":
        return Problem(location[:-1], f"{name} is missing.")
    if kind == "extra_forbidden":
        keys = fields(model, details["loc"][:-1])
        return Problem(location, f"{name} is no known key{nearest(str(location[-1]), keys, 'keys here')}")
    if kind == "value_error":
        return Problem(location, f"{name} is wrong: {context['error']}.")
    if kind == "too_short" and isinstance(found, dict):
        least = context["min_length"]
        expected = f"a group of at least {least} key{'s' * (least > 1)}"
        return Problem(location, f"{name} must be {expected}, but has {len(found)}.")
    if kind == "string_pattern_mismatch":
        expected = _PATTERNS.get(context["pattern"], f"text that matches {context['pattern']}")
    elif kind in _EXPECTED:
        expected = _EXPECTED[kind].format(**context)
    else:
        return Problem(location, f"{name} is wrong: {details['msg']}.")
    sentence = f"{name} must be {expected}, but is {describe(found)}."
    if kind == "string_type" and isinstance(found, bool | int | float):
        sentence += " Put it in quotes."
    if kind == "literal_error":
        close = difflib.get_close_matches(str(found), re.findall(r"'([^']*)'", context["expected"]), n=1)
        sentence += f" Did you mean '{close[0]}'?" if close else ""
    return Problem(location, sentence)


def _wrong_tag(location: Location, context: dict[str, Any]) -> Problem:
    """``architecture``, the one key that tells models apart, names none of them."""
    location, tag = (*location, "architecture"), context["tag"]
    expected = context["expected_tags"].replace(", ", " or ")
    close = difflib.get_close_matches(tag, re.findall(r"'([^']*)'", expected), n=1)
    hint = f" Did you mean '{close[0]}'?" if close else ""
    return Problem(location, f"{quoted(location)} must be {expected}, but is {describe(tag)}.{hint}")


def fields(model: type[BaseModel], location: Location) -> list[str]:
    """The keys that ``model`` has at ``location``, as pydantic says it, where another model stands."""
    kind: Any = _inner(model)
    for part in location:
        kind = _inner(_below(kind, part))
    return list(kind.model_fields)


def _written(location: Location, model: type[BaseModel]) -> Location:
    """A location as it is in the document: pydantic puts the tag of a model chosen by its tag into it too."""
    kind: Any = _inner(model)
    written: list[str | int] = []
    for part in location:
        if not _tagged(kind):
            written.append(part)
        kind = _inner(_below(kind, part))
    return tuple(written)


def _below(kind: Any, part: str | int) -> Any:
    """What stands in ``kind`` at one part of a location of pydantic."""
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        field = kind.model_fields.get(str(part))
        return field.annotation if field else None
    if choices := _tagged(kind):
        return choices.get(str(part))
    return next(iter(get_args(kind)[-1:]), None)  # list[X] -> X, dict[str, X] -> X


def _tagged(kind: Any) -> dict[str, Any]:
    """The choices of a union by their tags; none where ``kind`` is no such union."""
    if get_origin(kind) not in (Union, UnionType):
        return {}
    return {tag.tag: choice for choice in get_args(kind) for tag in get_args(choice)[1:] if isinstance(tag, Tag)}


def _inner(kind: Any) -> Any:
    """``X`` of ``Annotated[X, ...]``, of ``X | None`` and of ``RootModel[X]``, and what ``X.written_as`` gives."""
    while True:
        if get_origin(kind) is Annotated:
            kind = get_args(kind)[0]
        elif get_origin(kind) in (Union, UnionType) and not _tagged(kind):
            kind = next(choice for choice in get_args(kind) if choice is not type(None))
        elif hasattr(kind, "written_as"):
            kind = kind.written_as()
        elif isinstance(kind, type) and issubclass(kind, RootModel):
            kind = kind.model_fields["root"].annotation
        else:
            return kind


def nearest(name: str, known: Iterable[str], plural: str) -> str:
    """The end of a sentence that said that ``name`` is unknown: the nearest of ``known``, and all of them."""
    names = sorted(known)
    close = difflib.get_close_matches(name, names, n=1)
    question = f"; did you mean '{close[0]}'?" if close else "."
    return f"{question} The {plural} are {', '.join(names)}." if names else f"{question} There are no {plural}."


def describe(value: Any) -> str:
    """A short text for something found in a document."""
    if value is None:
        return "empty"
    if isinstance(value, str):
        return f"the text '{value if len(value) <= 60 else value[:57] + '...'}'"
    if isinstance(value, dict):
        return "a group of keys"
    if isinstance(value, list):
        return f"a list of {len(value)}"
    return json.dumps(value)  # a number, true or false
