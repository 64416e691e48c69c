from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def scripts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let tests import the scripts, and scripts the modules in their folder."""
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2] / "benchmarks"))
