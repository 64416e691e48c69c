"""Measures what batches cost the host of a GPU: planning an epoch, and waiting for batches made in the background.

    python benchmarks/batches.py [--pairs 36000000] [--speed 1000000] [--output benchmarks/records/batches.json]

The lengths are drawn at random, about as those of news text in subwords. Planning is one epoch of
`training.batches.plan_batches`, in processor time, with the peak memory of the process before and after. Waiting
is measured with a consumer that sleeps as long as a GPU of the given speed would work on each update.
"""

from __future__ import annotations

import argparse
import resource
import tempfile
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from wordorder.data.binary import ParallelCorpus, write_corpus
from wordorder.files import write_json
from wordorder.training.batches import Indices, ahead, collate_rows, plan_batches
from wordorder.training.record import environment

BATCH_TOKENS, ACCUMULATE, AHEAD = 4096, 8, 2
SAMPLE = 60_000  # pairs of the corpus from which batches are made


def lengths(pairs: int, generator: np.random.Generator) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Draw the lengths of both sides, in subwords without END."""
    source = np.exp(generator.standard_normal(pairs, dtype=np.float32) * 0.6 + 3.2)
    target = source * (1 + 0.15 * generator.standard_normal(pairs, dtype=np.float32))
    return np.clip(source, 1, 250).astype(np.int32), np.clip(target, 1, 250).astype(np.int32)


def peak() -> float:
    """Return the largest memory of this process so far, in GB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6


def planning(pairs: int) -> dict[str, Any]:
    """Plan one epoch."""
    with tempfile.TemporaryDirectory() as folder:
        # The lengths are mapped files, as those of a corpus.
        for name, values in zip(("source", "target"), lengths(pairs, np.random.default_rng(0)), strict=True):
            np.save(Path(folder) / name, values)
        sides = {f"{name}_lengths": np.load(Path(folder) / f"{name}.npy") for name in ("source", "target")}
    before, began = peak(), time.process_time()
    corpus = cast(ParallelCorpus, SimpleNamespace(**sides))
    batches = plan_batches(corpus, BATCH_TOKENS, generator=np.random.default_rng([1, 0]))
    seconds = time.process_time() - began
    return {"pairs": pairs, "batches": len(batches), "seconds": seconds, "peak_gb": peak(), "peak_gb_before": before}


def waiting(speed: float, updates: int) -> dict[str, Any]:
    """Make updates in the background, in rows of several sentences, for ``speed`` target tokens per second."""
    generator = np.random.default_rng(0)
    sides = zip(*lengths(SAMPLE, generator), strict=True)
    pairs = ((list(generator.integers(4, 32_000, s)), list(generator.integers(4, 32_000, t))) for s, t in sides)
    with tempfile.TemporaryDirectory() as folder:
        write_corpus(Path(folder) / "corpus", pairs, vocabulary_size=32_000)
        corpus = ParallelCorpus.open(Path(folder) / "corpus")
        batches = plan_batches(corpus, BATCH_TOKENS, generator=generator)
        groups = [batches[start : start + ACCUMULATE] for start in range(0, len(batches), ACCUMULATE)][:updates]

        def make(group: list[Indices]) -> int:
            return collate_rows(corpus, np.concatenate(group)).target_tokens

        waited = worked = 0.0
        made = ahead(make, groups, depth=AHEAD)
        for number in range(len(groups)):
            began = time.perf_counter()
            tokens = next(made)
            if number >= AHEAD:  # the first updates fill the queue
                waited += time.perf_counter() - began
                worked += tokens / speed
            time.sleep(tokens / speed)
    return {"tokens_per_second": speed, "updates": len(groups), "waiting": waited / (waited + worked)}


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=36_000_000, help="pairs of the epoch that is planned")
    parser.add_argument("--speed", type=float, default=1e6, help="target tokens per second of the simulated GPU")
    parser.add_argument("--updates", type=int, default=60, help="updates of the simulated GPU")
    parser.add_argument("--output", type=Path, help="the record to write, JSON")
    options = parser.parse_args()
    results = {"planning": planning(options.pairs), "waiting": waiting(options.speed, options.updates)}
    plan, wait = results["planning"], results["waiting"]
    print(
        f"Planning {plan['pairs']:,} pairs: {plan['seconds']:.1f} s of processor time, {plan['peak_gb']:.2f} GB at the "
        f"peak ({plan['peak_gb_before']:.2f} GB before)."
    )
    print(
        f"Waiting for batches at {wait['tokens_per_second']:,.0f} tokens/s: {100 * wait['waiting']:.1f} % of the time."
    )
    if options.output:
        write_json(options.output, {"environment": environment(), "results": results})


if __name__ == "__main__":
    main()
