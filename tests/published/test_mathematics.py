"""Test that each check of the papers' mathematics holds for its encoding, and fails for others."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from torch import Tensor, nn
from torch.testing import assert_close

from place_encodings import Bias, Values
from wordorder.cli.main import main
from wordorder.drawing import style
from wordorder.encodings import opr, sinusoidal
from wordorder.encodings.base import AttentionEncoding
from wordorder.figures import mathematics as figure
from wordorder.integrity import is_note
from wordorder.published import claims, mathematics, stated
from wordorder.published.claims import EPSILONS, KS, Claim, Measurements
from wordorder.published.mathematics import Attention, Descent

NIL, ONE, NOW_AND_THEN = torch.tensor([[0.0, 0.0], [1.0, 1.0], [0.0, 1.0]])


@cache
def found() -> Measurements:
    return Measurements.measure(0)


def failing(measurements: Measurements) -> list[str]:
    return [claim.source for claim in measurements.claims() if not claim.holds]


def changes(attention: Attention) -> Tensor:
    return mathematics.permutation_changes(attention, length=6, dim=8, permutations=20, seed=0)


def attentions(*changed: Tensor) -> dict[str, Tensor]:
    return dict(zip((claims.SUM, claims.CONCATENATION, claims.POSNET), changed, strict=True))


def plain(encoding: AttentionEncoding) -> Attention:
    return mathematics.summing(8, 2, encoding, seed=0)


@pytest.mark.parametrize("seed", [0, 1, 2, 123_456])
def test_all_claims_hold_whatever_the_seed(seed: int) -> None:
    measured = found() if seed == 0 else replace(
        found(), word_order=claims.WordOrder.measure(seed), theorem=claims.Theorem.measure(seed)
    )  # fmt: skip
    assert failing(measured) == []
    assert len(measured.claims()) == 24


def test_a_seed_decides_everything() -> None:
    state = torch.get_rng_state()
    again, other = (claims.WordOrder.measure(seed) for seed in (0, 1))
    descents = [claims.Theorem.measure(seed).descent.norms for seed in (0, 1)]
    assert torch.equal(torch.get_rng_state(), state)  # and nobody else's numbers
    first = found().word_order
    for name, changes in first.changes.items():
        assert torch.equal(again.changes[name], changes)
        assert not torch.equal(other.changes[name], changes)
    assert torch.equal(again.sum_form, first.sum_form)
    assert descents[0] == found().theorem.descent.norms != descents[1]


# ------------------------------------------------------------------------------------------- permuted words


def test_a_permutation_changes_what_its_formula_says() -> None:
    """A sum of x_i and its left neighbour, for which the change can be computed manually."""

    def neighbours(x: Tensor) -> Tensor:
        return x + x.roll(1, dims=0)

    found = mathematics.permutation_changes(neighbours, length=2, dim=3, permutations=4, seed=5)
    assert_close(found, torch.zeros(4).double())  # two words are each other's neighbours in any order
    assert float(mathematics.permutation_changes(neighbours, length=5, dim=3, permutations=9, seed=5).min()) > 0.1


def test_every_permutation_moves_something() -> None:
    numbered = mathematics.permutation_changes(
        lambda x: torch.arange(1.0, len(x) + 1).double()[:, None].expand_as(x),
        length=2, dim=1, permutations=30, seed=0,
    )  # fmt: skip
    assert_close(numbered, torch.full((30,), 0.5).double())  # words 1 and 2 change places: |1 - 2| / 2


def test_equation_9_holds_only_without_an_encoding() -> None:
    assert float(changes(plain(AttentionEncoding())).max()) < 1e-12
    for encoding in (Values(), Bias(2).double()):
        assert float(changes(plain(encoding)).min()) > 1e-3
    broken = replace(found().word_order, changes=found().word_order.changes | {claims.SUM: changes(plain(Values()))})
    assert failing(replace(found(), word_order=broken)) == ["PosNet eq. 9"]


def test_equation_13_needs_kernels_that_differ() -> None:
    different = mathematics.random_kernels(6, 8, 8, seed=0)
    assert float(changes(mathematics.concatenating(different, seed=0)).min()) > 1e-3
    equal = mathematics.concatenating(different[:1].expand(6, -1, -1), seed=0)  # a weight sum again
    assert float(changes(equal).max()) < 1e-12
    for name, source in ((claims.CONCATENATION, "PosNet eq. 12-13"), (claims.POSNET, "PosNet eq. 20, 23")):
        broken = replace(found().word_order, changes=found().word_order.changes | {name: changes(equal)})
        assert failing(replace(found(), word_order=broken)) == [source]


def test_concatenating_attention_is_equations_5_10_and_11() -> None:
    x, kernels = mathematics.random(4, 3, seed=1), mathematics.random_kernels(4, 3, 3, seed=2)
    queries, keys, values = (x @ each for each in mathematics.random_kernels(3, 3, 3, seed=5))
    expected = torch.zeros(4, 3).double()
    for i in range(4):
        scores = [math.exp(float(queries[i] @ keys[j]) / math.sqrt(3)) for j in range(4)]
        for j in range(4):
            expected[i] += scores[j] / sum(scores) * values[j] @ kernels[j]
    assert_close(mathematics.concatenating(kernels, seed=5)(x), expected)


def test_the_sum_form_is_compared_with_the_concatenation() -> None:
    def loops(weights: Tensor, values: Tensor, kernels: Tensor) -> Tensor:
        return torch.stack([sum(a[j] * (values[j] @ kernels[j]) for j in range(len(values))) for a in weights])

    def late(weights: Tensor, values: Tensor, kernels: Tensor) -> Tensor:
        return mathematics.sum_form(weights, values, kernels.roll(1, dims=0))

    for form in (loops, mathematics.sum_form):
        assert float(mathematics.sum_form_errors(form, trials=10, seed=3).max()) < 1e-12
    errors = mathematics.sum_form_errors(late, trials=10, seed=3)
    assert float(errors.max()) > 1e-2
    assert failing(replace(found(), word_order=replace(found().word_order, sum_form=errors))) == ["PosNet eq. 14-17"]


# ---------------------------------------------------------------------------------------------- theorem 3.1


def test_descent_is_the_one_that_can_be_reckoned() -> None:
    """The difference of word i shrinks by 1 - ‖x_i‖² / max ‖x_j‖² per step."""
    x = torch.tensor([[2.0, 0, 0], [0, 1, 0]]).double()
    m = torch.tensor([[1.0, 2, 3], [4, 5, 6]]).double()
    descent = mathematics.descend(x, m, until=1e-3, most=100, seed=4)
    kernels = mathematics.random_kernels(2, 3, 3, seed=4)
    first = x[0] @ kernels[0] - x[0] - m[0]
    second = x[1] @ kernels[1] - x[1] - m[1]
    assert descent.norms[0] == pytest.approx(float(torch.cat((first, second)).norm()))
    for step, norm in enumerate(descent.norms[1:], start=1):
        assert norm == pytest.approx(float(second.norm()) * 0.75**step)  # the first word is there after one step
    assert descent.norms[-1] <= 1e-3 < descent.norms[-2]
    assert_close(x[1] @ descent.kernels[1], x[1] + m[1], rtol=0, atol=1e-3)


@pytest.mark.parametrize("epsilon", [3.0, 1e-1, 1e-6, 1e-9])
def test_descent_reaches_any_epsilon(epsilon: float) -> None:
    x, m = mathematics.random(5, 8, seed=1), mathematics.random(5, 8, seed=2)
    descent = mathematics.descend(x, m, until=epsilon, most=10_000, seed=0)
    assert descent.steps(epsilon) == len(descent.norms) - 1
    assert all(after < before for before, after in zip(descent.norms, descent.norms[1:], strict=False))
    direct = torch.stack([x[i] @ descent.kernels[i] for i in range(5)]) - (x + m)
    assert float(direct.norm()) == pytest.approx(descent.norms[-1]) and descent.norms[-1] <= epsilon


def test_descent_says_when_it_does_not_arrive() -> None:
    x, m = mathematics.random(5, 8, seed=1), mathematics.random(5, 8, seed=2)
    x[3] = 0
    descent = mathematics.descend(x, m, until=1e-6, most=200, seed=0)
    assert len(descent.norms) == 201
    assert descent.steps(1e-6) is None
    assert descent.norms[-1] == pytest.approx(float(m[3].norm()), rel=1e-9)

    stopped = replace(found(), theorem=replace(found().theorem, descent=descent))
    assert failing(stopped) == ["PosNet theorem 3.1"] * len(EPSILONS)
    assert "ε = 0.1 (200 steps do not)" in claims.as_text(stopped.claims())


def test_limits_of_the_theorem_are_claims_too() -> None:
    theorem = found().theorem
    assert failing(replace(found(), theorem=replace(theorem, zero_word=theorem.descent))) == ["limit of theorem 3.1"]
    assert failing(replace(found(), theorem=replace(theorem, other_words=1e-6))) == ["limit of theorem 3.1"]


def test_theorem_frame() -> None:
    frame = claims.theorem_frame(Descent([5.0, 0.1, 2e-2, 1e-5, 5e-7], torch.zeros(1)))
    assert list(frame["step"]) == [0, 1, 2, 3, 4]
    assert list(frame["norm"]) == [5.0, 0.1, 2e-2, 1e-5, 5e-7]
    assert math.isnan(frame["epsilon"][0])
    assert list(frame["epsilon"][1:]) == [1e-1, 1e-1, 1e-5, 1e-6]


# --------------------------------------------------------------------------------------- sine-cosine pairs


def cosine(frequencies: Tensor, one: float, other: float) -> float:
    """Of two positions, pair by pair."""
    total = 0.0
    for frequency in frequencies.tolist():
        total += math.sin(one * frequency) * math.sin(other * frequency)
        total += math.cos(one * frequency) * math.cos(other * frequency)
    return total / len(frequencies)


@pytest.mark.parametrize("frequencies", [opr.frequencies(16, 3), sinusoidal.frequencies(16)])
def test_similarities(frequencies: Tensor) -> None:
    offsets = torch.tensor([0.0, 0.5, 3, 17]).double()
    expected = [cosine(frequencies, 0, offset) for offset in offsets.tolist()]
    assert mathematics.similarities(frequencies, offsets).tolist() == pytest.approx(expected)
    pairs = [abs(cosine(frequencies, i, j)) for i in range(8) for j in range(i)]
    assert mathematics.largest_similarity(frequencies) == pytest.approx(max(pairs))


def test_vectors_are_orthogonal_only_at_k_1() -> None:
    assert mathematics.largest_similarity(opr.frequencies(64, 1)) < 1e-12
    for other in (opr.frequencies(64, 2), opr.frequencies(64, 1) * 1.001, sinusoidal.frequencies(64)):
        assert mathematics.largest_similarity(other) > 1e-3


@pytest.mark.parametrize("k", KS)
def test_the_period_is_k_times_half_the_model_size(k: int) -> None:
    frequencies, period = opr.frequencies(32, k), k * 16
    assert mathematics.repetition_error(frequencies, period) < 1e-10
    assert mathematics.nearest_repetition(frequencies, period) > 0.1
    for wrong in (period - 1, period + 1):
        assert mathematics.repetition_error(frequencies, wrong) > 0.1
    assert mathematics.nearest_repetition(frequencies, 2 * period) < 1e-10  # one in between
    assert mathematics.repetition_error(sinusoidal.frequencies(32), period) > 0.1


def test_half_width_of_a_kernel_known_by_heart() -> None:
    assert mathematics.half_width(torch.tensor([math.pi / 2]), 3) == pytest.approx(1)  # cos(x · π/2) = 0
    assert mathematics.half_width(torch.tensor([0.0, 0.0, math.pi / 2]), 5) == math.inf  # 2 + cos is never 0
    widths = [mathematics.half_width(opr.frequencies(64, k), k) for k in KS]
    assert widths == sorted(set(widths))
    assert widths == pytest.approx([k * 32 / 62 for k in KS], rel=1e-5)


def test_shift_and_rotation() -> None:
    frequencies, offsets = sinusoidal.frequencies(12), (0, 1, 7, 40)
    assert float(mathematics.shift_errors(sinusoidal.rotation, frequencies, offsets, 20).max()) < 1e-12
    assert float(mathematics.rotation_errors(sinusoidal.rotation, 12, offsets).max()) < 1e-12

    def backwards(offset: int, dim: int) -> Tensor:
        return sinusoidal.rotation(offset, dim).T

    def growing(offset: int, dim: int) -> Tensor:
        return 1.01**offset * sinusoidal.rotation(offset, dim)

    errors = mathematics.shift_errors(backwards, frequencies, offsets, 20)
    assert float(errors[0]) < 1e-12 and float(errors[1:].min()) > 0.1
    assert float(mathematics.shift_errors(sinusoidal.rotation, opr.frequencies(12, 8), (3,), 20)) > 0.1
    assert_close(mathematics.rotation_errors(growing, 12, (0, 1)), torch.tensor([0, 0.0201]).double())


def test_spread_of_products() -> None:
    vectors = torch.tensor([[2.0, 0], [0, 2], [1, 1]])
    # Apart by 0: 4, 4, 2; by 1: 0, 2; by 2: 2. All as parts of P_0 · P_0 = 4.
    assert_close(mathematics.product_spreads(vectors), torch.tensor([0.5, 0.5, 0]))
    table = nn.Embedding(20, 12).weight.detach()
    assert float(mathematics.product_spreads(table).max()) > 0.1


@pytest.mark.parametrize(
    ("topic", "wrong", "source"),
    [
        # One permutation is enough.
        ("word_order", {"changes": attentions(NOW_AND_THEN, ONE, ONE)}, "PosNet eq. 9"),
        ("word_order", {"changes": attentions(NIL, NOW_AND_THEN, ONE)}, "PosNet eq. 12-13"),
        ("word_order", {"changes": attentions(NIL, ONE, NOW_AND_THEN)}, "PosNet eq. 20, 23"),
        ("orthogonal", {"similarity_at_1": 0.1}, "OPR section 3.2"),
        ("orthogonal", {"repetition_errors": {1: 0.0, 8: 0.01}}, "OPR section 3.2"),
        ("orthogonal", {"nearest_repetitions": {1: 1.0, 8: 1e-9}}, "OPR section 3.2"),
        ("orthogonal", {"far": {8: 0.976, 1026: 0.976}}, "OPR released code"),
        ("orthogonal", {"far": {8: -0.014, 1026: -0.014}}, "OPR released code"),
        ("sinusoid", {"shifts": torch.tensor([0, 1e-3])}, "The Positional Encoding"),
        ("sinusoid", {"rotations": torch.tensor([0, 1e-3])}, "The Positional Encoding"),
        ("sinusoid", {"spreads": torch.tensor([0, 1e-3])}, "The Positional Encoding, figure 3"),
    ],
)
def test_a_wrong_number_breaks_its_own_claim(topic: str, wrong: dict[str, Any], source: str) -> None:
    broken = replace(found(), **{topic: replace(getattr(found(), topic), **wrong)})
    assert failing(broken) == [source]


def test_lobes_that_do_not_widen_break_both_claims_about_them() -> None:
    broken = replace(found().orthogonal, half_widths={1: 0.5, 4: 0.5, 8: 0.5})
    assert failing(replace(found(), orthogonal=broken)) == ["OPR section 3.3", "Dirichlet kernel"]


def test_a_claim_holds_within_its_bounds() -> None:
    assert Claim("", "", 1.0, high=1.0).holds and not Claim("", "", 1.1, high=1.0).holds
    assert Claim("", "", 1.0, low=1.0).holds and not Claim("", "", 0.9, low=1.0).holds
    assert not Claim("", "", math.nan, low=0.0).holds and not Claim("", "", math.nan, high=0.0).holds
    bounds = [
        Claim("", "", 0, high=1e-12).bound,
        Claim("", "", 0, low=0.1).bound,
        Claim("", "", 0, low=1, high=2).bound,
    ]
    assert bounds == ["≤ 1e-12", "≥ 0.1", "1 … 2"]


def test_similarity_frame() -> None:
    frame = claims.similarity_frame(6)
    assert list(frame.columns) == ["encoding", "k", "offset", "similarity"]
    assert len(frame) == 7 * 7
    opr_8 = frame[frame["k"] == 8]
    assert set(opr_8["encoding"]) == {"opr"}
    assert list(opr_8["similarity"]) == pytest.approx([cosine(opr.frequencies(512, 8), 0, i) for i in range(7)])
    sinusoid = frame[frame["k"].isna()]
    assert set(sinusoid["encoding"]) == {"sinusoidal"}
    assert list(sinusoid["similarity"]) == pytest.approx([cosine(sinusoidal.frequencies(512), 0, i) for i in range(7)])


# ---------------------------------------------------------------------------------------- figure and command


def test_the_figure_draws_its_frame() -> None:
    frame = figure.as_frame(found())
    drawn = figure.draw(frame)
    panels = dict(zip(("theorem", "similarity", "permutation", "shift"), drawn.axes, strict=True))
    for name, panel in panels.items():
        for series, rows in frame[frame["panel"] == name].groupby("series", sort=False):
            lines = [np.column_stack(line.get_data()) for line in panel.lines]
            expected = rows[["x", "y"]].to_numpy(dtype=float)
            assert any(line.shape == expected.shape and np.allclose(line, expected) for line in lines), (name, series)
    assert {name: panel.get_yscale() for name, panel in panels.items()} == {
        "theorem": "log",
        "similarity": "linear",
        "permutation": "log",
        "shift": "log",
    }
    lines = {float(line.get_ydata()[0]) for line in panels["theorem"].lines}
    assert set(EPSILONS) <= lines


def test_the_command_writes_and_prints_what_it_found(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "one" / "two"
    assert main(["mathematics", "--output", str(folder), "--seed", "7"]) == 0
    drawn = {f"mathematics.{suffix}" for suffix in ("svg", "pdf", "png", "csv")}
    assert {path.name for path in folder.iterdir() if not is_note(path)} == {
        "claims.csv",
        "theorem.csv",
        "opr.csv",
    } | drawn
    table = pd.read_csv(folder / "claims.csv")
    assert list(table.columns) == ["name", "claim", "source", "measured", "bound", "holds"]
    refuted = {claim.name for claim in stated.claims() if claim.refuted}
    assert set(table["name"][~table["holds"]]) == refuted
    printed = capsys.readouterr().out
    for claim in table["claim"]:
        assert claim in printed
    theorem = pd.read_csv(folder / "theorem.csv")
    assert theorem["norm"].iloc[-1] <= 1e-6 and theorem["epsilon"].iloc[-1] == 1e-6
    assert set(pd.read_csv(folder / "opr.csv")["k"].dropna()) == {*KS, 1026}


def test_the_command_says_which_claim_does_not_hold(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = replace(found(), orthogonal=replace(found().orthogonal, far={8: 0.9, 1026: 0.976}))
    measure: Callable[[int], Measurements] = lambda seed: broken  # noqa: E731
    monkeypatch.setattr(Measurements, "measure", measure)
    monkeypatch.setattr(style, "save", lambda *_: None)  # takes seconds
    monkeypatch.setenv("WORDORDER_ERRORS", "json")
    assert main(["mathematics", "--output", str(tmp_path)]) == 1
    captured = capsys.readouterr()
    error = json.loads(captured.err)
    wrong = next(claim.claim for claim in broken.claims() if claim.name == "far_at_8")
    assert error["code"] == "claims-failed"
    assert error["message"].count(wrong) == 1 and "0.9" in error["message"]
    assert captured.out.count(" NO\n") + captured.out.count(" NO ") == 1
    table = pd.read_csv(tmp_path / "claims.csv").set_index("name")
    assert not table["holds"]["far_at_8"] and table["holds"]["far_as_released"]


def test_a_seed_is_a_number_from_0(tmp_path: Path) -> None:
    assert main(["mathematics", "--output", str(tmp_path), "--seed", "-1"]) == 2
