"""Run every command of the workflow on a full disk: an error message, and the same bytes once there is space."""

from __future__ import annotations

import json
import re
import resource
import shlex
import shutil
from pathlib import Path

import pytest

from full_disk import limited, no_file_larger_than
from little_study import Workspace
from snakemake_runs import dry_run, snakemake
from wordorder.cli.main import main
from wordorder.files import sha256

pytestmark = [pytest.mark.slow]

LEVELS = (0, 4000)  # bytes that a file may have
TIMED = {"record.json", "metrics.jsonl", ".snakemake_timestamp"}  # hold times


def commands(text: str) -> dict[str, list[str]]:
    """The first command line of each stage that a dry-run with --printshellcmds lists."""
    found: dict[str, list[str]] = {}
    for line in re.findall(r"^ *Shell command: wordorder (stage .*?) 2>&1 \| logged", text, re.MULTILINE):
        words = shlex.split(line)
        found.setdefault(words[1], words)
    return found


def contents(results: Path) -> dict[str, str]:
    """The checksums of data, models, translations, scores and comparisons, but not of locks and what holds times."""
    folders = (results / "data", results / "models", results / "little" / "significance")
    files = [file for folder in folders for file in folder.rglob("*") if file.is_file()]
    return {
        str(file.relative_to(results)): sha256(file)
        for file in files
        if file.name not in TIMED and file.suffix not in (".sha256", ".lock") and "state" not in file.parts
    }


def run(words: list[str], limit: int, capsys: pytest.CaptureFixture[str]) -> tuple[int, str]:
    """Run a command while no file can exceed ``limit`` bytes; return its status and output."""
    if words[1] == "train":  # listens to signals from then on
        done = limited(words, limit)
        return done.returncode, done.stdout + done.stderr
    with no_file_larger_than(limit):
        status = main(words)
    return status, capsys.readouterr().err


def test_a_full_disk_is_a_sentence_and_leaves_no_trace(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    workspace = Workspace(tmp_path)
    workspace.write()
    done = snakemake(workspace.folder, *workspace.arguments(), "--notemp")
    assert done.returncode == 0, done.stdout + done.stderr
    stages = commands(dry_run(workspace.folder, *workspace.arguments(), "--forceall", "--printshellcmds"))
    assert len(stages) > 12
    monkeypatch.chdir(workspace.folder)
    results, refused = Path("results"), 0
    before = contents(results)
    for stage, words in stages.items():
        if stage == "train":
            shutil.rmtree(words[words.index("--state") + 1])
        for limit in LEVELS:
            status, said = run(words, limit, capsys)
            assert "Traceback" not in said, f"{stage} with {limit}: {said}"
            assert status == 0 or (status == 1 and "full" in said), f"{stage} with {limit}: {said}"
            refused += status
        status, said = run(words, resource.RLIM_INFINITY, capsys)
        assert status == 0, f"{stage}: {said}"
    assert refused > len(stages)
    after = contents(results)
    assert {name for name in before.keys() | after.keys() if before.get(name) != after.get(name)} == set()
    assert not list(results.rglob("*.partial"))


def reordering(folder: Path) -> dict[str, list[str]]:
    """Return the options of the stages of reordering on a small text."""
    source, target = folder.parent / "source", folder.parent / "target"
    words = ["--source", str(source)]
    files = {
        name: str(folder / name) for name in ("a.npz", "links", "o", "t", "r", "c", "p.npz", "pr", "state", "orders")
    }
    oracle = ["--output", files["o"], "--trees", files["t"], "--record", files["r"]]
    model = ["--model", files["p.npz"], "--record", files["pr"], "--state", files["state"]]
    parser = json.dumps({"iterations": 2, "classes": 3})
    both, links = [*words, "--target", str(target)], ["--links", files["links"]]
    return {
        "train-aligner": ["--config", "{}", *both, "--model", files["a.npz"]],
        "align": ["--config", "{}", *both, "--model", files["a.npz"], "--output", files["links"]],
        "find-oracle": ["--config", "{}", *words, *links, *oracle],
        "train-classes": ["--classes", "3", *words, "--output", files["c"]],
        "train-parser": ["--config", parser, *words, *links, "--classes", files["c"], *model],
        "reorder": ["--model", files["p.npz"], *words, "--output", files["orders"], "--trees", files["t"]],
    }  # fmt: skip


def test_the_aligner_and_the_parser_on_a_full_disk(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    order = [[place % 7 for place in range(first, first + 5)] for first in range(60)]
    for side, letter in (("source", "s"), ("target", "t")):
        rows = [row if side == "source" else row[::-1] for row in order]
        (tmp_path / side).write_text("".join(" ".join(f"{letter}{n}" for n in row) + "\n" for row in rows))
    for folder, levels in ((tmp_path / "free", ()), (tmp_path / "full", (0, 40))):
        for stage, options in reordering(folder).items():
            for limit in levels:
                status, said = run(["stage", stage, *options], limit, capsys)
                assert status == 1 and "full" in said and "Traceback" not in said, f"{stage} with {limit}: {said}"
            assert run(["stage", stage, *options], resource.RLIM_INFINITY, capsys)[0] == 0, stage
    free, full = (
        {path.name: path.read_bytes() for path in (tmp_path / name).iterdir() if path.is_file()}
        for name in ("free", "full")
    )
    assert free == full
