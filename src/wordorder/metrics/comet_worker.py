"""Score translations with unbabel-comet. Runs in the environment of COMET and therefore imports nothing of wordorder.

Usage: python comet_worker.py JOB RESULT. ``comet.py`` writes JOB and reads RESULT, both JSON. The scores of each system
are written atomically as soon as they are known, so that an interrupted job loses at most one system.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import sys
import uuid
import warnings
from statistics import fmean
from typing import Any


def run(job: dict[str, Any]) -> dict[str, Any]:
    """Score the systems of a job, and return what is missing, if anything is."""
    warnings.filterwarnings("ignore", module="torchmetrics|lightning_fabric|pytorch_lightning")
    for name in ("pytorch_lightning.utilities.rank_zero", "lightning_fabric.utilities.rank_zero"):
        logging.getLogger(name).setLevel(logging.WARNING)
    try:
        import torch
        from comet import load_from_checkpoint  # type: ignore[import-not-found]
    except ImportError as error:
        return {"missing": "environment", "problem": f"{sys.executable} has no working unbabel-comet ({error})"}
    torch.set_float32_matmul_precision("highest")  # no TF32 on a GPU: fp32 means fp32
    try:
        model = load_from_checkpoint(job["checkpoint"], local_files_only=True)
    except OSError as error:  # The checkpoint exists, but not the tokeniser of its encoder.
        return {"missing": "encoder", "problem": str(error).strip().splitlines()[0]}
    model.eval()
    if job["precision"] == "fp16":
        model.half()
    gpus = int(torch.cuda.is_available())
    made = {"checkpoint_sha256": job["checkpoint_sha256"], "batch_size": job["batch_size"], "versions": versions()}
    made["device"] = torch.cuda.get_device_name() if gpus else "cpu"
    for number, system in enumerate(job["systems"], start=1):
        print(f"COMET: system {number} of {len(job['systems'])}", file=sys.stderr, flush=True)
        texts = zip(job["source"], system["hypotheses"], job["references"])  # noqa: B905 (any Python that COMET runs on)
        samples = [{"src": source, "mt": text, "ref": reference} for source, text, reference in texts]
        found = model.predict(
            samples, batch_size=job["batch_size"], gpus=gpus, num_workers=0, progress_bar=sys.stderr.isatty()
        )
        scores = [float(score) for score in found.scores]
        write_checked(system["entry"], {"score": fmean(scores), **made, "segment_scores": scores})
    return {}


def write(path: str, content: dict[str, Any]) -> None:
    """Write JSON atomically."""
    _replace(path, json.dumps(content).encode())


def write_checked(path: str, content: dict[str, Any]) -> None:
    """Write JSON with its checksum beside it, as in wordorder.integrity; a killed job leaves no file without one."""
    data = json.dumps(content).encode()
    folder, name = os.path.split(path)
    note, own = os.path.join(folder, f".{name}.sha256"), f"{hashlib.sha256(data).hexdigest()}  {name}\n".encode()
    try:
        with open(note, "rb") as file:
            before = file.read()
    except OSError:
        before = b""
    _replace(note, own + before)
    _replace(path, data)
    _replace(note, own)


def _replace(path: str, data: bytes) -> None:
    new = f"{path}.{uuid.uuid4().hex}.new"  # Another study may be scoring the same system.
    with open(new, "wb") as file:
        file.write(data)
    os.replace(new, path)


def versions() -> dict[str, str]:
    """Return the versions of Python and of the packages that scores depend on."""
    from importlib.metadata import version

    names = ("unbabel-comet", "torch", "transformers", "numpy")
    return {"python": sys.version.split()[0]} | {name: version(name) for name in names}


if __name__ == "__main__":
    # Remove this folder, because its comet.py would hide the package.
    sys.path.pop(0)
    os.environ.update(HF_HUB_OFFLINE="1", TRANSFORMERS_OFFLINE="1", TOKENIZERS_PARALLELISM="false")
    with open(sys.argv[1], encoding="utf-8") as file:
        asked = json.load(file)
    answer = run(asked)
    write(sys.argv[2], answer)
