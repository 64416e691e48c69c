"""The embedded aligner: one HMM per direction, initialised from IBM model 1, trained to agree.

Every run with any number of threads gives the same bits: nothing is random, and counts are integers.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from wordorder.alignment.agreement import FLOOR, Counts, Direction, Parameters, Text, best_links, expect
from wordorder.alignment.estimation import estimate_backward, estimate_forward, estimate_null, initial_probabilities
from wordorder.alignment.jumps import GROUPS, estimate_weights, initial_weights, spread
from wordorder.alignment.lexicon import Lexicon, build_lexicon, likely
from wordorder.alignment.links import Links
from wordorder.alignment.symmetrise import symmetrise
from wordorder.compiled import first_call
from wordorder.config.reordering import HMM, Symmetrisation
from wordorder.data.arrays import open_npz, write_npz
from wordorder.data.ragged import Ragged
from wordorder.data.units import UNKNOWN_UNIT, Vocabulary
from wordorder.errors import WordorderError
from wordorder.progress import Progress

FORMAT = 1
NULL = 0.2  # probability of null at each token
THRESHOLD = 0.5  # smallest mean of the two posteriors of a link
CHUNK = 1000  # sentence pairs per unit of work of a thread

R = TypeVar("R")


class Likelihood(NamedTuple):
    """Log-likelihood of the training text in nats per token, under the parameters at the start of an iteration."""

    model: str
    forward: float
    backward: float


@dataclass(frozen=True)
class HMMAligner:
    """A trained aligner. ``history`` has one entry per training iteration.

    ``forward`` and ``backward`` have one jump weight per group of widths; see :mod:`wordorder.alignment.jumps`.
    """

    lexicon: Lexicon
    forward: Direction
    backward: Direction
    history: tuple[Likelihood, ...]

    def align(self, source: Ragged, target: Ragged, *, symmetrisation: Symmetrisation, threads: int = 1) -> Links:
        """Align sentence pairs, which need not be those of the training.

        Unknown tokens, which have the number 0, are linked by their positions. A pair with an empty side has no links.

        Args:
            source: Source sentences.
            target: Target sentences.
            symmetrisation: How to combine the two directions.
            threads: Number of threads.

        Returns:
            The links.
        """
        return symmetrise(*self.directions(source, target, threads=threads), symmetrisation)

    def align_blocks(
        self, blocks: Iterable[tuple[Ragged, Ragged]], *, pairs: int, symmetrisation: Symmetrisation, threads: int = 1
    ) -> Iterator[Links]:
        """Align a text of any size, of which only one block is in memory.

        Args:
            blocks: Source and target sentences of each block.
            pairs: The number of sentence pairs of all blocks, for the progress bar.
            symmetrisation: How to combine the two directions.
            threads: Number of threads.

        Yields:
            The links of each block.
        """
        with Progress("Alignment", total=pairs, unit="pairs") as progress:
            for source, target in blocks:
                yield symmetrise(*self._directions(source, target, threads, progress), symmetrisation)

    def directions(self, source: Ragged, target: Ragged, *, threads: int = 1) -> tuple[Links, Links]:
        """Return the links forward, at most one per target token, and backward, at most one per source token."""
        with Progress("Alignment", total=len(source), unit="pairs") as progress:
            return self._directions(source, target, threads, progress)

    def _directions(self, source: Ragged, target: Ragged, threads: int, progress: Progress) -> tuple[Links, Links]:
        text = _text(_known(source, len(self.backward.null)), _known(target, len(self.forward.null)))
        reach = _reach(text)
        parameters = Parameters(self.lexicon, _spread(self.forward, reach), _spread(self.backward, reach), NULL)
        sources, targets = np.empty(len(text.target), np.int32), np.empty(len(text.source), np.int32)

        def link(first: int, last: int) -> None:
            best_links(text, first, last, parameters, THRESHOLD, sources, targets)

        with first_call("the aligner"):
            link(0, 0)
        for _ in _in_chunks(link, len(source), threads, progress):
            pass
        return _sorted_links(sources, text.target_offsets), _links(targets, text.source_offsets)

    def save(self, path: str | Path, source: Vocabulary, target: Vocabulary) -> None:
        """Write the aligner and the vocabularies of its tokens as one ``.npz`` file."""
        if source.size < len(self.backward.null) or target.size < len(self.forward.null):
            raise ValueError("the vocabularies are smaller than those of the training")
        arrays: dict[str, Any] = {
            "format": np.array(FORMAT),
            "rows": self.lexicon.rows,
            "targets": self.lexicon.targets,
            "vocabularies": _as_bytes([source.units, target.units]),
            "history": _as_bytes(self.history),
        }
        for name, direction in (("forward", self.forward), ("backward", self.backward)):
            arrays |= {f"{name}_{key}": value for key, value in direction._asdict().items()}
        write_npz(path, **arrays)

    @classmethod
    def load(cls, path: str | Path) -> tuple[HMMAligner, Vocabulary, Vocabulary]:
        """Read an aligner with its source and target vocabularies, the only ones with which to number tokens for it."""
        try:
            with open_npz(path, _remedy(path)) as arrays:
                if arrays["format"] != FORMAT:
                    raise WordorderError(
                        f"{path} has format {arrays['format']}, but this version of wordorder reads format {FORMAT}. "
                        "Train the aligner again.",
                        code="wrong-version",
                        path=path,
                    )
                forward, backward = (
                    Direction(*(arrays[f"{name}_{key}"] for key in Direction._fields))
                    for name in ("forward", "backward")
                )
                units, history = (json.loads(arrays[key].tobytes()) for key in ("vocabularies", "history"))
                source, target = map(Vocabulary, units)
                lexicon = Lexicon.of(arrays["rows"], arrays["targets"], len(forward.null))
                found = cls(lexicon, forward, backward, tuple(Likelihood(*entry) for entry in history))
        except (ValueError, KeyError, TypeError) as error:
            raise _no_aligner(path, str(error)) from error
        problem = found._fault()
        if problem or source.size < len(backward.null) or target.size < len(forward.null):
            raise _no_aligner(path, problem or "its vocabularies are too small")
        return found, source, target

    def _fault(self) -> str | None:
        """Return what is wrong with arrays that were read, because compiled code would not notice."""
        rows, targets = self.lexicon.rows, self.lexicon.targets
        pairs, sources = len(targets), len(self.backward.null)
        types: list[tuple[NDArray[Any], type]] = [(targets, np.int32), (rows, np.int64)]
        for own in (self.forward, self.backward):
            types += [(own.lexical, np.float32), (own.null, np.float64), (own.jumps, np.float64)]
        if any(array.dtype != kind or array.ndim != 1 for array, kind in types):
            return "an array has another type"
        if len(rows) != sources + 1 or rows[0] != 0 or rows[-1] != pairs or (np.diff(rows) < 0).any():
            return "its rows do not cover its pairs"
        if any((len(own.lexical), len(own.jumps)) != (pairs, len(GROUPS)) for own in (self.forward, self.backward)):
            return "its arrays do not fit each other"
        return None


def train(source: Ragged, target: Ragged, config: HMM, *, threads: int = 1) -> HMMAligner:
    """Train on sentence pairs. Pairs with an empty side and unknown tokens, which have the number 0, are ignored."""
    if len(source) != len(target):
        raise ValueError(f"{len(source)} source sentences but {len(target)} target sentences")
    text = _text(source, target)
    with first_call("the aligner's lexicon"):
        build_lexicon(Ragged.of([]), Ragged.of([]))
    lexicon = build_lexicon(source, target)
    forward, backward = _initial(lexicon, text)
    reach, history = _reach(text), []
    passes = [False] * config.ibm1_iterations + [True] * config.iterations
    with Progress("Training the aligner", total=len(passes) * len(source), unit="pairs") as progress:
        for hmm in passes:
            parameters = Parameters(lexicon, _spread(forward, reach), _spread(backward, reach), NULL)
            likelihood, counts = _count(text, parameters, hmm=hmm, threads=threads, progress=progress)
            history.append(Likelihood("HMM" if hmm else "IBM model 1", *likelihood))
            progress.advance(0, note=f"{likelihood[0]:.4f} {likelihood[1]:.4f} nats a unit")
            estimate_forward(lexicon, counts[0], hmm, forward)
            estimate_backward(lexicon, counts[1], hmm, backward)
            forward, backward = (
                Direction(
                    direction.lexical,
                    estimate_null(own.null, hmm),
                    estimate_weights(own.jumps) if hmm else direction.jumps,
                )
                for direction, own in zip((forward, backward), counts, strict=True)
            )
            del counts  # before the next pass allocates its own
    # Most pairs are no more likely than unseen ones.
    lexicon, *lexical = likely(lexicon, forward.lexical, backward.lexical, FLOOR)
    forward, backward = (own._replace(lexical=kept) for own, kept in zip((forward, backward), lexical, strict=True))
    return HMMAligner(lexicon, forward, backward, tuple(history))


def _count(
    text: Text, parameters: Parameters, *, hmm: bool, threads: int, progress: Progress
) -> tuple[tuple[float, float], tuple[Counts, Counts]]:
    """Make one pass over the text, and return log-likelihoods per token and expected counts of both directions."""
    threads = max(threads, 1)
    several = int(parameters.lexicon.rows[-1])
    own = [
        (_no_counts(parameters.forward, several), _no_counts(parameters.backward, several)) for _ in range(threads)
    ]  # counts of each thread
    free: SimpleQueue[tuple[Counts, Counts]] = SimpleQueue()
    for counts in own:
        free.put(counts)

    def work(first: int, last: int) -> tuple[float, float]:
        counts = free.get()
        try:
            return expect(text, first, last, parameters, hmm, *counts)
        finally:
            free.put(counts)

    with first_call("the aligner's training"):
        work(0, 0)
    totals = np.zeros(2)
    for found in _in_chunks(work, len(text.source_offsets) - 1, threads, progress):
        totals += found
    for others in own[1:]:
        for mine, more in zip((*own[0][0], *own[0][1]), (*others[0], *others[1]), strict=True):
            mine += more
    return (float(totals[0]) / max(len(text.target), 1), float(totals[1]) / max(len(text.source), 1)), own[0]


def _in_chunks(work: Callable[[int, int], R], sentences: int, threads: int, progress: Progress) -> Iterator[R]:
    """Yield the results, in order, of ``work`` on the chunks of a corpus, which are the same for any ``threads``."""
    firsts = range(0, sentences, CHUNK)
    lasts = [min(first + CHUNK, sentences) for first in firsts]
    with ThreadPoolExecutor(threads) as pool:
        for first, last, found in zip(firsts, lasts, pool.map(work, firsts, lasts), strict=True):
            yield found
            progress.advance(last - first)


def _text(source: Ragged, target: Ragged) -> Text:
    return Text(source.values, source.offsets, target.values, target.offsets)


def _known(units: Ragged, size: int) -> Ragged:
    """Replace tokens that the training did not contain by the unknown token."""
    return Ragged(np.where(units.values < size, units.values, np.int32(UNKNOWN_UNIT)), units.offsets)


def _reach(text: Text) -> int:
    """Return the width of the widest jump, which spans the longest sentence."""
    return int(max(np.diff(offsets).max(initial=0) for offsets in (text.source_offsets, text.target_offsets))) + 1


def _spread(direction: Direction, reach: int) -> Direction:
    return direction._replace(jumps=spread(direction.jumps, reach))


def _no_counts(direction: Direction, several: int) -> Counts:
    """Return counts of zero; ``several`` is the number of pairs that occur more than once."""
    return Counts(*(np.zeros(size, np.int64) for size in (several, len(direction.null), len(direction.jumps))))


def _initial(lexicon: Lexicon, text: Text) -> tuple[Direction, Direction]:
    """Create initial parameters: all pairs of a row, or of a column, are equally likely.

    The probabilities of null follow the frequencies of the tokens.
    """
    units = text.target, text.source
    sizes = lexicon.columns, len(lexicon.rows) - 1
    nulls = (np.bincount(side, minlength=size) / max(len(side), 1) for side, size in zip(units, sizes, strict=True))
    forward, backward = (
        Direction(own, null, initial_weights()) for own, null in zip(initial_probabilities(lexicon), nulls, strict=True)
    )
    return forward, backward


def _starts(kept: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Count the kept entries before each entry, (len(kept) + 1,)."""
    starts = np.zeros(len(kept) + 1, np.int64)
    np.cumsum(kept, out=starts[1:])
    return starts


def _links(best: NDArray[np.int32], offsets: NDArray[np.int64]) -> Links:
    """Convert the target token, or -1, of each source token to links."""
    linked = best >= 0
    places = np.arange(len(best)) - np.repeat(offsets[:-1], np.diff(offsets))
    return Links(places[linked].astype(np.int32), best[linked], _starts(linked)[offsets])


def _sorted_links(best: NDArray[np.int32], offsets: NDArray[np.int64]) -> Links:
    """Convert the source token, or -1, of each target token to links."""
    turned = _links(best, offsets)
    pairs = np.repeat(np.arange(len(turned)), np.diff(turned.offsets))
    order = np.lexsort((turned.source, turned.target, pairs))
    return Links(turned.target[order], turned.source[order], turned.offsets)


def _as_bytes(value: Any) -> NDArray[np.uint8]:
    return np.frombuffer(json.dumps(value, ensure_ascii=False).encode(), np.uint8)


def _no_aligner(path: str | Path, why: str) -> WordorderError:
    return WordorderError(f"{path} is not a valid aligner file: {why}. {_remedy(path)}", code="damaged-file", path=path)


def _remedy(path: str | Path) -> str:
    return f"Name a file that 'wordorder stage train-aligner' wrote, or remake it: 'snakemake --force {path}'."
