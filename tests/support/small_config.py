"""A small configuration folder, in which tests make mistakes."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

from raises import raises

SHIPPED = Path(__file__).parents[2] / "config"

STUDY = """\
name: mini
title: A small study
datasets: [toy, pair]
encodings: [none, opr]
sizes: [micro]
seeds: [1, 2]
recipe:
  learning_rate: 2e-3
  max_epochs: 8
metrics: [bleu]
baseline: none
comparisons:
  - {system: opr, baseline: none}
"""
TOY = """\
name: toy
title: Toy
source_language: en
target_language: xx
licence: free
generator:
  tests: {test: 10, hard: 10}
"""
PAIR = f"""\
name: pair
title: Pair
source_language: en
target_language: 'no'
licence: free
downloads:
  a.en: {{url: "https://example.org/a.en", sha256: {"a" * 64}}}
  a.no: {{url: "https://example.org/a.no", sha256: {"b" * 64}}}
train:
  - {{source: {{file: a.en}}, target: {{file: a.no}}, choose: {{by: line, of: 9, drop: [0, 1]}}}}
valid:
  - {{source: {{file: a.en}}, target: {{file: a.no}}, choose: {{by: line, of: 9, keep: [0]}}}}
tests:
  test:
    - {{source: {{file: a.en}}, target: {{file: a.no}}, choose: {{by: line, of: 9, keep: [1]}}}}
"""


def write_config(folder: Path) -> None:
    """Write a study, its two datasets, and the shipped lists of encodings, sizes, recipes, aligners and reorderers."""
    for kind in ("studies", "datasets"):
        (folder / kind).mkdir()
    for file in ("encodings.yaml", "sizes.yaml", "recipes.yaml", "aligners.yaml", "reorderers.yaml"):
        shutil.copy(SHIPPED / file, folder)
    (folder / "studies/mini.yaml").write_text(STUDY)
    (folder / "datasets/toy.yaml").write_text(TOY)
    (folder / "datasets/pair.yaml").write_text(PAIR)


def replace(path: Path, *changes: tuple[str, str]) -> None:
    """Replace texts in a file; each must occur once."""
    text = path.read_text()
    for old, new in changes:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    path.write_text(text)


Problems = list[dict[str, object]]


def found(path: Path, load: Callable[..., object], *arguments: object) -> Problems:
    """Return code, line, key and suggestion of every problem of a file, where present."""
    with raises("invalid-configuration", path=path) as caught:
        load(*arguments)
    names = ("code", "line", "key", "suggestion")
    parts = [{name: getattr(part, name) for name in names} for part in caught.error.parts]
    return [{name: value for name, value in part.items() if value is not None} for part in parts]
