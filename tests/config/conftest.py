from __future__ import annotations

from pathlib import Path

import pytest

from small_config import write_config


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A small configuration folder that a test may change."""
    write_config(tmp_path)
    return tmp_path
