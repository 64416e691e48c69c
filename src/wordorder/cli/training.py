"""``wordorder train``"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from wordorder.cli.arguments import positive, seconds


def add_commands(subparsers: Any) -> None:
    train = subparsers.add_parser(
        "train",
        help="Train one cell.",
        description="Train the model of one cell (encoding, size, recipe, seed). A training that was stopped, even by "
        "SIGKILL, goes on from its state directory and ends, on CPUs, with the same bits. SIGTERM or SIGUSR1 saves and "
        "exits with status 75, which means: start me again. A cell that another process is training is waited for. "
        "Several processes share the micro-batches of each update ('accumulate' of the recipe): those of 'srun "
        "wordorder train', or those that --devices asks for.",
    )
    train.add_argument("--config", required=True, metavar="CELL", help="JSON of the cell, or @FILE with JSON or YAML")
    train.add_argument("--train", required=True, type=Path, metavar="DIR", help="binary corpus to learn from")
    train.add_argument("--valid", required=True, type=Path, metavar="DIR", help="binary corpus for the perplexity")
    for split in ("train", "valid"):
        train.add_argument(
            f"--{split}-positions",
            type=Path,
            metavar="DIR",
            help=f"reordered source positions of --{split}, for an encoding that needs them",
        )
    train.add_argument("--model", required=True, type=Path, metavar="OUT", help="finished model")
    train.add_argument("--metrics", required=True, type=Path, metavar="OUT", help="JSON lines, one a report")
    train.add_argument("--record", required=True, type=Path, metavar="OUT", help="what was run, where, on what")
    train.add_argument("--state", required=True, type=Path, metavar="DIR", help="saved state; kept over restarts")
    train.add_argument(
        "--devices",
        type=positive,
        metavar="N",
        help="processes on this machine, one a GPU where there are GPUs (default: the GPUs of the SLURM job, or 1)",
    )
    train.add_argument(
        "--nodes",
        type=positive,
        default=1,
        metavar="M",
        help="machines, without SLURM: run this on each with MASTER_ADDR, MASTER_PORT and NODE_RANK set (default: 1)",
    )
    train.add_argument(
        "--shard-optimizer",
        choices=("auto", "always", "never"),
        default="auto",
        help="share the optimizer's memory out over the processes; auto: from 1 GiB on (134 million parameters)",
    )
    train.add_argument(
        "--threads", type=positive, metavar="N", help="CPU threads a process (default: PyTorch's choice)"
    )
    train.add_argument("--save-seconds", type=seconds, default=120, metavar="S", help="save the state this often")
    train.set_defaults(run=_train)


def _train(options: argparse.Namespace) -> None:
    from wordorder.config.load import slice_argument
    from wordorder.config.models import Cell
    from wordorder.training.run import Outputs, run

    run(
        slice_argument(options.config, Cell),
        train=options.train,
        valid=options.valid,
        outputs=Outputs(options.model, options.metrics, options.record),
        state=options.state,
        train_positions=options.train_positions,
        valid_positions=options.valid_positions,
        devices=options.devices,
        nodes=options.nodes,
        threads=options.threads,
        save_seconds=options.save_seconds,
        shard_optimizer=options.shard_optimizer,
    )
