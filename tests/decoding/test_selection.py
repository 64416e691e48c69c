from __future__ import annotations

import math

import pytest
import torch

from wordorder.decoding.selection import best_continuations


@pytest.mark.parametrize("vocabulary", [3, 31, 64, 257, 1000])
@pytest.mark.parametrize("hypotheses", [1, 3])
@pytest.mark.parametrize("count", [1, 2, 9])
@pytest.mark.parametrize("levels", [3, 1000, None])
def test_best_continuations_are_the_first_of_a_stable_sort(
    vocabulary: int, hypotheses: int, count: int, levels: int | None
) -> None:
    generator = torch.Generator().manual_seed(vocabulary + count)
    values = -torch.rand(50, hypotheses, vocabulary, generator=generator) * 20
    scores = -torch.rand(50, hypotheses, generator=generator) * 5
    if levels:  # many sums are equal, and some are 0
        values, scores = -(values.abs() * levels / 20).round(), -(scores.abs() * levels / 20).round()
    values[torch.rand(values.shape, generator=generator) < 0.1] = -math.inf
    scores[torch.rand(scores.shape, generator=generator) < 0.1] = -math.inf
    found, numbers = best_continuations(values, scores, count)
    ordered, order = torch.sort((values + scores[:, :, None]).flatten(1), dim=1, descending=True, stable=True)
    torch.testing.assert_close(found, ordered[:, :count], rtol=0, atol=0)
    assert torch.equal(numbers, order[:, :count])


def test_what_is_not_a_number_comes_last() -> None:
    values = torch.full((1, 2, 100), math.nan)
    values[0, 1, 64:96] = -torch.arange(1.0, 33.0)
    found, numbers = best_continuations(values, torch.zeros(1, 2), 3)
    assert found.tolist() == [[-1, -2, -3]]
    assert numbers.tolist() == [[164, 165, 166]]
