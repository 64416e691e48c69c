"""The page of a study: one self-contained HTML file with all results, which needs no network."""

from __future__ import annotations

from pathlib import Path

# Templates of the captions. Snakemake's report and the study page share them.
CAPTIONS = Path(__file__).parent / "captions"
