"""Tests of ``wordorder stage train`` in use: finished, stopped, killed, broken, repeated."""

from __future__ import annotations

import json
import math
import random
import re
import signal
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from lightning_fabric import Fabric

from raises import raises
from training_runs import VOCABULARY, TrainingRun, cell, write_reversals
from wordorder.data.binary import ParallelCorpus, write_corpus
from wordorder.data.positions import SourcePositions, write_positions
from wordorder.files import read_json
from wordorder.model.checkpoint import build_model, load_model, load_tensors
from wordorder.model.objective import TranslationObjective
from wordorder.precision import lacks_instructions
from wordorder.training import device, loop, memory
from wordorder.training import run as run_module
from wordorder.training.batches import PassLimit
from wordorder.training.loop import Trainer
from wordorder.training.processes import Processes
from wordorder.training.run import run
from wordorder.training.state import StateDirectory
from wordorder.training.window import Window

# The recorded validation perplexities of the run below. They change when the numerics of the model, the batches or the
# optimizer change; then record them anew and say why in the changelog. Processors differ by far less than 1e-3.
GOLDEN_PERPLEXITIES = [20.3251, 19.4079, 19.1383, 18.5119, 17.2608, 16.1182, 15.2115, 14.721]

RunMaker = Callable[..., TrainingRun]


@pytest.fixture(scope="module")
def corpora(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("corpora")
    return write_reversals(folder / "train", pairs=400, seed=1), write_reversals(folder / "valid", pairs=50, seed=2)


def outputs(folder: Path) -> dict[str, Path]:
    """Return the files that a training writes."""
    names = {"model": "model.pt", "metrics": "metrics.jsonl", "record": "record.json", "state": "state"}
    return {name: folder / file for name, file in names.items()}


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


def test_what_a_validation_draws_changes_nothing_of_the_training(make_run: RunMaker) -> None:
    randomized = {"type": "randomized", "range": 40, "longest": 20}
    runs = [make_run(str(every), encoding=randomized, validate_every=every, average=1) for every in (4, 90)]
    for each in runs:
        each.finish()
    often, seldom = (load_tensors(each.folder / "model.pt")["weights"] for each in runs)
    assert all(torch.equal(often[name], seldom[name]) for name in often)


@pytest.mark.slow
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


@pytest.mark.slow
def test_a_signal_saves_the_state_and_exits_with_status_75(make_run: RunMaker, uninterrupted: TrainingRun) -> None:
    for number, name in ((signal.SIGTERM, "term"), (signal.SIGUSR1, "usr1")):
        run = make_run(name)
        process = run.start()
        metrics = run.folder / "state" / "metrics.jsonl"
        while not metrics.exists() and process.poll() is None:
            time.sleep(0.01)
        process.send_signal(number)
        printed, _ = process.communicate(timeout=60)
        assert process.returncode == 75, printed
        assert f"in {run.folder / 'state'}. Run the same command again" in printed
        assert not (run.folder / "model.pt").exists()
        run.finish()
        assert same_result(run, uninterrupted)


@pytest.mark.slow
def test_the_record_names_all_hardware_of_a_training(make_run: RunMaker, monkeypatch: pytest.MonkeyPatch) -> None:
    run = make_run()
    process = run.start()
    while not (run.folder / "state" / "metrics.jsonl").exists() and process.poll() is None:
        time.sleep(0.01)
    process.send_signal(signal.SIGTERM)
    assert process.wait(60) == 75
    monkeypatch.setenv("ATEN_CPU_CAPABILITY", "default")  # as on a processor without AVX
    run.finish()
    first, then = run.record()["trained_on"]
    assert ", DEFAULT, torch " in then and first != then and first.endswith(f"torch {torch.__version__}")
    (alone := make_run("alone")).finish()
    assert alone.record()["trained_on"] == [then]


def test_deleted_outputs_come_back_without_training(make_run: RunMaker) -> None:
    run = make_run()
    run.finish()
    before = run.record()
    for file in ("model.pt", "metrics.jsonl", "record.json"):
        (run.folder / file).unlink()
    printed = run.finish()
    assert run.record() == before
    assert "updates" not in printed


@pytest.mark.slow
def test_another_configuration_starts_from_the_beginning(make_run: RunMaker) -> None:
    make_run().finish()
    changed = make_run(max_epochs=1)
    assert "belonged to another configuration and was discarded" in changed.finish()
    assert changed.record()["epochs"] == 1


def test_a_resumed_training_averages_the_checkpoints_of_its_state(
    tmp_path: Path, corpora: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The process ends before the model is written, and a file is lost."""

    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    def train() -> None:
        run(cell(max_epochs=2), train=corpora[0], valid=corpora[1], **outputs(tmp_path))

    monkeypatch.setattr(run_module, "_listen", lambda: lambda: False)  # The signals are those of the tests.
    monkeypatch.setattr(device, "prepare", lambda precision: None)
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(run_module, "_finish", killed)
        train()
    first, _ = sorted((tmp_path / "state").glob("checkpoint-*.pt"))
    moved = first.rename(tmp_path / first.name)
    with raises("missing-file", path=first, says="average of 2 checkpoints"):
        train()
    moved.rename(first)
    train()
    assert read_json(tmp_path / "record.json")["averaged_checkpoints"] == 2


@pytest.mark.slow
def test_an_interrupted_training_does_not_go_on_with_another_validation_set(
    make_run: RunMaker, corpora: tuple[Path, Path], tmp_path: Path
) -> None:
    other = write_reversals(tmp_path / "other", pairs=60, seed=3)
    run = make_run()
    process = run.start()
    last = run.folder / "state" / "last.pt"
    metrics = run.folder / "state" / "metrics.jsonl"
    while not (metrics.exists() and '"valid"' in metrics.read_text()) and process.poll() is None:
        time.sleep(0.01)
    process.send_signal(signal.SIGTERM)
    assert process.wait(60) == 75 and last.exists()
    resumed = TrainingRun(run.folder, run.cell, corpora[0], other)
    assert "was saved with another validation set and was discarded" in resumed.finish()
    (tmp_path / "fresh").mkdir()
    fresh = TrainingRun(tmp_path / "fresh", run.cell, corpora[0], other)
    fresh.finish()
    assert same_result(resumed, fresh)
    assert resumed.record()["restarts"] == 0


@pytest.mark.slow
def test_long_pairs_are_excluded_reported_and_counted(
    make_run: RunMaker, corpora: tuple[Path, Path], uninterrupted: TrainingRun
) -> None:
    train = ParallelCorpus.open(corpora[0])
    longest = train.source_lengths + 1  # the target's, too
    kept = longest <= 6
    run = make_run(max_positions=6)
    printed = run.finish()
    assert re.search(rf"^{400 - kept.sum()} of 400 training pairs .*\b6 subwords", printed, re.MULTILINE), printed
    record = run.record()
    assert (record["data"]["train_pairs"], record["data"]["left_out_pairs"]) == (kept.sum(), 400 - kept.sum())
    assert record["epochs"] == 8 and record["target_tokens"] == 8 * longest[kept].sum()
    assert record["cell"]["recipe"]["max_positions"] == 6
    assert [row["epoch"] for row in run.metrics() if row["kind"] == "valid"] == list(range(1, 9))
    # A state belongs to the pairs that it learnt from.
    assert "belonged to another configuration and was discarded" in make_run(max_positions=10).finish()
    assert same_result(run, uninterrupted), "no pair is longer"
    assert run.record()["data"]["left_out_pairs"] == uninterrupted.record()["data"]["left_out_pairs"] == 0
    assert uninterrupted.record()["cell"]["recipe"]["max_positions"] is None


@pytest.mark.parametrize(
    ("encoding", "lengths", "most", "message"),
    [
        (
            {"type": "posnet_embed", "table": 7},
            [(3, 3), (4, 8), (7, 2)],
            None,
            r"'posnet_embed' has 7 positions .*encoder.* line 3 of the source of \S+/train \w+ 8\b.*'max_positions: 7'",
        ),
        (
            {"compose": [{"type": "learned", "table": 6, "placement": "decoder"}, {"type": "relative"}]},
            [(3, 3), (9, 3), (6, 6), (2, 7)],
            7,
            r"'learned\+relative' has 6 positions .*decoder.* line 3 of the target .* 7\b.*'max_positions: 6'",
        ),
        (
            {"type": "posnet_attention", "table": 5},
            [(3, 3), (4, 4)],
            4,
            r"line 2 of the target of \S+/valid \w+ 6\b(?!.*'max_positions)",
        ),
        ({"type": "none"}, [(3, 3), (4, 4)], 3, r"'max_positions: 3' .*\b2 sentence pairs of \S+/train\b"),
    ],
)
def test_sentences_longer_than_the_encoding_are_refused_before_the_first_update(
    tmp_path: Path, encoding: dict[str, Any], lengths: list[tuple[int, int]], most: int | None, message: str
) -> None:
    pairs = (([5] * source, [6] * target) for source, target in lengths)
    write_corpus(tmp_path / "train", pairs, vocabulary_size=VOCABULARY)
    write_corpus(tmp_path / "valid", [([5], [6] * 4), ([5] * 2, [6] * 5)], vocabulary_size=VOCABULARY)
    own = cell(encoding=encoding, max_epochs=1, max_positions=most)
    run = TrainingRun(tmp_path, own, tmp_path / "train", tmp_path / "valid")
    assert re.search(message, printed := run.finish(status=1)), printed
    assert printed.count("\n") == 1 and not (tmp_path / "state" / "metrics.jsonl").exists()


def test_a_validation_sentence_longer_than_a_batch_is_refused_before_the_first_update(tmp_path: Path) -> None:
    write_corpus(tmp_path / "train", [([5] * 3, [6] * 3)], vocabulary_size=VOCABULARY)
    write_corpus(tmp_path / "valid", [([5], [6]), ([5] * 2, [6] * 300)], vocabulary_size=VOCABULARY)
    own = cell(max_epochs=1, batch_tokens=300)
    printed = TrainingRun(tmp_path, own, tmp_path / "train", tmp_path / "valid").finish(status=1)
    assert re.search(r"[Ll]ine 2 of \S+/valid has 301 subwords.* holds 300", printed), printed
    assert printed.count("\n") == 1 and not (tmp_path / "state" / "metrics.jsonl").exists()
    own = cell(max_epochs=1, batch_tokens=301)
    (tmp_path / "fits").mkdir()
    TrainingRun(tmp_path / "fits", own, tmp_path / "train", tmp_path / "valid").finish()


def test_what_just_fits_the_encoding_is_trained(tmp_path: Path) -> None:
    write_corpus(tmp_path / "train", [([5] * 5, [6] * 5), ([5] * 9, [6])], vocabulary_size=VOCABULARY)
    write_corpus(tmp_path / "valid", [([5] * 5, [6] * 5)], vocabulary_size=VOCABULARY)
    own = cell(encoding={"type": "posnet_embed", "table": 6}, max_epochs=1, max_positions=6)
    run = TrainingRun(tmp_path, own, tmp_path / "train", tmp_path / "valid")
    run.finish()
    assert run.record()["data"]["left_out_pairs"] == 1


def test_the_loss_falls_and_the_record_is_complete(uninterrupted: TrainingRun) -> None:
    rows = [row for row in uninterrupted.metrics() if row["kind"] == "valid"]
    assert [row["epoch"] for row in rows] == list(range(1, 9))
    assert rows[-1]["perplexity"] < 0.8 * rows[0]["perplexity"]
    assert [row["perplexity"] for row in rows] == pytest.approx(GOLDEN_PERPLEXITIES, rel=1e-3)
    record = uninterrupted.record()
    assert record["status"] == "finished" and record["seed"] == 1 and record["restarts"] == 0
    assert record["target_tokens"] > 0 and record["peak_memory"]["process_bytes"] > 0
    assert record["packages"]["torch"] and record["data"]["train"] and record["averaged_checkpoints"] == 2
    assert record["hardware"]["instructions"] == torch.backends.cpu.get_cpu_capability()
    assert record["best_valid_perplexity"] == min(row["perplexity"] for row in rows)


def test_patience_ends_a_training(make_run: RunMaker) -> None:
    run = make_run(learning_rate=1e-12, warmup_from=0.0, patience=2, max_epochs=50)
    run.finish()
    assert run.record()["epochs"] <= 6


@pytest.mark.slow
def test_accumulation_is_a_larger_batch(make_run: RunMaker) -> None:
    """Two micro-batches make one update; no sentence is lost at the end of the epoch."""
    run = make_run(accumulate=2, max_epochs=1)
    run.finish()
    single = make_run("single", max_epochs=1)
    single.finish()
    assert run.record()["updates"] == (single.record()["updates"] + 1) // 2
    assert run.record()["target_tokens"] == single.record()["target_tokens"]


def test_a_part_of_a_pass_is_a_part_of_an_epoch(make_run: RunMaker) -> None:
    part = make_run(max_epochs=None, max_updates=3)
    part.finish()
    whole = make_run("whole", max_epochs=1)
    whole.finish()
    share = part.record()["target_tokens"] / whole.record()["target_tokens"]
    assert 0 < share < 1 and part.record()["epochs"] == pytest.approx(share, abs=5e-4)


def test_a_diverged_training_ends_and_says_so(make_run: RunMaker) -> None:
    run = make_run(learning_rate=1e20, warmup_updates=1, max_epochs=20)
    said = run.finish()
    assert run.record()["status"] == "diverged"
    assert f"diverged after {run.record()['updates']} updates" in said


def test_a_training_that_diverges_after_a_validation_leaves_no_model_of_before(
    tmp_path: Path, corpora: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    real = loop.learning_rate
    monkeypatch.setattr(loop, "learning_rate", lambda recipe, update: real(recipe, update) if update < 42 else 1e25)
    monkeypatch.setattr(run_module, "_listen", lambda: lambda: False)  # the signals stay pytest's
    train, valid = corpora
    settings = cell(max_epochs=None, max_updates=200, validate_every=40, average=1)
    run(settings, train=train, valid=valid, **outputs(tmp_path), threads=1)
    record = read_json(tmp_path / "record.json")
    assert (record["status"], record["updates"], record["best_update"]) == ("diverged", 50, 40)
    assert record["averaged_checkpoints"] == 0
    assert all(weight.isnan().all() for weight in load_model(tmp_path / "model.pt").parameters())


def test_bf16_learns_too(make_run: RunMaker, uninterrupted: TrainingRun) -> None:
    run = make_run(precision="bf16")
    warned = "no instructions for the precision bf16" in run.finish()
    assert warned == lacks_instructions("bf16", device.of_finished_models().type)
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


@pytest.mark.parametrize(
    ("option", "place"),
    [("state", "file"), ("state", "/proc/state"), ("model", "file/model.pt"), ("metrics", "/proc/m"), ("record", ".")],
)
def test_a_place_that_cannot_be_written_is_an_error_before_the_training(
    option: str, place: str, make_run: RunMaker
) -> None:
    run = make_run()
    (run.folder / "file").touch()
    printed = run.finish(f"--{option}", str(run.folder / place), status=1)
    assert re.fullmatch(r"wordorder: error: \S+ (cannot be written: .*|is a directory, .*)\n", printed)
    assert not (run.folder / "state" / "stamp").exists()


@pytest.mark.parametrize("split", ["train", "valid"])
def test_a_corpus_without_sentences_is_an_error(split: str, make_run: RunMaker, tmp_path: Path) -> None:
    write_corpus(tmp_path / "nothing", [], vocabulary_size=VOCABULARY)
    run = replace(make_run(), **{split: tmp_path / "nothing"})
    assert f"{tmp_path / 'nothing'} has no sentence pairs" in run.finish(status=1)


@pytest.fixture(scope="module")
def positions(tmp_path_factory: pytest.TempPathFactory, corpora: tuple[Path, Path]) -> dict[str, dict[str, Path]]:
    """By name and split. Every target is its source backwards, so that is what 'gold' says."""
    folder = tmp_path_factory.mktemp("positions")
    for name, kind, step in (("gold", "gold", -1), ("identity", "identity", 1), ("false gold", "gold", 1)):
        for split, directory in zip(("train", "valid"), corpora, strict=True):
            corpus = ParallelCorpus.open(directory)
            rows = (list(range(length))[::step] for length in corpus.source_lengths)
            write_positions(folder / name / split, rows, kind=kind, corpus=corpus)
    return {folder.name: {split: folder / split for split in ("train", "valid")} for folder in folder.iterdir()}


INXL = {"type": "inxl"}


@pytest.mark.slow
def test_reordered_positions_are_recorded_and_others_restart_the_training(
    make_run: RunMaker, positions: dict[str, dict[str, Path]]
) -> None:
    bare = make_run(encoding=INXL, max_epochs=1)
    gold, identity = positions["gold"], positions["identity"]

    def with_positions(**folders: Path) -> TrainingRun:
        return TrainingRun(bare.folder, bare.cell, bare.train, bare.valid, folders)

    def recorded(name: str) -> dict[str, dict[str, str]]:
        opened = {
            split: SourcePositions.open(positions[name][split], ParallelCorpus.open(directory))
            for split, directory in (("train", bare.train), ("valid", bare.valid))
        }
        return {f"{split}_positions": {"kind": "gold", "sha256": own.sha256} for split, own in opened.items()}

    first = with_positions(**gold)
    first.finish()
    record, metrics = first.record(), first.metrics()
    assert recorded("gold").items() <= record["data"].items()
    # A finished model outlives a change of what it is only measured on, as it does with another validation set.
    measured = with_positions(train=gold["train"], valid=identity["valid"])
    assert "discarded" not in measured.finish()
    assert measured.record() == record
    other = with_positions(**positions["false gold"])
    assert "belonged to another configuration and was discarded" in other.finish()
    assert recorded("false gold").items() <= other.record()["data"].items()
    assert other.metrics() != metrics


def test_positions_are_demanded_and_refused_before_any_work(tmp_path: Path) -> None:
    train, valid = "--train-positions", "--valid-positions"
    nothing = tmp_path / "nothing"
    cases: list[tuple[dict[str, Any], dict[str, Path], str, str, str]] = [
        (INXL, {}, "missing", train, "'inxl'"),
        (INXL, {"train_positions": nothing}, "missing", valid, "'inxl'"),
        ({"compose": [INXL, {"type": "relative"}]}, {"valid_positions": nothing}, "missing", train, "wordorder stage"),
        ({"type": "sinusoidal"}, {"train_positions": nothing, "valid_positions": nothing}, "needless", train, "'sinu"),
        ({"type": "sinusoidal"}, {"valid_positions": nothing}, "needless", valid, "'sinusoidal'"),
    ]
    for encoding, given, problem, option, name in cases:
        with raises(f"{problem}-positions", key=option, says=name):
            run(
                cell(encoding=encoding),
                train=nothing,
                valid=nothing,
                **outputs(tmp_path),
                **given,
            )
        assert not list(tmp_path.iterdir()), "nothing was made"


def test_positions_of_another_corpus_are_refused(make_run: RunMaker, positions: dict[str, dict[str, Path]]) -> None:
    gold = positions["gold"]
    run = make_run(encoding=INXL)
    swapped = TrainingRun(run.folder, run.cell, run.train, run.valid, {"train": gold["valid"], "valid": gold["train"]})
    assert "were made for another binary corpus than" in swapped.finish(status=1)


def test_updates_take_the_time_between_reports_without_validating_and_saving(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A GPU works through an update long after the host has left it: the wait at a report counts, and nothing else.

    In this test an update costs the host 1 second, the wait of a report 10, and a validation or saving 1,000.
    """
    now = [0.0]
    monkeypatch.setattr("wordorder.training.loop.time.perf_counter", lambda: now[0])

    def slow(owner: object, name: str, seconds: float) -> None:
        original = getattr(owner, name)

        def slower(*arguments: Any, **more: Any) -> Any:
            now[0] += seconds
            return original(*arguments, **more)

        monkeypatch.setattr(owner, name, slower)

    slow(Trainer, "update", 1)
    slow(Window, "read", 10)
    slow(Trainer, "validation_loss", 1000)
    slow(StateDirectory, "save", 1000)
    corpus = ParallelCorpus.open(write_reversals(tmp_path / "train", pairs=40, seed=1))
    asked = cell(max_epochs=None, max_updates=4, validate_every=2)
    (tmp_path / "state").mkdir()
    trainer = Trainer(
        asked,
        Fabric(accelerator="cpu", devices=1),
        TranslationObjective(build_model(asked, VOCABULARY), 0.1),
        train=corpus,
        valid=corpus,
        state=StateDirectory(tmp_path / "state"),
        save_seconds=math.inf,
        stop_requested=lambda: False,
    )
    counters = trainer.run()
    assert now[0] > 2000
    assert counters.seconds == trainer.update_seconds == 4 * 1 + 2 * 10
    rows = [json.loads(line) for line in (tmp_path / "state/metrics.jsonl").read_text().splitlines()]
    speeds = [row["tokens_per_second"] for row in rows if row["kind"] == "train"]
    assert sum(speeds) * 12 == pytest.approx(counters.target_tokens)


@pytest.mark.parametrize("accumulate", [1, 2])
def test_the_first_update_refuses_parameters_that_nothing_trains(tmp_path: Path, accumulate: int) -> None:
    corpus = ParallelCorpus.open(write_reversals(tmp_path / "train", pairs=40, seed=1))
    asked = cell(max_updates=2, accumulate=accumulate)
    model = build_model(asked, VOCABULARY)
    model.encoding.unused = torch.nn.Parameter(torch.ones(3))
    trainer = Trainer(
        asked,
        Fabric(accelerator="cpu", devices=1),
        TranslationObjective(model, 0.1),
        train=corpus,
        valid=corpus,
        state=StateDirectory(tmp_path / "state"),
        save_seconds=math.inf,
        stop_requested=lambda: False,
    )
    with raises("no-place-for-encoding", key="encoding.unused"):
        trainer.update(trainer.prepare(trainer.groups()[0]))


@pytest.mark.parametrize(("free", "shared"), [(7.9, True), (8.1, False)])
def test_the_optimizer_is_shared_out_where_memory_is_scarce(
    free: float, shared: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Adam has two numbers per weight; they may take a quarter of the free memory."""
    model = build_model(cell(), VOCABULARY)
    weights = sum(parameter.numel() for parameter in model.parameters())
    monkeypatch.setattr(memory, "free_memory", lambda on: free * 4 * weights)
    fabric = Fabric(accelerator="cpu", devices=1)
    processes = Processes(fabric)
    assert not run_module._shards(model, "always", processes, fabric.device)
    processes.number = 2
    assert run_module._shards(model, "always", processes, fabric.device)
    assert not run_module._shards(model, "never", processes, fabric.device)
    assert run_module._shards(model, "auto", processes, fabric.device) == shared


def test_too_little_memory_for_a_pass_is_an_error_that_says_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def update(self: Trainer, prepared: object) -> None:
        raise torch.OutOfMemoryError("CUDA out of memory.")

    monkeypatch.setattr(run_module, "_listen", lambda: lambda: False)  # The signals are those of the tests.
    monkeypatch.setattr(device, "prepare", lambda precision: None)
    monkeypatch.setattr(memory, "pass_limit", lambda on, model: PassLimit(12_345))
    monkeypatch.setattr(Trainer, "update", update)
    corpora = {name: write_reversals(tmp_path / name, pairs=20, seed=1) for name in ("train", "valid")}
    with raises("out-of-memory", key=memory.PASS_TOKENS, found=12_345, says="batch_tokens"):
        run(cell(), **corpora, **outputs(tmp_path))


def test_a_training_ends_after_as_many_bad_validations_as_patience_says(make_run: RunMaker) -> None:
    run = make_run(learning_rate=1e-12, warmup_from=0.0, patience=2, max_epochs=50)
    run.finish()
    losses = [row["loss"] for row in run.metrics() if row["kind"] == "valid"]
    assert len(losses) - 1 - losses.index(min(losses)) == 2
