"""Run an analysis from its slice, as the commands do, on sentences that are already in memory."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd
from matplotlib.figure import Figure

from wordorder.analyses.base import MeasuredSet
from wordorder.config.datasets import Preparation, TextPreprocessing
from wordorder.config.models import Analysed
from wordorder.data.binary import ParallelCorpus
from wordorder.data.subword import Subword
from wordorder.drawing.style import styled

PREPARATION = Preparation(source_language="de", target_language="de", preprocessing=TextPreprocessing(tokenise=False))


def computed(asked: Analysed, results: Path, data: Path) -> pd.DataFrame:
    """Compute the data of the analysis of a slice."""
    (analysis,) = (analysis for _, analysis in asked.settings.items())
    frame: pd.DataFrame = analysis.frame(asked, results, data)
    return frame


def drawn(asked: Analysed, frame: pd.DataFrame) -> Figure:
    """Draw the figure of the analysis of a slice, in the style of all figures."""
    (analysis,) = (analysis for _, analysis in asked.settings.items())
    figure: Figure = styled(analysis.draw)(frame, asked)
    return figure


def sentences(
    corpus: ParallelCorpus, references: Sequence[str] = (), subword: Subword | None = None, **options: Any
) -> MeasuredSet:
    """A set whose files have been read: its corpus, references and subword model."""
    found = MeasuredSet("test", corpus.directory, PREPARATION, **options)
    vars(found).update(corpus=corpus, references=list(references), subword=subword)
    return found
