"""Slices of a study: the configurations of the jobs that score, compare, tabulate and draw."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

from wordorder.analyses.base import MeasuringAnalysis
from wordorder.config import load
from wordorder.config.analyses import Analyses
from wordorder.config.claims import ByCount
from wordorder.config.datasets import Dataset
from wordorder.config.models import (
    Analysed,
    Family,
    FigureName,
    Report,
    ReportedDataset,
    Study,
    SystemsScoring,
    Untrained,
    metric_name,
)
from wordorder.config.pages import Companion, Controls, Page, Paper, PublishedReport
from wordorder.config.published_scores import PublishedInStudy, PublishedScores, Shown
from wordorder.errors import WordorderError, unknown_name
from wordorder.figures.catalogue import FIGURES
from wordorder.metrics.scores import system_metrics
from wordorder.registry import code_of
from wordorder.workflow.configuration import Configuration
from wordorder.workflow.meanings import meanings
from wordorder.workflow.positions import drawn_reorderings
from wordorder.workflow.slices import canonical
from wordorder.workflow.study import comparisons, decoded_tests, table_names, test_names


def systems_scoring(study: Study, dataset: Dataset, metric: str) -> SystemsScoring:
    """Return the slice of one of a study's metrics that scores in its own environment.

    Raises:
        WordorderError: The study does not have such a metric.
    """
    for entry in system_metrics(study.metrics):
        if metric_name(entry) == metric:
            code = code_of("metrics", [metric])
            return SystemsScoring(metric=entry, target_language=dataset.target_language, code=code)
    raise WordorderError(
        f"The study '{study.name}' has no metric '{metric}' with its own environment. Add it to 'metrics' of the "
        "study, or request another file.",
        code="unknown-metric",
        key="metrics",
        found=metric,
    )


def significance_slice(study: Study, dataset: Dataset, size: str) -> str:
    """Return the slice ``Family`` with the comparisons of the models of a size, the same for all test sets."""
    return canonical(family_of(study, dataset).among(study.encodings_of(size)))


def family_of(study: Study, dataset: Dataset) -> Family:
    """Return a study's family of comparisons on one dataset."""
    family = comparisons(study)
    return Family(
        encodings=study.encodings if family else [],
        seeds=study.seed_numbers,
        baseline=study.baseline,
        comparisons=family,
        metrics=study.metrics,
        target_language=dataset.target_language,
        significance=study.significance,
        margin=study.margin,
        looks=study.looks,
        code=code_of("metrics", map(metric_name, study.metrics)),
    )


def report_slice(study: Study, configuration: Configuration) -> str:
    """Return the slice ``Report`` of a table."""
    return canonical(report_of(study, configuration))


def figure_slice(study: Study, configuration: Configuration, figure: FigureName) -> str:
    """Return the slice ``Report`` of a figure; only figures of models depend on the number of shown positions."""
    shown = study.shown_positions if FIGURES[figure].reads == "models" else None
    dim = next((dim for name, dim in study.vectors_at.items() if name == figure), None)
    found = None
    if dim is not None:
        encodings = configuration.catalogue.encodings(study.encodings)
        code = {key: own for name in encodings for key, own in configuration.catalogue.encoding(name).code.items()}
        found = Untrained(dim=dim, encodings={}, code=code).model_copy(update={"encodings": encodings})
    return canonical(report_of(study, configuration).model_copy(update={"shown_positions": shown, "untrained": found}))


def report_of(study: Study, configuration: Configuration, *, decoded: bool = True) -> Report:
    """Return the names and settings of a study that tables and figures need.

    Args:
        study: The study.
        configuration: The configuration folder.
        decoded: Whether the names of test sets include their decodings.

    Returns:
        The report. Datasets with the same title have their names in it, too.
    """
    named = decoded_tests if decoded else test_names
    datasets = configuration.datasets_of(study)
    titles = Counter(data.title for data in datasets)
    reported = [
        ReportedDataset(
            name=data.name,
            title=data.title if titles[data.title] == 1 else f"{data.title} ({data.name})",
            tests=named(study, data),
        )
        for data in datasets
    ]
    return Report(
        study=study.name,
        title=study.title,
        datasets=reported,
        encodings=study.encodings,
        sizes=study.sizes,
        only=study.only,
        seeds=study.seed_numbers,
        metrics=[metric_name(entry) for entry in study.metrics],
        baseline=study.baseline,
        alpha=study.significance.alpha,
        looks=study.looks,
        meanings=meanings(study, configuration),
    )


def published_scores_slice(study: Study, configuration: Configuration) -> str:
    """Return the slice ``PublishedReport``.

    Raises:
        WordorderError: The study names an unknown published table.
    """
    published = published_tables(study, configuration)
    return canonical(PublishedReport(report=report_of(study, configuration), published=published))


def published_tables(study: Study, configuration: Configuration) -> list[PublishedInStudy]:
    """Return the published tables that a study shows.

    Raises:
        WordorderError: The study names an unknown published table.
    """
    tables = {table.name: table for table in configuration.published_scores} if study.published else {}
    for shown in study.published:
        if shown.table not in tables:
            file = Path(configuration.root, "published", "scores.yaml")
            raise unknown_name(f"{file} has no published table", shown.table, tables, "tables", path=file)
        _check_names(shown, tables[shown.table], configuration)
    return [_in_study(shown, tables[shown.table], configuration) for shown in study.published]


def _check_names(shown: Shown, printed: PublishedScores, configuration: Configuration) -> None:
    """Check that a published table has the names that are replaced, and that their replacements exist."""
    own = {
        "datasets": {column.dataset for column in printed.columns},
        "tests": {column.test for column in printed.columns if column.test},
        "sizes": {row.size for row in printed.rows},
    }
    for key, names in own.items():
        for name in getattr(shown, key):
            if name not in names:
                raise unknown_name(f"The published table '{shown.table}' has in '{key}' no", name, names, key, key=key)
    known = {"datasets": load.dataset_names(configuration.root), "sizes": load.size_names(configuration.root)}
    for key, existing in known.items():
        for name in getattr(shown, key).values():
            if name not in existing:
                start = f"'{key}' of the published table '{shown.table}' names the unknown"
                raise unknown_name(start, name, existing, key, key=key)


def _in_study(shown: Shown, printed: PublishedScores, configuration: Configuration) -> PublishedInStudy:
    """Return a published table with the languages of its datasets and of the datasets that replace them."""
    names = {name for column in printed.columns for name in (column.dataset, shown.place(column)[0])}
    languages = {
        data.name: f"{data.source_language}-{data.target_language}"
        for data in configuration.valid_datasets
        if data.name in names
    }
    return PublishedInStudy(shown=shown, printed=printed, languages=languages)


def controls_of(study: Study, configuration: Configuration) -> dict[str, str]:
    """Return the controls of a study, each with the encoding that it controls."""
    configs = {name: configuration.catalogue.encoding(name).config for name in study.encodings}
    ordered = {name: config for name, config in configs.items() if not _has_control(config)}
    return {
        name: next(own for own, other in ordered.items() if other == _with_order(config))
        for name, config in configs.items()
        if _has_control(config) and _with_order(config) in ordered.values()
    }


def _has_control(config: Any) -> bool:
    return bool(_with_order(config) != config)


def _with_order(config: Any) -> Any:
    """Return the configuration of an encoding, whole or in parts, without the key 'control'."""
    if isinstance(config, dict):
        return {key: _with_order(value) for key, value in config.items() if key != "control"}
    return [_with_order(each) for each in config] if isinstance(config, list) else config


def controls_slice(study: Study, configuration: Configuration) -> str:
    """Return the slice ``Controls``.

    Raises:
        WordorderError: The study does not have controls.
    """
    found = find_controls(study, configuration)
    if found is None:
        raise WordorderError(
            f"The study '{study.name}' has no table 'controls', because none of its encodings has a control. Add a "
            "control to 'encodings': an entry of encodings.yaml that adds only the key 'control' to an encoding.",
            code="no-controls",
            key="encodings",
        )
    return canonical(found)


def find_controls(study: Study, configuration: Configuration) -> Controls | None:
    """Return the slice of the table of controls, or None for a study without controls."""
    controls = controls_of(study, configuration)
    report = report_of(study, configuration)
    return Controls(report=report, controls=controls) if controls else None


def paper_slice(study: Study, configuration: Configuration) -> str:
    """Return the slice ``Paper``.

    Raises:
        WordorderError: The study does not name a paper.
    """
    found = _paper(study, configuration)
    if found is None:
        raise WordorderError(
            f"The study '{study.name}' has no tables of a paper, because it does not have the key 'paper'. Set it to a "
            f"name in {Path(configuration.root, 'published', 'claims')}.",
            code="no-paper",
            key="paper",
        )
    return canonical(found)


def _paper(study: Study, configuration: Configuration) -> Paper | None:
    """Return the paper of a study, with the parts of the study and its companions that decide its claims.

    Its encodings and sizes are not typed, so that a dry-run imports neither the encodings nor PyTorch.
    """
    if study.paper is None:
        return None
    claims = configuration.claims(study.paper)
    members = [study, *map(configuration.study, study.companions)]
    wanted = {claim.decided_by.table for claim in claims.claims if isinstance(claim.decided_by, ByCount)}
    counted = [
        table for table in configuration.published_counts if table.paper == claims.paper and table.table in wanted
    ]
    rows = [row for table in counted for row in table.rows]
    named = {name for count in claims.counts for name in (count.encoding, count.over) if name}
    encodings = sorted(named | {row.encoding for row in rows})
    sizes = {count.size for count in claims.counts} | {row.size for row in rows}
    paper = Paper(
        claims=claims,
        studies=[
            PublishedReport(
                report=report_of(member, configuration),
                published=published_tables(member, configuration),
                analyses=member.analyses.names,
            )
            for member in members
        ],
        counted=counted,
    )
    catalogue = configuration.catalogue
    return paper.model_copy(update={"encodings": catalogue.encodings(encodings), "sizes": catalogue.sizes(sizes)})


def page_slice(study: Study, configuration: Configuration) -> str:
    """Return the slice ``Page``.

    It contains only the titles of companions, so that the page does not wait for them. Only the page of a paper's study
    does.

    Raises:
        WordorderError: The study names an unknown published table.
    """
    return canonical(page_of(study, configuration))


def page_of(study: Study, configuration: Configuration) -> Page:
    """Return what the page of a study shows; encodings and sizes of its paper are not typed.

    The page links to the documentation of a clone, which a project does not have.
    """
    datasets, encodings = configuration.datasets_of(study), study.encodings if _has_page("fidelity") else []
    return Page(
        report=report_of(study, configuration),
        tables=table_names(study, controls=bool(controls_of(study, configuration))),
        published=published_tables(study, configuration),
        controls=find_controls(study, configuration),
        paper=_paper(study, configuration),
        figures=[*study.figures],
        analyses=study.analyses.names,
        reorderings=drawn_reorderings(study, configuration),
        companions=[Companion(name=name, title=configuration.study(name).title) for name in study.companions],
        fidelity={name: configuration.catalogue.encoding(name).own_types for name in encodings},
        undocumented=study.paper is not None and not _has_page(f"papers/{study.paper}"),
        source_languages={data.name: data.source_language for data in datasets},
        target_languages={data.name: data.target_language for data in datasets},
    )


def _has_page(name: str) -> bool:
    """Return whether the working directory, which holds ``results``, has a page of the documentation."""
    return Path("docs", f"{name}.md").is_file()


def analysis_slice(study: Study, configuration: Configuration, name: str) -> str:
    """Return the slice ``Analysed`` of one analysis, with only its own settings."""
    datasets = configuration.datasets_of(study)
    return canonical(
        Analysed(
            report=report_of(study, configuration, decoded=not isinstance(study.analyses[name], MeasuringAnalysis)),
            settings=Analyses({name: study.analyses[name]}),
            code=code_of("analyses", [name]),
            source_languages={data.name: data.source_language for data in datasets},
            target_languages={data.name: data.target_language for data in datasets},
        )
    )
