"""Thin cuts of the papers' studies, each from nothing to its page.

A cut is the shipped study, with all its tables, figures and analyses, on a generated pair, with a few of its encodings
and models that hardly learn.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from little_study import DATASET, SIZES
from snakemake_runs import ROOT, snakemake
from wordorder.config.load import load_published_scores, load_study

pytestmark = [pytest.mark.xdist_group("papers"), pytest.mark.slow]  # one process, so that they share files


def shown(table: str, dataset: str) -> dict[str, Any]:
    """Return a published table in which the pair replaces a dataset, with the pair's test set and model size."""
    (printed,) = [each for each in load_published_scores(ROOT / "config") if each.name == table]
    tests = dict.fromkeys((column.test for column in printed.columns if column.test), "test")
    sizes = dict.fromkeys((row.size for row in printed.rows), "mini")
    return {"table": table, "datasets": {dataset: "pair"}, "tests": tests, "sizes": sizes}


RECIPE = {"max_updates": 4, "max_epochs": None, "validate_every": 2, "batch_tokens": 512, "warmup_updates": 2}
# The settings of the cut of each study, in addition to those of all cuts.
CUTS: dict[str, dict[str, Any]] = {
    "posnet_mini": {
        "encodings": ["sinusoidal", "posnet_embed_encoder"],
        "published": [
            shown("posnet_table1", "wmt14_ende_40k"),
            shown("posnet_table3", "wmt14_ende_40k"),
        ],
        "analyses": {"ngram_gap": {"characters": 4, "words": 2, "bleu": 2}, "forward_time": {"rounds": 1}},
    },
    "xlpe_mini": {
        "encodings": ["sinusoidal", "headxl_inxl"],
        "published": [
            shown("xlpe_table1", "wmt14_ende"),
            shown("xlpe_table3", "wmt14_ende"),
        ],
        "analyses": {"alignment": {"sets": ["gold"]}},
    },
    "opr_mini": {"encodings": ["sinusoidal", "opr_rpr"], "comparisons": None},
    "arena_mini": {
        "encodings": ["sinusoidal", "posnet_embed"],
        "published": [shown("posnet_table1", "wmt14_ende_40k")],
        "analyses": {
            "ngram_gap": {"characters": 4, "words": 2, "bleu": 2},
            "probes": {"sentences": 4, "swaps": [1], "windows": []},
            "alignment": {"sets": ["gold"]},
            "forward_time": {"rounds": 1},
        },
    },
    "sinusoid": {},
}


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder whose configuration has the cut of each study, so that they share the generated pair's files."""
    folder = tmp_path_factory.mktemp("papers")
    config = folder / "config"
    shutil.copytree(ROOT / "config", config)
    (config / "datasets/pair.yaml").write_text(DATASET)
    with (config / "sizes.yaml").open("a") as sizes:
        sizes.write(f"{SIZES}\n")
    for name, settings in CUTS.items():
        cut = {
            "name": f"{name}_cut",
            "based_on": name,
            "datasets": ["pair"],
            "sizes": ["mini"],
            "seeds": [1],
            "tests": ["test"],
            "recipe": RECIPE,
            "decoding": {"beam": 2, "max_length_a": 0, "max_length_b": 10},
            "significance": {"bootstrap_samples": 50},
            **settings,
        }
        (config / f"studies/{name}_cut.yaml").write_text(json.dumps(cut))
    return folder


@pytest.mark.parametrize("name", CUTS)
def test_a_thin_cut_of_a_study_has_all_that_the_study_asks_for(name: str, workspace: Path) -> None:
    config = workspace / "config"
    done = snakemake(workspace / "run", f"{name}_cut", "--cores", "1", "--config", f"config_dir={config}")
    assert done.returncode == 0, done.stdout + done.stderr
    study, cut = load_study(name, config), load_study(f"{name}_cut", config)
    assert (cut.figures, cut.tables) == (study.figures, study.tables)
    assert cut.analyses.names == study.analyses.names
    results = workspace / f"run/results/{name}_cut"
    tables = {*study.tables, "credibility", *(["published", "orderings"] if study.published else [])}
    assert {path.stem for path in results.glob("tables/*.csv")} == tables
    assert {path.stem for path in results.glob("figures/*.svg")} == set(study.figures)
    assert {path.stem for path in results.glob("analyses/*.svg")} == set(study.analyses.names)
    page = (results / "index.html").read_text(encoding="utf-8")
    assert cut.title in page
    scores = pd.read_csv(results / "tables/scores.csv")
    assert list(scores["encoding"].unique()) == cut.encodings and scores["mean"].notna().all()
    if study.published:
        published = pd.read_csv(results / "tables/published.csv")
        assert "not run" in set(published["status"])
        ours = published[published["status"] != "not run"]
        expected = {
            "posnet_mini": {"parameters", "memory"},
            "xlpe_mini": {"parameters", "aer", "precision", "recall"},
            "opr_mini": set(),  # its table prints scores alone
        }
        assert expected.get(name, {"parameters"}) <= set(ours["metric"])
        assert (ours["mean"].notna() == (ours["status"] != "not measured")).all()
        assert set(ours["metric"][ours["status"] == "not measured"]) <= {"memory"}
        orderings = pd.read_csv(results / "tables/orderings.csv")
        assert {"not run"} <= set(orderings["verdict"]) <= {"not run", "untested"}, "of one seed"
        assert 'id="table-orderings"' in page
