"""Measure finished models for one analysis."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wordorder.analyses.base import REGISTRY, Analysis, JointAnalysis, MeasuredSet, ModelAnalysis
from wordorder.config.analyses import Analyses
from wordorder.config.models import Analysed, Measured
from wordorder.errors import WordorderError

if TYPE_CHECKING:
    from wordorder.model.architectures.base import Translator


def the_analysis(settings: Analyses, name: str) -> Analysis:
    """Return the analysis of a slice, which must hold the settings of this one only."""
    REGISTRY.get(name)
    if settings.names != [name]:
        raise WordorderError(
            f"The slice must hold the settings of '{name}' and of no other analysis, but it holds "
            f'{", ".join(settings.names) or "none"}. Write {{"settings": {{"{name}": {{}}, …}}}}.',
            code="wrong-slice",
            key="--config",
        )
    analysis: Analysis = settings[name]
    return analysis


def analyse(name: str, /, *, config: Analysed, results: Path, data: Path, output_prefix: str) -> None:
    """Compute and draw an analysis of a study.

    Compute an analysis of a study's translations or models and draw it as SVG, PDF and PNG, with a CSV of the data
    drawn. docs/analyses.md explains each analysis.

    Example:
        wordorder stage analyse length --config SLICE --results results/demo --data results/data --output-prefix PREFIX

    Args:
        name: The name of the analysis, as in a study.
        config: The study and the settings.
        results: The folder results/{study}.
        data: The folder results/data.
        output_prefix: The prefix of the outputs PREFIX.svg, .pdf, .png and .csv.

    Raises:
        WordorderError: The analysis has no data, or draws no figure.
    """
    from matplotlib.figure import Figure
    from pandas import DataFrame

    from wordorder.drawing import style

    analysis = the_analysis(config.settings, name)
    frame = analysis.frame(config, results, data)
    if not isinstance(frame, DataFrame) or frame.empty:
        found = "an empty DataFrame" if isinstance(frame, DataFrame) else _kind(frame)
        expected = "a DataFrame with at least one row; runs without a result have a row with their status"
        raise _wrong(analysis, "frame", found, expected, code="wrong-frame")
    figure = style.styled(analysis.draw)(frame, config)
    if not isinstance(figure, Figure):
        raise _wrong(analysis, "draw", _kind(figure), "a figure (matplotlib.figure.Figure)", code="wrong-figure")
    style.save(figure, output_prefix, frame)


def _kind(found: object) -> str:
    return f"a value of the type {type(found).__name__}"


def _wrong(analysis: Analysis, method: str, found: str, expected: str, *, code: str) -> WordorderError:
    return WordorderError(
        f"The method '{method}' of the analysis '{analysis.name}' (class {type(analysis).__qualname__} of "
        f"{type(analysis).__module__}) returned {found}, but must return {expected}. Correct the method.",
        code=code,
        path=REGISTRY.file(analysis.name),
        key=analysis.name,
        found=found,
        expected=expected,
    )


def measure(
    name: str,
    /,
    *,
    config: Measured,
    model: Path | None = None,
    data: Path | None = None,
    sets: Sequence[str] | None = None,
    positions: str | None = None,
    models: Sequence[str] | None = None,
    threads: int | None = None,
) -> dict[str, Any]:
    r"""Measure finished models for an analysis.

    Measure one model on sets of sentences or, for an analysis that compares models directly, several models.
    docs/analyses.md defines each measurement.

    Example:
        wordorder stage measure perplexity --config SLICE --model model.pt --data results/data/demo --sets test \
            --output perplexity.json
        wordorder stage measure forward_time --config SLICE --models rope=a.pt learned=b.pt --output forward_time.json

    Args:
        name: The name of the analysis, as in a study.
        config: The settings of the analysis and the preprocessing of the dataset.
        model: The model to measure.
        data: The folder results/data/{dataset}.
        sets: The sets on which to measure the model: test sets, 'valid', or 'gold.NAME'.
        positions: The folder below --data/positions of the reordered source positions, if the model needs them.
        models: Several models as NAME=PATH, for an analysis that compares models.
        threads: The number of CPU threads; PyTorch's default if missing.

    Returns:
        The measurements, to be written as JSON.

    Raises:
        WordorderError: The analysis does not measure models or needs other arguments, or the model does not fit the
            data.
    """
    from wordorder.training.device import finished_model

    analysis = the_analysis(config.settings, name)
    if isinstance(analysis, JointAnalysis):
        _demand(name, models=models)
        named = dict(map(_named, models or []))
        return analysis.measure({own: finished_model(path, threads) for own, path in named.items()})
    if not isinstance(analysis, ModelAnalysis):
        raise WordorderError(f"The analysis '{name}' does not measure models.", code="no-measure", key="NAME")
    _demand(name, model=model, data=data, sets=sets)
    assert model and data and sets
    loaded = finished_model(model, threads)
    found = (_set(config, each, loaded, data, positions) for each in sets)
    return {"sets": {each.name: analysis.measure(loaded, each) for each in found}}


def _demand(name: str, **given: Any) -> None:
    missing = [f"--{option}" for option, value in given.items() if not value]
    if missing:
        raise WordorderError(
            f"The analysis '{name}' needs {' and '.join(missing)}.", code="missing-option", key=missing[0]
        )


def _named(argument: str) -> tuple[str, Path]:
    name, equals, path = argument.partition("=")
    if not (name and equals and path):
        raise WordorderError(
            f"--models takes NAME=PATH, not '{argument}'.", code="wrong-option", key="--models", found=argument
        )
    return name, Path(path)


def _set(asked: Measured, name: str, model: Translator, data: Path, positions: str | None) -> MeasuredSet:
    """Return a set of sentences that is prepared for the model."""
    from wordorder.decoding.translate import check_positions

    check_positions(model, given=positions is not None)
    folder = data / "positions" / positions / name if positions else None
    sentences = MeasuredSet(name, data, asked.preparation, asked.detokenise, folder)
    vocabulary, trained = sentences.corpus.vocabulary_size, model.output.weight.size(0)
    if vocabulary != trained:
        raise WordorderError(
            f"The model was trained with a vocabulary of {trained} subwords, but {sentences.corpus.directory} was made "
            f"with {vocabulary}. Binarise it with the subwords of the model's training.",
            code="wrong-vocabulary",
            path=sentences.corpus.directory,
        )
    return sentences
