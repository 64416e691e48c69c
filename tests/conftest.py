from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from hypothesis import settings

from little_study import Workspace
from snakemake_runs import snakemake
from wordorder.model.attention import base as attention
from wordorder.registry import KINDS, registry_of

# Two test processes of two threads each on two cores wait for each other most of the time.
os.environ["OMP_NUM_THREADS"] = "1"

# Python in a container is often told to keep no compiled modules. Tests start many processes, each of which would then
# compile Snakemake, PyTorch and this project again, for three times as long as it takes to import them.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

# How long an example takes says more about the machine than about the code.
settings.register_profile("no_deadline", settings(), deadline=None)
settings.load_profile("no_deadline")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run tests of the workflow first, because they take longest and should not be left for one process at the end."""
    items.sort(key=lambda item: item.path.parent.name not in ("workflow", "docs"))


@pytest.fixture(autouse=True)
def _subnormal_numbers() -> Iterator[None]:
    """Keep subnormal numbers, which a test that runs a model in this process rounds to 0, for the next test."""
    yield
    torch.set_flush_denormal(False)


@pytest.fixture
def config(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a copy of the folder config that a test may change."""
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
    """Return a copy of the finished study that a test may change; times of files are kept."""
    shutil.copytree(finished.folder.parent, tmp_path / "copy")
    return Workspace(tmp_path / "copy")


@pytest.fixture
def plugins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder that WORDORDER_PLUGINS names, with an empty folder per kind, whose files are found by the next question.

    What they register is forgotten afterwards. A test that adds files after it has asked calls ``forget_discovery``.
    """
    folder = tmp_path / "plugins"
    registries = [registry_of(kind) for kind in KINDS]
    for registry in registries:
        registry.names()
        (folder / registry.kind).mkdir(parents=True)
        for attribute in ("_members", "_modules", "_code"):
            monkeypatch.setattr(registry, attribute, dict(getattr(registry, attribute)))
        registry.forget_discovery()
    monkeypatch.setenv("WORDORDER_PLUGINS", str(folder))
    attention._chosen.cache_clear()
    yield folder
    attention._chosen.cache_clear()
    for registry in registries:
        registry.forget_discovery()


@pytest.fixture
def own_encodings(plugins: Path) -> Path:
    """Return the folder of encodings of ``plugins``."""
    return plugins / "encodings"
