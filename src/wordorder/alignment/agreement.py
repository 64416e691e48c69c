"""Both directions over many sentence pairs: what training counts, and the links that the posteriors give.

Liang, Taskar & Klein 2006, "Alignment by Agreement": the two directions are made to agree in that both count what
both believe. A link that has the probability p in one direction and q in the other is counted

    p · q / (p · q + (1 - p) · (1 - q))

times, its probability if the two were independent witnesses; their product alone would leave rare units to null.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from wordorder.alignment.chain import hmm_posteriors, model1_posteriors
from wordorder.alignment.lexicon import Lexicon, find
from wordorder.compiled import compiled
from wordorder.data.units import UNKNOWN_UNIT

# Counts are whole numbers of this part of a link: their sum is the same in any order, so for any number of threads.
UNIT = 2.0**-32
FLOOR = 1e-9  # of the probability of a unit, given one that it was never seen with
CERTAIN = 1.0 - 1e-6  # no witness is believed more than this
UNKNOWN = 1e-4  # the same, where one of the two is unknown


class Direction(NamedTuple):
    """One unit given another: p(target unit | source unit) forward, p(source unit | target unit) backward.

    lexical: (pairs,), by the numbers of the lexicon; null: (observed units,), p(unit | null);
    jumps: (2 · reach + 1,), see :mod:`wordorder.alignment.chain`.
    """

    lexical: NDArray[np.float32]
    null: NDArray[np.float64]
    jumps: NDArray[np.float64]


class Parameters(NamedTuple):
    """What a pass over a text goes by; the jumps of the directions are spread over widths, null is its probability."""

    lexicon: Lexicon
    forward: Direction
    backward: Direction
    null: float


class Counts(NamedTuple):
    """Expected counts of one direction, in :data:`UNIT`; shapes as in :class:`Direction`."""

    lexical: NDArray[np.int64]
    null: NDArray[np.int64]
    jumps: NDArray[np.int64]


class Text(NamedTuple):
    """Both sides of a corpus as two :class:`~wordorder.data.ragged.Ragged`."""

    source: NDArray[np.int32]
    source_offsets: NDArray[np.int64]
    target: NDArray[np.int32]
    target_offsets: NDArray[np.int64]


@compiled
def _emissions(
    e: NDArray[np.int32],
    f: NDArray[np.int32],
    parameters: Parameters,
    numbers: NDArray[np.int64],
    given_source: NDArray[np.float64],
    given_target: NDArray[np.float64],
) -> None:
    """Fill the pair numbers (source, target) and the probabilities (target, source) and (source, target)."""
    lexicon, forward, backward, _ = parameters
    for i in range(len(e)):
        for j in range(len(f)):
            number = -1
            p = q = UNKNOWN
            if e[i] != UNKNOWN_UNIT and f[j] != UNKNOWN_UNIT:
                number = find(lexicon.rows, lexicon.targets, e[i], f[j])
                p = q = FLOOR
                if number >= 0:
                    p, q = max(p, forward.lexical[number]), max(q, backward.lexical[number])
            numbers[i, j] = number
            given_source[j, i] = p
            given_target[i, j] = q


@compiled
def _null_emissions(units: NDArray[np.int32], null: NDArray[np.float64]) -> NDArray[np.float64]:
    found = np.full(len(units), FLOOR)
    for k in range(len(units)):
        if units[k] != UNKNOWN_UNIT:
            found[k] = max(null[units[k]], FLOOR)
    return found


@compiled
def _posteriors(
    e: NDArray[np.int32],
    f: NDArray[np.int32],
    parameters: Parameters,
    hmm: bool,
    numbers: NDArray[np.int64],
    p: NDArray[np.float64],
    q: NDArray[np.float64],
    forward_widths: NDArray[np.float64],
    backward_widths: NDArray[np.float64],
) -> tuple[float, float]:
    """Fill ``numbers`` (source, target) and the posteriors ``p`` (target, source), forward, and ``q`` (source, target).

    Returns the two log-likelihoods.
    """
    _, forward, backward, null = parameters
    given_source, given_target = np.empty((len(f), len(e))), np.empty((len(e), len(f)))
    _emissions(e, f, parameters, numbers, given_source, given_target)
    target_null, source_null = _null_emissions(f, forward.null), _null_emissions(e, backward.null)
    if not hmm:
        return (
            model1_posteriors(given_source, target_null, null, p),
            model1_posteriors(given_target, source_null, null, q),
        )
    return (
        hmm_posteriors(given_source, target_null, null, forward.jumps, p, forward_widths),
        hmm_posteriors(given_target, source_null, null, backward.jumps, q, backward_widths),
    )


@compiled
def agreed(p: float, q: float) -> float:
    """The probability of a link of which two independent witnesses say p and q; see the top of this file."""
    # What is not passed on in a chain can put a posterior a little above 1.
    p, q = min(p, CERTAIN), min(q, CERTAIN)
    return p * q / (p * q + (1.0 - p) * (1.0 - q))


@compiled
def expect(
    text: Text,
    first: int,
    last: int,
    parameters: Parameters,
    hmm: bool,
    forward_counts: Counts,
    backward_counts: Counts,
) -> tuple[float, float]:
    """Add the expected counts of sentence pairs first … last - 1; return the two log-likelihoods.

    IBM model 1 (not ``hmm``) is trained without agreement: while all is still equally likely, it would only kill.
    """
    forward_widths = np.zeros(len(parameters.forward.jumps))
    backward_widths = np.zeros(len(parameters.backward.jumps))
    likelihood_forward = likelihood_backward = 0.0
    for sentence in range(first, last):
        e = text.source[text.source_offsets[sentence] : text.source_offsets[sentence + 1]]
        f = text.target[text.target_offsets[sentence] : text.target_offsets[sentence + 1]]
        if len(e) == 0 or len(f) == 0:
            continue
        numbers = np.empty((len(e), len(f)), np.int64)
        p, q = np.empty((len(f), len(e))), np.empty((len(e), len(f)))
        found = _posteriors(e, f, parameters, hmm, numbers, p, q, forward_widths, backward_widths)
        likelihood_forward += found[0]
        likelihood_backward += found[1]
        forward_null, backward_null = np.ones(len(f)), np.ones(len(e))
        for i in range(len(e)):
            for j in range(len(f)):
                one, other = p[j, i], q[i, j]
                forward_null[j] -= one
                backward_null[i] -= other
                if numbers[i, j] < 0:
                    continue
                if hmm:
                    one = other = agreed(one, other)
                forward_counts.lexical[numbers[i, j]] += np.int64(one / UNIT)
                backward_counts.lexical[numbers[i, j]] += np.int64(other / UNIT)
        _count_null(f, forward_null, forward_counts.null)
        _count_null(e, backward_null, backward_counts.null)
        if hmm:
            _move(forward_widths, forward_counts.jumps)
            _move(backward_widths, backward_counts.jumps)
    return likelihood_forward, likelihood_backward


@compiled
def _count_null(units: NDArray[np.int32], probabilities: NDArray[np.float64], counts: NDArray[np.int64]) -> None:
    for k in range(len(units)):
        if units[k] != UNKNOWN_UNIT:
            counts[units[k]] += np.int64(max(probabilities[k], 0.0) / UNIT)


@compiled
def _move(widths: NDArray[np.float64], counts: NDArray[np.int64]) -> None:
    """Round the widths of one sentence into the counts, and clear them."""
    for d in range(len(widths)):
        if widths[d] > 0.0:
            counts[d] += np.int64(widths[d] / UNIT)
            widths[d] = 0.0


@compiled
def best_links(
    text: Text,
    first: int,
    last: int,
    parameters: Parameters,
    threshold: float,
    sources: NDArray[np.int32],
    targets: NDArray[np.int32],
) -> None:
    """Find the best source unit of each target unit forward, the best target unit of each source unit backward.

    The best is the one with the highest mean of the two posteriors, which is right more often than either alone; the
    first of equals is taken, and none where the mean is below ``threshold``.

    sources: (target units of the corpus,), the source unit in its sentence, or -1; targets: (source units,), the same.
    """
    for sentence in range(first, last):
        e0, f0 = text.source_offsets[sentence], text.target_offsets[sentence]
        e, f = text.source[e0 : text.source_offsets[sentence + 1]], text.target[f0 : text.target_offsets[sentence + 1]]
        sources[f0 : f0 + len(f)] = -1
        targets[e0 : e0 + len(e)] = -1
        if len(e) == 0 or len(f) == 0:
            continue
        numbers = np.empty((len(e), len(f)), np.int64)
        p, q = np.empty((len(f), len(e))), np.empty((len(e), len(f)))
        widths, other_widths = np.zeros(len(parameters.forward.jumps)), np.zeros(len(parameters.backward.jumps))
        _posteriors(e, f, parameters, True, numbers, p, q, widths, other_widths)
        mean = (p + q.T) / 2
        for j in range(len(f)):
            best = mean[j].argmax()
            if mean[j, best] >= threshold:
                sources[f0 + j] = best
        for i in range(len(e)):
            best = mean[:, i].argmax()
            if mean[best, i] >= threshold:
                targets[e0 + i] = best
