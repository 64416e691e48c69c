"""Inputs and parameters of the rules about one study: comparisons, tables, figures, analyses and the page."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import lru_cache
from itertools import product
from pathlib import Path
from typing import Any

from wordorder.analyses.base import Input, JointAnalysis
from wordorder.config.claims import PAPER_TABLES
from wordorder.config.models import Study, SystemsScoring, metric_name
from wordorder.config.pages import CONTROLS
from wordorder.config.published_scores import PUBLISHED_TABLES
from wordorder.figures.catalogue import figure_of
from wordorder.integrity import demand_below
from wordorder.metrics.base import SystemsMetric, build
from wordorder.metrics.scores import system_metrics
from wordorder.results.index import is_old, text_of, write_index
from wordorder.workflow import study_slices as slices
from wordorder.workflow.analyses import analysis_of, measure_slice, measuring_names, studied_dataset
from wordorder.workflow.configuration import Configuration
from wordorder.workflow.data import DATA, corpus_file
from wordorder.workflow.models import ModelRules
from wordorder.workflow.positions import drawn_reorderings
from wordorder.workflow.slices import canonical
from wordorder.workflow.study import CellName, cells, decoded_tests, table_names, test_names

RESULTS = "results/{study}"
SYSTEMS = f"{RESULTS}/scores/{{metric}}/{{dataset}}.{{size}}.{{test}}.json"
JOINT = f"{RESULTS}/measures/{{analysis}}/{{dataset}}.{{size}}.json"
SIGNIFICANCE = f"{RESULTS}/significance/{{dataset}}.{{size}}.{{test}}.json"
TABLE_FORMATS = ("csv", "md", "tex", "html")
FIGURE_FORMATS = ("svg", "pdf", "png", "csv")


class StudyRules:
    """Inputs and parameters of the rules about studies; the methods take the wildcards of the rule.

    Args:
        configuration: The configuration folder.
        models: The inputs and parameters of the rules about models.
    """

    def __init__(self, configuration: Configuration, models: ModelRules) -> None:
        self.configuration = configuration
        self.models = models
        self._slice = lru_cache(maxsize=None)(self._made)  # Several tables and all their formats have one slice.
        self._asked: set[str] = set()  # The studies whose models this run needs.

    def study(self, wildcards: Any) -> Study:
        """Return the study of a job."""
        return self.configuration.study(wildcards.study)

    # --------------------------------------------------------------------------------------------- files of cells

    def cell_files(self, study: Study, file: str) -> list[str]:
        """Return a file, such as 'record.json', in the folder of each model of a study."""
        self._asked.add(study.name)
        return _once(f"{self.models.folder(study, cell)}/{file}" for cell in cells(study))

    def evaluations(self, study: Study, chosen: Iterable[CellName] | None = None) -> list[str]:
        """Return the evaluations of models with each decoding.

        Args:
            study: The study.
            chosen: The models; by default all models of the study.
        """
        self._asked.add(study.name)
        wanted = cells(study) if chosen is None else chosen
        return _once(self.models.evaluation_file(study, cell, name) for cell in wanted for name in study.decodings)

    def write_indexes(self) -> None:
        """Write the index of each study of this run; call this method when a workflow starts."""
        for name in sorted(self._asked):
            demand_below(Path("results", name))
            study = self.configuration.study(name)
            folders = {
                (cell.dataset, cell.size, cell.encoding, cell.seed): "../"
                + self.models.folder(study, cell).removeprefix("results/")
                for cell in cells(study)
            }
            decodings = {name: self.models.decoding_folder(study, name) for name in study.decodings}
            measures = {
                f"{dataset}/{analysis}": self.models.measure_file(study, dataset, analysis)
                for dataset, analysis in product(study.datasets, measuring_names(study))
            }
            evaluations = {dataset: self.models.evaluation_label(study, dataset) for dataset in study.datasets}
            write_index(Path("results", name), folders, decodings, evaluations, measures)

    def old_results(self) -> list[Path]:
        """Return the folders of this run's studies that have models of older versions, which did not share models."""
        folders = [Path("results", name) for name in sorted(self._asked)]
        return [folder for folder in folders if is_old(folder)]

    def files_of_test_sets(self, study: Study, pattern: str) -> list[str]:
        """Return one file per dataset, size, test set and decoding.

        Args:
            study: The study.
            pattern: The path, with the fields ``study``, ``dataset``, ``size`` and ``test``.
        """
        return [
            pattern.format(study=study.name, dataset=dataset.name, size=size, test=test)
            for dataset in self.configuration.datasets_of(study)
            for size in study.sizes
            for test in decoded_tests(study, dataset)
        ]

    def texts(self, study: Study, *files: str) -> list[str]:
        """Return data files for each test set.

        Args:
            study: The study.
            files: The paths in the folder of a dataset, with the field ``test``.
        """
        return [
            f"results/data/{dataset.name}/{file.format(test=test)}"
            for dataset in self.configuration.datasets_of(study)
            for test in test_names(study, dataset)
            for file in files
        ]

    def raw_references(self, wildcards: Any) -> str:
        """Return the raw references of a test set, whose name may include its decoding."""
        return f"results/data/{wildcards.dataset}/raw/{text_of(wildcards.test)}.target"

    def raw_source(self, wildcards: Any) -> str:
        """Return the raw source of a test set, whose name may include its decoding."""
        return f"results/data/{wildcards.dataset}/raw/{text_of(wildcards.test)}.source"

    def _cells_of(self, wildcards: Any, encodings: Iterable[str] | None = None) -> list[CellName]:
        """Return the cells of one dataset and size, of all or of some encodings."""
        return [
            cell
            for cell in cells(self.study(wildcards))
            if (cell.dataset, cell.size) == (wildcards.dataset, wildcards.size)
            and (encodings is None or cell.encoding in encodings)
        ]

    # ------------------------------------------------------------------------ metrics with an environment of their own

    def _systems_scoring(self, wildcards: Any) -> SystemsScoring:
        dataset = self.configuration.dataset(wildcards.dataset)
        return slices.systems_scoring(self.study(wildcards), dataset, wildcards.metric)

    def _systems_metric(self, wildcards: Any) -> SystemsMetric:
        scoring = self._systems_scoring(wildcards)
        found = build(scoring.metric, scoring.target_language)
        assert isinstance(found, SystemsMetric)
        return found

    def systems_evaluations(self, wildcards: Any) -> list[str]:
        """Return the evaluations whose translations are scored in one process."""
        return self.evaluations(self.study(wildcards), self._cells_of(wildcards))

    def systems_hypotheses(self, wildcards: Any) -> list[str]:
        """Return the translations that are scored in one process."""
        return _once(self._hypotheses(wildcards, cell) for cell in self._cells_of(wildcards))

    def _hypotheses(self, wildcards: Any, cell: CellName) -> str:
        study = self.study(wildcards)
        test, _, name = wildcards.test.partition("@")
        decoding = self.models.decoding_folder(study, name)
        return f"{self.models.folder(study, cell)}/{decoding}/{test}.hypotheses"

    def systems_slice(self, wildcards: Any) -> str:
        """Return the slice of the scores of a metric with its own environment."""
        return canonical(self._systems_scoring(wildcards))

    def metric_files(self, wildcards: Any) -> list[str]:
        """Return the local files on which the scores depend, so that a change of the files renews the scores."""
        return [str(file) for file in self._systems_metric(wildcards).files()]

    def metric_environment(self, wildcards: Any) -> bool:
        """Return whether this machine has the environment of the metric."""
        return self._systems_metric(wildcards).is_available()

    def systems_scores(self, study: Study) -> list[str]:
        """Return the scores of a study by metrics with their own environments."""
        names = [metric_name(entry) for entry in system_metrics(study.metrics)]
        return [file for name in names for file in self.files_of_test_sets(study, SYSTEMS.replace("{metric}", name))]

    # ------------------------------------------------------------------------------------------------- comparisons

    def _compared(self, wildcards: Any) -> list[CellName]:
        """Return the cells of the compared encodings, all seeds of an encoding together."""
        study = self.study(wildcards)
        family = slices.family_of(study, self.configuration.dataset(wildcards.dataset))
        return self._cells_of(wildcards, family.among(study.encodings_of(wildcards.size)).encodings)

    def compared_evaluations(self, wildcards: Any) -> list[str]:
        """Return the evaluations of all seeds of the compared encodings."""
        return self.evaluations(self.study(wildcards), self._compared(wildcards))

    def compared_hypotheses(self, wildcards: Any) -> list[str]:
        """Return the translations to compare, in the order of the slice's encodings and seeds."""
        return [self._hypotheses(wildcards, cell) for cell in self._compared(wildcards)]

    def compared_systems(self, wildcards: Any) -> list[str]:
        """Return the scores of a test set by metrics with their own environments."""
        names = [metric_name(entry) for entry in system_metrics(self.study(wildcards).metrics)]
        return [SYSTEMS.format(**wildcards, metric=name) for name in names]

    def systems_options(self, wildcards: Any, input: Any) -> list[str]:
        """Return the options that name the scores of metrics with their own environments."""
        return [word for file in input.systems for word in ("--systems", str(file))]

    def significance_slice(self, wildcards: Any) -> str:
        """Return the slice of the comparisons of a test set."""
        dataset = self.configuration.dataset(wildcards.dataset)
        return slices.significance_slice(self.study(wildcards), dataset, wildcards.size)

    def significance_files(self, study: Study) -> list[str]:
        """Return the files of the comparisons on all test sets."""
        return self.files_of_test_sets(study, SIGNIFICANCE)

    # ------------------------------------------------------------------------------------------------------ tables

    def table_inputs(self, wildcards: Any) -> list[str]:
        """Return the inputs of a table."""
        study, table = self.study(wildcards), wildcards.table
        if table in PAPER_TABLES:
            return [] if table == "contradictions" else self.paper_inputs(study)
        # The run records are not inputs, because the evaluations already depend on them.
        tested = ("scores", "retention", CONTROLS, "orderings")
        if table in (*tested, *PUBLISHED_TABLES):
            more = self._published_inputs(study) if table == "published" else []
            more += self.significance_files(study) if table in tested else []
            return self.evaluations(study) + self.systems_scores(study) + more
        if table in ("significance", "variance"):
            return self.significance_files(study)
        if table == "credibility":
            return self.evaluations(study) + self.significance_files(study)
        return self.cell_files(study, "record.json")

    def _published_inputs(self, study: Study) -> list[str]:
        """Return the inputs of the table 'published' besides scores: word alignments and significance tests."""
        printed = [shown.printed for shown in slices.published_tables(study, self.configuration)]
        alignments = self.measures(study, "alignment") if any(table.has_alignments for table in printed) else []
        return alignments + (self.significance_files(study) if any(table.marks_mean for table in printed) else [])

    def paper_inputs(self, study: Study) -> list[str]:
        """Return the inputs that decide the claims of a study's paper, including those of companions."""
        if study.paper is None:
            return []
        found = []
        for own in [study, *map(self.configuration.study, study.companions)]:
            found += self.evaluations(own) + self.systems_scores(own) + self._published_inputs(own)
            found += [*self.significance_files(own), *(file for file in self.analyses(own) if file.endswith(".csv"))]
        return _once(found)

    def table_slice(self, wildcards: Any) -> str:
        """Return the slice of a table."""
        make = slices.report_slice
        if wildcards.table in PAPER_TABLES:
            make = slices.paper_slice
        elif wildcards.table == CONTROLS:
            make = slices.controls_slice
        elif wildcards.table in PUBLISHED_TABLES:
            make = slices.published_scores_slice
        return self._slice(make, wildcards.study)

    def _made(self, make: Callable[[Study, Configuration], str], study: str) -> str:
        return make(self.configuration.study(study), self.configuration)

    def tables(self, study: Study) -> list[str]:
        """Return the tables of a study and the credibility list, which every finished study has."""
        controls = bool(slices.controls_of(study, self.configuration))
        names = [*table_names(study, controls=controls), "credibility"]
        return [f"results/{study.name}/tables/{name}.{format}" for name in names for format in TABLE_FORMATS]

    # ----------------------------------------------------------------------------------------------------- figures

    def figure_inputs(self, wildcards: Any) -> list[str]:
        """Return the inputs of a figure."""
        study, figure = self.study(wildcards), wildcards.figure
        reads = figure_of(figure).reads
        if reads == "nothing" or figure in study.vectors_at:
            return []
        if reads == "scores":
            return self.evaluations(study) + self.systems_scores(study)
        if reads == "significance":
            return self.significance_files(study)
        if reads == "metrics":
            return self.cell_files(study, "metrics.jsonl")
        # Figures of models show one model of each encoding.
        first = study.model_copy(
            update={"datasets": study.datasets[:1], "sizes": study.sizes[:1], "seeds": study.seed_numbers[:1]}
        )
        return self.cell_files(first, "model.pt")

    def figure_slice(self, wildcards: Any) -> str:
        """Return the slice of a figure."""
        return slices.figure_slice(self.study(wildcards), self.configuration, wildcards.figure)

    def figures(self, study: Study) -> list[str]:
        """Return the figures of a study."""
        return [f"results/{study.name}/figures/{name}.{format}" for name in study.figures for format in FIGURE_FORMATS]

    # ---------------------------------------------------------------------------------------------------- analyses

    def analysis_inputs(self, wildcards: Any) -> list[str]:
        """Return the inputs of an analysis."""
        study, name = self.study(wildcards), wildcards.analysis
        analysis, files = study.analyses[name], []
        for dataset in self.configuration.datasets_of(study):
            for each in analysis.inputs(studied_dataset(study, dataset, self.configuration)):
                files += self._input_files(study, dataset.name, name, each)
        return _once(files)

    def _input_files(self, study: Study, dataset: str, analysis: str, read: Input) -> list[str]:
        own = study.model_copy(update={"datasets": [dataset]})
        if read.kind in ("translations", "scores"):
            return self.evaluations(own) + (self.systems_scores(own) if read.kind == "scores" else [])
        if read.kind == "records":
            return self.evaluations(own)  # The evaluations depend on the run records.
        if read.kind == "measures":
            return self.measures(own, analysis)
        path = corpus_file(read.path) if read.kind == "corpus" else f"{DATA}/{read.path}"
        return [path.format(dataset=dataset)]

    def measures(self, study: Study, analysis: str) -> list[str]:
        """Return the measures of an analysis: per model, or of all models of a dataset and size together."""
        if isinstance(analysis_of(study, analysis), JointAnalysis):
            pairs = product(study.datasets, study.sizes)
            return [JOINT.format(study=study.name, analysis=analysis, dataset=data, size=size) for data, size in pairs]
        return [
            file
            for dataset in study.datasets
            for file in self.cell_files(
                study.model_copy(update={"datasets": [dataset]}), self.models.measure_file(study, dataset, analysis)
            )
        ]

    def joint_slice(self, wildcards: Any) -> str:
        """Return the slice of the measures of all models of a dataset and size together."""
        analysis = analysis_of(self.study(wildcards), wildcards.analysis)
        assert isinstance(analysis, JointAnalysis)
        return measure_slice(self.configuration.dataset(wildcards.dataset), analysis)

    def _first_models(self, wildcards: Any) -> dict[str, str]:
        """Return the models of the first seed by encoding."""
        study = self.study(wildcards)
        self._asked.add(study.name)
        cells_of_first = (cell for cell in self._cells_of(wildcards) if cell.seed == study.seed_numbers[0])
        return {cell.encoding: f"{self.models.folder(study, cell)}/model.pt" for cell in cells_of_first}

    def first_models(self, wildcards: Any) -> list[str]:
        """Return the models that are measured together."""
        return _once(self._first_models(wildcards).values())

    def named_models(self, wildcards: Any) -> list[str]:
        """Return the models that are measured together, each with the name of its encoding."""
        return [f"{name}={path}" for name, path in self._first_models(wildcards).items()]

    def analysis_slice(self, wildcards: Any) -> str:
        """Return the slice of an analysis."""
        return slices.analysis_slice(self.study(wildcards), self.configuration, wildcards.analysis)

    def analyses(self, study: Study) -> list[str]:
        """Return the analyses of a study."""
        names = study.analyses.names
        return [f"results/{study.name}/analyses/{name}.{format}" for name in names for format in FIGURE_FORMATS]

    # -------------------------------------------------------------------------------------------------- reordering

    def reorderings(self, study: Study) -> list[str]:
        """Return the scores and figures of predicted orders of the test sets, for each reorderer of the study."""
        return [
            f"results/data/{drawn.dataset}/reordering/{drawn.reorderer}/{file}"
            for drawn in drawn_reorderings(study, self.configuration)
            for file in (
                f"predicted/{drawn.test}.json",
                *(f"figures/{drawn.test}.{figure}.{end}" for figure in ("matrix", "tau") for end in FIGURE_FORMATS),
            )
        ]

    # -------------------------------------------------------------------------------------------------------- page

    def page_inputs(self, wildcards: Any) -> list[str]:
        """Return the files that the page shows, including each figure as SVG, PNG and CSV."""
        study = self.study(wildcards)
        drawings = (file for file in self.reorderings(study) if "/figures/" in file)
        drawn = [*self.figures(study), *self.analyses(study), *drawings]
        return [
            *self.evaluations(study),
            *self.texts(study, "raw/{test}.source", "raw/{test}.target"),
            *self.systems_scores(study),
            *self.significance_files(study),
            *self.paper_inputs(study),
            *(file for file in drawn if not file.endswith(".pdf")),
        ]

    def page_slice(self, wildcards: Any) -> str:
        """Return the slice of the page."""
        return slices.page_slice(self.study(wildcards), self.configuration)


def _once(files: Iterable[str]) -> list[str]:
    """Return each file once, because several names in a study may refer to the same model."""
    return list(dict.fromkeys(files))
