"""Cached properties of encodings and sizes that the workflow needs.

The typed configuration of an encoding is in the encoding's file, which imports PyTorch. That takes a second, as long as
the rest of a dry-run. The properties depend only on ``encodings.yaml``, ``sizes.yaml`` and the source files. The user's
cache stores them under a digest of these files, so that PyTorch is imported only if one of them has changed.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from functools import cached_property
from importlib.metadata import entry_points
from importlib.resources import files
from importlib.util import find_spec
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

from wordorder.config.canonical import canonical_json, minimal
from wordorder.config.encodings import EncodingConfig
from wordorder.config.load import encoding_names, load_encodings, load_sizes, size_names
from wordorder.config.models import Recipe, Study
from wordorder.errors import SeveralErrors, WordorderError, unknown_name
from wordorder.files import read_object, user_cache, write_text
from wordorder.registry import KINDS, plugin_files, registry_of

_PACKAGES = ("config", "encodings", "model")
_KINDS = ("encodings", "architectures")


class Described(NamedTuple):
    """An encoding or a size.

    Attributes:
        folder: Its name in paths; of several equal entries, the name of the first.
        config: Its minimal form.
        needs_reordered: Whether it needs reordered source positions.
        revisions: The revisions of corrected encodings, or of a corrected architecture.
        code: The digests of the code of encodings, or of an architecture, outside of the package.
        own_types: The types of an encoding that belong to the package rather than to a plug-in.
    """

    folder: str
    config: dict[str, Any]
    needs_reordered: bool = False
    revisions: dict[str, int] = {}  # noqa: RUF012
    code: dict[str, str] = {}  # noqa: RUF012
    own_types: list[str] = []  # noqa: RUF012


class Catalogue:
    """The encodings and sizes of a configuration folder.

    Args:
        root: The configuration folder.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self._first: dict[str, str] = {}  # The first name of each configuration.

    def encoding(self, name: str) -> Described:
        """Describe an entry of encodings.yaml.

        Raises:
            WordorderError: The entry does not exist or is invalid.
        """
        return self._entry("encodings", name)

    def size(self, name: str) -> Described:
        """Describe an entry of sizes.yaml.

        Raises:
            WordorderError: The entry does not exist or is invalid.
        """
        return self._entry("sizes", name)

    def encodings(self, names: Iterable[str]) -> dict[str, dict[str, Any]]:
        """Return the minimal forms of entries of encodings.yaml, by name."""
        return {name: self.encoding(name).config for name in names}

    def sizes(self, names: Iterable[str]) -> dict[str, dict[str, Any]]:
        """Return the minimal forms of entries of sizes.yaml, by name."""
        return {name: self.size(name).config for name in names}

    def check_models(self, study: Study) -> None:
        """Check that a model can be built of each encoding and size of a study.

        Raises:
            WordorderError: A model cannot be built, an encoding outside of the package has another number of parameters
                than its formula gives, or the attention backend of the user is unusable.
        """
        _check_backends()
        known = self._content["models"]
        problems = []
        for encoding, size in product(study.encodings, study.sizes):
            if encoding not in study.encodings_of(size):
                continue
            self.encoding(encoding)
            key = f"{encoding}/{size}/{study.recipe.norm}/{study.recipe.tie_embeddings}"
            if key not in known:
                known[key] = self._why_not(encoding, size, study.recipe)
                self._save(self._content)
            if known[key]:
                where = f"In the study '{study.name}', the encoding '{encoding}' cannot be used with the size '{size}'"
                problems.append(
                    WordorderError(
                        f"{where}: {known[key]}", code="model-cannot-be-built", key="encodings", found=(encoding, size)
                    )
                )
        if problems:
            raise SeveralErrors(problems, code="model-cannot-be-built")

    def _entry(self, kind: str, name: str) -> Described:
        entry = self._content[kind].get(name)
        if entry is None:
            raise unknown_name(
                f"{Path(self.root, f'{kind}.yaml')} has no entry", name, self._content[kind], kind, key=name
            )
        if "error" in entry:
            raise WordorderError(entry["error"], code=entry["code"], path=Path(self.root, f"{kind}.yaml"), key=name)
        return Described(**entry)

    def _why_not(self, encoding: str, size: str, recipe: Recipe) -> str:
        """Return the reason why a model cannot be built or is refused; an empty text if it can be used."""
        from wordorder.model.counts import counted

        try:
            counted(
                load_encodings(self.root, [encoding])[encoding],
                load_sizes(self.root, [size])[size],
                recipe,
                vocabulary_size=8,
            )
        except WordorderError as error:
            return str(error)
        return ""

    @cached_property
    def _content(self) -> dict[str, dict[str, Any]]:
        with suppress(OSError, WordorderError):  # It does not exist, or is damaged and is made again.
            known: dict[str, dict[str, Any]] = read_object(self._file, "encodings", "sizes", "models")
            return known
        found: dict[str, dict[str, Any]] = {
            "encodings": dict(self._described("encodings", encoding_names(self.root), load_encodings)),
            "sizes": dict(self._described("architectures", size_names(self.root), load_sizes)),
            "models": {},
        }
        self._save(found)
        return found

    def _described(
        self, kind: str, names: Iterable[str], load: Callable[[Path, list[str]], dict[str, Any]]
    ) -> Iterator[tuple[str, dict[str, Any]]]:
        """Describe each entry of a file, or its mistake, which concerns only those who use the entry."""
        registry_of(kind).discover()  # Errors in plug-in files are raised here, not blamed on an entry.
        for name in names:
            try:
                entry = load(self.root, [name])[name]
            except WordorderError as error:
                yield name, {"error": str(error), "code": error.code}
                continue
            config = minimal(entry)
            folder = self._first.setdefault(canonical_json(config), name)
            own = (entry.needs_reordered, _own_types(entry)) if isinstance(entry, EncodingConfig) else (False, [])
            yield name, Described(folder, config, own[0], entry.revisions, entry.own_code, own[1])._asdict()

    def _save(self, content: dict[str, dict[str, Any]]) -> None:
        # Errors are not kept: what caused them, such as a package that is not installed, may be mended elsewhere.
        if any("error" in entry for kind in ("encodings", "sizes") for entry in content[kind].values()):
            return
        # Nor is what a file gave that has changed since it was loaded, perhaps long ago by a notebook.
        if not all(registry_of(kind).is_current() for kind in _KINDS):
            return
        with suppress(OSError, WordorderError):  # Without a writable cache, the workflow is only slower.
            write_text(self._file, json.dumps(content))

    @cached_property
    def _file(self) -> Path:
        digest = hashlib.sha256(sys.version.encode())
        for name in ("encodings.yaml", "sizes.yaml"):
            with suppress(OSError):
                digest.update(Path(self.root, name).read_bytes())
        digest.update(str(self.root.resolve()).encode())
        package = Path(str(files("wordorder")))
        sources = [file for name in _PACKAGES for file in sorted((package / name).rglob("*.py"))]
        points = [point for kind in _KINDS for point in entry_points(group=f"wordorder.{kind}")]
        sources += [file for kind in _KINDS for file in plugin_files(kind)]
        sources += [file for point in points for file in _sources(point.module.partition(".")[0])]
        for file in [Path(__file__), *sources]:
            status = file.stat()
            digest.update(f"{file.resolve()}\0{status.st_size}\0{status.st_mtime_ns}\n".encode())
        for point in points:
            digest.update(f"{point.name}\0{point.value}\0{point.dist and point.dist.version}\n".encode())
        return user_cache() / "catalogue" / f"{digest.hexdigest()[:32]}.json"


def _sources(package: str) -> list[Path]:
    """Return the source files of a package or module without importing it; none if it is missing."""
    found = find_spec(package)
    if found is None:
        return []
    folders = found.submodule_search_locations
    if folders is not None:
        return sorted(file for folder in folders for file in Path(folder).rglob("*.py"))
    return [Path(found.origin)] if found.has_location and found.origin is not None else []


def _own_types(config: EncodingConfig) -> list[str]:
    registry, own = registry_of("encodings"), KINDS["encodings"] + "."
    types = [part.type for part in getattr(config, "compose", [config])]
    return [name for name in types if registry.module(name).__name__.startswith(own)]


def _check_backends() -> None:
    """Check that an attention backend of the user can be loaded and chosen.

    Raises:
        WordorderError: It cannot.
    """
    if plugin_files("attention_backends") or "WORDORDER_ATTENTION" in os.environ:
        from wordorder.model.attention.base import choose

        choose("cpu", frozenset())
