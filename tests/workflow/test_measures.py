"""Test that models are measured once for analyses, by separate jobs; gold alignments are a split of a dataset."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from little_study import Workspace
from snakemake_runs import snakemake
from wordorder.analyses.base import ModelAnalysis
from wordorder.analyses.measure import measure
from wordorder.config.load import slice_argument
from wordorder.config.models import Measured
from wordorder.files import read_json
from wordorder.workflow.analyses import analysis_of, measure_slice
from wordorder.workflow.configuration import Configuration

pytestmark = [pytest.mark.xdist_group("finished_study"), pytest.mark.slow]  # one process, so that the study is run once

MEASURES = ("perplexity", "alignment", "probes", "attention_distance")
ASKED = (
    "analyses: {perplexity: {}, alignment: {sets: [gold, turned]}, probes: {swaps: [2], windows: [], sentences: 8}, "
    "attention_distance: {sentences: 5}, forward_time: {sentences: 2, length: 4, rounds: 2}}\nbaseline:"
)


@pytest.fixture
def asking(study: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Workspace:
    """Run a study with all measures, also on a gold set, which is its own test set reversed."""
    study.change("studies/little.yaml", "baseline:", ASKED)
    raw = study.folder / "results/data/pair/raw"
    source, target, links = (
        (raw / f"test.{end}").read_text().splitlines() for end in ("source", "target", "alignments")
    )
    texts = {
        "text": [f"{t} ||| {s}" for s, t in zip(source, target, strict=True)],
        "links": [
            " ".join("{1}-{0}".format(*(int(n) + 1 for n in x.split("-"))) for x in row.split()) for row in links
        ],
    }
    entries = []
    for name, lines in texts.items():
        data = "".join(f"{line}\n" for line in lines).encode()
        (tmp_path / "mirror").mkdir(exist_ok=True)
        (tmp_path / "mirror" / name).write_bytes(data)
        digest = hashlib.sha256(data).hexdigest()
        entries.append(f"{name}: {{url: 'https://localhost:1/x', sha256: '{digest}', mirror: {name}}}")
    study.config.joinpath("gold_alignments.yaml").write_text(
        "turned: {title: T, source_language: xx, target_language: en, licence: free, "
        f"downloads: {{{', '.join(entries)}}}, text: {{joint: text, links: links, first: 1}}}}\n"
    )
    monkeypatch.setenv("WORDORDER_MIRROR", str(tmp_path / "mirror"))
    return study


def measured(study: Workspace, encoding: str, analysis: str) -> dict[str, Any]:
    """Return the measurements of an analysis on a model, by set."""
    return dict(read_json(study.folder / study.measures(encoding, analysis))["sets"])


def files(study: Workspace, *analyses: str) -> list[str]:
    """Return the measures of both models."""
    return sorted(study.measures(encoding, name) for encoding in ("opr", "sinusoidal") for name in analyses)


def test_a_finished_study_is_only_measured(asking: Workspace) -> None:
    would = asking.would_run()
    drawn = sorted([*MEASURES, "forward_time"])
    assert would.pop("analyse") == [f"results/little/analyses/{name}.pdf" for name in drawn]
    assert would.pop("measure_together") == ["results/little/measures/forward_time/pair.mini.json"]
    assert would.pop("measure_model") == files(asking, *MEASURES)
    assert set(would) == {"download_gold", "import_gold", "binarise_split", "make_page"}

    done = snakemake(asking.folder, *asking.arguments())
    assert done.returncode == 0, done.stdout + done.stderr
    assert asking.would_run() == {}
    # The same sentences and links, one time as the test set's own, the other time out of the set's files.
    for encoding in ("opr", "sinusoidal"):
        sets = measured(asking, encoding, "alignment")
        assert sets["test"] == sets["gold.turned"] and sets["test"]["status"] == "measured"
    table = pd.read_csv(asking.folder / "results/little/analyses/alignment.csv")
    assert sorted(zip(table["encoding"], table["test"], strict=True)) == [
        (encoding, split) for encoding in ("opr", "sinusoidal") for split in ("gold.turned", "test")
    ]
    assert table["aer"].between(0, 1).all()
    times = pd.read_csv(asking.folder / "results/little/analyses/forward_time.csv")
    assert len(times) == 4 and (times["seconds"] > 0).all()
    assert (times.loc[times["encoding"] == "sinusoidal", "ratio"] == 1).all()

    # A setting or a choice of sets that changes runs its own measure again, and going back to it runs nothing.
    for old, new, name in (
        ("sentences: 5", "sentences: 6", "attention_distance"),
        ("[gold, turned]", "[turned]", "alignment"),
    ):
        asking.change("studies/little.yaml", old, new)
        assert asking.would_run() == {
            "measure_model": files(asking, name),
            "analyse": [f"results/little/analyses/{name}.pdf"],
            "make_page": ["results/little/index.html"],
        }
        asking.change("studies/little.yaml", new, old)
        assert asking.would_run() == {}


def test_a_set_that_does_not_fit_is_told(asking: Workspace) -> None:
    for sets, error in {
        "[other]": "names the unknown set 'other'",
        "[turned, far]": "names 'far', ",
    }.items():
        text = (asking.config / "gold_alignments.yaml").read_text()
        far = text.replace("turned:", "far:").replace("target_language: en", "target_language: de")
        (asking.config / "gold_alignments.yaml").write_text(text + far if "far" in sets else text)
        asking.change("studies/little.yaml", "sets: [gold, turned]", f"sets: {sets}")
        done = snakemake(asking.folder, *asking.arguments(), "--dry-run")
        assert done.returncode != 0 and error in done.stdout + done.stderr
        asking.change("studies/little.yaml", f"sets: {sets}", "sets: [gold, turned]")


def test_a_set_that_only_people_can_get_is_asked_for_before_the_first_job(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    study = Workspace(tmp_path)
    study.write()
    study.change("studies/little.yaml", "baseline:", "analyses: {alignment: {sets: [gold, asked]}}\nbaseline:")
    study.config.joinpath("gold_alignments.yaml").write_text(
        "asked: {title: T, source_language: xx, target_language: en, licence: free, downloads: {a.tgz: "
        "{by_hand: Ask us., mirror: deep/a.tgz}}, text: {archive: a.tgz, joint: t, links: l, first: 1}}\n"
    )
    monkeypatch.setenv("WORDORDER_MIRROR", str(tmp_path / "mirror"))
    assert "train_model" in study.would_run()  # what a run would do can be seen without the file
    done = snakemake(study.folder, *study.arguments())
    assert done.returncode == 1 and {path.name for path in (study.folder / "results").iterdir()} == {".runs"}
    assert "\nwordorder: error: a.tgz cannot be downloaded by a program. " in done.stderr
    assert (
        "Ask us. Then set WORDORDER_MIRROR to a folder that holds it as deep/a.tgz, or put the file at "
        "resources/downloads/gold_alignments/asked/by_hand/a.tgz, from where it is copied." in done.stderr
    )
    assert "Traceback" not in done.stderr
    (tmp_path / "mirror/deep").mkdir(parents=True)
    (tmp_path / "mirror/deep/a.tgz").touch()
    file = "resources/downloads/gold_alignments/asked/a.tgz"
    done = snakemake(study.folder, file, *study.arguments()[1:])
    assert done.returncode == 0 and (study.folder / file).exists(), done.stdout + done.stderr


def test_the_perplexity_of_the_validation_set_is_that_of_the_training(asking: Workspace) -> None:
    configuration = Configuration(asking.config)
    analysis = analysis_of(configuration.study("little"), "perplexity")
    assert isinstance(analysis, ModelAnalysis)
    found = measure(
        "perplexity",
        config=slice_argument(measure_slice(configuration.dataset("pair"), analysis), Measured),
        model=asking.folder / asking.cell("opr", "model.pt"),
        data=asking.folder / "results/data/pair",
        sets=["valid"],
    )
    rows = [json.loads(line) for line in (asking.folder / asking.cell("opr", "metrics.jsonl")).read_text().splitlines()]
    reported = [row["perplexity"] for row in rows if row["kind"] == "valid"][-1]
    assert found["sets"]["valid"]["units"]["subword"]["perplexity"] == pytest.approx(reported, rel=1e-6)
