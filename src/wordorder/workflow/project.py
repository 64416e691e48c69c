"""Creates the folder of a project, which uses the packaged workflow outside a clone."""

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

_TEMPLATE = Path(__file__).parent / "project"
_PROFILES = ("local", "slurm")
_CHOSEN = ("studies", "datasets")  # From these folders of config/, a project gets only the files that it needs.
_SAMPLE = "\n# Your own encoding: wordorder_plugins/encodings/my_slope.py\nmy_slope:\n  type: my_slope\n"


def make_project(folder: Path, studies: Iterable[str]) -> None:
    """Write a Snakefile, a configuration, profiles and a sample encoding.

    Args:
        folder: The folder to create; it may exist if it is empty.
        studies: The shipped studies to copy, with everything on which they depend.

    Raises:
        WordorderError: The folder is not empty, or a study does not exist.
    """
    if folder.exists() and not (folder.is_dir() and not any(folder.iterdir())):
        raise WordorderError(
            f"{folder} already exists and is not an empty folder. Choose a new folder.", code="not-empty", path=folder
        )
    shipped = FOLDER / "config"
    needed = _files(studies, shipped)
    shutil.copytree(_TEMPLATE, folder, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__"))
    (folder / "gitignore").rename(folder / ".gitignore")
    for profile in _PROFILES:
        shutil.copytree(FOLDER / profile, folder / profile)
    others = (path for path in shipped.rglob("*") if path.is_file() and path.parent.name not in _CHOSEN)
    for file in (*others, *needed):
        copy = folder / "config" / file.relative_to(shipped)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, copy)
    encodings = folder / "config" / "encodings.yaml"
    write_text(encodings, encodings.read_text("utf-8") + _SAMPLE, checksum="none")


def _files(studies: Iterable[str], root: Path) -> set[Path]:
    """Return the files of studies, of the studies on which they depend, and of their datasets."""
    found, waiting = set(), list(studies)
    while waiting:
        study = load_study(waiting.pop(), root)
        path = root / "studies" / f"{study.name}.yaml"
        if path in found:
            continue
        found.add(path)
        waiting += filter(None, (*study.companions, read_yaml(path).data.get(BASED_ON)))
        for dataset in study.datasets:
            file = root / "datasets" / f"{dataset}.yaml"
            content = read_yaml(file).data
            found |= {file, *(root / "datasets" / f"{content[key]}.yaml" for key in DERIVED_KEYS if key in content)}
    return found
