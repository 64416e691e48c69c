"""Checks that a study can run."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from itertools import chain, product

from wordorder.config.models import Study, metric_name
from wordorder.data.segment import segmenter
from wordorder.errors import SeveralErrors, WordorderError
from wordorder.metrics.base import build, metric
from wordorder.metrics.bleu import BLEU
from wordorder.wording import count_of
from wordorder.workflow.analyses import check_analyses
from wordorder.workflow.configuration import Configuration
from wordorder.workflow.packaged import FOLDER
from wordorder.workflow.positions import positions_name
from wordorder.workflow.study import cells, comparisons, test_names
from wordorder.workflow.study_slices import published_tables


def check(study: Study, configuration: Configuration) -> str:
    """Check a study and everything that it uses.

    Args:
        study: The study.
        configuration: The configuration folder.

    Returns:
        One line with the numbers of runs, test sets and comparisons.

    Raises:
        WordorderError: The study has at least one problem; the message lists all of them.
    """
    problems: list[WordorderError] = []

    def collect(look: Callable[[], object]) -> None:
        try:
            look()
        except WordorderError as error:
            problems.append(error)

    collect(partial(_check_name, study.name, configuration))
    collect(partial(_check_metrics, study))
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
        if study.paper:
            collect(partial(configuration.claims, study.paper))
    if problems:
        raise SeveralErrors(problems, code="study-cannot-run")
    factors = {
        "dataset": len(study.datasets),
        "encoding": len(study.encodings),
        "size": len(study.sizes),
        "seed": len(study.seed_numbers),
    }
    tests = sum(len(test_names(study, dataset)) for dataset in configuration.datasets_of(study))
    crossed = f" ({' × '.join(count_of(n, noun) for noun, n in factors.items())}{', some only' if study.only else ''})"
    counts = [count_of(len(cells(study)), "cell") + crossed]
    counts += [count_of(tests, "test set"), count_of(len(comparisons(study)), "comparison")]
    if len(study.decodings) > 1:
        counts.append(count_of(len(study.decodings), "decoding"))
    if study.looks is not None:
        looks = study.looks.looks
        numbers = ", ".join(map(str, looks))
        counts.append(f"look {looks.index(study.looks.now) + 1} of {len(looks)} (at {numbers} seeds)")
    return f"{study.name}: {', '.join(counts)}."


def _check_name(name: str, configuration: Configuration) -> None:
    """Check that no rule of the workflow next to the configuration has the name of the study.

    Raises:
        WordorderError: A rule has this name.
    """
    own = configuration.root.resolve().parent
    files = [file for root in {own, FOLDER} for file in (root / "Snakefile", *root.glob("workflow/rules/*.smk"))]
    rules = (
        re.findall(r"^(?:rule|use rule \w+ as) (\w+)\b", file.read_text(), re.MULTILINE)
        for file in files
        if file.is_file()
    )
    scattering = (f"scatter_{dataset.name}" for dataset in configuration.valid_datasets)
    if name in {*chain.from_iterable(rules), *scattering}:
        raise WordorderError(
            f"'{name}' cannot be the name of a study, because a rule of the workflow has this name. Rename the study "
            "file and its key 'name'.",
            code="reserved-name",
            key="name",
        )


def _check_metrics(study: Study) -> None:
    """Check that a study has a metric besides BLEU, which its credibility list demands at the end.

    Raises:
        WordorderError: It has none.
    """
    names = [metric_name(entry) for entry in study.metrics]
    if all(issubclass(metric(name), BLEU) for name in names):
        raise WordorderError(
            f"The study '{study.name}' has no metric besides BLEU, so it could not be finished: its credibility list "
            "demands one (Marie et al. 2021). Add one to 'metrics', such as chrf++.",
            code="not-credible",
            key="metrics",
            found=names,
        )


def check_languages(study: Study, configuration: Configuration) -> None:
    """Check that this environment can segment and score the languages of a study's datasets.

    Without this check, a missing package would be reported only when translations are scored, after hours of training.

    Raises:
        WordorderError: A package for a language is missing.
    """
    for dataset in configuration.datasets_of(study):
        try:
            for name in dataset.preprocessing.segment.values():
                segmenter(name, str)
            for metric in study.metrics:
                build(metric, dataset.target_language)
        except WordorderError as error:
            raise WordorderError(
                f"The dataset '{dataset.name}' of the study '{study.name}' cannot be used here: {error}",
                code=error.code,
                key="datasets",
                found=dataset.name,
            ) from error
