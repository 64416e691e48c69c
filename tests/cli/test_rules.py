"""Test that the rules of the workflow call existing stages with existing options."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from command_line import commands, options

ROOT = Path(__file__).parents[2]
RULES = [ROOT / "Snakefile", *sorted((ROOT / "workflow" / "rules").glob("*.smk"))]
STAGES = {words: command for words, command in commands() if words[0] == "stage"}
_SHELL = re.compile(r"^ +shell:\s*((?:\"(?:[^\"\\]|\\.)*\"\s*)+)", re.MULTILINE)
_OPTION = re.compile(r"--[a-z][a-z-]*")


def command_lines(text: str) -> list[str]:
    """The shell commands of a file of rules."""
    return [ast.literal_eval(f"({found})") for found in _SHELL.findall(text)]


def called() -> Iterator[tuple[str, str]]:
    """The file and the words after 'wordorder' of every call of a command."""
    for path in RULES:
        for line in command_lines(path.read_text(encoding="utf-8")):
            for call in re.findall(r"(?:^|[;&|] *)wordorder ([^;&|]*)", line.replace("2>&1", "")):
                yield path.name, call


CALLS = list(called())


def words_of(call: str) -> tuple[str, ...]:
    """The stage that a call names: its longest known beginning."""
    words = call.split()
    return next(tuple(words[:end]) for end in range(len(words), -1, -1) if tuple(words[:end]) in {*STAGES, ()})


def test_every_command_line_is_found() -> None:
    texts = [path.read_text(encoding="utf-8") for path in RULES]
    assert sum(len(command_lines(text)) for text in texts) == sum(text.count("shell:\n") for text in texts)
    assert len(CALLS) == sum(line.count("wordorder stage") for text in texts for line in command_lines(text)) > 30


@pytest.mark.parametrize(("file", "call"), CALLS, ids=[" ".join(words_of(call)) for _, call in CALLS])
def test_a_rule_names_a_stage_and_its_options(file: str, call: str) -> None:
    words = words_of(call)
    assert words, f"{file} calls an unknown stage: wordorder {call}"
    given = set(_OPTION.findall(call))
    assert given <= options(STAGES[words]), file
    assert options(STAGES[words], required=True) <= given, file


def test_options_that_the_workflow_adds_are_those_of_a_stage_that_a_rule_calls() -> None:
    known = set().union(*(options(STAGES[words_of(call)]) for _, call in CALLS))
    added = set()
    for path in (ROOT / "src" / "wordorder" / "workflow").glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and _OPTION.fullmatch(node.value):
                added.add(node.value)
    assert {"--positions", "--keep-all", "--as-it-is"} <= added <= known
