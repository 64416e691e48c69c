from __future__ import annotations

import shutil
from pathlib import Path

import pytest


@pytest.fixture
def config(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the folder config that a test may change."""
    folder = tmp_path_factory.mktemp("copy") / "config"
    shutil.copytree(Path(__file__).parents[1] / "config", folder)
    return folder
