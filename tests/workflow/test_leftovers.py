"""Tests of the files that a finished study leaves besides its results."""

from __future__ import annotations

import pytest

from little_study import Workspace

pytestmark = [pytest.mark.xdist_group("finished_study"), pytest.mark.slow]


def test_the_checksums_of_temporary_files_go_with_them(finished: Workspace) -> None:
    notes = [path for path in finished.folder.rglob(".*.sha256") if ".snakemake" not in path.parts]
    assert notes
    assert [note for note in notes if not note.with_name(note.name[1 : -len(".sha256")]).exists()] == []
    assert not list(finished.folder.rglob("*.partial"))
