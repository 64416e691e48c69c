from __future__ import annotations

import re
from pathlib import Path

import pytest


@pytest.fixture
def root(config: Path) -> Path:
    """The shipped configuration, without reordered positions in the demo."""
    demo = config / "studies/demo.yaml"
    text = re.sub(r"^reordering: .*\n", "", demo.read_text(), flags=re.MULTILINE)
    demo.write_text(re.sub(r"^encodings: .*", "encodings: [none, sinusoidal, opr, relative]", text, flags=re.MULTILINE))
    return config
