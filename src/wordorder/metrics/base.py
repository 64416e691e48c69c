"""The base classes of metrics, and their registry.

A metric is one file that defines a subclass of :class:`TextMetric` (computed in this process from translations and
references) or of :class:`SystemsMetric` (computed by a program in a separate environment) and registers it with
:func:`register`.

Notation: N sentences, K sufficient statistics per sentence, B resamples.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, TypeVar

import numpy as np

from wordorder.config.base import Model
from wordorder.config.models import Metric as Entry
from wordorder.config.models import metric_name
from wordorder.data.tokenise import base_language
from wordorder.errors import WordorderError
from wordorder.metrics.agreement import NOTICED, Agreement
from wordorder.registry import Registry
from wordorder.statistics.resampling import Array, Measure
from wordorder.wording import listed


class NoSettings(Model):
    """Settings of a metric without settings."""


def unsupported(metric: str, language: str, reason: str, expected: object = None) -> WordorderError:
    """Return the error that a metric raises for a target language that it does not support.

    Args:
        metric: The name of the metric.
        language: The code of the language.
        reason: What follows in the sentence, such as ", only de".
        expected: The languages that the metric supports.
    """
    return WordorderError(
        f"The metric '{metric}' does not support the target language '{language}'{reason}. Remove it from the study's "
        "'metrics'.",
        code="unsupported-language",
        found=language,
        expected=expected,
    )


class Metric(ABC):
    """A metric for one target language.

    Args:
        language: Language code of the translations, such as "de" or "zh-CN".
        settings: The study's settings of this metric; an instance of ``Settings``.

    Raises:
        WordorderError: The metric does not support the language.
    """

    name: ClassVar[str]  # set by register()
    label: ClassVar[str]
    """The name of the metric in tables and figures."""
    lower_is_better: ClassVar[bool] = False
    ratio_scale: ClassVar[bool] = False
    """Whether a score of 0 means no agreement, so that a share of a score has a meaning."""
    digits: ClassVar[int] = 2
    """The number of decimals with which scores are printed."""
    published_scale: ClassVar[float] = 1.0
    """The factor from a score to the unit in which papers print it."""
    legacy: ClassVar[str] = ""
    """A warning, printed below tables, for a metric that only serves to read older papers."""
    languages: ClassVar[frozenset[str]] = frozenset()
    """The codes of the supported target languages; empty if the metric supports all."""
    rates_sentences: ClassVar[bool] = False
    """Whether the scores of single sentences say enough to choose examples by and to be tested themselves."""
    Settings: ClassVar[type[Model]] = NoSettings

    def __init__(self, language: str, settings: Model) -> None:
        self.language = base_language(language)
        self.settings = settings
        if self.languages and self.language not in self.languages:
            names = sorted(self.languages)
            raise unsupported(self.name, language, f", only {', '.join(names)}", names)

    @classmethod
    def heading(cls) -> str:
        """Return the heading of a column of scores: the label, and an arrow if lower scores are better."""
        return f"{cls.label} ↓" if cls.lower_is_better else cls.label

    @property
    def agreement(self) -> Agreement | None:
        """The expected human agreement with a difference of this metric, or None if it was not measured."""
        return None

    @property
    def margin(self) -> float | None:
        """The difference up to which two systems count as equivalent, unless the study declares another.

        If it is None, no systems are called equivalent.
        """
        return None if self.agreement is None else self.agreement.difference(NOTICED)


class TextMetric(Metric):
    """A metric that is computed in this process from translations and references.

    A metric whose corpus score is a function of summed sentence statistics implements :meth:`statistics` and
    :meth:`score`; its differences are then tested by resampling sentences. Another metric sets ``decomposes`` to False
    and overrides :meth:`corpus_score`; its differences are tested over seeds only.
    """

    decomposes: ClassVar[bool] = True
    _columns: tuple[int, ...] = ()  # (K,), once statistics were computed

    @property
    @abstractmethod
    def signature(self) -> str:
        """Everything that a reader needs to reproduce a score; available after scoring."""

    @property
    def segment_signature(self) -> str:
        """The signature of sentence scores."""
        return self.signature

    def statistics(self, hypotheses: Sequence[str], references: Sequence[str]) -> Array:
        """Compute the sufficient statistics of each sentence.

        Returns:
            An array of shape (N, K).
        """
        raise NotImplementedError(f"{type(self).__name__}.statistics")

    def checked_statistics(self, hypotheses: Sequence[str], references: Sequence[str]) -> Array:
        """Return :meth:`statistics` as an array of numbers.

        Raises:
            WordorderError: There is not one row per sentence, or not the same K in all rows and all calls.
        """
        statistics = self.statistics(hypotheses, references)
        try:
            rows = np.asarray(statistics, dtype=float)
        except (TypeError, ValueError):
            found = "rows of different lengths or values that are not numbers"
        else:
            columns = self._columns or rows.shape[-1:]
            if rows.shape == (len(hypotheses), *columns) and columns:
                self._columns = columns
                return rows
            found = f"an array of the shape {rows.shape}"
        expected = f"({len(hypotheses)}, {self._columns[0] if self._columns else 'K'})"
        raise WordorderError(
            f"The method 'statistics' of the metric '{self.name}' (class {type(self).__qualname__} of "
            f"{type(self).__module__}) returned {found}. For {len(hypotheses)} sentences it must return an array of "
            f"the shape {expected}: one row per sentence, and the same number K of statistics in every row and for "
            "every translation. Correct the method.",
            code="wrong-statistics",
            path=REGISTRY.file(self.name),
            key=self.name,
            found=found,
            expected=expected,
        )

    def score(self, sums: Array) -> float:
        """Compute a corpus score from the sums of the sentences' statistics, (K,)."""
        raise NotImplementedError(f"{type(self).__name__}.score")

    def scores(self, sums: Array) -> Array:
        """Compute corpus scores from many sums, (B, K) to (B,).

        A metric overrides this method if it can compute them faster than one by one; intervals need thousands.
        """
        return np.fromiter((self.score(row) for row in sums), dtype=float, count=len(sums))

    def corpus_score(self, hypotheses: Sequence[str], references: Sequence[str]) -> tuple[float, dict[str, Any]]:
        """Score a corpus.

        Args:
            hypotheses: Detokenised translations.
            references: As many detokenised references.

        Returns:
            The score, and details such as counts and lengths that are stored with it.
        """
        return self.measure.of(self.checked_statistics(hypotheses, references)), {}

    def segment_scores(self, hypotheses: Sequence[str], references: Sequence[str]) -> list[float]:
        """Score each sentence separately."""
        if not self.decomposes:
            return [self.corpus_score([h], [r])[0] for h, r in zip(hypotheses, references, strict=True)]
        return [float(score) for score in self.measure.scores(self.checked_statistics(hypotheses, references))]

    @property
    def measure(self) -> Measure:
        """The corpus score as a function of statistics."""
        return Measure(self.score, self.scores, self.lower_is_better)


@dataclass(frozen=True)
class SystemsTask:
    """Translations of one source to score.

    Attributes:
        source: A file with one sentence per line.
        references: A file with the same number of lines.
        hypotheses: Files with the same number of lines, or without lines for a diverged model.
        cache: A folder for scores, which different studies may share.
        python: The Python of the metric's environment, if it is not in its usual place.
        batch_size: The number of sentences per batch.
    """

    source: str | Path
    references: str | Path
    hypotheses: Sequence[str | Path]
    cache: str | Path
    python: str | Path | None = None
    batch_size: int = 16


class SystemsMetric(Metric):
    """A metric that scores many translations of one source in one process of a separate environment.

    Its corpus score is the mean of its sentence scores.
    """

    @abstractmethod
    def score_systems(self, task: SystemsTask) -> dict[str, Any]:
        """Score translations, or report why they cannot be scored on this machine.

        Returns:
            ``status`` ("scored", or "not scored" with ``reason`` and ``how``), ``signature`` (None if nothing is
            scored), ``source`` and ``references`` (``lines`` and ``sha256`` each), and ``systems``: for the SHA-256
            of each hypotheses file its ``score`` and ``segment_scores`` (None and empty for a file without lines).
        """

    def files(self) -> list[Path]:
        """Return the files on this machine on which scores depend, such as a checkpoint."""
        return []

    def is_available(self) -> bool:
        """Return whether this machine has the environment of the metric."""
        return True


REGISTRY: Registry[type[Metric]] = Registry("metrics", "metric")

M = TypeVar("M", bound=type[Metric])


def register(name: str) -> Callable[[M], M]:
    """Register a metric under the name by which studies refer to it.

    Raises:
        WordorderError: A metric lacks its label or signature, or the methods from which its scores are computed.
    """

    def decorate(metric: M) -> M:
        metric.name = name
        if lacking := [*([] if hasattr(metric, "label") else ["label"]), *sorted(metric.__abstractmethods__)]:
            raise WordorderError(
                f"The metric '{name}' (class {metric.__qualname__} of {metric.__module__}) does not define "
                f"{listed(lacking)}.",
                code="incomplete-metric",
                key=name,
                found=lacking,
            )
        if issubclass(metric, TextMetric):
            needed = ("statistics", "score") if metric.decomposes else ("corpus_score",)
            missing = [method for method in needed if getattr(metric, method) is getattr(TextMetric, method)]
            if missing:
                raise WordorderError(
                    f"The metric '{name}' (class {metric.__qualname__} of {metric.__module__}) does not define "
                    f"{' and '.join(missing)}. With 'decomposes = True' a metric defines 'statistics' and 'score', "
                    "otherwise 'corpus_score'.",
                    code="incomplete-metric",
                    key=name,
                    found=missing,
                    expected=list(needed),
                )
        REGISTRY.add(name, metric)
        return metric

    return decorate


def metric(name: str) -> type[Metric]:
    """Return the class of a metric: its label, direction and digits.

    Raises:
        WordorderError: There is no such metric.
    """
    return REGISTRY.get(name)


def build(entry: Entry, language: str) -> Metric:
    """Create a metric from an entry of a study's ``metrics``, for one target language."""
    chosen = metric(metric_name(entry))
    settings = entry[chosen.name] if isinstance(entry, Mapping) else {}
    return chosen(language, chosen.Settings.model_validate(settings))
