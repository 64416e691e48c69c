"""Whether a study can be run as it is written."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import product
from pathlib import Path

from wordorder.config.datasets import Dataset
from wordorder.config.load import load_aligners, load_dataset, load_gold_sets, load_sizes, load_study
from wordorder.config.models import Study
from wordorder.config.problems import nearest
from wordorder.data.segment import segmenter
from wordorder.data.tokenise import UNSPACED_LANGUAGES, base_language
from wordorder.errors import WordorderError
from wordorder.workflow.gold_alignments import gold_sets
from wordorder.workflow.positions import positions_name
from wordorder.workflow.study import cells, comparisons, encoding_parameters, test_names
from wordorder.workflow.study_slices import published_scores_slice


def check(path_or_name: str | Path, root: str | Path = "config") -> str:
    """Check a study and all that it uses; returns one line that says how much there is to run."""
    study = load_study(path_or_name, root)
    problems = []
    for name in study.encodings:
        try:
            encoding_parameters(name, root)
        except WordorderError as error:
            problems.append(str(error))
    if problems:
        raise WordorderError("\n".join(dict.fromkeys(problems)))
    check_models(study, root)
    datasets = [load_dataset(name, root) for name in study.datasets]
    for dataset, name, split in product(datasets, study.encodings, ("train", "test")):
        try:
            positions_name(study, dataset, name, split, root)
        except WordorderError as error:
            problems.append(str(error))
    for look in (check_analyses, published_scores_slice):
        try:
            look(study, datasets, root)
        except WordorderError as error:
            problems.append(str(error))
    if problems:
        raise WordorderError("\n".join(problems))
    factors = " × ".join(
        _count(len(names), noun)
        for names, noun in (
            (study.datasets, "dataset"),
            (study.encodings, "encoding"),
            (study.sizes, "size"),
            (study.seeds, "seed"),
        )
    )
    tests = sum(len(test_names(study, dataset)) for dataset in datasets)
    return (
        f"{study.name}: {_count(len(cells(study)), 'cell')} ({factors}), {_count(tests, 'test set')}, "
        f"{_count(len(comparisons(study)), 'comparison')}."
    )


def check_models(study: Study, root: str | Path = "config") -> None:
    """Raise WordorderError where an encoding of the study cannot be part of a model of one of its sizes."""
    from wordorder.model.counts import counted  # imports torch

    sizes, problems = load_sizes(root), []
    parameters = {name: encoding_parameters(name, root) for name in study.encodings}
    for encoding, size in product(study.encodings, study.sizes):
        try:
            counted(parameters[encoding], sizes[size], study.recipe, vocabulary_size=8)
        except WordorderError as error:
            problems.append(f"In the study '{study.name}' the encoding '{encoding}' does not fit '{size}': {error}")
    if problems:
        raise WordorderError("\n".join(problems))


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def check_analyses(study: Study, datasets: Iterable[Dataset], root: str | Path = "config") -> None:
    """Raise WordorderError where a dataset of the study cannot give what an analysis asks for."""
    datasets = list(datasets)
    length, reordering = study.analyses.length, study.analyses.reordering
    aligners = load_aligners(root)
    for dataset in datasets:
        where = f"In the study '{study.name}' the dataset '{dataset.name}'"
        if length and length.unit == "word" and base_language(dataset.source_language) in UNSPACED_LANGUAGES:
            raise WordorderError(
                f"{where} has a source without spaces between words, which 'analyses.length' cannot count. "
                "Set 'analyses.length.unit' to 'subword'."
            )
        if reordering and reordering.by == "gold" and dataset.generator is None:
            raise WordorderError(
                f"{where} has no gold trees, which 'analyses.reordering.by: gold' asks for; only generated datasets "
                "have. Set it to 'links'."
            )
    if study.analyses.alignment:
        _check_gold_sets(study, datasets, root)
    if reordering and reordering.by == "links":
        hmms = [name for name, alignment in aligners.items() if alignment.aligner.type == "hmm"]
        if reordering.aligner not in hmms:
            raise WordorderError(
                f"In the study '{study.name}' 'analyses.reordering.aligner' is '{reordering.aligner}', but only an "
                f"aligner of type 'hmm' links test sets by what it learnt: {', '.join(hmms) or 'there is none'}."
            )


def check_languages(study: Study, datasets: Iterable[Dataset]) -> None:
    """Raise WordorderError where this environment cannot segment or score the language of a dataset of the study.

    Scores come last in a study, after hours of training.
    """
    for dataset in datasets:
        try:
            for name in dataset.preprocessing.segment.values():
                segmenter(name, str)
            if base_language(dataset.target_language) in UNSPACED_LANGUAGES:
                from wordorder.metrics.scores import build_metric

                for metric in study.metrics:
                    build_metric(metric, dataset.target_language)
        except WordorderError as error:
            raise WordorderError(f"The study '{study.name}' has the dataset '{dataset.name}'. {error}") from error


def _check_gold_sets(study: Study, datasets: Iterable[Dataset], root: str | Path) -> None:
    """Every set must be of a dataset's languages, and every dataset must have one."""
    assert study.analyses.alignment is not None
    where = f"In the study '{study.name}' 'analyses.alignment.sets'"
    known, fitting = ["gold", *load_gold_sets(root)], {data.name: gold_sets(data, root) for data in datasets}
    for name in study.analyses.alignment.sets:
        if name not in known:
            raise WordorderError(f"{where} names the unknown set '{name}'{nearest(name, known, 'gold sets')}")
        if not any(name in names for names in fitting.values()):
            raise WordorderError(f"{where} names '{name}', which is of other languages than the study's datasets.")
    for dataset, names in fitting.items():
        if not set(names) & set(study.analyses.alignment.sets):
            raise WordorderError(
                f"{where} names no gold links for the dataset '{dataset}'. Of its languages there "
                f"{'is: ' + ', '.join(names) if names else 'are none in gold_alignments.yaml'}."
            )
