"""Test that commands in the documentation exist, that the tutorial works, and that the site has no dead link."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from command_line import commands, options
from guide import DOCS, blocks
from snakemake_runs import ROOT
from wordorder.config.load import study_names

COMMANDS = dict(commands())
PAGES = sorted(DOCS.glob("*.md"))
TARGETS = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))
RULES = {"train_all", "prepare_all", "evaluate_all", "tables", "figures", "analyses"}
# Studies that pages let their readers write.
OWN = {"my_study", "my_arena", "my_dataset", "STUDY", "NAME"}


def command_lines(page: Path) -> list[str]:
    """Return the command lines in the blocks of a page, without comments; continued lines are joined."""
    text = re.sub(r"\\\n\s*", "", page.read_text("utf-8"))
    shown = re.findall(r"^(?: {4}| {7})?(?:\$ )?((?:wordorder|make|snakemake) [^\n]+)$", text, re.MULTILINE)
    inside = [line for line in shown if not line.rstrip().endswith(".")]  # prose
    return [re.split(r"\s#\s|\s{3,}", line)[0].strip() for line in inside]


def command_of(words: list[str]) -> tuple[str, ...]:
    """Return the longest prefix of some words that is a command."""
    return next((tuple(words[:end]) for end in range(len(words), 0, -1) if tuple(words[:end]) in COMMANDS), ())


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_commands_of_a_page_exist(page: Path) -> None:
    for line in command_lines(page):
        program, *words = line.split()
        if program == "make":
            assert {word for word in words if re.fullmatch(r"[a-z-]+", word)} <= TARGETS, line
        elif program == "wordorder" and not words[0].startswith("-") and words[0] not in ("COMMAND", "stage"):
            command = command_of(words)
            assert command, line
            given = set(re.findall(r"(?<!\S)(--[a-z0-9-]+)", line))
            assert given <= options(COMMANDS[command]) | {"--help"} or command == ("run",), line
        elif program == "snakemake" and re.fullmatch(r"[a-z_0-9]+", words[0]):
            assert words[0] in {*study_names(ROOT / "config"), *RULES, *OWN}, line


def test_the_page_on_environments_lists_every_variable() -> None:
    code = "".join(path.read_text("utf-8") for path in (ROOT / "src").rglob("*.py"))
    used = set(re.findall(r"""["'](WORDORDER_[A-Z_]+)["']""", code))
    section = (DOCS / "environments.md").read_text("utf-8").partition("## Environment variables\n")[2]
    listed = set(re.findall(r"WORDORDER_[A-Z_]+", section.partition("\n## ")[0]))
    own = {"WORDORDER_STARTED_BY", "WORDORDER_LOCAL_JOBS"}
    assert "WORDORDER_MIRROR" in used and used - listed == own, "which only wordorder itself sets"


@pytest.mark.parametrize("command", sorted(COMMANDS), ids=" ".join)
def test_the_page_on_architecture_lists_every_command(command: tuple[str, ...]) -> None:
    section = (DOCS / "architecture.md").read_text("utf-8").partition("## Commands\n")[2].partition("\n## ")[0]
    name = " ".join(command).removeprefix("stage ")
    assert re.search(rf"`{re.escape(name)}[ `]", section)


def test_commands_that_do_not_exist_are_found(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("Some text.\n\n```sh\nwordorder frobnicate demo   # a comment\n```\n\n    snakemake demo\n")
    assert command_lines(page) == ["wordorder frobnicate demo", "snakemake demo"]
    with pytest.raises(AssertionError, match="frobnicate"):
        test_the_commands_of_a_page_exist(page)


@pytest.mark.slow
@pytest.mark.skipif("WORDORDER_LONG" not in os.environ, reason="takes minutes: make test-long")
def test_the_tutorial_leads_to_its_end(tmp_path: Path) -> None:
    """Run all commands of the page in order, on fewer sentences and updates."""
    lines = [line for each in blocks("tutorial.md") if each.language == "sh" for line in each.text.splitlines()]
    start = lines.index("wordorder check")
    path = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))
    environment = os.environ | {"PATH": path, "OMP_NUM_THREADS": "1"}

    def shell(folder: Path, commands: list[str]) -> None:
        done = subprocess.run(
            ["sh", "-ec", "\n".join(commands)], cwd=folder, env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr

    shell(tmp_path, lines[:start])
    project = tmp_path / "my_project"
    for file, changes in {
        "studies/demo.yaml": {
            "seeds": [1, 2],
            "recipe": {"learning_rate": 1e-3, "batch_tokens": 512, "max_updates": 10},
        },
        "datasets/grammar.yaml": {"generator": {"seed": 1, "train": 400, "valid": 20, "tests": {"test": 20}}},
    }.items():
        content = yaml.safe_load((project / "config" / file).read_text("utf-8")) | changes
        if "preprocessing" in content:
            content["preprocessing"]["vocabulary"] = 150
        (project / "config" / file).write_text(yaml.safe_dump(content), "utf-8")
    # After ten updates no translation is right, so that the seeds have no spread to tell the number of seeds from.
    shell(project, [line + " --sigma 1" * line.startswith("wordorder power") for line in lines[start:]])
    assert {path.name for path in project.glob("opr*.svg")} == {"opr.svg", "opr_sinusoidal.svg"}
    assert "my_slope" in (project / "results/my_study/index.html").read_text("utf-8")


@pytest.mark.slow
@pytest.mark.skipif(importlib.util.find_spec("sphinx") is None, reason="needs the extra 'docs'; 'make docs' builds it")
def test_the_site_is_built_without_a_warning(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "-b", "html", str(DOCS), str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    pages = {path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*.html")}
    assert {"index.html", "tutorial.html", "search.html", "generated/gallery/alibi.html"} <= pages
    for path in tmp_path.rglob("*.html"):
        loaded = re.findall(r'<(?:script|link|img)[^>]+(?:src|href)="(https?:[^"]+)"', path.read_text("utf-8"))
        assert not loaded, f"{path.name} loads {loaded[0]}"


def test_the_picture_of_imports_is_that_of_the_code() -> None:
    spec = importlib.util.spec_from_file_location("picture", DOCS / "picture.py")
    assert spec is not None and spec.loader is not None
    picture = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(picture)
    assert picture.PICTURE.read_text("utf-8") == picture.svg(), "Run 'python docs/picture.py'."
    assert ("cli", "api") in picture.imports() and ("config", "encodings") not in picture.imports()
