"""Option types that several commands share."""

from __future__ import annotations

import importlib
import math
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any

import typer
from typer import Option


def slice_of(model: str | type[Any], text: str, *, optional: bool = False, name: str = "--config") -> Any:
    """Return an option that parses a job configuration, the part of the configuration on which a command depends.

    Args:
        model: The pydantic model of the job configuration, or its module and name in ``wordorder.config``, which are
            imported when the option is parsed.
        text: The help.
        optional: Use the defaults of the model if the option is missing.
        name: The name of the option, for errors.
    """

    def parse(value: Any) -> Any:
        from wordorder.config.load import slice_argument

        if isinstance(model, type):
            return slice_argument(value, model, name)
        module, _, own = model.partition(".")
        return slice_argument(value, getattr(importlib.import_module(f"wordorder.config.{module}"), own), name)

    return Option(
        parser=parse,
        metavar="SLICE",
        help=f"{text}, as JSON or @FILE.yaml",
        default_factory=(lambda: "{}") if optional else None,
        show_default=False,
    )


def flag(name: str, text: str) -> Any:
    """Return an option without a value.

    Args:
        name: The name without hyphens in front.
        text: The help.
    """
    return Option(f"--{name}", help=text)


def seconds(value: str | float) -> float:
    """Parse a positive, finite number of seconds.

    Raises:
        BadParameter: The value is not such a number.
    """
    try:
        number = float(value)
    except ValueError:
        number = math.nan
    if not 0 < number < math.inf:
        raise typer.BadParameter(f"'{value}' is not a positive number of seconds.")
    return number


def folder(value: str | Path) -> Path:
    """Parse the path of an existing folder.

    Defaults are already paths and need not exist.

    Raises:
        BadParameter: The folder does not exist.
    """
    if isinstance(value, str) and not Path(value).is_dir():
        raise typer.BadParameter(f"The folder '{value}' does not exist. Give an existing folder.")
    return Path(value)


def complete_study(ctx: typer.Context, incomplete: str) -> list[str]:
    """List the studies in the configuration folder for shell completion."""
    return _names(ctx, "studies")


def complete_dataset(ctx: typer.Context, incomplete: str) -> list[str]:
    """List the datasets in the configuration folder for shell completion."""
    return _names(ctx, "datasets")


def complete_size(ctx: typer.Context, incomplete: str) -> list[str]:
    """List the model sizes in the configuration folder for shell completion."""
    import yaml

    with suppress(OSError, yaml.YAMLError):
        return list(yaml.safe_load(Path(ctx.params.get("root") or "config", "sizes.yaml").read_text("utf-8")) or ())
    return []


def _names(ctx: typer.Context, kind: str) -> list[str]:
    return sorted(path.stem for path in Path(ctx.params.get("root") or "config", kind).glob("*.yaml"))


Study = Annotated[
    str, typer.Argument(metavar="STUDY", help="name of a study, or path of a .yaml file", autocompletion=complete_study)
]
Root = Annotated[Path, Option(parser=folder, metavar="DIR", help="configuration folder")]
Results = Annotated[Path, Option(parser=folder, metavar="DIR", help="folder of all results")]
StudyResults = Annotated[Path, Option(parser=folder, metavar="DIR", help="folder results/{study}")]
Data = Annotated[Path, Option(help="folder results/data")]
Profile = Annotated[
    Path | None, Option(metavar="DIR", help="profile folder of the cluster, with training.tsv (default: slurm)")
]

Subword = Annotated[Path, Option(help="sentencepiece model")]
Model = Annotated[Path, Option(help="trained model")]
ModelThreads = Annotated[int | None, Option(min=1, help="CPU threads (default: PyTorch's choice)", show_default=False)]
