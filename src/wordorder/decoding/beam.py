"""Batched beam search.

Notation: B sentences, K hypotheses per sentence (the beam), N finished hypotheses kept per sentence, V vocabulary.

The search is that of fairseq. Among the continuations of a sentence's K open hypotheses, those of the K best that have
ended are finished, and the K best others stay open, until K have finished. With ``stop: exact``, the search continues
until no open hypothesis can become one of the N best. The result is then that of a search up to the maximum length.

Departures: if more than K have finished after the last step, all of them compete. fairseq keeps the first K, which can
change the lower ranks of an n-best list, not the best hypothesis. A hypothesis may end at once, as the empty
translation; fairseq demands one token (``min_len=1``). The maximum length follows the source of each sentence; in
fairseq, it follows the longest source of the batch, so that a translation depends on its neighbours.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from wordorder.config.decoding import Decoding
from wordorder.decoding.penalty import highest_score, length_penalty
from wordorder.decoding.selection import best_continuations
from wordorder.encodings.base import Positions
from wordorder.model.architectures.base import DecoderCache, EncodedSource, Translator
from wordorder.model.batch import BEGIN, END, PAD

# Finished sentences are removed when a multiple of this number remains. Libraries that compile matrix products for each
# shape then meet few shapes, and removing sentences copies the others.
_SENTENCES = 8


@dataclass(frozen=True)
class Hypothesis:
    """A translation of one sentence.

    Attributes:
        tokens: Tokens without beginning and end.
        log_probability: Log-probability of the tokens and the end, in nats.
        score: Log-probability divided by the length penalty.
    """

    tokens: list[int]
    score: float
    log_probability: float


def max_length(source: int, config: Decoding) -> int:
    """Return the largest number of tokens of a hypothesis without its end (as fairseq does).

    Args:
        source: Number of source tokens, including the end.
        config: The search.

    Returns:
        The number of tokens.
    """
    return int(config.max_length_a * source + config.max_length_b)


def _limits(model: Translator, sources: Tensor, config: Decoding) -> Tensor:
    """Compute :func:`max_length` of every sentence, (B, S) to (B,), limited by the positions of the model.

    With p positions there is room for the beginning and p - 1 tokens.
    """
    limits = []
    for source in (sources != PAD).sum(1).tolist():
        length, room = max_length(source, config), model.room(source)
        limits.append(length if room is None else max(0, min(length, room - 1)))
    return torch.tensor(limits, device=sources.device)


@torch.inference_mode()
def search(
    model: Translator, sources: Tensor, config: Decoding, *, positions: Tensor | None = None
) -> list[list[Hypothesis]]:
    """Find the ``nbest`` best hypotheses for each sentence.

    A sentence has fewer hypotheses only if no more exist, and none if the model's output is NaN. Hypotheses never
    contain PAD or BEGIN; UNKNOWN is allowed. Ties in log-probability are broken by the rank of the open hypothesis,
    then by the lower token index. The result of a sentence does not depend on the other sentences, with one exception:
    another shape of the batch may change the rounding of the model's output in the last bits. Only candidates that are
    equal within that rounding may change places.

    Args:
        model: The model, in evaluation mode.
        sources: Source tokens, (B, S), every sentence followed by END, padded at the right.
        config: The search.
        positions: The position that each source token takes in target order, (B, S), for a model that needs it.

    Returns:
        The hypotheses of each sentence, best first.
    """
    if model.training:
        raise ValueError("the model must be in evaluation mode")
    beam = _Beam(sources, _limits(model, sources, config), config)
    # Selecting all also stores keys and values head by head, which is faster to read at every step.
    source_positions = Positions.range(sources.size(1), on=sources.device).with_reordered(positions)
    memory, caches = model.encode(sources, positions=source_positions).select(beam.sentences), model.new_caches()
    while True:
        hidden = model.step(beam.last_tokens, memory, caches, beam.step)
        log_probabilities = torch.log_softmax(model.logits(hidden.flatten(0, 1)).float(), dim=-1)
        rows, done = beam.advance(log_probabilities)
        if bool(done.all()):
            return beam.results()
        memory = _reorder(beam, memory, caches, rows, done)


def _reorder(
    beam: _Beam, memory: EncodedSource, caches: Sequence[DecoderCache], rows: Tensor, done: Tensor
) -> EncodedSource:
    """Select the row of the caches for every open hypothesis, and remove finished sentences if they are many."""
    remaining = _rounded(len(done) - int(done.sum()))
    if remaining < len(done):
        # A stable sort moves the finished sentences behind the others; the first of them fill the batch up.
        kept = done.to(torch.int8).sort(stable=True).indices[:remaining].sort().values
        rows = rows[kept]
        memory = memory.select(kept)
        beam.keep(kept)
    for cache in caches:
        cache.select(rows)
    return memory


def _rounded(sentences: int) -> int:
    """Round a number of sentences up to a multiple of :data:`_SENTENCES`, and a smaller one to a power of two."""
    return 1 << (sentences - 1).bit_length() if sentences < _SENTENCES else -(-sentences // _SENTENCES) * _SENTENCES


class _Beam:
    """The hypotheses of the sentences that are still in the batch."""

    def __init__(self, sources: Tensor, limits: Tensor, config: Decoding) -> None:
        count, device = len(sources), sources.device
        self.config = config
        self.step = 0
        self.sentences = torch.arange(count, device=device)
        self.limits = limits
        # Open hypotheses, best first. There is one at the start, so K is 1 in the first step.
        self.tokens = torch.full((count, 1, 1), BEGIN, device=device)
        self.log_probabilities = torch.zeros(count, 1, device=device)
        # Finished hypotheses, best first; free slots score -inf. Tokens end with END, then PAD.
        self.scores = torch.full((count, config.nbest), -math.inf, device=device)
        self.finished = torch.full((count, config.nbest), -math.inf, device=device)
        self.finished_tokens = torch.full((count, config.nbest, 1), PAD, device=device)
        self.counts = torch.zeros(
            count, dtype=torch.long, device=device
        )  # number of all finished hypotheses, kept or not
        self._results: list[list[Hypothesis]] = [[] for _ in range(count)]

    @property
    def last_tokens(self) -> Tensor:
        """The last token of each open hypothesis, (B, K)."""
        return self.tokens[:, :, -1]

    def advance(self, log_probabilities: Tensor) -> tuple[Tensor, Tensor]:
        """Continue every hypothesis by one token.

        Args:
            log_probabilities: Log-probabilities of all tokens, (B·K, V).

        Returns:
            The row b·K + k that each open hypothesis continues, (B, K), and whether each sentence is done, (B,).
        """
        beam, width, vocabulary = self.config.beam, self.tokens.size(1), log_probabilities.size(1)
        log_probabilities[:, [PAD, BEGIN]] = -math.inf
        self._end_at_limit(log_probabilities)
        # Every hypothesis can end once, so the 2 K best continuations include the K best that are not ends.
        totals, numbers = best_continuations(
            log_probabilities.view(-1, width, vocabulary), self.log_probabilities, 2 * beam
        )
        parents, tokens = numbers // vocabulary, numbers % vocabulary
        ends = tokens == END
        self._finish(totals[:, :beam].where(ends[:, :beam], -math.inf), parents[:, :beam])
        # A stable sort moves the ends behind the others and keeps the order of these.
        others = ends.to(torch.int8).sort(dim=1, stable=True).indices[:, :beam]
        parents = parents.gather(1, others)
        history = self._histories(parents)
        self.tokens = torch.cat((history, tokens.gather(1, others)[:, :, None]), dim=2)
        # A wide beam has too few others in the first steps, so that ends are among them: these stay closed.
        self.log_probabilities = totals.masked_fill(ends, -math.inf).gather(1, others)
        self.step += 1
        first_rows = torch.arange(0, len(parents) * width, width, device=parents.device)
        return first_rows[:, None] + parents, self._done()

    def _histories(self, parents: Tensor) -> Tensor:
        """Return the tokens of the open hypotheses with these numbers, (B, K) to (B, K, step + 1)."""
        return self.tokens.gather(1, parents[:, :, None].expand(-1, -1, self.tokens.size(2)))

    def _end_at_limit(self, log_probabilities: Tensor) -> None:
        """Allow only the end for a hypothesis of maximum length."""
        full = self.limits <= self.step
        if bool(full.any()):
            rows = full.repeat_interleave(self.tokens.size(1))
            ends = log_probabilities[rows, END]
            log_probabilities[rows] = -math.inf
            log_probabilities[rows, END] = ends

    def _finish(self, ended: Tensor, parents: Tensor) -> None:
        """Insert ended hypotheses into the finished ones: log-probabilities (B, K), -inf for those that did not end."""
        if not bool((ended > -math.inf).any()):
            return
        # A finished sentence may stay in the batch for a while. Adding to it would make results depend on the batch.
        ended = ended.where((self.counts < self.config.beam)[:, None] | (self.config.stop == "exact"), -math.inf)
        self.counts += (ended > -math.inf).sum(1)
        scores = torch.cat((self.scores, ended / length_penalty(self.step + 1, self.config)), dim=1)
        log_probabilities = torch.cat((self.finished, ended), dim=1)
        history = self._histories(parents)
        ending = torch.nn.functional.pad(history, (0, 1), value=END)
        padding = ending.size(2) - self.finished_tokens.size(2)
        tokens = torch.cat((torch.nn.functional.pad(self.finished_tokens, (0, padding), value=PAD), ending), dim=1)
        scores, order = scores.sort(dim=1, descending=True, stable=True)
        order = order[:, : self.config.nbest]
        self.scores = scores[:, : self.config.nbest]
        self.finished = log_probabilities.gather(1, order)
        self.finished_tokens = tokens.gather(1, order[:, :, None].expand(-1, -1, tokens.size(2)))

    def _done(self) -> Tensor:
        """Return whether the search of each sentence is over, by the configured rule."""
        # At the maximum length no hypothesis is open, so the bound ends every search.
        best = highest_score(self.log_probabilities[:, 0], self.step + 1, self.limits + 1, self.config)
        hopeless = best <= self.scores[:, -1]
        return hopeless if self.config.stop == "exact" else hopeless | (self.counts >= self.config.beam)

    def keep(self, kept: Tensor) -> None:
        """Remove the sentences (rows of the batch) that are not in ``kept``, and store their results."""
        leaving = torch.ones(len(self.sentences), dtype=torch.bool, device=kept.device)
        leaving[kept] = False
        self._collect(torch.nonzero(leaving).squeeze(1))
        for name in (
            "sentences",
            "limits",
            "tokens",
            "log_probabilities",
            "scores",
            "finished",
            "finished_tokens",
            "counts",
        ):
            setattr(self, name, getattr(self, name).index_select(0, kept))

    def results(self) -> list[list[Hypothesis]]:
        """Return the finished hypotheses of all sentences."""
        self._collect(torch.arange(len(self.sentences), device=self.sentences.device))
        return self._results

    def _collect(self, rows: Tensor) -> None:
        found = (self.sentences, self.finished_tokens, self.scores, self.finished)
        for sentence, *hypotheses in zip(*(values[rows].tolist() for values in found), strict=True):
            self._results[sentence] = [
                Hypothesis(tokens[1 : tokens.index(END)], score, log_probability)
                for tokens, score, log_probability in zip(*hypotheses, strict=True)
                if score > -math.inf
            ]
