"""``wordorder schema``."""

from __future__ import annotations

import argparse


def add_commands(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    schema = subparsers.add_parser(
        "schema",
        help="Write the JSON schemas of the configuration files.",
        description="Write the JSON schemas of the files under config/, from which editors complete and check keys.",
    )
    schema.add_argument("--output", required=True, metavar="DIR", help="folder for study.json, dataset.json, …")
    schema.set_defaults(run=run_schema)


def run_schema(options: argparse.Namespace) -> None:
    from pathlib import Path

    from wordorder.config.schema import schemas
    from wordorder.files import write_json

    for name, schema in schemas().items():
        write_json(Path(options.output, f"{name}.json"), schema)
