from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from little_study import Workspace
from snakemake_runs import snakemake

# Two test processes of two threads each on two cores wait for each other most of the time.
os.environ["OMP_NUM_THREADS"] = "1"

# How long an example takes says more about the machine than about the code.
settings.register_profile("no_deadline", settings(), deadline=None)
settings.load_profile("no_deadline")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What runs the workflow takes longest and comes first: at the end no process is left alone with the last ones."""
    items.sort(key=lambda item: item.path.parent.name != "workflow")


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


@pytest.fixture
def own_encodings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty folder that WORDORDER_ENCODINGS names: the registry's next question finds the files put there."""
    from wordorder.encodings import registry

    registry.encoding_types()
    folder = tmp_path / "encodings"
    folder.mkdir()
    monkeypatch.setenv("WORDORDER_ENCODINGS", str(folder))
    monkeypatch.setattr(registry, "_registered", dict(registry._registered))
    registry._discover.cache_clear()
    yield folder
    registry._discover.cache_clear()
