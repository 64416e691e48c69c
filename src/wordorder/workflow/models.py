"""Inputs, outputs and parameters of the rules that train, evaluate and measure one model."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from pathlib import Path
from typing import Any

from wordorder.analyses.base import Input, ModelAnalysis
from wordorder.config.canonical import canonical_json, digest, minimal
from wordorder.config.models import Cell, Evaluation, Study, metric_name
from wordorder.errors import WordorderError
from wordorder.metrics.scores import text_metrics
from wordorder.registry import code_of
from wordorder.results.index import CellFiles, Index, read_index
from wordorder.workflow.addresses import (
    MODEL_FOLDER,
    ModelAddress,
    cell_content,
    decoding_label,
    evaluation_label,
)
from wordorder.workflow.analyses import measure_slice, measured_analysis, measured_content, measuring_names
from wordorder.workflow.configuration import Configuration
from wordorder.workflow.data import SUBWORD, Options, corpus_file, positions_file
from wordorder.workflow.positions import positions_name
from wordorder.workflow.store import SliceStore
from wordorder.workflow.study import CellName, cells, test_names

CELL = f"{MODEL_FOLDER}/{{seed}}"
DECODED = f"{CELL}/{{decoding}}"
EVALUATED = f"{DECODED}/{{evaluation}}.json"
_SLICES = "results/slices"


def cell_files(study: Study, configuration: Configuration, results: Path) -> dict[CellName, CellFiles]:
    """Return the files of each model of a study, whether or not they exist.

    Args:
        study: The study.
        configuration: The configuration folder.
        results: The folder of all results.

    Returns:
        The files by run.
    """
    rules = ModelRules(configuration, SliceStore(is_main=True))
    decodings = {name: decoding_label(own) for name, own in study.decodings.items()}
    return {
        cell: CellFiles(
            results / rules.folder(study, cell).removeprefix("results/"),
            decodings,
            evaluation_label(rules.evaluation_of(study, cell.dataset)),
            {},
        )
        for cell in cells(study)
    }


def current_index(study: Study, configuration: Configuration, results: Path) -> Index:
    """Read the index of a study, whose models must be those of its present configuration.

    Args:
        study: The study.
        configuration: The configuration folder.
        results: The folder of all results.

    Raises:
        WordorderError: There is no index, or the configuration changed after it was written.
    """
    index = read_index(results / study.name)
    shared = (results / "models").resolve()
    for cell, files in cell_files(study, configuration, results).items():
        held = index.cells.get((cell.dataset, cell.size, cell.encoding, cell.seed))
        # The models of an unpacked bundle are in the folder of the study.
        if held is None or not held.folder.resolve().is_relative_to(shared):
            continue
        if held.folder.resolve() != files.folder.resolve() or held.decodings != files.decodings:
            raise WordorderError(
                f"The configuration of the study '{study.name}' changed after its last run, so {results} does not hold "
                f"the models and translations that it describes. Run 'wordorder run {study.name}', or restore the "
                "configuration.",
                code="edited-study",
                path=results / study.name,
                found=files.folder,
                expected=held.folder,
            )
    return index


class ModelRules:
    """Inputs and parameters of the rules about models; the methods take the wildcards of the rule.

    Args:
        configuration: The configuration folder.
        store: The slices that are kept as files.
    """

    def __init__(self, configuration: Configuration, store: SliceStore) -> None:
        self.configuration = configuration
        self.store = store
        self._known: dict[ModelAddress, dict[str, Any]] = {}
        self._addresses: dict[tuple[str, CellName], ModelAddress] = {}
        # The labels of decodings, evaluations and measures, by study.
        self._labels: dict[tuple[str, ...], str] = {}

    # ------------------------------------------------------------------------------------------------- addresses

    def address(self, study: Study, cell: CellName) -> ModelAddress:
        """Return the address of the model of a cell."""
        if (study.name, cell) not in self._addresses:
            self._addresses[study.name, cell] = self._address(study, cell)
        return self._addresses[study.name, cell]

    def _address(self, study: Study, cell: CellName) -> ModelAddress:
        catalogue = self.configuration.catalogue
        encoding, size = catalogue.encoding(cell.encoding), catalogue.size(cell.size)
        content = cell_content(
            encoding.config,
            size.config,
            study.recipe_of(cell.dataset),
            self._positions(study, cell),
            encoding.revisions | size.revisions,
            encoding.code | size.code,
        )
        address = ModelAddress(cell.dataset, encoding.folder, size.folder, digest(content))
        self._known[address] = content
        return address

    def _positions(self, study: Study, cell: CellName) -> dict[str, str]:
        dataset = self.configuration.dataset(cell.dataset)
        described = self.configuration.catalogue.encoding(cell.encoding)
        if not described.needs_reordered:
            return {}
        return {split: positions_name(study, dataset, cell.encoding, split) for split in ("train", "test")}

    def folder(self, study: Study, cell: CellName) -> str:
        """Return the folder of a cell's model, with its seed."""
        return CELL.format(**self.address(study, cell)._asdict(), seed=cell.seed)

    def evaluation_of(self, study: Study, dataset: str) -> Evaluation:
        """Return the test sets and metrics with which a study evaluates the models of a dataset.

        They are sorted, so that studies that list them in another order share evaluations.
        """
        tests = test_names(study, self.configuration.dataset(dataset))
        metrics = sorted(text_metrics(study.metrics), key=str)
        return Evaluation(tests=sorted(tests), metrics=metrics, code=code_of("metrics", map(metric_name, metrics)))

    def decoding_folder(self, study: Study, name: str) -> str:
        """Return the folder of a study's decoding, relative to the folder of a cell, and register its slice."""
        key = (study.name, "decoding", name)
        if key not in self._labels:
            decoding = study.decodings[name]
            self._labels[key] = self._remember(decoding_label(decoding), minimal(decoding))
        return self._labels[key]

    def _remember(self, label: str, content: Any) -> str:
        """Register a slice under its label, which ends in its digest."""
        self.store.get(f"{_SLICES}/{label}.json", digest(content), lambda: content)
        return label

    def evaluation_label(self, study: Study, dataset: str) -> str:
        """Return the name of a study's evaluations of a dataset, and register their slice."""
        key = (study.name, "evaluation", dataset)
        if key not in self._labels:
            evaluation = self.evaluation_of(study, dataset)
            self._labels[key] = self._remember(evaluation_label(evaluation), minimal(evaluation))
        return self._labels[key]

    def evaluation_file(self, study: Study, cell: CellName, decoding: str) -> str:
        """Return the file of a cell's evaluation with one of the study's decodings, and register its slice."""
        label = self.evaluation_label(study, cell.dataset)
        folder = self.decoding_folder(study, decoding)
        return f"{self.folder(study, cell)}/{folder}/{label}.json"

    # --------------------------------------------------------------------------------------------------- training

    def _content(self, wildcards: Any) -> dict[str, Any]:
        """Return the content of ``cell.json`` of a job."""
        address = ModelAddress(wildcards.dataset, wildcards.encoding, wildcards.size, wildcards.digest)
        content: dict[str, Any] = self.store.get(
            f"{address.folder}/cell.json", address.digest, lambda: self._find(address)
        )
        return content

    def _find(self, address: ModelAddress) -> dict[str, Any]:
        """Find the content of an address in the requested studies, then in all others."""
        if address not in self._known:
            for name in self.configuration.study_names:
                try:
                    study = self.configuration.study(name)
                    for cell in cells(study):
                        self.address(study, cell)
                except WordorderError:
                    continue
        if address not in self._known:
            raise WordorderError(
                f"No study needs a model at {address.folder}. Request a study, or a model that 'wordorder models' "
                "lists.",
                code="unknown-model",
                path=address.folder,
            )
        return self._known[address]

    def cell_slice(self, wildcards: Any) -> str:
        """Return the slice of a training run."""
        content = self._content(wildcards)
        names = Cell.model_fields.keys() & content.keys()
        return canonical_json({name: content[name] for name in names} | {"seed": int(wildcards.seed)})

    def _positions_name(self, wildcards: Any, kind: str) -> str | None:
        """Return the name of the reordered positions of a job; None if its encoding needs none."""
        name: str | None = self._content(wildcards).get("positions", {}).get(kind)
        return name

    def _corpus_options(self, wildcards: Any, split: str, option: str, kind: str) -> Options:
        """Return the folder of a corpus and, if the encoding needs them, the option with its positions."""
        folder = f"results/data/{wildcards.dataset}"
        name = self._positions_name(wildcards, kind)
        return [f"{folder}/binary/{split}", *([option, f"{folder}/positions/{name}/{split}"] if name else [])]

    def train_options(self, wildcards: Any) -> Options:
        """Return the folder of the training corpus, and the option with its positions."""
        return self._corpus_options(wildcards, "train", "--train-positions", "train")

    def valid_options(self, wildcards: Any) -> Options:
        """Return the folder of the validation corpus, and the option with its positions."""
        return self._corpus_options(wildcards, "valid", "--valid-positions", "test")

    def train_positions(self, wildcards: Any) -> list[str]:
        """Return the files of the positions of the training set."""
        return self._position_files(wildcards, "train", "train")

    def valid_positions(self, wildcards: Any) -> list[str]:
        """Return the files of the positions of the validation set."""
        return self._position_files(wildcards, "valid", "test")

    def _position_files(self, wildcards: Any, split: str, kind: str) -> list[str]:
        name = self._positions_name(wildcards, kind)
        return [positions_file(name, split).format(dataset=wildcards.dataset)] if name else []

    # ------------------------------------------------------------------------------------------------- evaluation

    def _stored(self, label: str) -> Any:
        """Return a decoding or an evaluation by its label, which ends in its digest."""
        return self.store.get(f"{_SLICES}/{label}.json", label.rpartition("-")[2], lambda: self._find_slice(label))

    def _find_slice(self, label: str) -> Mapping[str, Any]:
        for name in self.configuration.study_names:
            try:
                study = self.configuration.study(name)
                known: list[tuple[str, Any]] = [(decoding_label(own), own) for own in study.decodings.values()]
                evaluations = [self.evaluation_of(study, dataset) for dataset in study.datasets]
                known += [(evaluation_label(own), own) for own in evaluations]
                for dataset, measuring in product(study.datasets, measuring_names(study)):
                    self.measure_file(study, dataset, measuring)
            except WordorderError:
                continue
            for own_label, own in known:
                if own_label == label:
                    content: Mapping[str, Any] = minimal(own)
                    return content
            found: Mapping[str, Any] | None = self.store.asked(f"{_SLICES}/{label}.json")
            if found:
                return found
        raise WordorderError(
            f"No study needs '{label}', and its file in {_SLICES} does not exist. Request the target of a study.",
            code="unknown-slice",
            found=label,
        )

    def decoding_slice(self, wildcards: Any) -> str:
        """Return the slice of the beam search."""
        return canonical_json(self._stored(wildcards.decoding))

    def evaluation_slice(self, wildcards: Any) -> str:
        """Return the slice with the test sets to translate and the metrics."""
        return canonical_json(self._stored(wildcards.evaluation))

    def _tests(self, wildcards: Any) -> list[str]:
        tests: list[str] = self._stored(wildcards.evaluation)["tests"]
        return tests

    def evaluated_corpora(self, wildcards: Any) -> list[str]:
        """Return the files of the test sets that an evaluation reads: subwords, positions and raw references."""
        files = [SUBWORD]
        for test in self._tests(wildcards):
            files += [corpus_file(test), f"results/data/{{dataset}}/raw/{test}.target"]
            files += self._position_files(wildcards, test, "test")
        return [file.format(dataset=wildcards.dataset) for file in files]

    def positions_option(self, wildcards: Any) -> Options:
        """Return the option that names the kind of reordered positions of test sets."""
        name = self._positions_name(wildcards, "test")
        return ["--positions", name] if name else []

    def language_options(self, wildcards: Any) -> Options:
        """Return the target language and, if translations are not detokenised, the option for this."""
        dataset = self.configuration.dataset(wildcards.dataset)
        return [dataset.target_language, *([] if dataset.detokenise else ["--as-it-is"])]

    # -------------------------------------------------------------------------------------------------- measuring

    def measure_file(self, study: Study, dataset: str, name: str) -> str:
        """Return the file of an analysis's measures, relative to the folder of a cell, and register its slice."""
        key = (study.name, "measure", dataset, name)
        if key not in self._labels:
            content = measured_content(study, self.configuration.dataset(dataset), name, self.configuration)
            self._labels[key] = self._remember(f"{name}-{digest(content)}", content)
        return f"measures/{self._labels[key]}.json"

    def measure_name(self, wildcards: Any) -> str:
        """Return the name of the analysis that measures the model."""
        name: str = self._stored(wildcards.measure)["analysis"]
        return name

    def measured_sets(self, wildcards: Any) -> list[str]:
        """Return the sets of sentences on which a model is measured."""
        sets: list[str] = self._stored(wildcards.measure)["sets"]
        return sets

    def measure_slice(self, wildcards: Any) -> str:
        """Return the slice of the measures."""
        analysis = measured_analysis(self._stored(wildcards.measure))
        return measure_slice(self.configuration.dataset(wildcards.dataset), analysis)

    def measured_files(self, wildcards: Any) -> list[str]:
        """Return the data files that the measures need."""
        analysis, folder = measured_analysis(self._stored(wildcards.measure)), f"results/data/{wildcards.dataset}"
        files = []
        for name in self.measured_sets(wildcards):
            inputs = analysis.set_inputs(name) if isinstance(analysis, ModelAnalysis) else []
            for each in [Input("corpus", name), *inputs]:
                path = corpus_file(each.path) if each.kind == "corpus" else f"{folder}/{each.path}"
                files.append(path.format(dataset=wildcards.dataset))
            files += self._position_files(wildcards, name, "test")
        return files
