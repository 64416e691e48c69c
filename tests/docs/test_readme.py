"""Test that the README shows what the committed run of the demo prints."""

from __future__ import annotations

import re

from snakemake_runs import ROOT
from wordorder.tables.summary import summary


def test_the_output_of_the_demo_is_that_of_the_committed_run() -> None:
    (block,) = re.findall(r"```text\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), re.DOTALL)
    shown = [line for line in block.splitlines() if line]
    assert shown == [line for line in summary(ROOT / "results/reference/demo").splitlines() if line in shown and line]
    assert len(shown) > 10
