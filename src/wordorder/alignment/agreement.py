"""Expected counts and links of both directions over many sentence pairs.

Liang, Taskar & Klein 2006, "Alignment by Agreement": the two directions are trained to agree by counting links that
both find likely. A link with the probability p in one direction and q in the other counts

    p · q / (p · q + (1 - p) · (1 - q))

times, its probability if the two were independent observations. The product p · q would leave rare tokens to null.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from wordorder.alignment.chain import hmm_posteriors, model1_posteriors
from wordorder.alignment.lexicon import Lexicon, find
from wordorder.compiled import compiled
from wordorder.data.units import UNKNOWN_UNIT

# Counts are integer multiples of this fraction of a link. So their sum does not depend on the order or the threads.
UNIT = 2.0**-32
MOST = 2**32 - 1  # largest count of a pair that occurs once
FLOOR = 1e-9  # probability of a token, given one with which it was never seen
CERTAIN = 1.0 - 1e-6  # upper bound of a probability
UNKNOWN = 1e-4  # the same, if one of the two tokens is unknown
_ROUNDING = 1e-9  # probabilities that differ by less are taken to be equal


class Direction(NamedTuple):
    """One token given another: p(target token | source token) forward, p(source token | target token) backward.

    Attributes:
        lexical: Probabilities of the pairs of the lexicon, (pairs,). While a pass over a text counts, those of pairs
            that occur once are replaced by counts; see :func:`counts_of_single`.
        null: p(token | null), (observed tokens,).
        jumps: Weights of the jumps, (2 · reach + 1,); see :mod:`wordorder.alignment.chain`.
    """

    lexical: NDArray[np.float32]
    null: NDArray[np.float64]
    jumps: NDArray[np.float64]


class Parameters(NamedTuple):
    """The parameters of a pass over a text. Jumps are spread over widths; null is the probability of null."""

    lexicon: Lexicon
    forward: Direction
    backward: Direction
    null: float


class Counts(NamedTuple):
    """Expected counts of one direction, in :data:`UNIT`; shapes as in :class:`Direction`.

    The counts of ``lexical`` are those of the pairs that occur more than once.
    """

    lexical: NDArray[np.int64]
    null: NDArray[np.int64]
    jumps: NDArray[np.int64]


class Text(NamedTuple):
    """Both sides of a corpus, as :class:`~wordorder.data.ragged.Ragged`."""

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
    """Fill the pair indices (source, target) and the probabilities (target, source) and (source, target)."""
    lexicon, forward, backward, _ = parameters
    for i in range(len(e)):
        for j in range(len(f)):
            number = -1
            p = q = UNKNOWN
            if e[i] != UNKNOWN_UNIT and f[j] != UNKNOWN_UNIT:
                number = find(lexicon, e[i], f[j])
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

    Returns:
        The two log-likelihoods.
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
    """Combine the probabilities p and q of a link from two independent observations; see the module."""
    # Pruning in a chain can raise a posterior slightly above 1.
    p, q = min(p, CERTAIN), min(q, CERTAIN)
    return p * q / (p * q + (1.0 - p) * (1.0 - q))


@compiled
def counts_of_single(lexicon: Lexicon, direction: Direction) -> NDArray[np.uint32]:
    """Return the counts, in :data:`UNIT`, of the pairs that occur once.

    They are in the memory of the probabilities of these pairs. Such a probability is read for the last time before its
    count is known, because the pair occurs in one place. So a pass needs no further memory for most pairs, whatever the
    number of threads.
    """
    return direction.lexical[lexicon.rows[-1] :].view(np.uint32)


@compiled
def _add(probability: float, number: int, counts: NDArray[np.int64], single: NDArray[np.uint32]) -> None:
    """Add the expected count of a link to that of its pair."""
    count = np.int64(probability / UNIT)
    if number < len(counts):
        counts[number] += count
    else:
        single[number - len(counts)] = count if count < MOST else MOST


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
    """Add the expected counts of sentence pairs first … last - 1; see also :func:`counts_of_single`.

    IBM model 1 (not ``hmm``) is trained without agreement, which would discard links while all are equally likely.

    Returns:
        The two log-likelihoods.
    """
    forward_single = counts_of_single(parameters.lexicon, parameters.forward)
    backward_single = counts_of_single(parameters.lexicon, parameters.backward)
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
                _add(one, numbers[i, j], forward_counts.lexical, forward_single)
                _add(other, numbers[i, j], backward_counts.lexical, backward_single)
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
    """Round the widths of one sentence into the counts, and reset them."""
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
    """Find the best source token of each target token forward, the best target token of each source token backward.

    The best has the highest mean of the two posteriors, which is right more often than either of them. Of equal ones,
    up to rounding, it is the first, and there is none if the mean is below ``threshold``.

    Args:
        text: The text.
        first: The first sentence pair.
        last: The end of the sentence pairs, exclusive.
        parameters: The parameters.
        threshold: The smallest mean posterior of a link.
        sources: Output: the source token in its sentence, or -1, (target tokens of the corpus,).
        targets: Output: the same for source tokens, (source tokens of the corpus,).
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
            best = _first_of_the_best(mean[j])
            if mean[j, best] >= threshold:
                sources[f0 + j] = best
        for i in range(len(e)):
            best = _first_of_the_best(mean[:, i])
            if mean[best, i] >= threshold:
                targets[e0 + i] = best


@compiled
def _first_of_the_best(means: NDArray[np.float64]) -> int:
    """Return the index of the largest number; of those that differ from it by rounding, the first."""
    least = means.max() - _ROUNDING
    best = 0
    while means[best] < least:
        best += 1
    return best
