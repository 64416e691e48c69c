"""One small study, from generated text to its page; the other tests of the workflow are slow."""

from __future__ import annotations

import pytest

from little_study import Workspace

pytestmark = pytest.mark.xdist_group("finished_study")  # one process, so that the study is run once


def test_a_study_ends_in_a_page_with_its_scores(finished: Workspace) -> None:
    results = finished.folder / "results" / "little"
    page = (results / "index.html").read_text(encoding="utf-8")
    assert "A little study" in page and "data:image/svg+xml" in page
    rows = (results / "tables" / "scores.csv").read_text(encoding="utf-8").splitlines()
    assert len(rows) == 1 + 2 * 2  # a header, and two encodings with two metrics
    assert {row.split(",")[rows[0].split(",").index("encoding")] for row in rows[1:]} == {"opr", "sinusoidal"}


def test_a_finished_study_has_nothing_to_do(finished: Workspace) -> None:
    assert finished.would_run() == {}
