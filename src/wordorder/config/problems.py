"""Problems of a document, described in full sentences."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from types import UnionType
from typing import Annotated, Any, TypeVar, Union, get_args, get_origin

import yaml
from pydantic import BaseModel, RootModel, Tag, ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails

from wordorder.config.base import NAME
from wordorder.config.datasets import MD5, SHA1, SHA256, URL
from wordorder.config.document import Document, Location, Problem, quoted
from wordorder.config.extensions import ByName, MemberError
from wordorder.config.published import COUNT
from wordorder.errors import closest, nearest
from wordorder.registry import registry_of

M = TypeVar("M", bound=BaseModel)

# The expected value, by pydantic's type of error.
_TYPES = {
    "string_type": "text",
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "bool_type": "true or false",
    "list_type": "a list",
    "tuple_type": "a list",
    "dict_type": "a group of keys",
    "model_type": "a group of keys",
}
# The same with fields in braces, which come from the error's context.
_RANGES = {
    "finite_number": "a finite number",
    "multiple_of": "a multiple of {multiple_of}",
    "greater_than": "a number greater than {gt:g}",
    "greater_than_equal": "a number not less than {ge:g}",
    "less_than": "a number less than {lt:g}",
    "less_than_equal": "a number not greater than {le:g}",
}
_PATTERNS = {
    NAME: "a name of letters, digits and . _ + - that starts with a letter or digit",
    SHA256: "64 hexadecimal digits in lower case",
    SHA1: "40 hexadecimal digits in lower case",
    MD5: "32 hexadecimal digits in lower case",
    COUNT: "millions with their decimals, such as '63.08' or '+0.06', or 'none'",
    URL: "an address that starts with https:// or http://",
}


def validated(document: Document, model: type[M], more: Iterable[Problem] = ()) -> M:
    """Return the document as a ``model``.

    Types are strict, as in JSON: the text "1" and the truth value true are not numbers.

    Args:
        document: Any data.
        model: The model of the data.
        more: Problems that other checks have found.

    Returns:
        The parsed model.

    Raises:
        ConfigurationError: The data do not satisfy the model, or there are other problems. All are reported.
    """
    try:
        value = model.model_validate_json(json.dumps(document.data), strict=True)
    except ValidationError as error:
        raise document.error([*_problems(error, model), *more]) from None
    if problems := list(more):
        raise document.error(problems)
    return value


def _problems(
    error: ValidationError, model: type[BaseModel], at: Location = (), field: ByName | None = None
) -> Iterator[Problem]:
    for details in error.errors():
        cause = details.get("ctx", {}).get("error")
        if isinstance(cause, MemberError):  # The model of the field is in another registry.
            location = (*at, *_written(details["loc"], model), *cause.at)
            yield from _problems(cause.error, cause.model, location, cause.field)
        # Pydantic counts only the entries of a tuple that are correct.
        elif details["type"] != "too_short" or len(details["input"]) < details["ctx"]["min_length"]:
            yield _problem(details, model, at, field)


def _problem(details: ErrorDetails, model: type[BaseModel], at: Location, field: ByName | None) -> Problem:
    location = (*at, *_written(details["loc"], model))
    kind, context, found = details["type"], details.get("ctx", {}), details["input"]
    if kind == "union_tag_invalid":  # The key that selects a model; the function that finds it has its name.
        key, found = context["discriminator"].strip("_()'"), context["tag"]
        if isinstance(details["input"], dict):
            found = details["input"].get(key, found)  # Pydantic converts it to text.
        return _choice((*location, key), context["expected_tags"].replace(", ", " or "), found)
    if kind == "union_tag_not_found":
        location = (*location, context["discriminator"].strip("_()'"))
        return Problem(location, f"{quoted(location)} is missing.", "missing-key")
    if location and location[-1] == "[key]":
        location = location[:-1]
    name = quoted(location)
    if kind == "missing":
        keys = " or ".join(quoted((*location[:-1], key)) for key in _alternatives(location, field))
        return Problem(location, f"{keys} is missing.", "missing-key")
    if kind == "extra_forbidden":
        return _unknown_key(location, fields(model, details["loc"][:-1]), field if len(details["loc"]) == 1 else None)
    if kind == "unknown_member":
        registry = registry_of(context["kind"])
        problem = unknown(location, context["name"], registry.noun, registry.names())
        return problem._replace(sentence=problem.sentence + registry.searched(context["name"]))
    if kind == "value_error":
        return Problem(location, f"{name} is wrong: {context['error']}.", found=found)
    if kind == "literal_error":
        return _choice(location, context["expected"], found)
    code, expected = _expected(kind, context, found)
    if not expected:
        return Problem(location, f"{name} is wrong: {details['msg']}.", found=found)
    sentence = f"{name} must be {expected}, but is {describe(found)}."
    if kind == "string_type" and isinstance(found, bool | int | float):
        sentence += " Put it in quotes."
    if code == "wrong-type":
        sentence += _example(details["loc"], model)
    return Problem(location, sentence, code, found=found, expected=expected)


def _example(location: Location, model: type[BaseModel]) -> str:
    """Return a sentence with an example of the key at this location of pydantic, if the model has one."""
    field = model.model_fields.get(str(location[0])) if location else None
    if field is None or not field.examples:
        return ""
    line = yaml.safe_dump({location[0]: field.examples[0]}, default_flow_style=True, sort_keys=False, width=1000)
    return f" An example is '{line.strip()[1:-1]}'."


def _alternatives(location: Location, field: ByName | None) -> list[str | int]:
    """Return the missing key and its alternatives."""
    return [location[-1], *(field.implied if field and location[-1] == field.key else ())]


def _expected(kind: str, context: dict[str, Any], found: Any) -> tuple[str, str]:
    """Return the code of a mistake and the expected value; '' if pydantic's own message is used."""
    if kind in ("too_short", "too_long"):
        least, most = context.get("min_length"), context.get("max_length")
        bound = f"at least {least}" if kind == "too_short" else f"at most {most}"
        if isinstance(found, dict):
            return "wrong-length", f"a group of {bound} key{'s' * ((least or most) != 1)}"
        return "wrong-length", f"a list of {bound}"
    if kind == "string_pattern_mismatch":
        return "malformed-text", _PATTERNS.get(context["pattern"], f"text that matches {context['pattern']}")
    if kind in _TYPES:
        return "wrong-type", _TYPES[kind]
    return "out-of-range", _RANGES.get(kind, "").format(**context)


def _choice(location: Location, expected: str, found: Any) -> Problem:
    close = closest(str(found), re.findall(r"'([^']*)'", expected))
    hint = f" Did you mean '{close}'?" if close else ""
    sentence = f"{quoted(location)} must be {expected}, but is {describe(found)}.{hint}"
    return Problem(location, sentence, "unknown-choice", found=found, expected=expected, suggestion=close)


def _unknown_key(location: Location, keys: list[str], field: ByName | None) -> Problem:
    key = str(location[-1])
    sentence = f"{quoted(location)} is not a known key{nearest(key, keys, 'keys here')}"
    if field and (others := field.with_key(key)):
        sentence += f" It is a key of the {field.registry.noun} {' and '.join(map(repr, others))}."
    return Problem(location, sentence, "unknown-key", found=key, expected=keys, suggestion=closest(key, keys))


def unknown(location: Location, name: str, noun: str, known: Iterable[str], plural: str | None = None) -> Problem:
    """Create the problem that a name is not among ``known``, whose plural noun is ``plural``."""
    known = sorted(known)
    hint = nearest(name, known, plural or f"known {noun}s")
    sentence = f"{quoted(location)} is the unknown {noun} '{name}'{hint}"
    return Problem(location, sentence, "unknown-name", found=name, expected=known, suggestion=closest(name, known))


def fields(model: type[BaseModel], location: Location) -> list[str]:
    """Return the keys that ``model`` has at a location of pydantic."""
    kind: Any = _inner(model)
    for part in location:
        kind = _inner(_below(kind, part))
    return list(kind.model_fields)


def _written(location: Location, model: type[BaseModel]) -> Location:
    """Convert a location of pydantic, which includes the tag of a tagged union, to that in the document."""
    kind: Any = _inner(model)
    written: list[str | int] = []
    for part in location:
        if not _tagged(kind):
            written.append(part)
        kind = _inner(_below(kind, part))
    return tuple(written)


def _below(kind: Any, part: str | int) -> Any:
    """Return the type in ``kind`` at one part of a location of pydantic."""
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        field = kind.model_fields.get(str(part))
        return field and Annotated[field.annotation, field]
    if choices := _tagged(kind):
        return choices.get(str(part))
    return next(iter(get_args(kind)[-1:]), None)  # list[X] -> X, dict[str, X] -> X


def _tagged(kind: Any) -> dict[str, Any]:
    """Return the members of a tagged union by their tags; empty for other types."""
    if get_origin(kind) is Annotated:
        union, *notes = get_args(kind)
        key = next((note.discriminator for note in notes if isinstance(note, FieldInfo)), None)
        if isinstance(key, str):
            return {tag: own for own in get_args(union) for tag in get_args(own.model_fields[key].annotation)}
        return _tagged(union)
    if get_origin(kind) not in (Union, UnionType):
        return {}
    return {tag.tag: choice for choice in get_args(kind) for tag in get_args(choice)[1:] if isinstance(tag, Tag)}


def _inner(kind: Any) -> Any:
    """Return ``X`` of ``Annotated[X, ...]``, ``X | None``, ``RootModel[X]`` or a class whose ``written_as`` gives X.

    A union with tags stays as it is.
    """
    while not _tagged(kind):
        if get_origin(kind) is Annotated:
            kind = get_args(kind)[0]
        elif get_origin(kind) in (Union, UnionType):
            kind = next(choice for choice in get_args(kind) if choice is not type(None))
        elif hasattr(kind, "written_as"):
            kind = kind.written_as()
        elif isinstance(kind, type) and issubclass(kind, RootModel):
            kind = kind.model_fields["root"].annotation
        else:
            break
    return kind


def describe(value: Any) -> str:
    """Describe a value of a document in a few words."""
    if value is None:
        return "empty"
    if isinstance(value, str):
        return f"the text '{value if len(value) <= 60 else value[:57] + '...'}'"
    if isinstance(value, dict):
        return "a group of keys"
    if isinstance(value, list):
        return f"a list of {len(value)}"
    return json.dumps(value)  # a number, true or false
