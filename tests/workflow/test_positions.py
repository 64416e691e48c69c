"""Tests of reordered positions in the workflow, from gold trees to the score of an encoding that needs them."""

from __future__ import annotations

import itertools
import json
import re
from pathlib import Path

import numpy as np
import pytest

from little_study import Workspace
from snakemake_runs import dry_run, job_counts, outputs, snakemake

pytestmark = [pytest.mark.xdist_group("finished_study"), pytest.mark.slow]  # one process, so that the study is run once

FOLDER = "results/data/pair/positions/{kind}/{split}"


def positions(kind: str, *splits: str) -> list[str]:
    return [f"{FOLDER.format(kind=kind, split=split)}/positions.npy" for split in splits]


def add_inxl(study: Workspace) -> None:
    study.change("encodings.yaml", "sinusoidal:", "inxl: {type: inxl}\nsinusoidal:")
    study.change("studies/little.yaml", "[opr, sinusoidal]", "[opr, sinusoidal, inxl]")


def jobs(text: str, rule: str) -> dict[str, dict[str, str]]:
    """Return, by encoding, 'input' and 'command' of the jobs of a rule in a dry-run with shell commands."""
    found = {}
    for block in re.findall(rf"^ *rule {rule}:\n((?:.+\n)+)", text, re.MULTILINE):  # those of a group are indented
        parts = {
            name: match[1]
            for name, pattern in {"input": r"^ +input: (.*)$", "command": r"^ *Shell command: (.*)$"}.items()
            if (match := re.search(pattern, block, re.MULTILINE))
        }
        encoding = re.search(r"encoding=(\w+)", block)
        assert encoding is not None
        found[encoding[1]] = parts
    return found


def test_an_encoding_with_positions_is_trained_decoded_and_scored(study: Workspace) -> None:
    """If such an encoding is added to a finished study, nothing else reruns, not even deleted shards."""
    add_inxl(study)
    found = study.would_run()
    assert found["train_model"] == [study.cell("inxl", "model.pt")]
    assert found["evaluate_model"] == [study.evaluation("inxl")]
    assert found["write_gold_positions"] == sorted(positions("gold", "train", "valid", "test"))
    prepared = {"generate_split", "clean_shard", "gather_text", "train_subword", "binarise_shard", "binarise_split"}
    assert not prepared & set(found)
    wanted = study.evaluation("inxl")
    done = snakemake(study.folder, wanted, *study.arguments()[1:])
    assert done.returncode == 0, done.stdout + done.stderr
    scores = json.loads((study.folder / study.scores("inxl")).read_text())
    assert scores["status"] == "scored" and scores["hypotheses"]["lines"] == 20
    data = json.loads((study.folder / study.cell("inxl", "record.json")).read_text())["data"]
    for split, count in (("train", 300), ("valid", 20)):
        meta = json.loads((study.folder / FOLDER.format(kind="gold", split=split) / "meta.json").read_text())
        assert meta["pairs"] == count and meta["corpus"] == data[split]
        assert data[f"{split}_positions"] == {"kind": "gold", "sha256": meta["sha256"]["positions"]}

    # Other positions of the training set rerun this cell only; other validation sentences retrain nothing.
    study.change("studies/little.yaml", "baseline:", "reordering: {train: identity}\nbaseline:")
    found = study.would_run()
    assert found["write_identity_positions"] == positions("identity", "train")
    assert found["train_model"] == [study.cell("inxl", "model.pt")] and "write_gold_positions" not in found
    study.change("studies/little.yaml", "reordering: {train: identity}\n", "")
    study.change("datasets/pair.yaml", "valid: 20, tests: {test: 20", "valid: 25, tests: {test: 25")
    found = study.would_run()
    assert found["write_gold_positions"] == sorted(positions("gold", "valid", "test"))
    assert len(found["evaluate_model"]) == 3 and "train_model" not in found


def test_cells_without_need_are_run_as_if_there_were_no_positions(tmp_path: Path) -> None:
    """Their inputs, parameters and shell commands are those of a study without positions."""
    workspace = Workspace(tmp_path)
    workspace.write()
    add_inxl(workspace)
    text = dry_run(workspace.folder, *workspace.arguments(), "--printshellcmds")
    training, evaluation = jobs(text, "train_model"), jobs(text, "evaluate_model")
    folder, result = "results/data/pair/binary", workspace.model_folder("opr")
    assert training["opr"]["input"].split(", ") == [f"{folder}/{split}/meta.json" for split in ("train", "valid")]
    log = workspace.log("opr").relative_to(workspace.folder)
    assert re.sub(r"'\{.*\}'", "SLICE", training["opr"]["command"]) == (
        f"wordorder stage train --config SLICE --train {folder}/train --valid {folder}/valid"
        f" --model {result}/model.pt --metrics {result}/metrics.jsonl --record {result}/record.json"
        f" --state {result}/state --threads 1 2>&1 | logged {log}"
    )
    model, subword = f"{result}/model.pt", "results/data/pair/subword/model.model"
    references = "results/data/pair/raw/test.target"
    assert evaluation["opr"]["input"].split(", ") == [model, subword, f"{folder}/test/meta.json", references]
    output = workspace.evaluation("opr")
    log = Path("logs/evaluate_model") / output.removeprefix("results/models/")
    assert re.sub(r"'\{.*?\}'", "SLICE", evaluation["opr"]["command"]) == (
        f"wordorder stage evaluate --config SLICE --decoding SLICE --model {model} --data results/data/pair"
        f"  --language xx --output {output} --threads 1 2>&1 | logged {log.with_suffix('.log')}"
    )
    assert f"--train-positions {FOLDER.format(kind='gold', split='train')} " in training["inxl"]["command"]
    assert f"--valid-positions {FOLDER.format(kind='gold', split='valid')} " in training["inxl"]["command"]
    assert " --positions gold " in evaluation["inxl"]["command"]


def test_positions_are_prepared_with_the_data(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path)
    workspace.write()
    arguments = ["prepare_all", "--cores", "1", "--config", f"config_dir={workspace.config}", "study=little"]
    assert "write_gold_positions" not in job_counts(dry_run(workspace.folder, *arguments))
    add_inxl(workspace)
    workspace.change("studies/little.yaml", "baseline:", "reordering: {train: identity}\nbaseline:")
    found = outputs(dry_run(workspace.folder, *arguments))
    assert found["write_identity_positions"] == positions("identity", "train")
    assert found["write_gold_positions"] == sorted(positions("gold", "valid", "test"))


def test_gold_positions_of_a_downloaded_dataset_are_an_error_in_a_sentence(config: Path, tmp_path: Path) -> None:
    study = config / "studies" / "multi30k.yaml"
    study.write_text(study.read_text().replace("encodings: [", "encodings: [inxl, "))
    arguments = ["--dry-run", "--cores", "1", "--config", f"config_dir={config}"]
    for target in ("multi30k", f"{FOLDER.format(kind='gold', split='train').replace('pair', 'multi30k')}/meta.json"):
        failed = snakemake(tmp_path, target, *arguments)
        assert failed.returncode == 1 and "Traceback" not in failed.stderr
        assert failed.stderr.count("wordorder: error: ") == 1 and "gold positions" in failed.stderr


def test_the_identity_of_any_dataset_is_made(study: Workspace) -> None:
    (file,) = positions("identity", "test")
    done = snakemake(study.folder, file, *study.arguments()[1:])
    assert done.returncode == 0, done.stdout + done.stderr
    offsets = np.load(study.folder / "results/data/pair/binary/test/source.offsets.npy")
    flat = np.load(study.folder / file)
    assert all(flat[i:j].tolist() == list(range(j - i)) for i, j in itertools.pairwise(offsets))
