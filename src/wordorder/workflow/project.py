"""Creates the folder of a project, which uses the packaged workflow outside a clone, and adds shipped studies to it."""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from pathlib import Path

from wordorder.config.dataset_checks import DERIVED_KEYS
from wordorder.config.derived import KEY as BASED_ON
from wordorder.config.document import read_yaml
from wordorder.config.load import load_study
from wordorder.errors import WordorderError
from wordorder.files import write_text
from wordorder.workflow.packaged import FOLDER

_SHIPPED = FOLDER / "config"
_TEMPLATE = Path(__file__).parent / "project"
_PROFILES = ("local", "slurm")
_DEMO = "demo"  # the study of the sample study and of the Snakefile, in each project
_CHOSEN = ("studies", "datasets")  # From these folders of config/, a project gets only the files that it needs.
_SAMPLE = "\n# Your own encoding: wordorder_plugins/encodings/my_slope.py\nmy_slope:\n  type: my_slope\n"


def make_project(folder: Path, studies: Iterable[str]) -> None:
    """Write a Snakefile, a configuration, profiles and a sample encoding.

    Args:
        folder: The folder to create; it may exist if it is empty.
        studies: The shipped studies to copy besides the demo, with everything on which they depend.

    Raises:
        WordorderError: The folder is not empty, or a study does not exist.
    """
    if folder.exists() and not (folder.is_dir() and not any(folder.iterdir())):
        raise WordorderError(
            f"{folder} already exists and is not an empty folder. Choose a new folder.", code="not-empty", path=folder
        )
    needed = _files({*studies, _DEMO})
    shutil.copytree(_TEMPLATE, folder, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__"))
    (folder / "gitignore").rename(folder / ".gitignore")
    for profile in _PROFILES:
        shutil.copytree(FOLDER / profile, folder / profile)
    others = {
        path.relative_to(_SHIPPED) for path in _SHIPPED.rglob("*") if path.is_file() and path.parent.name not in _CHOSEN
    }
    _copy(others | needed, folder / "config")
    encodings = folder / "config" / "encodings.yaml"
    write_text(encodings, encodings.read_text("utf-8") + _SAMPLE, checksum="none")


def is_project(folder: Path) -> bool:
    """Return whether a folder has the parts of a project that :func:`make_project` made."""
    return (folder / "Snakefile").is_file() and (folder / "config" / "studies").is_dir()


def add_studies(folder: Path, studies: Iterable[str]) -> tuple[list[Path], list[Path]]:
    """Copy shipped studies, with everything on which they depend, to an existing project; no file is changed.

    Args:
        folder: The folder of the project.
        studies: The shipped studies to copy.

    Returns:
        The added files, and those of the project that differ from the shipped ones, as paths in ``config``.

    Raises:
        WordorderError: A study does not exist.
    """
    needed, own = _files(studies), folder / "config"
    present = {file for file in needed if (own / file).exists()}
    _copy(needed - present, own)
    changed = (file for file in present if (own / file).read_bytes() != (_SHIPPED / file).read_bytes())
    return sorted(needed - present), sorted(changed)


def _copy(files: Iterable[Path], folder: Path) -> None:
    """Copy files of the shipped configuration to a folder."""
    for file in files:
        copy = folder / file
        copy.parent.mkdir(parents=True, exist_ok=True)
        write_text(copy, (_SHIPPED / file).read_text("utf-8"), checksum="none")


def _files(studies: Iterable[str]) -> set[Path]:
    """Return the files of studies, of the studies on which they depend, and of their datasets, as paths in config."""
    found, waiting = set(), list(studies)
    while waiting:
        study = load_study(waiting.pop(), _SHIPPED)
        path = Path("studies", f"{study.name}.yaml")
        if path in found:
            continue
        found.add(path)
        waiting += filter(None, (*study.companions, read_yaml(_SHIPPED / path).data.get(BASED_ON)))
        for dataset in study.datasets:
            file = Path("datasets", f"{dataset}.yaml")
            content = read_yaml(_SHIPPED / file).data
            found |= {file, *(Path("datasets", f"{content[key]}.yaml") for key in DERIVED_KEYS if key in content)}
    return found
