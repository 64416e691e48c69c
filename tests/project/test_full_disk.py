"""Test that tests of full disks leave no truncated compiled modules, which would break the tests after them."""

from __future__ import annotations

import importlib
import os
import sys
from pathlib import Path

import pytest

from full_disk import limited, no_file_larger_than


def test_a_process_with_a_limit_keeps_no_compiled_modules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPYCACHEPREFIX", str(tmp_path))
    assert "wordorder" in limited(["--help"], 200).stdout
    # Modules that Python imports when it starts are written before the limit.
    assert not list(tmp_path.rglob("wordorder/**/*.pyc"))


def test_an_import_below_a_limit_keeps_no_compiled_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "module_of_a_full_disk.py").write_text(f"VALUES = {list(range(500))}\n", encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    before = sys.dont_write_bytecode
    with no_file_larger_than(200):
        assert "PYTHONDONTWRITEBYTECODE" in os.environ
        importlib.import_module("module_of_a_full_disk")
    assert not list(tmp_path.rglob("*.pyc")) and sys.dont_write_bytecode == before
