"""Slices of a study: what the jobs get that train, translate, score, compare and draw."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from wordorder.config.analyses import Analyses, AttentionReading
from wordorder.config.datasets import Dataset
from wordorder.config.load import load_published_scores, load_sizes, load_study
from wordorder.config.models import (
    Analysed,
    Cell,
    Companion,
    Family,
    Page,
    PublishedReport,
    Report,
    ReportedDataset,
    Scoring,
    Study,
)
from wordorder.config.problems import nearest
from wordorder.config.published_scores import PublishedInStudy
from wordorder.errors import WordorderError
from wordorder.workflow.json_text import canonical, only
from wordorder.workflow.positions import drawn_reorderings
from wordorder.workflow.study import CellName, comparisons, encoding_parameters, table_names, test_names


def cell_slice(study: Study, cell: CellName, root: str | Path = "config") -> str:
    """``Cell``: the model to train. The data it is trained on are files, not configuration."""
    return canonical(
        Cell(
            encoding=encoding_parameters(cell.encoding, root),
            size=load_sizes(root)[cell.size],
            recipe=study.recipe,
            seed=cell.seed,
        )
    )


def decoding_slice(study: Study) -> str:
    """``Decoding``."""
    return canonical(study.decoding)


def scoring_slice(study: Study, dataset: Dataset) -> str:
    """``Scoring``."""
    return canonical(Scoring(metrics=study.metrics, target_language=dataset.target_language))


def measure_slice(study: Study, measure: str) -> str:
    """The settings of one analysis that measures models, as far as measuring depends on them."""
    settings = getattr(study.analyses, measure) or getattr(Analyses.model_validate({measure: {}}), measure)
    return canonical(only(AttentionReading, settings) if measure == "alignment" else settings)


def comet_slice(study: Study) -> str:
    """``Comet``, of a study that asks for it."""
    if study.comet is None:
        raise WordorderError(f"The study '{study.name}' asks for no COMET scores; its key would be 'comet'.")
    return canonical(study.comet)


def significance_slice(study: Study, dataset: Dataset) -> str:
    """``Family``: the comparisons, which are the same for all sizes and test sets."""
    family = comparisons(study)
    compared = {name for comparison in family for name in (comparison.system, comparison.baseline)}
    return canonical(
        Family(
            encodings=[name for name in study.encodings if name in compared],
            seeds=study.seeds,
            baseline=study.baseline,
            comparisons=family,
            metrics=study.metrics,
            target_language=dataset.target_language,
            significance=study.significance,
        )
    )


def report_slice(study: Study, datasets: Iterable[Dataset]) -> str:
    """``Report``, for tables; ``datasets`` are those of the study."""
    return canonical(_report(study, datasets))


def figure_slice(study: Study, datasets: Iterable[Dataset], figure: str) -> str:
    """``Report``, for a figure; how many positions are shown is no matter of figures without vectors."""
    shown = None if figure in ("scores", "perplexity", "mathematics") else study.shown_positions
    return canonical(_report(study, datasets).model_copy(update={"shown_positions": shown}))


def _report(study: Study, datasets: Iterable[Dataset]) -> Report:
    reported = [ReportedDataset(name=data.name, title=data.title, tests=test_names(study, data)) for data in datasets]
    return Report(
        study=study.name,
        title=study.title,
        datasets=reported,
        encodings=study.encodings,
        sizes=study.sizes,
        seeds=study.seeds,
        metrics=study.metrics,
        baseline=study.baseline,
        alpha=study.significance.alpha,
        comet=study.comet,
    )


def published_scores_slice(study: Study, datasets: Iterable[Dataset], root: str | Path = "config") -> str:
    """``PublishedReport``; ``datasets`` are those of the study. An unknown table is a WordorderError."""
    return canonical(PublishedReport(report=_report(study, datasets), published=published_tables(study, root)))


def published_tables(study: Study, root: str | Path = "config") -> list[PublishedInStudy]:
    """The published tables that a study shows. An unknown one is a WordorderError."""
    tables = {table.name: table for table in load_published_scores(root)} if study.published else {}
    for shown in study.published:
        if shown.table not in tables:
            raise WordorderError(
                f"The study '{study.name}' shows the published table '{shown.table}', which is not in "
                f"{Path(root, 'published', 'scores.yaml')}{nearest(shown.table, tables, 'tables')}"
            )
    return [PublishedInStudy(shown=shown, printed=tables[shown.table]) for shown in study.published]


def page_slice(study: Study, datasets: Iterable[Dataset], root: str | Path = "config") -> str:
    """``Page``; ``datasets`` are those of the study. An unknown published table is a WordorderError.

    Of companions it holds the titles alone, so that the page waits for none of them.
    """
    datasets = list(datasets)
    return canonical(
        Page(
            report=_report(study, datasets),
            tables=table_names(study),
            published=published_tables(study, root),
            figures=[*study.figures],
            analyses=study.analyses.names,
            reorderings=drawn_reorderings(study, datasets, root),
            companions=[Companion(name=name, title=load_study(name, root).title) for name in study.companions],
            source_languages={data.name: data.source_language for data in datasets},
            target_languages={data.name: data.target_language for data in datasets},
        )
    )


def analysis_slice(study: Study, datasets: Iterable[Dataset], name: str) -> str:
    """``Analysed``, for the analysis ``name``, whose settings it holds alone; ``datasets`` are those of the study."""
    datasets = list(datasets)
    return canonical(
        Analysed(
            report=_report(study, datasets),
            settings=Analyses(**{name: getattr(study.analyses, name)}),
            source_languages={data.name: data.source_language for data in datasets},
            target_languages={data.name: data.target_language for data in datasets},
        )
    )
