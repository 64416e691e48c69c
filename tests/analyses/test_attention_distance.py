"""Tests of distance and entropy of attention: computed manually, in loops, and for heads of known profile."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
import torch
from matplotlib.figure import Figure
from numpy.testing import assert_allclose

from analysis_runs import computed, drawn, sentences
from forced_samples import corpus_of, lstm
from index_samples import index_cells
from measured_samples import analysed, cell_folder
from tiny_models import SIZE, tiny_model
from wordorder.analyses.attention_distance import AttentionDistance, mean_profile, profile, uniform
from wordorder.decoding.forced import force
from wordorder.encodings.registry import parse
from wordorder.files import write_json

LENGTHS = [(3, 5), (7, 2), (1, 1), (4, 9)]


def test_by_hand() -> None:
    weights = torch.tensor([[[0.5, 0.5, 0.0], [0.0, 0.0, 1.0], [0.2, 0.3, 0.5]]])[None]
    sums = profile(weights, torch.tensor([[True, True, False]]), torch.tensor([1]))
    # Two queries: distances 0.5 and 1; entropies ln 2 and 0; the boundary, key 1, gets 0.5 and 0.
    assert_allclose(sums, [[1.5, math.log(2), 0.5]])


def test_even_weights() -> None:
    real = torch.tensor([[True, True, True], [True, True, False]])
    full, causal = uniform(real, causal=False), uniform(real, causal=True)
    assert_allclose(full[0, 0], np.full((3, 3), 1 / 3), rtol=1e-6)
    assert full[1, 0, 0].tolist() == [0.5, 0.5, 0]
    assert_allclose(causal[0, 0], [[1, 0, 0], [1 / 2, 1 / 2, 0], [1 / 3] * 3], rtol=1e-6)


@pytest.mark.parametrize("kind", ["sinusoidal", "t5"])
def test_profiles_as_the_definition_says(kind: str, tmp_path: Path) -> None:
    corpus, model = corpus_of(tmp_path, LENGTHS), tiny_model(parse({"type": kind}))
    found = AttentionDistance(sentences=3).measure(model, sentences(corpus))
    assert found["sentences"] == 3
    for stack, side in (("encoder", 0), ("decoder", 1)):
        values: dict[tuple[int, int], list[tuple[float, float, float]]] = {}
        even = []
        for forced in force(model, corpus, attention=("encoder", "decoder"), first=3):
            for row, sentence in enumerate(forced.sentences.tolist()):
                length = LENGTHS[sentence][side] + 1
                boundary = length - 1 if stack == "encoder" else 0
                for i in range(length):
                    seen = range(length if stack == "encoder" else i + 1)
                    even.append(sum(abs(i - j) for j in seen) / len(seen))
                    for layer, weights in enumerate(forced.attention[stack]):  # type: ignore[index]
                        for head in range(SIZE.heads):
                            a = weights[row, head, i].tolist()
                            distance = sum(a[j] * abs(i - j) for j in seen)
                            entropy = -sum(a[j] * math.log(a[j]) for j in seen if a[j])
                            values.setdefault((layer, head), []).append((distance, entropy, a[boundary]))
        own = found["stacks"][stack]
        assert own["tokens"] == len(even)
        assert own["uniform"]["distance"] == pytest.approx(np.mean(even))
        for (layer, head), rows in values.items():
            named = own["layers"][layer][head]
            expected = np.mean(rows, axis=0)
            assert_allclose([named["distance"], named["entropy"], named["boundary"]], expected, rtol=1e-4)


def test_alibi_makes_later_heads_look_farther(tmp_path: Path) -> None:
    """Its slopes fall from head to head; without anything else in the scores, distances rise."""
    model = tiny_model(parse({"type": "alibi"}))
    with torch.no_grad():
        for layer in model.encoder:
            layer.self_attention.project_in.weight.zero_()  # type: ignore[union-attr, operator]
            layer.self_attention.project_in.bias.zero_()  # type: ignore[union-attr, operator]
    corpus = corpus_of(tmp_path, [(30, 3), (25, 2)])
    found = AttentionDistance().measure(model, sentences(corpus))["stacks"]["encoder"]
    distances = [head["distance"] for head in found["layers"][0]]
    assert distances == sorted(distances) and distances[0] < 0.6 * distances[-1] < found["uniform"]["distance"]


def test_an_lstm_has_none(tmp_path: Path) -> None:
    found = AttentionDistance().measure(lstm(), sentences(corpus_of(tmp_path, LENGTHS)))
    assert found["status"] == "measured" and found["stacks"]["encoder"]["layers"] == []


def test_a_model_that_diverged(tmp_path: Path) -> None:
    model = tiny_model(parse({"type": "sinusoidal"}))
    with torch.no_grad():
        model.source_embedding.weight.fill_(math.nan)
    found = AttentionDistance().measure(model, sentences(corpus_of(tmp_path, LENGTHS)))
    assert found["status"] == "not a number"
    assert found["stacks"]["encoder"]["layers"][0][0]["distance"] is None


def test_frame_and_figure(tmp_path: Path) -> None:
    slice_ = analysed({"attention_distance": {}})
    heads = [{"distance": value, "entropy": 1.0, "boundary": 0.1} for value in (3.0, 1.0)]
    for seed in (1, 2):
        layers = [heads, heads[::-1] if seed == 1 else heads]
        stack = {"tokens": 9, "uniform": {"distance": 4.0, "entropy": 2.0}, "layers": layers}
        content = {"status": "measured", "stacks": {"encoder": stack, "decoder": stack | {"layers": []}}}
        write_json(cell_folder(tmp_path, "opr", seed) / "attention_distance.json", {"sets": {"test": content}})
    frame = computed(slice_, tmp_path, tmp_path)
    assert len(frame) == 2 + 2 * 4, "a row for each missing cell, and for each head"
    own = frame[(frame["encoding"] == "opr") & (frame["seed"] == 1)]
    assert own[["layer", "head", "distance"]].to_numpy().tolist() == [[1, 1, 3], [1, 2, 1], [2, 1, 1], [2, 2, 3]]
    assert mean_profile(frame[frame["encoding"] == "opr"]).tolist() == [[1, 3], [1, 3]]
    figure = drawn(slice_, frame)
    assert isinstance(figure, Figure)
    texts = [text.get_text() for axes in figure.axes for text in axes.texts]
    assert texts.count("not\nmeasured") == 3 and "1.0" in texts


def test_a_seed_with_a_head_that_is_not_a_number_is_left_out_of_the_figure(tmp_path: Path) -> None:
    slice_ = analysed({"attention_distance": {}})
    for seed, lost in ((1, None), (2, 3.0)):
        heads = [{"distance": distance, "entropy": 1.0, "boundary": 0.1} for distance in (lost, 1.0)]
        stack = {"tokens": 9, "uniform": {"distance": 4.0, "entropy": 2.0}, "layers": [heads]}
        content = {"status": "measured", "stacks": {"encoder": stack, "decoder": stack | {"layers": []}}}
        write_json(cell_folder(tmp_path, "opr", seed) / "attention_distance.json", {"sets": {"test": content}})
    figure = drawn(slice_, computed(slice_, tmp_path, tmp_path))
    assert "3.0" in [text.get_text() for axes in figure.axes for text in axes.texts]


def test_a_size_has_panels_of_its_encodings_only(tmp_path: Path) -> None:
    slice_ = analysed({"attention_distance": {}})
    only = {"mini": ["opr"], "tiny": ["none"]}
    slice_ = slice_.model_copy(
        update={"report": slice_.report.model_copy(update={"sizes": ["mini", "tiny"], "only": only})}
    )
    index_cells(tmp_path, slice_.report)
    figure = drawn(slice_, computed(slice_, tmp_path, tmp_path))
    titles = [panel.get_title().replace("\n", " ") for panel in figure.axes if panel.get_visible()]
    assert [title.split(", ")[1] for title in titles] == [
        "mini opr encoder", "mini opr decoder", "tiny none encoder", "tiny none decoder"
    ]  # fmt: skip


def test_nothing_measured(tmp_path: Path) -> None:
    slice_ = analysed({"attention_distance": {}})
    index_cells(tmp_path, slice_.report)
    frame = computed(slice_, tmp_path, tmp_path)
    assert len(frame) == 4 and frame["distance"].isna().all()
    assert isinstance(drawn(slice_, frame), Figure)
