"""Test that a study's analyses run without any other work, and that each reruns separately."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from little_study import Workspace
from snakemake_runs import dry_run, outputs, snakemake

pytestmark = [pytest.mark.xdist_group("finished_study"), pytest.mark.slow]  # one process, so that the study is run once

ANALYSES = (
    "analyses: {length: {edges: [6]}, reordering: {by: gold, bins: 2}, position: {bins: 3}, "
    "extrapolation: {percentile: 50}, ngram_gap: {characters: 8, words: 2, bleu: 4}}\nbaseline:"
)


def drawn(*names: str) -> dict[str, list[str]]:
    return {"analyse": [f"results/little/analyses/{name}.pdf" for name in sorted(names)]}


PAGE = {"make_page": ["results/little/index.html"]}


@pytest.fixture
def asking(study: Workspace) -> Workspace:
    study.change("studies/little.yaml", "baseline:", ANALYSES)
    return study


def test_a_finished_study_that_asks_for_analyses_only_draws_them(asking: Workspace) -> None:
    assert asking.would_run() == drawn("length", "reordering", "position", "extrapolation", "ngram_gap") | PAGE


def test_analyses_run_and_each_runs_again_alone(asking: Workspace) -> None:
    done = snakemake(asking.folder, *asking.arguments())
    assert done.returncode == 0, done.stdout + done.stderr
    for name in ("length", "reordering", "position", "extrapolation", "ngram_gap"):
        for ending in ("svg", "pdf", "png", "csv"):
            assert (asking.folder / f"results/little/analyses/{name}.{ending}").stat().st_size > 0
    assert asking.would_run() == {}

    asking.change("studies/little.yaml", "edges: [6]", "edges: [7]")
    assert asking.would_run() == drawn("length") | PAGE
    asking.change("studies/little.yaml", "bins: 3", "bins: 4")
    assert asking.would_run() == drawn("length", "position") | PAGE
    asking.change("studies/little.yaml", "edges: [7]", "edges: [6]")
    asking.change("studies/little.yaml", "bins: 4", "bins: 3")
    assert asking.would_run() == {}

    (asking.folder / "results/little/analyses/extrapolation.png").unlink()
    assert asking.would_run() == drawn("extrapolation") | PAGE
    report = snakemake(asking.folder, *asking.arguments(), "--report", "report.html")
    assert report.returncode == 0, report.stderr
    for name in ("report.html", "results/little/index.html"):
        assert "each range of source lengths" in (asking.folder / name).read_text(encoding="utf-8")
    page = (asking.folder / "report.html").read_text(encoding="utf-8")
    assert re.search(r"results/little/analyses/length\.svg", page)


def test_a_new_translation_draws_all_analyses_again(asking: Workspace) -> None:
    (asking.folder / asking.evaluation("opr")).unlink()
    found = asking.would_run()
    assert found["evaluate_model"] == [asking.evaluation("opr")] and "train_model" not in found
    assert len(found["analyse"]) == 5


def test_the_milestone_asks_for_nothing_else(asking: Workspace) -> None:
    found = outputs(dry_run(asking.folder, "analyses", *asking.arguments()[1:], "study=little"))
    assert found == drawn("length", "reordering", "position", "extrapolation", "ngram_gap")


def test_links_of_the_test_sets_are_made_where_an_analysis_reads_them(config: Path, tmp_path: Path) -> None:
    arguments = ["analyses", "--cores", "1", "--config", f"config_dir={config}", "study=multi30k"]
    found = outputs(dry_run(tmp_path, *arguments))
    assert "results/data/multi30k/alignment/hmm/test_2016_flickr.links" in found["align_split"]
    assert "find_oracle" not in found


def test_an_analysis_that_cannot_be_is_told_without_a_traceback(config: Path, tmp_path: Path) -> None:
    path = config / "studies" / "multi30k.yaml"
    path.write_text(path.read_text().replace("by: links", "by: gold"))
    failed = snakemake(tmp_path, "--dry-run", "multi30k", "--cores", "1", "--config", f"config_dir={config}")
    assert failed.returncode == 1
    assert "the dataset 'multi30k' has no gold trees" in failed.stderr and "Traceback" not in failed.stderr
