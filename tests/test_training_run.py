"""``wordorder train`` as a user and a cluster treat it: finished, stopped, killed, broken, repeated."""

from __future__ import annotations

import random
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from training_runs import TrainingRun, cell, write_reversals
from wordorder.data.binary import write_corpus
from wordorder.model.checkpoint import load_tensors

# The recorded validation perplexities of the run below. They change when the numerics of the model, the batches or the
# optimizer change; then record them anew and say why in the changelog. Processors differ by far less than 1e-3.
GOLDEN_PERPLEXITIES = [20.3251, 19.4079, 19.1383, 18.5119, 17.2608, 16.1182, 15.2115, 14.721]

RunMaker = Callable[..., TrainingRun]


@pytest.fixture(scope="module")
def corpora(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("corpora")
    return write_reversals(folder / "train", pairs=400, seed=1), write_reversals(folder / "valid", pairs=50, seed=2)


@pytest.fixture
def make_run(tmp_path: Path, corpora: tuple[Path, Path]) -> RunMaker:
    def make(name: str = "run", **recipe: Any) -> TrainingRun:
        folder = tmp_path / name
        folder.mkdir(exist_ok=True)
        return TrainingRun(folder, cell(**recipe), *corpora)

    return make


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory: pytest.TempPathFactory, corpora: tuple[Path, Path]) -> TrainingRun:
    run = TrainingRun(tmp_path_factory.mktemp("uninterrupted"), cell(), *corpora)
    run.finish()
    return run


def same_result(one: TrainingRun, other: TrainingRun) -> bool:
    left, right = (load_tensors(run.folder / "model.pt")["weights"] for run in (one, other))
    same_weights = left.keys() == right.keys() and all(torch.equal(left[name], right[name]) for name in left)
    return same_weights and one.metrics() == other.metrics()


def test_two_runs_with_one_seed_are_identical_and_another_seed_is_not(
    make_run: RunMaker, uninterrupted: TrainingRun
) -> None:
    again = make_run()
    again.finish()
    assert same_result(again, uninterrupted)
    other = make_run("other", seed=2)
    other.finish()
    assert not same_result(other, uninterrupted)


def test_a_run_killed_at_random_moments_gives_the_same_bits(make_run: RunMaker, uninterrupted: TrainingRun) -> None:
    run = make_run()
    generator = random.Random(3)
    killed = 0
    while killed < 5:
        process = run.start("--save-seconds", "0.05")
        started = time.monotonic()
        # Wait for the first save of this process, so that each attempt gets further, then for a random moment.
        while process.poll() is None and time.monotonic() - started < 60:
            last = run.folder / "state" / "last.pt"
            if last.exists() and last.stat().st_mtime > time.time() - 0.2:
                break
            time.sleep(0.01)
        time.sleep(generator.uniform(0, 0.3))
        process.kill()
        process.communicate()
        killed += 1
    run.finish()
    assert 1 <= run.record()["restarts"] <= 5
    assert same_result(run, uninterrupted)


def test_a_signal_saves_and_asks_for_another_start(make_run: RunMaker, uninterrupted: TrainingRun) -> None:
    for number, name in ((signal.SIGTERM, "term"), (signal.SIGUSR1, "usr1")):
        run = make_run(name)
        process = run.start()
        metrics = run.folder / "state" / "metrics.jsonl"
        while not metrics.exists() and process.poll() is None:
            time.sleep(0.01)
        process.send_signal(number)
        printed, _ = process.communicate(timeout=60)
        assert process.returncode == 75, printed
        assert "Run the same command again to go on." in printed
        assert not (run.folder / "model.pt").exists()
        run.finish()
        assert same_result(run, uninterrupted)


def test_deleted_outputs_come_back_without_training(make_run: RunMaker) -> None:
    run = make_run()
    run.finish()
    before = run.record()
    for file in ("model.pt", "metrics.jsonl", "record.json"):
        (run.folder / file).unlink()
    printed = run.finish()
    assert run.record() == before
    assert "updates" not in printed


def test_another_configuration_starts_anew(make_run: RunMaker) -> None:
    make_run().finish()
    changed = make_run(max_epochs=1)
    assert "belonged to another configuration and was discarded" in changed.finish()
    assert changed.record()["epochs"] == 1


def test_the_loss_falls_and_the_record_is_complete(uninterrupted: TrainingRun) -> None:
    rows = [row for row in uninterrupted.metrics() if row["kind"] == "valid"]
    assert [row["epoch"] for row in rows] == list(range(1, 9))
    assert rows[-1]["perplexity"] < 0.8 * rows[0]["perplexity"]
    assert [row["perplexity"] for row in rows] == pytest.approx(GOLDEN_PERPLEXITIES, rel=1e-3)
    record = uninterrupted.record()
    assert record["status"] == "finished" and record["seed"] == 1 and record["restarts"] == 0
    assert record["target_tokens"] > 0 and record["peak_memory"]["process_bytes"] > 0
    assert record["packages"]["torch"] and record["data"]["train"] and record["averaged_checkpoints"] == 2
    assert record["best_valid_perplexity"] == min(row["perplexity"] for row in rows)


def test_patience_ends_a_training(make_run: RunMaker) -> None:
    run = make_run(learning_rate=1e-12, warmup_from=0.0, patience=2, max_epochs=50)
    run.finish()
    assert run.record()["epochs"] <= 6


def test_accumulation_is_a_larger_batch(make_run: RunMaker) -> None:
    """Two micro-batches make one update; no sentence is lost at the end of the epoch."""
    run = make_run(accumulate=2, max_epochs=1)
    run.finish()
    single = make_run("single", max_epochs=1)
    single.finish()
    assert run.record()["updates"] == (single.record()["updates"] + 1) // 2
    assert run.record()["target_tokens"] == single.record()["target_tokens"]


def test_a_diverged_training_ends_and_says_so(make_run: RunMaker) -> None:
    run = make_run(learning_rate=1e20, warmup_updates=1, max_epochs=20)
    run.finish()
    assert run.record()["status"] == "diverged"


def test_bf16_learns_too(make_run: RunMaker, uninterrupted: TrainingRun) -> None:
    run = make_run(precision="bf16")
    run.finish()
    assert run.record()["best_valid_perplexity"] == pytest.approx(
        uninterrupted.record()["best_valid_perplexity"], rel=0.05
    )


@pytest.mark.skipif(torch.cuda.is_available(), reason="asks what a machine without a GPU says")
def test_fp16_without_a_gpu_is_an_error(make_run: RunMaker) -> None:
    assert "The precision fp16 needs a GPU." in make_run(precision="fp16").finish(status=1)


def test_corpora_of_different_vocabularies_are_an_error(make_run: RunMaker, tmp_path: Path) -> None:
    write_corpus(tmp_path / "other", [([4], [5])], vocabulary_size=99)
    run = make_run()
    wrong = TrainingRun(run.folder, run.cell, run.train, tmp_path / "other")
    assert "Binarise both with the same subword model" in wrong.finish(status=1)
    assert not (run.folder / "model.pt").exists()
