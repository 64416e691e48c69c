"""COMET (Rei et al. 2020) through unbabel-comet itself, which lives in an environment of its own.

Its Python and its model are looked for on this machine only. Where either is missing nothing fails: the result says
"not scored", why, and how to get it. Scores are kept by what they depend on (the model, its precision, and the three
texts), so that a new system costs its own scoring alone, and what was scored once is also known where no model is.
"""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from collections.abc import Sequence
from hashlib import sha256 as sha256_of
from pathlib import Path
from typing import Any

from wordorder.config.models import Comet
from wordorder.data.text import read_lines
from wordorder.errors import WordorderError
from wordorder.files import read_json, sha256, write_json

PYTHON = "WORDORDER_COMET_PYTHON"
ENVIRONMENT = Path(".venv-comet/bin/python")
WORKER = Path(__file__).with_name("comet_worker.py")
GET_ENVIRONMENT = f"Make it with 'make comet', or set {PYTHON} to a Python that has unbabel-comet."


def find_python(named: str | Path | None = None) -> Path | None:
    """The Python of the COMET environment: ``named``, what the environment variable names, or ``.venv-comet``."""
    path = Path(named or os.environ.get(PYTHON) or ENVIRONMENT).expanduser()
    return path if path.is_file() else None


def find_checkpoint(model: str) -> Path | None:
    """The checkpoint of ``model``: a file, in a folder with ``checkpoints/model.ckpt``, or in Hugging Face's cache."""
    path = Path(model).expanduser()
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
    """Hugging Face's cache, by the variables that its own library reads."""
    for name in ("HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE"):
        if os.environ.get(name):
            return Path(os.environ[name]).expanduser()
    home = os.environ.get("HF_HOME") or Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache", "huggingface")
    return Path(home, "hub").expanduser()


def score_systems(
    settings: Comet,
    *,
    source: str | Path,
    references: str | Path,
    hypotheses: Sequence[str | Path],
    cache: str | Path,
    python: str | Path | None = None,
    batch_size: int = 16,
) -> dict[str, Any]:
    """COMET of any number of translations of one source, in one process, which keeps each as soon as it is scored.

    Returns ``status`` ("scored", or "not scored" with ``reason`` and ``how``), ``model``, ``precision``, what the
    source and the references were, and ``systems``: for the SHA-256 of each hypotheses file its ``score`` (the mean of
    its ``segment_scores``), and with what it was computed. Files of the same content are one system. One without lines
    (a diverged training) has the score None.
    """
    lines = {name: _stripped(path) for name, path in (("source", source), ("references", references))}
    if len(lines["source"]) != len(lines["references"]):
        raise WordorderError(
            f"{source} has {len(lines['source'])} lines but {references} has {len(lines['references'])}. "
            "Line i of one must be the translation of line i of the other."
        )
    result: dict[str, Any] = {"status": "scored", "model": settings.model, "precision": settings.precision}
    for name, path in (("source", source), ("references", references)):
        result[name] = {"lines": len(lines[name]), "sha256": sha256(path)}
    interpreter, checkpoint = find_python(python), find_checkpoint(settings.model)
    digest = sha256(checkpoint) if checkpoint else None
    systems: dict[str, dict[str, Any]] = {}
    wanted: dict[str, dict[str, Any]] = {}
    for path in hypotheses:
        name, text = sha256(path), _stripped(path)
        entry = _entry(cache, result, name)
        if text and len(text) != len(lines["references"]):
            raise WordorderError(
                f"{path} has {len(text)} lines but {references} has {len(lines['references'])}. "
                "Line i of one must be the translation of line i of the other: translate the test set again."
            )
        kept = _kept(entry, digest)
        if not text:
            systems[name] = {"score": None, "segment_scores": []}
        elif kept:
            systems[name] = kept
        else:
            wanted[name] = {"hypotheses": text, "entry": str(entry.absolute())}
    if not wanted:
        return result | {"systems": systems}
    if checkpoint is None:
        return result | _no_model(settings.model) | {"systems": systems}
    if interpreter is None:
        reason = "There is no environment with unbabel-comet."
        return result | {"status": "not scored", "reason": reason, "how": GET_ENVIRONMENT, "systems": systems}

    job: dict[str, Any] = {"checkpoint": str(checkpoint.absolute()), "checkpoint_sha256": digest}
    job |= {"precision": settings.precision, "batch_size": batch_size}
    Path(cache).mkdir(parents=True, exist_ok=True)
    answer = _work(interpreter, job | lines | {"systems": list(wanted.values())})
    if "missing" in answer:
        how = GET_ENVIRONMENT if answer["missing"] == "environment" else _get_model(settings.model)
        told = {"status": "not scored", "reason": f"{answer['problem'].rstrip('.')}.", "how": how}
        return result | told | {"systems": systems}
    systems |= {name: read_json(system["entry"]) for name, system in wanted.items()}
    return result | {"systems": systems}


def _stripped(path: str | Path) -> list[str]:
    return [line.strip() for line in read_lines(path)]  # as comet-score does


def _entry(cache: str | Path, result: dict[str, Any], system: str) -> Path:
    """Where the scores of a system are kept."""
    of = [result["model"], result["precision"], result["source"]["sha256"], result["references"]["sha256"], system]
    return Path(cache, f"{sha256_of(json.dumps(of).encode()).hexdigest()}.json")


def _kept(path: Path, checkpoint: str | None) -> dict[str, Any] | None:
    """What was scored before, unless it was with another checkpoint than the one at hand."""
    if not path.is_file():
        return None
    entry: dict[str, Any] = read_json(path)
    return entry if checkpoint in (None, entry["checkpoint_sha256"]) else None


def _no_model(model: str) -> dict[str, str]:
    cache, home = _cache(), Path.home()
    if cache.is_relative_to(home):  # the reason is printed below tables that people share
        cache = "~" / cache.relative_to(home)
    reason = f"The COMET model '{model}' is neither a file or folder here nor in Hugging Face's cache ({cache})."
    return {"status": "not scored", "reason": reason, "how": _get_model(model)}


def _get_model(model: str) -> str:
    load = f"load_from_checkpoint(download_model('{model}'))"
    return (
        "On a machine with internet and the same home or HF_HOME, run: .venv-comet/bin/python -c "
        f'"from comet import *; {load}" (it fetches the model and the tokeniser of its encoder); '
        "or set 'comet: {model: FOLDER}' in the study. Then run the workflow again with --forcerun score_comet."
    )


def _work(python: Path, job: dict[str, Any]) -> dict[str, Any]:
    """Run the worker; its own words go to standard error."""
    with tempfile.TemporaryDirectory() as folder:
        asked, answer = Path(folder, "job.json"), Path(folder, "result.json")
        write_json(asked, job)
        done = subprocess.run([python.absolute(), WORKER, asked, answer], check=False)
        if done.returncode or not answer.is_file():
            raise WordorderError(
                f"unbabel-comet stopped with exit status {done.returncode} while it scored with {job['checkpoint']}; "
                "its own message stands above."
            )
        found: dict[str, Any] = read_json(answer)
    return found


def signature(scored: dict[str, Any]) -> str | None:
    """What a reader must know of scores that :func:`score_systems` returned; None where there are none."""
    made = {
        f"unbabel-comet:{system['versions']['unbabel-comet']}|checkpoint:{system['checkpoint_sha256'][:12]}"
        for system in scored["systems"].values()
        if system["segment_scores"]
    }
    name = Path(scored["model"]).name if Path(scored["model"]).is_absolute() else scored["model"]
    return " and ".join(f"{name}|precision:{scored['precision']}|{each}" for each in sorted(made)) or None
