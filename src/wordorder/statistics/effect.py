"""How often people agree with a difference of a metric: Kocmi et al. (2024), "Navigating the Metrics Maze".

For pairs of systems whose scores differ by x, the share in which people, too, prefer the one that the metric prefers,
is fitted by a / (1 + exp(-b·x)). It was measured on test sets of ordinary text and systems of all kinds, for the
metrics below and no others; a difference that agrees with nobody but a coin can still be significant.
"""

from __future__ import annotations

import math

# a (per cent) and b, as the authors' package mt-thresholds 1.0.4 has them; their paper prints, rounded, the differences
# at which the curve passes 55, 60, 65, … per cent. ChrF is sacreBLEU's chrF2, without words. COMET is wmt22-comet-da
# and in their curve 0 to 100.
_CURVES = {
    "bleu": (88.33333333333225, 0.9663926931178954),
    "chrf": (92.999999999972, 1.1142732157139852),
    "comet": (96.22374133884283, 2.8359194570556636),
}
COMET_MODEL = "wmt22-comet-da"


def agreement(metric: str, difference: float, comet_model: str = "") -> float | None:
    """The expected share, of 1, of pairs in which people prefer the better-scored system; None for other metrics.

    ``difference`` is on our scale: COMET's 0.01 is one of its points. A coin toss is 0.5, and nothing is below it.
    """
    if metric not in _CURVES or (metric == "comet" and not comet_model.endswith(COMET_MODEL)):
        return None
    ceiling, slope = _CURVES[metric]
    points = abs(difference) * (100 if metric == "comet" else 1)
    return max(0.5, ceiling / 100 / (1 + math.exp(-slope * points)))
