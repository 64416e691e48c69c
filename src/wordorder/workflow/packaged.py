"""Where the workflow and the shipped configuration are: inside an installed package, or at the top of a clone."""

from __future__ import annotations

from pathlib import Path

_INSTALLED = Path(__file__).parents[1] / "packaged"  # pyproject.toml puts the files there in a wheel

# The folder of Snakefile, workflow/, config/, slurm/ and local/.
FOLDER = _INSTALLED if _INSTALLED.is_dir() else Path(__file__).parents[3]
SNAKEFILE = FOLDER / "Snakefile"
