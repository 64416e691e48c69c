"""The object that provides targets, inputs, parameters and resources to all rules; the workflow creates it once."""

from __future__ import annotations

import inspect
import os
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from wordorder.config import load
from wordorder.config.datasets import Dataset, Download
from wordorder.data.download import missing
from wordorder.errors import WordorderError
from wordorder.integrity import demand_below, remove_orphans
from wordorder.workflow.configuration import Configuration, one_of
from wordorder.workflow.data import DataRules
from wordorder.workflow.exits import exit_on_error
from wordorder.workflow.models import ModelRules
from wordorder.workflow.resources import Resources, TrainingTable
from wordorder.workflow.store import SliceStore
from wordorder.workflow.studies import StudyRules
from wordorder.workflow.targets import Targets


class Plan:
    """Targets, inputs, parameters and resources of the rules.

    Its parts are ``data``, ``models``, ``studies``, ``targets`` and ``resources``. A mistake in the configuration ends
    the process with only its message, because Snakemake would add a traceback.

    Args:
        config: The configuration folder.
        training_table: The table of resources that training runs request from a cluster.
        study: The study of the milestones.
        is_main: Whether this is the main process of Snakemake rather than the process of a job.
    """

    def __init__(self, config: Path, training_table: Path, study: str, *, is_main: bool) -> None:
        self.configuration = Configuration(config)
        self._store = SliceStore(is_main=is_main)
        table = TrainingTable(training_table)
        if is_main:  # Check early: Snakemake would bury a later message.
            exit_on_error(_check_folder)(config)
            exit_on_error(table.check)()
        data, models = DataRules(self.configuration), ModelRules(self.configuration, self._store)
        studies = StudyRules(self.configuration, models)
        self._studies = studies
        self.data: Any = _Reported(data)
        self.models: Any = _Reported(models)
        self.studies: Any = _Reported(studies)
        self.targets: Any = _Reported(Targets(self.configuration, studies, study, table))
        self.resources: Any = _Reported(Resources(table))

    def constraints(self) -> dict[str, str]:
        """Return the patterns of the wildcards whose values are names in the configuration."""
        configuration, root = self.configuration, self.configuration.root
        datasets = load.dataset_names(root)
        folders = {dataset.folder for dataset in configuration.valid_datasets}

        def patterns() -> dict[str, str]:
            return {
                "aligner": one_of(configuration.aligners),
                "reorderer": one_of(configuration.reorderers),
                "gold": one_of(configuration.gold_sets),
                "study": one_of(configuration.study_names),
                "dataset": one_of(datasets),
                "folder": one_of({*folders, *datasets}),
            }

        found: dict[str, str] = exit_on_error(patterns)()
        return found

    def datasets(self, kind: str) -> str:
        """Return a pattern that matches the datasets of one kind.

        Args:
            kind: 'imported', 'tokenised' or 'generated'.
        """
        kinds: dict[str, Callable[[Dataset], object]] = {
            "imported": lambda dataset: not dataset.generator and not dataset.tokenised,
            "tokenised": lambda dataset: dataset.tokenised,
            "generated": lambda dataset: dataset.generator,
        }
        return one_of(dataset.name for dataset in self.configuration.valid_datasets if kinds[kind](dataset))

    def start(self, jobs: Iterable[Any]) -> None:
        """Prepare a run: check that manual downloads exist, and write the slices and the indexes of studies.

        Files that users must download manually end the process with a message that names them.

        Args:
            jobs: The jobs that will run.
        """
        exit_on_error(self._start)(jobs)

    def _start(self, jobs: Iterable[Any]) -> None:
        mirror = os.environ.get("WORDORDER_MIRROR")
        requests = [
            missing(load.slice_argument(job.params.slice, Download), job.output[0], mirror=mirror)
            for job in jobs
            if job.rule.name in ("download_file", "download_gold")
        ]
        if any(requests):
            raise WordorderError("\n".join(sorted(filter(None, requests))), code="files-by-hand")
        for folder in self._studies.old_results():
            print(
                f"wordorder: warning: {folder}/cells contains models of an older version, in which studies did not "
                "share models. They are not used: the models of this study are trained again in results/models. Remove "
                "the folder if you do not need it.",
                file=sys.stderr,
            )
        for name in ("data", "models", "scores", "slices"):
            demand_below(Path("results", name))
        self._store.write()
        self._studies.write_indexes()

    def end(self) -> None:
        """Remove the checksums of temporary files that Snakemake has removed."""
        remove_orphans(Path("results/data"))


def _check_folder(config: Path) -> None:
    """Check that a folder is a configuration folder.

    Raises:
        WordorderError: It does not exist or has no studies.
    """
    studies = Path(config, "studies")
    if not studies.is_dir():
        raise WordorderError(
            f"The configuration folder {config} does not have a folder 'studies': {studies.absolute()} does not exist. "
            "Set 'config_dir' (--config config_dir=FOLDER, or the file config.yaml of a project) to a folder with "
            "'studies'; a relative path starts at the working directory of Snakemake.",
            code="missing-file",
            path=config,
        )


class _Reported:
    """Wrapper of an object; a WordorderError in its methods ends the process with only the error message."""

    def __init__(self, wrapped: Any) -> None:
        self._wrapped = wrapped

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._wrapped, name)
        return exit_on_error(found) if inspect.ismethod(found) else found
