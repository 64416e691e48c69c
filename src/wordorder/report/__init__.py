"""The page of a study: one HTML file with all that a study found, which needs no network and no other file."""

from __future__ import annotations

from pathlib import Path

# The captions of tables and pictures, which the workflow hands to Snakemake's report and this package to the page.
CAPTIONS = Path(__file__).parent / "captions"
