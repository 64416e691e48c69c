"""What identifies a training run, so that its saved state is resumed or discarded."""

from __future__ import annotations

from pathlib import Path

import pytest

from tiny_models import SIZE
from wordorder.config.models import Cell, Recipe
from wordorder.encodings.registry import parse
from wordorder.training.stamp import earlier_stamp, stamp
from wordorder.training.state import StateDirectory

RECIPE = Recipe(max_epochs=4, batch_tokens=512)
CELL = Cell(encoding=parse({"type": "alibi"}), size=SIZE, recipe=RECIPE, seed=1)


class Longer(Recipe):
    """The recipe of a later version."""

    momentum: float = 0.5


def later(**recipe: float) -> Cell:
    return CELL.model_copy(update={"recipe": Longer(max_epochs=4, batch_tokens=512, **recipe)})


def test_the_stamp_of_a_known_run_never_changes() -> None:
    """Whoever changes it discards the saved states of all unfinished trainings."""
    assert stamp(CELL, "corpus") == "33969829547dffb9c291503c24b0f3a7fa83b6c23ae1d91c0d906d9d95bbf562"


def test_a_new_option_with_a_default_keeps_the_saved_state() -> None:
    assert stamp(CELL, "corpus") == stamp(later(), "corpus") == stamp(later(momentum=0.5), "corpus")


@pytest.mark.parametrize(
    "other",
    [
        later(momentum=0.6),
        CELL.model_copy(update={"seed": 2}),
        CELL.model_copy(update={"encoding": parse({"type": "t5"})}),
        CELL.model_copy(update={"code": {"encodings/alibi": "0123456789"}}),
    ],
    ids=["recipe", "seed", "encoding", "code"],
)
def test_another_run_has_another_stamp(other: Cell) -> None:
    assert stamp(CELL, "corpus") != stamp(other, "corpus")
    assert stamp(CELL, "corpus") != stamp(CELL, "another corpus")


@pytest.mark.parametrize("part", ["encoding", "size"])
def test_a_corrected_part_does_not_continue_a_training_from_before(part: str, monkeypatch: pytest.MonkeyPatch) -> None:
    before = stamp(CELL, "corpus")
    monkeypatch.setattr(type(getattr(CELL, part)), "revision", 2)
    assert stamp(CELL, "corpus") != before


def test_the_state_of_an_earlier_version_is_continued(tmp_path: Path) -> None:
    directory = StateDirectory(tmp_path)
    directory.claim(earlier_stamp(CELL, "corpus"))
    directory.save({"update": 1})
    for _ in range(2):
        assert directory.claim(stamp(CELL, "corpus"), earlier_stamp(CELL, "corpus")) is False
        assert directory.load() == {"update": 1}
    assert directory.claim(stamp(later(momentum=0.6), "corpus"), "of another run") is True
    assert directory.load() is None
