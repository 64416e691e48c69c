"""The command ``wordorder schema``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Option

from wordorder.cli.app import OTHER, command


@command(OTHER, "schema --output config/schema")
def schema(*, output: Annotated[Path, Option(help="folder to write study.json, dataset.json and others to")]) -> None:
    """Write the JSON schemas of the configuration files.

    Editors use the schemas to complete and validate keys.
    """
    from wordorder.config.schema import schemas
    from wordorder.files import write_json

    for name, written in schemas().items():
        write_json(output / f"{name}.json", written, checksum="none")
