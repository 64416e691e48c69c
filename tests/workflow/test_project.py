"""Test that the folder made by 'wordorder init' runs the workflow of the installed package."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import torch
import yaml
from torch.testing import assert_close

from little_study import DATASET, SIZES, STUDY
from raises import raises
from snakemake_runs import ROOT, dry_run, job_counts
from tiny_models import sentences, step_by_step, tiny_model
from wordorder.cli.main import main
from wordorder.encodings.registry import parse
from wordorder.workflow.checks import check
from wordorder.workflow.configuration import Configuration
from wordorder.workflow.project import make_project

SAMPLE = "wordorder_plugins/encodings/my_slope.py"


def run(folder: Path, *command: str | Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a command in the folder of a project."""
    done = subprocess.run(
        [str(part) for part in command],
        cwd=folder,
        env=os.environ | {"OMP_NUM_THREADS": "1"} | environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Return the folder of a new project."""
    make_project(tmp_path / "project", ["demo"])
    return tmp_path / "project"


def test_a_project_runs_the_jobs_of_the_clone(project: Path, tmp_path: Path) -> None:
    found = run(project, sys.executable, "-m", "snakemake", "--cores", "2", "--dry-run")
    expected = job_counts(dry_run(tmp_path / "clone", "demo", "--cores", "2"))
    expected["all"] = expected.pop("demo")
    assert job_counts(found.stdout) == expected


def test_the_results_of_a_project_may_be_in_another_folder(project: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "snakemake", "my_study", "--cores", "2", "--dry-run"]
    elsewhere = ["--directory", tmp_path / "elsewhere"]
    plugins = {"WORDORDER_PLUGINS": str(project / "wordorder_plugins")}
    here, there = run(project, *command), run(project, *command, *elsewhere, **plugins)
    assert job_counts(there.stdout) == job_counts(here.stdout)


def test_a_project_passes_on_what_happens_at_the_start_and_the_end_of_a_run() -> None:
    """Snakemake does not call these blocks of a module."""
    rules, project = (
        set(re.findall(r"^(on\w+):$", file.read_text(), re.MULTILINE))
        for file in (ROOT / "workflow/rules/common.smk", ROOT / "src/wordorder/workflow/project/Snakefile")
    )
    assert rules == project and "onstart" in rules


def test_run_passes_options_to_snakemake(project: Path) -> None:
    (project / "results").mkdir()
    found = run(project, sys.executable, "-m", "wordorder.cli", "run", "my_study", "--dry-run", "--quiet", "rules")
    counts = job_counts(found.stdout)
    assert counts["train_model"] == 6 and counts["my_study"] == 1


def test_run_takes_the_path_of_a_study_of_the_project(
    project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(project)
    started: list[list[str]] = []
    monkeypatch.setattr("os.execv", lambda _, words: started.append(words))
    main(["run", "config/studies/my_study.yaml"])
    assert started[0][3] == "my_study"
    (project / "elsewhere.yaml").write_text("name: elsewhere\n")
    assert main(["run", "elsewhere.yaml"]) == 1
    assert "not a study of this project" in capsys.readouterr().err
    assert main(["run", "my_studdy"]) == 1 and "did you mean 'my_study'" in capsys.readouterr().err
    main(["run", "other", "--config", "config_dir=elsewhere"])
    assert started[1][3] == "other", "the studies of another folder are not known here"


def test_run_finds_the_profiles_of_the_package_unless_there_are_own_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    started: list[list[str]] = []
    monkeypatch.setattr("os.execv", lambda _, words: started.append(words))

    def profile(*options: str) -> str:
        main(["run", "demo", *options])
        return started[-1][started[-1].index("--profile") + 1]

    assert profile() == str(ROOT / "local")
    assert profile("--profile", "slurm") == str(ROOT / "slurm")
    assert profile("--profile", "ours") == "ours", "Snakemake says that there is none"
    (tmp_path / "slurm").mkdir()
    assert profile("--profile", "slurm") == str(ROOT / "slurm")
    (tmp_path / "slurm/profile.yaml").touch()
    assert profile("--profile", "slurm") == "slurm"


def test_run_needs_no_project(tmp_path: Path) -> None:
    found = run(tmp_path, sys.executable, "-m", "wordorder.cli", "run", "demo", "--dry-run")
    assert job_counts(found.stdout)["train_model"] == 12


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ([], ["config_dir=HERE/config"]),
        (["--config", "study=a", "b=1", "--quiet", "rules"], ["config_dir=HERE/config", "study=a", "b=1"]),
        (["-C", "b=1"], ["config_dir=HERE/config", "b=1"]),
        (["--config=b=1", "train_all"], ["config_dir=HERE/config", "b=1"]),
        (["--config", "config_dir=elsewhere", "b=1"], ["config_dir=elsewhere", "b=1"]),
        (["--configfile", "x.yaml"], None),
        (["--profile", "slurm"], ["config_dir=HERE/config", "training_table=HERE/slurm/training.tsv"]),
        (["--profile", "slurm", "-C", "training_table=a"], ["config_dir=HERE/config", "training_table=a"]),
        (
            ["--profile", "slurm", "-C", "config_dir=elsewhere"],
            ["training_table=HERE/slurm/training.tsv", "config_dir=elsewhere"],
        ),
    ],
)
def test_run_without_a_snakefile_uses_the_configuration_of_the_folder(
    options: list[str], expected: list[str] | None, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from snakemake.cli import get_argument_parser

    monkeypatch.chdir(project)
    started: list[list[str]] = []
    monkeypatch.setattr("os.execv", lambda _, words: started.append(words))
    main(["run", "my_study", *options])
    assert not any(str(project) in word for word in started[0]), "the project's Snakefile reads it"
    (project / "Snakefile").unlink()
    main(["run", "my_study", *options])
    found = get_argument_parser().parse_args(started[1][3:])
    assert found.config == (expected and [entry.replace("HERE", str(project)) for entry in expected])
    assert found.targets == ["my_study", *(["train_all"] if "train_all" in options else [])]


def test_run_without_a_snakefile_runs_a_study_of_the_folder(project: Path, tmp_path: Path) -> None:
    folder = project.rename(tmp_path / "my project")
    (folder / "Snakefile").unlink()
    plugins = {"WORDORDER_PLUGINS": str(folder / "wordorder_plugins")}
    command = (sys.executable, "-m", "wordorder.cli", "run", "my_study", "--dry-run", "--directory", "elsewhere")
    assert job_counts(run(folder, *command, **plugins).stdout)["train_model"] == 6


def test_a_copied_study_has_everything_that_it_needs(tmp_path: Path) -> None:
    make_project(tmp_path / "project", ["opr_k_mini"])  # based on opr_k, a companion of opr, on which it is based
    configuration = Configuration(tmp_path / "project" / "config")
    assert {"opr_k_mini", "opr_k", "opr", "demo", "my_study"} <= set(configuration.study_names)
    for name in configuration.study_names:
        assert configuration.datasets_of(configuration.study(name))


def test_the_studies_of_a_new_project_are_valid(project: Path, monkeypatch: pytest.MonkeyPatch, plugins: Path) -> None:
    (plugins / "encodings" / "my_slope.py").write_text((project / SAMPLE).read_text())
    configuration = Configuration(project / "config")
    assert configuration.study_names == ["demo", "my_study"]
    for name in configuration.study_names:
        check(configuration.study(name), configuration)


def test_the_sample_encoding_trains_and_decodes(project: Path, own_encodings: Path) -> None:
    (own_encodings / "my_slope.py").write_text((project / SAMPLE).read_text())
    source, target = sentences([6, 4]), sentences([5, 5], seed=1)
    model = tiny_model(parse({"type": "my_slope"})).train()
    model(source, target).square().sum().backward()
    assert all(own.grad is not None and own.grad.all() for own in model.encoding.parameters())
    model.eval()
    with torch.no_grad():
        memory = model.encode(source)
        assert_close(step_by_step(model, target, memory), model.decode(target, memory), rtol=1e-4, atol=2e-5)


def test_shipped_studies_are_added_to_a_project(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def contents() -> dict[Path, bytes]:
        return {path: path.read_bytes() for path in project.rglob("*") if path.is_file()}

    grammar = project / "config/datasets/grammar.yaml"
    grammar.write_text(grammar.read_text() + "# mine\n")
    before = contents()
    assert main(["init", str(project), "--studies", "demo", "opr_k_mini"]) == 0
    after = contents()
    assert before.items() <= after.items()
    added = {path.relative_to(project / "config") for path in after.keys() - before.keys()}
    assert {Path("studies", f"{name}.yaml") for name in ("opr_k_mini", "opr_k", "opr")} < added
    said = capsys.readouterr().out.splitlines()
    assert said == [
        *(f"Added {project / 'config' / file}." for file in sorted(added)),
        f"Kept {grammar}, which differs from the shipped file.",
    ]
    configuration = Configuration(project / "config")
    assert configuration.datasets_of(configuration.study("opr_k_mini"))
    assert main(["init", str(project)]) == 0 and contents() == after
    assert "has these studies already: demo." in capsys.readouterr().out
    assert main(["init", str(project), "--studies", "opr_k", "demoo"]) == 1 and contents() == after


def test_a_folder_with_files_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "mine").touch()
    with raises(code="not-empty", path=tmp_path):
        make_project(tmp_path, ["demo"])
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]


def test_an_unknown_study_makes_no_folder(tmp_path: Path) -> None:
    with raises(code="unknown-name", suggestion="demo"):
        make_project(tmp_path / "project", ["demoo"])
    assert not (tmp_path / "project").exists()


def test_lint_has_one_answered_complaint() -> None:
    """All rules use the command of the environment that runs Snakemake, so no rule has a separate one."""
    done = subprocess.run(
        [sys.executable, "-m", "snakemake", "--lint"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    complaints = {line.strip() for line in done.stderr.splitlines() if line.startswith("    * ")}
    assert complaints == {"* Specify a conda environment or container for each rule.:"}


@pytest.mark.slow
@pytest.mark.skipif("WORDORDER_LONG" not in os.environ, reason="takes minutes: make test-long")
def test_a_wheel_works_in_an_empty_environment(tmp_path: Path) -> None:
    """Only the wheel and its declared dependencies are installed, in the locked versions."""
    run(ROOT, sys.executable, "-m", "pip", "wheel", "--no-deps", "--wheel-dir", tmp_path, ".")
    (wheel,) = tmp_path.glob("*.whl")
    run(tmp_path, sys.executable, "-m", "venv", "venv")
    lock, tools = ROOT / "requirements" / "main.lock", tmp_path / "venv" / "bin"
    run(tmp_path, tools / "python", "-m", "pip", "install", "--constraint", lock, wheel)
    clean = {"PYTHONPATH": "", "PATH": f"{tools}{os.pathsep}{os.environ['PATH']}"}
    run(tmp_path, tools / "wordorder", "init", "my_project", **clean)
    project = tmp_path / "my_project"
    assert job_counts(run(project, tools / "snakemake", "--cores", "2", "-n", **clean).stdout)["train_model"] == 12
    study = yaml.safe_load(STUDY) | {"encodings": ["sinusoidal", "my_slope"]}
    for path, text in {"studies/little": yaml.safe_dump(study), "datasets/pair": DATASET, "sizes": SIZES}.items():
        (project / "config" / f"{path}.yaml").write_text(text)
    run(project, tools / "snakemake", "little", "--cores", "2", **clean)
    run(project, tools / "snakemake", "little", "--report", "report.html", **clean)
    assert "my_slope" in (project / "results/little/index.html").read_text(encoding="utf-8")
    assert "results/little/figures/scores.svg" in (project / "report.html").read_text(encoding="utf-8")
