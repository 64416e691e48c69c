"""Import the models of bundles: their records, translations and measures become results of a study.

A study that is based on another one, or a study that one machine has run only in part, then trains only the models that
no bundle has. The weights of imported models do not exist, as if they had been deleted after the study's run.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache, partial
from itertools import product
from pathlib import Path
from typing import Any

from wordorder.analyses.base import JointAnalysis
from wordorder.config.models import Study
from wordorder.data.binary import ParallelCorpus
from wordorder.data.positions import SourcePositions
from wordorder.errors import WordorderError
from wordorder.figures.catalogue import figure_of
from wordorder.files import read_object, read_text, sha256, write_json, write_text
from wordorder.locks import holder
from wordorder.progress import track
from wordorder.results.bundle import ORIGIN, Bundled, read_addresses, unpack
from wordorder.results.evaluate import score_translations
from wordorder.results.index import CellFiles, read_index
from wordorder.results.translations import raw
from wordorder.wording import count_of
from wordorder.workflow.analyses import measuring_names
from wordorder.workflow.configuration import Configuration
from wordorder.workflow.models import ModelRules, cell_files
from wordorder.workflow.store import SliceStore
from wordorder.workflow.study import CellName, decoded_tests

_SHOWN = 4  # cells per line of text
# Dataset, size, encoding and seed of a model in a bundle.
_Names = tuple[str, str, str, int]


@dataclass
class Imported:
    """What a bundle gave to a study.

    Attributes:
        taken: The cells whose results were written.
        present: The cells that the study already had.
        refused: For each reason, a sentence, the cells that were not taken.
        unmeasured: The analyses of the study that measure models and whose measures the bundle does not hold.
    """

    taken: list[CellName] = field(default_factory=list)
    present: list[CellName] = field(default_factory=list)
    refused: dict[str, list[CellName]] = field(default_factory=dict)
    unmeasured: list[str] = field(default_factory=list)


def import_bundle(bundle: Path, study: Study, configuration: Configuration, results: Path) -> Imported:
    """Import the results of all models of a bundle that a study needs.

    A model fits if its encoding, size, recipe, kind of positions, data and seed are those of the study, if the bundle
    has the study's test sets and decodings, and if its references are those of the study. Its translations are scored
    with the study's metrics.

    Args:
        bundle: The folder of the bundle.
        study: The study, whose data have been prepared.
        configuration: The configuration folder.
        results: The folder of all results.

    Returns:
        The cells that were taken and that were not.

    Raises:
        WordorderError: The bundle is damaged or from a version without addresses, or the data are not prepared.
    """
    addresses = read_addresses(bundle)
    if not addresses:
        raise WordorderError(
            f"{bundle} was written by an earlier version, whose bundles do not hold the addresses of their models. "
            "Run its study again and write the bundle with 'wordorder stage write-reference', or train the models of "
            "your own study.",
            code="old-bundle",
            path=bundle,
        )
    wanted = cell_files(study, configuration, results)
    by_address = {_key(address): names for names, address in addresses.items()}
    found = Imported()
    with tempfile.TemporaryDirectory() as scratch:
        unpacked = _Unpacked(unpack(bundle, Path(scratch)), Path(scratch), study, configuration, results)
        for cell, files in track(wanted.items(), "models", total=len(wanted), unit="models"):
            names = by_address.get(_key(files.folder.as_posix()))
            if names is None:
                if (cell.dataset, cell.size, cell.encoding, cell.seed) in addresses:
                    reason = "The encoding, size, recipe or positions differ, or the encoding was corrected since."
                    found.refused.setdefault(reason, []).append(cell)
            elif files.model.is_file() or unpacked.is_there(cell, files, names):
                found.present.append(cell)
            elif reason := unpacked.objection(cell, files, names):
                found.refused.setdefault(reason, []).append(cell)
            else:
                unpacked.write(cell, files, names)
                found.taken.append(cell)
        found.unmeasured = unpacked.unmeasured({cell.dataset for cell in found.taken})
        if found.taken and unpacked.bundled.report.study == study.name:
            _copy_looks(Path(scratch), results / study.name)
    return found


def needing_weights(study: Study) -> list[str]:
    """Return the figures and analyses of a study that read the weights of models, which bundles do not hold."""
    figures = [name for name in study.figures if figure_of(name).reads == "models" and name not in study.vectors_at]
    return figures + [name for name, own in study.analyses.items() if isinstance(own, JointAnalysis)]


def imported_text(bundle: Path, imported: Imported) -> str:
    """Return what a bundle gave to a study, one sentence per line."""
    taken, present = (count_of(len(cells), "model") for cells in (imported.taken, imported.present))
    lines = [f"{bundle}: {taken} imported, {present} there before."]
    for reason, cells in imported.refused.items():
        named = [f"{cell.dataset}/{cell.encoding}/{cell.size}/{cell.seed}" for cell in cells]
        shown = ", ".join(named[:_SHOWN]) + (f" and {len(named) - _SHOWN} more" if len(named) > _SHOWN else "")
        lines.append(f"Not imported: {shown}. {reason}")
    if imported.unmeasured:
        lines.append(
            f"The bundle has no measures of these analyses of the study, which therefore train the models: "
            f"{', '.join(imported.unmeasured)}."
        )
    return "\n".join(lines)


def _key(address: str) -> tuple[str, ...]:
    """Return the parts of an address that identify a model: dataset, digest and seed, without the readable names."""
    dataset, _, _, digest, seed = address.split("/")[-5:]
    return dataset, digest, seed


class _Unpacked:
    """An unpacked bundle, from which results of a study are written."""

    def __init__(
        self, bundled: Bundled, scratch: Path, study: Study, configuration: Configuration, results: Path
    ) -> None:
        self.bundled, self.study, self.configuration, self.results = bundled, study, configuration, results
        self._index = read_index(scratch)
        self._names = {folder: name for name, folder in bundled.decodings.items()}
        self._corpus: Callable[[str, str], ParallelCorpus] = lru_cache(maxsize=None)(partial(_corpus, results, study))
        self._positions: Callable[[str, str, str], str] = lru_cache(maxsize=None)(self._digest_of_positions)
        self._rules = ModelRules(configuration, SliceStore(is_main=True))

    def is_there(self, cell: CellName, files: CellFiles, names: _Names) -> bool:
        """Return whether the study has all that the bundle holds of a model."""
        written = [files.record, *self._evaluations(files), *self._measures(cell, files, names).values()]
        return all(path.is_file() for path in written)

    def _evaluations(self, files: CellFiles) -> list[Path]:
        return [files.folder / folder / f"{files.evaluation}.json" for folder in files.decodings.values()]

    def _measures(self, cell: CellName, files: CellFiles, names: _Names) -> dict[Path, Path]:
        """Return the measures in the bundle that the study needs, each with the file that the study has of it."""
        found, held = {}, self._index.cell(*names)
        for analysis in measuring_names(self.study):
            if self._has_measures(cell.dataset, analysis) and held.measure(analysis).is_file():
                file = self._rules.measure_file(self.study, cell.dataset, analysis)
                found[held.measure(analysis)] = files.folder / file
        return found

    def _has_measures(self, dataset: str, analysis: str) -> bool:
        file = self._rules.measure_file(self.study, dataset, analysis)
        return self.bundled.measures.get(f"{dataset}/{analysis}") == file

    def unmeasured(self, datasets: Iterable[str]) -> list[str]:
        """Return the analyses of the study whose measures of these datasets the bundle does not hold."""
        pairs = product(measuring_names(self.study), sorted(datasets))
        return list(dict.fromkeys(name for name, dataset in pairs if not self._has_measures(dataset, name)))

    def objection(self, cell: CellName, files: CellFiles, names: _Names) -> str:
        """Return why a model cannot be imported; nothing if it can."""
        if training := holder(files.folder / "state" / "lock"):
            return f"They are being trained on {training.host}."
        if reason := self._difference_of_data(
            cell, read_object(self._index.cell(*names).record, "status", "data")["data"]
        ):
            return reason
        if unknown := sorted(set(files.decodings.values()) - self._names.keys()):
            return f"The bundle has no translations with the study's decodings {', '.join(unknown)}."
        dataset = self.configuration.dataset(cell.dataset)
        tests = [self._test(test, files) for test in decoded_tests(self.study, dataset)]
        if lacking := [test for test in tests if test not in self.bundled.report.tests[cell.dataset]]:
            return f"The bundle has no translations of {', '.join(lacking)}."
        if changed := [test for test in tests if not self._has_same_references(cell.dataset, test.partition("@")[0])]:
            return f"The references of {', '.join(changed)} differ from those of the bundle."
        return ""

    def _test(self, test: str, files: CellFiles) -> str:
        """Return the name in the bundle of a test set of the study, which may name a decoding."""
        name, _, decoding = test.partition("@")
        own = self._names[files.decodings[decoding]]
        return f"{name}@{own}" if own else name

    def _has_same_references(self, dataset: str, test: str) -> bool:
        path = raw(self.results / "data", dataset, test, "target")
        return path.is_file() and sha256(path) == self.bundled.references.get(f"{dataset}/{test}")

    def _difference_of_data(self, cell: CellName, data: Mapping[str, Any]) -> str:
        for split in ("train", "valid"):
            corpus = self._corpus(cell.dataset, split)
            if corpus.digest != data.get(split):
                return f"The bundle has other data '{split}' than {corpus.directory}."
            known = data.get(f"{split}_positions")
            if known is not None and self._positions(cell.dataset, known["kind"], split) != known["sha256"]:
                return f"The bundle has other reordered positions '{known['kind']}' of '{split}' of {cell.dataset}."
        return ""

    def _digest_of_positions(self, dataset: str, kind: str, split: str) -> str:
        folder = self.results / "data" / dataset / "positions" / kind / split
        return SourcePositions.open(folder, self._corpus(dataset, split)).sha256 if folder.is_dir() else ""

    def write(self, cell: CellName, files: CellFiles, names: _Names) -> None:
        """Write the record, the translations with their scores, and the measures of a model."""
        held, dataset = self._index.cell(*names), self.configuration.dataset(cell.dataset)
        record = read_object(held.record)
        write_json(files.record, {**record, ORIGIN: record.get(ORIGIN, self.bundled.report.study)})
        if held.metrics.is_file():
            write_text(files.metrics, read_text(held.metrics))
        for test in decoded_tests(self.study, dataset):
            write_text(files.hypotheses(test), read_text(held.hypotheses(self._test(test, files))))
        for evaluation in self._evaluations(files):
            score_translations(
                self._rules.evaluation_of(self.study, cell.dataset),
                model=None,
                data=self.results / "data" / cell.dataset,
                language=dataset.target_language,
                output=evaluation,
            )
        for measured, own in self._measures(cell, files, names).items():
            write_json(own, read_object(measured))


def _corpus(results: Path, study: Study, dataset: str, split: str) -> ParallelCorpus:
    folder = results / "data" / dataset / "binary" / split
    if not folder.is_dir():
        raise WordorderError(
            f"{folder} does not exist, so the data of the bundle cannot be compared. Prepare the data first with "
            f"'snakemake prepare_all --config study={study.name}', because results that are older than the data are "
            "computed again.",
            code="not-prepared",
            path=folder,
        )
    return ParallelCorpus.open(folder)


def _copy_looks(held: Path, own: Path) -> None:
    """Copy the seeds of earlier looks, on which the level of a decision depends; looks of the study itself remain."""
    for file in held.glob("significance/*.looks"):
        path = own / "significance" / file.name
        if not path.exists():
            write_text(path, read_text(file))
