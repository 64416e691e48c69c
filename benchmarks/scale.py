"""Stream generated parallel text through every stage of data preparation: time and peak memory by number of pairs.

    python benchmarks/scale.py --pairs 100000 500000 --folder SCRATCH [--output benchmarks/records/scale.json]

Each stage is a separate process with one thread, as in the workflow. An interrupted run resumes after its last stage.
Two numbers of pairs show what grows. The last table extrapolates from the two largest to --target pairs in --shards
shards. A stage that runs in shards is then as many jobs, and a stage that uses a sample sees no more than its default
limit. The text has 25 words per sentence on average, frequencies by Zipf's law over --types word types, one word in a
hundred that occurs once, and a target order that depends on the words, so that the aligner and the parser have
something to learn.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, product
from pathlib import Path
from typing import Any

import numpy as np
from tabulate import tabulate

from wordorder.config.datasets import Subword
from wordorder.config.reordering import HMM, Parser
from wordorder.data.text import write_pairs
from wordorder.files import write_json
from wordorder.training.record import environment

WORDS = 25  # of a sentence, in the mean
VERBS = 7  # every so many words of the vocabulary one that comes last in the target
BLOCK = 10_000  # sentences that are drawn at a time
SIDES = ("source", "target")
# The kernel includes the memory before exec in the peak of a process; VmHWM is the peak of the program only.
MEASURE = """
import sys; from pathlib import Path; from wordorder.cli.main import main
status = main(sys.argv[2:]); Path(sys.argv[1]).write_text(Path("/proc/self/status").read_text()); sys.exit(status)
"""


@dataclass(frozen=True)
class Stage:
    """A stage and its commands, one for each job.

    Attributes:
        name: What the table calls it.
        jobs: The arguments of 'wordorder stage'.
        sharded: Whether each shard is a job of its own.
        cap: The pairs beyond which it sees only a sample, if there is such a number.
        constant: Whether its memory must not grow with the corpus (of stages in shards: with the shard).
    """

    name: str
    jobs: Sequence[Sequence[object]]
    sharded: bool = False
    cap: int | None = None
    constant: bool = False


# ------------------------------------------------------------------------------------------------------------- text


def word_types(types: int, letters: str) -> list[str]:
    """Generate distinct words from syllables of a consonant and a vowel; frequent words are short."""
    syllables = ["".join(pair) for pair in product(letters, "aeiou")]
    words, size = [], 1
    while len(words) < types:
        words += ["".join(parts) for parts in islice(product(syllables, repeat=size), types - len(words))]
        size += 1
    return words


def sentences(pairs: int, types: int) -> Iterator[tuple[str, str]]:
    """Yield sentence pairs, which are the same for the same numbers."""
    random = np.random.default_rng(1)
    source, target = (word_types(types, letters) for letters in ("bdfgklmn", "prstvwxz"))
    share = 1 / np.arange(2, types + 2)
    cumulated = np.cumsum(share / share.sum())
    cumulated[-1] = 1
    for start in range(0, pairs, BLOCK):
        lengths = np.clip(random.lognormal(np.log(WORDS) - 0.18, 0.6, min(BLOCK, pairs - start)), 1, 120).astype(int)
        ends = np.cumsum(lengths)
        drawn = np.searchsorted(cumulated, random.random(ends[-1])).tolist()
        once = (random.random(ends[-1]) < 0.01).tolist()
        lost = (random.random(ends[-1]) < 0.05).tolist()
        for first, last in zip((ends - lengths).tolist(), ends.tolist(), strict=True):
            # A word that occurs once is a number that no other position has.
            names = {place: str(start * 120 + place) for place in range(first, last) if once[place]}
            kept = [place for place in range(first, last) if not lost[place]] or [first]
            kept.sort(key=lambda place: drawn[place] % VERBS == 0)
            yield (
                " ".join(names.get(place) or source[drawn[place]] for place in range(first, last)).capitalize() + ".",
                " ".join(names.get(place) or target[drawn[place]] for place in kept).capitalize() + ".",
            )


# ------------------------------------------------------------------------------------------------------------ stages


def stages(folder: Path, shards: int, options: argparse.Namespace) -> list[Stage]:
    """List the stages from downloaded files to reordered positions, in order."""
    text = {side: folder / f"clean.{side}" for side in SIDES}
    part = {side: [folder / f"{shard}.clean.{side}" for shard in range(shards)] for side in SIDES}
    raw = {side: [folder / f"{shard}.raw.{side}" for shard in range(shards)] for side in SIDES}
    split = json.dumps({"parts": [{side: {"file": f"corpus.{side}"} for side in SIDES}]})
    preparation = json.dumps({"preprocessing": {}, "source_language": "en", "target_language": "de"})
    subword, binary, links = folder / "subword.model", folder / "binary", folder / "links"
    words = ("--source", text["source"])
    both = (*words, "--target", text["target"])
    orders = [folder / f"{shard}.orders" for shard in range(shards)]
    learned = json.dumps({"vocabulary": options.vocabulary})
    aligner, tree = (kind(sentences=options.sample or kind().sentences) for kind in (HMM, Parser))
    oracle = ("--output", folder / "oracle", "--trees", folder / "trees", "--record", folder / "oracle.json")
    parser = ("--model", folder / "parser.npz", "--record", folder / "parser.json", "--state", folder / "state")

    def cleaning(shard: int) -> list[object]:
        inputs = [word for side in SIDES for word in (f"--{side}", raw[side][shard])]
        outputs = [word for side in SIDES for word in (f"--output-{side}", part[side][shard])]
        return ["clean", "--config", preparation, *inputs, *outputs, "--report", folder / f"{shard}.json"]

    def binarising(shard: int) -> list[object]:
        inputs = [word for side in SIDES for word in (f"--{side}", part[side][shard])]
        return ["binarise", "--subword", subword, *inputs, "--output", folder / f"{shard}.binary"]

    def parsing(shard: int) -> list[object]:
        return ["reorder", *parser[:2], *words, "--shard", f"{shard + 1}/{shards}", "--output", orders[shard]]

    gathered = [folder / f"{shard}.binary" for shard in range(shards)]
    return [
        Stage(
            "import",
            [["import", "--config", split, "--downloads", folder, "--source", folder / "raw.source", "--target",
              folder / "raw.target"]],
            constant=True,
        ),
        Stage(
            "scatter",
            [["scatter", "--source", folder / "raw.source", "--target", folder / "raw.target", "--output-sources",
              *raw["source"], "--output-targets", *raw["target"]]],
            constant=True,
        ),
        Stage("clean", list(map(cleaning, range(shards))), sharded=True, constant=True),
        Stage(
            "gather text",
            [["gather-text", "--inputs", *part[side], "--output", text[side]] for side in SIDES],
            constant=True,
        ),
        Stage(
            "train subwords",
            [["train-subword", "--config", learned, "--inputs", *text.values(), "--output", subword]],
            cap=Subword().subword_sentences // 2,
        ),
        Stage("binarise", list(map(binarising, range(shards))), sharded=True, constant=True),
        Stage("gather binary", [["gather-binary", "--inputs", *gathered, "--output", binary]]),
        Stage(
            "train aligner",
            [["train-aligner", "--config", aligner.model_dump_json(), *both, "--model", folder / "aligner.npz"]],
            cap=aligner.sentences,
        ),
        Stage("align", [["align", "--config", "{}", *both, "--model", folder / "aligner.npz", "--output", links]]),
        Stage("oracle orders", [["find-oracle", "--config", "{}", *words, "--links", links, *oracle]]),
        Stage("word classes", [["train-classes", "--classes", 50, *words, "--output", folder / "classes"]]),
        Stage(
            "train parser",
            [["train-parser", "--config", tree.model_dump_json(), *words, "--links", links, "--classes",
              folder / "classes", *parser]],
            cap=tree.sentences,
        ),
        Stage("parse", list(map(parsing, range(shards))), sharded=True),
        Stage("gather orders", [["gather-text", "--inputs", *orders, "--output", folder / "orders"]], constant=True),
        Stage(
            "positions",
            [["positions", "ordered", "--kind", "predicted", "--orders", folder / "orders", "--words", subword,
              "--corpus", binary, "--output", folder / "positions"]],
        ),
    ]  # fmt: skip


def measured(job: Sequence[object], log: Path) -> dict[str, float]:
    """Run a command; return its wall time and CPU time in seconds, and its peak memory in bytes."""
    start = time.perf_counter()
    with log.open("a") as output:
        status_file = log.with_name("status")
        words = [sys.executable, "-c", MEASURE, str(status_file), "stage", *map(str, job)]
        process = subprocess.Popen(words, stdout=output, stderr=output, env={**os.environ, "OMP_NUM_THREADS": "1"})
        _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"'wordorder stage {job[0]}' failed; {log} says why.")
    peak = re.search(r"VmHWM:\s*(\d+) kB", status_file.read_text())
    assert peak is not None
    return {
        "seconds": time.perf_counter() - start,
        "cpu_seconds": usage.ru_utime + usage.ru_stime,
        "peak_bytes": int(peak[1]) * 1024,
    }


def run(pairs: int, options: argparse.Namespace) -> dict[str, Any]:
    """Run all stages on this many pairs, and return the time and memory of each.

    The measurements so far are in a file, from which an interrupted run resumes.
    """
    folder = options.folder / str(pairs)
    so_far = folder / "measured.json"
    if not so_far.exists():
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        write_pairs(folder / "corpus.source", folder / "corpus.target", sentences(pairs, options.types))
        write_json(so_far, {}, checksum="none")
    shards = max(1, round(pairs * options.shards / options.target))
    found = json.loads(so_far.read_text())
    for stage in stages(folder, shards, options):
        if stage.name in found:
            continue
        jobs = [measured(job, folder / "log") for job in stage.jobs]
        found[stage.name] = {
            "jobs": len(jobs),
            **{key: sum(job[key] for job in jobs) for key in ("seconds", "cpu_seconds")},
            "peak_bytes": max(job["peak_bytes"] for job in jobs),
        }
        write_json(so_far, found, checksum="none")
        print(f"{pairs:,} pairs: {stage.name} {found[stage.name]}", file=sys.stderr, flush=True)
    sizes = {side: (folder / f"corpus.{side}").stat().st_size for side in SIDES}
    shutil.rmtree(folder)
    return {"pairs": pairs, "shards": shards, "bytes": sizes, "stages": found}


# ------------------------------------------------------------------------------------------------------------ report


def growth(runs: Sequence[dict[str, Any]], stage: Stage) -> dict[str, tuple[float, float]]:
    """Fit a line through the two largest runs: for each quantity of a job, its constant and its value per pair."""
    lines = {}
    for key in ("cpu_seconds", "peak_bytes"):
        points = []
        for own in runs[-2:]:
            took = own["stages"][stage.name]
            jobs = own["shards"] if stage.sharded else 1
            points.append(
                (min(own["pairs"] / jobs, stage.cap or own["pairs"]), took[key] / (jobs if key[0] == "c" else 1))
            )
        (n0, y0), (n1, y1) = points
        slope = max(0.0, (y1 - y0) / (n1 - n0)) if n1 > n0 else 0.0
        lines[key] = (y1 - slope * n1, slope)
    return lines


def extrapolated(runs: Sequence[dict[str, Any]], options: argparse.Namespace) -> list[dict[str, Any]]:
    """Extrapolate each stage to --target pairs: jobs, hours and memory; stages that use a sample stop at its limit."""
    rows = []
    unlimited = argparse.Namespace(**{**vars(options), "sample": None})
    for measured_stage, stage in zip(stages(Path(), 1, options), stages(Path(), 1, unlimited), strict=True):
        lines, jobs = growth(runs, measured_stage), options.shards if stage.sharded else len(stage.jobs)
        pairs = min(options.target / options.shards if stage.sharded else options.target, stage.cap or options.target)
        hours, memory = (start + slope * pairs for start, slope in (lines["cpu_seconds"], lines["peak_bytes"]))
        rows.append(
            {
                "stage": stage.name,
                "jobs": jobs,
                "pairs": round(pairs),
                "hours": hours / 3600 / (1 if stage.sharded else jobs),
                "peak_bytes": memory,
                "bytes_per_pair": lines["peak_bytes"][1],
                "constant": stage.constant,
            }
        )
    return rows


def report(record: dict[str, Any]) -> str:
    runs, rows = record["runs"], []
    for name in runs[0]["stages"]:
        found = [own["stages"][name] for own in runs]
        row = [name]
        for took in found:
            row += [took["jobs"], f"{took['seconds']:,.0f}", f"{took['cpu_seconds']:,.0f}", _mb(took["peak_bytes"])]
        rows.append(row)
    heads = ["stage"]
    for own in runs:
        heads += [f"jobs, {own['pairs']:,} pairs", "wall s", "CPU s", "peak MB"]
    tables = [tabulate(rows, heads, tablefmt="github")]
    if record["extrapolated"]:
        rows = [
            [row["stage"], row["jobs"], f"{row['pairs']:,}", f"{row['hours']:.2f}", _mb(row["peak_bytes"]),
             f"{row['bytes_per_pair']:,.0f}", "constant" if row["constant"] else ""]
            for row in record["extrapolated"]
        ]  # fmt: skip
        heads = ["stage", "jobs", "pairs a job", "CPU h a job", "peak MB", "bytes a pair", "by design"]
        tables.append(tabulate(rows, heads, tablefmt="github"))
    return "\n\n".join(tables)


def _mb(size: float) -> str:
    return f"{size / 1e6:,.0f}"


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, nargs="+", default=[1_250_000, 5_000_000], help="(default: %(default)s)")
    parser.add_argument("--types", type=int, default=400_000, help="(default: %(default)s)")
    parser.add_argument("--vocabulary", type=int, default=32_000, help="subwords (default: %(default)s)")
    parser.add_argument("--sample", type=int, help="training pairs of aligner and parser (default: their limits)")
    parser.add_argument("--target", type=int, default=36_000_000, help="(default: %(default)s)")
    parser.add_argument("--shards", type=int, default=64, help="(default: %(default)s)")
    parser.add_argument("--folder", type=Path, required=True, help="a folder with space for 20 kB per pair")
    parser.add_argument("--output", type=Path, help="the record to write, JSON, after each number of pairs")
    options = parser.parse_args(arguments)
    record: dict[str, Any] = {"sample": options.sample, "runs": [], "extrapolated": [], **environment()}
    for pairs in sorted(options.pairs):
        record["runs"].append(run(pairs, options))
        if len(record["runs"]) > 1:
            record["extrapolated"] = extrapolated(record["runs"], options)
        if options.output:
            write_json(options.output, record, checksum="none")
    print(report(record))


if __name__ == "__main__":
    main()
