"""Test the comparison of two bundles' models against SciPy, and on a bundle compared with itself."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats


@pytest.fixture
def pairs() -> np.ndarray:
    """Return scores of twelve seeds in two bundles, which share a part of their deviations."""
    generator = np.random.default_rng(7)
    return 30 + generator.normal(size=(12, 1)) + generator.normal(size=(12, 2))


def test_the_difference_is_that_of_the_paired_t_test(pairs: np.ndarray) -> None:
    from processors import difference

    models, mean, low, high, largest = difference(pairs)
    test = stats.ttest_rel(*pairs.T)
    assert models == 12 and mean == pytest.approx(pairs[:, 0].mean() - pairs[:, 1].mean())
    assert (low, high) == pytest.approx(tuple(test.confidence_interval()))
    assert largest == max(abs(first - second) for first, second in pairs)


def test_the_agreement_in_one_encoding_is_pearsons_correlation(pairs: np.ndarray) -> None:
    from processors import agreement

    first, second, correlation, low, high = agreement([pairs])
    test = stats.pearsonr(*pairs.T)
    assert (first, second) == pytest.approx(tuple(pairs.std(axis=0, ddof=1)))
    assert (correlation, low, high) == pytest.approx((test.statistic, *test.confidence_interval()))


def test_verdicts_are_those_of_dunnetts_test_on_the_means_of_both_bundles() -> None:
    from processors import against

    generator = np.random.default_rng(3)
    scores = {"sinusoidal": 30.0, "opr": 30.2, "rope": 33.0, "none": 25.0}
    encodings = {name: mean + generator.normal(size=(5, 2)) for name, mean in scores.items()}
    rows = {str(row[0]): row[1:] for row in against(encodings, "sinusoidal")}
    means = {name: own.mean(axis=1) for name, own in encodings.items()}
    assert list(rows) == sorted(rows, key=lambda name: -means[name].mean())
    assert {name: row[-1] for name, row in rows.items()} == {"rope": "better", "opr": "undecided", "none": "worse"}
    for name, (difference, low, high, *_) in rows.items():
        assert difference == pytest.approx(means[name].mean() - means["sinusoidal"].mean())
        assert low < difference < high and (low + high) / 2 == pytest.approx(difference)


def test_means_of_encodings_do_not_enter_the_agreement(pairs: np.ndarray) -> None:
    """The shift would raise the correlation of all scores to almost 1."""
    from processors import agreement

    groups = [pairs[:6], pairs[6:]]
    shifted = [pairs[:6], pairs[6:] + 100]
    assert agreement(shifted) == pytest.approx(agreement(groups))
    assert agreement(groups)[2] < 0.9
