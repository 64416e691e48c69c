from __future__ import annotations

from typing import Any

import pytest
import torch

from wordorder.config.decoding import Decoding
from wordorder.decoding.penalty import highest_score, length_penalty


def test_penalties_are_those_of_fairseq_and_gnmt() -> None:
    assert length_penalty(8, Decoding(length_penalty="power", alpha=0.5)) == pytest.approx(8**0.5)
    assert length_penalty(7, Decoding(length_penalty="gnmt", alpha=0.6)) == pytest.approx(2**0.6)
    torch.testing.assert_close(length_penalty(torch.tensor([1, 4]), Decoding(alpha=2)), torch.tensor([1.0, 16.0]))


@pytest.mark.parametrize("alpha", [-1.5, -0.3, 0.0, 0.6, 1.0, 2.0])
@pytest.mark.parametrize("penalty", ["power", "gnmt"])
def test_the_highest_score_is_the_best_over_all_lengths(penalty: Any, alpha: float) -> None:
    config = Decoding(length_penalty=penalty, alpha=alpha)
    longest = torch.tensor([3, 4, 9, 60])
    log_probabilities = torch.tensor([-1.0, -0.5, -7.0, 0.0])
    found = highest_score(log_probabilities, 3, longest, config)
    for bound, total, last in zip(found.tolist(), log_probabilities.tolist(), longest.tolist(), strict=True):
        best = max(total / length_penalty(length, config) for length in range(3, last + 1))
        assert bound == pytest.approx(best, rel=1e-5)
