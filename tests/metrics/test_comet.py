"""COMET: what happens without it, what is kept, and real scores of a tiny model beside those of comet-score.

The real ones need the environment of 'make comet' (make test-comet); the others put a stand-in in its place.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest

from evaluation_samples import noisy, sentences, write_lines
from full_disk import limited
from wordorder.cli.main import main
from wordorder.errors import WordorderError
from wordorder.files import read_json, sha256
from wordorder.integrity import demand_below
from wordorder.metrics.base import SystemsTask
from wordorder.metrics.comet import COMET, PYTHON, CometSettings, find_checkpoint, find_python

ROOT = Path(__file__).parents[2]
SENTENCES = 12

# Stands in for unbabel-comet: the score of a translation is the share of its reference's words that it has.
STAND_IN = """
import os

class Model:
    def eval(self): pass
    def half(self): self.halved = True
    def predict(self, samples, batch_size, gpus, num_workers, progress_bar):
        with open(os.environ["CALLS"], "a") as file:
            file.write(f"{len(samples)} {batch_size} {hasattr(self, 'halved')}\\n")
        class Found: pass
        found = Found()
        found.scores = [len(set(s["mt"].split()) & set(s["ref"].split())) / len(set(s["ref"].split())) for s in samples]
        return found

def load_from_checkpoint(path, local_files_only):
    assert local_files_only and os.environ["HF_HUB_OFFLINE"] == "1"
    text = open(path).read()
    if text == "no tokeniser":
        raise OSError("Can't load the tokenizer for 'xlm-roberta-large'.\\nMore.")
    if text == "broken":
        raise ValueError("broken checkpoint")
    return Model()
"""

TORCH = """
__version__ = "9.9"
class cuda: is_available = staticmethod(lambda: False)
def set_float32_matmul_precision(precision): assert precision == "highest"
"""


class Files:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        references = sentences(SENTENCES, seed=1)
        self.source = write_lines(folder / "source", sentences(SENTENCES, seed=2))
        self.references = write_lines(folder / "references", references)
        self.hypotheses = [write_lines(folder / f"h{n}", noisy(references, n / 5, seed=n)) for n in (1, 2)]
        self.output = folder / "out" / "scores.json"

    def command(self, model: str, *options: str, precision: str = "fp32", hypotheses: list[Path] | None = None) -> int:
        return main(self.words(model, *options, precision=precision, hypotheses=hypotheses))

    def words(
        self, model: str, *options: str, precision: str = "fp32", hypotheses: list[Path] | None = None
    ) -> list[str]:
        chosen = self.hypotheses if hypotheses is None else hypotheses
        files = [*chosen, "--source", self.source, "--references", self.references]
        slice_ = json.dumps({"metric": {"comet": {"model": model, "precision": precision}}, "target_language": "de"})
        return ["stage", "score-systems", "--config", slice_, *map(str, files), "--output", str(self.output), *options]

    def result(self) -> Any:
        return read_json(self.output)


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Files:
    monkeypatch.chdir(tmp_path)  # no .venv-comet here
    for name in (PYTHON, "HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HF_HOME", str(tmp_path / "hf"))
    return Files(tmp_path)


@pytest.fixture
def stand_in(files: Files, monkeypatch: pytest.MonkeyPatch) -> Files:
    """The files, a model "model.ckpt", and an environment whose COMET is STAND_IN; it writes down its calls."""
    packages = files.folder / "packages"
    write_lines(packages / "comet" / "__init__.py", STAND_IN.split("\n"))
    write_lines(packages / "torch.py", TORCH.split("\n"))
    for name in ("unbabel_comet", "transformers"):
        text = ["Metadata-Version: 2.1", f"Name: {name.replace('_', '-')}", "Version: 9.9"]
        write_lines(packages / f"{name}-9.9.dist-info" / "METADATA", text)
    (files.folder / "model.ckpt").write_text("weights")
    monkeypatch.setenv("PYTHONPATH", str(packages))
    monkeypatch.setenv("CALLS", str(files.folder / "calls"))
    monkeypatch.setenv(PYTHON, sys.executable)
    return files


def calls(files: Files) -> list[str]:
    path = files.folder / "calls"
    return path.read_text().splitlines() if path.exists() else []


def test_without_a_model_it_is_said_how_to_get_one(files: Files, capsys: pytest.CaptureFixture[str]) -> None:
    assert files.command("Unbabel/wmt22-comet-da") == 0
    result = files.result()
    assert (result["status"], result["systems"]) == ("not scored", {})
    assert "'Unbabel/wmt22-comet-da' is neither a file or folder here nor in Hugging Face's cache" in result["reason"]
    assert "download_model('Unbabel/wmt22-comet-da')" in result["how"]
    assert result["reason"] in capsys.readouterr().err
    assert result["signature"] is None


def test_what_others_read_does_not_name_the_users_home(files: Files, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE", "HF_HOME", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(files.folder))
    assert files.command("Unbabel/wmt22-comet-da") == 0
    assert files.result()["reason"].endswith("in Hugging Face's cache (~/.cache/huggingface/hub).")


def test_a_user_without_a_home_is_told_what_is_missing(files: Files, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE", "HF_HOME", "XDG_CACHE_HOME", "HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("pwd.getpwuid", lambda user: {}[user])
    monkeypatch.setenv(PYTHON, "~/bin/python")
    assert find_python() is None
    assert files.command("Unbabel/wmt22-comet-da") == 0
    assert files.result()["status"] == "not scored"
    assert files.result()["reason"].endswith("in Hugging Face's cache (~/.cache/huggingface/hub).")


def test_without_an_environment_it_is_said_how_to_make_one(files: Files) -> None:
    (files.folder / "model.ckpt").write_text("weights")
    assert files.command("model.ckpt") == 0
    assert files.result()["reason"] == "There is no environment with unbabel-comet."
    assert "make comet" in files.result()["how"] and PYTHON in files.result()["how"]


def test_a_python_without_comet_is_not_used(stand_in: Files, monkeypatch: pytest.MonkeyPatch) -> None:
    (stand_in.folder / "packages" / "comet" / "__init__.py").write_text("raise ImportError('pkg_resources')")
    assert stand_in.command("model.ckpt") == 0
    assert stand_in.result()["reason"] == f"{sys.executable} has no working unbabel-comet (pkg_resources)."


def test_a_model_without_its_encoders_tokeniser_is_not_scored(stand_in: Files) -> None:
    (stand_in.folder / "model.ckpt").write_text("no tokeniser")
    assert stand_in.command("model.ckpt") == 0
    assert stand_in.result()["reason"] == "Can't load the tokenizer for 'xlm-roberta-large'."
    assert "tokeniser of its encoder" in stand_in.result()["how"]


def test_what_breaks_is_an_error_and_nothing_is_written(stand_in: Files, capfd: pytest.CaptureFixture[str]) -> None:
    (stand_in.folder / "model.ckpt").write_text("broken")
    assert stand_in.command("model.ckpt") == 1
    assert "unbabel-comet stopped with exit status 1" in (said := capfd.readouterr().err)
    assert "ValueError: broken checkpoint" in said
    assert not stand_in.output.exists()


def test_a_full_disk_is_said_and_nothing_is_written(stand_in: Files, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CALLS", os.devnull)
    for size in (0, 200):
        done = limited(stand_in.words("model.ckpt"), size)
        assert done.returncode == 1 and "full" in done.stderr and "Traceback" not in done.stderr, done.stderr
        assert not stand_in.output.exists()
    assert stand_in.command("model.ckpt") == 0


def test_scores_with_all_that_made_them(stand_in: Files) -> None:
    empty = write_lines(stand_in.folder / "diverged", [])
    assert stand_in.command("model.ckpt", "--batch-size", "5", hypotheses=[*stand_in.hypotheses, empty]) == 0
    result = stand_in.result()
    assert calls(stand_in) == ["12 5 False"] * 2
    assert result["status"] == "scored"
    assert result["source"] == {"lines": SENTENCES, "sha256": sha256(stand_in.source)}
    references = stand_in.references.read_text(encoding="utf-8").splitlines()
    for path in stand_in.hypotheses:
        lines = path.read_text(encoding="utf-8").splitlines()
        expected = [
            len(set(mt.split()) & set(ref.split())) / len(set(ref.split()))
            for mt, ref in zip(lines, references, strict=True)
        ]
        system = result["systems"][sha256(path)]
        assert system["segment_scores"] == pytest.approx(expected)
        assert system["score"] == pytest.approx(fmean(expected))
        assert (system["batch_size"], system["device"]) == (5, "cpu")
        assert system["checkpoint_sha256"] == sha256(stand_in.folder / "model.ckpt")
        assert system["versions"]["unbabel-comet"] == "9.9"
    assert result["systems"][sha256(empty)] == {"score": None, "segment_scores": []}
    digest = sha256(stand_in.folder / "model.ckpt")[:12]
    assert result["signature"] == f"model.ckpt|precision:fp32|unbabel-comet:9.9|checkpoint:{digest}"
    (stand_in.folder / "model.ckpt").rename(stand_in.folder / "mine")
    assert stand_in.command(str(stand_in.folder / "mine")) == 0
    assert stand_in.result()["signature"].startswith("mine|"), "no folder of one machine"


def test_scores_may_be_kept_where_each_file_needs_a_checksum(stand_in: Files) -> None:
    """The workflow keeps them there. Every later run reads them, too."""
    demand_below(stand_in.folder / "cache")
    words = ("model.ckpt", "--cache", str(stand_in.folder / "cache"))
    for _ in range(2):
        assert stand_in.command(*words) == 0
    entries = list((stand_in.folder / "cache").rglob("*.json"))
    assert len(entries) == 2 and len(calls(stand_in)) == 2
    entries[0].write_bytes(entries[0].read_bytes() + b" ")
    assert stand_in.command(*words) == 1, "damage is noticed"


def test_only_what_is_new_is_scored(stand_in: Files, monkeypatch: pytest.MonkeyPatch) -> None:
    assert stand_in.command("model.ckpt", hypotheses=stand_in.hypotheses[:1]) == 0
    assert stand_in.command("model.ckpt") == 0
    assert stand_in.command("model.ckpt") == 0
    first = stand_in.output.read_bytes()
    assert len(calls(stand_in)) == 2
    # What was scored once is known where there is neither model nor environment.
    checkpoint = (stand_in.folder / "model.ckpt").rename(stand_in.folder / "away")
    monkeypatch.setenv(PYTHON, "/nowhere")
    assert stand_in.command("model.ckpt") == 0
    assert stand_in.output.read_bytes() == first
    monkeypatch.setenv(PYTHON, sys.executable)
    # Another checkpoint, precision, source or reference: everything is scored again.
    checkpoint.write_text("other weights")
    checkpoint.rename(stand_in.folder / "model.ckpt")
    assert stand_in.command("model.ckpt") == 0
    assert len(calls(stand_in)) == 4
    assert stand_in.command("model.ckpt", precision="fp16") == 0
    assert calls(stand_in)[4:] == ["12 16 True"] * 2
    write_lines(stand_in.source, sentences(SENTENCES, seed=9))
    assert stand_in.command("model.ckpt") == 0
    assert len(calls(stand_in)) == 8


def test_scores_of_two_versions_or_checkpoints_are_never_mixed(
    stand_in: Files, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = stand_in.hypotheses
    assert stand_in.command("model.ckpt", hypotheses=[first]) == 0
    before = stand_in.result()["systems"][sha256(first)]
    package = stand_in.folder / "packages" / "unbabel_comet-9.9.dist-info"
    text = (package / "METADATA").read_text()
    (package / "METADATA").write_text(text.replace("9.9", "10.0"))
    assert stand_in.command("model.ckpt", hypotheses=[first, second]) == 0
    assert len(calls(stand_in)) == 3, "another version scores what the first had scored, too"
    assert {each["versions"]["unbabel-comet"] for each in stand_in.result()["systems"].values()} == {"10.0"}
    assert "unbabel-comet:10.0|" in stand_in.result()["signature"]
    (package / "METADATA").write_text(text)
    assert stand_in.command("model.ckpt", hypotheses=[first]) == 0
    assert stand_in.result()["systems"] == {sha256(first): before}, "the scores of the first version are still known"
    # Without model and environment the version that has all is taken, and never two.
    (stand_in.folder / "model.ckpt").rename(stand_in.folder / "away")
    monkeypatch.setenv(PYTHON, "/nowhere")
    assert stand_in.command("model.ckpt", hypotheses=[first, second]) == 0
    assert stand_in.result()["status"] == "scored"
    assert {each["versions"]["unbabel-comet"] for each in stand_in.result()["systems"].values()} == {"10.0"}
    # With another checkpoint at hand nothing of the first one counts.
    (stand_in.folder / "model.ckpt").write_text("other weights")
    assert stand_in.command("model.ckpt", hypotheses=[first, second]) == 0
    assert (stand_in.result()["status"], stand_in.result()["systems"]) == ("not scored", {})


def test_scores_of_another_checkpoint_of_the_same_name_are_not_taken(stand_in: Files) -> None:
    for name in ("first", "second"):
        (stand_in.folder / name).mkdir()
        shutil.copy(stand_in.folder / "model.ckpt", stand_in.folder / name / "model.ckpt")
    (stand_in.folder / "second/model.ckpt").write_text("other weights")
    assert stand_in.command(str(stand_in.folder / "first/model.ckpt")) == 0
    (stand_in.folder / "first/model.ckpt").unlink()
    (stand_in.folder / "second/model.ckpt").unlink()
    assert stand_in.command(str(stand_in.folder / "first/model.ckpt")) == 0
    assert stand_in.result()["status"] == "scored"
    assert stand_in.command(str(stand_in.folder / "second/model.ckpt")) == 0
    assert (stand_in.result()["status"], stand_in.result()["systems"]) == ("not scored", {})


def test_an_environment_without_unbabel_comet_is_none(stand_in: Files) -> None:
    shutil.rmtree(stand_in.folder / "packages" / "unbabel_comet-9.9.dist-info")
    assert stand_in.command("model.ckpt") == 0
    assert (stand_in.result()["status"], stand_in.result()["systems"]) == ("not scored", {})
    assert PYTHON in stand_in.result()["how"]


def test_what_was_scored_before_it_broke_is_kept(stand_in: Files) -> None:
    """A job may reach its time limit before the last system, as on a cluster."""
    package = stand_in.folder / "packages" / "comet" / "__init__.py"
    text = package.read_text()
    package.write_text(
        text.replace("class Found: pass", "class Found: pass\n        if len(calls()) > 1: raise OSError")
    )
    with package.open("a") as file:
        file.write('\ndef calls(): return open(os.environ["CALLS"]).readlines()\n')
    assert stand_in.command("model.ckpt") == 1
    assert len(calls(stand_in)) == 2 and not stand_in.output.exists()
    package.write_text(text)
    assert stand_in.command("model.ckpt") == 0
    assert len(calls(stand_in)) == 3 and len(stand_in.result()["systems"]) == 2


def test_different_numbers_of_lines_are_refused(stand_in: Files, capsys: pytest.CaptureFixture[str]) -> None:
    write_lines(stand_in.hypotheses[1], sentences(3))
    assert stand_in.command("model.ckpt") == 1
    assert f"{stand_in.hypotheses[1]} has 3 lines but {stand_in.references} has 12" in capsys.readouterr().err
    write_lines(stand_in.source, sentences(4))
    task = SystemsTask(stand_in.source, stand_in.references, stand_in.hypotheses, stand_in.folder / "cache")
    with pytest.raises(WordorderError) as caught:
        COMET("de", CometSettings(model="model.ckpt")).score_systems(task)
    assert (caught.value.code, caught.value.path, caught.value.found) == ("different-lengths", stand_in.source, 4)


def test_models_are_found_where_hugging_face_keeps_them(files: Files, monkeypatch: pytest.MonkeyPatch) -> None:
    name = "Unbabel/wmt22-comet-da"
    for variable, hub in (("HF_HOME", "a/hub"), ("HF_HUB_CACHE", "b"), ("XDG_CACHE_HOME", "c/huggingface/hub")):
        monkeypatch.delenv("HF_HOME", raising=False)
        monkeypatch.delenv("HF_HUB_CACHE", raising=False)
        monkeypatch.setenv(variable, str(files.folder / hub.split("/")[0]))
        assert find_checkpoint(name) is None
        folder = files.folder / hub / "models--Unbabel--wmt22-comet-da"
        write_lines(folder / "refs" / "main", ["abc"])
        path = write_lines(folder / "snapshots" / "abc" / "checkpoints" / "model.ckpt", ["x"])
        assert find_checkpoint(name) == path
    folder = files.folder / "local"
    folder.mkdir()
    assert find_checkpoint(str(folder)) is None
    path = write_lines(folder / "checkpoints" / "model.ckpt", ["x"])
    assert find_checkpoint(str(folder)) == find_checkpoint(str(path)) == path


def test_the_environment_is_looked_for_in_order(files: Files, monkeypatch: pytest.MonkeyPatch) -> None:
    assert find_python() is None
    beside = write_lines(files.folder / ".venv-comet" / "bin" / "python", [])
    assert find_python() == beside.relative_to(files.folder)
    monkeypatch.setenv(PYTHON, sys.executable)
    assert find_python() == Path(sys.executable)
    assert find_python("/nowhere/python") is None


# ----------------------------------------------------------------------------------------------- the real thing


@pytest.fixture(scope="module")
def comet_python() -> Path:
    path = find_python(os.environ.get(PYTHON) or ROOT / ".venv-comet" / "bin" / "python")
    if path is None:
        pytest.skip(f"no environment with COMET: 'make comet' makes it, or {PYTHON} names its Python")
    return path


@pytest.fixture(scope="module")
def tiny_model(comet_python: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("model")
    words = write_lines(folder / "words", sentences(40))
    script = Path(__file__).parents[1] / "support" / "comet_tiny.py"
    subprocess.run([comet_python, script, folder, words], check=True, capture_output=True)
    return folder


@pytest.mark.slow
def test_scores_are_those_that_comet_score_prints(files: Files, comet_python: Path, tiny_model: Path) -> None:
    assert files.command(str(tiny_model), "--python", str(comet_python), precision="fp16") == 0
    ours = files.result()
    json_path = files.folder / "theirs.json"
    command = [comet_python.with_name("comet-score"), "-s", files.source, "-r", files.references]
    command += ["-t", *files.hypotheses, "--model", tiny_model / "checkpoints" / "model.ckpt", "--gpus", "0", "--quiet"]
    environment = os.environ | {"HF_HUB_OFFLINE": "1"}
    printed = subprocess.run(
        [*command, "--to_json", json_path], check=True, capture_output=True, text=True, env=environment
    ).stdout
    theirs: dict[str, Any] = read_json(json_path)
    for path in files.hypotheses:
        system = ours["systems"][sha256(path)]
        assert system["segment_scores"] == [row["COMET"] for row in theirs[str(path)]]
        assert f"{path}\tscore: {system['score']:.4f}\n" in printed
        assert len(set(system["segment_scores"])) > SENTENCES / 2, "the tiny model says the same of everything"
    assert len({system["score"] for system in ours["systems"].values()}) == 2
    assert system["versions"]["unbabel-comet"] in (ROOT / "requirements" / "comet.lock").read_text(encoding="utf-8")


@pytest.mark.slow
def test_fp32_depends_on_no_batch(files: Files, comet_python: Path, tiny_model: Path) -> None:
    found = []
    for size in (1, 7):
        cache = files.folder / f"cache{size}"
        options = ["--python", str(comet_python), "--batch-size", str(size), "--cache", str(cache)]
        assert files.command(str(tiny_model), *options, hypotheses=files.hypotheses[:1]) == 0
        (system,) = files.result()["systems"].values()
        found.append(system["segment_scores"])
        assert len(list(cache.iterdir())) == 1
    assert found[0] == pytest.approx(found[1], abs=1e-5)
