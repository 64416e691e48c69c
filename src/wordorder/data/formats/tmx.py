"""Translation memories (TMX): one language of every translation unit, as a stream.

In TMX 1.4 a <tu> holds one <tuv xml:lang="…"> per language, each with a <seg>.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import IO, Any, Literal
from xml.parsers import expat

from pydantic import Field

from wordorder.config.datasets import TextFile
from wordorder.data.formats.base import Sentence, register
from wordorder.data.text import one_line
from wordorder.data.tokenise import base_language
from wordorder.errors import WordorderError, at_line

_BLOCK = 1 << 16
_UNDEFINED_ENTITY = expat.errors.codes[expat.errors.XML_ERROR_UNDEFINED_ENTITY]
_CODES = {"bpt", "ept", "it", "ph", "ut"}  # native codes of a text editor, not text


class _Unsafe(Exception):
    """The document declares entities, with which a small file can expand without limit."""


class _Undefined(Exception):
    """The document uses an entity that it does not declare, such as '&nbsp;'."""


class _Units:
    """Callbacks of the parser; ``texts`` are those of the finished units."""

    def __init__(self, language: str) -> None:
        self.language = language
        self.texts: list[str] = []
        self.seen: set[str] = set()
        self._found: str | None = None
        self._wanted = False  # inside a <tuv> of the language
        self._codes = 0  # number of open <ph> and similar elements
        self._pieces: list[str] | None = None  # text of the current <seg>

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        """Handle the start of an element."""
        if tag == "tu":
            self._found = None
        elif tag == "tuv":
            language = attributes.get("xml:lang") or attributes.get("lang") or ""
            self.seen.add(language)
            self._wanted = self._found is None and _same(language, self.language)
        elif tag == "seg" and self._wanted:
            self._pieces = []
        elif tag in _CODES:
            self._codes += 1

    def end(self, tag: str) -> None:
        if tag == "tu":
            self.texts.append(self._found or "")
        elif tag == "tuv":
            self._wanted = False
        elif tag == "seg" and self._pieces is not None:
            self._found, self._pieces = one_line("".join(self._pieces)).strip(), None
        elif tag in _CODES:
            self._codes -= 1

    def characters(self, data: str) -> None:
        if self._pieces is not None and not self._codes:
            self._pieces.append(data)


class TMXFile(TextFile):
    """Keys of a file with ``format: tmx``."""

    format: Literal["tmx"] = "tmx"
    language: str = Field(description="Language to read, such as 'ro'.")


@register(TMXFile)
def read(file: IO[bytes], text: TMXFile, name: str) -> Iterator[Sentence]:
    """Yield the text in one language of every <tu>: the first if it has several, '' if it has none.

    Every unit gives one sentence in any language, so two languages read from one file stay aligned.

    Args:
        file: The file.
        text: The format and its keys.
        name: The name of the file in errors.

    Yields:
        The sentences.

    Raises:
        WordorderError: The document is not well-formed, declares entities, uses entities that it does not declare, or
            does not have the language.
    """
    units, parser = _Units(text.language), expat.ParserCreate()
    parser.StartElementHandler, parser.EndElementHandler = units.start, units.end
    parser.CharacterDataHandler, parser.EntityDeclHandler = units.characters, _refuse
    parser.SkippedEntityHandler = _refuse_undefined
    parser.buffer_text = True
    found = False
    try:
        while True:
            block = file.read(_BLOCK)
            parser.Parse(block, not block)
            found = found or any(units.texts)
            yield from map(Sentence, units.texts)
            units.texts.clear()
            if not block:
                break
    except (expat.ExpatError, _Undefined) as error:
        # Without an external DTD, which could declare the entity, it is an error of the parser.
        if isinstance(error, _Undefined) or error.code == _UNDEFINED_ENTITY:
            sentence = (
                "the text contains an entity that XML does not define, such as '&nbsp;'. Replace the entity by its "
                "character, or by the number of the character ('&#160;')."
            )
            raise at_line(name, parser.CurrentLineNumber, sentence, code="xml-entities") from error
        sentence = f"this is not well-formed XML ({expat.ErrorString(error.code)}). Delete the file and fetch it again."
        raise at_line(name, error.lineno, sentence, code="invalid-xml") from error
    except (LookupError, ValueError) as error:  # includes UnicodeError
        raise WordorderError(
            f"{name}: the XML parser cannot read the encoding that the document declares ({error}). Convert the file "
            "to UTF-8, also in its first line.",
            code="not-utf-8",
            path=name,
        ) from error
    except _Unsafe as error:
        sentence = (
            "the document declares entities, which can expand a small file without limit. Replace the entities by "
            "their text."
        )
        raise at_line(name, parser.CurrentLineNumber, sentence, code="xml-entities") from error
    if not found:
        languages = ", ".join(sorted(units.seen)) or "none"
        raise WordorderError(
            f"{name} has no text in the language '{text.language}'. Its languages are: {languages}.",
            code="missing-language",
            path=name,
            key="language",
            found=sorted(units.seen),
            expected=text.language,
        )


def _refuse(*_: Any) -> None:
    raise _Unsafe


def _refuse_undefined(_: str, is_parameter: bool) -> None:
    if not is_parameter:  # that is a part of the DTD, not of the text
        raise _Undefined


def _same(given: str, wanted: str) -> bool:
    """Return whether a language code matches: 'EN-us' matches 'en'; 'pt-br' only itself."""
    return given.lower() == wanted.lower() or base_language(given) == wanted.lower()
