"""The models in a results folder, the studies that use them, and their size."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from wordorder.config.load import study_names
from wordorder.errors import WordorderError
from wordorder.locks import holder
from wordorder.results.index import indexed_folders
from wordorder.status.text import disk_size, text_table
from wordorder.workflow.configuration import Configuration
from wordorder.workflow.models import cell_files


@dataclass
class StoredModel:
    """The folder of one model and seed.

    Attributes:
        folder: ``results/models/DATASET/ENCODING/SIZE/DIGEST/SEED``.
        bytes: The size of all files in it, including translations.
        trained: Whether the model has been trained; otherwise its training has only begun.
        weights: Whether its weights exist; those of imported and of removed models do not.
        studies: The studies that use it: by the configuration, or by the index of their results.
    """

    folder: Path
    bytes: int
    trained: bool
    weights: bool
    studies: list[str] = field(default_factory=list)


def stored_models(results: Path, configuration: Configuration, *, tolerant: bool = False) -> list[StoredModel]:
    """Find the models in a results folder and the studies that use them.

    Args:
        results: The folder of all results. The index of a study there may name models that its file no longer does.
        configuration: The configuration folder with the studies.
        tolerant: Whether to warn of a study with a mistake or a missing extension, and to go without it; then the
            models that it uses may appear to be unused.

    Returns:
        The models, sorted by folder.

    Raises:
        WordorderError: An index is damaged or, unless ``tolerant``, a study has a mistake, so that its models are
            unknown.
    """
    # A run that is writing, or was killed, has folders of other names beside those of seeds.
    folders = sorted(path for path in results.glob("models/*/*/*/*/*") if path.is_dir() and path.name.isdecimal())
    found = {folder: _stored(folder) for folder in folders}
    for name in study_names(configuration.root):
        try:
            used = cell_files(configuration.study(name), configuration, results)
        except WordorderError as error:
            if not tolerant:
                raise
            print(f"wordorder: warning: The study '{name}' is not taken into account. {error}", file=sys.stderr)
            continue
        for files in used.values():
            if files.folder in found and name not in found[files.folder].studies:
                found[files.folder].studies.append(name)
    for name, indexed in indexed_folders(results).items():
        for folder, model in found.items():
            if folder.resolve() in indexed and name not in model.studies:
                model.studies.append(name)
    return list(found.values())


def _stored(folder: Path) -> StoredModel:
    weights = (folder / "model.pt").is_file()
    return StoredModel(folder, _size(folder), weights or (folder / "record.json").is_file(), weights)


def _size(folder: Path) -> int:
    """Return the size of all files in a folder, from which a training may remove some at the same time.

    A file with several names, such as the weights, which are also the saved state of the finished run, counts once.
    """
    sizes: dict[tuple[int, int], int] = {}
    for place, _, names in os.walk(folder):
        for name in names:
            with suppress(FileNotFoundError):
                found = Path(place, name).lstat()
                sizes[found.st_dev, found.st_ino] = found.st_size
    return sum(sizes.values())


def models_text(models: Sequence[StoredModel]) -> str:
    """Return a table of models with their total size."""
    if not models:
        return "No models match."
    rows = [
        {
            **dict(zip(("dataset", "encoding", "size", "digest", "seed"), model.folder.parts[-5:], strict=True)),
            "state": _state(model),
            "disk": disk_size(model.bytes),
            "studies": ", ".join(model.studies) or "none",
        }
        for model in models
    ]
    return f"{text_table(rows)}\n\n{len(models)} models, {disk_size(sum(model.bytes for model in models))}."


def _state(model: StoredModel) -> str:
    if not model.trained:
        return "begun"
    return "trained" if model.weights else "no weights"


def remove(models: Sequence[StoredModel]) -> None:
    """Remove the folders of models with all their files.

    Raises:
        WordorderError: One of the models is being trained. Nothing is removed then.
    """
    running = [model.folder for model in models if holder(model.folder / "state" / "lock")]
    if running:
        raise WordorderError(
            f"A training run is active in {running[0]}, so no model was removed. Stop the run or wait until it has "
            "finished.",
            code="training-runs",
            path=running[0],
        )
    for model in models:
        shutil.rmtree(model.folder)
        address, size, encoding = model.folder.parents[:3]
        if not any(path.is_dir() for path in address.iterdir()):  # Only cell.json is left.
            shutil.rmtree(address)
        for folder in (size, encoding):
            if not any(folder.iterdir()):
                folder.rmdir()
