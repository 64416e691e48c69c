"""Tests of word-order probes: which words move, what is compared, and models with known results."""

from __future__ import annotations

import math
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from matplotlib.figure import Figure
from sacrebleu import corpus_bleu, corpus_chrf

from analysis_runs import computed, drawn, sentences
from measured_samples import analysed, cell_folder
from tiny_models import SIZE, tiny_model
from wordorder.analyses import probes
from wordorder.analyses.probes import Perturbation, Probes, Sources, cosine_distance, piece_order
from wordorder.config import datasets
from wordorder.data.binary import ParallelCorpus, write_corpus
from wordorder.data.positions import write_positions
from wordorder.data.subword import Subword, train_subword
from wordorder.data.text import write_lines
from wordorder.decoding import translate
from wordorder.encodings.base import Positions
from wordorder.encodings.registry import parse
from wordorder.files import write_json
from wordorder.model.architectures.transformer import Transformer

# ------------------------------------------------------------------------------------------------------ what moves


def orders(perturbation: Perturbation, words: int, count: int = 200) -> list[list[int]]:
    found = [perturbation.order(words, seed=1, sentence=number) for number in range(count)]
    return [order.tolist() for order in found if order is not None]


def test_all_orders_are_drawn_equally_often_and_the_old_one_is_no_change() -> None:
    counts = Counter(map(tuple, orders(Perturbation("permute"), 3, 6000)))
    assert len(counts) == 5
    assert all(abs(count - 1000) < 150 for count in counts.values())
    assert orders(Perturbation("permute"), 1) == orders(Perturbation("permute"), 0) == []


@pytest.mark.parametrize("distance", [1, 2, 4])
def test_two_words_of_a_distance_change_places(distance: int) -> None:
    places: Counter[int] = Counter()
    for order in orders(Perturbation("swap", distance), 7, 500):
        (first, second) = [place for place, word in enumerate(order) if place != word]
        assert second - first == distance and order[first] == second and order[second] == first
        places[first] += 1
    assert set(places) == set(range(7 - distance))
    assert orders(Perturbation("swap", distance), distance) == []
    assert len(orders(Perturbation("swap", distance), distance + 1)) == 200


@pytest.mark.parametrize("width", [2, 3])
def test_words_stay_in_their_window(width: int) -> None:
    found = orders(Perturbation("window", width), 7, 500)
    for order in found:
        assert sorted(order) == list(range(7))
        assert all(place // width == word // width for place, word in enumerate(order))
    last = {tuple(order[-1:]) for order in found}
    assert last == {(6,)}, "a window of one word has nothing to shuffle"
    assert len({tuple(order[:width]) for order in found}) == math.factorial(width)


def test_what_is_drawn_depends_on_seed_kind_and_sentence() -> None:
    def drawn(kind: Any, amount: int, seed: int, sentence: int) -> list[int]:
        order = Perturbation(kind, amount).order(30, seed=seed, sentence=sentence)
        assert order is not None
        return list(order)

    base = drawn("window", 9, 1, 5)
    assert base == drawn("window", 9, 1, 5)
    others = [drawn("window", 9, 2, 5), drawn("window", 9, 1, 6), drawn("window", 10, 1, 5), drawn("permute", 0, 1, 5)]
    assert base not in others


def test_subwords_of_a_word_move_together() -> None:
    # Words: 0 1 | 2 | 3 4 5.
    starts = np.array([True, False, True, True, False, False])
    assert piece_order(np.array([2, 0, 1]), starts).tolist() == [3, 4, 5, 0, 1, 2]
    starts[0] = False  # what stands before the first word moves as one
    assert piece_order(np.array([1, 0, 2]), starts).tolist() == [2, 0, 1, 3, 4, 5]


def test_settings() -> None:
    found = Probes(swaps=[3], windows=[2, 5]).perturbations()
    assert [(p.kind, p.amount) for p in found] == [("permute", 0), ("swap", 3), ("window", 2), ("window", 5)]
    with pytest.raises(ValueError, match=r"'permute'.*'swaps'.*'windows'"):
        Probes(permute=False, swaps=[], windows=[])


def test_positions_move_with_the_words_or_begin_anew() -> None:
    sources = Sources([np.array([7, 8, 9]), np.array([5])], [np.array([2, 0, 1]), np.array([0])])
    both = [np.array([1, 2, 0]), np.array([0])]
    moved = sources.moved(both, "moved")
    assert [row.tolist() for row in moved.tokens] == [[8, 9, 7], [5]]
    assert moved.positions is not None and [row.tolist() for row in moved.positions] == [[0, 1, 2], [0]]
    own = sources.moved(both, "own")
    assert own.positions is not None and [row.tolist() for row in own.positions] == [[0, 1, 2], [0]]
    assert sources.only([1]).tokens[0].tolist() == [5]


# ------------------------------------------------------------------------------------------------- encoder outputs


def sample(count: int = 12) -> tuple[Sources, list[np.ndarray]]:
    generator = np.random.default_rng(3)
    tokens = [generator.integers(4, 23, int(generator.integers(2, 9))) for _ in range(count)]
    return Sources(tokens, [generator.permutation(len(own)) for own in tokens]), [
        generator.permutation(len(own)) for own in tokens
    ]


def by_loop(model: Transformer, before: Sources, after: Sources, orders_: list[np.ndarray]) -> float:
    """Sentence by sentence and token by token, from the keys of an identity instead of a hook."""
    distances = []
    for number, order in enumerate(orders_):
        outputs = []
        for part in (before, after):
            tokens = torch.tensor([[*part.tokens[number].tolist(), 3]])
            reordered = None
            if part.positions is not None:
                reordered = torch.tensor([[*part.positions[number].tolist(), tokens.size(1) - 1]])
            caught: list[torch.Tensor] = []
            handle = model.encoder_norm.register_forward_hook(lambda _m, _a, out, into=caught: into.append(out))
            with torch.no_grad():
                model.encode(tokens, positions=Positions.range(tokens.size(1)).with_reordered(reordered))
            handle.remove()
            outputs.append(caught[0])  # one sentence, token by token
        for place, old in enumerate(order.tolist()):
            a, b = outputs[0][old].double(), outputs[1][place].double()
            distances.append(1 - float(a @ b / (a.norm() * b.norm())))
    return float(np.mean(distances))


@pytest.mark.parametrize("kind", ["sinusoidal", "relative", "inxl"])
def test_cosine_distance_as_the_definition_says(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(probes, "_BATCH", 5)
    model = tiny_model(parse({"type": kind}))
    before, orders_ = sample()
    if kind != "inxl":
        before = Sources(before.tokens, None)
    after = before.moved(orders_, "moved")
    found = cosine_distance(model, before, after, orders_)
    assert found == pytest.approx(by_loop(model, before, after, orders_), abs=1e-6)
    assert found > 0.01


@pytest.mark.parametrize("layers", [0, 2])
def test_an_encoder_without_order_does_not_change(layers: int) -> None:
    """The cross-lingual paper's equation 9. In the decoder there is an encoding, which must not matter."""
    size = SIZE.model_copy(update={"encoder_layers": layers})
    model = tiny_model(parse({"type": "sinusoidal", "placement": "decoder"}), size=size)
    before, orders_ = sample()
    before = Sources(before.tokens, None)
    assert cosine_distance(model, before, before.moved(orders_, "moved"), orders_) == pytest.approx(0, abs=1e-6)


def test_words_are_matched_by_word_not_by_place() -> None:
    """Without order, the distance of places would be large; with the wrong order it is."""
    model = tiny_model(parse({"type": "none"}))
    before, orders_ = sample()
    before = Sources(before.tokens, None)
    after = before.moved(orders_, "moved")
    places = [np.arange(len(order)) for order in orders_]
    assert cosine_distance(model, before, after, places) > 0.1


# ------------------------------------------------------------------------------------------------------- measuring


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> tuple[Subword, Path, list[str]]:
    folder = tmp_path_factory.mktemp("probes")
    generator = np.random.default_rng(0)
    words = ["haus", "hund", "baum", "und", "aber", "rot", "gehen"]
    lines = [" ".join(generator.choice(words, int(generator.integers(1, 8)))) for _ in range(120)]
    write_lines(folder / "text", lines)
    train_subword([folder / "text"], folder / "model", config=datasets.Subword(vocabulary=23, subword_sentences=1000))
    subword = Subword.load(folder / "model")
    rows = [subword.encode(line) for line in lines[:20]]
    write_corpus(folder / "corpus", [(row, row) for row in rows], vocabulary_size=subword.size)
    return subword, folder / "corpus", lines[:20]


def test_measured_by_sacrebleu(data: tuple[Subword, Path, list[str]]) -> None:
    subword, folder, lines = data
    model = tiny_model(parse({"type": "sinusoidal"}))
    settings = Probes(swaps=[1, 20], windows=[2], sentences=15)
    found = settings.measure(model, sentences(ParallelCorpus.open(folder), lines, subword))
    assert (found["status"], found["sentences"]) == ("measured", 15)
    rows = {(row["kind"], row["amount"]): row for row in found["perturbations"]}
    assert rows["swap", 1]["changed"] == sum(len(line.split()) > 1 for line in lines[:15])
    assert rows["swap", 20] == {"kind": "swap", "amount": 20, "changed": 0, **dict.fromkeys(probes.VALUES)}
    assert all(row["cosine_distance"] > 0 for row in rows.values() if row["changed"])
    again = settings.measure(model, sentences(ParallelCorpus.open(folder), lines, subword))
    assert again == found


def test_text_that_was_not_tokenised_is_left_as_it_is(
    data: tuple[Subword, Path, list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    subword, folder, lines = data
    model = tiny_model(parse({"type": "sinusoidal"}))
    monkeypatch.setattr(translate, "texts", lambda found, subword, write: [write("a , b .")])
    compared: list[str] = []

    def compare(lines: list[str], *_: object) -> dict[str, float]:
        compared.extend(set(lines))
        return {}

    monkeypatch.setattr(probes, "compare", compare)
    for detokenise in (True, False):
        corpus = sentences(ParallelCorpus.open(folder), lines, subword, detokenise=detokenise)
        Probes(swaps=[], windows=[], sentences=9).measure(model, corpus)
    assert compared == ["a, b.", "a , b ."]


def test_scores_are_those_of_sacrebleu() -> None:
    new, old, wanted = ["ein hund geht da hin", "ja"], ["der hund geht da hin", "ja ja"], ["der hund geht da", "ja"]
    found = probes.compare(new, old, wanted, "de")
    assert found["chrf"] == pytest.approx(corpus_chrf(new, [old]).score)
    assert found["bleu"] == pytest.approx(corpus_bleu(new, [wanted]).score)
    assert found["bleu_original"] == pytest.approx(corpus_bleu(old, [wanted]).score)


def test_a_model_without_order_translates_the_same(data: tuple[Subword, Path, list[str]]) -> None:
    subword, folder, lines = data
    model = tiny_model(parse({"type": "sinusoidal", "placement": "decoder"}))
    found = Probes().measure(model, sentences(ParallelCorpus.open(folder), lines, subword))
    for row in found["perturbations"]:
        assert row["cosine_distance"] is None or row["cosine_distance"] < 1e-6
        # Equal up to rounding, by which a tie may turn.
        assert row["chrf"] is None or row["chrf"] > 95


def test_a_model_that_needs_positions(data: tuple[Subword, Path, list[str]], tmp_path: Path) -> None:
    subword, folder, lines = data
    corpus = ParallelCorpus.open(folder)
    rows = [np.arange(int(length))[::-1] for length in corpus.source_lengths]
    write_positions(tmp_path / "positions", rows, kind="gold", corpus=corpus)
    corpus = ParallelCorpus.open(folder, positions=tmp_path / "positions")
    model = tiny_model(parse({"type": "inxl"}))
    found = {
        kind: Probes(positions=kind).measure(model, sentences(corpus, lines, subword))["perturbations"]
        for kind in ("moved", "own")
    }
    assert all(row["cosine_distance"] > 0 for row in found["moved"] if row["changed"])
    assert found["moved"] != found["own"]


def test_a_model_that_diverged(data: tuple[Subword, Path, list[str]]) -> None:
    subword, folder, lines = data
    model = tiny_model(parse({"type": "sinusoidal"}))
    with torch.no_grad():
        model.source_embedding.weight.fill_(math.nan)
    found = Probes().measure(model, sentences(ParallelCorpus.open(folder), lines, subword))
    assert found["status"] == "not a number"
    assert all(found["perturbations"][0][name] is None for name in probes.VALUES)


def test_frame_and_figure(tmp_path: Path) -> None:
    slice_ = analysed({"probes": {"swaps": [1], "windows": []}})
    row = {"kind": "swap", "amount": 1, "changed": 9, "cosine_distance": 0.5, "chrf": 80, "bleu": 20}
    for seed in (1, 2):
        content = {"status": "measured", "perturbations": [row | {"bleu_original": 25 + seed}]}
        write_json(cell_folder(tmp_path, "opr", seed) / "probes.json", {"sets": {"test": content}})
    frame = computed(slice_, tmp_path, tmp_path)
    assert len(frame) == 2 * 2 * 2
    own = frame[(frame["encoding"] == "opr") & (frame["kind"] == "swap")]
    assert own["bleu_loss"].tolist() == [6, 7] and own["changed"].tolist() == [9, 9]
    assert frame[frame["encoding"] == "none"]["status"].eq("missing").all()
    figure = drawn(slice_, frame)
    assert isinstance(figure, Figure) and len(figure.axes) == 3
    assert "No scores: none, 2 of 2 cells (missing)" in " ".join(figure.legends[0].get_title().get_text().split())
