"""How often people agree with a difference: the curves of Kocmi et al. (2024)."""

from __future__ import annotations

import pytest

from wordorder.metrics.agreement import Agreement
from wordorder.metrics.base import build

# Differences at which the paper's Table 2 (as its authors publish it, appendix/main_thresholds.tex of MT-Thresholds)
# expects people to agree in 55, 60, 65, … per cent.
PRINTED = {
    "bleu": [0.52, 0.78, 1.06, 1.39, 1.79, 2.34, 3.35],
    "chrf": [0.33, 0.54, 0.76, 1.00, 1.28, 1.63, 2.12, 3.05],
    "comet": [0.10, 0.18, 0.26, 0.35, 0.45, 0.56, 0.71, 0.94, 1.53],
}


def curve(metric: str) -> Agreement:
    found = build(metric, "de").agreement
    assert found is not None
    return found


@pytest.mark.parametrize("metric", list(PRINTED))
def test_agreement_is_what_the_paper_prints(metric: str) -> None:
    agreement, scale = curve(metric), 100 if metric == "comet" else 1
    for step, difference in enumerate(PRINTED[metric]):
        low, high = (agreement.expected((difference + rounding) / scale) for rounding in (-0.005, 0.005))
        assert low - 1e-9 <= 0.55 + 0.05 * step <= high + 1e-9
    assert agreement.expected(-PRINTED[metric][2] / scale) == pytest.approx(0.65, abs=0.002)


def test_agreement_is_limited_to_its_range() -> None:
    assert curve("bleu").expected(0.0) == curve("bleu").expected(0.2) == 0.5
    assert curve("bleu").expected(99.0) == pytest.approx(0.8833, abs=1e-4)
    for metric in ("chrf++", "ter", "bleu_legacy"):
        assert build(metric, "de").agreement is None
    assert build({"comet": {"model": "Unbabel/wmt20-comet-da"}}, "de").agreement is None


@pytest.mark.parametrize("metric", list(PRINTED))
def test_the_difference_of_an_expected_agreement_is_what_the_paper_prints(metric: str) -> None:
    scale = 100 if metric == "comet" else 1
    for step, difference in enumerate(PRINTED[metric]):
        assert curve(metric).difference(0.55 + 0.05 * step) * scale == pytest.approx(difference, abs=0.0051)


@pytest.mark.parametrize(
    ("metric", "margin"),
    [("bleu", 0.5), ("chrf", 0.33), ("chrf++", 0.33), ("ter", 0.5), ("bleu_legacy", 0.5), ("comet", 0.001)],
)
def test_default_margins(metric: str, margin: float) -> None:
    assert build(metric, "de").margin == pytest.approx(margin, rel=0.02)


@pytest.mark.parametrize(
    "model",
    [
        "models/wmt22-comet-da",
        "models/wmt22-comet-da/",
        "/models/wmt22-comet-da/checkpoints/model.ckpt",
        "~/.cache/huggingface/hub/models--Unbabel--wmt22-comet-da/snapshots/2760a22/checkpoints/model.ckpt",
    ],
)
def test_a_file_or_folder_of_a_model_of_comet_has_its_margin(model: str) -> None:
    assert build({"comet": {"model": model}}, "de").margin == build("comet", "de").margin is not None


@pytest.mark.parametrize("model", ["Unbabel/wmt20-comet-da", "mine/not-wmt22-comet-da", "wmt22-comet-da-2/model.ckpt"])
def test_a_model_of_comet_without_a_curve_has_no_margin(model: str) -> None:
    assert build({"comet": {"model": model}}, "de").margin is None
