"""Tests of the learning rate at manually computed updates."""

from __future__ import annotations

import pytest

from wordorder.config.models import Recipe
from wordorder.training.schedule import learning_rate


@pytest.mark.parametrize(
    ("update", "expected"), [(1, 1e-7 + (7e-4 - 1e-7) / 4000), (2000, (7e-4 + 1e-7) / 2), (4000, 7e-4), (16000, 3.5e-4)]
)
def test_warm_up_and_inverse_square_root(update: int, expected: float) -> None:
    recipe = Recipe(learning_rate=7e-4, warmup_updates=4000, warmup_from=1e-7, max_updates=1)
    assert learning_rate(recipe, update) == pytest.approx(expected, rel=1e-12)
