"""What is known of one encoding: its formula, promises and parameters, and a figure of what it does."""

from __future__ import annotations

import json
import textwrap
from dataclasses import dataclass, field
from pathlib import Path

import torch

from wordorder.api.encodings import attention_weights
from wordorder.config.load import encoding_names, load_encodings
from wordorder.drawing import style
from wordorder.encodings.base import Encoding, Shape
from wordorder.encodings.documentation import body, sections
from wordorder.encodings.registry import build, encoding_types, parse
from wordorder.errors import WordorderError, unknown_name
from wordorder.figures.inspection import draw_inspection, inspection_frame, matrices


@dataclass(frozen=True)
class Inspection:
    """What is known of an encoding.

    Attributes:
        name: The name that was looked up.
        type: The registered types; several of a composition.
        settings: The entry, without keys that have their default value.
        texts: By type: title, formula, source, promises and departures, from the encoding's file.
        parameters: Trainable parameters in one encoder and one decoder layer of the given shape.
        longest: The number of positions, if it is limited.
        encoding: The module.
    """

    name: str
    type: list[str]
    settings: dict[str, object]
    texts: dict[str, dict[str, str]]
    parameters: int
    longest: int | None
    encoding: Encoding = field(repr=False)

    def as_json(self) -> str:
        """Return everything but the module as JSON."""
        known = {name: value for name, value in vars(self).items() if name != "encoding"}
        return json.dumps(known, ensure_ascii=False, indent=1, default=str)

    def __str__(self) -> str:
        lines = [f"{self.name}: {json.dumps(self.settings, ensure_ascii=False, default=str)}"]
        for texts in self.texts.values():
            rest = [
                textwrap.fill(f"{heading}: {text}", 100, break_long_words=False)
                for heading, text in texts.items()
                if heading not in ("Title", "Formula")
            ]
            title = texts["Title"] and f"{texts['Title']}."  # A user's own encoding may be without documentation.
            for part in filter(None, (title, texts["Formula"].rstrip(), "\n".join(rest))):
                lines += ["", part]
        limit = "works at any length" if self.longest is None else f"{self.longest:,} positions"
        lines += ["", f"{self.parameters:,} trainable parameters in one layer of each stack; {limit}"]
        return "\n".join(lines)


def inspect(name: str, *, root: str | Path = "config", dim: int = 64, heads: int = 4) -> Inspection:
    """Look an encoding up.

    Args:
        name: A name in encodings.yaml, or a type.
        root: The configuration folder; without it only types are known.
        dim: The model size d.
        heads: The number of attention heads.

    Raises:
        WordorderError: There is no such encoding, or it does not fit the shape.
    """
    named = encoding_names(root) if Path(root, "encodings.yaml").is_file() else []
    known = {*named, *encoding_types()}
    if name not in known:
        raise unknown_name("There is no encoding", name, known, "encodings")
    config = load_encodings(root, [name])[name] if name in named else parse({"type": name})
    encoding = build(config, Shape(dim, heads, 1, 1))
    types = [part.type for part in getattr(config, "compose", [config])]
    limits = [limit for limit in (encoding.limit("encoder"), encoding.limit("decoder")) if limit is not None]
    return Inspection(
        name=name,
        type=types,
        settings=config.model_dump(exclude_defaults=True) | {"type": config.type},
        texts={each: {"Title": sections(each)["Title"], "Formula": body(each)} | sections(each) for each in types},
        parameters=sum(parameter.numel() for parameter in encoding.parameters()),
        longest=min(limits, default=None),
        encoding=encoding,
    )


def write_figure(encoding: Encoding, prefix: str | Path, length: int = 32) -> None:
    """Draw an untrained encoding.

    Args:
        encoding: The encoding; learned numbers are start values.
        prefix: Writes PREFIX.svg, .pdf, .png, and .csv with the values drawn, one per row.
        length: The number of positions.
    """
    encoding = encoding.eval()
    with torch.no_grad():
        table = encoding.table(length)
    try:
        weights = attention_weights(encoding, length)
    except WordorderError as error:
        if error.code != "no-place-for-encoding":
            raise
        weights = None
    drawn = matrices(*(None if found is None else found.double().numpy() for found in (table, weights)))
    style.save(draw_inspection(drawn), prefix, inspection_frame(drawn))
