from __future__ import annotations

import math

import pytest
import torch

from wordorder.decoding.selection import best_tokens


@pytest.mark.parametrize("vocabulary", [3, 31, 64, 257, 1000])
@pytest.mark.parametrize("count", [1, 2, 9])
@pytest.mark.parametrize("levels", [3, 1000, None])
def test_best_tokens_are_the_first_of_a_stable_sort(vocabulary: int, count: int, levels: int | None) -> None:
    generator = torch.Generator().manual_seed(vocabulary + count)
    values = -torch.rand(50, vocabulary, generator=generator) * 20
    if levels:
        values = -(values.abs() * levels / 20).round()  # many are equal, and some are 0
    values[torch.rand(values.shape, generator=generator) < 0.1] = -math.inf
    found, tokens = best_tokens(values, count)
    ordered, order = torch.sort(values, dim=1, descending=True, stable=True)
    torch.testing.assert_close(found, ordered[:, :count], rtol=0, atol=0)
    assert torch.equal(tokens, order[:, :count])
