"""What a reference run of a study holds."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

from wordorder.config.models import Family, Report, Study
from wordorder.report.reference import rebuild_reference, write_reference
from wordorder.results.bundle import Bundled, read_study
from wordorder.workflow.configuration import Configuration
from wordorder.workflow.slices import canonical
from wordorder.workflow.study import own_table_names
from wordorder.workflow.study_slices import family_of, find_controls, published_tables, report_slice

# Heat maps of every vector are the largest pictures and tell nothing of a run that 'wordorder inspect' does not draw.
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
    write_reference(output, results / study.name, _described(study, configuration), pictures)


def rebuild(folder: Path, configuration: Configuration, data: Path) -> None:
    """Make the tests and tables of a bundle again from its translations, as the configuration now asks for them.

    Args:
        folder: The folder of the bundle, which has the name of its study.
        configuration: The configuration folder.
        data: The folder of the datasets.

    Raises:
        WordorderError: The bundle is damaged, or lacks cells of the study or references.
    """
    old = read_study(folder)
    # A study may have gained encodings since its run.
    run = {key: getattr(old.report, key) for key in ("encodings", "sizes", "only")}
    study = configuration.study(folder.name).model_copy(update=run)
    described = _described(study, configuration).model_copy(update={"references": old.references})
    with tempfile.TemporaryDirectory() as scratch:
        rebuild_reference(folder, data, Path(scratch), described)


def _described(study: Study, configuration: Configuration) -> Bundled:
    """What the bundle of a study says about it."""
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
