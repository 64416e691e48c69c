from __future__ import annotations

import os
import signal
from collections.abc import Callable

import pytest
import torch

from raises import raises
from wordorder.children import shared
from wordorder.errors import WordorderError


def test_children_inherit_what_work_needs_and_have_one_thread() -> None:
    inherited = {"ten": 10}

    def work(number: int) -> tuple[int, int, bool]:
        return number * inherited["ten"], torch.get_num_threads(), os.getpid() != parent

    parent = os.getpid()
    assert dict(shared(work, 5, 2)) == {number: (10 * number, 1, True) for number in range(5)}


def _killed(number: int) -> int:
    if number == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    return number


def _wrong(number: int) -> int:
    raise WordorderError(f"Piece {number} is wrong.", code="wrong-piece", found=number)


@pytest.mark.parametrize(("work", "code"), [(_killed, "process-killed"), (_wrong, "wrong-piece")])
def test_a_child_that_dies_or_fails_is_an_error(work: Callable[[int], int], code: str) -> None:
    with raises(code):
        list(shared(work, 3, 2))
