"""Time short commands, which users wait for again and again: processor and wall time from start to end.

    python benchmarks/starting.py [--rounds N] [--output benchmarks/records/starting.json]

The commands run in turns, with the configuration of the repository and without results; one round before the first
fills the caches. The table shows medians, and each time relative to that of importing PyTorch in the same round, which
depends less on the machine.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from tabulate import tabulate

from wordorder.files import write_json
from wordorder.training.record import environment

ROOT = Path(__file__).parents[1]
REFERENCE = "import torch"
COMMANDS = {
    REFERENCE: ["python", "-c", "import torch"],
    "wordorder --help": ["wordorder", "--help"],
    "wordorder check opr": ["wordorder", "check", "opr"],
    "wordorder results (a bundle)": ["wordorder", "results", "results/reference/demo"],
    "wordorder plan sinusoid": ["wordorder", "plan", "sinusoid"],
    "wordorder stage train --help": ["wordorder", "stage", "train", "--help"],
    "snakemake demo -n": ["snakemake", "demo", "-n", "--directory", "FOLDER"],
    "snakemake opr -n (787 jobs)": ["snakemake", "opr", "-n", "--directory", "FOLDER"],
}


def clocked(command: list[str], folder: str) -> tuple[float, float]:
    """Run a command to its end; return its processor and wall time in seconds."""
    own = [folder if word == "FOLDER" else word for word in command]
    path = os.pathsep.join((str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)))
    begun = time.perf_counter()
    process = subprocess.Popen(
        own, cwd=ROOT, env={**os.environ, "PATH": path}, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    _, status, usage = os.wait4(process.pid, 0)
    wall = time.perf_counter() - begun
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"error: '{' '.join(own)}' ended with status {process.returncode}. Run it alone to see why.")
    return usage.ru_utime + usage.ru_stime, wall


def measure(commands: dict[str, list[str]], rounds: int) -> list[dict[str, Any]]:
    """Time all commands in turns: the seconds of each round, and their ratio to those of the reference."""
    taken: dict[str, list[tuple[float, float]]] = {name: [] for name in commands}
    with tempfile.TemporaryDirectory() as folder:
        for number in range(rounds + 1):
            for name, command in commands.items():
                found = clocked(command, folder)
                if number:
                    taken[name].append(found)
    return [
        {
            "command": name,
            "cpu_seconds": [cpu for cpu, _ in found],
            "seconds": [wall for _, wall in found],
            "ratio": statistics.median(cpu / base for (cpu, _), (base, _) in zip(found, taken[REFERENCE], strict=True)),
        }
        for name, found in taken.items()
    ]


def table(results: list[dict[str, Any]]) -> str:
    """Return the medians as Markdown."""
    rows = [
        [
            f"`{row['command']}`",
            f"{statistics.median(row['cpu_seconds']):.2f}",
            f"{statistics.median(row['seconds']):.2f}",
            f"{row['ratio']:.2f}",
        ]
        for row in results
    ]
    heads = ["command", "CPU s", "wall s", "relative to importing PyTorch, CPU"]
    return tabulate(rows, heads, tablefmt="github", disable_numparse=True, colalign=("left", "right", "right", "right"))


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3, help="(default: %(default)s)")
    parser.add_argument("--only", nargs="+", choices=list(COMMANDS)[1:], default=list(COMMANDS)[1:], metavar="COMMAND")
    parser.add_argument("--output", type=Path, help="the record to write, JSON")
    options = parser.parse_args(arguments)
    chosen = {name: COMMANDS[name] for name in (REFERENCE, *options.only)}
    record = {"results": measure(chosen, options.rounds), **environment()}
    print(table(record["results"]))
    if options.output:
        write_json(options.output, record, checksum="none")


if __name__ == "__main__":
    main()
