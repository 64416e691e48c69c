"""Tests of compiled functions, and of the message while they are compiled."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from wordorder import compiled as module
from wordorder.compiled import cache_folder, compiled, first_call


@compiled
def total(values: NDArray[np.int32]) -> int:
    result = 0
    for value in values:
        result += value
    return result


@compiled
def scramble(rounds: int) -> np.uint64:
    """Compute for a while, in a way that no compiler can shorten."""
    state = np.uint64(1)
    for _ in range(rounds):
        state ^= state << np.uint64(13)
        state ^= state >> np.uint64(7)
        state ^= state << np.uint64(17)
    return state


def test_a_compiled_function_does_what_it_says() -> None:
    assert total(np.arange(5, dtype=np.int32)) == 10


def test_other_threads_run_meanwhile() -> None:
    scramble(1)  # compiled
    thread = threading.Thread(target=scramble, args=(3 * 10**8,))
    looks = [time.monotonic()]
    thread.start()
    while thread.is_alive():
        looks.append(time.monotonic())
    # A loop that held the interpreter lock would stop other threads while it runs.
    assert max(np.diff(looks)) < 0.5 * (looks[-1] - looks[0])


def test_a_long_first_call_is_explained_and_a_short_one_is_not(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with first_call("a short thing"):
        pass
    monkeypatch.setattr(module, "_PATIENCE", 0.0)
    with first_call("a long thing"):
        threading.Event().wait(0.3)
    assert capsys.readouterr().err == "wordorder: compiling a long thing for this machine. This happens once.\n"


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two modules, one of which calls the other's compiled function."""
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    folder = tmp_path / "package"
    for name in module.PACKAGES:
        (folder / name).mkdir(parents=True)
    (folder / "alignment/one.py").write_text("ONE = 1\n")
    return folder


def test_code_is_kept_for_these_very_sources(package: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    first = cache_folder(package)
    assert first == cache_folder(package) and first.parent == package / "__pycache__"
    (package / "alignment/one.py").write_text("ONE = 2\n")
    second = cache_folder(package)
    assert second != first
    (package / "reordering/two.py").write_text("")
    assert cache_folder(package) not in (first, second)
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "chosen"))
    assert cache_folder(package).parent == tmp_path / "chosen"


def test_code_is_kept_in_the_users_cache_where_the_package_cannot_be_written(
    package: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(os, "access", lambda *_: False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_folder(package).parent == tmp_path / "wordorder"


def test_a_change_of_what_a_compiled_function_calls_is_seen(tmp_path: Path) -> None:
    """In a copy of the package, changed features change the output of a parser that was compiled before."""
    copy = Path(
        shutil.copytree(Path(module.__file__).parent, tmp_path / "wordorder", ignore=lambda *_: ["__pycache__"])
    )
    program = (
        "import numpy as np\n"
        "from wordorder.reordering.metrics import score_order\n"
        "print(score_order(np.array([1, 0], np.int32), np.array([0, 1], np.int32))['tau'])\n"
    )
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}

    def run() -> float:
        done = subprocess.run(
            [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True
        )
        return float(done.stdout)

    assert run() == 0.0
    metrics = copy / "reordering/metrics.py"
    stamp = metrics.stat()
    metrics.write_text(metrics.read_text().replace("discordant += other > rank", "discordant += 0"))
    os.utime(metrics, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))
    assert run() == 1.0
