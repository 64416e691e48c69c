"""Tests of dependencies, locks, and the script that creates environments."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
REQUIRED = PROJECT["dependencies"] + [text for extra in PROJECT["optional-dependencies"].values() for text in extra]


def pins(name: str) -> dict[str, str]:
    lines = (ROOT / "requirements" / name).read_text(encoding="utf-8").splitlines()
    matches = [
        re.fullmatch(r"([A-Za-z0-9_.-]+)==([\w.]+)", line) for line in lines if line and not line.startswith("#")
    ]
    assert all(matches), f"{name} holds something else than name==version (a local version such as +cpu, a URL?)"
    return {canonicalize_name(match[1]): match[2] for match in matches if match}


@pytest.mark.parametrize("text", REQUIRED)
def test_each_dependency_is_locked_to_a_version_that_it_allows(text: str) -> None:
    requirement = Requirement(text)
    assert requirement.specifier.contains(pins("main.lock")[canonicalize_name(requirement.name)])


@pytest.mark.parametrize("text", PROJECT["dependencies"])
def test_each_dependency_has_a_lower_bound(text: str) -> None:
    assert any(specifier.operator == ">=" for specifier in Requirement(text).specifier)


def test_the_comet_lock_fits_what_comet_txt_asks_for() -> None:
    locked = pins("comet.lock")
    lines = (ROOT / "requirements" / "comet.txt").read_text(encoding="utf-8").splitlines()
    for requirement in [Requirement(line.partition("#")[0]) for line in lines if not line.startswith("#")]:
        assert requirement.specifier.contains(locked[canonicalize_name(requirement.name)])


@pytest.mark.parametrize("name", ["main", "comet"])
def test_each_locked_version_has_hashes(name: str) -> None:
    text = (ROOT / "requirements" / f"{name}.hashes").read_text(encoding="utf-8")
    found = re.findall(r"^([A-Za-z0-9_.-]+)==([\w.]+) \\\n    --hash=sha256:[0-9a-f]{64}", text, re.MULTILINE)
    assert {canonicalize_name(package): version for package, version in found} == pins(f"{name}.lock")


# -------------------------------------------------------------------------------------------- requirements/verify.py


def verify(folder: Path, *packages: tuple[str, str, str | None]) -> subprocess.CompletedProcess[str]:
    """Verify packages (name, URL, SHA-256; None for a folder), where 'numpy' has the known hashes 00… and 11…."""
    install = [
        {
            "metadata": {"name": name, "version": "1.0"},
            "download_info": {
                "url": url,
                **({"archive_info": {"hashes": {"sha256": own}}} if own else {"dir_info": {}}),
            },
        }
        for name, url, own in packages
    ]
    (folder / "report").write_text(json.dumps({"install": install}))
    (folder / "hashes").write_text(f"numpy==1.0 \\\n    --hash=sha256:{'0' * 64} \\\n    --hash=sha256:{'1' * 64}\n")
    command = [sys.executable, ROOT / "requirements" / "verify.py", folder / "report", folder / "hashes"]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_only_files_with_known_hashes_are_installed(tmp_path: Path) -> None:
    index = "https://index.example/file.whl"
    done = verify(tmp_path, ("NumPy", index, "1" * 64), ("wordorder", "file:///project", None))
    assert (done.returncode, done.stdout) == (0, f"numpy==1.0 --hash=sha256:{'1' * 64}\n")
    done = verify(tmp_path, ("numpy", index, "2" * 64))
    assert done.returncode == 1 and not done.stdout and "2" * 64 in done.stderr


@pytest.mark.parametrize(("name", "url"), [("numpy", "file:///wheels/numpy.whl"), ("cuda", "https://index.example/c")])
def test_local_files_and_packages_outside_the_lock_are_named(name: str, url: str, tmp_path: Path) -> None:
    done = verify(tmp_path, (name, url, "2" * 64))
    assert (done.returncode, done.stdout) == (0, f"{name}==1.0 --hash=sha256:{'2' * 64}\n")
    assert f"not verified: {name} 1.0" in done.stderr


# ------------------------------------------------------------------------------------------- requirements/install

# Stands in for a Python: '-m venv DIR' copies it to DIR/bin/python; '-m pip …' writes down what it was asked for, and
# fails if the file 'broken' is in the folder of the environments.
PYTHON = """#!/usr/bin/env bash
if [ "$1" = --version ]; then echo Python 3.VERSION.1; exit; fi
if [ "$1" = -c ]; then test VERSION -ge 11; exit; fi
if [ "$2" = venv ]; then mkdir -p "$3/bin"; cp "$0" "$3/bin/python"; touch "$3/new"; exit; fi
echo "$@" >>FOLDER/asked
test ! -e FOLDER/broken
"""


class Machine:
    """Return a folder with a substitute Python in which requirements/install runs."""

    def __init__(self, folder: Path, version: int = 12) -> None:
        self.folder, self.venv = folder, folder / "venv"
        self.python = folder / "python"
        self.python.write_text(PYTHON.replace("VERSION", str(version)).replace("FOLDER", str(folder)))
        self.python.chmod(0o755)

    def install(self, python: str | None = None) -> subprocess.CompletedProcess[str]:
        script = ROOT / "requirements" / "install"
        command = [script, python or self.python, self.venv, "main", "--editable", "."]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    def asked(self) -> list[str]:
        return (self.folder / "asked").read_text().splitlines()


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def test_install_takes_the_locked_torch_first_and_shows_what_it_runs(machine: Machine) -> None:
    done = machine.install()
    assert done.returncode == 0
    torch, looked, _, rest = machine.asked()
    assert torch == f"-m pip install --no-compile --no-deps torch=={pins('main.lock')['torch']}"
    assert re.search(r"--dry-run .*--constraint \S*requirements/main.lock --editable \.$", looked)
    assert rest == "-m pip install --no-compile --no-deps --editable ."
    assert "$ " in done.stderr and "--constraint" in done.stderr


def test_install_keeps_a_finished_environment_and_updates_it(machine: Machine) -> None:
    machine.install()
    (machine.venv / "new").unlink()
    assert machine.install().returncode == 0
    assert not (machine.venv / "new").exists(), "the environment was made anew"
    assert len(machine.asked()) == 8


def test_install_makes_a_half_made_environment_anew(machine: Machine) -> None:
    (machine.folder / "broken").touch()
    assert machine.install().returncode != 0
    (machine.folder / "broken").unlink()
    (machine.venv / "new").unlink()
    assert machine.install().returncode == 0
    assert (machine.venv / "new").exists()


def test_install_does_not_touch_a_folder_of_others(machine: Machine) -> None:
    (machine.venv / "mine").mkdir(parents=True)
    done = machine.install()
    assert done.returncode == 1 and "was not made by this script" in done.stderr
    assert [path.name for path in machine.venv.iterdir()] == ["mine"]


def test_install_refuses_an_old_python(tmp_path: Path) -> None:
    machine = Machine(tmp_path, version=10)
    done = machine.install()
    assert done.returncode == 1 and "needs Python 3.11 or later" in done.stderr and "3.10.1" in done.stderr
    assert not machine.venv.exists()


def test_install_says_when_there_is_no_such_python(machine: Machine) -> None:
    done = machine.install("no-such-python")
    assert done.returncode == 1 and "'no-such-python' does not start" in done.stderr


# ------------------------------------------------------------------------------------------------------- the Makefile


def test_make_lets_python_keep_compiled_modules() -> None:
    done = subprocess.run(
        ["make", "--silent", "--eval", "shown: ; @env", "shown"],
        cwd=ROOT,
        env=os.environ | {"PYTHONDONTWRITEBYTECODE": "1", "ANYTHING_ELSE": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert "ANYTHING_ELSE=1" in done.stdout and "PYTHONDONTWRITEBYTECODE" not in done.stdout
