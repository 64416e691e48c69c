"""Run the benchmarks one after another, store their records and recreate the tables at the end of docs/benchmarks.md.

    python benchmarks/remake.py                     run everything: hours, on a quiet machine
    python benchmarks/remake.py --only training     run one benchmark
    python benchmarks/remake.py --tables            run no benchmark, and recreate the tables from the records
    python benchmarks/remake.py --short             warn if an encoding costs clearly more than in its record

Each table names the processor of its record. Alignment and reordering read their corpora from the folder
WORDORDER_MIRROR.
"""

from __future__ import annotations

import argparse
import importlib
import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).parents[1]
RECORDS = Path(__file__).parent / "records"
PAGE = ROOT / "docs/benchmarks.md"
BEGIN, END = "<!-- made by 'make benchmarks' -->", "<!-- end of what 'make benchmarks' makes -->"
# The short suite: a few encodings and 'none', with the options of the record, at one of its lengths.
COST = ("--layers", "1", "--vocabulary", "4000", "--tokens", "512", "--rounds", "3", "--threads", "1", "--clock", "cpu")
SHORT_LENGTH, SHORT_TYPES = 64, ("sinusoidal", "rope", "alibi", "relative", "cope")
EXCESS = 1.25


class Benchmark(NamedTuple):
    """A script, its options and the Markdown of its record.

    Attributes:
        title: The heading of its table.
        options: Its options; the last one takes the record.
        file: What the last option gets: the record, or its name without '.json'.
        markdown: Makes the table.
    """

    title: str
    options: tuple[str, ...]
    file: str
    markdown: Callable[[dict[str, Any]], str]


def _training(record: dict[str, Any]) -> str:
    own = importlib.import_module("training")
    return "\n".join(own.report(precision, result) for precision, result in record["results"].items())


def _encoding_cost(record: dict[str, Any]) -> str:
    return str(importlib.import_module("encoding_cost").table(record["results"]))


def _alignment(record: dict[str, Any]) -> str:
    return f"```text\n{importlib.import_module('alignment').table(record['sets'])}\n```"


def _reordering(record: dict[str, Any]) -> str:
    return f"{importlib.import_module('reordering').report(record['results'])}"


def _starting(record: dict[str, Any]) -> str:
    return str(importlib.import_module("starting").table(record["results"]))


def _decoding(record: dict[str, Any]) -> str:
    return str(importlib.import_module("decoding_ctranslate2").table(record["results"]))


BENCHMARKS = {
    "training": Benchmark(
        "Training",
        ("--corpus", "results/data/multi30k/binary/train", "--updates", "4", "--warmup", "2", "--json"),
        "training.json",
        _training,
    ),
    "decoding_ctranslate2": Benchmark(
        "Decoding, compared with CTranslate2", ("--output",), "decoding_ctranslate2.json", _decoding
    ),
    "starting": Benchmark("Starting", ("--output",), "starting.json", _starting),
    "encoding_cost": Benchmark(
        "What an encoding costs",
        (*COST, "--lengths", "32", "64", "256", "512", "--output"),
        "encoding_cost",
        _encoding_cost,
    ),
    "alignment": Benchmark("Word alignment", ("--output",), "alignment.json", _alignment),
    "reordering": Benchmark("Reordering", ("--output",), "reordering", _reordering),
}


def tables(records: Path) -> str:
    """Return the tables of all records that exist."""
    parts = []
    for name, benchmark in BENCHMARKS.items():
        file = records / f"{name}.json"
        if not file.exists():
            continue
        record = json.loads(file.read_text(encoding="utf-8"))
        made = record.get("environment", record)
        hardware, when = made["hardware"], made["finished"][:10]
        threads = "1 thread" if hardware["threads"] == 1 else f"{hardware['threads']} threads"
        where = f"{hardware['processor']}, {threads}; torch {made['packages']['torch']}; {when}."
        parts += [f"### {benchmark.title}: all rows", where, benchmark.markdown(record).strip()]
    return "\n\n".join(parts)


def rewrite(page: str, made: str) -> str:
    """Return a page with new tables between the two marks."""
    before, found, rest = page.partition(BEGIN)
    _, ended, after = rest.partition(END)
    if not (found and ended):
        raise SystemExit(f"error: docs/benchmarks.md has no lines '{BEGIN}' and '{END}'. Put them where tables belong.")
    return f"{before}{BEGIN}\n\n{made}\n\n{END}{after}"


def slower(stored: dict[str, float], found: dict[str, float]) -> list[str]:
    """Return a sentence for each encoding whose ratio to 'none' clearly exceeds the stored one."""
    return [
        f"{name} takes {ratio:.2f} times as long as no encoding, and {stored[name]:.2f} times when it was stored."
        for name, ratio in found.items()
        if name in stored and ratio > EXCESS * max(1.0, stored[name])
    ]


def ratios(record: dict[str, Any]) -> dict[str, float]:
    """Return the ratios of training steps of a record at the length of the short suite."""
    return {
        row["encoding"]: row["ratio"]
        for row in record["results"]
        if row["work"] == "training step" and row["length"] == SHORT_LENGTH
    }


def short() -> None:
    """Run the short suite; it warns and never fails, because machines of continuous integration are busy."""
    stored = json.loads((RECORDS / "encoding_cost.json").read_text(encoding="utf-8"))
    with tempfile.TemporaryDirectory() as folder:
        own = ("--no-naive", "--lengths", str(SHORT_LENGTH), "--encodings", *SHORT_TYPES)
        _run("encoding_cost", (*COST, *own, "--output", f"{folder}/out"))
        found = json.loads(Path(folder, "out.json").read_text(encoding="utf-8"))
    for sentence in slower(ratios(stored), ratios(found)):
        print(f"::warning::{sentence}")


def _run(name: str, options: Sequence[str]) -> None:
    print(f"{name} …", file=sys.stderr, flush=True)
    subprocess.run([sys.executable, str(Path(__file__).parent / f"{name}.py"), *options], cwd=ROOT, check=True)


def parse(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", choices=list(BENCHMARKS), default=list(BENCHMARKS))
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--tables", action="store_true", help="run nothing")
    what.add_argument("--short", action="store_true", help="compare a few ratios with the stored ones")
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> int:
    options = parse(arguments)
    if options.short:
        short()
        return 0
    for name in () if options.tables else options.only:
        benchmark = BENCHMARKS[name]
        _run(name, (*benchmark.options, str(RECORDS / benchmark.file)))
    PAGE.write_text(rewrite(PAGE.read_text(encoding="utf-8"), tables(RECORDS)), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
