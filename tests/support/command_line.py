"""Every command of ``wordorder``, as the parser defines it."""

from __future__ import annotations

from collections.abc import Iterator

import typer

import wordorder.cli.main  # noqa: F401  (registers the commands)
from wordorder.cli.app import Command, Group, app


def commands(group: Group | None = None, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Command]]:
    """Yield every command of every group, with its words."""
    group = group or typer.main.get_command(app)  # type: ignore[assignment]
    assert isinstance(group, Group)
    for name in group.list_commands(None):
        found = group.get_command(None, name)
        if isinstance(found, Group):
            yield from commands(found, (*path, name))
        else:
            yield (*path, name), found


def options(command: Command, *, required: bool = False) -> set[str]:
    """Return the names of the options of a command, or of the required ones only."""
    params = [param for param in command.params if param.param_type_name == "option"]
    return {name for param in params if param.required or not required for name in param.opts}
