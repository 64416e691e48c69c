"""What a study's file leaves to others: to a study that it is based on, to a recipe that it names."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any

from wordorder.config.document import Document, Problem
from wordorder.config.problems import unknown

KEY = "based_on"
# What belongs to one study alone: its twin on a laptop would ask for the companions of the original.
_NOT_INHERITED = ("companions",)


def is_derived(document: Document) -> bool:
    return isinstance(document.data, dict) and KEY in document.data


def with_recipe(document: Document, recipes: Mapping[str, dict[str, Any]]) -> Document:
    """The study with the recipe that it names, where it names one of the ``recipes``. Raises WordorderError."""
    name = document.data.get("recipe") if isinstance(document.data, dict) else None
    if not isinstance(name, str):
        return document
    if name not in recipes:
        raise document.error([unknown(("recipe",), name, "recipe", recipes)])
    return Document(document.origin, {**document.data, "recipe": recipes[name]}, document.lines)


def derive(
    document: Document,
    read: Callable[[str], Document],
    known: Collection[str],
    recipes: Mapping[str, dict[str, Any]],
) -> Document:
    """What a study's file says, on top of the study that it is based on; ``read`` reads one of the ``known`` studies.

    Groups of keys are merged key by key, everything else replaces what was there, also the name of a recipe, and null
    takes a key away. Companions are not inherited. What is wrong with inherited keys is told of the line that inherits
    them. Raises WordorderError.
    """
    before: list[str] = []

    def on_top(document: Document) -> Document:
        name = document.data[KEY]
        if name not in known:
            raise document.error([unknown((KEY,), str(name), "study", known, "studies")])
        if name in before:
            circle = "', which is based on '".join([*before, name])
            raise document.error(
                [Problem((KEY,), f"The study is based on itself: '{KEY}' is '{circle}'.", "self-reference")]
            )
        before.append(name)
        base = read(name)
        base = with_recipe(on_top(base) if is_derived(base) else base, recipes)
        inherited = base.data if isinstance(base.data, dict) else {}
        inherited = {key: value for key, value in inherited.items() if key not in _NOT_INHERITED}
        own = {key: value for key, value in document.data.items() if key != KEY}
        if _names_decodings(inherited) != _names_decodings(own):  # a single decoding and several do not mix
            inherited = {key: value for key, value in inherited.items() if key != "decoding" or key not in own}
        lines = {**document.lines, (): document.lines[(KEY,)]}
        return Document(document.origin, merged(inherited, own), lines)

    return on_top(document)


def _names_decodings(study: Mapping[str, Any]) -> bool:
    """Return whether a study has several decodings, each with a name."""
    decoding = study.get("decoding")
    return isinstance(decoding, dict) and any(isinstance(value, dict) for value in decoding.values())


def merged(base: Any, own: Any) -> Any:
    """``own`` on top of ``base``."""
    if not isinstance(own, dict):
        return own
    base = base if isinstance(base, dict) else {}
    both = {key: merged(base.get(key), value) for key, value in own.items()}
    return {key: value for key, value in {**base, **both}.items() if value is not None}
