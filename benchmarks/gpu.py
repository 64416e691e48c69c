"""Measure on a GPU what its code path assumes: joined micro-batches, fused attention, precision and settings.

    python benchmarks/gpu.py [--study posnet] [--size base] [--seconds 2] [--rounds 2] [--json OUT]

In each round, every pair of an encoding and a variant trains for some seconds on the same random sentences, with the
recipe of the study. A ratio divides the speed of a variant by the speed of the same encoding as it is, in the same
round. docs/gpu.md explains the variants.
"""

from __future__ import annotations

import argparse
import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from statistics import median
from typing import Any
from unittest import mock

import torch
from script_common import run_script
from tabulate import tabulate
from torch import Tensor

from wordorder.config.load import load_encodings, load_sizes
from wordorder.config.models import Cell
from wordorder.encodings.base import Positions
from wordorder.encodings.relative import RelativeAttention
from wordorder.errors import WordorderError
from wordorder.files import write_json
from wordorder.model.attention import base as attention
from wordorder.progress import Progress
from wordorder.status.hardware import peak
from wordorder.training import device
from wordorder.training.memory import PASS_TOKENS
from wordorder.training.probe import simulated_corpus, timed_updates
from wordorder.training.record import environment
from wordorder.workflow.configuration import Configuration

ROOT = Path("config")
AS_IT_IS, SPEED = "as it is", "target_tokens_per_second"


@contextmanager
def cudnn_attention() -> Iterator[None]:
    """Let PyTorch choose cuDNN's attention."""
    torch.backends.cuda.enable_cudnn_sdp(True)
    try:
        yield
    finally:
        torch.backends.cuda.enable_cudnn_sdp(False)


@contextmanager
def deterministic() -> Iterator[None]:
    """Use deterministic algorithms where PyTorch has them."""
    torch.use_deterministic_algorithms(True, warn_only=True)
    torch.utils.deterministic.fill_uninitialized_memory = False  # type: ignore[attr-defined]
    try:
        yield
    finally:
        torch.use_deterministic_algorithms(False)


def by_index() -> AbstractContextManager[Any]:
    """Look up Shaw's numbers and sum them by index, as on a CPU, instead of by products with a one-hot."""

    def scores(self: Any, scores: Tensor, queries: Tensor, keys: Tensor, query: Positions, key: Positions) -> Tensor:
        products = queries @ self.key_vectors.transpose(-1, -2).to(queries.dtype)
        rows = self._rows(query, key, scores.size(1)).expand(scores.size(0), -1, -1, -1)
        found: Tensor = scores + products.gather(-1, rows)
        return found

    def context(self: Any, context: Tensor, weights: Tensor, query: Positions, key: Positions) -> Tensor:
        rows = self._rows(query, key, weights.size(1)).expand(weights.size(0), -1, -1, -1)
        sums = weights.new_zeros((*weights.shape[:-1], self.value_vectors.size(1))).scatter_add(-1, rows, weights)
        found: Tensor = context + sums @ self.value_vectors.to(weights.dtype)
        return found

    return mock.patch.multiple(RelativeAttention, scores=scores, context=context)


def variable(name: str, value: str) -> Callable[[], AbstractContextManager[Any]]:
    """Set an environment variable."""
    return lambda: mock.patch.dict(os.environ, {name: value})


# For each variant what it sets, the precision of its recipe (None: the study's), and the encodings that it concerns.
VARIANTS: dict[str, tuple[Callable[[], AbstractContextManager[Any]], str | None, list[str]]] = {
    AS_IT_IS: (nullcontext, None, ["sinusoidal", "rope", "alibi", "t5", "relative", "cope", "transformer_xl"]),
    "one micro-batch per pass": (variable(PASS_TOKENS, "0"), None, ["sinusoidal", "rope", "t5", "relative", "cope"]),
    "micro-batches joined": (variable(PASS_TOKENS, "32768"), None, ["cope"]),
    "eager attention": (variable(attention.VARIABLE, "eager"), None, ["sinusoidal", "alibi", "t5", "transformer_xl"]),
    "cuDNN attention": (cudnn_attention, None, ["sinusoidal", "alibi"]),
    "deterministic": (deterministic, None, ["sinusoidal", "relative"]),
    "sums by index": (by_index, None, ["relative"]),
    "fp32": (nullcontext, "fp32", ["sinusoidal"]),
    "bf16": (nullcontext, "bf16", ["sinusoidal", "t5"]),
}


def measure(options: argparse.Namespace, folder: Path, corpus: Any) -> list[dict[str, Any]]:
    """Measure every pair once per round."""
    study, size = Configuration(ROOT).study(options.study), load_sizes(ROOT)[options.size]
    recipe, found = study.recipe_of(study.datasets[0]), []
    pairs = [(name, variant) for variant, (*_, own) in VARIANTS.items() for name in own]
    encodings = load_encodings(ROOT, list(dict.fromkeys(name for name, _ in pairs)))
    with Progress("measure", total=options.rounds * len(pairs), unit="measurements") as progress:
        for turn in range(options.rounds):
            for name, variant in pairs:
                setting, precision, _ = VARIANTS[variant]
                own = recipe.model_copy(update={"precision": precision or recipe.precision})
                cell = Cell(encoding=encodings[name], size=size, recipe=own, seed=1)
                state = folder / f"{turn}.{name}.{variant}"
                with setting():
                    entry = timed_updates(cell, corpus, state, options.seconds)
                found.append({"round": turn, "encoding": name, "variant": variant, "precision": own.precision, **entry})
                progress.advance()
    return found


def report(found: Sequence[dict[str, Any]], hardware: str) -> str:
    """Format a table of medians over the rounds."""
    speeds = {(each["round"], each["encoding"], each["variant"]): each.get(SPEED) for each in found}
    rows = []
    for name, variant in dict.fromkeys((each["encoding"], each["variant"]) for each in found):
        own = [each for each in found if (each["encoding"], each["variant"]) == (name, variant)]
        if failed := next((each["failed"] for each in own if "failed" in each), None):
            rows.append([name, variant, failed])
            continue
        speed = median(each[SPEED] for each in own)
        ratios = [each[SPEED] / usual for each in own if (usual := speeds[each["round"], name, AS_IT_IS]) is not None]
        most = peak(hardware, own[0]["precision"])
        rows.append(
            [
                name, variant, f"{speed:,.0f}", f"{median(ratios):.2f}" if ratios else "",
                " ".join(f"{ratio:.2f}" for ratio in ratios),
                f"{speed * own[0]['flops_per_token'] / most:.1%}" if most else "",
                f"{max(each.get('gpu_bytes', 0) for each in own) / 1e9:.1f}",
            ]
        )  # fmt: skip
    headers = ["encoding", "variant", "target tokens/s", "to as it is", "in each round", "of peak", "GPU GB"]
    align = ("left", "left", *["right"] * 5)
    table: str = tabulate(rows, headers, tablefmt="github", colalign=align, disable_numparse=True)
    return table


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--study", default="posnet", help="the study whose recipe is used (default: %(default)s)")
    parser.add_argument("--size", default="base", help="the size of the models (default: %(default)s)")
    parser.add_argument("--vocabulary", type=int, default=37_000, help="subwords (default: %(default)s)")
    parser.add_argument("--seconds", type=float, default=2.0, help="per measurement (default: %(default)s)")
    parser.add_argument("--rounds", type=int, default=2, help="default: %(default)s")
    parser.add_argument("--json", type=Path, metavar="OUT", help="write the record of the run to this file")
    return parser.parse_args(arguments)


def run(options: argparse.Namespace) -> None:
    if not torch.cuda.is_available():
        raise WordorderError("PyTorch finds no GPU on this machine. Run the benchmark on a machine with a GPU.")
    device.prepare()
    with tempfile.TemporaryDirectory() as temporary:
        corpus = simulated_corpus(Path(temporary) / "corpus", options.vocabulary)
        found = measure(options, Path(temporary), corpus)
    used = environment()
    print(report(found, used["hardware"]["gpus"][0]))
    if options.json:
        settings = {key: getattr(options, key) for key in ("study", "size", "vocabulary", "seconds", "rounds")}
        write_json(options.json, used | {"settings": settings, "measurements": found})


if __name__ == "__main__":
    run_script(run, parse)
