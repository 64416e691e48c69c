"""The rules of docs/architecture.md that code can check."""

from __future__ import annotations

import ast
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "wordorder"
MODULES = sorted(PACKAGE.rglob("*.py"))
LONGEST = 500


def order() -> list[set[str]]:
    """Return the groups of the line 'a, b → c → …' in docs/architecture.md, left to right."""
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    (line,) = re.findall(r"^    (errors.* → .*)$", text, re.MULTILINE)
    return [{name.strip(" ()") for name in group.split(",")} for group in line.split("→")]


def rank(module: str, groups: list[set[str]]) -> int:
    """Return the position of ``wordorder.X…`` in the order; fail if it has none."""
    part = module.split(".")[1]
    for index, group in enumerate(groups):
        if part in group:
            return index
    raise AssertionError(f"{module} is not in the order of folders in docs/architecture.md")


def imports(tree: ast.Module, module: str, *, names: bool = False) -> Iterator[str]:
    """Every wordorder module that a file imports, also inside functions; ``from wordorder import x`` is wordorder.x.

    With ``names``, ``from wordorder.x import y`` is wordorder.x.y too, which may be a module.
    """
    package = module if module.endswith("__init__") else module.rpartition(".")[0]
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                parents = package.removesuffix(".__init__").split(".")
                base = ".".join([*parents[: len(parents) - node.level + 1], *filter(None, [base])])
            if base == "wordorder":
                yield from (f"wordorder.{alias.name}" for alias in node.names)
            else:
                yield base
                yield from (f"{base}.{alias.name}" for alias in node.names if names)


def name_of(path: Path) -> str:
    return ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts)


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_no_folder_imports_one_to_its_right(path: Path) -> None:
    module, groups = name_of(path), order()
    if module == "wordorder.__init__":
        groups = [{"__init__"}, *groups]  # everything may import the package itself, so it imports nothing
    own = rank(module, groups)
    for imported in imports(ast.parse(path.read_text(encoding="utf-8")), module):
        if imported.startswith("wordorder.") and imported != "wordorder.__version__":
            assert rank(imported, groups) <= own, f"{module} imports {imported}, which stands to its right"


def test_the_import_check_sees_all_ways_to_import() -> None:
    source = """
import wordorder.cli
def f():
    from wordorder import workflow as plan
    from ..data import text
    from . import loop
"""
    found = set(imports(ast.parse(source), "wordorder.training.run"))
    assert found == {"wordorder.cli", "wordorder.workflow", "wordorder.data", "wordorder.training"}


def graph(sources: dict[str, str]) -> dict[str, set[str]]:
    """Return the modules that each module imports; ``from package import module`` imports the module."""
    known = {module.removesuffix(".__init__") for module in sources}
    return {
        module.removesuffix(".__init__"): known.intersection(imports(ast.parse(text), module, names=True))
        for module, text in sources.items()
    }


def cycle(edges: dict[str, set[str]]) -> list[str]:
    """Return one import cycle, from a module back to itself, or an empty list."""
    done: set[str] = set()

    def visit(module: str, above: list[str]) -> list[str]:
        if module in above:
            return [*above[above.index(module) :], module]
        if module in done:
            return []
        found = next((found for other in sorted(edges[module]) if (found := visit(other, [*above, module]))), [])
        done.add(module)
        return found

    return next((found for module in sorted(edges) if (found := visit(module, []))), [])


def test_no_module_imports_itself_through_others() -> None:
    """Imports inside functions and for type checkers count."""
    assert not cycle(graph({name_of(path): path.read_text(encoding="utf-8") for path in MODULES}))


def test_the_check_finds_circles() -> None:
    sources = {
        "wordorder.a": "import wordorder.b",
        "wordorder.b": "if TYPE_CHECKING:\n    from wordorder.c import d",
        "wordorder.c.__init__": "",
        "wordorder.c.d": "def f():\n    from wordorder import a",
    }
    assert cycle(graph(sources)) == ["wordorder.a", "wordorder.b", "wordorder.c.d", "wordorder.a"]
    assert not cycle(graph({**sources, "wordorder.c.d": "from wordorder.c import e"}))


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_modules_are_short(path: Path) -> None:
    lines = len(path.read_text(encoding="utf-8").splitlines())
    assert lines <= LONGEST, f"{path.name} has {lines} lines. A module holds one idea; split it."


def tracked_files() -> list[Path]:
    """Return the files that git tracks, or would after 'git add'; all files in a copy without git."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"],
        cwd=ROOT,
        capture_output=True,
        check=False,
    )
    if listed.returncode:
        pytest.skip("not a git checkout")
    return [ROOT / name for name in listed.stdout.decode().split("\0") if name and (ROOT / name).is_file()]


def test_tracked_files_name_no_place_of_one_machine() -> None:
    # Spelled so that this file does not match itself.
    places = re.compile(
        rb"(?<![\w.}~-])/(?:work|root|home/[a-z]\w*|Users/\w+|opt|tmp/bash)/|[p]ypi\.org|[p]ythonhosted"
    )
    found = [
        f"{path.relative_to(ROOT)}: {match.group().decode()}"
        for path in tracked_files()
        if (match := places.search(path.read_bytes()))
    ]
    assert not found


def test_tracked_files_are_small() -> None:
    big = [str(path.relative_to(ROOT)) for path in tracked_files() if path.stat().st_size > 1 << 20]
    assert not big, "data and checkpoints do not belong into the repository"
