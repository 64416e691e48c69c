"""Reference runs: bundles of a finished study's results."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

from wordorder.config.load import load_encodings, load_sizes
from wordorder.config.models import Analysed, Family, Report, Study, metric_name
from wordorder.registry import registry_of
from wordorder.report.reference import rebuild_reference, write_reference
from wordorder.results.bundle import Bundled, read_study
from wordorder.workflow.analyses import studied_dataset
from wordorder.workflow.configuration import Configuration
from wordorder.workflow.slices import canonical
from wordorder.workflow.study import own_table_names
from wordorder.workflow.study_slices import analysis_slice, family_of, find_controls, published_tables, report_slice

# Heat maps of all vectors are the largest figures. They do not depend on a run, and 'wordorder inspect' draws them.
_NOT_BUNDLED = frozenset({"encoding_matrix"})


def write(name: str, configuration: Configuration, results: Path, output: Path) -> None:
    """Write a finished study as a bundle.

    Args:
        name: The name of the study.
        configuration: The configuration folder.
        results: The folder of all results.
        output: The folder of the bundle.

    Raises:
        WordorderError: The study is not finished.
    """
    study = configuration.study(name)
    figures = [name for name in study.figures if name not in _NOT_BUNDLED]
    pictures = [f"figures/{name}" for name in figures] + [f"analyses/{name}" for name in study.analyses.names]
    described, extensions = _described(study, configuration), _extensions(study, configuration)
    write_reference(output, results / study.name, described, pictures, extensions)


def _extensions(study: Study, configuration: Configuration) -> dict[str, Path]:
    """Return the files of a study's extensions outside of the package, by their path in a folder of plug-ins."""
    encodings, sizes = load_encodings(configuration.root, study.encodings), load_sizes(configuration.root, study.sizes)
    splits = [
        parts for data in configuration.datasets_of(study) for parts in [data.train, data.valid, *data.tests.values()]
    ]
    used = {
        "encodings": [each.type for name in study.encodings for each in encodings[name].with_contained],
        "architectures": [sizes[name].architecture for name in study.sizes],
        "metrics": map(metric_name, study.metrics),
        "analyses": study.analyses.names,
        "dataset_formats": [side.format for parts in splits for part in parts for side in part.sides],
    }
    files = {kind: map(registry_of(kind).file, names) for kind, names in used.items()}
    return {f"{kind}/{_module(file)}.py": file for kind, own in files.items() for file in own if file}


def _module(file: Path) -> str:
    return file.parent.name if file.stem == "__init__" else file.stem


def rebuild(folder: Path, configuration: Configuration, data: Path) -> None:
    """Recompute the tests and tables of a bundle from its translations, with the current configuration.

    Analyses that read nothing but scores are repeated, too.

    Args:
        folder: The folder of the bundle, which has the name of its study.
        configuration: The configuration folder.
        data: The folder of the datasets.

    Raises:
        WordorderError: The bundle is damaged, or runs of the study or reference translations are missing.
    """
    old = read_study(folder)
    # Encodings may have been added to the study since its run.
    run = {key: getattr(old.report, key) for key in ("encodings", "sizes", "only")}
    study = configuration.study(folder.resolve().name).model_copy(update=run)
    kept = {key: getattr(old, key) for key in ("references", "decodings", "measures")}
    described = _described(study, configuration).model_copy(update=kept)
    repeated = {name: analysis_slice(study, configuration, name) for name in _read_scores(study, configuration)}
    analyses = {name: Analysed.model_validate_json(text) for name, text in repeated.items()}
    with tempfile.TemporaryDirectory() as scratch:
        rebuild_reference(folder, data, Path(scratch), described, analyses)


def _read_scores(study: Study, configuration: Configuration) -> list[str]:
    """Return the analyses of a study that read nothing but scores and records."""
    datasets = [studied_dataset(study, dataset, configuration) for dataset in configuration.datasets_of(study)]
    return [
        name
        for name in study.analyses.names
        if {own.kind for dataset in datasets for own in study.analyses[name].inputs(dataset)} <= {"scores", "records"}
    ]


def _described(study: Study, configuration: Configuration) -> Bundled:
    """Describe a study for its bundle."""
    controls = find_controls(study, configuration)
    return Bundled(
        report=Report.model_validate(json.loads(report_slice(study, configuration))),
        published=published_tables(study, configuration),
        families={
            dataset.name: Family.model_validate(json.loads(canonical(family_of(study, dataset))))
            for dataset in configuration.datasets_of(study)
        },
        controls=controls,
        tables=[*own_table_names(study, controls=controls is not None), "credibility"],
    )
