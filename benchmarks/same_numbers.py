"""Record the results of a short training of every encoding and architecture, or compare another version with them.

A redesign must not change results. This script trains every entry of ``config/encodings.yaml`` for a few updates on the
generated pair of the demo, and every other architecture with the encodings that it supports, in fp32 on one thread. It
records the losses, a checksum of the weights, a checksum of the translations and their scores.

    python benchmarks/same_numbers.py record benchmarks/records/same_numbers.json
    python benchmarks/same_numbers.py check  benchmarks/records/same_numbers.json

The record is valid only for the instruction set of its processor, because rounding differs on others.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import torch
import yaml

ROOT = Path(__file__).parents[1]
RECIPE = {"learning_rate": 2e-3, "warmup_updates": 4, "batch_tokens": 512, "max_updates": 12, "validate_every": 6}
DECODING = {"beam": 2, "max_length_a": 0.0, "max_length_b": 8}
SIZES: dict[str, dict[str, Any]] = {
    "transformer": {"encoder_layers": 2, "decoder_layers": 2, "dim": 32, "ffn_dim": 48, "heads": 4, "dropout": 0.1},
    "no_encoder": {"encoder_layers": 0, "decoder_layers": 2, "dim": 32, "ffn_dim": 48, "heads": 4, "dropout": 0.1},
    "lstm": {"architecture": "lstm", "layers": 2, "dim": 32, "dropout": 0.1},
    "lstm_feeding": {
        "architecture": "lstm",
        "layers": 1,
        "dim": 32,
        "dropout": 0.1,
        "bidirectional": False,
        "input_feeding": True,
    },
}
OTHERS = ("none", "sinusoidal", "inxl", "opr", "relative", "learned")  # tried with every other architecture
DATA = "results/data/grammar"


def cases() -> dict[str, tuple[str, str, dict[str, Any]]]:
    """Return the trainings by name: encoding, size and what its recipe has besides RECIPE."""
    encodings = yaml.safe_load((ROOT / "config/encodings.yaml").read_text(encoding="utf-8"))
    found = {f"{name}/transformer": (name, "transformer", {}) for name in encodings}
    for size in ("no_encoder", "lstm", "lstm_feeding"):
        found |= {f"{name}/{size}": (name, size, {}) for name in OTHERS}
    for name in ("sinusoidal", "relative", "rope", "posnet_embed"):
        found[f"{name}/transformer/bf16"] = (name, "transformer", {"precision": "bf16"})
        found[f"{name}/transformer/post"] = (name, "transformer", {"norm": "post", "tie_embeddings": "none"})
    return found


def run(name: str, data: Path, folder: Path, command: list[str]) -> dict[str, Any]:
    """Train, translate and score one case; returns what must stay the same."""
    encoding_name, size, more = cases()[name]
    encoding = yaml.safe_load((ROOT / "config/encodings.yaml").read_text(encoding="utf-8"))[encoding_name]
    cell = {"encoding": encoding, "size": SIZES[size], "recipe": {**RECIPE, **more}, "seed": 3}
    needs = any(part["type"] in ("inxl", "headxl") for part in encoding.get("compose", [encoding]))

    def positions(split: str, option: str) -> list[str]:
        return [option, str(data / "positions" / "gold" / split)] if needs else []

    def wordorder(*arguments: object) -> None:
        done = subprocess.run([*command, *map(str, arguments)], capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(done.stderr.strip().splitlines()[-1])

    out = folder / name.replace("/", "_")
    out.mkdir(parents=True)
    try:
        wordorder(
            "stage", "train", "--config", json.dumps(cell),
            "--train", data / "binary/train", "--valid", data / "binary/valid",
            *positions("train", "--train-positions"), *positions("valid", "--valid-positions"),
            "--model", out / "model.pt", "--metrics", out / "metrics.jsonl", "--record", out / "record.json",
            "--state", out / "state", "--threads", 1,
        )  # fmt: skip
    except RuntimeError:
        return {"refused": True}
    wordorder(
        "stage", "translate", "--config", json.dumps(DECODING),
        "--model", out / "model.pt", "--corpus", data / "binary/valid",
        *positions("valid", "--positions"), "--subword", data / "subword/model.model", "--language", "qaa",
        "--output", out / "hypotheses", "--nbest", out / "nbest", "--threads", 1,
    )  # fmt: skip
    wordorder(
        "stage", "score", "--config", json.dumps({"metrics": ["bleu", "chrf++", "ter"], "target_language": "qaa"}),
        "--hypotheses", out / "hypotheses", "--references", data / "raw/valid.target", "--output", out / "scores.json",
    )  # fmt: skip
    rows = [json.loads(line) for line in (out / "metrics.jsonl").read_text(encoding="utf-8").splitlines()]
    weights = torch.load(out / "model.pt", map_location="cpu", weights_only=True)["weights"]
    digest = hashlib.sha256()
    for key in sorted(weights):
        digest.update(key.encode() + weights[key].contiguous().reshape(-1).view(torch.uint8).numpy().tobytes())
    scores = json.loads((out / "scores.json").read_text(encoding="utf-8"))["metrics"]
    return {
        "losses": [[row["kind"], row["update"], row["loss"]] for row in rows],
        "weights": digest.hexdigest(),
        "translations": hashlib.sha256((out / "hypotheses").read_bytes()).hexdigest(),
        "nbest": hashlib.sha256((out / "nbest").read_bytes()).hexdigest(),
        "scores": {metric: found["score"] for metric, found in scores.items()},
        "parameters": json.loads((out / "record.json").read_text(encoding="utf-8"))["parameters"],
    }


def main() -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("record", "check"))
    parser.add_argument("file", type=Path)
    parser.add_argument("--data", type=Path, default=ROOT / DATA, help="prepared data of the dataset 'grammar'")
    parser.add_argument("--only", default="", help="cases whose name contains this text")
    parser.add_argument("--command", default=f"{Path(sys.executable).parent / 'wordorder'}", help="the command line")
    options = parser.parse_args()
    known = json.loads(options.file.read_text(encoding="utf-8")) if options.file.exists() else {}
    differ = []
    with tempfile.TemporaryDirectory() as folder:
        for name in cases():
            if options.only not in name or (options.what == "record" and name in known):
                continue
            found = run(name, options.data, Path(folder), options.command.split())
            if options.what == "record":
                known[name] = found
                options.file.write_text(json.dumps(known, indent=1) + "\n", encoding="utf-8")
            elif found != known.get(name):
                differ.append(name)
            print(
                f"{name}: {'differs' if name in differ else 'recorded' if options.what == 'record' else 'same'}",
                flush=True,
            )
    print(f"{len(differ)} differ" if differ else "all the same")
    return 1 if differ else 0


if __name__ == "__main__":
    sys.exit(main())
