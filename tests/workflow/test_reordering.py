"""Tests of alignment and reordering in the workflow, from cleaned text to the positions of a cell."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from little_study import Workspace
from snakemake_runs import dry_run, outputs, snakemake
from wordorder.data.binary import ParallelCorpus

pytestmark = [pytest.mark.xdist_group("finished_study"), pytest.mark.slow]  # one process, so that the study is run once

ALIGNERS = "hmm: {aligner: {type: hmm, ibm1_iterations: 2, iterations: 2}}\npieces: {unit: subword}\n"
REORDERERS = (
    "btg: {aligner: hmm, parser: {iterations: 3, classes: 5}, oracle: {nulls: right}}\n"
    "folds: {aligner: hmm, parser: {iterations: 3, classes: 5}, folds: 2}\n"
    "plain: {aligner: pieces, parser: {iterations: 2, classes: 0}}\n"
)
DATA = "results/data/pair"


def add_inxl(study: Workspace, reordering: str) -> None:
    (study.config / "aligners.yaml").write_text(ALIGNERS)
    (study.config / "reorderers.yaml").write_text(REORDERERS)
    study.change("encodings.yaml", "sinusoidal:", "inxl: {type: inxl}\nsinusoidal:")
    study.change("studies/little.yaml", "[opr, sinusoidal]", "[opr, sinusoidal, inxl]")
    study.change("studies/little.yaml", "baseline:", f"reordering: {{{reordering}}}\nbaseline:")


def positions(study: Workspace, name: str, split: str) -> ParallelCorpus:
    return ParallelCorpus.open(
        study.folder / DATA / "binary" / split, positions=study.folder / DATA / "positions" / name / split
    )


def moved(corpus: ParallelCorpus) -> float:
    """Return the share of tokens that change their position."""
    assert corpus.positions is not None
    rows = [corpus.positions[index] for index in range(len(corpus))]
    return float(np.mean(np.concatenate([row != np.arange(len(row)) for row in rows])))


def make(study: Workspace, *targets: str) -> None:
    done = snakemake(study.folder, *targets, *study.arguments()[1:])
    assert done.returncode == 0, done.stdout + done.stderr


def test_predicted_positions_are_made_and_used(study: Workspace) -> None:
    """If such an encoding is added to a finished study, its other cells and its data do not rerun."""
    add_inxl(study, "train: oracle, test: predicted, reorderer: btg, noise: 0.1")
    found = study.would_run()
    assert found["train_model"] == [study.cell("inxl", "model.pt")]
    assert found["evaluate_model"] == [study.evaluation("inxl")]
    assert found["train_aligner"] == [f"{DATA}/alignment/hmm/model.npz"]
    assert found["train_parser"] == [f"{DATA}/reordering/btg/parser/all.npz"]
    assert found["find_oracle"] == [f"{DATA}/reordering/btg/oracle/train.orders"]
    assert not {"clean_shard", "binarise_shard", "generate_split", "parse_part", "gather_orders"} & set(found)

    report = f"{DATA}/reordering/btg/predicted/test.json"
    figures = [f"{DATA}/reordering/btg/figures/test.{name}.svg" for name in ("matrix", "tau")]
    make(study, study.evaluation("inxl"), report, *figures)
    record = json.loads((study.folder / study.cell("inxl", "record.json")).read_text())["data"]
    assert record["train_positions"]["kind"] == "oracle.btg.noise0.1"
    assert record["valid_positions"]["kind"] == "predicted.btg"
    # The pair's word order differs much, so both the oracle and the parser move many words.
    oracle = moved(positions(study, "oracle.btg", "train"))
    assert oracle > 0.5 and moved(positions(study, "predicted.btg", "test")) > 0.3
    scores = json.loads((study.folder / report).read_text())
    assert scores["predicted"]["tau"] > scores["identity"]["tau"]
    assert all((study.folder / figure).stat().st_size > 1000 for figure in figures)


def test_the_training_set_is_parsed_in_parts_by_parsers_that_have_not_seen_them(study: Workspace) -> None:
    add_inxl(study, "train: predicted, test: predicted, reorderer: folds")
    found = study.would_run()
    folder = f"{DATA}/reordering/folds"
    assert found["train_parser"] == [f"{folder}/parser/{name}.npz" for name in ("1of2", "2of2", "all")]
    assert found["parse_part"] == [f"{folder}/parts/{part}of2.orders" for part in (1, 2)]
    make(study, f"{DATA}/positions/predicted.folds/train/positions.npy")
    predicted = positions(study, "predicted.folds", "train")
    assert len(predicted) == 300 and moved(predicted) > 0.3
    records = {
        name: json.loads((study.folder / folder / f"parser/{name}.json").read_text()) for name in ("1of2", "2of2")
    }
    assert [record["sentences"] for record in records.values()] == [150, 150]


def test_subwords_can_be_reordered_and_parts_are_those_of_the_dataset(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path)
    workspace.write()
    add_inxl(workspace, "train: predicted, test: predicted, reorderer: plain")
    found = outputs(dry_run(workspace.folder, *workspace.arguments()))
    assert found["parse_part"] == [f"{DATA}/reordering/plain/parts/{part}of2.orders" for part in (1, 2)]
    assert "train_classes" not in found
    text = dry_run(workspace.folder, *workspace.arguments(), "--printshellcmds")
    for rule in ("train-aligner", "align ", "train-parser", "reorder "):
        (command,) = {line.split(" --")[0] for line in text.splitlines() if f"wordorder stage {rule}" in line}
        assert all("--subword" in line for line in text.splitlines() if command in line)


def test_positions_of_one_reorderer_are_shared_and_noise_is_beside_them(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path)
    workspace.write()
    add_inxl(workspace, "train: predicted, test: predicted, reorderer: btg")
    workspace.change("encodings.yaml", "inxl: ", "noisy: {type: headxl, tau: 1}\ninxl: ")
    workspace.change("studies/little.yaml", "sinusoidal, inxl]", "sinusoidal, inxl, noisy]")
    others = "reorderer: btg, encodings: {noisy: {train: predicted, test: predicted, reorderer: btg, noise: 0.2}}"
    workspace.change("studies/little.yaml", "reorderer: btg", others)
    found = outputs(dry_run(workspace.folder, *workspace.arguments()))
    assert found["train_parser"] == [f"{DATA}/reordering/btg/parser/all.npz"]
    assert found["write_noisy_positions"] == [f"{DATA}/positions/predicted.btg.noise0.2/train/positions.npy"]
    assert len(found["write_ordered_positions"]) == 3


def test_another_aligner_aligns_a_test_set_together_with_the_training_set(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path)
    workspace.write()
    add_inxl(workspace, "train: predicted, test: predicted, reorderer: btg")
    (workspace.config / "aligners.yaml").write_text("hmm: {aligner: {type: eflomal}}\npieces: {}\n")
    text = dry_run(workspace.folder, *workspace.arguments(), "--printshellcmds")
    found = outputs(text)
    assert found["align_split"] == [f"{DATA}/alignment/hmm/{split}.links" for split in ("test", "train")]
    assert "train_aligner" not in found
    assert found["score_orders"] == [f"{DATA}/reordering/btg/predicted/test.json"]
    commands = [line for line in text.splitlines() if "wordorder stage align " in line]
    training = f" --train-source {DATA}/clean/train.source --train-target {DATA}/clean/train.target "
    together = {split: training in line for line in commands for split in ("test", "train") if f"{split}.links" in line}
    assert together == {"test": True, "train": False}
