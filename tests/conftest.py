from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from little_study import Workspace
from snakemake_runs import snakemake


@pytest.fixture
def config(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the folder config that a test may change."""
    folder = tmp_path_factory.mktemp("copy") / "config"
    shutil.copytree(Path(__file__).parents[1] / "config", folder)
    return folder


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    """A study that was run to its end. Tests that use it are marked xdist_group("finished_study")."""
    workspace = Workspace(tmp_path_factory.mktemp("finished"))
    workspace.write()
    done = snakemake(workspace.folder, *workspace.arguments())
    assert done.returncode == 0, done.stdout + done.stderr
    return workspace


@pytest.fixture
def study(finished: Workspace, tmp_path: Path) -> Workspace:
    """A copy of the finished study that a test may change; times of files are kept."""
    shutil.copytree(finished.folder.parent, tmp_path / "copy")
    return Workspace(tmp_path / "copy")
