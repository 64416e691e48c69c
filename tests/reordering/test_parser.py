"""Tests of the parser: training, saved state, model file, and parsing."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from raises import raises
from wordorder.config import reordering as config
from wordorder.data.arrays import write_npz
from wordorder.data.ragged import Ragged
from wordorder.data.trees import parse_tree, tree_order
from wordorder.data.units import Vocabulary
from wordorder.reordering import train as training
from wordorder.reordering.parser import Parser
from wordorder.reordering.train import Trained, train

SETTINGS = config.Parser(iterations=3, seed=7)
BITS = 16
NO_CLASSES = np.empty(0, dtype=np.int32)

NOUNS = [f"noun{number}" for number in range(12)]
VERBS = [f"verb{number}" for number in range(12)]
ADJECTIVES = ["small", "red", "old"]


def toy_sentence(random: np.random.Generator) -> tuple[list[str], list[int]]:
    """Subject, verb, object, and where each unit stands in a language that has the verb last and no articles."""

    def phrase() -> list[str]:
        words = ["the"] if random.random() < 0.5 else []
        words += random.choice(ADJECTIVES, random.integers(0, 3)).tolist()
        return [*words, random.choice(NOUNS)]

    subject, verb, thing = phrase(), [str(random.choice(VERBS))], phrase()
    units = subject + verb + thing
    places = [*range(len(subject)), len(units) - 1, *range(len(subject), len(units) - 1)]
    known = sorted(place for unit, place in zip(units, places, strict=True) if unit != "the")
    return units, [-1 if unit == "the" else known.index(place) for unit, place in zip(units, places, strict=True)]


def toy(sentences: int, seed: int) -> tuple[list[list[str]], Ragged]:
    random = np.random.default_rng(seed)
    pairs = [toy_sentence(random) for _ in range(sentences)]
    return [units for units, _ in pairs], Ragged.of(ranks for _, ranks in pairs)


TEXT, RANKS = toy(300, seed=1)
VOCABULARY = Vocabulary.build(TEXT)
CLASSES = np.array(
    [0] + [1 + ["n", "v", "t"].index(unit[0]) if unit[0] in "nvt" else 4 for unit in VOCABULARY.units], dtype=np.int32
)


def trained(settings: config.Parser = SETTINGS, classes: Any = CLASSES, **options: Any) -> Trained:
    return train(
        VOCABULARY.numbers(TEXT), classes, RANKS, np.ones(len(TEXT), dtype=bool), settings, bits=BITS, **options
    )


@pytest.fixture(scope="module")
def parser() -> Parser:
    return Parser(VOCABULARY, CLASSES, trained().weights, SETTINGS)


def aligned(order: list[int], units: list[str]) -> list[str]:
    return [units[unit] for unit in order if units[unit] != "the"]


def wrong(parser: Parser) -> int:
    """Count the wrong orders among 200 new sentences."""
    text, ranks = toy(200, seed=2)
    orders = parser.orders(parser.vocabulary.numbers(text))
    expected = [[int(unit) for unit in np.argsort(row, kind="stable") if row[unit] >= 0] for row in ranks]
    return sum(
        aligned(order.tolist(), units) != [units[unit] for unit in best]
        for order, units, best in zip(orders, text, expected, strict=True)
    )


# --------------------------------------------------------------------------------------------------------- training


@pytest.mark.parametrize("learner", ["perceptron", "pa"])
@pytest.mark.parametrize("loss", ["tau", "chunks"])
def test_a_toy_language_is_learned(learner: Any, loss: Any) -> None:
    settings = SETTINGS.model_copy(update={"learner": learner, "loss": loss})
    found = trained(settings)
    assert (found.sentences, found.without_ranks, found.without_tree) == (300, 0, 0)
    assert wrong(Parser(VOCABULARY, CLASSES, found.weights, settings)) == 0
    assert wrong(Parser(VOCABULARY, CLASSES, np.zeros_like(found.weights), settings)) == 200


def test_a_toy_language_is_learned_without_classes_and_parsed_by_beam() -> None:
    settings = SETTINGS.model_copy(update={"exact": 0, "beam": 5})
    assert wrong(Parser(VOCABULARY, NO_CLASSES, trained(classes=NO_CLASSES).weights, settings)) == 0


def test_sentences_that_no_tree_fits_are_left_out_and_counted() -> None:
    odd = [["the"], [], ["a", "b", "c", "d"], ["a", "b"]]
    ranks = Ragged.of([*RANKS, [0], [], [1, 3, 0, 2], [-1, -1]])
    ranked = np.array([True] * 302 + [True, False])
    source = VOCABULARY.numbers([*TEXT, *odd])
    found = train(source, CLASSES, ranks, ranked, SETTINGS, bits=BITS)
    assert (found.sentences, found.without_ranks, found.without_tree) == (302, 1, 1)


def test_the_mean_of_the_weights_is_that_of_all_steps() -> None:
    """With one sentence a step, that after each of them, one after the other."""
    source, ranked = VOCABULARY.numbers(TEXT[:40]), np.ones(40, dtype=bool)
    ranks = Ragged(RANKS.values[: source.offsets[-1]], source.offsets)
    settings = config.Parser(iterations=1, learner="perceptron")
    order = np.random.default_rng([settings.seed, 0]).permutation(40)
    total = 40
    means = np.zeros(1 << BITS)
    weights = [np.zeros(1 << BITS, np.float32), np.zeros(1 << BITS), np.zeros(1 << BITS, np.float32)]
    model = training.Model(*weights)
    for step, sentence in enumerate(order):
        one = np.array([sentence])
        training.learn(source.values, source.offsets, ranks.values, CLASSES, one, model, step, total, 0, 0)
        means += model.weights / total
    found = train(source, CLASSES, ranks, ranked, settings, bits=BITS).weights
    assert np.count_nonzero(found) > 100
    assert found == pytest.approx(means, abs=1e-6)


class Stopped(Exception):
    pass


def test_a_training_that_was_stopped_goes_on_to_the_same_bits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = trained().weights
    save, learn = training._save, training.learn

    def stop_after_two(state: Path, stamp: str, iterations: int, model: Any) -> None:
        save(state, stamp, iterations, model)
        if iterations == 2:
            raise Stopped

    with monkeypatch.context() as patch, pytest.raises(Stopped):
        patch.setattr(training, "_save", stop_after_two)
        trained(state=tmp_path / "state")
    rounds = []

    def count(*arguments: Any) -> int:
        rounds.append(len(arguments[4]))
        return learn(*arguments)

    monkeypatch.setattr(training, "learn", count)
    assert trained(state=tmp_path / "state").weights.tobytes() == expected.tobytes()
    assert sum(rounds) == 300, "only the third iteration is left"
    # State of another training, and a damaged one, are not used.
    rounds.clear()
    other = SETTINGS.model_copy(update={"seed": 8})
    assert trained(other, state=tmp_path / "state").weights.tobytes() != expected.tobytes()
    assert sum(rounds) == 900
    (tmp_path / "state" / "last.npz").write_bytes(b"PK nothing")
    rounds.clear()
    assert trained(state=tmp_path / "state").weights.tobytes() == expected.tobytes()
    assert sum(rounds) == 900
    # How the search is done does not matter.
    rounds.clear()
    trained(SETTINGS.model_copy(update={"beam": 3, "exact": 5, "inversion_penalty": 1.0}), state=tmp_path / "state")
    assert sum(rounds) == 0


def test_arguments_that_do_not_belong_together_are_refused() -> None:
    source, ranked = VOCABULARY.numbers(TEXT), np.ones(len(TEXT), dtype=bool)
    with pytest.raises(ValueError, match="of different lengths"):
        train(source, CLASSES, Ragged.of([[0]]), ranked, SETTINGS)
    with pytest.raises(ValueError, match="of different lengths"):
        train(source, CLASSES, RANKS, ranked[1:], SETTINGS)
    with pytest.raises(ValueError, match=r"unit \d+ .*class"):
        train(source, CLASSES[:3], RANKS, ranked, SETTINGS)


# ---------------------------------------------------------------------------------------------------------- parsing


def test_short_sentences(parser: Parser) -> None:
    found = parser.orders(parser.vocabulary.numbers([[], ["the"], [], ["nobody", "knows"]]))
    assert [row.tolist() for row in found][:3] == [[], [0], []]
    assert sorted(found[3].tolist()) == [0, 1]
    assert len(parser.orders(Ragged.of([]))) == 0


def test_500_units(parser: Parser) -> None:
    text = [[*(TEXT[0] + TEXT[1]) * 100][:500]]
    (found,) = parser.orders(parser.vocabulary.numbers(text))
    assert sorted(found.tolist()) == list(range(500))


def test_threads_change_nothing(parser: Parser) -> None:
    text, _ = toy(2000, seed=3)
    numbers = parser.vocabulary.numbers(text)
    expected = parser.orders(numbers).values
    for threads in (2, 5):
        assert np.array_equal(parser.orders(numbers, threads=threads).values, expected)
    one_by_one = [parser.orders(Ragged.of([row])).values.tolist() for row in list(numbers)[::97]]
    assert one_by_one == [row.tolist() for row in list(Ragged(expected, numbers.offsets))[::97]]


def test_the_switch_between_exact_search_and_beam(parser: Parser) -> None:
    """A beam of one finds worse trees; it must be used for long sentences and no others."""
    random = np.random.default_rng(0)
    weights = random.normal(size=1 << BITS).astype(np.float32)
    text = [random.choice(NOUNS + VERBS, length).tolist() for length in [4, 5, 6, 7] * 20]

    def orders(exact: int, beam: int) -> list[list[int]]:
        settings = SETTINGS.model_copy(update={"exact": exact, "beam": beam})
        found = Parser(VOCABULARY, CLASSES, weights, settings).orders(VOCABULARY.numbers(text))
        return [row.tolist() for row in found]

    best, worst, mixed = orders(7, 1), orders(0, 1), orders(5, 1)
    assert mixed == [(best if len(units) <= 5 else worst)[i] for i, units in enumerate(text)]
    assert sum(first != second for first, second in zip(best, worst, strict=True)) > 20


def test_a_large_inversion_penalty_keeps_the_source_order(parser: Parser) -> None:
    settings = SETTINGS.model_copy(update={"inversion_penalty": 1e4})
    stiff = Parser(VOCABULARY, CLASSES, parser.weights, settings)
    numbers = VOCABULARY.numbers(TEXT)
    assert [row.tolist() for row in stiff.orders(numbers)] == [list(range(len(units))) for units in TEXT]
    assert [row.tolist() for row in parser.orders(numbers)] != [list(range(len(units))) for units in TEXT]


def test_orders_and_trees_are_written(parser: Parser, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("wordorder.reordering.parser._BLOCK", 7)
    text = [*TEXT[:20], [], ["the"], ["unheard", "of"]]
    count = parser.write_orders(iter(text), tmp_path / "orders", trees=tmp_path / "trees", threads=2)
    orders = (tmp_path / "orders").read_text().split("\n")
    trees = (tmp_path / "trees").read_text().split("\n")
    assert count == 23 and orders.pop() == trees.pop() == ""
    numbers = parser.vocabulary.numbers(text)
    assert orders == [" ".join(map(str, row.tolist())) for row in parser.orders(numbers)]
    for order, tree, row in zip(orders, trees, numbers, strict=True):
        if not len(row):
            assert order == tree == ""
            continue
        assert tree_order(parse_tree(tree)) == [int(unit) for unit in order.split()]
    parser.write_orders(text, tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == (tmp_path / "orders").read_bytes()


@pytest.mark.parametrize("unit", [-1, VOCABULARY.size])
def test_numbers_of_another_vocabulary_are_refused(parser: Parser, unit: int) -> None:
    with pytest.raises(ValueError, match=rf"unit {unit}\b"):
        parser.orders(Ragged.of([[1, 2], [unit]]))


# ------------------------------------------------------------------------------------------------------- model file


def test_a_parser_is_saved_and_read(parser: Parser, tmp_path: Path) -> None:
    parser.save(tmp_path / "parser.npz")
    again = Parser.load(tmp_path / "parser.npz")
    assert again.vocabulary.units == parser.vocabulary.units
    assert again.settings == parser.settings
    assert again.weights.tobytes() == parser.weights.tobytes()
    assert again.classes.tolist() == parser.classes.tolist()
    numbers = parser.vocabulary.numbers(TEXT)
    assert np.array_equal(again.orders(numbers).values, parser.orders(numbers).values)
    parser.save(tmp_path / "twice.npz")
    assert (tmp_path / "twice.npz").read_bytes() == (tmp_path / "parser.npz").read_bytes()


def test_files_that_are_no_parser_are_refused(parser: Parser, tmp_path: Path) -> None:
    path = tmp_path / "parser.npz"
    with raises("unreadable-file"):
        Parser.load(path)
    parser.save(path)
    whole = path.read_bytes()
    with np.load(path) as file:
        arrays = dict(file)
    changes: list[dict[str, Any]] = [
        {"meta": np.frombuffer(b"{}", np.uint8)},
        {"meta": np.frombuffer(b"not JSON", np.uint8)},
        {"meta": np.frombuffer(b"[1]", np.uint8)},
        {"used": np.array([1 << 40])},
        {"classes": arrays["classes"][:-1]},
        {"weights": np.array([1, None], dtype=object)},
    ]
    contents = [b"", b"some text", whole[:-30], whole[:200]]
    for name in arrays:
        write_npz(path, **{key: value for key, value in arrays.items() if key != name})
        contents.append(path.read_bytes())
    for change in changes:
        write_npz(path, **{**arrays, **change})
        contents.append(path.read_bytes())
    for content in contents:
        path.write_bytes(content)
        with raises("damaged-file") as caught:
            Parser.load(path)
        assert "unsafely" not in str(caught.error), "numpy's advice"
        assert caught.error.path == path


def test_another_format_is_named(parser: Parser, tmp_path: Path) -> None:
    path = tmp_path / "parser.npz"
    parser.save(path)
    with np.load(path) as file:
        arrays = dict(file)
    meta = json.loads(arrays["meta"].tobytes())
    arrays["meta"] = np.frombuffer(json.dumps({**meta, "format": 99}).encode(), np.uint8)
    write_npz(path, **arrays)
    with raises("wrong-version"):
        Parser.load(path)
