"""Comparisons of two systems by the project's statistics (docs/statistics.md)."""

from __future__ import annotations

import math
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import pandas as pd
from tabulate import tabulate

from wordorder.comparison.significance import compare
from wordorder.comparison.study import compare_in_study
from wordorder.config.models import Comparison, Family, Report, ReportedDataset, Study
from wordorder.data.text import one_line, write_lines
from wordorder.errors import WordorderError, unknown_name
from wordorder.metrics.base import REGISTRY, TextMetric, metric
from wordorder.results.frames import training_status
from wordorder.results.index import Index
from wordorder.tables.comparisons import result_notes, significance_table
from wordorder.tables.table import format_p
from wordorder.workflow.configuration import Configuration
from wordorder.workflow.models import current_index
from wordorder.workflow.study_slices import family_of, report_of


def compare_outputs(
    system: Sequence[Sequence[str]],
    baseline: Sequence[Sequence[str]],
    references: Sequence[str],
    *,
    target_language: str,
    metrics: Sequence[str] | None = None,
    margin: float | None = None,
) -> pd.DataFrame:
    """Compare the translations of two systems, with one list of lines for each training seed.

    The verdict (better, worse, equivalent or undecided) applies to other seeds and needs at least two of them. With one
    seed, sacreBLEU's paired tests of the two translations remain: columns such as ``bootstrap p seed 1``.

    Args:
        system: Detokenised translations by the system: for each seed one line per sentence.
        baseline: Those of the baseline, of as many seeds.
        references: One reference per sentence.
        target_language: The language of the translations, such as "de"; it chooses BLEU's tokeniser.
        metrics: Names of metrics; those of a study that names none if missing.
        margin: The difference in the first metric up to which two systems count as equivalent; the metric's default if
            missing. Without either, no systems are called equivalent.

    Returns:
        One row per metric: difference, interval, p, verdict, and the other tests.

    Raises:
        WordorderError: The numbers of seeds or lines differ, there is no such metric, or the margin is not positive.
    """
    system, baseline = _lists(system, "system"), _lists(baseline, "baseline")
    references = _lines(references)
    if len(system) != len(baseline) or not system:
        raise WordorderError(
            f"The system has {len(system)} translations and the baseline {len(baseline)}. Give one list of lines per "
            "seed, for the same seeds.",
            code="different-seeds",
            found=len(system),
            expected=len(baseline),
        )
    names = _text_metrics(metrics or Study.model_fields["metrics"].default)
    _check_lines({"system": system, "baseline": baseline}, references)
    if not isinstance(target_language, str):
        raise WordorderError(
            f"The argument 'target_language' is {target_language!r}, but must be a language code, such as 'de'.",
            code="wrong-type",
            key="target_language",
            found=target_language,
        )
    if margin is not None and not (isinstance(margin, int | float) and 0 < margin < math.inf):
        raise WordorderError(
            f"The margin is {margin!r}, but must be a positive number. Leave it out for the usual one.",
            code="wrong-margin",
            key="margin",
            found=margin,
        )
    seeds = list(range(1, len(system) + 1))
    family = Family(
        encodings=["baseline", "system"],
        seeds=seeds,
        baseline="baseline",
        comparisons=[Comparison(system="system", baseline="baseline")],
        metrics=[*names],
        target_language=target_language,
        margin={} if margin is None else {names[0]: margin},
    )
    with tempfile.TemporaryDirectory() as name:
        folder, outputs = Path(name), {"baseline": baseline, "system": system}
        files = {(own, seed): folder / f"{own}.{seed}" for own, seed in product(outputs, seeds)}
        for (own, seed), path in files.items():
            write_lines(path, map(_without_end, outputs[own][seed - 1]))
        write_lines(folder / "references", map(_without_end, references))
        found = compare(family, files, "", "test", folder / "references")
    report = Report(
        study="outputs",
        title="",
        datasets=[ReportedDataset(name="outputs", title="", tests=["test"])],
        encodings=family.encodings,
        sizes=["any"],
        seeds=seeds,
        metrics=[*names],
        baseline="baseline",
    )
    return significance_table([{"dataset": "outputs"} | found], report).data


def _text_metrics(names: Sequence[str]) -> list[str]:
    """Return the names of metrics that are computed in this process; reject others."""
    if isinstance(names, str):
        raise WordorderError(
            f"The argument 'metrics' is the text '{names}', but must be a list of names, such as ['{names}'].",
            code="not-a-list",
            key="metrics",
            found=names,
        )
    known = [name for name in REGISTRY.names() if issubclass(metric(name), TextMetric)]
    for name in names:
        if name not in known:
            raise unknown_name("Outputs cannot be compared by the metric", name, known, "metrics", key="metrics")
    return list(names)


def _lists(translations: Iterable[Any], own: str) -> list[Any]:
    """Return the translations of each seed in a list, which arrays and iterators are not."""
    if isinstance(translations, str):
        raise WordorderError(
            f"The argument '{own}' is a text, but must have one list of lines per seed.",
            code="not-a-list",
            key=own,
            found=translations,
        )
    return [_lines(each) for each in translations]


def _lines(lines: Any) -> Any:
    """Return a list of lines; a text, which is a mistake, stays a text."""
    return lines if isinstance(lines, str) else list(lines)


def _check_lines(outputs: Mapping[str, Sequence[Sequence[str]]], references: Sequence[str]) -> None:
    """Check that each seed of each system has a list with one line per reference."""
    if isinstance(references, str):
        raise WordorderError(
            "The argument 'references' is a text, but must be a list of lines.",
            code="not-a-list",
            key="references",
            found=references,
        )
    if len(references) == 0:
        raise WordorderError("There are no references. Give one line per sentence.", code="no-references")
    for own, translations in outputs.items():
        for seed, lines in enumerate(translations, start=1):
            if isinstance(lines, str):
                raise WordorderError(
                    f"Seed {seed} of the {own} is a text, but must be a list of lines. Give one list per seed, "
                    "also for a single one.",
                    code="not-a-list",
                    key=own,
                    found=lines,
                )
            if len(lines) != len(references):
                raise WordorderError(
                    f"Seed {seed} of the {own} has {len(lines)} lines, the references {len(references)}. Give one "
                    "translation per reference; that of a sentence without one is an empty line.",
                    code="different-lengths",
                    key=own,
                    found=len(lines),
                    expected=len(references),
                )
            _check_texts(lines, f"seed {seed} of the {own}", own)
    _check_texts(references, "the references", "references")


def _check_texts(lines: Sequence[Any], where: str, key: str) -> None:
    for number, line in enumerate(lines, start=1):
        if not isinstance(line, str):
            raise WordorderError(
                f"Line {number} of {where} is {line!r}, but must be a text. That of a sentence without a translation "
                "is empty.",
                code="wrong-type",
                line=number,
                key=key,
                found=line,
            )


def _without_end(line: str) -> str:
    """Remove the end of a line, which ``readlines`` keeps; a control character inside becomes a space."""
    return one_line(line.removesuffix("\n").removesuffix("\r"))


def compare_encodings(
    system: str,
    baseline: str,
    study: str,
    *,
    results: str | Path = "results",
    root: str | Path = "config",
) -> pd.DataFrame:
    """Compare two encodings of a finished study, on all of its datasets, sizes and test sets.

    The comparison is a separate family: its p-values are not corrected for other comparisons of the study. Use it to
    look, and declare comparisons in the study before you report them.

    Args:
        system: The name of an encoding.
        baseline: The name of the encoding to compare it with.
        study: The name of the study.
        results: The folder to which runs write.
        root: The configuration folder.

    Returns:
        One row per dataset, size, test set and metric: difference, interval, p, verdict, and the other tests. Its
        ``attrs["notes"]`` list what limits them, such as diverged trainings.

    Raises:
        WordorderError: The study does not have these encodings in one size, or their translations are not finished, or
            the configuration changed after the study ran. A training that diverged has no translations; this is not an
            error.
    """
    configuration = Configuration(Path(root))
    asked = configuration.study(study)
    for name in (system, baseline):
        if name not in asked.encodings:
            raise unknown_name(f"The study '{asked.name}' has no encoding", name, asked.encodings, "encodings")
    if system == baseline:
        raise WordorderError(
            f"'{system}' is compared with itself. Name two encodings.", code="same-encoding", found=system
        )
    pair = {
        "encodings": [baseline, system],
        "baseline": baseline,
        "comparisons": [Comparison(system=system, baseline=baseline)],
    }
    folder, data = Path(results, asked.name), Path(results, "data")
    index = current_index(asked, configuration, Path(results))
    report, files = report_of(asked, configuration), []
    sizes = [size for size in report.sizes if {system, baseline} <= set(report.encodings_of(size))]
    if not sizes:
        raise WordorderError(
            f"The study '{asked.name}' has no size with both '{system}' and '{baseline}': its key 'only' trains them "
            "in different sizes. Name two encodings of one size.",
            code="no-common-size",
            key="only",
        )
    _demand_finished(asked, list(product(report.datasets, sizes)), (baseline, system), index)
    for dataset, size in product(report.datasets, sizes):
        family = family_of(asked, configuration.dataset(dataset.name)).model_copy(update=pair)
        for test in dataset.tests:
            found = compare_in_study(family, report, folder, data, dataset=dataset.name, size=size, test=test)
            files.append({"dataset": dataset.name} | found)
    compared = significance_table(files, report).data
    compared.attrs["notes"] = result_notes(files)
    return compared


def _demand_finished(
    study: Study, places: Iterable[tuple[ReportedDataset, str]], encodings: Sequence[str], index: Index
) -> None:
    """Reject missing translations, in datasets and sizes, of trainings that did not diverge."""
    missing = []
    for (dataset, size), name, seed in product(places, encodings, study.seed_numbers):
        cell = index.cell(dataset.name, size, name, seed)
        if training_status(cell) != "diverged" and not all(cell.hypotheses(test).is_file() for test in dataset.tests):
            missing.append(f"'{name}' with seed {seed} ({dataset.name}, {size})")
    if missing:
        raise WordorderError(
            f"The study '{study.name}' is not finished. Translations are missing of {', '.join(missing)}. Run "
            f"'wordorder run {study.name}', then compare again.",
            code="missing-translations",
            found=missing,
        )


def comparison_text(compared: pd.DataFrame) -> str:
    """Return a comparison as plain text: a table, one verdict per row, and notes.

    Args:
        compared: From :func:`compare_encodings`.
    """
    rows = []
    for row in compared.to_dict("records"):
        label, digits = metric(row["metric"]).label, metric(row["metric"]).digits
        found = {name: row[name] for name in ("difference", "low", "high")}  # missing for one seed
        numbers = {name: "" if pd.isna(value) else f"{value:+.{digits}f}" for name, value in found.items()}
        p = "" if pd.isna(row["p"]) else format_p(row["p"])
        place = {name: row[name] for name in ("dataset", "size", "test")}
        rows.append(place | {"metric": label} | numbers | {"p": p, "seeds": row["n"]})
    table = tabulate(rows, headers="keys", tablefmt="simple", disable_numparse=True)
    lists = (compared["verdict"], compared.attrs.get("notes", []))
    return "\n\n".join([table, *("\n".join(f"- {each}" for each in lines) for lines in lists if len(lines))])


def draw_comparison(compared: pd.DataFrame, prefix: str | Path, study: str, *, root: str | Path = "config") -> None:
    """Draw a comparison with its intervals.

    Args:
        compared: From :func:`compare_encodings`.
        prefix: Writes PREFIX.svg, .pdf, .png and .csv.
        study: The name of the study.
        root: The configuration folder.
    """
    from wordorder.drawing import style
    from wordorder.figures.comparisons import draw_forest

    configuration = Configuration(Path(root))
    style.save(draw_forest(compared, report_of(configuration.study(study), configuration)), prefix, compared)
