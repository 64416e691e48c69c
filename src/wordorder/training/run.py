"""Trains one model from its configuration and two corpora, and writes the model, its metrics and its run record."""

from __future__ import annotations

import math
import shutil
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

import torch
from lightning_fabric import Fabric

from wordorder.config.models import Cell
from wordorder.data.binary import ParallelCorpus
from wordorder.errors import Interrupted, WordorderError
from wordorder.files import atomic, check_writable, write_json
from wordorder.locks import locked, open_lock
from wordorder.model.architectures.base import Translator, architecture_of
from wordorder.model.attention import base as attention
from wordorder.model.checkpoint import build_model, count_parameters, save_model
from wordorder.model.objective import TranslationObjective
from wordorder.precision import lacks_instructions, products
from wordorder.training import device, memory
from wordorder.training.counters import Counters
from wordorder.training.lengths import check_batches, check_lengths, kept_pairs
from wordorder.training.loop import Trainer
from wordorder.training.processes import Processes, open_fabric
from wordorder.training.record import environment, loaded_commit, peak_memory
from wordorder.training.stamp import earlier_stamp, stamp
from wordorder.training.state import StateDirectory, average
from wordorder.training.usage import Meter, corpus_ratio, efficiency, operations_per_token

_SIGNALS = (signal.SIGTERM, signal.SIGUSR1, signal.SIGINT)
# 'auto' shards the optimizer if Adam's two moments of all parameters need more than this fraction of the free memory.
_SHARD_FROM = 0.25

ShardOptimizer = Literal["auto", "always", "never"]


def run(
    config: Cell,
    *,
    train: Path,
    valid: Path,
    train_positions: Path | None = None,
    valid_positions: Path | None = None,
    model: Path,
    metrics: Path,
    record: Path,
    state: Path,
    devices: int | None = None,
    nodes: int = 1,
    threads: int | None = None,
    save_seconds: float = 120,
    shard_optimizer: ShardOptimizer = "auto",
) -> None:
    r"""Train the model of one cell.

    A cell is an encoding, a size, a recipe and a seed. A training run that was stopped, even by SIGKILL, resumes from
    its saved state. On CPUs of one type, with the same number of threads,
    the result is bit-identical to that of an uninterrupted run. SIGTERM or SIGUSR1 saves the
    state and exits with status 75; rerun the command to resume. If another process trains the cell, the command waits
    for it. Several processes share the micro-batches of each update ('accumulate' of the recipe): those of 'srun
    wordorder stage train', or those that --devices starts. Their number affects only rounding and the masks of dropout.
    Without SLURM, set MASTER_ADDR, MASTER_PORT and NODE_RANK and run the command on each of --nodes machines.

    Example:
        wordorder stage train --config @cell.yaml --train binary/train --valid binary/valid --model model.pt \
            --metrics metrics.jsonl --record record.json --state state

    Args:
        config: The training run.
        train: The binary corpus to train on.
        valid: The binary corpus for validation.
        train_positions: The reordered source positions of --train; required by some encodings, refused by others.
        valid_positions: The reordered source positions of --valid.
        model: The finished model to write.
        metrics: The metrics to write, JSON lines.
        record: The run record to write, JSON.
        state: The folder of the saved state, kept over restarts.
        devices: The number of processes on this machine; by default one per GPU of the job.
        nodes: The number of machines without SLURM.
        threads: The number of CPU threads; by default PyTorch's choice.
        save_seconds: The seconds between two saves of the state.
        shard_optimizer: Whether to divide the optimizer's memory among the processes; 'auto' divides it if it would
            take more than a quarter of the device's free memory.

    Raises:
        WordorderError: An input is missing or does not fit the others.
        Interrupted: The process was asked to stop.
    """
    outputs = {"model.pt": model, "metrics.jsonl": metrics, "record.json": record}
    _check_positions(config, train_positions, valid_positions)
    stop_requested = _listen()
    loaded_commit()
    if config.recipe.precision == "fp16" and not torch.cuda.is_available():
        raise WordorderError(
            "The precision fp16 needs a GPU. Set 'precision' to fp32 or bf16 in the study's recipe to train on a CPU.",
            code="gpu-needed",
            key="precision",
        )
    if lacks_instructions(config.recipe.precision, device.of_finished_models().type):
        print(
            "wordorder: warning: this processor has no instructions for the precision bf16 of the recipe. Its products "
            "of matrices are computed in fp32, from rounded numbers, so an update takes longer than in fp32.",
            file=sys.stderr,
        )
    train_corpus = ParallelCorpus.open(train, positions=train_positions)
    valid_corpus = ParallelCorpus.open(valid, positions=valid_positions)
    if train_corpus.vocabulary_size != valid_corpus.vocabulary_size:
        raise WordorderError(
            f"{train} has a vocabulary of {train_corpus.vocabulary_size} subwords, but {valid} has "
            f"{valid_corpus.vocabulary_size}. Binarise both with the same subword model.",
            code="different-vocabularies",
            path=valid,
            found=valid_corpus.vocabulary_size,
            expected=train_corpus.vocabulary_size,
        )
    for corpus in (train_corpus, valid_corpus):
        if not len(corpus):
            raise WordorderError(
                f"{corpus.directory} has no sentence pairs, but training and validation need at least one each. Check "
                "the text from which it was made, and the cleaning report.",
                code="empty-file",
                path=corpus.directory,
            )
    device.prepare(config.recipe.precision)
    fabric = open_fabric(
        config.recipe.precision,
        devices=devices,
        nodes=nodes,
        most=config.recipe.accumulate,
        # An encoding has parameters for source queries of the last layer, which a model with one stream does not read.
        unread=architecture_of(config.size).one_stream,
    )
    if threads:
        torch.set_num_threads(threads)
    processes = Processes(fabric)
    directory = StateDirectory(state, background=fabric.device.type != "cpu")
    processes.first(lambda: _check_writable(directory, *outputs.values()))
    only_trainer = locked(
        directory.lock, lambda taken: processes.any(taken, stop_requested()), for_others=not processes.is_first
    )
    # A configuration that the workflow did not write names no code, but the saved model must name it.
    config = config.model_copy(update={"code": config.encoding.own_code | config.size.own_code})
    with _ended_together(processes), only_trainer:
        stamps = stamp(config, _identity(train_corpus)), earlier_stamp(config, _identity(train_corpus))
        if processes.first(lambda: directory.claim(*stamps)):
            print(f"The state in {state} belonged to another configuration and was discarded.", file=sys.stderr)
        processes.first(lambda: directory.discard_damaged(outputs))
        if not directory.finished.exists():
            if processes.first(lambda: directory.begin(_identity(valid_corpus))):
                print(f"The state in {state} was saved with another validation set and was discarded.", file=sys.stderr)
            _train(
                config,
                fabric,
                processes,
                directory,
                train_corpus,
                valid_corpus,
                save_seconds=save_seconds,
                stop_requested=stop_requested,
                shard_optimizer=shard_optimizer,
            )
        processes.first(lambda: directory.publish(outputs))


@contextmanager
def _ended_together(processes: Processes) -> Iterator[None]:
    """Let only the first process of an interrupted run report the reason and have the exit status.

    The others exit silently with status 0, because srun and Lightning would treat any other status as a crash and kill
    the first process before its report.
    """
    try:
        yield
        processes.close()
    except Interrupted:
        processes.close()
        if processes.is_first:
            raise
        raise SystemExit(0) from None


def _check_writable(directory: StateDirectory, *outputs: Path) -> None:
    open_lock(directory.lock).close()
    for file in outputs:
        check_writable(file)


def _check_positions(cell: Cell, *positions: Path | None) -> None:
    encoding = cell.encoding
    if encoding.needs_reordered and None in positions:
        raise WordorderError(
            f"The encoding '{encoding.type}' needs reordered source positions. Create them with 'wordorder stage "
            "positions' and pass their folders with --train-positions and --valid-positions.",
            code="missing-positions",
            key="--train-positions" if positions[0] is None else "--valid-positions",
        )
    if not encoding.needs_reordered and any(positions):
        raise WordorderError(
            f"The encoding '{encoding.type}' does not use reordered source positions. Remove --train-positions and "
            "--valid-positions.",
            code="needless-positions",
            key="--train-positions" if positions[0] is not None else "--valid-positions",
        )


def _train(
    cell: Cell,
    fabric: Fabric,
    processes: Processes,
    directory: StateDirectory,
    train: ParallelCorpus,
    valid: ParallelCorpus,
    *,
    save_seconds: float,
    stop_requested: Callable[[], bool],
    shard_optimizer: ShardOptimizer,
) -> None:
    fabric.seed_everything(cell.seed, verbose=False)
    model = build_model(cell, train.vocabulary_size)
    most = cell.recipe.max_positions
    processes.first(lambda: check_batches(valid, cell.recipe.batch_tokens))
    processes.first(lambda: check_lengths(model.encoding, train, valid, most, one_stream=model.one_stream))
    if processes.is_first and most is not None:
        print(
            f"{len(train) - len(kept_pairs(train, most)):,} of {len(train):,} training pairs are excluded, because a "
            f"side has more than {most} subwords, including its end.",
            file=sys.stderr,
        )
    # All processes start from the same weights but draw different dropout masks.
    torch.manual_seed(cell.seed * 65_536 + fabric.global_rank)
    trainer = Trainer(
        cell,
        fabric,
        TranslationObjective(model, cell.recipe.label_smoothing),
        train=train,
        valid=valid,
        state=directory,
        save_seconds=save_seconds,
        stop_requested=stop_requested,
        processes=processes,
        shard_optimizer=_shards(model, shard_optimizer, processes, fabric.device),
        pass_limit=memory.pass_limit(fabric.device, model),
    )
    try:
        with Meter(fabric.device) as meter, products(cell.recipe.precision, fabric.device.type):
            counters = trainer.run()
    except torch.OutOfMemoryError as error:
        tokens = trainer.pass_limit.tokens or cell.recipe.batch_tokens
        raise WordorderError(
            f"The memory of the GPU is too small for a pass of {tokens:,} tokens per side through this model. Set the "
            f"environment variable {memory.PASS_TOKENS} to a smaller number; 0 makes each micro-batch a separate pass. "
            "If a micro-batch is too large, lower 'batch_tokens' in the study's recipe and raise 'accumulate'.",
            code="out-of-memory",
            key=memory.PASS_TOKENS,
            found=tokens,
        ) from error
    usages = processes.gather(meter.usage(trainer.update_seconds, trainer.batch_seconds))
    operations = operations_per_token(model, corpus_ratio(train))
    record = {
        **_record(cell, model, counters, train, valid, fabric),
        "efficiency": efficiency(usages, counters.target_tokens / counters.seconds, operations),
    }
    processes.first(lambda: _finish(cell, directory, model, train.vocabulary_size, record))


def _shards(model: Translator, asked: ShardOptimizer, processes: Processes, on: torch.device) -> bool:
    """Return whether the processes divide the state of the optimizer; the result is the same in all processes."""
    if processes.number == 1:
        return False
    moments = 2 * sum(parameter.numel() * parameter.element_size() for parameter in model.parameters())
    scarce = moments > _SHARD_FROM * memory.free_memory(on)
    (auto,) = processes.any(scarce)
    return asked == "always" or (asked == "auto" and auto)


def _finish(
    cell: Cell, directory: StateDirectory, model: Translator, vocabulary_size: int, record: dict[str, Any]
) -> None:
    """Average the checkpoints and write all outputs to ``finished/`` atomically.

    All weights of a diverged run become NaN, so that no earlier checkpoint can be mistaken for its model.
    """
    diverged = record["status"] == "diverged"
    checkpoints = [] if diverged else directory.checkpoints()
    weights = average(checkpoints, directory.remedy) if checkpoints else model.state_dict()
    if diverged:
        weights = {name: tensor * math.nan for name, tensor in weights.items()}
        print(
            f"wordorder: warning: the training diverged after {record['updates']:,} updates: its loss is not a finite "
            "number. The model is in no mean and no test.",
            file=sys.stderr,
        )
    with atomic(directory.finished) as folder:
        folder.mkdir()
        save_model(folder / "model.pt", cell, vocabulary_size, weights)
        shutil.copyfile(directory.metrics, folder / "metrics.jsonl")
        write_json(folder / "record.json", {**record, "averaged_checkpoints": len(checkpoints)})
    directory.clean()


def _record(
    cell: Cell, model: Translator, counters: Counters, train: ParallelCorpus, valid: ParallelCorpus, fabric: Fabric
) -> dict[str, Any]:
    kept = kept_pairs(train, cell.recipe.max_positions)
    return {
        "status": counters.status,
        "cell": cell.model_dump(mode="json"),
        "seed": cell.seed,
        "parameters": count_parameters(model),
        "vocabulary_size": train.vocabulary_size,
        "data": {
            "train": train.digest,
            "valid": valid.digest,
            "train_pairs": len(kept),
            "left_out_pairs": len(train) - len(kept),
            **_positions(train, valid),
        },
        "updates": counters.update,
        "epochs": round(counters.target_tokens / int((train.target_lengths[kept] + 1).sum()), 3),
        "best_valid_perplexity": _perplexity(counters.best_loss),
        "best_update": counters.best_update,
        "target_tokens": counters.target_tokens,
        "seconds": round(counters.seconds, 3),
        "target_tokens_per_second": round(counters.target_tokens / counters.seconds, 1),
        "restarts": counters.restarts,
        "trained_on": counters.trained_on,
        "precision": cell.recipe.precision,
        "device": fabric.device.type,
        "attention_backends": attention.used(),
        "processes": fabric.world_size,
        "peak_memory": peak_memory(),
        **environment(),
    }


def _positions(train: ParallelCorpus, valid: ParallelCorpus) -> dict[str, dict[str, str]]:
    found = {"train_positions": train.positions, "valid_positions": valid.positions}
    return {name: {"kind": own.kind, "sha256": own.sha256} for name, own in found.items() if own is not None}


def _perplexity(loss: float) -> float | None:
    return math.exp(loss) if loss < 700 else None


def _identity(corpus: ParallelCorpus) -> str:
    return corpus.digest if corpus.positions is None else f"{corpus.digest}\n{corpus.positions.sha256}"


def _listen() -> Callable[[], bool]:
    """Record signals to stop instead of ending in the middle of an update; return whether one has arrived."""
    received = False

    def remember(*_: object) -> None:
        nonlocal received
        received = True

    for number in _SIGNALS:
        signal.signal(number, remember)
    return lambda: received
