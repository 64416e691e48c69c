"""Length penalties: divisors of log-probabilities that compensate the disadvantage of long hypotheses."""

from __future__ import annotations

from typing import overload

from torch import Tensor

from wordorder.config.decoding import Decoding


@overload
def length_penalty(length: int, config: Decoding) -> float: ...
@overload
def length_penalty(length: Tensor, config: Decoding) -> Tensor: ...
def length_penalty(length: int | Tensor, config: Decoding) -> float | Tensor:
    """Compute the divisor for ``length`` tokens, including the end of the sentence.

    'power': length^alpha, as in fairseq. 'gnmt': ((5 + length) / 6)^alpha (Wu et al. 2016, equation 14).
    """
    base = length if config.length_penalty == "power" else (5 + length) / 6
    penalty: float | Tensor = base**config.alpha
    return penalty


def highest_score(log_probabilities: Tensor, shortest: int, longest: Tensor, config: Decoding) -> Tensor:
    """Compute the highest score that an open hypothesis can still reach.

    Its log-probability can only decrease and is not above 0. So at best it is divided, unchanged, by the largest
    penalty of the lengths at which it may end. A penalty is monotonic in the length, so its largest value is at
    ``shortest`` (for alpha < 0) or at ``longest``.

    Args:
        log_probabilities: Log-probabilities, (B,).
        shortest: The smallest length at which hypotheses may end.
        longest: The largest lengths, (B,).
        config: The search.

    Returns:
        The bounds, (B,).
    """
    largest = length_penalty(longest, config).clamp_min(length_penalty(shortest, config))
    return log_probabilities / largest
