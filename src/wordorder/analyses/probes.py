"""Word-order probes: what becomes of the encoder's output and of the translation when source words change places.

    permute      all words in a random order
    swap n       two words, n places apart, change places
    window w     the words of each run of w, from the first word on, in a random order

Whole words move; their subwords stay together. What is drawn depends on the seed, the kind and the sentence's number
alone. Only sentences whose order did change are counted, and those of n words or fewer have no words n apart.

Measured over them:

    cosine distance  1 - cos of a subword's encoder output and of its own in the original order, matched by word, not
                     by place; mean over subwords. 0 for a model that knows nothing of order
    chrF             of the translation against that of the original: 100 where nothing changed
    BLEU             of both against the reference; what the perturbation costs

Encodings that need reordered positions get, as ``moved``, those of the original: each word takes along the place in
target order that it had, as a perfect reorderer would give it, so that only its absolute place changes. As ``own``, the
words count as being in target order as they stand.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from torch.nn import functional

from wordorder.config.analyses import Probes
from wordorder.config.models import Analysed, Decoding
from wordorder.data.arrays import Integers
from wordorder.data.binary import ParallelCorpus
from wordorder.data.subword import Subword
from wordorder.data.tokenise import detokeniser
from wordorder.decoding.forced import encode
from wordorder.decoding.translate import texts, translate
from wordorder.metrics.scores import build_metric
from wordorder.model.translator import Translator
from wordorder.results.measured import load_measures
from wordorder.training.batches import pad_positions, pad_sources

Kind = Literal["permute", "swap", "window"]
KINDS: tuple[Kind, ...] = ("permute", "swap", "window")
VALUES = ("cosine_distance", "chrf", "bleu", "bleu_original")
_BATCH = 50  # sentences that are encoded together
Order = NDArray[np.int64]


@dataclass(frozen=True)
class Perturbation:
    """One way to change the order; ``amount`` is the distance or the window, 0 for 'permute'."""

    kind: Kind
    amount: int = 0

    def order(self, words: int, *, seed: int, sentence: int) -> Order | None:
        """The numbers of the words as they stand afterwards, (words,); None where the order stays."""
        generator = np.random.default_rng([seed, sentence, KINDS.index(self.kind), self.amount])
        order = np.arange(words)
        if self.kind == "permute":
            order = generator.permutation(words)
        elif self.kind == "window":
            for start in range(0, words, self.amount):
                generator.shuffle(order[start : start + self.amount])
        elif words > self.amount:
            first = int(generator.integers(words - self.amount))
            order[[first, first + self.amount]] = order[[first + self.amount, first]]
        return None if np.array_equal(order, np.arange(words)) else order


def perturbations(settings: Probes) -> list[Perturbation]:
    permute = [Perturbation("permute")] if settings.permute else []
    swaps = [Perturbation("swap", distance) for distance in settings.swaps]
    return permute + swaps + [Perturbation("window", width) for width in settings.windows]


def piece_order(order: Order, starts: NDArray[np.bool_]) -> Order:
    """From an order of words to that of their subwords, (n,); ``starts``, (n,), says which subwords begin a word."""
    bounds = np.append(word_bounds(starts), len(starts))
    return np.concatenate([np.arange(bounds[word], bounds[word + 1]) for word in order])


def word_bounds(starts: NDArray[np.bool_]) -> Order:
    """Where words begin. What stands before the first word is one, too."""
    starts = starts.copy()
    starts[:1] = True
    return np.flatnonzero(starts)


@dataclass(frozen=True)
class Sources:
    """Source sentences, (n,) each, with the positions that their subwords take in target order, or None."""

    tokens: list[Integers]
    positions: list[Integers] | None

    def __len__(self) -> int:
        return len(self.tokens)

    def only(self, sentences: Sequence[int]) -> Sources:
        positions = None if self.positions is None else [self.positions[number] for number in sentences]
        return Sources([self.tokens[number] for number in sentences], positions)

    def moved(self, orders: Sequence[Order], positions: Literal["moved", "own"]) -> Sources:
        """Every sentence's subwords in another order."""
        tokens = [own[order] for own, order in zip(self.tokens, orders, strict=True)]
        if self.positions is None:
            return Sources(tokens, None)
        if positions == "own":
            return Sources(tokens, [np.arange(len(own)) for own in tokens])
        return Sources(tokens, [own[order] for own, order in zip(self.positions, orders, strict=True)])


def measure(
    model: Translator,
    corpus: ParallelCorpus,
    subword: Subword,
    references: Sequence[str],
    *,
    language: str,
    settings: Probes,
    detokenise: bool = True,
) -> dict[str, Any]:
    """Probe a model with the first sentences of a corpus; references: the raw target; language: that of the target.

    ``detokenise`` is false where the corpus was not tokenised: translations are then text as they are.
    """
    count = min(settings.sentences, len(corpus))
    positions = corpus.positions
    sources = Sources(
        [corpus.source(number) for number in range(count)],
        None if positions is None else [positions[number] for number in range(count)],
    )
    translator = _Translations(model, subword, detokeniser(language) if detokenise else str, settings.beam)
    original = translator(sources)
    begins = subword.word_starts()
    found = []
    for perturbation in perturbations(settings):
        changed, orders = [], []
        for sentence, tokens in enumerate(sources.tokens):
            starts = begins[tokens]
            order = perturbation.order(len(word_bounds(starts)), seed=settings.seed, sentence=sentence)
            if order is not None:
                changed.append(sentence)
                orders.append(piece_order(order, starts))
        row: dict[str, Any] = {"kind": perturbation.kind, "amount": perturbation.amount, "changed": len(changed)}
        row |= dict.fromkeys(VALUES)
        if changed:
            before = sources.only(changed)
            after = before.moved(orders, settings.positions)
            row["cosine_distance"] = _finite(cosine_distance(model, before, after, orders))
            if row["cosine_distance"] is not None:  # a model that diverged has no translations to compare either
                lines, wanted = [original[i] for i in changed], [references[i] for i in changed]
                row |= compare(translator(after), lines, wanted, language)
        found.append(row)
    finite = all(row["cosine_distance"] is not None for row in found if row["changed"])
    return {
        "status": "measured" if finite else "not a number",
        "sentences": count,
        "settings": settings.model_dump(mode="json"),
        "perturbations": found,
    }


def compare(
    lines: Sequence[str], original: Sequence[str], references: Sequence[str], language: str
) -> dict[str, float]:
    """Translations of perturbed sentences against those of the original ones, and both against the references."""
    bleu, chrf = build_metric("bleu", language), build_metric("chrf", language)
    return {
        "chrf": chrf.corpus_score(lines, [original]).score,
        "bleu": bleu.corpus_score(lines, [references]).score,
        "bleu_original": bleu.corpus_score(original, [references]).score,
    }


@torch.inference_mode()
def cosine_distance(model: Translator, before: Sources, after: Sources, orders: Sequence[Order]) -> float:
    """Mean over all subwords: 1 - cos of the encoder's output before and after they were put into these orders."""
    total, tokens = 0.0, 0
    longest_first = sorted(range(len(orders)), key=lambda number: -len(orders[number]))
    for start in range(0, len(orders), _BATCH):
        # Both in one batch of the same shape, so that rounding is the same.
        numbers = longest_first[start : start + _BATCH]
        old, new = (_encoded(model, part.only(numbers)) for part in (before, after))
        for row, number in enumerate(numbers):
            order = torch.from_numpy(orders[number])
            similar = functional.cosine_similarity(old[row, order], new[row, : len(order)], dim=-1)
            total += float((1 - similar.double()).sum())
            tokens += len(order)
    return total / tokens


def _encoded(model: Translator, sources: Sources) -> torch.Tensor:
    device = next(model.parameters()).device
    reordered = None if sources.positions is None else pad_positions(sources.positions).to(device)
    return encode(model, pad_sources(sources.tokens).to(device), reordered).cpu()


class _Translations:
    """From sources to lines as people write them; an empty one where the model has no translation."""

    def __init__(self, model: Translator, subword: Subword, detokenise: Callable[[str], str], beam: int) -> None:
        self.model, self.subword, self.config = model, subword, Decoding(beam=beam)
        self.detokenise = detokenise

    def __call__(self, sources: Sources) -> list[str]:
        found = translate(self.model, sources.tokens, self.config, positions=sources.positions)
        return ["".join(texts(hypotheses[:1], self.subword, self.detokenise)) for hypotheses in found]


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def frame(analysed: Analysed, results: Path, data: Path) -> pd.DataFrame:
    """A row for each cell, test set and perturbation: CELL, test, status, kind, amount, changed, VALUES, bleu_loss."""
    settings = analysed.settings.probes
    assert settings is not None
    rows = []
    for cell, measured in load_measures(analysed.report, results, "probes"):
        found = {(row["kind"], row["amount"]): row for row in measured.get("perturbations", [])}
        for perturbation in perturbations(settings):
            row = found.get((perturbation.kind, perturbation.amount), {})
            names = {name: row.get(name) for name in ("changed", *VALUES)}
            rows.append(cell | {"kind": perturbation.kind, "amount": perturbation.amount} | names)
    table = pd.DataFrame(rows).astype(dict.fromkeys(VALUES, float))
    return table.assign(bleu_loss=table["bleu_original"] - table["bleu"])
