"""Read the files under ``config/`` and report every mistake in a full sentence.

``root`` is the folder ``config``. All functions raise :class:`WordorderError`, which reports all problems of one file.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel

from wordorder.config.alignments import GoldSet, GoldSets
from wordorder.config.base import WithCode
from wordorder.config.checks import reorderer_problems, study_problems
from wordorder.config.claims import ByAnalysis, ByCount, ByGain, ByPrinted, ByTable, ByTrend, PaperClaims
from wordorder.config.dataset_checks import DERIVED_KEYS, dataset_problems, derived_problems, leaking_splits
from wordorder.config.datasets import Dataset, DerivedDataset
from wordorder.config.derived import derive, is_derived, with_recipe
from wordorder.config.document import Document, parse_json, read_yaml
from wordorder.config.encodings import EncodingConfig, Encodings, UntypedEncodings
from wordorder.config.models import Recipes, Study
from wordorder.config.problems import validated
from wordorder.config.published import PublishedParameters, PublishedTable
from wordorder.config.published_scores import PublishedScores, PublishedScoreTables
from wordorder.config.reordering import Aligners, Alignment, Reorderer, Reorderers
from wordorder.config.sizes import ModelSize, SizeNames, Sizes
from wordorder.errors import WordorderError, unknown_name
from wordorder.registry import check_code, registry_of

M = TypeVar("M", bound=BaseModel)


def load_study(path_or_name: str | Path, root: str | Path = "config") -> Study:
    """Load a study by its name under ``root``/studies, or by the path of its file, which ends in .yaml.

    In both cases, the names in the study are looked up under ``root``. A study that is based on another inherits
    everything that its file does not change.
    """
    path, studies = _path(path_or_name, "studies", root), study_names(root)
    document, recipes = read_yaml(path), load_recipes(root)
    if is_derived(document):
        document = derive(document, lambda name: read_yaml(_path(name, "studies", root)), studies, recipes)
    document = with_recipe(document, recipes)
    datasets = dataset_names(root)
    known = {
        "encodings": encoding_names(root),
        "sizes": size_names(root),
        "datasets": datasets,
        "reorderers": list(load_reorderers(root)),
    }
    tests = {name: load_dataset(name, root).test_names for name in _used_datasets(document, datasets)}
    return validated(document, Study, study_problems(document.data, path.stem, known, tests, studies))


def load_with_companions(path_or_name: str | Path, root: str | Path = "config") -> list[Study]:
    """Load a study and its companions."""
    study = load_study(path_or_name, root)
    return [study, *(load_study(name, root) for name in study.companions)]


def with_companions(names: Iterable[str], root: str | Path = "config") -> list[str]:
    """Return the names, each followed by those of the study's companions; studies with mistakes are kept, too."""
    found = []
    for name in names:
        found.append(name)
        with suppress(WordorderError):
            found += load_study(name, root).companions
    return list(dict.fromkeys(found))


def load_dataset(name: str | Path, root: str | Path = "config") -> Dataset:
    """Load a dataset by its name under ``root``/datasets, or by the path of its file, which ends in .yaml.

    A derived dataset inherits everything that its file does not change.
    """
    path = _path(name, "datasets", root)
    document = read_yaml(path)
    if not _is_derived_dataset(document):
        return validated(document, Dataset, dataset_problems(document.data, path.stem))
    names = dataset_names(root)
    named = [own for own in names if own in [document.data.get(key) for key in DERIVED_KEYS]]
    originals = {own: read_yaml(_path(own, "datasets", root)).data for own in named}
    given = validated(document, DerivedDataset, derived_problems(document.data, path.stem, names, originals))
    dataset = given.of(load_dataset(given.original, root))
    if leaks := leaking_splits(given.splits, dataset.model_dump(mode="json")):
        raise document.error(leaks)
    return dataset


def _is_derived_dataset(document: Document) -> bool:
    return isinstance(document.data, dict) and bool(set(DERIVED_KEYS) & document.data.keys())


def load_sizes(root: str | Path = "config", names: Collection[str] | None = None) -> dict[str, ModelSize]:
    """Load the entries of ``root``/sizes.yaml, by name.

    Args:
        root: The configuration folder.
        names: The entries to parse; all if missing.

    Returns:
        The sizes.
    """
    return validated(_selected(read_yaml(Path(root, "sizes.yaml")), names), Sizes).root


def size_names(root: str | Path = "config") -> list[str]:
    """List the names in ``root``/sizes.yaml, without importing the architectures and PyTorch."""
    return list(validated(read_yaml(Path(root, "sizes.yaml")), SizeNames).root)


def load_recipes(root: str | Path = "config") -> dict[str, dict[str, Any]]:
    """Load ``root``/recipes.yaml without typing it, by name; empty if there is no such file."""
    document = _optional(root, "recipes.yaml")
    validated(document, Recipes)
    entries: dict[str, dict[str, Any]] = document.data
    return entries


def load_encodings(root: str | Path = "config", names: Collection[str] | None = None) -> dict[str, EncodingConfig]:
    """Load the entries of ``root``/encodings.yaml, by name. Imports the encodings, and so PyTorch.

    Args:
        root: The configuration folder.
        names: The entries to parse; all if missing.

    Returns:
        The configurations.
    """
    return validated(_selected(_encodings(root), names), Encodings).root


def _selected(document: Document, names: Collection[str] | None) -> Document:
    """Return a document with only those entries that are named; all if ``names`` is missing."""
    if names is None or not isinstance(document.data, dict):
        return document
    entries = {name: entry for name, entry in document.data.items() if name in names}
    return Document(document.origin, entries, document.lines)


def encoding_names(root: str | Path = "config") -> list[str]:
    """Return the names in ``root``/encodings.yaml, without looking at their parameters."""
    return list(_encodings(root).data)


def _encodings(root: str | Path) -> Document:
    document = read_yaml(Path(root, "encodings.yaml"))
    validated(document, UntypedEncodings)
    return document


def load_aligners(root: str | Path = "config") -> dict[str, Alignment]:
    """Load ``root``/aligners.yaml, by name; empty if there is no such file."""
    return validated(_optional(root, "aligners.yaml"), Aligners).root


def load_reorderers(root: str | Path = "config") -> dict[str, Reorderer]:
    """Load ``root``/reorderers.yaml, by name; empty if there is no such file."""
    document = _optional(root, "reorderers.yaml")
    return validated(document, Reorderers, reorderer_problems(document.data, list(load_aligners(root)))).root


def load_gold_sets(root: str | Path = "config") -> dict[str, GoldSet]:
    """Load ``root``/gold_alignments.yaml, by name; empty if there is no such file."""
    return validated(_optional(root, "gold_alignments.yaml"), GoldSets).root


def _optional(root: str | Path, name: str) -> Document:
    """Read a file of ``root``; without entries if there is no such file."""
    path = Path(root, name)
    return read_yaml(path) if path.exists() else Document(path, {})


def load_published(root: str | Path = "config") -> list[PublishedTable]:
    """Load ``root``/published/parameters.yaml. Its encodings and sizes are not looked up here."""
    return validated(read_yaml(Path(root, "published", "parameters.yaml")), PublishedParameters).root


def load_published_scores(root: str | Path = "config") -> list[PublishedScores]:
    """Load ``root``/published/scores.yaml, with the counts of parameters.yaml in tables that have a column of them.

    Whether its datasets, encodings and sizes exist is not looked at here.
    """
    tables = validated(read_yaml(Path(root, "published", "scores.yaml")), PublishedScoreTables).root
    counted = load_published(root) if any(table.has_counts for table in tables) else []
    return [table.with_counts(counted) for table in tables]


def load_claims(name: str, root: str | Path = "config") -> PaperClaims:
    """``root``/published/claims/NAME.yaml; the tables, rows, columns and analyses that its claims name exist."""
    folder = Path(root, "published", "claims")
    names = sorted(path.stem for path in folder.glob("*.yaml"))
    if name not in names:
        raise unknown_name(f"{folder} has no paper", name, names, "papers", path=folder)
    path = folder / f"{name}.yaml"
    claims = validated(read_yaml(path), PaperClaims)
    if claims.name != name:
        raise WordorderError(
            f"{path} has the name '{claims.name}', but must have that of its file, '{name}'.",
            code="wrong-name",
            path=path,
            key="name",
            found=claims.name,
            expected=name,
        )
    scores = {table.name: table for table in load_published_scores(root)}
    counted = {table.table: table for table in load_published(root) if table.paper == claims.paper}
    for claim in claims.claims:
        decided, where = claim.decided_by, f"In {path} the claim '{claim.name}' names an unknown"
        if isinstance(decided, ByTable):
            _demand(where, "table", [decided.table], scores, path)
            table = scores[decided.table]
            _demand(where, "column", decided.columns, [column.column for column in table.columns], path)
            _demand(where, "row", [*decided.better, *decided.worse], [row.row for row in table.rows], path)
        elif isinstance(decided, ByAnalysis | ByTrend):
            known = ["scores", "training", "records", *registry_of("analyses").names()]
            _demand(where, "analysis", [decided.analysis], known, path)
        elif isinstance(decided, ByGain):
            for gain in (decided.larger, decided.smaller):
                _demand(where, "table", gain.tables, scores, path)
                for name in gain.tables:
                    _demand(where, "row", [gain.better, gain.worse], [row.row for row in scores[name].rows], path)
        elif isinstance(decided, ByPrinted):
            _demand(where, "table", [decided.table], scores, path)
            table = scores[decided.table]
            _demand(where, "column", [decided.column], [column.column for column in table.columns], path)
            own, copied = [row.row for row in table.rows], [row.row for row in table.copied]
            _demand(where, "row", decided.better, own, path)
            _demand(where, "row", decided.worse, copied if decided.copied else own, path)
        elif isinstance(decided, ByCount):
            _demand(where, "table", [decided.table], counted, path)
            _demand(where, "row", decided.rows, [row.row for row in counted[decided.table].rows], path)
    return claims


def _demand(where: str, kind: str, names: Iterable[str], known: Collection[str], path: Path) -> None:
    for name in names:
        if name not in known:
            raise unknown_name(f"{where} {kind}", name, known, f"{kind}s", path=path)


def study_names(root: str | Path = "config") -> list[str]:
    """List the names of all studies."""
    return sorted(path.stem for path in Path(root, "studies").glob("*.yaml"))


def dataset_names(root: str | Path = "config") -> list[str]:
    """List the names of all datasets."""
    return sorted(path.stem for path in Path(root, "datasets").glob("*.yaml"))


def slice_argument(text: str, model: type[M], option: str = "--config") -> M:
    """Parse the value of an option as a ``model``: JSON text, or ``@file.yaml`` or ``@file.json``."""
    read = read_yaml(text[1:]) if text.startswith("@") else parse_json(text, f"The value of {option}")
    value = validated(read, model)
    if isinstance(value, WithCode):
        check_code(value.code, "The workflow began")
    return value


def _path(path_or_name: str | Path, folder: str, root: str | Path) -> Path:
    """Return the existing file of a study or dataset."""
    path, name = Path(path_or_name), str(path_or_name)
    if path.suffix == ".yaml":
        if not path.is_file():
            raise WordorderError(f"{path} does not exist.", code="missing-file", path=path)
        return path
    known = [file.stem for file in Path(root, folder).glob("*.yaml")]
    if folder == "studies" and name not in known and (path / "study.json").is_file():
        raise WordorderError(
            f"{path} is a bundle, but a study of {Path(root, folder)} is needed. 'wordorder results' and load_results "
            "read bundles.",
            code="not-a-study",
            path=path,
        )
    if name not in known:
        kind = {"studies": "study", "datasets": "dataset"}[folder]
        raise unknown_name(f"{Path(root, folder)} has no {kind}", name, known, folder, path=Path(root, folder))
    return Path(root, folder, f"{name}.yaml")


def _used_datasets(document: Document, known: list[str]) -> list[str]:
    """List the existing datasets of a study that may be invalid."""
    used = document.data.get("datasets") if isinstance(document.data, dict) else None
    return [name for name in known if isinstance(used, list) and name in used]
