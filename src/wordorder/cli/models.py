"""``wordorder models``."""

from __future__ import annotations

import argparse
from pathlib import Path

from wordorder.cli.arguments import folder


def add_commands(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    models = subparsers.add_parser(
        "models",
        help="List the trained models, the studies that use them, and their size.",
        description="List the models below results/models, the studies that use them, and their size on the disk with "
        "their translations. All studies share models. With --unused, list only those that no study uses.",
    )
    models.add_argument("--unused", action="store_true", help="only models that no study uses")
    models.add_argument("--remove", action="store_true", help="remove the models that --unused lists")
    models.add_argument("--results", type=folder, default=Path("results"), metavar="DIR", help="default: results")
    models.add_argument("--root", default="config", metavar="DIR", help="the configuration folder (default: config)")
    models.set_defaults(run=run_models)


def run_models(options: argparse.Namespace) -> None:
    from wordorder.errors import WordorderError
    from wordorder.status.models import models_text, remove, stored_models
    from wordorder.workflow.configuration import Configuration

    if options.remove and not options.unused:
        raise WordorderError("--remove needs --unused: models that a study uses are not removed.", code="usage")
    models = stored_models(options.results, Configuration(Path(options.root)))
    if options.unused:
        models = [model for model in models if not model.studies]
    print(models_text(models))
    if options.remove and models:
        remove(models)
        print("They were removed.")
