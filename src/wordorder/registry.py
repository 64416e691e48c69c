"""Find the members of each kind of extension.

A member of a kind (an encoding, a metric, an analysis, ...) is one Python file, and importing the file registers the
member. Such files are found in three places:

1. in the package of the kind, such as ``wordorder/metrics/``;
2. in the folders that the environment variable ``WORDORDER_PLUGINS`` names (separated by ``:``), each of which has one
   sub-folder per kind, such as ``my_plugins/metrics/``; without the variable in the folder ``wordorder_plugins`` of the
   current folder, if there is one;
3. at the entry points of installed distributions, in the group of the kind, such as ``wordorder.metrics``.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import pkgutil
import sys
import traceback
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from importlib.metadata import entry_points
from pathlib import Path
from types import ModuleType
from typing import Any, Generic, TypeVar

from wordorder.errors import WordorderError, closest, unknown_name
from wordorder.sources import code_digest
from wordorder.wording import listed

VARIABLE = "WORDORDER_PLUGINS"
DEFAULT = "wordorder_plugins"

# Each kind by the name of its sub-folder and of its group of entry points, with the package of its own members.
KINDS = {
    "encodings": "wordorder.encodings",
    "architectures": "wordorder.model.architectures",
    "attention_backends": "wordorder.model.attention",
    "metrics": "wordorder.metrics",
    "analyses": "wordorder.analyses",
    "dataset_formats": "wordorder.data.formats",
}

Member = TypeVar("Member")


def registry_of(kind: str) -> Registry[Any]:
    """Return the registry of a kind, which is ``REGISTRY`` in the module ``base`` of its package.

    This is for code that the kind's package imports, such as the models of configuration files. The package is imported
    only when this function is called.
    """
    registry: Registry[Any] = importlib.import_module(f"{KINDS[kind]}.base").REGISTRY
    return registry


class Registry(Generic[Member]):
    """The members of one kind of extension, by name.

    Args:
        kind: A key of ``KINDS``.
        noun: The kind in a sentence, in the singular, such as "metric".
    """

    def __init__(self, kind: str, noun: str) -> None:
        self.kind = kind
        self.noun = noun
        self._members: dict[str, Member] = {}
        self._modules: dict[str, tuple[str, str]] = {}  # name -> module and qualified name of what was registered
        self._code: dict[str, str] = {}  # Of members outside of the package, as they were loaded.
        self._discovered = False

    def add(self, name: str, member: Member, *, defined_by: type | None = None) -> None:
        """Register a member.

        Args:
            name: The name by which configuration files refer to the member.
            member: The member.
            defined_by: The class that defines the member; ``member`` itself if it is a class.

        Raises:
            WordorderError: Another class is registered under this name.
        """
        definition = defined_by or (member if isinstance(member, type) else type(member))
        place = (definition.__module__, definition.__qualname__)
        known = self._modules.get(name, place)
        # The same class is registered again if its file is imported again after an error in another file.
        if known != place:
            raise WordorderError(
                f"Two {self.kinds} are called '{name}': {known[1]} of {known[0]} and {place[1]} of {place[0]}. "
                "Rename one of them.",
                code="duplicate-name",
                key=name,
            )
        self._members[name] = member
        self._modules[name] = place
        if file := _own_file(definition.__module__):
            self._code[name] = code_digest(file)

    def get(self, name: str) -> Member:
        """Return the member of this name.

        Raises:
            WordorderError: There is no such member, or the file of a member cannot be loaded.
        """
        self.discover()
        if name not in self._members:
            raise unknown_name(f"There is no {self.noun}", name, self._members, self.kinds, end=self.searched(name))
        return self._members[name]

    @property
    def kinds(self) -> str:
        """What several members are called, such as "encodings"."""
        return self.kind.replace("_", " ")

    def searched(self, name: str) -> str:
        """Return a sentence about the folders that were searched for an unknown name; empty if a known one is close."""
        if closest(name, self._members):
            return ""
        folders = [str(folder / self.kind) for folder in _plugin_folders()]
        if folders:
            return f" Your own {self.kinds} were searched in {listed(folders)}."
        return f" No folder of your own {self.kinds} was found: {VARIABLE} is not set, and there is no {DEFAULT} here."

    def names(self) -> list[str]:
        """Return the names of all members, sorted."""
        self.discover()
        return sorted(self._members)

    def __contains__(self, name: object) -> bool:
        self.discover()
        return name in self._members

    def __iter__(self) -> Iterator[Member]:
        return (self._members[name] for name in self.names())

    def module(self, name: str) -> ModuleType:
        """Return the module that registered a member."""
        self.get(name)
        return sys.modules[self._modules[name][0]]

    def code(self, name: str) -> str:
        """Return the digest of the file of a member, as it was loaded; empty for a member of the package."""
        self.get(name)
        return self._code.get(name, "")

    def file(self, name: str) -> Path | None:
        """Return the file of a member that does not belong to the package; None if it does, or has no file."""
        self.get(name)
        return _own_file(self._modules[name][0])

    def own_modules(self) -> set[str]:
        """Return the names of the loaded modules of members that do not belong to the package."""
        return {module for module, _ in self._modules.values() if _own_file(module)}

    def is_current(self) -> bool:
        """Return whether the files of all members still have the code that was loaded."""
        files = {name: self.file(name) for name in self._code}
        return all(file is not None and code_digest(file) == self._code[name] for name, file in files.items())

    def discover(self) -> None:
        """Import every file that may register a member; once, until :meth:`forget_discovery`."""
        if self._discovered:
            return
        package = importlib.import_module(KINDS[self.kind])
        for module in pkgutil.iter_modules(package.__path__):
            importlib.import_module(f"{package.__name__}.{module.name}")
        for file in plugin_files(self.kind):
            self._import_file(file)
        for point in entry_points(group=f"wordorder.{self.kind}"):
            with _loading(f"The {self.noun} of the entry point '{point.name}' ({point.value})"):
                point.load()
        self._discovered = True

    def forget_discovery(self) -> None:
        """Search for members again at the next query. Known members stay."""
        self._discovered = False

    def _import_file(self, file: Path) -> None:
        name = str(file.resolve())  # The name of the module distinguishes files with the same name in two folders.
        spec = importlib.util.spec_from_file_location(name, file)
        assert spec is not None and spec.loader is not None  # always true for an existing .py file
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        with _loading(f"The {self.noun} file {file}", file):
            spec.loader.exec_module(module)


def code_of(kind: str, names: Iterable[str]) -> dict[str, str]:
    """Return the digests of the code of members that do not belong to the package.

    Args:
        kind: A key of ``KINDS``.
        names: The members that a job uses.

    Returns:
        The result of :meth:`Registry.code` by ``KIND/NAME``; without the package's members.
    """
    registry = registry_of(kind)
    return {f"{kind}/{name}": code for name in names if (code := registry.code(name))}


def check_code(code: Mapping[str, str], needed: str) -> None:
    """Check that extensions have the same code as before.

    Args:
        code: The result of :func:`code_of` then.
        needed: What needs the code of then, the start of a sentence, such as "The model FILE was trained".

    Raises:
        WordorderError: An extension is missing, or its code has changed.
    """
    for key, expected in code.items():
        kind, _, name = key.partition("/")
        registry = registry_of(kind)
        if registry.code(name) != expected:
            file = registry.file(name)
            raise WordorderError(
                f"{needed} with other code of the {registry.noun} '{name}' than {file or 'that of the package'} has "
                "now. Run the workflow again, which then uses the code of now, or restore the file.",
                code="changed-extension",
                path=file,
                key=name,
            )


def own_line(error: BaseException) -> tuple[Path, int] | None:
    """Return the file and line of the innermost call of an exception in an extension outside of the package.

    Only extensions that are loaded are considered; the result is None if the exception passed through none of them.
    """
    bases = (sys.modules.get(f"{package}.base") for package in KINDS.values())
    registries: list[Registry[Any]] = [base.REGISTRY for base in bases if base is not None]
    own = {module for registry in registries for module in registry.own_modules()}
    for frame, line in reversed(list(traceback.walk_tb(error.__traceback__))):
        module = frame.f_globals.get("__name__", "")
        if module in own and (file := _own_file(module)):
            return file, line
    return None


def _own_file(module: str) -> Path | None:
    """Return the file of a loaded module that does not belong to the package."""
    file: str | None = getattr(sys.modules.get(module), "__file__", None)
    if file is None or module.partition(".")[0] == "wordorder" or not Path(file).is_file():
        return None
    return Path(file)


@contextmanager
def _loading(what: str, file: Path | None = None) -> Iterator[None]:
    """Convert any error of a user's code during its import into an error that names the code."""
    try:
        yield
    except WordorderError as error:
        code, key = error.code, error.key
        raise WordorderError(f"{what} cannot be loaded. {error}", code=code, path=file, key=key) from error
    except SystemExit as error:
        message = f"{what} cannot be loaded: its import ends the program (SystemExit). Remove the call of sys.exit()."
        raise WordorderError(message, code="broken-plugin", path=file) from error
    except Exception as error:
        line = error.lineno if isinstance(error, SyntaxError) else None
        message = f"{what} cannot be loaded: {type(error).__name__}: {error}."
        raise WordorderError(message, code="broken-plugin", path=file, line=line) from error


def plugin_files(kind: str) -> list[Path]:
    """List the Python files of one kind in the folders of ``WORDORDER_PLUGINS``.

    Raises:
        WordorderError: A folder does not exist, or holds a file or folder of an unknown kind.
    """
    files: list[Path] = []
    for folder in _plugin_folders():
        for stray in sorted(folder.glob("*.py")):
            raise WordorderError(
                f"{VARIABLE} names {folder}, which holds {stray.name} itself. Put the file into the sub-folder of its "
                f"kind: {_listed(KINDS)}.",
                code="plugin-without-kind",
                path=stray,
            )
        for unknown in sorted(path for path in folder.iterdir() if path.is_dir() and path.name not in KINDS):
            if any(unknown.glob("*.py")):
                start = f"{VARIABLE} names {folder}, which has a sub-folder of no kind of extension:"
                raise unknown_name(start, unknown.name, KINDS, "kinds", path=unknown)
        files += sorted((folder / kind).glob("*.py"))
    return files


def _plugin_folders() -> Iterator[Path]:
    default = DEFAULT if Path(DEFAULT).is_dir() else ""
    for name in filter(None, os.environ.get(VARIABLE, default).split(os.pathsep)):
        folder = Path(name)
        if not folder.is_dir():
            problem = "is a file; name the folder that contains it" if folder.exists() else "does not exist"
            code = "not-a-folder" if folder.exists() else "missing-folder"
            raise WordorderError(f"{VARIABLE} names {folder}, which {problem}.", code=code, path=folder)
        yield folder


def _listed(names: Iterable[str]) -> str:
    return ", ".join(f"{name}/" for name in names)
