"""Types of options that several commands share."""

from __future__ import annotations

import importlib
import math
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any

import typer
from typer import Option


def slice_of(model: str | type[Any], text: str, *, optional: bool = False) -> Any:
    """Return the option for the slice of the configuration on which a command depends, which it parses.

    Args:
        model: The class that describes the slice, or its module and name in ``wordorder.config``, to be imported when
            the option is parsed.
        text: The help.
        optional: Use the defaults of the model if the option is missing.
    """

    def parse(value: Any) -> Any:
        from wordorder.config.load import slice_argument

        if isinstance(model, type):
            return slice_argument(value, model)
        module, _, name = model.partition(".")
        return slice_argument(value, getattr(importlib.import_module(f"wordorder.config.{module}"), name))

    return Option(
        parser=parse,
        metavar="SLICE",
        help=f"{text}, as JSON or @FILE.yaml",
        default_factory=(lambda: "{}") if optional else None,
        show_default=False,
    )


def flag(name: str, text: str) -> Any:
    """Return an option without a value."""
    return Option(f"--{name}", help=text)


def seconds(value: str | float) -> float:
    """Parse a positive, finite number of seconds."""
    try:
        number = float(value)
    except ValueError:
        number = math.nan
    if not 0 < number < math.inf:
        raise typer.BadParameter(f"'{value}' is not a positive number of seconds.")
    return number


def folder(value: str | Path) -> Path:
    """Parse the path of a folder that exists. A default, which is a path already, need not exist."""
    if isinstance(value, str) and not Path(value).is_dir():
        raise typer.BadParameter(f"The folder '{value}' does not exist.")
    return Path(value)


def complete_study(ctx: typer.Context, incomplete: str) -> list[str]:
    """List the names of the studies of the configuration folder, for the shell."""
    return _names(ctx, "studies")


def complete_dataset(ctx: typer.Context, incomplete: str) -> list[str]:
    """List the names of the datasets of the configuration folder, for the shell."""
    return _names(ctx, "datasets")


def complete_size(ctx: typer.Context, incomplete: str) -> list[str]:
    """List the names of the sizes of the configuration folder, for the shell."""
    import yaml

    with suppress(OSError, yaml.YAMLError):
        return list(yaml.safe_load(Path(ctx.params.get("root") or "config", "sizes.yaml").read_text("utf-8")) or ())
    return []


def _names(ctx: typer.Context, kind: str) -> list[str]:
    return sorted(path.stem for path in Path(ctx.params.get("root") or "config", kind).glob("*.yaml"))


Study = Annotated[
    str, typer.Argument(metavar="STUDY", help="name, or path of a .yaml file", autocompletion=complete_study)
]
Root = Annotated[Path, Option(parser=folder, metavar="DIR", help="configuration folder")]
# The folder of all studies, and those of one study and of the datasets in it.
Results = Annotated[Path, Option(parser=folder, metavar="DIR", help="folder that runs write to")]
StudyResults = Annotated[Path, Option(parser=folder, metavar="DIR", help="results/{study}")]
Data = Annotated[Path, Option(help="results/data")]
# The cluster's; what it lacks is not considered.
Profile = Annotated[Path, Option(metavar="DIR", help="profile folder, with training.tsv")]

Subword = Annotated[Path, Option(help="sentencepiece model")]
Model = Annotated[Path, Option(help="trained model")]
ModelThreads = Annotated[int | None, Option(min=1, help="CPU threads (default: PyTorch's choice)", show_default=False)]
