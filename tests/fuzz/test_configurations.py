"""Whatever is in a configuration file, the answer is a configuration or sentences."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
import yaml

from fuzzing import cases, changed, damaged
from wordorder.config.load import load_aligners, load_dataset, load_encodings, load_reorderers, load_sizes, load_study
from wordorder.errors import WordorderError

CONFIG = Path(__file__).parents[2] / "config"
READERS = {
    "aligners.yaml": load_aligners,
    "encodings.yaml": load_encodings,
    "reorderers.yaml": load_reorderers,
    "sizes.yaml": load_sizes,
    "datasets/multi30k.yaml": lambda root: load_dataset("multi30k", root),
    "studies/xlpe.yaml": lambda root: load_study("xlpe", root),
}


@pytest.mark.parametrize("file", READERS)
def test_a_changed_value_is_accepted_or_a_sentence(file: str, tmp_path: Path) -> None:
    root = tmp_path / "config"
    shutil.copytree(CONFIG, root)
    text = (CONFIG / file).read_text(encoding="utf-8")
    for name, generator in cases(12):
        (root / file).write_text(yaml.safe_dump(changed(yaml.safe_load(text), generator), allow_unicode=True), "utf-8")
        check(file, root, name)


@pytest.mark.parametrize("file", READERS)
def test_damaged_bytes_are_accepted_or_a_sentence(file: str, tmp_path: Path) -> None:
    root = tmp_path / "config"
    shutil.copytree(CONFIG, root)
    content = (CONFIG / file).read_bytes()
    for name, generator in cases(12):
        (root / file).write_bytes(damaged(content, generator)[1])
        check(file, root, name)


def check(file: str, root: Path, name: str) -> None:
    try:
        READERS[file](root)
    except WordorderError as error:
        assert "discriminator" not in str(error), "a word of pydantic's"
    except BaseException as error:
        error.add_note(f"case {name}: {(root / file).read_text(encoding='utf-8', errors='replace')[:2000]}")
        raise
