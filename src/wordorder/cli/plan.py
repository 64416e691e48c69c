"""``wordorder check``."""

from __future__ import annotations

import argparse
from contextlib import suppress
from pathlib import Path

from wordorder.errors import WordorderError


def add_commands(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    check = subparsers.add_parser(
        "check",
        help="Check studies without running them.",
        description="Check studies and their companions, the datasets and sizes they use, the parameters of their "
        "encodings, and whether their models can be built. Prints one line a study. "
        "Exits with status 1 when there is a problem.",
    )
    check.add_argument("studies", nargs="*", metavar="STUDY", help="name, or path of a .yaml file (default: all)")
    check.add_argument("--root", default="config", metavar="DIR", help="the configuration folder (default: config)")
    check.set_defaults(run=run_check)


def run_check(options: argparse.Namespace) -> None:
    from wordorder.config.load import study_names
    from wordorder.workflow.checks import check
    from wordorder.workflow.configuration import Configuration

    studies = _with_companions(options.studies, options.root) or study_names(options.root)
    if not studies:
        raise WordorderError(f"There are no studies in {Path(options.root, 'studies')}. Give --root or a study's file.")
    problems, configuration = [], Configuration(Path(options.root))
    for study in studies:
        try:
            print(check(configuration.study(study), configuration))
        except WordorderError as error:
            problems.append(str(error))
    if problems:
        raise WordorderError("\n".join(dict.fromkeys(problems)))


def _with_companions(studies: list[str], root: str) -> list[str]:
    """The studies, each followed by its companions; one with a mistake is told of when it is checked."""
    from wordorder.config.load import load_study

    found = []
    for study in studies:
        found.append(study)
        with suppress(WordorderError):
            found += load_study(study, root).companions
    return list(dict.fromkeys(found))
