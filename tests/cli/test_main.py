"""Test that every command has a help, names a wrong option, and ends with the documented status."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

from command_line import commands, options
from wordorder.cli.app import repeat_options
from wordorder.cli.main import main

# A command that works on a file until it is stopped.
WORK = """
import signal, sys, time
from pathlib import Path
from wordorder.cli.app import stage
from wordorder.cli.main import main
from wordorder.files import atomic

@stage()
def work(file: Path) -> None:
    with atomic(file) as temporary:
        temporary.touch()
        print("ready", flush=True)
        time.sleep(60)

signal.signal(signal.SIGINT, signal.default_int_handler)  # what a shell starts in the background ignores it
sys.exit(main())
"""


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_stopped_command_leaves_nothing_half_written(number: int, status: int, tmp_path: Path) -> None:
    command = [sys.executable, "-c", WORK, "stage", "work", str(tmp_path / "file")]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None and process.stdout.readline() == "ready\n"
        assert list(tmp_path.iterdir())
        process.send_signal(number)
        _, errors = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == status
    assert "Traceback" not in errors and len(errors.splitlines()) == 1
    assert not list(tmp_path.iterdir())


SWALLOWS = """
import signal, sys, time
from wordorder.cli.app import stage
from wordorder.cli.main import main

@stage()
def work() -> None:
    try:
        print("ready", flush=True)
        time.sleep(60)
    except BaseException:
        raise AttributeError("half imported")

signal.signal(signal.SIGINT, signal.default_int_handler)
if sys.argv[1] == "import":
    print("ready", flush=True)
    time.sleep(60)
sys.exit(main())
"""


@pytest.mark.parametrize(("words", "status"), [(["stage", "work"], 130), (["import"], -signal.SIGINT)])
def test_ctrl_c_is_a_sentence_also_during_imports(words: list[str], status: int) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", SWALLOWS, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout is not None and process.stdout.readline() == "ready\n"
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == status
    assert "Traceback" not in errors and len(errors.splitlines()) == 1 and "Ctrl-C" in errors


ENDS = """
import sys
from wordorder.cli.app import stage
from wordorder.cli.main import main
from wordorder.errors import Interrupted, WordorderError

@stage()
def fail(kind: str) -> None:
    if kind == "pipe":
        while True:
            print("a line")
    raise {"retry": Interrupted("Saved."), "error": WordorderError("A sentence.", code="some-code", line=3)}[kind]

sys.exit(main())
"""


@pytest.mark.parametrize(("kind", "status", "said"), [("retry", 75, "Saved."), ("error", 1, "error: A sentence.")])
def test_errors_have_a_status_and_a_sentence(kind: str, status: int, said: str) -> None:
    done = subprocess.run([sys.executable, "-c", ENDS, "stage", "fail", kind], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (status, "", f"wordorder: {said}\n")


def test_a_reader_that_leaves_is_no_mistake() -> None:
    command = [sys.executable, "-c", ENDS, "stage", "fail", "pipe"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None and process.stderr is not None
    process.stdout.readline()
    process.stdout.close()
    assert process.wait(60) == 1
    assert process.stderr.read() == ""


def test_programs_read_errors_as_json() -> None:
    environment = {**os.environ, "WORDORDER_ERRORS": "json"}
    command = [sys.executable, "-c", ENDS, "stage", "fail", "error"]
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert done.returncode == 1
    found = json.loads(done.stderr)
    assert (found["message"], found["code"], found["line"]) == ("A sentence.", "some-code", 3)


def reported(arguments: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> dict[str, str]:
    """Return the error of a command line."""
    monkeypatch.setenv("WORDORDER_ERRORS", "json")
    assert main(arguments.split()) == 2
    error: dict[str, str] = json.loads(capsys.readouterr().err)
    assert error["message"].endswith(" --help'.")
    return error


@pytest.mark.parametrize(
    "arguments",
    [
        "stage train --threads -1",
        "stage train --threads some",
        "stage train --save-seconds nan",
        "stage train --devices 0",
        "stage train --shard-optimizer perhaps",
        "stage translate --threads 0",
        "stage measure perplexity --threads -1",
        "status demo --watch -1",
        "status demo --watch inf",
        "status demo --log-lines -1",
        "stage train-classes --classes 0",
        "stage reorder --threads 0",
        "stage positions noisy --ratio 1.5",
        "stage positions noisy --ratio nan",
        "stage positions noisy --seed -1",
        "stage positions noisy --seed 99999999999999999999999",
        "stage align --threads -1",
        "translate --threads -1",
        "stage score-systems --batch-size 0",
        "params --vocabulary -1",
        "mathematics --seed 4294967296",
        "data check --timeout 0",
        "stage table scores --results nope",
        "stage figure scores --results nope",
        "stage figure value_range --length 0",
        "stage analyse length --results nope",
        "results demo --results nope",
        "stage page --results nope",
        "plan demo --results nope",
        "plan demo --root nope",
        "status demo --results nope",
        "efficiency demo --results nope",
        "data pairs --results nope",
    ],
)
def test_values_out_of_range_name_the_option(
    arguments: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("config").mkdir()
    error = reported(arguments, monkeypatch, capsys)
    *_, option, value = arguments.split()
    assert (error["code"], error["key"]) == ("invalid-value", option)
    assert value in error["message"]


@pytest.mark.parametrize(
    ("arguments", "code", "key", "suggestion"),
    [
        ("statsu demo", "unknown-command", None, "wordorder status"),
        ("train --config {}", "unknown-command", None, "wordorder stage train"),
        ("positions gold", "unknown-command", None, "wordorder stage positions"),
        ("stage positions glod", "unknown-command", None, "wordorder stage positions gold"),
        ("xylophone", "unknown-command", None, None),
        ("status demo --wacth 3", "unknown-option", "--wacth", "--watch"),
        ("status", "missing-value", "STUDY", None),
        ("schema", "missing-value", "--output", None),
        ("schema --output", "missing-value", "--output", None),
        ("stage gather-text --output x --inputs", "missing-value", "--inputs", None),
        ("stage gather-text --output x", "missing-value", "--inputs", None),
        ("stage table nothing", "invalid-value", "NAME", None),
        ("schema --output x y", "usage", None, None),
    ],
)
def test_mistakes_in_the_command_line(
    arguments: str,
    code: str,
    key: str | None,
    suggestion: str | None,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    error = reported(arguments, monkeypatch, capsys)
    assert (error["code"], error["key"], error["suggestion"]) == (code, key, suggestion)


COMMANDS = dict(commands())


def test_people_have_few_commands() -> None:
    assert 10 <= len([words for words in COMMANDS if words[0] != "stage"]) <= 20


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_every_command_explains_itself(words: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*words, "--help"]) == 0
    text = capsys.readouterr().out
    command = COMMANDS[words]
    assert command.help and command.help.partition("\n")[0].endswith(".")
    assert f"Examples:\n  wordorder {' '.join(words)}" in text
    for param in command.params:
        assert getattr(param, "help", None), f"{param.name} has no help"


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_examples_use_options_that_exist(words: tuple[str, ...]) -> None:
    for example in (COMMANDS[words].epilog or "").splitlines():
        assert set(re.findall(r"(?<!\S)--[a-z0-9-]+", example)) <= options(COMMANDS[words])


def test_groups_without_a_command_show_their_help(capsys: pytest.CaptureFixture[str]) -> None:
    for words in ([], ["stage"], ["data"], ["stage", "positions"]):
        assert main(words) == 2
        assert f"Usage: {' '.join(['wordorder', *words])} " in capsys.readouterr().err


def test_the_help_lists_every_command_of_people_and_none_of_the_stages(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0
    listed = re.findall(r"^  ([a-z][a-z -]*[a-z])  ", capsys.readouterr().out.split("Examples:")[0], re.MULTILINE)
    people = {" ".join(words) for words in COMMANDS if words[0] != "stage"}
    assert set(listed) == people | {"stage"}


@pytest.mark.parametrize("words", ["--help", "stage --help", "plan --help", "--version"])
def test_help_imports_nothing_slow(words: str) -> None:
    code = f"""
import sys
from wordorder.cli.main import main
assert main({words.split()}) == 0
slow = {{"torch", "pandas", "numpy", "sacrebleu", "matplotlib", "snakemake", "numba", "pydantic", "rich"}}
print(sorted(slow & set(sys.modules)), file=sys.stderr)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0 and done.stderr == "[]\n"


@pytest.mark.parametrize("command", ["models", "status demo"])
def test_commands_that_only_read_files_start_without_pytorch(command: str) -> None:
    code = f"""
import sys
from wordorder.cli.main import main
assert main({command.split()}) == 0
print(sorted({{"torch", "matplotlib", "scipy", "sacrebleu", "snakemake"}} & set(sys.modules)), file=sys.stderr)
"""
    root = Path(__file__).parents[2]
    # The first run after a change of the encodings imports PyTorch, and caches what they say.
    runs = [subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=root) for _ in range(2)]
    assert runs[1].returncode == 0 and runs[1].stderr.splitlines()[-1] == "[]"


def test_pages_tables_and_drawings_start_without_pytorch() -> None:
    names = "report.page report.reference tables.study comparison.significance metrics.scores published.paper"
    names += " figures.catalogue figures.scores figures.comparisons figures.perplexity figures.reordering"
    modules = [f"wordorder.{name}" for name in names.split()]
    modules += [
        f"wordorder.analyses.{path.stem}"
        for path in Path(main.__code__.co_filename).parents[1].glob("analyses/[a-z]*.py")
    ]
    assert len(modules) > 20
    code = f"import sys, {', '.join(modules)}; print('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


def test_the_shell_completes_commands_and_studies(tmp_path: Path) -> None:
    (tmp_path / "config/studies").mkdir(parents=True)
    for name in ("first", "second"):
        (tmp_path / f"config/studies/{name}.yaml").touch()
    for line, expected in {"plan ": ["first", "second"], "plan f": ["first"], "stage posi": ["positions"]}.items():
        environment = {**os.environ, "_WORDORDER_COMPLETE": "complete_bash", "COMP_WORDS": f"wordorder {line}"}
        environment["COMP_CWORD"] = str(line.count(" ") + 1)
        command = [sys.executable, "-m", "wordorder.cli"]
        done = subprocess.run(command, capture_output=True, text=True, env=environment, cwd=tmp_path)
        assert done.stdout.split() == expected


def test_list_options_take_all_values_that_follow() -> None:
    words, repeated = "--in a b --out c --in d e f -- g", "--in a --in b --out c --in d --in e --in f -- g"
    assert " ".join(repeat_options(words.split(), {"--in"})) == repeated
    assert " ".join(repeat_options(words.split(), set())) == words


def test_slices_are_of_models_that_exist() -> None:
    texts = [path.read_text("utf-8") for path in Path(main.__code__.co_filename).parent.glob("*.py")]
    named = [found for text in texts for found in re.findall(r'slice_of\("(\w+)\.(\w+)"', text)]
    assert named
    for module, name in named:
        assert isinstance(getattr(import_module(f"wordorder.config.{module}"), name), type)


@pytest.mark.parametrize(
    "start", ["import wordorder.cli", "from wordorder.errors import say_on_interrupt as say; say('Ctrl-C ended it.')"]
)
def test_ctrl_c_outside_a_command_is_a_sentence(start: str) -> None:
    """During the imports of the command line, and while Snakemake plans (workflow/rules/common.smk)."""
    ended, failed = (
        subprocess.run([sys.executable, "-c", f"{start}; raise {error}"], capture_output=True, text=True, check=False)
        for error in ("KeyboardInterrupt", "ValueError(5)")
    )
    assert ended.returncode == -signal.SIGINT, "a shell that runs a script must see the signal"
    assert re.fullmatch(r"(wordorder: )?Ctrl-C .*\.\n", ended.stderr)
    assert failed.returncode == 1 and failed.stderr.startswith("Traceback") and "ValueError: 5" in failed.stderr


def test_snakemake_has_a_sentence_for_ctrl_c() -> None:
    rules = Path(__file__).parents[2] / "workflow/rules/common.smk"
    assert re.search(r'^say_on_interrupt\("wordorder: Ctrl-C', rules.read_text("utf-8"), re.MULTILINE)
