"""What a reference run of a study holds."""

from __future__ import annotations

import json
from pathlib import Path

from wordorder.config.models import Family, Report
from wordorder.report.reference import write_reference
from wordorder.results.bundle import Bundled
from wordorder.workflow.configuration import Configuration
from wordorder.workflow.study import table_names
from wordorder.workflow.study_slices import published_tables, report_slice, significance_slice


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
    families = {
        dataset.name: Family.model_validate(json.loads(significance_slice(study, dataset)))
        for dataset in configuration.datasets_of(study)
    }
    bundled = Bundled(
        report=Report.model_validate(json.loads(report_slice(study, configuration))),
        published=published_tables(study, configuration),
        families=families,
        tables=[*table_names(study), "credibility"],
    )
    pictures = [f"figures/{name}" for name in study.figures] + [f"analyses/{name}" for name in study.analyses.names]
    write_reference(output, results / study.name, bundled, pictures)
