"""Training of the reordering parser with saved state: it can be stopped at any time and resumes to the same bits."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from wordorder.compiled import first_call
from wordorder.config import reordering as config
from wordorder.data.arrays import open_npz, write_npz
from wordorder.data.ragged import Ragged
from wordorder.errors import WordorderError
from wordorder.progress import Progress
from wordorder.reordering.features import FORMAT, Weights
from wordorder.reordering.learn import CHUNKS, PASSIVE_AGGRESSIVE, PERCEPTRON, TAU, Model, find_fitting, learn

BITS = 22  # log2 of the number of weights; more weights did not help with 20,000 sentences
_BLOCK = 1000  # sentences between two checks of the time
_LEARNERS = {"perceptron": PERCEPTRON, "pa": PASSIVE_AGGRESSIVE}
_LOSSES = {"tau": TAU, "chunks": CHUNKS}
# Settings of the search only, which can change without a new training.
_OF_SEARCH = {"beam", "exact", "inversion_penalty"}


@dataclass(frozen=True, slots=True)
class Trained:
    """Averaged weights, (2^BITS,), and counts of the training sentences."""

    weights: Weights
    sentences: int
    without_ranks: int  # excluded: two tokens cannot be ordered
    without_tree: int  # excluded: no tree of straight and inverted nodes gives such an order


def train(
    source: Ragged,
    classes: NDArray[np.int32],
    ranks: Ragged,
    ranked: NDArray[np.bool_],
    settings: config.Parser,
    *,
    state: Path | None = None,
    bits: int = BITS,
) -> Trained:
    """Train the weights of a parser. Sentences of any length are searched exactly.

    Args:
        source: Token indices of the sentences.
        classes: The class of each token index, (tokens,), or empty.
        ranks: Ranks of the same sentences, from :func:`wordorder.reordering.ranks.corpus_ranks`.
        ranked: Whether each sentence has ranks.
        settings: The settings.
        state: A directory for the state after every iteration. If it holds the state of the same training, it resumes.
        bits: Logarithm of the number of weights.

    Returns:
        The trained weights; zeros if no sentence can be learned from.

    Raises:
        ValueError: The arguments are inconsistent.
    """
    _check(source, classes, ranks, ranked)
    kept = ranked.copy()
    find_fitting(ranks.offsets, ranks.values, kept)
    usable = np.flatnonzero(kept)
    without_ranks = int(np.count_nonzero(~ranked))
    counts = len(usable), without_ranks, len(source) - len(usable) - without_ranks
    size = 1 << bits
    if not len(usable):
        return Trained(np.zeros(size, np.float32), *counts)
    stamp = _stamp(source, classes, ranks, ranked, settings, bits)
    model = Model(np.zeros(size, np.float32), np.zeros(size, np.float64), np.zeros(size, np.float32))
    first = _resume(state, stamp, model)
    total = settings.iterations * len(usable)
    options = (_LEARNERS[settings.learner], _LOSSES[settings.loss])
    with first_call("the training of the reordering parser"):
        learn(source.values, source.offsets, ranks.values, classes, usable[:0], model, 0, 1, *options)
    with Progress("Reordering parser", total=total, unit="sentences", initial=first * len(usable)) as progress:
        for iteration in range(first, settings.iterations):
            order = np.random.default_rng([settings.seed, iteration]).permutation(usable)
            corrected = 0
            for start in range(0, len(order), _BLOCK):
                block = order[start : start + _BLOCK]
                done = iteration * len(order) + start
                corrected += learn(
                    source.values, source.offsets, ranks.values, classes, block, model, done, total, *options
                )
                progress.advance(
                    len(block), f"iteration {iteration + 1}, {corrected / (start + len(block)):.1%} corrected"
                )
            if state is not None:
                _save(state, stamp, iteration + 1, model)
    return Trained(model.average.astype(np.float32), *counts)


def _check(source: Ragged, classes: NDArray[np.int32], ranks: Ragged, ranked: NDArray[np.bool_]) -> None:
    if not np.array_equal(source.offsets, ranks.offsets) or len(ranked) != len(source):
        raise ValueError("sentences and ranks are of different lengths")
    if source.values.size and source.values.min() < 0:
        raise ValueError("a unit has a negative number")
    if len(classes) and source.values.size and source.values.max() >= len(classes):
        raise ValueError(f"unit {source.values.max()} has no class: there are {len(classes)}")


def _stamp(
    source: Ragged,
    classes: NDArray[np.int32],
    ranks: Ragged,
    ranked: NDArray[np.bool_],
    settings: config.Parser,
    bits: int,
) -> str:
    """Compute a hash of everything that the result depends on."""
    digest = hashlib.sha256(json.dumps([FORMAT, bits, settings.model_dump(exclude=_OF_SEARCH)]).encode())
    for array in (source.values, source.offsets, classes, ranks.values, ranked):
        digest.update(f"{array.dtype}{array.shape}".encode())
        digest.update(np.ascontiguousarray(array).data)
    return digest.hexdigest()


def _save(state: Path, stamp: str, iterations: int, model: Model) -> None:
    used = np.flatnonzero((model.weights != 0) | (model.average != 0))
    write_npz(
        state / "last.npz",
        stamp=np.array(stamp),
        iterations=np.array(iterations),
        used=used,
        weights=model.weights[used],
        average=model.average[used],
    )


def _resume(state: Path | None, stamp: str, model: Model) -> int:
    """Fill ``model`` with saved state, if it belongs to this training, and return the number of finished iterations."""
    path = state / "last.npz" if state is not None else None
    if path is None or not path.exists():
        return 0
    try:
        with open_npz(path, "") as saved:
            if str(saved["stamp"]) != stamp:
                return 0
            used, weights, average = (saved[name] for name in ("used", "weights", "average"))
            iterations = int(saved["iterations"])
    except (WordorderError, ValueError, KeyError):
        return 0  # damaged: start again
    model.weights[used], model.average[used] = weights, average
    return iterations
