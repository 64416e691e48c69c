"""The commands ``wordorder init`` and ``wordorder run``."""

from __future__ import annotations

import os
import sys
from argparse import ArgumentParser
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer
from typer import Argument, Option

from wordorder.cli.app import STUDY, command
from wordorder.cli.options import complete_study, flag
from wordorder.errors import WordorderError, unknown_name


@command(STUDY, "init my_project", "init my_project --studies demo multi30k", "init . --studies arena_captions")
def init(
    folder: Annotated[Path, Argument(metavar="DIR", help="folder to create, or a project")],
    *,
    studies: Annotated[list[str], Option(metavar="STUDY...", help="shipped studies to copy")] = ["demo"],  # noqa: B006
) -> None:
    """Create a project folder, or add shipped studies to a project.

    The folder contains a Snakefile that uses the workflow of the installed package, and a configuration with the demo
    and the chosen shipped studies. It also contains profiles for this machine and for SLURM, and a sample encoding with
    a study that compares it. In a project that exists, the command adds the files of the studies that it lacks, and
    changes none.
    """
    from wordorder.workflow.project import add_studies, is_project, make_project

    if is_project(folder):
        added, changed = add_studies(folder, studies)
        for file in added:
            print(f"Added {folder / 'config' / file}.")
        for file in changed:
            print(f"Kept {folder / 'config' / file}, which differs from the shipped file.")
        if not added:
            print(f"{folder} is a project that has these studies already: {', '.join(studies)}.")
        return
    make_project(folder, studies)
    print(f"Made {folder}. Next: cd {folder} && snakemake --cores 2")


@command(
    STUDY,
    "run demo --cores 2",
    "run multi30k --profile slurm",
    "run multi30k --dry-run",
    context_settings={"allow_extra_args": True, "ignore_unknown_options": True},
)
def run(
    ctx: typer.Context,
    study: Annotated[
        str, Argument(metavar="STUDY", help="name of a study, or path of its file", autocompletion=complete_study)
    ],
    *,
    cores: Annotated[
        str | None, Option(metavar="N", help="number of CPU cores, or 'all' (default: that of the profile)")
    ] = None,
    profile: Annotated[
        str | None, Option(metavar="DIR", help="Snakemake profile, such as 'slurm' (default: 'local', this machine)")
    ] = None,
    dry_run: Annotated[bool, flag("dry-run", "show the jobs without running them")] = False,
) -> None:
    """Run the missing parts of a study.

    Start Snakemake with the Snakefile of the current folder or, without one, of the installed package. The latter reads
    the folder config/ of the current folder if it contains studies, and training.tsv in the folder of the profile. The
    command passes all other options to Snakemake and returns its exit status.
    """
    from wordorder.workflow.packaged import SNAKEFILE

    words = [sys.executable, "-m", "snakemake", _name(study, ctx.args)]
    if Path("Snakefile").is_file():
        words += ctx.args
    else:
        words += [*_with_own_files(ctx.args, profile or "local"), "--snakefile", str(SNAKEFILE)]
    words += ["--profile", _profile(profile or "local")]
    words += ["--cores", cores] if cores else []
    words += ["--dry-run"] if dry_run else []
    words += ["--nocolor"] if os.environ.get("NO_COLOR") else []
    os.execv(sys.executable, words)


def _with_own_files(arguments: list[str], profile: str) -> list[str]:
    """Add the user's own files to options for the packaged Snakefile, which would take those of the package.

    These are the folder config/, if it has studies, and the table of resources in the folder of the profile. Their
    paths are absolute, because Snakemake may work in another folder (--directory). Snakemake reads only the last option
    --config, so an option of the user gets them, too.
    """
    parser = ArgumentParser(add_help=False, allow_abbrev=False)
    parser.add_argument("--config", "-C", nargs="*", default=[])
    given, others = parser.parse_known_args(arguments)
    words = [*given.config, *others]
    if any(word.startswith("--configfile") for word in words):
        return arguments
    own = {}
    if Path("config/studies").is_dir():
        own["config_dir"] = Path("config")
    if Path(profile, "training.tsv").is_file():
        own["training_table"] = Path(profile, "training.tsv")
    added = [
        f"{key}={path.resolve()}" for key, path in own.items() if not any(word.startswith(f"{key}=") for word in words)
    ]
    return [*others, "--config", *added, *given.config] if added else arguments


def _profile(name: str) -> str:
    """Return a profile of the package by its path, unless Snakemake finds another one of its name."""
    from snakemake.common import get_appdirs

    from wordorder.workflow.packaged import FOLDER

    folders = get_appdirs()
    places = (Path(folder, name) for folder in (".", folders.user_config_dir, folders.site_config_dir))
    is_known = any(place.is_file() or _is_profile(place) for place in places)
    return str(FOLDER / name) if not is_known and _is_profile(FOLDER / name) else name


def _is_profile(folder: Path) -> bool:
    return any(folder.glob("profile*.yaml")) or any(folder.glob("config*.yaml"))


def _name(study: str, arguments: Sequence[str]) -> str:
    """Return the name of a study that is given by name or path."""
    from wordorder.config.load import study_names
    from wordorder.workflow.packaged import FOLDER

    path = Path(study)
    if path.suffix != ".yaml":
        root = Path("config") if Path("config/studies").is_dir() else FOLDER / "config"
        known = study_names(root)
        if study not in known and not any(argument.startswith("config_dir=") for argument in arguments):
            raise unknown_name(f"{root / 'studies'} has no study", study, known, "studies", path=root / "studies")
        return study
    if not path.is_file() or path.resolve().parent != Path("config/studies").resolve():
        raise WordorderError(
            f"{study} is not a study of this project, whose studies are the files of config/studies. Move it there, or "
            "name another study.",
            code="missing-file",
            path=study,
        )
    return path.stem
