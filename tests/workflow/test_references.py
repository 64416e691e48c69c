"""Test that a finished study becomes a bundle that verifies against references that the workflow recreates."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from little_study import Workspace
from snakemake_runs import snakemake
from wordorder.cli.main import main

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("finished_study")]  # one process, so that the study is run once


def test_the_bundle_of_a_finished_study(study: Workspace, capsys: pytest.CaptureFixture[str]) -> None:
    results, bundle = study.folder / "results", study.folder / "bundle"
    options = ["--results", str(results), "--root", str(study.config), "--output", str(bundle)]
    assert main(["stage", "write-reference", "little", *options]) == 0
    tables = sorted((results / "little/tables").glob("*.csv"))
    assert tables
    for table in tables:
        for file in (table, table.with_suffix(".md")):
            assert (bundle / "tables" / file.name).read_bytes() == file.read_bytes()
    pictures = {path.relative_to(results / "little") for path in (results / "little").glob("[fa]*/*.svg")}
    pictures.discard(Path("figures/encoding_matrix.svg"))  # which needs no run
    assert pictures and {path.relative_to(bundle) for path in bundle.glob("[fa]*/*.svg")} == pictures

    shutil.rmtree(results)
    capsys.readouterr()
    assert main(["stage", "reference-texts", str(bundle)]) == 0
    files = capsys.readouterr().out.split()
    assert files == ["results/data/pair/raw/test.target"]
    done = snakemake(study.folder, *files, *study.arguments()[1:])
    assert done.returncode == 0, done.stdout + done.stderr
    line = ["stage", "verify-reference", str(bundle), "--data", str(results / "data")]
    assert main(line) == 0

    table = bundle / "tables/scores.csv"
    columns, first, *rest = table.read_text().split("\n")
    place = columns.split(",").index("mean")
    values = first.split(",")
    values[place] = str(float(values[place]) + 0.01)
    table.write_text("\n".join([columns, ",".join(values), *rest]))
    assert main(line) == 1
