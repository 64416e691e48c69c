"""Whether a study can be run as it is written."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import product

from wordorder.config.models import Study
from wordorder.config.problems import nearest
from wordorder.data.segment import segmenter
from wordorder.data.tokenise import UNSPACED_LANGUAGES, base_language
from wordorder.errors import WordorderError
from wordorder.workflow.configuration import Configuration
from wordorder.workflow.gold_alignments import gold_sets
from wordorder.workflow.positions import positions_name
from wordorder.workflow.study import cells, comparisons, test_names
from wordorder.workflow.study_slices import published_tables


def check(study: Study, configuration: Configuration) -> str:
    """Check a study and everything that it uses.

    Returns:
        One line that says how much there is to run.

    Raises:
        WordorderError: Something is wrong; the message has every problem.
    """
    problems: dict[str, None] = {}

    def collect(look: Callable[[], object]) -> None:
        try:
            look()
        except WordorderError as error:
            problems[str(error)] = None

    catalogue = configuration.catalogue
    for name in study.encodings:
        collect(partial(catalogue.encoding, name))
    if not problems:
        collect(partial(catalogue.check_models, study))
        needing = [name for name in study.encodings if catalogue.encoding(name).needs_reordered]
        for dataset, name, split in product(configuration.datasets_of(study), needing, ("train", "test")):
            collect(partial(positions_name, study, dataset, name, split))
        collect(partial(check_analyses, study, configuration))
        collect(partial(published_tables, study, configuration))
    if problems:
        raise WordorderError("\n".join(problems), code="study-cannot-run")
    factors = {
        "dataset": len(study.datasets),
        "encoding": len(study.encodings),
        "size": len(study.sizes),
        "seed": len(study.seeds),
    }
    tests = sum(len(test_names(study, dataset)) for dataset in configuration.datasets_of(study))
    counts = [_count(len(cells(study)), "cell") + f" ({' × '.join(_count(n, noun) for noun, n in factors.items())})"]
    counts += [_count(tests, "test set"), _count(len(comparisons(study)), "comparison")]
    if len(study.decodings) > 1:
        counts.append(_count(len(study.decodings), "decoding"))
    return f"{study.name}: {', '.join(counts)}."


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def check_analyses(study: Study, configuration: Configuration) -> None:
    """Raise WordorderError where a dataset of the study cannot give what an analysis asks for."""
    datasets = configuration.datasets_of(study)
    length, reordering = study.analyses.length, study.analyses.reordering
    aligners = configuration.aligners
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
        _check_gold_sets(study, configuration)
    if reordering and reordering.by == "links":
        hmms = [name for name, alignment in aligners.items() if alignment.aligner.type == "hmm"]
        if reordering.aligner not in hmms:
            raise WordorderError(
                f"In the study '{study.name}' 'analyses.reordering.aligner' is '{reordering.aligner}', but only an "
                f"aligner of type 'hmm' links test sets by what it learnt: {', '.join(hmms) or 'there is none'}."
            )


def check_languages(study: Study, configuration: Configuration) -> None:
    """Raise WordorderError where this environment cannot segment or score the language of a dataset of the study.

    Scores come last in a study, after hours of training.
    """
    for dataset in configuration.datasets_of(study):
        try:
            for name in dataset.preprocessing.segment.values():
                segmenter(name, str)
            if base_language(dataset.target_language) in UNSPACED_LANGUAGES:
                from wordorder.metrics.scores import build_metric

                for metric in study.metrics:
                    build_metric(metric, dataset.target_language)
        except WordorderError as error:
            raise WordorderError(f"The study '{study.name}' has the dataset '{dataset.name}'. {error}") from error


def _check_gold_sets(study: Study, configuration: Configuration) -> None:
    """Every set must be of a dataset's languages, and every dataset must have one."""
    assert study.analyses.alignment is not None
    where = f"In the study '{study.name}' 'analyses.alignment.sets'"
    known = ["gold", *configuration.gold_sets]
    fitting = {data.name: gold_sets(data, configuration) for data in configuration.datasets_of(study)}
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
