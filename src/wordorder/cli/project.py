"""``wordorder init`` and ``wordorder run``: a project of one's own, and a study without knowing Snakemake."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated

import typer
from typer import Argument, Option

from wordorder.cli.app import STUDY, command
from wordorder.cli.options import Study, flag


@command(STUDY, "init my_project", "init my_project --studies demo multi30k")
def init(
    folder: Annotated[Path, Argument(metavar="DIR", help="folder to make")],
    *,
    studies: Annotated[list[str], Option(metavar="STUDY...", help="shipped studies to copy")] = ["demo"],  # noqa: B006
) -> None:
    """Make the folder of a project.

    Write a Snakefile that uses the workflow of the installed package, a configuration with the demo and other shipped
    studies, profiles for this machine and for SLURM, and a sample encoding with a study that compares it.
    """
    from wordorder.workflow.project import make_project

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
    study: Study,
    *,
    cores: Annotated[
        str | None, Option(metavar="N", help="CPU cores, or 'all' (default: those of the profile)")
    ] = None,
    profile: Annotated[
        str | None, Option(metavar="DIR", help="Snakemake profile, such as 'slurm' (default: 'local', this machine)")
    ] = None,
    dry_run: Annotated[bool, flag("dry-run", "only show what would run")] = False,
) -> None:
    """Run a study, or what of it is missing.

    Starts Snakemake with the Snakefile of the current folder or, if there is none, with that of the installed package.
    All other options are passed to Snakemake. The exit status is that of Snakemake.
    """
    from wordorder.workflow.packaged import FOLDER, SNAKEFILE

    words = [sys.executable, "-m", "snakemake", study, *ctx.args]
    if not Path("Snakefile").is_file():
        words += ["--snakefile", str(SNAKEFILE)]
    words += ["--profile", profile or ("local" if Path("local/profile.yaml").is_file() else str(FOLDER / "local"))]
    words += ["--cores", cores] if cores else []
    words += ["--dry-run"] if dry_run else []
    words += ["--nocolor"] if os.environ.get("NO_COLOR") else []
    os.execv(sys.executable, words)
