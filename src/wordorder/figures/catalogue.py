"""All figures of a study: their inputs, captions and drawing functions, which import heavy libraries themselves."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from wordorder.config.encodings import Stack
from wordorder.config.models import Report
from wordorder.errors import unknown_name

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from pandas import DataFrame

Drawn = tuple["Figure", "DataFrame"]


@dataclass(frozen=True)
class StudyFigure:
    """A figure of a study.

    Attributes:
        reads: Its inputs for each cell; for 'models' only those of the first dataset, size and seed.
        caption: Sentences of reStructuredText for Snakemake's report and the study page.
        draw: Function of the study, the folder of its results and the options of :func:`draw_figure`, which returns the
            figure and the plotted data.
    """

    reads: Literal["scores", "metrics", "models", "significance", "nothing"]
    caption: str
    draw: Callable[..., Drawn]


def _scores(report: Report, results: Path, *, metric: str | None, **_: Any) -> Drawn:
    from wordorder.figures import scores
    from wordorder.results.frames import load_scores

    metric = metric or report.metrics[0]
    if metric not in report.metrics:
        raise unknown_name(
            "The study has no metric", metric, report.metrics, "metrics", code="unknown-metric", key="--metric"
        )
    frame = load_scores(report, results)
    chosen = frame[frame["metric"] == metric]
    return scores.draw(chosen, report), chosen


def _perplexity(report: Report, results: Path, **_: Any) -> Drawn:
    from wordorder.figures import perplexity
    from wordorder.results.frames import load_metrics, load_records

    frame = perplexity.drawn(load_metrics(report, results))
    titles = {dataset.name: dataset.title for dataset in report.datasets}
    return perplexity.draw(frame, load_records(report, results), report.encodings, titles), frame


def _forest(report: Report, results: Path, **_: Any) -> Drawn:
    from wordorder.figures import comparisons
    from wordorder.results.frames import load_significance
    from wordorder.tables.comparisons import comparisons_frame

    frame = comparisons_frame(load_significance(report, results))
    return comparisons.draw_forest(frame, report), frame


def _variance(report: Report, results: Path, **_: Any) -> Drawn:
    from wordorder.figures import comparisons
    from wordorder.results.frames import load_significance
    from wordorder.tables.comparisons import unestimated, variance_frame

    files = load_significance(report, results)
    frame = variance_frame(files)
    return comparisons.draw_variance(frame, report, unestimated(files)), frame


def _vectors(name: str) -> Callable[..., Drawn]:
    def draw(
        report: Report,
        results: Path,
        *,
        dataset: str | None,
        size: str | None,
        seed: int | None,
        stack: Stack,
        length: int | None,
        **_: Any,
    ) -> Drawn:
        from wordorder.figures import vectors

        drawing, frame = vectors.FIGURES[name]
        found = vectors.load(
            report,
            results,
            dataset=dataset or report.datasets[0].name,
            size=size or report.sizes[0],
            seed=report.seeds[0] if seed is None else seed,
            stack=stack,
            length=length,
        )
        return drawing(found), frame(found)

    return draw


def _mathematics(report: Report, results: Path, **_: Any) -> Drawn:
    """Draw the claims of the papers; fail without a figure if one does not hold."""
    from wordorder.figures import mathematics
    from wordorder.published import claims

    found = claims.Measurements.measure(seed=1)
    mathematics.check(found.claims(), "'wordorder mathematics' shows all.")
    drawn = mathematics.as_frame(found)
    return mathematics.draw(drawn), drawn


FIGURES: Mapping[str, StudyFigure] = {
    "forest": StudyFigure(
        "significance",
        "Every declared comparison: the difference with its simultaneous interval, the band of the margin within which "
        "two encodings count as equivalent, and the verdict. Undecided does not mean equal. Arrows: an interval that "
        "is much wider than the others is cut, and its ends are printed.",
        _forest,
    ),
    "variance": StudyFigure(
        "significance",
        "How much a score varies, and why: what a seed adds to all systems and to one, what the choice of test "
        "sentences adds to all systems, to one system, and to single trainings.",
        _variance,
    ),
    "scores": StudyFigure("scores", "Scores of each encoding, with every seed shown.", _scores),
    "perplexity": StudyFigure(
        "metrics",
        "Perplexity on the training set and on the validation set while the models were trained, for every seed (as "
        "in Figure 7 of the OPR paper). A point of the training set is the mean over the batches since the validation"
        " before it, as they were learned from: with dropout, and by weights that were still changing, so it may well"
        " lie above the validation set's. A point of the validation set is all of it, without dropout. Neither has "
        "label smoothing. The last panel shows the lowest value of each model on the validation set.",
        _perplexity,
    ),
    "similarity": StudyFigure(
        "models",
        "Cosine similarity of the encoding's vectors of two positions, for each encoding that gives a position a "
        "vector. Encodings with the same vectors share a panel. Learned vectors are those of the first seed's model.",
        _vectors("similarity"),
    ),
    "encoding_matrix": StudyFigure(
        "models",
        "The vectors themselves, one row for each position, for each encoding that gives a position a vector. "
        "Encodings with the same vectors share a panel. Learned vectors are those of the first seed's model.",
        _vectors("encoding_matrix"),
    ),
    "dot_product": StudyFigure(
        "models",
        "Dot product of the encoding's vectors of two positions, for each encoding that gives a position a vector, "
        "each with its own range of colours (as in Figure 3 of the sinusoidal document).",
        _vectors("dot_product"),
    ),
    "similarity_profile": StudyFigure(
        "models",
        "Cosine similarity of the middle position's vector to those of all others, by distance (as in Figure 6 of the"
        " OPR paper).",
        _vectors("similarity_profile"),
    ),
    "value_range": StudyFigure(
        "models",
        "How far the values of each dimension of the encoding's vectors spread over the positions (as in Figure 4 of "
        "the OPR paper): a dimension in which they hardly differ hardly distinguishes positions.",
        _vectors("value_range"),
    ),
    "mathematics": StudyFigure(
        "nothing",
        "What the papers prove of encodings, measured on the code that trains: gradient descent to a sum of kernels "
        "(theorem 3.1 of PosNet), similarity by distance, what permuted words change, and the sinusoid's shift as a "
        "rotation. ``wordorder mathematics`` lists each claim with its bound.",
        _mathematics,
    ),
}


def figure_of(name: str) -> StudyFigure:
    """Return the figure of this name.

    Args:
        name: The name.

    Returns:
        The figure.

    Raises:
        WordorderError: There is no such figure.
    """
    if name not in FIGURES:
        raise unknown_name("There is no figure", name, FIGURES, "figures", code="unknown-figure")
    return FIGURES[name]


def draw_figure(
    name: str,
    /,
    *,
    config: Report,
    results: Path,
    output_prefix: str,
    metric: str | None = None,
    dataset: str | None = None,
    size: str | None = None,
    seed: int | None = None,
    stack: Stack = "encoder",
    length: int | None = None,
) -> None:
    """Draw a figure of a study as SVG, PDF and PNG, with a CSV of the data drawn.

    The figures of vectors are all but forest, variance, scores, perplexity and mathematics.

    Example:
        wordorder stage figure scores --config SLICE --results results/demo --output-prefix results/demo/figures/scores

    Args:
        name: The name of the figure, as in a study.
        config: The contents of the study.
        results: The folder results/{study}.
        output_prefix: The prefix of the outputs PREFIX.svg, .pdf, .png and .csv.
        metric: For scores: the metric to draw; the study's first if missing.
        dataset: For vectors: the dataset; the study's first if missing.
        size: For vectors: the size; the study's first if missing.
        seed: For vectors: the seed; the study's first if missing.
        stack: For vectors: the stack.
        length: For vectors: the number of positions; the study's setting, or 64, if missing.
    """
    from wordorder.drawing import style

    choices = {"metric": metric, "dataset": dataset, "size": size, "seed": seed, "stack": stack}
    drawn, frame = figure_of(name).draw(config, results, **choices, length=length)
    style.save(drawn, output_prefix, frame)
