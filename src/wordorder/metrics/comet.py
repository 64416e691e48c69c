"""COMET (Rei et al. 2020) through unbabel-comet, which has a separate environment.

Its Python and its model are searched on this machine only. If either is missing, nothing fails: the result says "not
scored", with the reason and the remedy. Scores are cached by everything that they depend on: the version of
unbabel-comet, the checkpoint, its precision and the three texts. So a new system costs only its own scoring, in any
study. Cached scores remain available on a machine without the model. All scores of a result have one version,
checkpoint and precision.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import tempfile
from collections.abc import Collection
from hashlib import sha256 as sha256_of
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field
from typing_extensions import override

from wordorder.config.base import Model
from wordorder.data.text import read_lines
from wordorder.errors import WordorderError
from wordorder.files import read_json, sha256, write_json
from wordorder.metrics.agreement import Agreement
from wordorder.metrics.base import SystemsMetric, SystemsTask, register

PYTHON = "WORDORDER_COMET_PYTHON"
ENVIRONMENT = Path(".venv-comet/bin/python")
WORKER = Path(__file__).with_name("comet_worker.py")
GET_ENVIRONMENT = f"Make it with 'make comet', or set {PYTHON} to a Python that has unbabel-comet."


class CometSettings(Model):
    """Settings of COMET in a study."""

    model: Annotated[str, Field(min_length=1)] = Field(
        default="Unbabel/wmt22-comet-da",
        description="Name on Hugging Face, looked up in the local cache, or a folder or a checkpoint of a model.",
    )
    precision: Literal["fp32", "fp16"] = Field(
        default="fp32",
        description="Precision of the arithmetic on every device. The command comet-score 2.2.7 computes in fp16.",
    )


@register("comet")
class COMET(SystemsMetric):
    """A COMET model; scores are about 0 to 1, as comet-score prints them."""

    label = "COMET"
    digits = 4
    published_scale = 100.0
    rates_sentences = True
    Settings = CometSettings
    settings: CometSettings
    _AGREEMENT: ClassVar[dict[str, Agreement]] = {
        "wmt22-comet-da": Agreement(96.22374133884283, 2.8359194570556636, points=100)
    }

    @property
    @override
    def agreement(self) -> Agreement | None:
        names = {part.removeprefix("models--Unbabel--") for part in Path(self.settings.model).parts}
        return next((curve for name, curve in self._AGREEMENT.items() if name in names), None)

    @override
    def files(self) -> list[Path]:
        found = find_checkpoint(self.settings.model)
        return [found] if found else []

    @override
    def is_available(self) -> bool:
        return find_python() is not None

    def score_systems(self, task: SystemsTask) -> dict[str, Any]:
        """Score translations in one process, which stores the scores of each translation as soon as they are computed.

        Each entry of ``systems`` also holds the versions with which it was computed.
        """
        lines = {"source": _stripped(task.source), "references": _stripped(task.references)}
        _check_length(task.source, lines["source"], task.references, lines["references"])
        result: dict[str, Any] = {"status": "scored", **self.settings.model_dump()}
        for name, path in (("source", task.source), ("references", task.references)):
            result[name] = {"lines": len(lines[name]), "sha256": sha256(path)}
        texts: dict[str, list[str]] = {}
        for path in task.hypotheses:
            name = sha256(path)
            texts[name] = _stripped(path)
            if texts[name]:
                _check_length(path, texts[name], task.references, lines["references"])
        files = {name: _file_name(result, name) for name, text in texts.items() if text}
        checkpoint, interpreter = find_checkpoint(self.settings.model), find_python(task.python)
        digest = sha256(checkpoint) if checkpoint else None
        version = _version(interpreter) if interpreter else None
        folder = self._folder(Path(task.cache), version, digest, files.values())
        entries = {name: folder / file for name, file in files.items()}
        wanted = [
            {"hypotheses": texts[name], "entry": str(entry.absolute())}
            for name, entry in entries.items()
            if not entry.is_file()
        ]
        if wanted:
            result |= self._score_new(task, lines | {"systems": wanted}, checkpoint, digest, interpreter, version)
        kept = {name: read_json(entry) for name, entry in entries.items() if entry.is_file()}
        nothing: dict[str, Any] = {"score": None, "segment_scores": []}
        result["systems"] = {name: kept.get(name, nothing) for name in texts if name in kept or not texts[name]}
        return result | {"signature": _signature(result)}

    def _folder(self, cache: Path, version: str | None, digest: str | None, files: Collection[str]) -> Path:
        """Return the folder for the scores of one version of unbabel-comet, one checkpoint and one precision.

        If the version or the checkpoint is not known, this is the folder with most of the requested files.
        """
        model = Path(self.settings.model)
        name = "--".join(model.parts)
        if model.is_absolute():  # All checkpoints of COMET have the same name.
            name = f"{model.name}-{hashlib.sha256(os.fsencode(model)).hexdigest()[:10]}"
        start = f"{name}.{self.settings.precision}."
        if version and digest:
            return cache / f"{start}{version}.{digest}"
        known = cache.iterdir() if cache.is_dir() else ()
        fitting = (
            folder
            for folder in known
            if folder.name.startswith(start) and folder.name.endswith(f".{digest}" if digest else "")
        )
        return max(
            fitting, key=lambda folder: (sum((folder / file).is_file() for file in files), folder.name), default=cache
        )

    def _score_new(
        self,
        task: SystemsTask,
        texts: dict[str, Any],
        checkpoint: Path | None,
        digest: str | None,
        interpreter: Path | None,
        version: str | None,
    ) -> dict[str, str]:
        """Write the scores of translations into the cache and return the reason if something is missing."""
        if checkpoint is None:
            return _not_scored(_no_model(self.settings.model), _get_model(self.settings.model))
        if interpreter is None:
            return _not_scored("There is no environment with unbabel-comet.", GET_ENVIRONMENT)
        if version is None:
            return _not_scored(f"{interpreter} has no unbabel-comet.", GET_ENVIRONMENT)
        job: dict[str, Any] = {"checkpoint": str(checkpoint.absolute()), "checkpoint_sha256": digest}
        job |= {"precision": self.settings.precision, "batch_size": task.batch_size}
        Path(texts["systems"][0]["entry"]).parent.mkdir(parents=True, exist_ok=True)
        answer = _work(interpreter, job | texts)
        if "missing" not in answer:
            return {}
        how = GET_ENVIRONMENT if answer["missing"] == "environment" else _get_model(self.settings.model)
        return _not_scored(f"{answer['problem'].rstrip('.')}.", how)


def _not_scored(reason: str, how: str) -> dict[str, str]:
    return {"status": "not scored", "reason": reason, "how": how}


def _check_length(path: str | Path, lines: list[str], references: str | Path, wanted: list[str]) -> None:
    if len(lines) != len(wanted):
        raise WordorderError(
            f"{path} has {len(lines)} lines but {references} has {len(wanted)}. Line i of one must be the translation "
            "of line i of the other.",
            code="different-lengths",
            path=path,
            found=len(lines),
            expected=len(wanted),
        )


def find_python(named: str | Path | None = None) -> Path | None:
    """Find the Python of the COMET environment: ``named``, that of the environment variable, or ``.venv-comet``."""
    path = _expanded(named or os.environ.get(PYTHON) or ENVIRONMENT)
    return path if path.is_file() else None


def find_checkpoint(model: str) -> Path | None:
    """Find the checkpoint of ``model``.

    Args:
        model: A checkpoint, a folder with ``checkpoints/model.ckpt``, or a name in Hugging Face's cache.

    Returns:
        The path, or None if there is none.
    """
    path = _expanded(model)
    if path.is_file():
        return path
    if path.is_dir():
        return _checkpoint_in(path)
    folder = _cache() / f"models--{model.replace('/', '--')}"
    main = folder / "refs" / "main"
    if not main.is_file():
        return None
    return _checkpoint_in(folder / "snapshots" / main.read_text(encoding="utf-8").strip())


def _checkpoint_in(folder: Path) -> Path | None:
    path = folder / "checkpoints" / "model.ckpt"
    return path if path.is_file() else None


def _cache() -> Path:
    """Return Hugging Face's cache folder, from the variables that its own library reads."""
    for name in ("HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE"):
        if os.environ.get(name):
            return _expanded(os.environ[name])
    home = os.environ.get("HF_HOME") or Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache", "huggingface")
    return _expanded(Path(home, "hub"))


def _expanded(path: str | Path) -> Path:
    """Replace ``~`` by the home, or leave it for a user without one, for whom ``Path.expanduser`` fails."""
    return Path(os.path.expanduser(path))


def _stripped(path: str | Path) -> list[str]:
    return [line.strip() for line in read_lines(path)]  # as comet-score does


def _file_name(result: dict[str, Any], system: str) -> str:
    """Return the name of the file with the scores of a system, by its three texts."""
    of = [result["source"]["sha256"], result["references"]["sha256"], system]
    return f"{sha256_of(json.dumps(of).encode()).hexdigest()}.json"


def _version(python: Path) -> str | None:
    """Return the version of unbabel-comet in an environment, if it is there."""
    code = "from importlib.metadata import version; print(version('unbabel-comet'))"
    try:
        found = subprocess.run([python.absolute(), "-c", code], capture_output=True, text=True, check=False)
    except OSError:  # not a program, or not permitted
        return None
    return found.stdout.strip() or None


def _no_model(model: str) -> str:
    cache, home = _cache(), _expanded("~")
    if cache.is_relative_to(home):  # Tables that people share show the reason, so it names no private path.
        cache = "~" / cache.relative_to(home)
    return f"The COMET model '{model}' is neither a file or folder here nor in Hugging Face's cache ({cache})."


def _get_model(model: str) -> str:
    load = f"load_from_checkpoint(download_model('{model}'))"
    return (
        "On a machine with internet and the same home or HF_HOME, run: .venv-comet/bin/python -c "
        f'"from comet import *; {load}" (it fetches the model and the tokeniser of its encoder); '
        "or write 'comet: {model: FOLDER}' in the study's 'metrics'. Then run the workflow again."
    )


def _work(python: Path, job: dict[str, Any]) -> dict[str, Any]:
    """Run the worker; its messages go to standard error."""
    with tempfile.TemporaryDirectory() as folder:
        asked, answer = Path(folder, "job.json"), Path(folder, "result.json")
        write_json(asked, job)
        done = subprocess.run([python.absolute(), WORKER, asked, answer], check=False)
        if done.returncode or not answer.is_file():
            raise WordorderError(
                f"unbabel-comet stopped with exit status {done.returncode} while it scored with {job['checkpoint']}; "
                "its message is above.",
                code="program-failed",
            )
        found: dict[str, Any] = read_json(answer)
    return found


def _signature(scored: dict[str, Any]) -> str | None:
    """Return the signature of scores, or None if there are none."""
    made = next((system for system in scored["systems"].values() if system["segment_scores"]), None)
    if made is None:
        return None
    name = Path(scored["model"]).name if Path(scored["model"]).is_absolute() else scored["model"]
    version, digest = made["versions"]["unbabel-comet"], made["checkpoint_sha256"][:12]
    return f"{name}|precision:{scored['precision']}|unbabel-comet:{version}|checkpoint:{digest}"
