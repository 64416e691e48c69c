"""Compiled functions, and what is said while they are compiled."""

from __future__ import annotations

import threading
import time

import numpy as np
import pytest
from numpy.typing import NDArray

from wordorder import compiled as module
from wordorder.compiled import compiled, first_call


@compiled
def total(values: NDArray[np.int32]) -> int:
    result = 0
    for value in values:
        result += value
    return result


@compiled
def scramble(rounds: int) -> np.uint64:
    """Takes a while: no compiler sees through it."""
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
    # A loop that held the interpreter would let nobody look while it ran.
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
