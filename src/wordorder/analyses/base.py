"""The interface of analyses. Each analysis is one file in this folder, in a plug-in folder or at an entry point.

An analysis is a class derived from one of four. Its fields are the settings that a study may give under ``analyses:
{NAME: …}``, without repeated entries in lists; its class attributes ``name`` and ``caption`` register and describe it.

- :class:`Analysis` reads what the study has written: translations, scores, run records, data.
- :class:`ScoresAnalysis` reads only scores and run records.
- :class:`ModelAnalysis` also measures every model, on sets of sentences; the measures are written once.
- :class:`JointAnalysis` also measures all models of a dataset and size together, such as their speed.

Every analysis lists its inputs (``inputs``), rejects studies that cannot provide them (``check``), computes the data
(``frame``) and draws them (``draw``). The workflow imports all analyses to find out what to run. To keep this fast,
import PyTorch, pandas, SciPy, Matplotlib and sacreBLEU inside functions.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

from typing_extensions import override

from wordorder.config.alignments import gold_name
from wordorder.config.base import Model
from wordorder.config.datasets import Dataset, Preparation
from wordorder.config.models import Analysed, Study
from wordorder.config.reordering import Alignment
from wordorder.errors import WordorderError
from wordorder.registry import Registry
from wordorder.wording import listed

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from pandas import DataFrame

    from wordorder.data.binary import ParallelCorpus
    from wordorder.data.subword import Subword
    from wordorder.model.architectures.base import Translator

REGISTRY: Registry[type[Analysis]] = Registry("analyses", "analysis")


@dataclass(frozen=True)
class Input:
    """An input of a job. The workflow determines the file names.

    The kinds are:

    - translations: the translations of each cell and test set of a dataset
    - scores: the scores of each cell and test set of a dataset, with COMET's if the study has them
    - records: the run record of each cell of a dataset, with the reason for missing translations
    - measures: the measurements of this analysis on the models of a dataset
    - file: the file ``path`` of the dataset's folder
    - corpus: the binary corpus of the split ``path`` of the dataset
    """

    kind: Literal["translations", "scores", "records", "measures", "file", "corpus"]
    path: str = ""


@dataclass(frozen=True)
class StudiedDataset:
    """A dataset as a study uses it.

    Attributes:
        dataset: Its configuration.
        tests: The names of the test sets that the study translates.
        gold_sets: The names in gold_alignments.yaml of the sets of its languages.
    """

    dataset: Dataset
    tests: list[str]
    gold_sets: list[str]

    def translations(self, *files: str) -> list[Input]:
        """List the translations with their references and, for each test set, ``files`` such as 'raw/{test}.source'."""
        return [Input("translations"), Input("records"), *self.files("raw/{test}.target", *files)]

    def files(self, *patterns: str) -> list[Input]:
        """List the files of every test set, such as 'raw/{test}.target'."""
        return [Input("file", pattern.format(test=test)) for test in self.tests for pattern in patterns]

    def corpora(self) -> list[Input]:
        """List the binary corpora of the test sets."""
        return [Input("corpus", test) for test in self.tests]


@dataclass(frozen=True)
class StudyView:
    """The parts of a study that an analysis may check before anything runs.

    Attributes:
        study: The study.
        datasets: Its datasets.
        aligners: The entries of aligners.yaml.
        gold_sets: The names in gold_alignments.yaml, of all languages.
    """

    study: Study
    datasets: list[StudiedDataset]
    aligners: dict[str, Alignment]
    gold_sets: list[str]

    def error(self, sentence: str, key: str, dataset: StudiedDataset | None = None) -> WordorderError:
        """Create an error about a setting.

        Args:
            sentence: The predicate of a sentence whose subject is the setting.
            key: The setting, such as 'length.unit'.
            dataset: The dataset to which the error applies.

        Returns:
            The error.
        """
        where = f" the dataset '{dataset.dataset.name}'" if dataset else f" 'analyses.{key}'"
        return WordorderError(
            f"In the study '{self.study.name}'{where} {sentence}",
            code="unsuitable-analysis",
            key=f"analyses.{key}",
        )


class Analysis(Model):
    """An analysis with its settings."""

    name: ClassVar[str]
    """The name in studies, file names and commands."""
    caption: ClassVar[str]
    """One or more sentences of reStructuredText for Snakemake's report and the study page."""

    @classmethod
    def __pydantic_init_subclass__(cls, **kwargs: Any) -> None:
        super().__pydantic_init_subclass__(**kwargs)
        if "name" not in vars(cls):
            return
        if lacking := [*([] if hasattr(cls, "caption") else ["caption"]), *sorted(cls.__abstractmethods__)]:
            raise WordorderError(
                f"The analysis '{cls.name}' (class {cls.__qualname__} of {cls.__module__}) does not define "
                f"{listed(lacking)}.",
                code="incomplete-analysis",
                key=cls.name,
                found=lacking,
            )
        REGISTRY.add(cls.name, cls)

    @abstractmethod
    def inputs(self, dataset: StudiedDataset) -> list[Input]:
        """List the inputs of ``frame`` for one dataset of a study."""

    def check(self, view: StudyView) -> None:
        """Raise an error, made by :meth:`StudyView.error`, if the study cannot have this analysis.

        Args:
            view: The study.

        Raises:
            WordorderError: The study cannot have this analysis.
        """

    @abstractmethod
    def frame(self, asked: Analysed, results: Path, data: Path) -> DataFrame:
        """Compute the data that are drawn and written as CSV.

        Args:
            asked: The study's datasets, encodings, sizes and seeds, in their display order.
            results: The folder of the study's results.
            data: The folder of all datasets.

        Returns:
            The data, one row per observation.
        """

    @abstractmethod
    def draw(self, frame: DataFrame, asked: Analysed) -> Figure:
        """Draw the data, in the style that the caller has set (:func:`wordorder.drawing.style.styled`).

        Args:
            frame: The data.
            asked: The study's datasets, encodings, sizes and seeds, in their display order.

        Returns:
            The figure.
        """


class ScoresAnalysis(Analysis):
    """An analysis that reads only the scores and run records of models."""

    @override
    def inputs(self, dataset: StudiedDataset) -> list[Input]:
        return [Input("scores"), Input("records")]


class MeasuringAnalysis(Analysis):
    """An analysis that measures models: a :class:`ModelAnalysis` or a :class:`JointAnalysis`."""

    not_measured: ClassVar[frozenset[str]] = frozenset()
    """The settings that do not affect measuring."""

    def measured_settings(self) -> Self:
        """Return the analysis with the defaults of all settings that do not affect measuring."""
        used = set(type(self).model_fields) - self.not_measured
        return type(self)(**{name: getattr(self, name) for name in used})

    @override
    def inputs(self, dataset: StudiedDataset) -> list[Input]:
        return [Input("measures")]


class ModelAnalysis(MeasuringAnalysis):
    """An analysis that measures each model on sets of sentences.

    A set is a test set, 'valid', or ``gold.NAME``: a set of gold_alignments.yaml as a split of the dataset.
    """

    def measured_sets(self, dataset: StudiedDataset) -> list[str]:
        """List the sets of a dataset on which the models are measured."""
        return dataset.tests

    def set_inputs(self, name: str) -> list[Input]:
        """List the files and corpora that measuring on one set reads, besides its binary corpus."""
        return []

    @abstractmethod
    def measure(self, model: Translator, sentences: MeasuredSet) -> dict[str, Any]:
        """Measure a model on one set.

        Args:
            model: The model.
            sentences: The set.

        Returns:
            The measurements, to be written as JSON. ``status`` is "measured" or the reason why there are no numbers.
        """


class JointAnalysis(MeasuringAnalysis):
    """An analysis that measures all models of a dataset and size in one process: those of the first seed."""

    @abstractmethod
    def measure(self, models: Mapping[str, Translator]) -> dict[str, Any]:
        """Measure models.

        Args:
            models: The models by encoding.

        Returns:
            The measurements, to be written as JSON.
        """


@dataclass(frozen=True)
class MeasuredSet:
    """A set of sentences on which a model is measured. Files are read at their first use.

    Attributes:
        name: A test set, 'valid' or gold.NAME.
        data: The folder of the dataset.
        preparation: The preprocessing of the dataset, and its languages.
        detokenise: Whether translations must be detokenised.
        positions: The folder of the reordered source positions, for encodings that need them.
    """

    name: str
    data: Path
    preparation: Preparation
    detokenise: bool = True
    positions: Path | None = None

    @cached_property
    def corpus(self) -> ParallelCorpus:
        """The binary corpus."""
        from wordorder.data.binary import ParallelCorpus

        return ParallelCorpus.open(self.data / "binary" / self.name, positions=self.positions)

    @cached_property
    def references(self) -> list[str]:
        """The raw target, one line per sentence."""
        return self.lines("target")

    @cached_property
    def subword(self) -> Subword:
        """The subword model of the dataset."""
        from wordorder.data.subword import Subword

        return Subword.load(self.data / "subword" / "model.model")

    def lines(self, what: str) -> list[str]:
        """Read the raw text of the set: 'source', 'target', or the words of a gold set, or its 'alignments'."""
        from wordorder.data.text import read_lines

        return list(read_lines(self.data / raw_file(self.name, what)))


def raw_file(name: str, what: str) -> str:
    """Return the path of the raw text of a set in the folder of its dataset: 'raw/test.target', 'gold/NAME.target'."""
    gold = gold_name(name)
    return f"raw/{name}.{what}" if gold is None else f"gold/{gold}.{what}"
