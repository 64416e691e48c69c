"""Time each encoding and no encoding: a training step, a forward pass and decoding, at several lengths, in turns.

    python benchmarks/encoding_cost.py [--size base] [--lengths 32 64 256] [--threads 2] [--output PREFIX]

The script puts each encoding into the same Transformer and uses the same batches. In each round, every encoding makes
one training step (forward, backward, optimizer), and 'none' makes another one after every few of the others. A ratio is
the time of a step divided by the mean of the two steps of 'none' around it; the script reports the median over the
rounds. It also times naive formulations, after a check that they have the same loss. docs/benchmarks.md explains how to
read the result.
"""

from __future__ import annotations

import argparse
import ctypes
import random
import time
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from pathlib import Path
from statistics import median
from typing import Any

import pandas as pd
import torch
from encoding_naive import NAIVE
from matplotlib.figure import Figure
from script_common import positive, run_script
from tabulate import tabulate

from wordorder.config.load import load_sizes
from wordorder.config.models import Recipe
from wordorder.drawing.style import cue, save, styled
from wordorder.encodings.base import Encoding, Positions
from wordorder.encodings.registry import build, encoding_types, parse
from wordorder.errors import WordorderError
from wordorder.files import write_json
from wordorder.model.architectures.transformer import Transformer
from wordorder.model.batch import BEGIN, END, Batch
from wordorder.model.objective import TranslationObjective
from wordorder.progress import Progress
from wordorder.training.device import prepare
from wordorder.training.record import environment

NONE = "none"
BETWEEN = 4  # encodings timed between two steps of 'none'
HYPOTHESES = 4


class Bench:
    """One Transformer, the encodings to put into it, and an optimizer for all their parameters."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.device = torch.device(options.device)
        self.precision = options.precision
        # Processor time hardly depends on other work of the machine.
        self.clock = time.process_time if options.clock == "cpu" else time.perf_counter
        self.vocabulary = options.vocabulary
        size = load_sizes("config")[options.size]
        if options.layers:
            size = size.model_copy(update={"encoder_layers": options.layers, "decoder_layers": options.layers})
        shape = Transformer.shape(size)
        torch.manual_seed(0)
        # Tables are as long as the longest requested sentence; 'none' must come first.
        names = [NONE, *(name for name in options.encodings or encoding_types() if name != NONE)]
        configs = {name: parse({"type": name}) for name in names}
        longest = max(*options.lengths, *options.decode, 0) + 2
        for name, config in configs.items():
            if getattr(config, "table", longest) < longest and name != "cope":
                configs[name] = config.model_copy(update={"table": longest})
        self.encodings: dict[str, Encoding] = {name: build(config, shape) for name, config in configs.items()}
        wanted = {} if options.no_naive else NAIVE
        self.naive = {naive: base for naive, (base, _) in wanted.items() if base in self.encodings}
        for naive, base in self.naive.items():
            self.encodings[naive] = NAIVE[naive][1](configs[base], shape)
            self.encodings[naive].load_state_dict(self.encodings[base].state_dict())
        for encoding in self.encodings.values():
            encoding.to(self.device)
        recipe = Recipe(norm="pre", max_updates=1, dropout=options.dropout)
        self.model = Transformer(size, recipe, self.encodings[NONE], self.vocabulary).to(self.device)
        self.objective = TranslationObjective(self.model, recipe.label_smoothing)
        parameters = [*self.model.parameters()]
        for encoding in self.encodings.values():
            parameters += encoding.parameters()
        # Parameters of encodings that are not in the model have no gradient, so the optimizer skips them.
        self.optimizer = torch.optim.AdamW(parameters, lr=1e-6, fused=True)

    def use(self, name: str, *, training: bool) -> None:
        self.model.encoding = self.encodings[name]
        self.model.train(training)

    def batch(self, length: int, tokens: int) -> Batch:
        """Generate sentences of exactly ``length`` subwords on both sides, with random reordered positions."""
        count = max(1, tokens // length)
        words = torch.randint(4, self.vocabulary, (2, count, length - 1))
        edge = torch.ones(count, 1, dtype=torch.int64)
        reordered = torch.cat((torch.rand(count, length - 1).argsort(1), (length - 1) * edge), 1)
        target = words[1]
        batch = Batch(
            source=torch.cat((words[0], END * edge), 1),
            target_input=torch.cat((BEGIN * edge, target), 1),
            target_output=torch.cat((target, END * edge), 1),
            real=None,
            target_tokens=count * length,
            source_positions=reordered,
        )
        return batch.to(self.device)

    def autocast(self) -> Any:
        return torch.autocast(self.device.type, torch.bfloat16) if self.precision == "bf16" else nullcontext()

    def step(self, batch: Batch) -> tuple[float, float]:
        """Measure the seconds of the forward pass, and of the whole training step."""
        self.synchronise()
        start = self.clock()
        with self.autocast():
            loss = self.objective(batch)[0] / batch.target_tokens
        self.synchronise()
        forward = self.clock() - start
        loss.backward()
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        self.synchronise()
        return forward, self.clock() - start

    @torch.no_grad()
    def decode(self, length: int, sentences: int) -> float:
        """Measure the seconds of ``length`` steps of decoding, with four hypotheses per sentence."""
        batch = self.batch(length, sentences * length)
        tokens = batch.target_input[:, :1].expand(-1, HYPOTHESES)
        with self.autocast():
            positions = Positions.range(length, on=self.device).with_reordered(batch.source_positions)
            memory = self.model.encode(batch.source, positions=positions)
            caches = self.model.new_caches()
            self.synchronise()
            start = self.clock()
            for step in range(length):
                self.model.step(tokens, memory, caches, step)
            self.synchronise()
        return self.clock() - start

    def synchronise(self) -> None:
        if self.device.type == "cuda":
            torch.cuda.synchronize()

    @torch.no_grad()
    def check_naive(self) -> None:
        """Check that the naive formulations have our loss, to a relative error of 1e-5."""
        batch = self.batch(17, 60)
        for naive, base in self.naive.items():
            losses = []
            for name in (naive, base):
                self.use(name, training=False)
                losses.append(float(self.objective(batch)[0]))
            if abs(losses[0] - losses[1]) > 1e-5 * abs(losses[1]):
                raise WordorderError(f"'{naive}' has the loss {losses[0]}, '{base}' has {losses[1]}: they differ.")

    def peak(self, run: Callable[[], object]) -> int:
        """Return the peak number of bytes in use during ``run``, minus those in use before."""
        if self.device.type == "cuda":
            torch.cuda.empty_cache()
            torch.cuda.reset_peak_memory_stats()
            before = torch.cuda.memory_allocated()
            run()
            return torch.cuda.max_memory_allocated() - before
        ctypes.CDLL("libc.so.6").malloc_trim(0)
        Path("/proc/self/clear_refs").write_text("5")  # resets the peak
        before = _status("VmRSS")
        run()
        return _status("VmHWM") - before


def _status(key: str) -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return 1024 * next(int(line.split()[1]) for line in lines if line.startswith(key + ":"))


def in_turns(names: list[str], rounds: int, run: Callable[[str], Any], progress: Progress) -> list[dict[str, Any]]:
    """Return a row for every timed run: its encoding, its times, and those of the runs of 'none' before and after."""
    rows = []
    for number in range(rounds):
        others = [name for name in names if name != NONE]
        random.Random(number).shuffle(others)
        before = run(NONE)
        for start in range(0, len(others), BETWEEN):
            group = others[start : start + BETWEEN]
            figures = {name: run(name) for name in group}
            after = run(NONE)
            rows += [{"encoding": name, "own": own, "none": (before, after)} for name, own in figures.items()]
            before = after
            progress.advance(len(group))
    return rows


def measure(bench: Bench, options: argparse.Namespace) -> list[dict[str, Any]]:
    """Return one row per length and encoding."""
    found = []
    names = list(bench.encodings)
    turns = (len(names) - 1) * (options.rounds * len(options.lengths) + options.rounds * len(options.decode))
    with Progress("measure", total=turns, unit="runs") as progress:
        for length in options.lengths:
            batch = bench.batch(length, options.tokens)

            def train(name: str, batch: Batch = batch) -> tuple[float, float]:
                bench.use(name, training=True)
                return bench.step(batch)

            peaks = {}
            for name in names:  # also warms up
                bench.use(name, training=True)
                bench.step(batch)
                peaks[name] = bench.peak(lambda batch=batch: bench.step(batch))  # type: ignore[misc]
            rows = in_turns(names, options.rounds, train, progress)
            for name in names:
                own = [row for row in rows if row["encoding"] == name]
                ratios = [[row["own"][k] / (sum(none[k] for none in row["none"]) / 2) for row in own] for k in (0, 1)]
                seconds = [row["own"][1] for row in own] or [none[1] for row in rows for none in row["none"]]
                found.append(
                    {
                        "work": "training step", "length": length, "encoding": name, "tokens": batch.target_tokens,
                        "ratio": median(ratios[1]) if own else 1.0, "ratios": ratios[1],
                        "forward_ratio": median(ratios[0]) if own else 1.0, "seconds": median(seconds),
                        "peak_bytes": peaks[name], "peak_ratio": peaks[name] / peaks[NONE],
                    }
                )  # fmt: skip
        for length in options.decode:

            def decode(name: str, length: int = length) -> float:
                bench.use(name, training=False)
                return bench.decode(length, options.sentences)

            for name in names:
                decode(name)
            rows = in_turns(names, options.rounds, decode, progress)
            for name in names:
                own = [row for row in rows if row["encoding"] == name]
                each = [row["own"] / (sum(row["none"]) / 2) for row in own]
                seconds = [row["own"] for row in own] or [none for row in rows for none in row["none"]]
                found.append(
                    {"work": "decoding", "length": length, "encoding": name, "tokens": options.sentences * length,
                     "ratio": median(each) if own else 1.0, "ratios": each, "seconds": median(seconds)}
                )  # fmt: skip
    return found


def table(rows: list[dict[str, Any]]) -> str:
    """Format ratios of training steps by length, peak memory at the longest length, and ratios of decoding."""
    frame = pd.DataFrame(rows)
    steps = frame[frame["work"] == "training step"]
    wide = steps.pivot(index="encoding", columns="length", values="ratio").add_prefix("step, L = ")
    longest = steps["length"].max()
    last = steps[steps["length"] == longest].set_index("encoding")
    wide[f"forward, L = {longest}"] = last["forward_ratio"]
    wide[f"peak memory, L = {longest}"] = last["peak_ratio"]
    decoding = frame[frame["work"] == "decoding"]
    if len(decoding):
        wide = wide.join(decoding.pivot(index="encoding", columns="length", values="ratio").add_prefix("decode, L = "))
    order = list(dict.fromkeys(frame["encoding"]))
    return tabulate(wide.loc[order], headers="keys", tablefmt="github", floatfmt=".2f")


@styled
def draw(rows: list[dict[str, Any]]) -> Figure:
    """Draw the time of a training step relative to that of 'none', by length."""
    frame = pd.DataFrame(rows)
    frame = frame[(frame["work"] == "training step") & (frame["encoding"] != NONE)]
    lengths = sorted(frame["length"].unique())
    order = frame[frame["length"] == lengths[-1]].sort_values("ratio")["encoding"].tolist()
    figure = Figure(figsize=(6.3, 0.6 + 0.22 * len(order)))
    axes = figure.subplots()
    for number, length in enumerate(lengths):
        ratios = frame[frame["length"] == length].set_index("encoding")["ratio"]
        style = {**cue(number), "linestyle": ""}
        axes.plot([ratios[name] for name in order], range(len(order)), label=f"{length} tokens", **style)
    axes.axvline(1, color="#888888", linewidth=0.8)
    axes.set_yticks(range(len(order)), order)
    axes.set_xscale("log")
    ticks = [tick for tick in (0.9, 1, 1.1, 1.2, 1.5, 2, 3, 5, 10) if tick <= 1.1 * frame["ratio"].max()]
    axes.set_xticks(ticks, [str(tick) for tick in ticks])
    axes.minorticks_off()
    axes.grid(axis="both")
    axes.set_xlabel("time of a training step, over that without encoding")
    axes.legend(loc="lower right", title="sentence length")
    return figure


def parse_options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", default="base", help="a name in config/sizes.yaml (default: %(default)s)")
    parser.add_argument("--layers", type=positive, help="layers of each stack, instead of the size's")
    parser.add_argument("--vocabulary", type=positive, default=8000, help="(default: %(default)s)")
    parser.add_argument("--encodings", nargs="+", metavar="TYPE", help="types of encodings (default: all)")
    parser.add_argument("--no-naive", action="store_true", help="without the naive formulations")
    parser.add_argument("--lengths", nargs="+", type=positive, default=[32, 64, 256], help="(default: %(default)s)")
    parser.add_argument("--tokens", type=positive, default=4096, help="target tokens per step (default: %(default)s)")
    parser.add_argument("--decode", nargs="*", type=positive, default=[], help="lengths to decode (default: none)")
    parser.add_argument("--sentences", type=positive, default=8, help="decoded at a time (default: %(default)s)")
    parser.add_argument("--dropout", type=float, default=0.1, help="(default: %(default)s)")
    parser.add_argument("--rounds", type=positive, default=5, help="timed runs of each (default: %(default)s)")
    parser.add_argument("--threads", type=positive, default=2, help="(default: %(default)s)")
    clock = "wall time, or processor time, which other work on the machine changes little (default: %(default)s)"
    parser.add_argument("--clock", choices=["wall", "cpu"], default="wall", help=clock)
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu")
    parser.add_argument("--precision", choices=["fp32", "bf16"], default="fp32")
    parser.add_argument("--output", metavar="PREFIX", help="write PREFIX.json, .csv, .svg, .pdf and .png")
    return parser.parse_args(arguments)


def run(options: argparse.Namespace) -> None:
    prepare()
    torch.set_num_threads(options.threads)
    bench = Bench(options)
    bench.check_naive()
    rows = measure(bench, options)
    print(table(rows))
    if options.output:
        record = environment()
        record["settings"] = {key: value for key, value in vars(options).items() if key != "output"}
        write_json(f"{options.output}.json", record | {"results": rows})
        save(draw(rows), options.output, pd.DataFrame(rows).drop(columns="ratios"))


if __name__ == "__main__":
    run_script(run, parse_options)
