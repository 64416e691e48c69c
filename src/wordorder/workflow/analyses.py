"""The inputs and measures of a study's analyses, and checks of their requirements."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from wordorder.analyses.base import REGISTRY, Analysis, MeasuringAnalysis, ModelAnalysis, StudiedDataset, StudyView
from wordorder.config.alignments import gold_name
from wordorder.config.analyses import Analyses
from wordorder.config.canonical import minimal
from wordorder.config.datasets import Dataset
from wordorder.config.document import read_yaml
from wordorder.config.models import Measured, Study
from wordorder.errors import WordorderError
from wordorder.registry import code_of
from wordorder.workflow.configuration import Configuration
from wordorder.workflow.dataset_slices import preparation
from wordorder.workflow.slices import canonical
from wordorder.workflow.study import test_names


def studied_dataset(study: Study, dataset: Dataset, configuration: Configuration) -> StudiedDataset:
    """Return a dataset with the test sets and gold alignments that a study can use."""
    languages = dataset.source_language, dataset.target_language
    fitting = [name for name, gold in configuration.gold_sets.items() if gold.direction(*languages)]
    return StudiedDataset(dataset, test_names(study, dataset), fitting)


def study_view(study: Study, configuration: Configuration) -> StudyView:
    """Return the view of a study that its analyses check."""
    studied = [studied_dataset(study, dataset, configuration) for dataset in configuration.datasets_of(study)]
    return StudyView(study, studied, configuration.aligners, list(configuration.gold_sets))


def check_analyses(study: Study, configuration: Configuration) -> None:
    """Check that the datasets of a study provide what its analyses need.

    Raises:
        WordorderError: An analysis is impossible; the error has the key in the study file.
    """
    view = study_view(study, configuration)
    for _, analysis in study.analyses.items():
        try:
            analysis.check(view)
        except WordorderError as error:
            path = Path(configuration.root, "studies", f"{study.name}.yaml")
            if path.is_file() and error.key and error.path is None:
                error.path, error.line = path, read_yaml(path).line(tuple(error.key.split(".")))
            raise


def analysis_of(study: Study, name: str) -> Analysis:
    """Return an analysis with the settings of a study, or with its defaults if the study does not name it."""
    if name in study.analyses:
        chosen: Analysis = study.analyses[name]
        return chosen
    return REGISTRY.get(name)()


def measuring_names(study: Study) -> list[str]:
    """Return the analyses of a study that measure each model."""
    return [name for name in study.analyses.names if isinstance(study.analyses[name], ModelAnalysis)]


def measured_sets(study: Study, dataset: Dataset, name: str, configuration: Configuration) -> list[str]:
    """Return the sets of a dataset on which an analysis measures each model; none if it does not measure models."""
    analysis = analysis_of(study, name)
    if not isinstance(analysis, ModelAnalysis):
        return []
    return analysis.measured_sets(studied_dataset(study, dataset, configuration))


def gold_splits(study: Study, dataset: Dataset, configuration: Configuration) -> list[str]:
    """Return the sets of gold alignments, as splits of a dataset, on which a study's analyses measure models."""
    sets = (split for name in study.analyses.names for split in measured_sets(study, dataset, name, configuration))
    return list(dict.fromkeys(split for split in sets if gold_name(split)))


def measured_content(study: Study, dataset: Dataset, name: str, configuration: Configuration) -> dict[str, Any]:
    """Return everything that determines an analysis's measures on a model: its settings and the sets of sentences.

    Args:
        study: The study.
        dataset: The dataset of the model.
        name: The name of the analysis.
        configuration: The configuration folder.

    Raises:
        WordorderError: The analysis does not measure models.
    """
    analysis = _measuring(analysis_of(study, name), name)
    sets = measured_sets(study, dataset, name, configuration)
    content = {"analysis": name, "settings": minimal(analysis.measured_settings()), "sets": sets}
    code = code_of("analyses", [name])
    return content | ({"code": code} if code else {})


def measured_analysis(content: Mapping[str, Any]) -> MeasuringAnalysis:
    """Return the analysis that belongs to the result of :func:`measured_content`."""
    name = content["analysis"]
    return _measuring(Analyses({name: content["settings"]})[name], name)


def measure_slice(dataset: Dataset, analysis: MeasuringAnalysis) -> str:
    """Return the slice ``Measured`` of an analysis that measures the models of a dataset."""
    return canonical(
        Measured(
            settings=Analyses({analysis.name: analysis.measured_settings()}),
            preparation=preparation(dataset),
            detokenise=dataset.detokenise,
            code=code_of("analyses", [analysis.name]),
        )
    )


def _measuring(analysis: Analysis, name: str) -> MeasuringAnalysis:
    if not isinstance(analysis, MeasuringAnalysis):
        raise WordorderError(
            f"The analysis '{name}' does not measure models, so it has no measures.", code="no-measure", key=name
        )
    return analysis
