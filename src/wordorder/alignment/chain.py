"""Posteriors of one direction: which given token generated each observed token of a sentence.

The given tokens are the states, in order, of a hidden Markov model (Vogel, Ney & Tillmann 1996, "HMM-Based Word
Alignment in Statistical Translation"). A transition depends only on the width of its jump, and all jumps from a state
to the tokens of a sentence sum to one. As in Och & Ney 2003, every state has a copy that generates tokens from null and
remembers the position of the chain. Before the first token the chain is at position 0; the first token is 1.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from wordorder.compiled import compiled

NEGLIGIBLE = 1e-9  # smaller probabilities are pruned, which saves most of the work in long sentences


@compiled
def hmm_posteriors(
    emission: NDArray[np.float64],
    emission_null: NDArray[np.float64],
    null: float,
    jumps: NDArray[np.float64],
    posterior: NDArray[np.float64],
    widths: NDArray[np.float64],
) -> float:
    """Fill ``posterior`` with p(given token | observed token).

    Args:
        emission: p(observed token | given token), all above 0, (observed, given).
        emission_null: p(observed token | null), (observed,).
        null: Probability of null at each observed token.
        jumps: Weight of a jump by d tokens at d + reach, (2 · reach + 1,), with reach > given tokens.
        posterior: Output, (observed, given). The remainder to a sum of one belongs to null.
        widths: As ``jumps``; the expected number of jumps of each width is added.

    Returns:
        The log-probability of the sentence.
    """
    length, states = emission.shape
    reach = len(jumps) // 2
    total = np.zeros(len(jumps) + 1)
    for d in range(len(jumps)):
        total[d + 1] = total[d] + jumps[d]
    # The jump from position m to token i, counted from 0, has the width i + 1 - m.
    norm = np.empty(states + 1)
    for m in range(states + 1):
        low = reach + 1 - m
        norm[m] = 1.0 / (total[low + states] - total[low])

    # forward[j, m]: probability of position m after the first j tokens, given these tokens.
    forward = np.zeros((length + 1, states + 1))
    forward[0, 0] = 1.0
    scale = np.empty(length)
    arrived = np.empty(states)
    for j in range(length):
        arrived[:] = 0.0
        for m in range(states + 1):
            weight = forward[j, m] * norm[m]
            if forward[j, m] > NEGLIGIBLE:
                low = reach + 1 - m
                for i in range(states):
                    arrived[i] += weight * jumps[low + i]
        stay = null * emission_null[j]
        forward[j + 1, 0] = stay * forward[j, 0]
        sum_ = forward[j + 1, 0]
        for i in range(states):
            made = (1.0 - null) * arrived[i] * emission[j, i]
            posterior[j, i] = made
            forward[j + 1, i + 1] = made + stay * forward[j, i + 1]
            sum_ += forward[j + 1, i + 1]
        scale[j] = sum_
        for m in range(states + 1):
            forward[j + 1, m] /= sum_
        for i in range(states):
            posterior[j, i] /= sum_

    # The last jump leads to the end of the sentence.
    backward = np.empty(states + 1)
    ends = 0.0
    for m in range(states + 1):
        backward[m] = jumps[reach + states + 1 - m]
        ends += forward[length, m] * backward[m]
    for m in range(states + 1):
        backward[m] /= ends
    likelihood = math.log(ends)
    ahead, following = np.empty(states), np.empty(states + 1)
    here = np.zeros(2 * states + 1)  # expected count of a jump by d tokens at d + states
    for j in range(length - 1, -1, -1):
        following[:] = 0.0
        for i in range(states):
            posterior[j, i] *= backward[i + 1]
            ahead[i] = (1.0 - null) * emission[j, i] * backward[i + 1] / scale[j]
            if posterior[j, i] > NEGLIGIBLE:
                high = reach + 1 + i
                for m in range(states + 1):
                    following[m] += ahead[i] * jumps[high - m]
        stay = null * emission_null[j] / scale[j]
        for m in range(states + 1):
            if forward[j, m] > NEGLIGIBLE:
                weight, low = forward[j, m] * norm[m], states + 1 - m
                for i in range(states):
                    here[low + i] += weight * ahead[i]
            backward[m] = stay * backward[m] + norm[m] * following[m]
        likelihood += math.log(scale[j])
    for k in range(2 * states + 1):
        widths[reach - states + k] += here[k] * jumps[reach - states + k]
    return likelihood


@compiled
def model1_posteriors(
    emission: NDArray[np.float64], emission_null: NDArray[np.float64], null: float, posterior: NDArray[np.float64]
) -> float:
    """Fill ``posterior`` as :func:`hmm_posteriors` does, for IBM model 1, where all given tokens are equally likely."""
    length, states = emission.shape
    likelihood = 0.0
    for j in range(length):
        sum_ = null * emission_null[j]
        for i in range(states):
            posterior[j, i] = (1.0 - null) * emission[j, i] / states
            sum_ += posterior[j, i]
        for i in range(states):
            posterior[j, i] /= sum_
        likelihood += math.log(sum_)
    return likelihood
