"""Commands made from functions of the package.

The parameters of a function become the options of the command; positional-only parameters become its arguments. The
docstring becomes the help. The command writes the returned value to ``--output`` as JSON. The module of the function is
imported only when the command is called.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from importlib import import_module
from inspect import Parameter, Signature, cleandoc, signature
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, Union, get_args, get_origin, get_type_hints

from typer import Argument, Option
from typer.models import CommandInfo

from wordorder.cli.options import folder, seconds, slice_of

# The accepted values of options, by name and type.
_ACCEPTED: dict[tuple[str, Any], dict[str, Any]] = {
    ("batch_size", int): {"min": 1},
    ("classes", int): {"min": 1},
    ("devices", int): {"min": 1},
    ("length", int): {"min": 1},
    ("mirror", Path): {"envvar": "WORDORDER_MIRROR"},
    ("nodes", int): {"min": 1},
    ("ratio", float): {"min": 0, "max": 1},
    ("results", Path): {"parser": folder, "metavar": "DIR"},
    ("save_seconds", float): {"parser": seconds, "metavar": "SECONDS"},
    ("seed", int): {"min": 0, "max": 2**32 - 1},
    ("threads", int): {"min": 1},
}
# Functions that use a GPU if there is one. They take one before PyTorch uses any. COMET, in its environment, does not.
_ON_A_GPU = {
    "wordorder.analyses.measure.measure",
    "wordorder.decoding.translate.translate_files",
    "wordorder.results.evaluate.evaluate",
    "wordorder.training.run.run",
}


class FunctionCommand(CommandInfo):
    """A command that calls a function.

    Args:
        name: The name of the command.
        function: The name of the function with its module, below ``wordorder``.
        cls: The class of the command for Typer.
    """

    def __init__(self, name: str, function: str, cls: Any) -> None:
        super().__init__(name=name, cls=cls)
        self.module, _, self.function = f"wordorder.{function}".rpartition(".")

    @property
    def summary(self) -> str:
        """The first line of the docstring, read without importing the module."""
        file = Path(__file__).parents[2].joinpath(*self.module.split(".")).with_suffix(".py")
        functions = (node for node in ast.parse(file.read_text("utf-8")).body if isinstance(node, ast.FunctionDef))
        found = next(ast.get_docstring(node) for node in functions if node.name == self.function)
        return (found or "").partition("\n")[0]

    def load(self) -> None:
        """Import the function and create the callback for Typer."""
        function = getattr(import_module(self.module), self.function)
        sections = _sections(cleandoc(function.__doc__))
        explained = _arguments(sections["Args"])
        own, hints = signature(function).parameters, get_type_hints(function)
        given = [_parameter(parameter, hints[name], explained[name]) for name, parameter in own.items()]
        returns = hints["return"] is not NoneType and "output" not in own
        if returns:
            given.append(_parameter(Parameter("output", Parameter.KEYWORD_ONLY), Path, "The JSON to write."))

        def call(**values: Any) -> None:
            output = values.pop("output") if returns else None
            if f"{self.module}.{self.function}" in _ON_A_GPU:
                from wordorder.training.gpus import take_gpus

                take_gpus(values.get("devices") or 1)
            arguments = [values.pop(name) for name, each in own.items() if each.kind is Parameter.POSITIONAL_ONLY]
            result = function(*arguments, **values)
            if output:
                from wordorder.files import write_json

                write_json(output, result)

        call.__doc__, self.epilog = sections[""], sections["Example"]
        call.__annotations__ = {each.name: each.annotation for each in given}
        vars(call)["__signature__"] = Signature(given)
        self.callback = call


def _sections(text: str) -> dict[str, str]:
    """Split a docstring into its sections by title; the text before the first section has an empty title."""
    start, *rest = re.split(r"^(Args|Returns|Raises|Example):\n", text, flags=re.MULTILINE)
    return {"": start.strip()} | dict(zip(rest[::2], map(cleandoc, rest[1::2]), strict=True))


def _arguments(section: str) -> dict[str, str]:
    """Parse the Args section of a docstring into the description of each parameter."""
    found = re.findall(r"^(\w+): (.*(?:\n .*)*)", section, re.MULTILINE)
    return {name: " ".join(text.split()) for name, text in found}


def _parameter(own: Parameter, hint: Any, text: str) -> Parameter:
    """Convert a parameter of the function into a parameter of the command."""
    kind = _plain(hint)
    annotation = kind | None if NoneType in get_args(hint) else kind
    if own.kind is Parameter.POSITIONAL_ONLY:
        metavar = "FILE..." if get_origin(kind) is list else own.name.upper()
        annotation = Annotated[annotation, Argument(metavar=metavar, help=text)]
    elif hasattr(kind, "model_fields"):  # a pydantic model: a job configuration
        annotation = Annotated[Any, slice_of(kind, text.removesuffix("."))]
    elif get_origin(kind) is list:
        annotation = Annotated[annotation, Option(metavar="VALUE...", help=text)]
    else:
        names = [f"--{own.name.replace('_', '-')}"] if kind is bool else []
        annotation = Annotated[annotation, Option(*names, help=text, **_ACCEPTED.get((own.name, kind), {}))]
    return Parameter(own.name, Parameter.KEYWORD_ONLY, default=own.default, annotation=annotation)


def _plain(hint: Any) -> Any:
    """Return the type that Typer parses instead of a type hint."""
    origin, arguments = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType):
        return Path if Path in arguments else _plain(next(one for one in arguments if one is not NoneType))
    if isinstance(origin, type) and issubclass(origin, Sequence):
        return list[_plain(arguments[0])]  # type: ignore[misc]
    return hint
