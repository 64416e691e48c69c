"""Every kind of extension is found in a plug-in folder and at entry points, and broken ones are reported by name."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from guide import DOCS, block, plugin
from raises import raises
from wordorder.cli.main import main
from wordorder.registry import KINDS, check_code, code_of, plugin_files, registry_of
from wordorder.workflow.configuration import Configuration

# The names that the examples of docs/extending.md register.
NAMES = {
    "encodings": "slope",
    "architectures": "shared_encoder",
    "attention_backends": "chunked",
    "metrics": "length_error",
    "analyses": "repetition",
    "dataset_formats": "jsonl",
}


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


@pytest.fixture(params=list(KINDS))
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def test_a_file_in_the_folder_of_its_kind_is_a_member(kind: str, plugins: Path) -> None:
    assert NAMES[kind] not in registry_of(kind)
    registry_of(kind).forget_discovery()
    file = write(plugins / kind / "own.py", plugin(kind))
    assert NAMES[kind] in registry_of(kind)
    assert Path(str(registry_of(kind).module(NAMES[kind]).__file__)) == file


def test_a_file_that_raises_is_named(kind: str, plugins: Path) -> None:
    file = write(plugins / kind / "broken.py", "import no_such_module\n")
    with raises("broken-plugin", path=file, says="no_such_module"):
        registry_of(kind).names()
    file.write_text(plugin(kind), encoding="utf-8")
    assert NAMES[kind] in registry_of(kind), "once it is mended"


def test_a_file_that_ends_the_program_is_named(plugins: Path) -> None:
    file = write(plugins / "metrics/broken.py", "import sys\nsys.exit()\n")
    with raises("broken-plugin", path=file, says="SystemExit"):
        registry_of("metrics").names()


def test_a_name_is_taken_once(kind: str, plugins: Path) -> None:
    first = write(plugins / kind / "first.py", plugin(kind))
    second = write(plugins / kind / "second.py", plugin(kind))
    with raises("duplicate-name", path=second, key=NAMES[kind], says=str(first)):
        registry_of(kind).names()


def test_the_code_of_a_member_is_that_of_its_file_when_it_was_loaded(kind: str, plugins: Path) -> None:
    text, registry = plugin(kind), registry_of(kind)
    file = write(plugins / kind / "own.py", text)
    (known,) = code_of(kind, [NAMES[kind], registry.names()[0]]).items()  # The package's members have no code.
    assert known == (f"{kind}/{NAMES[kind]}", registry.code(NAMES[kind])) and registry.file(NAMES[kind]) == file
    check_code(dict([known]), "The model was trained")
    write(file, text + "CHANGED = True\n")
    assert registry.code(NAMES[kind]) == known[1], "as long as this process runs the old code"
    registry.forget_discovery()
    with raises("changed-extension", path=file, key=NAMES[kind], says="The model was trained with other code"):
        check_code(dict([known]), "The model was trained")
    write(file, f"# A comment\n{text}")
    registry.forget_discovery()
    check_code(dict([known]), "The model was trained")


def test_code_that_is_missing_is_not_replaced(plugins: Path) -> None:
    with raises("unknown-name", says="There is no encoding 'slope'"):
        check_code({"encodings/slope": "0123456789"}, "The model was trained")


def test_a_stray_file_is_named_whatever_kind_is_needed(kind: str, plugins: Path) -> None:
    stray = write(plugins / "own.py", plugin(kind))
    with raises("plugin-without-kind", path=stray):
        registry_of(kind).names()


def test_a_command_ends_with_the_sentence(kind: str, plugins: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = write(plugins / kind / "broken.py", "1 / 0\n")
    assert main(["check", "multi30k"]) == 1
    error = capsys.readouterr().err
    assert error.startswith("wordorder: error: ") and str(file) in error and "Traceback" not in error


def test_an_unknown_backend_is_reported_before_any_job(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORDORDER_ATTENTION", "eagre")
    configuration = Configuration(DOCS.parent / "config")
    with raises("unknown-attention-backend", key="WORDORDER_ATTENTION", found="eagre"):
        configuration.catalogue.check_models(configuration.study("demo"))


def test_the_distribution_of_the_guide_can_be_installed(plugins: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("setuptools", minversion="70")  # builds projects that name no other builder
    project, site = plugins.with_name("project"), plugins.with_name("site-packages")
    write(project / "pyproject.toml", block("extending.md", "toml"))
    write(project / "slope.py", plugin("encodings"))
    offline = ["--no-deps", "--no-build-isolation", "--no-index", "--quiet"]
    subprocess.run(
        [sys.executable, "-m", "pip", "install", *offline, "--target", str(site), str(project)],
        capture_output=True,
        check=True,
    )
    monkeypatch.syspath_prepend(str(site))
    registry = registry_of("encodings")
    assert "slope" in registry
    assert registry.module("slope").__file__ == str(site / "slope.py")


def test_the_folder_wordorder_plugins_of_a_project_is_the_default(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("WORDORDER_PLUGINS", raising=False)
    assert plugin_files("metrics") == []
    own = Path("wordorder_plugins", "metrics", "own.py")
    own.parent.mkdir(parents=True)
    own.touch()
    assert plugin_files("metrics") == [own]
    monkeypatch.setenv("WORDORDER_PLUGINS", "")
    assert plugin_files("metrics") == []
