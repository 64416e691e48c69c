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

Class = TypeVar("Class", bound=type[Encoding])

COMPOSED: Final = "composed"  # the type of a composition


def register(config: type[EncodingConfig]) -> Callable[[Class], Class]:
    """Register the decorated class as the encoding that the default of its configuration's ``type`` names."""

    def add(encoding: Class) -> Class:
        encoding.configuration = config
        REGISTRY.add(name_of(config, "type"), encoding)
        return encoding

    return add


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
