"""The files of the workflow's targets."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

from wordorder.config.models import Study
from wordorder.workflow.analyses import check_analyses, gold_splits
from wordorder.workflow.checks import check_languages
from wordorder.workflow.configuration import Configuration
from wordorder.workflow.data import binary_files, positions_files
from wordorder.workflow.exits import exit_on_error
from wordorder.workflow.positions import positions_name
from wordorder.workflow.resources import TrainingTable
from wordorder.workflow.studies import StudyRules
from wordorder.workflow.study import test_names


class Targets:
    """The files of each target, as input functions of the target rules.

    Args:
        configuration: The configuration folder.
        studies: The inputs and parameters of the rules about studies.
        study: The name of the study of the milestones.
        table: The table of the resources of training runs.
    """

    def __init__(self, configuration: Configuration, studies: StudyRules, study: str, table: TrainingTable) -> None:
        self.configuration = configuration
        self.studies = studies
        self.name = study
        self.table = table

    def _checked(self, name: str) -> Study:
        """Load a study and check that its models can be built, and that this environment supports its languages."""
        study = self.configuration.study(name)
        self.configuration.catalogue.check_models(study)
        check_languages(study, self.configuration)
        return study

    def _trainable(self, name: str) -> Study:
        """Load and check a study, and check that the table has the resources of its training runs.

        Check early: Snakemake reads the resources of a training run only after the data have been prepared.
        """
        study = self._checked(name)
        for dataset, size in product(study.datasets, study.sizes):
            # As in the wildcards of the training run: of equal sizes, the first.
            self.table.row(dataset, self.configuration.catalogue.size(size).folder)
        return study

    def prepared(self, wildcards: Any) -> list[str]:
        """Return all prepared data of the study's datasets."""
        study = self._checked(self.name)
        files = self._cleaning_reports(study)
        for dataset in self.configuration.datasets_of(study):
            gold = gold_splits(study, dataset, self.configuration)
            for split in ("train", "valid", *test_names(study, dataset), *gold):
                patterns = [*binary_files(split), *self._positions(study, dataset.name, split)]
                files += [pattern.format(dataset=dataset.name) for pattern in patterns]
        return files

    def _positions(self, study: Study, dataset: str, split: str) -> list[str]:
        catalogue, data = self.configuration.catalogue, self.configuration.dataset(dataset)
        needing = (name for name in study.encodings if catalogue.encoding(name).needs_reordered)
        names = sorted({positions_name(study, data, name, split) for name in needing})
        return [file for name in names for file in positions_files(name, split)]

    def trained(self, wildcards: Any) -> list[str]:
        """Return the models of the study."""
        return self.studies.cell_files(self._trainable(self.name), "model.pt")

    def evaluated(self, wildcards: Any) -> list[str]:
        """Return the evaluations of the study and the scores of metrics with their own environments."""
        study = self._trainable(self.name)
        return self.studies.evaluations(study) + self.studies.systems_scores(study)

    def tables(self, wildcards: Any) -> list[str]:
        """Return the tables of the study."""
        return self.studies.tables(self._trainable(self.name))

    def figures(self, wildcards: Any) -> list[str]:
        """Return the figures of the study."""
        return self.studies.figures(self._trainable(self.name))

    def analyses(self, wildcards: Any) -> list[str]:
        """Return the analyses of the study."""
        study = self._trainable(self.name)
        check_analyses(study, self.configuration)
        return self.studies.analyses(study)

    def whole(self, wildcards: Any) -> list[str]:
        """Return all files of the study and its companions."""
        return self.of_study(self.name)

    def study(self, name: str) -> Callable[[Any], list[str]]:
        """Return the input function of the target with a study's name."""
        return exit_on_error(lambda wildcards: self.of_study(name))

    def of_study(self, name: str) -> list[str]:
        """Return all files of a study and its companions, each once."""
        names = [name, *self.configuration.study(name).companions]
        return list(dict.fromkeys(file for own in names for file in self._of_one(self._trainable(own))))

    def _of_one(self, study: Study) -> list[str]:
        """Return all files of one study that are created again if they are deleted.

        Models are not included, so that a user can delete them to save space and keep all other results.
        """
        check_analyses(study, self.configuration)
        return [
            *self._cleaning_reports(study),
            *self.studies.evaluations(study),
            *self.studies.significance_files(study),
            *self.studies.tables(study),
            *self.studies.figures(study),
            *self.studies.analyses(study),
            *self.studies.reorderings(study),
            f"results/{study.name}/index.html",
        ]

    def _cleaning_reports(self, study: Study) -> list[str]:
        datasets = self.configuration.datasets_of(study)
        reports = [f"results/data/{dataset.name}/clean/train.report.json" for dataset in datasets]
        return reports + [f"results/data/{dataset.name}/pairs.json" for dataset in datasets if dataset.published_pairs]
