"""Collect the captions that figures and analyses declare."""

from __future__ import annotations

from wordorder.analyses.base import REGISTRY
from wordorder.figures.catalogue import FIGURES


def captions() -> dict[str, dict[str, str]]:
    """Return the captions for the key ``captions`` of Snakemake's configuration.

    Returns:
        For each kind ("figure", "analysis"), the captions by name, in reStructuredText.
    """
    return {
        "figure": {name: figure.caption for name, figure in FIGURES.items()},
        "analysis": {analysis.name: analysis.caption for analysis in REGISTRY},
    }
