"""Tests of ``wordorder gpu-report``: published GPU numbers, measured without training a model."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
import torch

from snakemake_runs import ROOT
from wordorder.analyses.forward_time import ForwardTime
from wordorder.cli.main import main
from wordorder.config.analyses import Analyses
from wordorder.status.gpu_report import memory_frame, write_gpu_report
from wordorder.workflow.configuration import Configuration

CONFIGURATION = Configuration(ROOT / "config")


def probe(dataset: str, **gpu_bytes: int) -> dict[str, object]:
    entries = {name: {"gpu_bytes": size, "operations": 1, "host_waits": 0} for name, size in gpu_bytes.items()}
    common = {"size": "base", "precision": "fp16", "measured": True, "hardware": "NVIDIA A100", "process_bytes": 1}
    return {"dataset": dataset, "encodings": entries, **common}


def test_memory_is_shown_beside_what_the_paper_prints() -> None:
    probes = [probe("wmt14_ende_40k", none=5_000_000_000, learned=6_000_000_000), probe("wmt14_enfr", none=7_000_000)]
    memory = memory_frame(CONFIGURATION.study("posnet"), CONFIGURATION, probes).set_index(["column", "encoding"])
    assert len(memory) == 12, "two columns of six systems"
    assert tuple(memory.loc[("En-De/GB", "none"), ["printed", "ours"]]) == (6.3, 5.0)
    assert tuple(memory.loc[("En-De/GB", "learned"), ["printed", "ours"]]) == (6.4, 6.0)
    assert memory["ours"].count() == 3


def test_a_study_without_printed_memory_has_no_table() -> None:
    assert memory_frame(CONFIGURATION.study("demo"), CONFIGURATION, []).empty


def test_forward_passes_are_measured_without_training(tmp_path: Path) -> None:
    settings = ForwardTime(sentences=2, length=4, passes=1, rounds=2)
    small = {"sizes": ["micro"], "datasets": ["wmt14_ende_40k"], "encodings": ["none", "sinusoidal", "posnet_embed"]}
    study = CONFIGURATION.study("posnet").model_copy(update={**small, "analyses": Analyses({settings.name: settings})})
    report = write_gpu_report(study, CONFIGURATION, tmp_path, tmp_path / "out", [probe("wmt14_ende_40k", none=1)])
    drawn = pd.read_csv(tmp_path / "out" / "forward_time.csv")
    assert set(drawn["status"]) == {"measured"} and set(drawn["encoding"]) == set(study.encodings)
    assert len(drawn) == 3 * settings.rounds and (tmp_path / "out" / "forward_time.svg").exists()
    assert "forward_time.svg" in report.read_text() and (tmp_path / "out" / "memory.csv").exists()


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_it_needs_a_gpu(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORDORDER_ERRORS", "json")
    assert main(["gpu-report", "posnet", "--root", str(ROOT / "config")]) == 1
    assert '"gpu-needed"' in capsys.readouterr().err
