"""Time a training step of wordorder and of Hugging Face's Marian of the same shape, in turns, on a CPU.

    python benchmarks/training.py --corpus results/data/multi30k/binary/train [--threads 2] [--json OUT]

Settings such as those of the allocator and of matrix products apply to a whole process. Each variant therefore has its
own process; they work one at a time, in turns, on the same batches. With the same weights and without dropout, all must
first give the same loss and gradient. The script then prints the speed in each round, the ratios, and the share of the
machine's matrix-product speed that each variant reaches. docs/benchmarks.md explains how to read them. The script
requires the extra 'benchmark'.
"""

from __future__ import annotations

import argparse
import importlib.util
import math
import multiprocessing
import os
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from functools import partial
from importlib import metadata
from itertools import count, islice
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import torch
from flops import TYPES, model_flops, products, products_rate, square_rate
from script_common import positive, run_script
from tabulate import tabulate
from training_variants import OURS, SEED, TUNED, VARIANTS, cell

from wordorder.data.binary import ParallelCorpus
from wordorder.errors import WordorderError
from wordorder.files import write_json
from wordorder.progress import Progress
from wordorder.training.batches import Indices, epoch_batches
from wordorder.training.record import environment

SETTLE = 0.3  # seconds; the threads of the variant before may spin for a moment after their last loop


def serve(pipe: Any, name: str, precision: str, corpus: Path, threads: int) -> None:
    """Run the process of a variant: answer requests (name of a function, arguments) until the pipe closes."""
    torch.set_num_threads(threads)
    variant = VARIANTS[name](cell(precision), ParallelCorpus.open(corpus))

    def run(batches: list[Indices]) -> tuple[float, float]:
        clock, cpu = time.perf_counter(), time.process_time()
        for sentences in batches:
            variant.update(sentences)
        return time.perf_counter() - clock, time.process_time() - cpu

    functions: dict[str, Callable[..., Any]] = {
        "check": variant.check,
        "run": run,
        "square_rate": partial(square_rate, precision),
        "products_rate": partial(products_rate, precision),
    }
    try:
        while True:
            function, arguments = pipe.recv()
            pipe.send(functions[function](*arguments))
    except (EOFError, KeyboardInterrupt):  # the benchmark has ended
        pass


class Worker:
    """The client of a variant: starts its process and sends requests."""

    def __init__(self, name: str, *settings: Any) -> None:
        self.name = name
        context = multiprocessing.get_context("spawn")  # nothing of this process's settings is inherited
        self.pipe, theirs = context.Pipe()
        self.process = context.Process(target=serve, args=(theirs, name, *settings), daemon=True)
        self.process.start()
        theirs.close()

    def __enter__(self) -> Worker:
        return self

    def __exit__(self, *_: object) -> None:
        self.pipe.close()
        self.process.join(timeout=5)
        self.process.terminate()

    def ask(self, function: str, *arguments: Any) -> Any:
        try:
            self.pipe.send((function, arguments))
            return self.pipe.recv()
        except (EOFError, ConnectionError) as error:
            raise WordorderError(
                f"The process of the variant '{self.name}' ended before its work was done; its own message is above. "
                "Without one, the machine may have run out of memory: each variant needs a few GB."
            ) from error


def draw_batches(corpus: ParallelCorpus, batch_tokens: int, number: int) -> list[Indices]:
    """Return the first batches of a training on ``corpus``, over as many epochs as needed."""
    every = (batch for epoch in count() for batch in epoch_batches(corpus, batch_tokens, seed=SEED, epoch=epoch))
    return list(islice(every, number))


def compare_losses(answers: dict[str, tuple[float, float]]) -> None:
    """Stop unless all variants have wordorder's loss, to 1e-4, and its gradient."""
    loss, norm = answers[OURS]
    for name, (other_loss, other_norm) in answers.items():
        if not (math.isclose(other_loss, loss, abs_tol=1e-4) and math.isclose(other_norm, norm, rel_tol=1e-3)):
            raise WordorderError(
                f"With the same weights, on the same batch, the loss of '{name}' is {other_loss:.6f} and its "
                f"gradient's norm {other_norm:.6f}; those of wordorder are {loss:.6f} and {norm:.6f}. These are two "
                "different models, so their times cannot be compared."
            )


def measure(options: argparse.Namespace, precision: str, corpus: ParallelCorpus) -> dict[str, Any]:
    """Run all rounds of one precision."""
    config = cell(precision)
    batches = draw_batches(corpus, config.recipe.batch_tokens, options.warmup + options.rounds * options.updates)
    warmup, batches = batches[: options.warmup], batches[options.warmup :]
    rounds = [batches[start : start + options.updates] for start in range(0, len(batches), options.updates)]
    turns = len(VARIANTS) * (len(rounds) + 1)
    with ExitStack() as stack:
        progress = stack.enter_context(Progress(f"train, {precision}", total=turns, unit="turns"))
        settings = (precision, options.corpus, options.threads)
        workers = {name: stack.enter_context(Worker(name, *settings)) for name in VARIANTS}
        checks = {name: worker.ask("check", warmup[0]) for name, worker in workers.items()}
        compare_losses(checks)
        for worker in workers.values():
            worker.ask("run", warmup)
            progress.advance()
        done = []
        for number, group in enumerate(rounds):
            seconds, cpu, square = {}, {}, {}
            names = list(workers)
            for name in names[number % len(names) :] + names[: number % len(names)]:  # each is first in turn
                time.sleep(SETTLE)
                seconds[name], cpu[name] = workers[name].ask("run", group)
                square[name] = workers[name].ask("square_rate")
                progress.advance()
            every = np.concatenate(group)
            source, target = corpus.source_lengths[every] + 1, corpus.target_lengths[every] + 1
            flops = model_flops(config.size, corpus.vocabulary_size, source, target)
            done.append(
                {
                    "target_tokens": int(target.sum()),
                    "flops": flops,
                    "seconds": seconds,
                    "cpu_seconds": cpu,
                    "square_flops_per_second": square,
                }
            )
        middle = sorted(rounds[0], key=len)[len(rounds[0]) // 2]
        longest = (int(lengths[middle].max()) + 1 for lengths in (corpus.source_lengths, corpus.target_lengths))
        shapes = products(config.size, corpus.vocabulary_size, len(middle), *longest)
        own = workers[OURS].ask("products_rate", shapes)
    return summary(done, own) | {"check": {name: {"loss": a, "gradient_norm": b} for name, (a, b) in checks.items()}}


def summary(rounds: list[dict[str, Any]], own_rate: float) -> dict[str, Any]:
    """Compute speeds, ratios and shares of the ceilings from the times of the rounds."""
    names = list(rounds[0]["seconds"])
    speeds = {name: [turn["target_tokens"] / turn["seconds"][name] for turn in rounds] for name in names}
    rates = {name: median(turn["flops"] / turn["seconds"][name] for turn in rounds) for name in names}
    squares = {name: median(turn["square_flops_per_second"][name] for turn in rounds) for name in names}
    ceiling = max(squares.values())
    return {
        "target_tokens_per_second": {name: {"median": median(speeds[name]), "rounds": speeds[name]} for name in names},
        "wordorder_over": {name: _ratios(rounds, name) for name in names if name != OURS},
        "best_tuned": max(TUNED, key=lambda name: median(speeds[name])),
        "model_flops_per_second": rates,
        "square_flops_per_second": squares,
        "own_shapes_flops_per_second": own_rate,
        "share_of_square": {name: rates[name] / ceiling for name in names},
        "share_of_own_shapes": {name: rates[name] / own_rate for name in names},
        "rounds": rounds,
    }


def _ratios(rounds: list[dict[str, Any]], name: str) -> dict[str, Any]:
    """Return how many times as fast as ``name`` wordorder was, in wall time and in CPU time."""
    clock, cpu = ([turn[kind][name] / turn[kind][OURS] for turn in rounds] for kind in ("seconds", "cpu_seconds"))
    return {"median": median(clock), "rounds": clock, "cpu_median": median(cpu), "cpu_rounds": cpu}


def report(precision: str, result: dict[str, Any]) -> str:
    """Format the table of one precision."""
    rows = []
    for name, speed in result["target_tokens_per_second"].items():
        ratio = result["wordorder_over"].get(name)
        rows.append(
            [
                name + (" (best)" if name == result["best_tuned"] else ""),
                f"{speed['median']:,.0f}",
                f"{ratio['median']:.2f}" if ratio else "",
                " ".join(f"{value:.2f}" for value in ratio["rounds"]) if ratio else "",
                f"{ratio['cpu_median']:.2f}" if ratio else "",
                f"{result['model_flops_per_second'][name] / 1e9:,.0f}",
                f"{result['share_of_square'][name]:.0%}",
                f"{result['share_of_own_shapes'][name]:.0%}",
                f"{result['square_flops_per_second'][name] / 1e9:,.0f}",
            ]
        )
    headers = [
        f"{precision}",
        "target tokens/s",
        "wordorder / it",
        "in each round",
        "in CPU time",
        "GFLOP/s",
        "of square ceiling",
        "of own shapes'",
        "its 2048³ GFLOP/s",
    ]
    align = ("left", *["right"] * (len(headers) - 1))
    ceiling = result["own_shapes_flops_per_second"] / 1e9
    table = tabulate(rows, headers, tablefmt="github", colalign=align, disable_numparse=True)
    return f"{table}\nThe products of the model's own shapes alone: {ceiling:,.0f} GFLOP/s.\n"


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpus", type=Path, required=True, metavar="DIR", help="a binary corpus to train on")
    parser.add_argument("--threads", type=positive, default=2, help="threads of each variant (default: %(default)s)")
    parser.add_argument("--rounds", type=positive, default=3, help="turns of each variant (default: %(default)s)")
    parser.add_argument("--updates", type=positive, default=8, help="updates per turn (default: %(default)s)")
    parser.add_argument(
        "--warmup", type=positive, default=3, help="updates before the first round (default: %(default)s)"
    )
    parser.add_argument("--precision", nargs="+", choices=list(TYPES), default=list(TYPES), help="default: all")
    parser.add_argument("--json", type=Path, metavar="OUT", help="write the record of the run to this file")
    return parser.parse_args(arguments)


def run(options: argparse.Namespace) -> None:
    if importlib.util.find_spec("transformers") is None:
        raise WordorderError("The peer, transformers, is not installed. Install the extra: pip install '.[benchmark]'.")
    from decoding import POSITIONS

    os.environ["CUDA_VISIBLE_DEVICES"] = ""  # for all variants
    torch.set_num_threads(options.threads)
    corpus = ParallelCorpus.open(options.corpus)
    if not len(corpus):
        raise WordorderError(f"{options.corpus} holds no sentence pairs. Give a corpus to train on.")
    longest = 1 + max(corpus.source_lengths.max(), corpus.target_lengths.max())
    if longest > POSITIONS:
        raise WordorderError(
            f"{options.corpus} has a sentence of {longest} subwords, the peer is given only {POSITIONS} positions. "
            "Lower cleaning.max_length of the dataset, or give another corpus."
        )
    results = {}
    for precision in options.precision:
        results[precision] = measure(options, precision, corpus)
        print(report(precision, results[precision]), flush=True)
    if options.json:
        settings = {"threads", "rounds", "updates", "warmup"}
        record = environment()
        record["packages"]["transformers"] = metadata.version("transformers")
        record["settings"] = {key: value for key, value in vars(options).items() if key in settings}
        record["corpus"] = {"path": str(options.corpus), "pairs": len(corpus), "digest": corpus.digest}
        record["cells"] = {precision: cell(precision).model_dump(mode="json") for precision in options.precision}
        write_json(options.json, record | {"results": results})


if __name__ == "__main__":
    run_script(run, parse)
