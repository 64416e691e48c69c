"""Register, list, parse and build encodings."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, TypeVar

from wordorder.config.document import Document
from wordorder.config.encodings import EncodingEntry
from wordorder.config.extensions import name_of
from wordorder.config.problems import validated
from wordorder.encodings.base import REGISTRY, Encoding, EncodingConfig, Shape
from wordorder.encodings.control import Control
from wordorder.errors import WordorderError, closest
from wordorder.wording import listed

Class = TypeVar("Class", bound=type[Encoding])

COMPOSED: Final = "composed"  # the type of a composition
HOOKS: Final = ("_add_to_embeddings", "_transform_embeddings", "_attention", "_cross_attention")


def register(config: type[EncodingConfig]) -> Callable[[Class], Class]:
    """Register the decorated class as the encoding that the default of its configuration's ``type`` names.

    Raises:
        WordorderError: The class has no hook, or has an attribute that belongs to the configuration.
    """

    def add(encoding: Class) -> Class:
        _refuse_without_effect(encoding, name_of(config, "type"))
        encoding.configuration = config
        REGISTRY.add(name_of(config, "type"), encoding)
        return encoding

    return add


def _refuse_without_effect(encoding: type[Encoding], name: str) -> None:
    """Reject a class whose hooks are misspelt, and a revision that nothing reads.

    A class that derives from another encoding inherits its hooks.

    Raises:
        WordorderError: The class overrides no hook, or states a revision.
    """
    where = f"The encoding '{name}' (class {encoding.__qualname__})"
    own_base = Encoding in encoding.__bases__ and name != "none"
    if own_base and all(getattr(encoding, hook) is getattr(Encoding, hook) for hook in HOOKS):
        own = [key for key in vars(encoding) if not key.startswith("__")]
        close = next((f" Is '{key}' meant as '{hook}'?" for key in own if (hook := closest(key, HOOKS))), "")
        raise WordorderError(
            f"{where} would do nothing, because it overrides none of its hooks: {listed(HOOKS)}.{close}",
            code="encoding-without-hook",
            key=name,
            expected=list(HOOKS),
        )
    if "revision" in vars(encoding):
        raise WordorderError(
            f"{where} states 'revision', which only its configuration may state. Move the line to the class of the "
            "configuration, a subclass of EncodingConfig.",
            code="misplaced-revision",
            key="revision",
        )


def encoding_types() -> list[str]:
    """Return the names of all single encodings, sorted."""
    return [name for name in REGISTRY.names() if name != COMPOSED]


def parse(entry: Mapping[str, Any]) -> EncodingConfig:
    """Parse an entry of encodings.yaml that is already in memory; :mod:`wordorder.config.load` parses files.

    Args:
        entry: The entry, such as ``{"type": "rope"}``.

    Returns:
        Its configuration.

    Raises:
        WordorderError: The entry is wrong. The error reports all mistakes.
    """
    return validated(Document("The encoding's entry", dict(entry)), EncodingEntry).root


def build(config: EncodingConfig, shape: Shape) -> Encoding:
    """Build the module of a configuration for a model of the given shape."""
    encoding = REGISTRY.get(config.type)(config, shape)
    return encoding if config.places is None else Control(encoding)
