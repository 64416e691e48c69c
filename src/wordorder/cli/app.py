"""The command groups: commands for users, and stages for the rules of the workflow."""

from __future__ import annotations

import difflib
import inspect
import itertools
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

import typer
from typer.core import TyperCommand, TyperGroup
from typer.exceptions import TyperException
from typer.main import get_command_from_info, get_group_from_info
from typer.models import CommandInfo, TyperInfo

from wordorder.cli.functions import FunctionCommand

Function = TypeVar("Function", bound=Callable[..., None] | str)

# The headings of 'wordorder --help', in order.
STUDY, MODEL, ENCODING, DATA, OTHER = PANELS = ("Study", "Model", "Encoding", "Data", "Other")


class UnknownCommand(typer.BadParameter):
    """The error that a group has no command of a name.

    Args:
        context: The context of the group.
        name: The name that the user typed.
        suggestion: The command line that the user most likely meant.
    """

    def __init__(self, context: typer.Context, name: str, suggestion: str | None) -> None:
        super().__init__(f"'{context.command_path}' has no command '{name}'.", ctx=context)
        self.suggestion = suggestion


class _WithExamples:
    """A command or group whose epilog is a list of examples."""

    epilog: str | None

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        """Write the examples."""
        if self.epilog:
            with formatter.section("Examples"):
                for line in self.epilog.splitlines():
                    formatter.write(f"  {line}\n")


class Command(_WithExamples, TyperCommand):
    """A command whose list options accept several values after one name: ``--inputs a b c``."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse a command line, after repeating the names of list options."""
        lists = {name for param in self.params if getattr(param, "multiple", False) for name in param.opts}
        try:
            return super().parse_args(ctx, list(repeat_options(args, lists)))
        except TyperException as error:
            error.ctx = getattr(error, "ctx", None) or ctx  # type: ignore[attr-defined]
            raise


def repeat_options(arguments: Iterable[str], lists: set[str]) -> Iterator[str]:
    """Repeat the name of a list option before each of its values, as Typer requires.

    Args:
        arguments: The command line.
        lists: The names of the options that accept several values.

    Returns:
        The command line for Typer.
    """
    option, first = "", True
    for argument in arguments:
        if argument.startswith("-"):
            option, first = argument, True
        elif not first and option in lists:
            yield option
        else:
            first = False
        yield argument


class Group(_WithExamples, TyperGroup):
    """A group that builds each command only when it is called.

    Building all commands takes longer than most commands run. The help lists commands by panel, and the error for an
    unknown command suggests a similar one.

    Attributes:
        members: The registered commands and groups; set by subclasses.
    """

    members: typer.Typer

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the parameters of the group, with False as the default of its flags."""
        params = super().get_params(ctx)
        for param in params:  # Typer would import pydantic to convert a default of None.
            param.default = param.default or False
        return params

    def list_commands(self, ctx: Any) -> list[str]:
        """List the names of the commands, in the order of the help."""
        return [str(info.name) for info in _infos(self.members)]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Build a command; return None if there is no such command."""
        for info in _infos(self.members):
            if info.name == cmd_name:
                if isinstance(info, FunctionCommand):
                    info.load()
                if isinstance(info, CommandInfo):
                    return get_command_from_info(info, pretty_exceptions_short=False, rich_markup_mode=None)
                return get_group_from_info(
                    info, pretty_exceptions_short=False, suggest_commands=False, rich_markup_mode=None
                )
        return None

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the commands with their summaries, by panel."""
        rows = list(_rows(self.members))
        width = max(len(name) for _, name, _ in rows)
        for panel, members in itertools.groupby(sorted(rows, key=_place), key=lambda row: row[0]):
            with formatter.section(panel or "Commands"):
                formatter.write_dl([(name.ljust(width), summary) for _, name, summary in members])

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
        """Find the command of a command line.

        Raises:
            UnknownCommand: The group has no such command.
        """
        own = self.list_commands(ctx)
        if args[0] not in own and not ctx.resilient_parsing and not args[0].startswith("-"):
            known = {name.rpartition(" ")[2]: name for _, name, _ in _rows(self.members, deep=True)}
            known |= {name: name for name in own}
            near = difflib.get_close_matches(args[0], known, n=1)
            raise UnknownCommand(ctx, args[0], f"{ctx.command_path} {known[near[0]]}" if near else None)
        return super().resolve_command(ctx, args)


def _infos(members: typer.Typer) -> list[CommandInfo | TyperInfo]:
    return [*members.registered_commands, *members.registered_groups]


def _rows(members: typer.Typer, path: str = "", *, deep: bool = False) -> Iterator[tuple[str | None, str, str]]:
    """Yield the panel, name and summary of each command; the commands of a group replace the group.

    Args:
        members: The registered commands and groups.
        path: The prefix of the names.
        deep: Include the stages and the groups themselves.
    """
    for info in _infos(members):
        name = f"{path}{info.name}"
        if isinstance(info, CommandInfo):
            text = info.summary if isinstance(info, FunctionCommand) else inspect.getdoc(info.callback) or ""
            yield info.rich_help_panel, name, text.partition("\n")[0].rstrip(".")
        elif info.name == "stage" and not deep:
            yield info.rich_help_panel, name, "Run one stage of a study, as the rules of the workflow do"
        else:
            assert info.typer_instance is not None
            shown = info.typer_instance.info.cls
            assert shown is not None and issubclass(shown, Group)
            if deep:
                yield info.rich_help_panel, name, ""
            yield from _rows(shown.members, f"{name} ", deep=deep)


def _place(row: tuple[str | None, str, str]) -> int:
    return PANELS.index(row[0]) if row[0] else len(PANELS)


def _group(text: str, *examples: str) -> tuple[typer.Typer, typer.Typer]:
    """Return a group and the registry of its members."""
    members = typer.Typer()
    shown = typer.Typer(
        cls=type("Group", (Group,), {"members": members}),
        help=text,
        epilog="\n".join(examples),
        rich_markup_mode=None,
        no_args_is_help=True,
    )
    return shown, members


app, _people = _group(
    "Compare positional encodings in machine translation.",
    "wordorder init my_project     create a project folder",
    "wordorder run demo            run a study",
    "wordorder check               validate all study files",
    "wordorder plan multi30k       estimate the cost of a study",
    "wordorder status multi30k     show its progress",
    "wordorder COMMAND --help      explain a command",
)
_stage, _stages = _group(
    "Run one stage of a study, as the rules of the workflow do. A stage only reads and writes the files that its "
    "options name.",
    "wordorder stage train --help",
)
_people.add_typer(_stage, name="stage", rich_help_panel=OTHER)


def command(
    panel: str, *examples: str, name: str | None = None, context_settings: dict[Any, Any] | None = None
) -> Callable[[Function], Function]:
    """Register a command that people type. Its docstring is the help, whose first line is the summary.

    Args:
        panel: The heading in ``wordorder --help``.
        examples: Command lines without ``wordorder``.
        name: The name of the command, if it is not that of the function.
        context_settings: How the command parses its arguments, if not as the others.
    """
    return _register(_people, "wordorder", panel, examples, name, context_settings)


def stage(*examples: str, name: str | None = None) -> Callable[[Function], Function]:
    """Register a command that only workflow rules call; see :func:`command`.

    Instead of a function it may get the name of one, of which :mod:`wordorder.cli.functions` makes a command.
    """
    return _register(_stages, "wordorder stage", None, examples, name)


def group(name: str, text: str, panel: str | None = None) -> Callable[..., Callable[[Function], Function]]:
    """Add a group of commands, below ``stage`` unless it has a panel.

    Args:
        name: The name of the group.
        text: The help of the group.
        panel: The heading in ``wordorder --help``.

    Returns:
        A decorator that registers a command of the group; see :func:`command`.
    """
    parent, path = (_people, f"wordorder {name}") if panel else (_stages, f"wordorder stage {name}")
    shown, members = _group(text)
    parent.add_typer(shown, name=name, rich_help_panel=panel)

    def register(*examples: str, name: str | None = None) -> Callable[[Function], Function]:
        return _register(members, path, panel, examples, name)

    return register


def _register(
    members: typer.Typer,
    path: str,
    panel: str | None,
    examples: tuple[str, ...],
    name: str | None,
    context_settings: dict[Any, Any] | None = None,
) -> Callable[[Function], Function]:
    def register(function: Function) -> Function:
        if isinstance(function, str):
            assert name is not None
            members.registered_commands.append(FunctionCommand(name, function, Command))
        else:
            members.command(
                name or function.__name__.replace("_", "-"),
                cls=Command,
                rich_help_panel=panel,
                epilog="\n".join(f"{path} {example}" for example in examples),
                context_settings=context_settings,
            )(function)
        return function

    return register
