"""The texts of the commands ``status`` and ``efficiency`` for a study and its companions."""

from __future__ import annotations

import datetime
from pathlib import Path

from wordorder.config.load import load_study, load_with_companions
from wordorder.config.models import Study
from wordorder.files import read_object
from wordorder.status.cells import CellStatus, check_results, look
from wordorder.status.efficiency import efficiency_text
from wordorder.status.queue import training_jobs
from wordorder.status.records import status_json
from wordorder.status.table import status_text, totals
from wordorder.status.text import all_of, sections
from wordorder.workflow.configuration import Configuration
from wordorder.workflow.models import cell_files
from wordorder.workflow.study import decoded_tests


def status_of(study: str, results: Path, root: Path, *, everything: bool, log_lines: int) -> str:
    """Describe the state of the training runs of a study and its companions.

    Args:
        study: The name or file of the study.
        results: The folder of all results.
        root: The configuration folder.
        everything: List every run, even of a large study.
        log_lines: The number of lines to show of each log.
    """
    now, configuration = datetime.datetime.now(), Configuration(root)
    studies = load_with_companions(study, root)
    found = [_look(each, configuration, results, log_lines) for each in studies]
    texts = [
        status_text(each.name, cells, tests, now, everything=everything)
        for each, (cells, tests) in zip(studies, found, strict=True)
    ]
    if len(studies) == 1:
        return texts[0]
    return sections(studies, texts, totals(all_of(studies), [cell for cells, _ in found for cell in cells], now))


def status_as_json(study: str, results: Path, root: Path, *, log_lines: int) -> str:
    """Write the state of the training runs of a study and its companions as JSON.

    Args:
        study: The name or file of the study.
        results: The folder of all results.
        root: The configuration folder.
        log_lines: The number of lines to include of each log.
    """
    configuration = Configuration(root)
    studies = load_with_companions(study, root)
    return status_json([(each, *_look(each, configuration, results, log_lines)) for each in studies])


def _look(
    study: Study, configuration: Configuration, results: Path, log_lines: int
) -> tuple[list[CellStatus], dict[str, list[str]]]:
    """Return the state of the runs of a study, and the test sets of its datasets."""
    check_results(results)
    tests = {dataset.name: decoded_tests(study, dataset) for dataset in configuration.datasets_of(study)}
    files = cell_files(study, configuration, results)
    # Snakemake submits jobs from the folder where it was started. It contains the results, unless --directory is given.
    jobs = training_jobs(files, [results.resolve().parent, Path.cwd()])
    found = [look(cell, own, tests[cell.dataset], jobs.get(cell), log_lines=log_lines) for cell, own in files.items()]
    return found, tests


def efficiency_of(study: str, results: Path, root: Path) -> str:
    """Compare the resources that the finished runs of a study used with those that they requested.

    Args:
        study: The name or file of the study.
        results: The folder of all results.
        root: The configuration folder.
    """
    loaded = load_study(study, root)
    files = cell_files(loaded, Configuration(root), results)
    records = {cell: read_object(own.record, "status") for cell, own in files.items() if own.record.exists()}
    return efficiency_text(loaded.name, records)
