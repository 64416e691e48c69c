"""``wordorder stage train``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from typer import Option

from wordorder.cli.app import stage
from wordorder.cli.options import ModelThreads, seconds, slice_of
from wordorder.cli.slices import models


@stage(
    "train --config @cell.yaml --train binary/train --valid binary/valid --model model.pt \\\n"
    "      --metrics metrics.jsonl --record record.json --state state"
)
def train(
    *,
    config: Annotated[models.Cell, slice_of("models.Cell", "training run")],
    train: Annotated[Path, Option(help="binary corpus to train on")],
    valid: Annotated[Path, Option(help="binary corpus for validation")],
    train_positions: Annotated[Path | None, Option(help="reordered source positions of --train, if needed")] = None,
    valid_positions: Annotated[Path | None, Option(help="reordered source positions of --valid, if needed")] = None,
    model: Annotated[Path, Option(help="finished model to write")],
    metrics: Annotated[Path, Option(help="metrics to write, JSON lines")],
    record: Annotated[Path, Option(help="run record to write, JSON")],
    state: Annotated[Path, Option(help="folder of the saved state, kept over restarts")],
    devices: Annotated[
        int | None, Option(min=1, help="processes on this machine (default: one per GPU of the job)")
    ] = None,
    nodes: Annotated[int, Option(min=1, help="machines, if there is no SLURM")] = 1,
    shard_optimizer: Annotated[
        Literal["auto", "always", "never"], Option(help="divide the optimizer's memory among the processes")
    ] = "auto",
    threads: ModelThreads = None,
    save_seconds: Annotated[
        float, Option(parser=seconds, metavar="SECONDS", help="seconds between two saves of the state")
    ] = 120,
) -> None:
    """Train the model of one cell.

    A cell is an encoding, a size, a recipe and a seed. A training that was stopped, even by SIGKILL, resumes from its
    saved state and ends, on CPUs, with the same bits. SIGTERM or SIGUSR1 saves the state and exits with status 75;
    rerun the command to resume. If another process trains the cell, the command waits for it. Several processes share
    the micro-batches of each update ('accumulate' of the recipe): those of 'srun wordorder stage train', or those that
    --devices starts. Without SLURM, run the command on each of --nodes machines with MASTER_ADDR, MASTER_PORT and
    NODE_RANK set. --shard-optimizer auto divides the optimizer's memory from 1 GiB on (134 million parameters).
    """
    from wordorder.training.run import Outputs, run

    run(
        config,
        train=train,
        valid=valid,
        outputs=Outputs(model, metrics, record),
        state=state,
        train_positions=train_positions,
        valid_positions=valid_positions,
        devices=devices,
        nodes=nodes,
        threads=threads,
        save_seconds=save_seconds,
        shard_optimizer=shard_optimizer,
    )
