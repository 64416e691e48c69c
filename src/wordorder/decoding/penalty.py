"""Length penalties: what a log-probability is divided by, so that long hypotheses are not at a disadvantage."""

from __future__ import annotations

from typing import overload

from torch import Tensor

from wordorder.config.models import Decoding


@overload
def length_penalty(length: int, config: Decoding) -> float: ...
@overload
def length_penalty(length: Tensor, config: Decoding) -> Tensor: ...
def length_penalty(length: int | Tensor, config: Decoding) -> float | Tensor:
    """Of ``length`` tokens, the end of the sentence included (as fairseq counts).

    'power': length^alpha. 'gnmt': ((5 + length) / 6)^alpha (Wu et al. 2016, equation 14).
    """
    base = length if config.length_penalty == "power" else (5 + length) / 6
    penalty: float | Tensor = base**config.alpha
    return penalty


def highest_score(log_probabilities: Tensor, shortest: int, longest: Tensor, config: Decoding) -> Tensor:
    """The highest score that an open hypothesis may still reach: (B,) -> (B,).

    Its log-probability can only fall and is not above 0, so it can at best be divided, unchanged, by the largest
    penalty among the lengths at which it may end. A penalty rises or falls with the length, so its largest value is
    at the ``shortest`` (for alpha < 0) or at the ``longest`` (B,).
    """
    largest = length_penalty(longest, config).clamp_min(length_penalty(shortest, config))
    return log_probabilities / largest
