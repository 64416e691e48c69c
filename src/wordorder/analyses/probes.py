"""Word-order probes: the effect of reordering source words on the encoder's output and on the translation.

    permute      all words in a random order
    swap n       two words at distance n swapped
    window w     the words of each run of w, from the first word on, in a random order

Whole words move; their subwords stay together. The random draws depend only on the seed, the kind and the index of the
sentence. Only sentences whose order changed are counted. Sentences of n words or fewer have no words at distance n.

Measures:

    cosine distance  1 - cos of a subword's encoder output and of its own in the original order, matched by word, not
                     by position; mean over subwords. 0 for a model without any order
    chrF             of the translation against that of the original: 100 if nothing changed
    BLEU             of both against the reference; the loss caused by the perturbation

Encodings that need reordered positions get one of two kinds. With ``moved``, each word keeps its original position in
target order, as a perfect reorderer would assign it, so that only its absolute position changes. With ``own``, the
perturbed words count as already being in target order.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator
from typing_extensions import override

from wordorder.analyses.base import Input, MeasuredSet, ModelAnalysis, raw_file
from wordorder.config.base import Positive
from wordorder.config.decoding import Decoding
from wordorder.config.models import Analysed, Report
from wordorder.data.arrays import Integers
from wordorder.data.subword import Subword
from wordorder.data.tokenise import detokeniser

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from pandas import DataFrame
    from torch import Tensor

    from wordorder.drawing.grid import Grid
    from wordorder.model.architectures.base import Translator

Kind = Literal["permute", "swap", "window"]
KINDS: tuple[Kind, ...] = ("permute", "swap", "window")
VALUES = ("cosine_distance", "chrf", "bleu", "bleu_original")
_BATCH = 50  # sentences per batch
Order = NDArray[np.int64]

_WIDTH = 3.7
_DRAWN = {
    "cosine_distance": "cosine distance of encoder outputs",
    "chrf": "chrF against the original's translation",
    "bleu_loss": "BLEU lost",
}
_KINDS = {"swap": "swap, distance", "window": "shuffle, window", "permute": "all"}


class Probes(ModelAnalysis):
    """Change of encoder output and translation when the words of the source are reordered."""

    name: ClassVar[str] = "probes"
    caption: ClassVar[str] = (
        "What happens when words of the source change places: how far the encoder's output moves, how much of the "
        "translation stays, and how much BLEU is lost, means over seeds."
    )

    permute: bool = Field(default=True, description="Probe all words in a random order.")
    swaps: list[Positive] = Field(
        default=[1, 2, 4, 8], description="Distances in words at which two words are swapped."
    )
    windows: list[Annotated[int, Field(ge=2)]] = Field(
        default=[2, 3, 5], description="Lengths of the runs within which words are shuffled."
    )
    sentences: Positive = Field(default=200, description="Number of sentences, the first ones of each test set.")
    beam: Positive = Field(default=1, description="Beam of the translations.")
    seed: int = Field(default=1, ge=0, description="Seed of the random draws.")
    positions: Literal["moved", "own"] = Field(
        default="moved",
        description="Of encodings that need reordered positions: 'moved', every word takes along the place in target "
        "order that it had; 'own', the reordered words count as being in target order.",
    )

    @model_validator(mode="after")
    def _something_to_do(self) -> Probes:
        if not (self.permute or self.swaps or self.windows):
            raise ValueError("no probe is selected: 'permute' is false, and 'swaps' and 'windows' are empty")
        return self

    @override
    def set_inputs(self, name: str) -> list[Input]:
        return [Input("file", raw_file(name, "target")), Input("file", "subword/model.model")]

    def perturbations(self) -> list[Perturbation]:
        """List the perturbations that the settings select."""
        permute = [Perturbation("permute")] if self.permute else []
        swaps = [Perturbation("swap", distance) for distance in self.swaps]
        return permute + swaps + [Perturbation("window", width) for width in self.windows]

    def measure(self, model: Translator, sentences: MeasuredSet) -> dict[str, Any]:
        """Probe a model with the first sentences of a set.

        Args:
            model: The model.
            sentences: The set.

        Returns:
            The measurements of each perturbation.
        """
        from wordorder.decoding.translate import check_vocabularies

        corpus, subword, references = sentences.corpus, sentences.subword, sentences.references
        language = sentences.preparation.target_language
        check_vocabularies(model, subword, corpus)
        count = min(self.sentences, len(corpus))
        positions = corpus.positions
        sources = Sources(
            [corpus.source(number) for number in range(count)],
            None if positions is None else [positions[number] for number in range(count)],
        )
        translator = _Translations(model, subword, detokeniser(language) if sentences.detokenise else str, self.beam)
        original = translator(sources)
        begins = subword.word_starts()
        found = []
        for perturbation in self.perturbations():
            changed, orders = [], []
            for sentence, tokens in enumerate(sources.tokens):
                starts = begins[tokens]
                order = perturbation.order(len(word_bounds(starts)), seed=self.seed, sentence=sentence)
                if order is not None:
                    changed.append(sentence)
                    orders.append(piece_order(order, starts))
            row: dict[str, Any] = {"kind": perturbation.kind, "amount": perturbation.amount, "changed": len(changed)}
            row |= dict.fromkeys(VALUES)
            if changed:
                before = sources.only(changed)
                after = before.moved(orders, self.positions)
                row["cosine_distance"] = _finite(cosine_distance(model, before, after, orders))
                if row["cosine_distance"] is not None:  # A diverged model has no translations to compare.
                    lines, wanted = [original[i] for i in changed], [references[i] for i in changed]
                    row |= compare(translator(after), lines, wanted, language)
            found.append(row)
        finite = all(row["cosine_distance"] is not None for row in found if row["changed"])
        return {
            "status": "measured" if finite else "not a number",
            "sentences": count,
            "settings": self.model_dump(mode="json"),
            "perturbations": found,
        }

    def frame(self, asked: Analysed, results: Path, data: Path) -> DataFrame:
        """Compute one row per cell, test set and perturbation.

        Columns: CELL, test, status, kind, amount, changed, VALUES and bleu_loss.
        """
        import pandas as pd

        from wordorder.results.measured import load_measures

        rows = []
        for cell, measured in load_measures(asked.report, results, self.name):
            found = {(row["kind"], row["amount"]): row for row in measured.get("perturbations", [])}
            for perturbation in self.perturbations():
                row = found.get((perturbation.kind, perturbation.amount), {})
                names = {name: row.get(name) for name in ("changed", *VALUES)}
                rows.append(cell | {"kind": perturbation.kind, "amount": perturbation.amount} | names)
        table = pd.DataFrame(rows).astype(dict.fromkeys(VALUES, float))
        return table.assign(bleu_loss=table["bleu_original"] - table["bleu"])

    def draw(self, frame: DataFrame, asked: Analysed) -> Figure:
        """Draw means over seeds, one row of panels per test set; encodings as lines with deviations or as rows."""
        from wordorder.drawing.grid import crowded, draw_grids
        from wordorder.drawing.lines import at, legend, places, title
        from wordorder.drawing.style import panels, wrap

        report = asked.report
        where = places(frame)
        if crowded(report):
            grids = [[_grid(at(frame, place), value, place, report) for value in _DRAWN] for place in where]
            return draw_grids(grids, frame, report, "")
        figure, axes = panels(len(where) * len(_DRAWN), len(_DRAWN), _WIDTH, 2.8)
        for index, panel in enumerate(axes):
            place, value = where[index // len(_DRAWN)], list(_DRAWN)[index % len(_DRAWN)]
            panel.set_title(wrap(title(report, place), int(_WIDTH * 11)))
            panel.set_ylabel(_DRAWN[value])
            _panel(panel, at(frame, place), value, report)
        legend(figure, axes, frame, report, "mean ± standard deviation over seeds")
        return figure


@dataclass(frozen=True)
class Perturbation:
    """One way to change the order; ``amount`` is the distance or the window, 0 for 'permute'."""

    kind: Kind
    amount: int = 0

    def order(self, words: int, *, seed: int, sentence: int) -> Order | None:
        """Draw a new order of words.

        Args:
            words: Number of words.
            seed: Seed of the draws.
            sentence: Index of the sentence.

        Returns:
            The indices of the words in their new order, (words,), or None if the order does not change.
        """
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


def piece_order(order: Order, starts: NDArray[np.bool_]) -> Order:
    """Convert an order of words to that of their subwords.

    Args:
        order: Order of the words.
        starts: Whether each subword begins a word, (n,).

    Returns:
        Order of the subwords, (n,).
    """
    bounds = np.append(word_bounds(starts), len(starts))
    return np.concatenate([np.arange(bounds[word], bounds[word + 1]) for word in order])


def word_bounds(starts: NDArray[np.bool_]) -> Order:
    """Find the beginnings of words. Subwords before the first beginning count as one word, too."""
    starts = starts.copy()
    starts[:1] = True
    return np.flatnonzero(starts)


@dataclass(frozen=True)
class Sources:
    """Source sentences, (n,) each, with the positions of their subwords in target order, or None."""

    tokens: list[Integers]
    positions: list[Integers] | None

    def __len__(self) -> int:
        return len(self.tokens)

    def only(self, sentences: Sequence[int]) -> Sources:
        """Select sentences."""
        positions = None if self.positions is None else [self.positions[number] for number in sentences]
        return Sources([self.tokens[number] for number in sentences], positions)

    def moved(self, orders: Sequence[Order], positions: Literal["moved", "own"]) -> Sources:
        """Reorder the subwords of every sentence."""
        tokens = [own[order] for own, order in zip(self.tokens, orders, strict=True)]
        if self.positions is None:
            return Sources(tokens, None)
        if positions == "own":
            return Sources(tokens, [np.arange(len(own)) for own in tokens])
        return Sources(tokens, [own[order] for own, order in zip(self.positions, orders, strict=True)])


def compare(
    lines: Sequence[str], original: Sequence[str], references: Sequence[str], language: str
) -> dict[str, float]:
    """Score translations of perturbed sentences against those of the original ones, and both against the references."""
    from wordorder.metrics.scores import build_metric

    bleu, chrf = build_metric("bleu", language), build_metric("chrf", language)
    return {
        "chrf": chrf.corpus_score(lines, [original]).score,
        "bleu": bleu.corpus_score(lines, [references]).score,
        "bleu_original": bleu.corpus_score(original, [references]).score,
    }


def cosine_distance(model: Translator, before: Sources, after: Sources, orders: Sequence[Order]) -> float:
    """Average 1 - cos of the encoder's outputs before and after reordering, over all subwords."""
    import torch
    from torch.nn.functional import cosine_similarity

    total, tokens = 0.0, 0
    longest_first = sorted(range(len(orders)), key=lambda number: -len(orders[number]))
    for start in range(0, len(orders), _BATCH):
        # Both in one batch of the same shape, so that rounding is the same.
        numbers = longest_first[start : start + _BATCH]
        with torch.inference_mode():
            old, new = (_encoded(model, part.only(numbers)) for part in (before, after))
            for row, number in enumerate(numbers):
                order = torch.from_numpy(orders[number])
                similar = cosine_similarity(old[row, order], new[row, : len(order)], dim=-1)
                total += float((1 - similar.double()).sum())
                tokens += len(order)
    return total / tokens


def _encoded(model: Translator, sources: Sources) -> Tensor:
    from wordorder.decoding.forced import encode
    from wordorder.training.batches import pad_positions, pad_sources

    device = next(model.parameters()).device
    reordered = None if sources.positions is None else pad_positions(sources.positions).to(device)
    return encode(model, pad_sources(sources.tokens).to(device), reordered).cpu()


class _Translations:
    """Translates sources into detokenised lines; a line is empty if the model has no translation."""

    def __init__(self, model: Translator, subword: Subword, detokenise: Callable[[str], str], beam: int) -> None:
        self.model, self.subword, self.config = model, subword, Decoding(beam=beam)
        self.detokenise = detokenise

    def __call__(self, sources: Sources) -> list[str]:
        from wordorder.decoding.translate import texts, translate

        found = translate(self.model, sources.tokens, self.config, positions=sources.positions)
        return ["".join(texts(hypotheses[:1], self.subword, self.detokenise)) for hypotheses in found]


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _asked(rows: DataFrame) -> list[tuple[str, int]]:
    """List each kind of probe with each of its amounts."""
    kinds = [kind for kind in _KINDS if kind in set(rows["kind"])]
    return [(kind, amount) for kind in kinds for amount in sorted(set(rows.loc[rows["kind"] == kind, "amount"]))]


def _grid(rows: DataFrame, value: str, place: tuple[str, str, str], report: Report) -> Grid:
    from wordorder.drawing.grid import Grid
    from wordorder.drawing.lines import title

    asked = _asked(rows)
    means = rows.pivot_table(value, "encoding", ["kind", "amount"], dropna=False).reindex(columns=asked)
    ticks = [f"{kind}\n{amount}" if amount else "all" for kind, amount in asked]
    begins = [column for column in range(1, len(asked)) if asked[column][0] != asked[column - 1][0]]
    form = "{:.3f}" if value == "cosine_distance" else "{:.1f}"
    name = f"{title(report, place)}: {_DRAWN[value]}"
    return Grid(name, "", means.set_axis(ticks, axis=1), form, begins)


def _panel(panel: Axes, rows: DataFrame, value: str, report: Report) -> None:
    from wordorder.drawing.lines import error_line
    from wordorder.drawing.style import say

    asked = _asked(rows)
    kinds = list(dict.fromkeys(kind for kind, _ in asked))
    panel.grid(axis="y")
    if rows[value].isna().all():
        say(panel, "nothing measured")
        return
    # A gap separates the kinds, which have different scales.
    place = {pair: number + kinds.index(pair[0]) * 0.7 for number, pair in enumerate(asked)}
    panel.set_xticks(list(place.values()), [str(amount) if amount else "all" for _, amount in asked])
    shift = 0.5 / max(len(report.encodings), 1)
    for number, encoding in enumerate(report.encodings):
        own = rows[rows["encoding"] == encoding].dropna(subset=value)
        aside = shift * (number - (len(report.encodings) - 1) / 2)
        for kind in kinds:
            means = own[own["kind"] == kind].groupby("amount")[value].agg(mean="mean", sd="std").reset_index()
            if len(means):
                x = [place[kind, amount] + aside for amount in means["amount"]]
                error_line(panel, x, means, report, encoding)
    for kind in kinds:
        middle = [where for (own_kind, _), where in place.items() if own_kind == kind]
        text = "permute" if kind == "permute" else _KINDS[kind]
        panel.annotate(
            text,
            (sum(middle) / len(middle), 0),
            xycoords=("data", "axes fraction"),
            xytext=(0, -20),
            textcoords="offset points",
            ha="center",
            va="top",
            fontsize=7.5,
        )
