"""The location of the workflow and the shipped configuration: an installed package or the root of a clone."""

from __future__ import annotations

from pathlib import Path

_INSTALLED = Path(__file__).parents[1] / "packaged"  # pyproject.toml copies the files there when it builds a wheel.

# The folder that contains Snakefile, workflow/, config/, slurm/ and local/.
FOLDER = _INSTALLED if _INSTALLED.is_dir() else Path(__file__).parents[3]
SNAKEFILE = FOLDER / "Snakefile"
