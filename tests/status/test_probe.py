"""Tests of ``wordorder probe``, and of how ``wordorder plan`` uses probes, time limits and prices."""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from raises import raises
from snakemake_runs import ROOT
from wordorder.cli.main import main
from wordorder.config.load import load_study
from wordorder.config.models import Study
from wordorder.files import read_json, write_json
from wordorder.status.data_size import DataSize
from wordorder.status.estimate import Part, Speed, estimate
from wordorder.status.plan import Cluster, plan_text
from wordorder.status.probes import _keep, load_probes, run_probes, speeds_of, to_probe
from wordorder.status.rows import proposed_row
from wordorder.workflow.configuration import Configuration

CONFIG = ROOT / "config"
CONFIGURATION = Configuration(CONFIG)


def study(name: str = "posnet_dp", **changes: Any) -> Study:
    return CONFIGURATION.study(name).model_copy(update=changes)


def keep(results: Path, hardware: str, speeds: dict[str, float], *, device: str = "cuda") -> dict[str, Any]:
    """Write a probe of posnet_dp."""
    entries = {name: {"target_tokens_per_second": speed} for name, speed in speeds.items()}
    probe = {"dataset": "wmt14_ende_40k", "size": "base", "precision": "fp16", "device": device, "hardware": hardware}
    probe |= {"process_bytes": 4_000_000_000, "threads": 4, "encodings": entries}
    write_json(results / "hardware" / hardware / "wmt14_ende_40k.base.fp16.json", probe)
    return probe


def of(results: Path, **options: Any) -> Part:
    (part,) = estimate(study(encodings=["none", "opr"]), CONFIGURATION, results, **options)
    return part


def test_hours_are_those_of_each_encodings_own_speed(tmp_path: Path) -> None:
    guess = of(tmp_path)
    keep(tmp_path, "NVIDIA A100", {"none": 100_000.0, "opr": 50_000.0})
    part = of(tmp_path)
    tokens, seeds = part.tokens, len(study().seed_numbers)
    assert tokens is not None and guess.estimated and not part.estimated
    assert part.hours == pytest.approx(seeds * tokens * (1 / 100_000 + 1 / 50_000) / 3600)
    assert part.longest == pytest.approx(tokens / 50_000 / 3600)


def test_the_fastest_hardware_counts_unless_one_is_named(tmp_path: Path) -> None:
    keep(tmp_path, "NVIDIA A100", {"none": 100_000.0})
    keep(tmp_path, "NVIDIA H100 PCIe", {"none": 300_000.0})
    assert of(tmp_path).speed.tokens_per_second == 300_000
    assert of(tmp_path, hardware="a100").speed.tokens_per_second == 100_000
    other = of(tmp_path, hardware="RTX 4090", utilisation=0.2)
    assert other.estimated and "RTX 4090" in str(other.speed)
    half = of(tmp_path, hardware="RTX 4090", utilisation=0.1)
    assert other.speed.tokens_per_second == pytest.approx(2 * half.speed.tokens_per_second)


def test_hardware_without_a_data_sheet_cannot_be_estimated(tmp_path: Path) -> None:
    with raises("unknown-hardware", found="Cray-1"):
        of(tmp_path, hardware="Cray-1")


def test_an_encoding_that_no_probe_reached_has_the_median_of_the_others(tmp_path: Path) -> None:
    keep(tmp_path, "NVIDIA A100", {"none": 100_000.0})
    part = of(tmp_path)
    assert part.hours_of("opr") == part.hours_of("none")


@pytest.mark.parametrize(("hours", "attempts"), [(0.1, 1), (10, 1), (10.1, 2), (30, 2), (60, 3), (61, None)])
def test_attempts_have_as_many_hours_again_each(tmp_path: Path, hours: float, attempts: int | None) -> None:
    (tmp_path / "training.tsv").write_text("* * 3 10 1 4 1")
    (tmp_path / "profile.yaml").write_text("retries: 2")
    cluster = Cluster.of(tmp_path)
    assert cluster is not None and cluster.attempts(hours, limit=10) == attempts


@pytest.mark.parametrize("profile", ["- a", "retries: -1", "retries: many"])
def test_a_profile_without_a_number_of_retries_has_snakemakes(tmp_path: Path, profile: str) -> None:
    (tmp_path / "training.tsv").write_text("* * 3 10 1 4 1")
    (tmp_path / "profile.yaml").write_text(profile)
    cluster = Cluster.of(tmp_path)
    assert cluster is not None and cluster.retries == 3


def test_a_profile_that_is_named_must_exist(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with raises("missing-file", path=tmp_path / "slurn", key="--profile"):
        Cluster.of(tmp_path / "slurn")
    monkeypatch.chdir(tmp_path)
    assert Cluster.of() is None, "a project without a cluster needs no profile"


def test_a_plan_names_jobs_hours_and_money(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    keep(tmp_path, "NVIDIA A100", dict.fromkeys(study().encodings, 100_000.0))
    (tmp_path / "training.tsv").write_text("* * 3 1 1 4 2")
    options = ["--root", str(CONFIG), "--results", str(tmp_path), "--profile", str(tmp_path)]
    assert main(["plan", "posnet_dp", *options, "--price", "2", "--at-once", "3"]) == 0
    said = capsys.readouterr().out
    (part,) = estimate(study(), CONFIGURATION, tmp_path)
    assert part.hours is not None
    assert f"{part.hours:,.1f} GPU-hours" in said and f"{2 * part.hours:,.2f}" in said
    # Two GPUs each, three trainings at once; 13.7 hours on one, 6.8 on two, of which four attempts of 1, 2, 3, 4 do.
    assert f"{part.hours / 2 / 3:,.1f} hours with 3 at once" in said and "1 h, 4 jobs" in said
    (tmp_path / "training.tsv").write_text("* * 3 0.5 1 4 2")
    assert main(["plan", "posnet_dp", *options]) == 0
    assert "too short" in capsys.readouterr().out


def test_what_studies_share_is_probed_once() -> None:
    one, other = study(encodings=["none", "opr"], baseline="none"), study(encodings=["rope"], baseline="rope")
    (probed,) = to_probe([one, other])
    assert probed.encodings == ("none", "opr", "rope")
    assert len(to_probe([one, study("demo")])) == 2


def test_a_row_has_room_for_saving_and_for_the_slowest_encoding(tmp_path: Path) -> None:
    probe = keep(tmp_path, "NVIDIA A100", {"none": 100_000.0, "opr": 50_000.0})
    part = of(tmp_path)
    row, tokens = proposed_row(probe, [part]), part.tokens or 0
    assert row[:2] == ("wmt14_ende_40k", "base") and (row.cpus, row.gpus) == (4, 1)
    assert row.memory_gb >= 1.25 * (4 + part.state_bytes / 1e9)
    assert row.hours >= 1.25 * tokens / 50_000 / 3600 > row.hours - 1


@pytest.mark.slow
def test_a_probe_is_kept_and_used(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--root", str(CONFIG), "--results", str(tmp_path)]
    assert main(["probe", "demo", "--minutes", "0.05", "--threads", "1", *options]) == 0
    said = capsys.readouterr().out
    (probe,) = load_probes(tmp_path, "grammar", "micro", "fp32")
    speeds = speeds_of(probe)
    assert "sinusoidal" in speeds, "the baseline is measured, however little time there is"
    assert "grammar      micro" in said and probe["data"] == "simulated"
    measured = probe["encodings"]["sinusoidal"]
    assert measured["passes"] == load_study("demo", CONFIG).recipe.accumulate and "operations" not in measured
    (part,) = estimate(study("demo"), CONFIGURATION, tmp_path)
    assert not part.estimated and part.speed.of("sinusoidal") == speeds["sinusoidal"]


@pytest.mark.parametrize("earlier", ["{}", "[]", '{"encodings": []}', "{"])
def test_a_probe_replaces_a_file_that_is_none(earlier: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    measured = {"measured": True, "hardware": "A B", "encodings": {"none": {"target_tokens_per_second": 3.0}}}

    class Pool(ThreadPoolExecutor):
        def __init__(self, workers: int, _: object) -> None:
            super().__init__(workers)

    monkeypatch.setattr("wordorder.status.probes.ProcessPoolExecutor", Pool)
    monkeypatch.setattr("wordorder.status.probes._probe", lambda *_: measured)
    (probed,) = to_probe([study("demo")])
    file = tmp_path / "hardware" / "A-B" / probed.file
    file.parent.mkdir(parents=True)
    file.write_text(earlier)
    assert run_probes([probed], CONFIGURATION, tmp_path, minutes=1) == [measured]
    assert read_json(file) == measured


@pytest.mark.slow
def test_sizes_of_gpus_are_only_counted_without_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "training.tsv").write_text("* * 3 1 1 4 1")
    options = ["--root", str(CONFIG), "--results", str(tmp_path), "--profile", str(tmp_path)]
    assert main(["probe", "demo", *options]) == 0
    said = capsys.readouterr().out
    assert not (tmp_path / "hardware").exists() and "only counted" in said
    assert re.search(r"passes +operations +host waits", said) and "tokens/s" not in said


def test_an_encoding_that_failed_keeps_its_earlier_speed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (probed,) = to_probe([study("demo")])
    earlier = {"none": {"target_tokens_per_second": 3.0}, "opr": {"target_tokens_per_second": 2.0}}
    write_json(tmp_path / "hardware" / "A-B" / probed.file, {"encodings": earlier})
    found = {"none": {"failed": "no time was left"}, "opr": {"target_tokens_per_second": 4.0}}
    _keep(probed, {"hardware": "A B", "encodings": found, "device": "cpu"}, tmp_path)
    (probe,) = load_probes(tmp_path, "grammar", "micro", "fp32")
    assert speeds_of(probe) == {"none": 3.0, "opr": 4.0}


def test_a_price_is_that_of_gpus_if_some_trainings_use_them(tmp_path: Path) -> None:
    keep(tmp_path, "NVIDIA A100", {"none": 100_000.0})
    gpu = of(tmp_path)
    cpu = replace(gpu, speed=Speed(1000.0, "cpu", "measured"))
    said = plan_text([(study(), [gpu, cpu])], DataSize(0, [], 0, []), price=2.0)
    assert gpu.hours and f"Price: {2 * gpu.hours:,.2f}, at 2 per GPU-hour." in said
