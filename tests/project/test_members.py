"""Test that only its own file knows a member of a kind of extension: no list of members exists elsewhere."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from wordorder.registry import KINDS, registry_of

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "wordorder"

# Names that are also ordinary words of the code, such as the column 'perplexity' or the package 'alignment'. Only a
# list of several of them is refused.
WORDS = {
    "encodings": {"none", "number", "shape"},
    "analyses": {"alignment", "length", "perplexity", "position", "reordering"},
    "dataset_formats": {"text"},
}
SEVERAL = 3

# Who may name which members, and why.
EXCEPTIONS = {
    # The key 'compose' of an entry means this encoding.
    ("encodings", "config/encodings.py"): {"composed"},
    # The papers' mathematics is about these two.
    ("encodings", "figures/mathematics.py"): {"opr"},
    ("encodings", "published/claims.py"): {"opr", "sinusoidal"},
    # The architecture of a size that names none.
    ("architectures", "config/sizes.py"): {"transformer"},
    # The metrics of a study that names none.
    ("metrics", "config/models.py"): {"bleu", "chrf++"},
    # These analyses compare metrics, or measure by one of them.
    ("metrics", "analyses/buckets.py"): {"bleu", "chrf++"},
    ("metrics", "analyses/ngram_gap.py"): {"bleu"},
    ("metrics", "analyses/position.py"): {"bleu"},
    ("metrics", "analyses/probes.py"): {"bleu", "chrf"},
    # How its name is written.
    ("analyses", "report/tables.py"): {"ngram_gap"},
}


def sources(kind: str) -> Iterator[Path]:
    own = PACKAGE.parent.joinpath(*KINDS[kind].split("."))
    yield from (path for path in sorted(PACKAGE.rglob("*.py")) if own not in path.parents)


def constants(tree: ast.AST) -> set[str]:
    return {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)}


def listed(tree: ast.AST, names: set[str]) -> set[str]:
    """Return the names that occur together with others in a list, set, tuple, dictionary or Literal."""
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.List | ast.Set | ast.Tuple | ast.Dict):
            items = node.keys if isinstance(node, ast.Dict) else node.elts
            together = {item.value for item in items if isinstance(item, ast.Constant)} & names
            found |= together if len(together) >= SEVERAL else set()
    return found


@cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def named(kind: str, path: Path) -> set[str]:
    """Return the members that a module names without being an exception."""
    names, tree = set(registry_of(kind).names()), tree_of(path)
    allowed = EXCEPTIONS.get((kind, path.relative_to(PACKAGE).as_posix()), set()) if PACKAGE in path.parents else set()
    return (constants(tree) & names - WORDS.get(kind, set()) - allowed) | listed(tree, names)


@pytest.mark.parametrize("kind", KINDS)
def test_no_other_module_names_a_member(kind: str) -> None:
    assert {path.name: found for path in sources(kind) if (found := named(kind, path))} == {}


@pytest.mark.parametrize("kind", KINDS)
def test_no_rule_names_a_member(kind: str) -> None:
    names = set(registry_of(kind).names()) - WORDS.get(kind, set())
    for path in [ROOT / "Snakefile", *sorted((ROOT / "workflow").rglob("*.smk"))]:
        assert set(re.findall(r"""["']([\w+]+)["']""", path.read_text(encoding="utf-8"))) & names == set(), path


@pytest.mark.parametrize(("kind", "module"), EXCEPTIONS)
def test_every_exception_is_needed(kind: str, module: str) -> None:
    assert EXCEPTIONS[kind, module] <= constants(tree_of(PACKAGE / module))
    assert EXCEPTIONS[kind, module] <= set(registry_of(kind).names())


@pytest.mark.parametrize(
    ("kind", "source", "expected"),
    [
        ("encodings", "if config.type == 'rope': pass", {"rope"}),
        ("encodings", "x = 'none'", set()),
        ("analyses", "A = Literal['length', 'position', 'reordering']", {"length", "position", "reordering"}),
        ("analyses", "A = ('alignment', 'reordering')", set()),
        ("attention_backends", "RANKS = {'eager': 1, 'sdpa': 2}", {"eager", "sdpa"}),
    ],
)
def test_the_check_sees_names(kind: str, source: str, expected: set[str], tmp_path: Path) -> None:
    path = tmp_path / "module.py"
    path.write_text(source, encoding="utf-8")
    assert named(kind, path) == expected
