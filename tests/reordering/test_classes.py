"""Tests of exchange clustering: categories of a toy grammar, and perplexity of the class model in a slow form."""

from __future__ import annotations

import math
import random
from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from raises import raises
from wordorder.data.ragged import Ragged
from wordorder.data.units import Vocabulary
from wordorder.reordering.classes import exchange_classes, read_classes, write_classes

CATEGORIES = {"D": 4, "A": 7, "N": 15, "V": 10, "P": 3}
PATTERNS = ("D N V", "D A N V D N", "D N V D A A N", "D N V P D N", "P D A N V D N")


def toy_text(sentences: int, seed: int) -> tuple[list[list[str]], Vocabulary]:
    """Every word of a category is as likely as any other, so only the neighbours tell the categories apart."""
    draw = random.Random(seed)
    text = [
        [f"{category}{draw.randrange(CATEGORIES[category])}" for category in draw.choice(PATTERNS).split()]
        for _ in range(sentences)
    ]
    return text, Vocabulary.build(text)


def perplexity(sentences: Ragged, classes: NDArray[np.int32]) -> float:
    """Of p(w | class of w) p(class of w | class of v), counted in the text itself; <s> is a word and a class."""
    words = ["<s>"] + [word for row in sentences for word in [*row.tolist(), "<s>"]]
    labels = [word if word == "<s>" else int(classes[word]) for word in words]
    of_class, of_word = Counter(labels[1:]), Counter(words[1:])
    history, pairs = Counter(labels[:-1]), Counter(pairwise(labels))
    total = 0.0
    for word, (last, label) in zip(words[1:], pairwise(labels), strict=True):
        total += math.log(of_word[word] / of_class[label]) + math.log(pairs[last, label] / history[last])
    return math.exp(-total / (len(words) - 1))


def test_the_categories_of_a_toy_grammar() -> None:
    text, vocabulary = toy_text(1500, seed=1)
    assert vocabulary.size == 1 + sum(CATEGORIES.values())
    classes = exchange_classes([vocabulary.numbers(text)], vocabulary.size, 1 + len(CATEGORIES))
    assert classes[0] == 0 and classes.dtype == np.int32
    found = {(unit[0], number) for unit, number in zip(vocabulary.units, classes[1:].tolist(), strict=True)}
    assert len(found) == len(CATEGORIES) == len({number for _, number in found}), "one class a category"
    assert {number for _, number in found} == set(range(1, 1 + len(CATEGORIES)))


def zipf_text(seed: int) -> tuple[Ragged, int]:
    """Words of very different frequencies, some of which follow themselves or stand alone."""
    draw = np.random.default_rng(seed)
    rows = [np.minimum(draw.zipf(1.3, int(draw.integers(0, 9))), 120).tolist() for _ in range(400)]
    return Ragged.of([[word for index, word in enumerate(row) if index % 3 or word % 2] for row in rows]), 130


@pytest.mark.parametrize("seed", [3, 4])
def test_perplexity_falls_with_every_iteration(seed: int) -> None:
    sentences, units = zipf_text(seed)
    found = [
        perplexity(sentences, exchange_classes([sentences], units, 8, iterations=number, minimum=1))
        for number in range(12)
    ]
    changing = found[: next(number for number in range(12) if found[number] == found[-1]) + 1]
    assert len(changing) > 3
    assert all(later < earlier for earlier, later in pairwise(changing)), found


def test_no_single_move_is_better_in_the_end() -> None:
    sentences, units = zipf_text(5)
    classes = exchange_classes([sentences], units, 6, iterations=100)
    best = perplexity(sentences, classes)
    counts = np.bincount(sentences.values, minlength=units)
    movable = [unit for unit in range(1, units) if counts[unit] >= 2]
    assert len(movable) > 40
    for unit in movable:
        for other in range(1, 6):
            changed = classes.copy()
            changed[unit] = other
            assert perplexity(sentences, changed) > best * (1 - 1e-12)


def test_rare_and_unknown_units_share_class_0() -> None:
    text, vocabulary = toy_text(300, seed=2)
    text += [["D0", "rare", "V0"], ["D1", "N0", "twice", "D0", "twice"]]
    numbers = Vocabulary([*vocabulary.units, "rare", "twice", "never"])
    sentences = numbers.numbers([*text, ["D0", "unseen", "V1"], ["D2", "unseen"]])
    classes = dict(zip(["?", *numbers.units], exchange_classes([sentences], numbers.size, 6).tolist(), strict=True))
    assert [unit for unit, number in classes.items() if number == 0] == ["?", "rare", "never"]
    thrice = exchange_classes([sentences], numbers.size, 6, minimum=3).tolist()
    assert thrice[numbers.size - 2] == 0 and 0 not in thrice[1 : vocabulary.size]


def test_the_same_text_gives_the_same_classes() -> None:
    sentences, units = zipf_text(6)
    first, second = (exchange_classes([sentences], units, 10) for _ in range(2))
    assert first.tolist() == second.tolist()
    assert len(set(first.tolist())) == 10


@pytest.mark.parametrize("size", [1, 7, 399])
def test_the_blocks_of_a_text_do_not_matter(size: int) -> None:
    sentences, units = zipf_text(8)
    rows = [row.tolist() for row in sentences]
    blocks = (Ragged.of(rows[start : start + size]) for start in range(0, len(rows), size))
    assert exchange_classes(blocks, units, 10).tolist() == exchange_classes([sentences], units, 10).tolist()


def test_no_text_has_class_0_alone() -> None:
    assert exchange_classes([], 3, 50).tolist() == [0, 0, 0]


@pytest.mark.parametrize("rows", [[], [[]], [[], [0, 0]], [[1]]])
def test_too_little_text_has_class_0_alone(rows: list[list[int]]) -> None:
    assert exchange_classes([Ragged.of(rows)], 3, 50).tolist() == [0, 0, 0]


def test_more_classes_than_units_and_a_single_class() -> None:
    sentences, units = zipf_text(7)
    assert set(exchange_classes([sentences], units, 1).tolist()) == {0}
    assert exchange_classes([sentences], units, 500).max() < 500


@pytest.mark.parametrize(("units", "classes", "message"), [(3, 0, "0 classes"), (3, 5, r"unit 3\b.*\b0 to 2\b")])
def test_numbers_that_do_not_fit_are_refused(units: int, classes: int, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        exchange_classes([Ragged.of([[1, 3]])], units, classes)


# ----------------------------------------------------------------------------------------------------------- files


def test_classes_come_back_from_their_file(tmp_path: Path) -> None:
    vocabulary = Vocabulary(["the", "漢字", "\u2581a", ",", "7"])
    classes = np.array([0, 3, 49, 0, 1, 2], dtype=np.int32)
    write_classes(tmp_path / "classes.tsv", vocabulary, classes)
    assert (tmp_path / "classes.tsv").read_bytes() == "the\t3\n漢字\t49\n\u2581a\t0\n,\t1\n7\t2\n".encode()
    assert read_classes(tmp_path / "classes.tsv", vocabulary, 50).tolist() == classes.tolist()
    other = read_classes(tmp_path / "classes.tsv", Vocabulary(["7", "dog", "the"]), 50)
    assert other.tolist() == [0, 2, 0, 3] and other.dtype == np.int32


def test_units_with_byte_order_marks_come_back(tmp_path: Path) -> None:
    vocabulary = Vocabulary(["foo", "\ufeff", "\ufefffoo", "\ufeff\ufeffbar", "b\ufeff"])
    classes = np.array([0, 1, 2, 3, 4, 5], dtype=np.int32)
    write_classes(tmp_path / "classes.tsv", vocabulary, classes)
    assert read_classes(tmp_path / "classes.tsv", vocabulary, 50).tolist() == classes.tolist()


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("a\t1\nb\n", {"code": "malformed-line", "line": 2}),
        ("a\t1\nb\t-1\n", {"code": "malformed-line", "line": 2}),
        ("a\tx\n", {"code": "malformed-line", "line": 1}),
        ("\t3\n", {"code": "malformed-line", "line": 1}),
        ("a\t1\n\n", {"code": "malformed-line", "line": 2}),
        ("a\t12345678901\n", {"code": "malformed-line", "line": 1}),
        ("a\t49\nb\t50\n", {"code": "malformed-line", "line": 2}),
        ("", {"code": "empty-file"}),
        ("a\t1\nb\t1\na\t2\n", {"code": "duplicate-name", "line": 3}),
    ],
)
def test_a_malformed_file_of_classes_is_an_error_with_its_line(
    tmp_path: Path, text: str, problem: dict[str, Any]
) -> None:
    (tmp_path / "classes.tsv").write_text(text, encoding="utf-8")
    with raises(path=tmp_path / "classes.tsv", **problem):
        read_classes(tmp_path / "classes.tsv", Vocabulary(["a"]), 50)


def test_classes_of_another_vocabulary_are_not_written(tmp_path: Path) -> None:
    for classes in ([0, 1], [1, 1, 1]):
        with pytest.raises(ValueError, match="vocabulary"):
            write_classes(tmp_path / "classes.tsv", Vocabulary(["a", "b"]), np.array(classes, dtype=np.int32))
