"""Resolution of studies that refer to other files: to a study that they are based on, or to a named recipe."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any

from wordorder.config.document import Document, Problem
from wordorder.config.models import Study
from wordorder.config.problems import unknown
from wordorder.registry import registry_of

KEY = "based_on"
# Keys that are not inherited: a small-scale variant would otherwise run the companions of the original.
_NOT_INHERITED = ("companions", "paper")


def is_derived(document: Document) -> bool:
    """Return whether a document is based on another study."""
    return isinstance(document.data, dict) and KEY in document.data


def with_recipe(document: Document, recipes: Mapping[str, dict[str, Any]]) -> Document:
    """Replace the name of a recipe in a study by the recipe.

    Args:
        document: The study.
        recipes: The named recipes.

    Returns:
        The study with its recipe.

    Raises:
        WordorderError: There is no recipe of this name.
    """
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
    """Merge a study's file with the study that it is based on.

    Groups of keys are merged key by key. Everything else, including the name of a recipe, replaces the inherited value,
    and null removes a key. Companions and the paper are not inherited. Problems of inherited keys refer to the
    line that inherits them.

    Args:
        document: The study's file.
        read: Reads one of the known studies.
        known: The names of all studies.
        recipes: The named recipes.

    Returns:
        The complete study.

    Raises:
        WordorderError: The study is based on itself, or on an unknown study.
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
        # A null removes nothing if the key is not inherited, but a misspelt key stays, to be reported.
        absent = Study.model_fields.keys() - inherited.keys()
        own = {k: value for k, value in document.data.items() if k != KEY and not (value is None and k in absent)}
        if _replaces_decodings(inherited, own):
            del inherited["decoding"]
        if isinstance(inherited.get("analyses"), dict):
            # In the first study, null is an analysis with its defaults; in one that is based on it, null removes one.
            inherited["analyses"] = _with_defaults(inherited["analyses"])
        if isinstance(own.get("analyses"), dict):
            own["analyses"] = _without_removed(own["analyses"], inherited.get("analyses"))
        lines = {**document.lines, (): document.lines[(KEY,)]}
        return Document(document.origin, merged(inherited, own), lines)

    return on_top(document)


def _replaces_decodings(inherited: Mapping[str, Any], own: Mapping[str, Any]) -> bool:
    """Return whether a study's decodings replace the inherited ones: a single one and several cannot be merged."""
    decoding, more = inherited.get("decoding"), own.get("decoding")
    if not isinstance(decoding, dict) or not isinstance(more, dict):
        return False
    only_removes = all(value is None for value in more.values())
    return not only_removes and _names_decodings(inherited) != _names_decodings(own)


def _with_defaults(analyses: Mapping[str, Any]) -> dict[str, Any]:
    return {name: {} if settings is None else settings for name, settings in analyses.items()}


def _without_removed(analyses: Mapping[str, Any], inherited: Any) -> dict[str, Any]:
    """Drop the nulls of analyses that exist but are not inherited. Others stay, because the name may be misspelt."""
    removed = set(registry_of("analyses").names()) - set(inherited if isinstance(inherited, dict) else ())
    return {name: value for name, value in analyses.items() if value is not None or name not in removed}


def _names_decodings(study: Mapping[str, Any]) -> bool:
    """Return whether a study has several decodings, each with a name."""
    decoding = study.get("decoding")
    return isinstance(decoding, dict) and any(isinstance(value, dict) for value in decoding.values())


def merged(base: Any, own: Any) -> Any:
    """Merge ``own`` into ``base``. A null for a key that ``base`` lacks stays, because the key may be misspelt."""
    if not isinstance(own, dict):
        return own
    base = base if isinstance(base, dict) else {}
    both = {key: merged(base.get(key), value) for key, value in own.items()}
    return {key: value for key, value in {**base, **both}.items() if value is not None or key not in base}
