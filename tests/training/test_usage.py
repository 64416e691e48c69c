"""Tests of the resources that a training reports as requested and used."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
import torch

from training_runs import VOCABULARY, cell, write_reversals
from wordorder.data.binary import ParallelCorpus, write_corpus
from wordorder.model.architectures.lstm import LSTMSize
from wordorder.model.checkpoint import build_model
from wordorder.training.usage import (
    Meter,
    Usage,
    asked,
    corpus_ratio,
    efficiency,
    gpu_utilisation,
    operations_per_token,
)

GB = 1 << 30
# As SLURM 22.05 prints a job of two nodes, shortened; 23.02 has AllocTRES in the place of TRES.
JOB = (
    "JobId=77 JobName=x UserId=me(1000) TimeLimit=1-02:30:00 NumNodes=2 NumCPUs=8 {TRES}=cpu=8,mem=24G,node=2,"
    "billing=8,gres/gpu=4,gres/gpu:a100=4 Command=(null) Comment=a b=c"
)


def program(folder: Path, name: str, printed: str) -> None:
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(f"#!/bin/sh\ncat <<'END'\n{printed}\nEND\n")
    (folder / name).chmod(0o755)


@pytest.mark.parametrize("name", ["TRES", "AllocTRES"])
def test_the_requested_resources_are_those_that_slurm_reports(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    program(tmp_path / "bin", "scontrol", JOB.replace("{TRES}", name))
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/usr/bin:/bin")
    monkeypatch.setenv("SLURM_JOB_ID", "77")
    assert asked() == {
        "job": "77",
        "nodes": 2,
        "memory_bytes": 12 * GB,
        "cpus": 8,
        "gpus": 4,
        "seconds": 26 * 3600 + 1800,
    }


def test_without_scontrol_the_environment_says_what_it_can(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert asked() is None
    for variable, value in {
        "SLURM_JOB_ID": "5",
        "SLURM_MEM_PER_NODE": "2000",
        "SLURM_CPUS_PER_TASK": "3",
        "SLURM_GPUS_ON_NODE": "1",
    }.items():
        monkeypatch.setenv(variable, value)
    assert asked() == {
        "job": "5",
        "nodes": 1,
        "memory_bytes": 2000 << 20,
        "cpus": 3,
        "gpus": 1,
        "seconds": None,
    }


def usage(host: str, **values: float | None) -> Usage:
    defaults = {"memory_bytes": GB, "seconds": 10.0, "cpu_seconds": 8.0, "gpu_memory_bytes": None}
    return Usage(host=host, **{**defaults, "gpu_utilisation": None, "batch_share": 0.1, **values})  # type: ignore[typeddict-item]


def test_processes_of_one_machine_share_its_memory() -> None:
    measured = efficiency(
        [
            usage("a", memory_bytes=2 * GB),
            usage("b", memory_bytes=3 * GB, gpu_memory_bytes=4 * GB, gpu_utilisation=0.5),
            usage("b", seconds=20.0, gpu_memory_bytes=5 * GB, gpu_utilisation=0.7, batch_share=0.3),
        ],
        tokens_per_second=100.0,
        operations=7,
    )
    assert measured["used"] == {
        "memory_bytes": 4 * GB,
        "cores": 1.2,
        "gpus": 2,
        "gpu_memory_bytes": 5 * GB,
        "gpu_utilisation": 0.6,
        "seconds": 20.0,
    }
    assert measured["model_flops_per_second"] == 700
    assert measured["batch_share"] == 0.3


def test_a_meter_distinguishes_work_from_waiting() -> None:
    with Meter(torch.device("cpu")) as idle:
        time.sleep(0.3)
    with Meter(torch.device("cpu")) as busy:
        began = time.process_time()
        while time.process_time() - began < 0.3:
            pass
    waited, worked = idle.usage(2.0, 0.5), busy.usage(0.0, 0.0)
    assert waited["seconds"] >= 0.3 and waited["cpu_seconds"] < 0.2
    assert 0.3 <= worked["cpu_seconds"] <= worked["seconds"] + 0.1
    assert (waited["batch_share"], worked["batch_share"]) == (0.25, 0.0)
    assert waited["memory_bytes"] > 50 << 20
    assert waited["gpu_memory_bytes"] is None


def test_operations_are_six_times_the_weights_that_each_token_meets(tmp_path: Path) -> None:
    """Computed manually for d = 16, f = 32, 1 + 1 layers, V = 24: 3 and 1 source tokens, 4 and 2 target tokens."""
    write_corpus(tmp_path / "corpus", [([4, 5], [6, 7, 8]), ([], [9])][:2], vocabulary_size=VOCABULARY)
    corpus = ParallelCorpus.open(tmp_path / "corpus")
    of_source = (4 * 16 * 16 + 2 * 16 * 32) + 2 * 16 * 16
    of_target = (6 * 16 * 16 + 2 * 16 * 32) + 16 * VOCABULARY
    expected = 6 * (of_source * 4 + of_target * 6) / 6
    for tied in ("all", "none"):
        model = build_model(cell(tie_embeddings=tied), VOCABULARY)
        assert operations_per_token(model, corpus_ratio(corpus)) == pytest.approx(expected, abs=1)
    lstm = cell().model_copy(update={"size": LSTMSize(architecture="lstm", layers=1, dim=16, dropout=0.0)})
    encoder, decoder = 2 * (32 * 16 + 32 * 8), 64 * 16 + 64 * 16 + 16 * 16 + 16 * 32 + 16 * VOCABULARY
    expected = 6 * (encoder * 4 + decoder * 6) / 6
    assert operations_per_token(build_model(lstm, VOCABULARY), corpus_ratio(corpus)) == pytest.approx(expected, abs=1)


@pytest.mark.parametrize("name", ["learned", "relative", "t5", "tupe", "posnet_attention"])
def test_tables_of_encodings_cost_no_operations(name: str) -> None:
    table, without = (
        operations_per_token(build_model(cell(encoding={"type": each}), VOCABULARY), 1.0)
        for each in (name, "sinusoidal")
    )
    linear = 2 * 6 * 2 * 16 * 16 if name == "tupe" else 0  # projections of positions in both stacks
    assert table == without + linear


def test_a_gpu_without_a_reading_gives_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    for printed, expected in (("37", 0.37), ("[N/A]", None)):
        program(tmp_path, "nvidia-smi", printed)
        assert gpu_utilisation("GPU-0") == expected


@pytest.mark.slow
def test_a_record_contains_the_used_resources(tmp_path: Path) -> None:
    from training_runs import TrainingRun

    train, valid = (write_reversals(tmp_path / name, pairs=60, seed=1) for name in ("train", "valid"))
    run = TrainingRun(tmp_path, cell(max_epochs=2), train, valid)
    run.finish()
    measured = run.record()["efficiency"]
    assert measured["asked"] is None
    assert measured["used"]["memory_bytes"] > 100 << 20
    assert 0 < measured["used"]["cores"] < 3
    assert 0 < measured["batch_share"] < 1
    assert measured["model_flops_per_second"] > 1000 * measured["target_tokens_per_second"]
