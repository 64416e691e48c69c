"""The credibility list: requirements for a credible table of scores.

Marie, Fujita & Rubino 2021, "Scientific Credibility of Machine Translation Research: A Meta-Evaluation of 769 Papers",
require four things of an evaluation: a metric besides BLEU, a test of significance, no scores copied from other papers,
and the same data and preprocessing for all compared systems. The list is checked against the outputs of a study, file
by file. A study that misses an item is not finished. An item with warnings is not met, but does not keep a study from
being finished.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any, Literal

import pandas as pd

from wordorder.config.models import Recipe, Report
from wordorder.errors import WordorderError
from wordorder.files import read_object, sha256
from wordorder.hardware import rounding
from wordorder.metrics.base import metric
from wordorder.metrics.bleu import BLEU
from wordorder.results.frames import cell_folders, load_significance, systems_metrics, systems_path
from wordorder.results.index import text_of
from wordorder.results.typed import Record, SystemScores, read_typed
from wordorder.tables.table import Block, Table, text
from wordorder.wording import listed

SOURCE = "Marie et al. 2021"
OURS = "wordorder"
_DEFAULTS = {name: field.default for name, field in Recipe.model_fields.items()}
_SCORES = ("metrics", "target_language", "hypotheses.sha256", "references.sha256", "status")


@dataclass(frozen=True)
class Item:
    """One requirement, its source, and the finding: ``evidence`` if it is met, otherwise what is wrong.

    Attributes:
        demand: The requirement.
        source: Who requires it.
        evidence: What shows that it is met.
        missing: What has to be repaired before the study is finished, without full stops.
        warnings: What a reader has to know, although the study is finished, without full stops.
        uncovered: How many models could not be looked at, and why, without a full stop; empty if all could.
    """

    demand: str
    source: str
    evidence: str
    missing: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    uncovered: str = ""

    @property
    def met(self) -> bool:
        """Whether the requirement is met."""
        return not self.missing and not self.warnings

    @property
    def problems(self) -> tuple[str, ...]:
        """What is missing, and the warnings."""
        return self.missing + self.warnings

    @property
    def found(self) -> str:
        """The evidence with the models that it does not cover, or all problems."""
        if not self.met:
            return " ".join(f"{problem}." for problem in self.problems)
        return f"{self.evidence.removesuffix('.')}; {self.uncovered}." if self.uncovered else self.evidence

    @property
    def verdict(self) -> Literal["met", "missing", "warning"]:
        """The finding in one word."""
        return "missing" if self.missing else "warning" if self.warnings else "met"


def credibility_items(report: Report, results: str | Path) -> list[Item]:
    """Check the whole list on the files under ``results``: scores, translations, records and significance tests."""
    scores, cells = list(_score_files(report, results)), list(cell_folders(report, results))
    records = [
        (cell, read_typed(files.record, Record, "data.train", "vocabulary_size", "cell.recipe"))
        for cell, files in cells
        if files.record.is_file()
    ]
    scored = sum(all(files.scores(test).is_file() for test in report.tests[cell["dataset"]]) for cell, files in cells)
    not_scored = _lacking(len(cells) - scored, len(cells), "scores")
    no_record = _lacking(len(cells) - len(records), len(cells), "a training record")
    return [
        replace(_more_than_bleu(report, scores), uncovered=not_scored),
        replace(_significance(load_significance(report, results)), uncovered=not_scored),
        _no_copied_scores(report, results, scores),
        replace(_comparable_references(scores), uncovered=not_scored),
        replace(_comparable_training(records), uncovered=no_record),
        replace(_signatures(scores), uncovered=not_scored),
        replace(_same_hardware(records), uncovered=no_record),
    ]


def _lacking(number: int, of: int, what: str) -> str:
    return f"{number} of {of} models {'lacks' if number == 1 else 'lack'} {what}" if number else ""


# A cell, (dataset, size, encoding, seed), and its training record.
_Trained = tuple[dict[str, Any], dict[str, Any]]


@dataclass(frozen=True)
class _Scores:
    """The file of scores of one cell and test set."""

    dataset: str
    test: str
    path: Path
    hypotheses: Path
    content: dict[str, Any]
    metrics: list[str]


def _score_files(report: Report, results: str | Path) -> Iterator[_Scores]:
    elsewhere = _scored_elsewhere(report, results)
    for cell, files in cell_folders(report, results):
        for test in report.tests[cell["dataset"]]:
            path = files.scores(test)
            if path.is_file():
                content = read_object(path, *_SCORES)
                digest = content["hypotheses"]["sha256"]
                # In the order of the study: the file has that of the first study that asked for its metrics.
                names = [name for name in report.metrics if name in content["metrics"] or (name, digest) in elsewhere]
                yield _Scores(cell["dataset"], test, path, files.hypotheses(test), content, names)


def _scored_elsewhere(report: Report, results: str | Path) -> set[tuple[str, str]]:
    """Return the metrics with environments of their own and the SHA-256 of the translations that they scored."""
    found = set()
    for name, names in product(systems_metrics(report), report.compared):
        path = systems_path(results, name, *names)
        systems = read_typed(path, SystemScores, "systems")["systems"] if path.is_file() else {}
        found |= {(name, digest) for digest, scored in systems.items() if scored.get("score") is not None}
    return found


def _more_than_bleu(report: Report, scores: list[_Scores]) -> Item:
    scored = [file for file in scores if file.content["status"] == "scored"]  # A diverged model has no translations.
    missing = [
        f"{file.path} has no metric but BLEU; add one, for example chrf++, to the study's 'metrics'"
        for file in scored
        if all(issubclass(metric(name), BLEU) for name in file.metrics)
    ]
    counts = {metric(name).label: sum(name in file.metrics for file in scored) for name in report.metrics}
    labels = [label for label, count in counts.items() if count == len(scored) > 0]
    fewer = [f"{label} ({count} of {len(scored)})" for label, count in counts.items() if 0 < count < len(scored)]
    evidence = f"{len(scored)} translated test sets, each scored by {listed(labels) or 'nothing'}"
    evidence += f"; not all by {listed(fewer)}." if fewer else "."
    return Item("A metric besides BLEU", SOURCE, evidence, tuple(missing))


def _significance(files: list[dict[str, Any]]) -> Item:
    missing, tests, tested_at_all = [], 0, False
    for file in files:
        seeds: dict[str, set[int]] = {}
        for cell in file["cells"]:
            if cell["status"] == "translated":
                seeds.setdefault(cell["encoding"], set()).add(cell["seed"])
        for name, family in file["metrics"].items():
            for entry in family["comparisons"]:
                tests += 1
                tested = any(of["p"] is not None for of in (entry["t_test"], *entry["seeds"]))
                tested_at_all |= tested
                # Systems without a common translated seed cannot be tested; the tables list them.
                testable = seeds.get(entry["system"], set()) & seeds.get(entry["baseline"], set())
                if testable and not tested:
                    where = f"{file['dataset']}/{file['test']} ({metric(name).label})"
                    missing.append(f"{entry['system']} against {entry['baseline']} was not tested on {where}")
    declared = f"{tests} comparisons that the study declares"
    evidence = f"{declared}; verdicts hold for a whole family (Dunnett; declared pairs: Holm)."
    none = () if tested_at_all or not tests else (f"none of the {declared} could be tested",)
    return Item("A test of significance", SOURCE, evidence if tests else "Nothing is compared.", tuple(missing), none)


def _no_copied_scores(report: Report, results: str | Path, scores: list[_Scores]) -> Item:
    missing = []
    for file in scores:
        if not file.hypotheses.is_file() or sha256(file.hypotheses) != file.content["hypotheses"]["sha256"]:
            missing.append(f"{file.path} does not belong to {file.hypotheses}; delete it and score again")
    for cell, files in cell_folders(report, results):
        absent = [test for test in report.tests[cell["dataset"]] if not files.scores(test).is_file()]
        missing += [f"{files.folder} has no {test}.scores.json" for test in absent]
    evidence = "Every score was computed here from the translations in the same folder (SHA-256). "
    evidence += "Published numbers are shown as such and take part in no test."
    return Item("No copied scores", SOURCE, evidence, tuple(missing))


def _comparable_references(scores: list[_Scores]) -> Item:
    references: dict[tuple[str, str], set[str]] = {}
    for file in scores:
        references.setdefault((file.dataset, text_of(file.test)), set()).add(file.content["references"]["sha256"])
    missing = [
        f"the cells of {dataset} were scored against {len(found)} different references of {test}; score them again"
        for (dataset, test), found in references.items()
        if len(found) > 1
    ]
    evidence = f"One raw reference per test set, the same for all cells (test sets: {len(references)})."
    return Item("The same references for all systems", SOURCE, evidence, tuple(missing))


def _comparable_training(records: list[_Trained]) -> Item:
    """Check that all cells of a dataset were trained on the same corpus with the same recipe; the size may differ.

    If the validation loss decides when a training ends, the validation set must be the same, too.
    """
    found: dict[str, dict[str, set[str]]] = {}
    for cell, record in records:
        dataset = found.setdefault(cell["dataset"], {"training corpora": set(), "vocabularies": set()})
        dataset["training corpora"].add(record["data"]["train"])
        dataset["vocabularies"].add(str(record["vocabulary_size"]))
        # Records of earlier versions lack keys that were added since.
        recipe = _DEFAULTS | record["cell"]["recipe"]
        dataset.setdefault("recipes", set()).add(json.dumps(recipe, sort_keys=True))
        if recipe["patience"] is not None:
            dataset.setdefault("validation sets", set()).add(str(record["data"].get("valid")))
            positions = dataset.setdefault(f"positions of the validation set for {cell['encoding']}", set())
            positions.add(json.dumps(record["data"].get("valid_positions"), sort_keys=True))
    missing = [
        f"the cells of {dataset} have {len(values)} different {what}; train them with one"
        for dataset, kinds in found.items()
        for what, values in kinds.items()
        if len(values) > 1
    ]
    evidence = f"{len(records)} cells: one binary corpus per dataset (digest), one vocabulary and one recipe for all."
    return Item("The same data, preprocessing and recipe", SOURCE, evidence, tuple(missing))


def _signatures(scores: list[_Scores]) -> Item:
    missing: list[str] = []
    signatures: dict[tuple[str, str], set[str]] = {}
    for file in scores:
        for name, scored in file.content["metrics"].items():
            if scored["score"] is not None:
                if not scored["signature"]:
                    missing.append(f"{file.path} has a {metric(name).label} score without a signature")
                signatures.setdefault((file.content["target_language"], name), set()).add(scored["signature"])
    missing += [
        f"{metric(name).label} of '{language}' was computed with {len(found)} different signatures; score again"
        for (language, name), found in signatures.items()
        if len(found) > 1
    ]
    return Item("A signature for every score", OURS, "One signature per metric and target language.", tuple(missing))


def _same_hardware(records: list[_Trained]) -> Item:
    """Check that for each seed, models that are compared were trained on the same hardware by the same PyTorch."""
    groups: dict[tuple[str, str], dict[str, dict[str, list[int]]]] = {}
    for cell, record in records:
        kinds = groups.setdefault((cell["dataset"], cell["size"]), {})
        kinds.setdefault(rounding(record), {}).setdefault(cell["encoding"], []).append(cell["seed"])
    warnings = tuple(
        f"{dataset} ({size}): {_trained_apart(kinds)}; the hardware may explain a part of their differences"
        for (dataset, size), kinds in groups.items()
        if _seeds_apart(kinds)
    )
    evidence = f"{len(records)} cells: for each seed, one kind of hardware and one version of PyTorch for all."
    return Item("The same hardware for all encodings", OURS, evidence, warnings=warnings)


def _seeds_apart(kinds: Mapping[str, Mapping[str, Sequence[int]]]) -> bool:
    """Return whether models of one seed were trained on several kinds of hardware."""
    seeds = [{seed for own in encodings.values() for seed in own} for encodings in kinds.values()]
    return sum(map(len, seeds)) > len(set().union(*seeds))


def _trained_apart(kinds: Mapping[str, Mapping[str, Sequence[int]]]) -> str:
    """List the encodings that each kind of hardware has trained, with the seeds of those that several have trained."""
    times = Counter(encoding for encodings in kinds.values() for encoding in encodings)
    trained = {
        kind: (
            encoding if times[encoding] == 1 else f"{encoding} (seed {', '.join(map(str, seeds))})"
            for encoding, seeds in encodings.items()
        )
        for kind, encodings in kinds.items()
    }
    return "; ".join(f"{listed(names)} on {kind}" for kind, names in trained.items())


def require(report: Report, results: str | Path) -> list[Item]:
    """Return the list if nothing is missing; items may have warnings.

    Raises:
        WordorderError: Something is missing; the error lists all of it.
    """
    items = credibility_items(report, results)
    problems = [f"{item.demand} ({item.source}): {problem}." for item in items for problem in item.missing]
    if problems:
        lines = "\n".join(f"  {problem}" for problem in problems)
        raise WordorderError(
            f"The study is not finished, because it misses an item of the credibility list.\n{lines}",
            code="not-credible",
        )
    return items


def credibility_table(items: list[Item], report: Report) -> Table:
    """Make the table of the credibility list."""
    rows = [{"Requirement": item.demand, "Source": item.source, "Found": item.found} for item in items]
    shown = [{name: text(value) for name, value in row.items()} for row in rows]
    return Table("credibility", pd.DataFrame(rows), [Block(f"{report.title}: the credibility list.", shown)])
