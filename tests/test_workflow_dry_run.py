"""Every shipped study, on every shipped profile: the jobs are those that the study asks for."""

from __future__ import annotations

from pathlib import Path

import pytest

from snakemake_runs import ROOT, dry_run, job_counts, outputs, snakemake
from wordorder import plan
from wordorder.config.load import load_dataset, load_study, study_names

CONFIG = ROOT / "config"


@pytest.mark.parametrize("profile", ["local", "slurm"])
@pytest.mark.parametrize("name", study_names(CONFIG))
def test_a_study_trains_translates_and_scores_its_cells(name: str, profile: str, tmp_path: Path) -> None:
    study = load_study(name, CONFIG)
    cells = plan.cells(study)
    tests = {dataset: plan.test_names(study, load_dataset(dataset, CONFIG)) for dataset in study.datasets}
    counts = job_counts(dry_run(tmp_path, name, profile=profile))
    assert counts["train_model"] == len(cells)
    assert counts["translate_test"] == counts["score_test"] == sum(len(tests[cell.dataset]) for cell in cells)
    assert counts["compare_systems"] == len(study.sizes) * sum(map(len, tests.values()))
    assert counts["make_table"] == len(study.tables)
    assert counts["draw_figure"] == len(study.figures)


def test_the_profiles_set_the_resources_of_a_training(tmp_path: Path) -> None:
    text = dry_run(tmp_path, "train_all", "--cores", "2", "--set-threads", "train_model=2", profile="slurm")
    training = text[text.index("rule train_model:") :].partition("Shell command")[0]
    assert "threads: 2" in training and "mem_mb=4000" in training and "slurm_extra=--signal=TERM@60" in training


MILESTONES = {
    "prepare_all": {"gather_binary", "gather_reports", "binarise_split"},
    "train_all": {"train_model"},
    "decode_all": {"translate_test"},
    "score_all": {"score_test"},
    "tables": {"make_table"},
    "figures": {"draw_figure"},
}


@pytest.mark.parametrize("milestone", MILESTONES)
def test_a_milestone_ends_with_its_stage(milestone: str, tmp_path: Path) -> None:
    counts = job_counts(dry_run(tmp_path, milestone, "--config", "study=multi30k", "--cores", "1"))
    assert MILESTONES[milestone] <= set(counts)
    order = ["prepare_all", "train_all", "decode_all", "score_all"]
    if milestone in order:
        later = set().union(*(MILESTONES[name] for name in order[order.index(milestone) + 1 :]))
        assert not later & set(counts)
    assert not any(rule.endswith("grammar") for rule in counts), "another study's data"


def test_the_training_set_is_scattered_as_its_dataset_says(config: Path, tmp_path: Path) -> None:
    dataset = config / "datasets" / "grammar.yaml"
    dataset.write_text(dataset.read_text() + "shards: 3\n")
    arguments = ["prepare_all", "--cores", "1", "--config", f"config_dir={config}"]
    found = outputs(dry_run(tmp_path, *arguments))
    assert found["clean_shard"] == [f"results/data/grammar/shards/{i}-of-3.clean.source" for i in (1, 2, 3)]
    assert len(found["binarise_shard"]) == 3
    assert len(found["gather_text"]) == 2
    more = outputs(dry_run(tmp_path, *arguments, "--set-scatter", "grammar=5"))
    assert len(more["clean_shard"]) == 5


def test_a_study_with_a_mistake_fails_only_when_it_is_asked_for(config: Path, tmp_path: Path) -> None:
    study = config / "studies" / "demo.yaml"
    study.write_text(study.read_text().replace("sinusoidal, opr", "sinusodial, opr"))
    arguments = ["--cores", "1", "--config", f"config_dir={config}"]
    assert job_counts(dry_run(tmp_path, "multi30k", *arguments))["train_model"] > 0
    failed = snakemake(tmp_path, "--dry-run", "demo", *arguments)
    assert failed.returncode == 1
    assert f"wordorder: error: {study}" in failed.stderr and "did you mean 'sinusoidal'?" in failed.stderr
    assert "Traceback" not in failed.stderr


def test_a_wrong_parameter_of_an_encoding_is_told_without_a_traceback(config: Path, tmp_path: Path) -> None:
    encodings = config / "encodings.yaml"
    encodings.write_text(encodings.read_text().replace("  k: 8", "  kk: 8"))
    failed = snakemake(tmp_path, "--dry-run", "demo", "--cores", "1", "--config", f"config_dir={config}")
    assert failed.returncode == 1
    assert "encodings.yaml" in failed.stderr and "'kk'" in failed.stderr and "Traceback" not in failed.stderr


def test_a_dataset_with_a_mistake_hinders_only_its_studies(config: Path, tmp_path: Path) -> None:
    dataset = config / "datasets" / "multi30k.yaml"
    dataset.write_text(dataset.read_text().replace("target_language", "target_langauge"))
    arguments = ["--cores", "1", "--config", f"config_dir={config}"]
    assert job_counts(dry_run(tmp_path, "demo", *arguments))["train_model"] > 0
    failed = snakemake(tmp_path, "--dry-run", "multi30k", *arguments)
    assert failed.returncode == 1 and str(dataset) in failed.stderr and "Traceback" not in failed.stderr


def test_an_unknown_study_is_told_the_nearest_name(tmp_path: Path) -> None:
    failed = snakemake(tmp_path, "--dry-run", "train_all", "--cores", "1", "--config", "study=multi30")
    assert failed.returncode == 1 and "did you mean 'multi30k" in failed.stderr
    assert "Traceback" not in failed.stderr
