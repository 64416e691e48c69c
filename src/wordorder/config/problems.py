"""What is wrong with a document, said in full sentences."""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Iterable
from types import UnionType
from typing import Annotated, Any, TypeVar, Union, get_args, get_origin

from pydantic import BaseModel, RootModel, ValidationError
from pydantic_core import ErrorDetails

from wordorder.config.document import Document, Location, Problem, quoted
from wordorder.config.models import NAME, SHA256, URL

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
    location: Location = details["loc"]
    kind, context, found = details["type"], details.get("ctx", {}), details["input"]
    if location and location[-1] == "[key]":
        location = location[:-1]
    name = quoted(location)
    if kind == "missing":
        return Problem(location[:-1], f"{name} is missing.")
    if kind == "extra_forbidden":
        keys = fields(model, location[:-1])
        return Problem(location, f"{name} is no known key{nearest(str(location[-1]), keys, 'keys here')}")
    if kind == "value_error":
        return Problem(location, f"{name} is wrong: {context['error']}.")
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


def fields(model: type[BaseModel], location: Location) -> list[str]:
    """The keys that ``model`` has at ``location``, where another model stands."""
    kind: Any = _inner(model)
    for part in location:
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            kind = _inner(kind.model_fields[str(part)].annotation)
        else:  # list[X] -> X, dict[str, X] -> X
            kind = _inner(get_args(kind)[-1])
    return list(kind.model_fields)


def _inner(kind: Any) -> Any:
    """``X`` of ``Annotated[X, ...]``, of ``X | None`` and of ``RootModel[X]``."""
    while True:
        if get_origin(kind) is Annotated:
            kind = get_args(kind)[0]
        elif get_origin(kind) in (Union, UnionType):
            kind = next(choice for choice in get_args(kind) if choice is not type(None))
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
