"""Test an analysis in a plug-in folder: settings, inputs, check, measure, data, drawing and caption in one file."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import ClassVar

import pandas as pd
import pytest
import torch

from analysis_runs import PREPARATION
from analysis_samples import analysed, write_sample
from raises import raises
from tiny_models import SIZE
from wordorder.analyses.base import Analysis
from wordorder.config.models import Cell, Recipe
from wordorder.model.checkpoint import build_model, save_model
from wordorder.workflow.slices import canonical

VOCABULARY = 10
READS_TRANSLATIONS = '''
from __future__ import annotations

from typing import ClassVar

from pydantic import Field

from wordorder.analyses.base import Analysis


class Longest(Analysis):
    """The longest translation of each model."""

    name: ClassVar[str] = "longest"
    caption: ClassVar[str] = "Words of the *longest* translation of each model."

    least: int = Field(default=0, ge=0, description="Translations with fewer words are ignored.")

    def inputs(self, dataset):
        return dataset.translations()

    def check(self, view):
        if self.least > 100:
            raise view.error("is too much.", "longest.least")

    def frame(self, asked, results, data):
        import pandas as pd

        from wordorder.results.translations import read_test_sets

        rows = []
        for test in read_test_sets(asked, results, data):
            for translation in test.translations:
                words = [len(line.split()) for line in translation.lines]
                longest = max((count for count in words if count >= self.least), default=None)
                rows.append(translation.cell | {"status": translation.status, "words": longest})
        return pd.DataFrame(rows).astype({"words": float})

    def draw(self, frame, asked):
        from wordorder.drawing import seeds

        return seeds.draw(frame, asked.report, {"words": "words"})
'''
MEASURES_MODELS = '''
from __future__ import annotations

from typing import ClassVar

from wordorder.analyses.base import Input, ModelAnalysis, raw_file


class Norms(ModelAnalysis):
    """The mean norm of the embeddings of the source."""

    name: ClassVar[str] = "norms"
    caption: ClassVar[str] = "Mean norm of the source embeddings of each model."
    not_measured: ClassVar[frozenset[str]] = frozenset({"percent"})

    power: int = 2
    percent: bool = False

    def set_inputs(self, name):
        return [Input("file", raw_file(name, "source"))]

    def measure(self, model, sentences):
        import torch

        tokens = [int(token) for number in range(len(sentences.corpus)) for token in sentences.corpus.source(number)]
        norms = model.source_embedding.weight[torch.tensor(tokens)].norm(p=self.power, dim=-1)
        return {"status": "measured", "norm": float(norms.mean()), "lines": len(sentences.lines("source"))}

    def frame(self, asked, results, data):
        import pandas as pd

        from wordorder.results.measured import load_measures

        factor = 100 if self.percent else 1
        rows = [
            cell | {"norm": factor * found["norm"] if "norm" in found else None}
            for cell, found in load_measures(asked.report, results, self.name)
        ]
        return pd.DataFrame(rows).astype({"norm": float})

    def draw(self, frame, asked):
        from wordorder.drawing import seeds

        return seeds.draw(frame, asked.report, {"norm": "norm"})
'''


@pytest.fixture
def plugins(tmp_path: Path) -> dict[str, str]:
    """The environment of a user with two analyses of their own."""
    folder = tmp_path / "plugins" / "analyses"
    folder.mkdir(parents=True)
    (folder / "longest.py").write_text(READS_TRANSLATIONS, encoding="utf-8")
    (folder / "norms.py").write_text(MEASURES_MODELS, encoding="utf-8")
    return os.environ | {"WORDORDER_PLUGINS": str(folder.parent)}


def run(environment: dict[str, str], *words: object) -> subprocess.CompletedProcess[str]:
    # In a process of its own: what is registered once stays registered.
    command = [sys.executable, *map(str, words)]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


def slice_of(name: str, **settings: object) -> str:
    """The slice of a study that has the sample's translations."""
    content = json.loads(canonical(analysed(position={})))
    return json.dumps(content | {"settings": {name: settings}})


def test_one_reads_translations(plugins: dict[str, str], tmp_path: Path) -> None:
    results, data = write_sample(tmp_path)
    command = ["-m", "wordorder.cli", "stage", "analyse", "longest", "--results", results, "--data", data]
    done = run(plugins, *command, "--output-prefix", tmp_path / "out", "--config", slice_of("longest", least=2))
    assert done.returncode == 0, done.stderr
    rows = pd.read_csv(tmp_path / "out.csv")
    assert list(rows.columns) == ["dataset", "size", "encoding", "seed", "test", "status", "words"]
    assert rows["words"].notna().sum() == 5 and set(rows["status"]) == {"scored", "diverged", "missing"}
    drawn = re.findall(r">([^<>]+)</text>", (tmp_path / "out.svg").read_text(encoding="utf-8"))
    assert "words" in drawn and "opr" in drawn
    wrong = run(plugins, *command, "--output-prefix", tmp_path / "no", "--config", slice_of("longest", leest=2))
    assert wrong.returncode == 1 and "did you mean 'least'?" in wrong.stderr


@pytest.mark.parametrize(
    ("method", "line", "code"),
    [
        ("frame", "import pandas; return pandas.DataFrame()", "wrong-frame"),
        ("frame", "return [1]", "wrong-frame"),
        ("draw", "pass", "wrong-figure"),
    ],
)
def test_one_without_data_or_figure_is_named(
    method: str, line: str, code: str, plugins: dict[str, str], tmp_path: Path
) -> None:
    results, data = write_sample(tmp_path)
    file = tmp_path / "plugins/analyses/longest.py"
    text = re.sub(rf"(?m)^    def {method}\(.*$", rf"\g<0>\n        {line}\n", READS_TRANSLATIONS)
    if method == "draw":
        text = text.replace("return seeds", "seeds")
    file.write_text(text, encoding="utf-8")
    command = ["-m", "wordorder.cli", "stage", "analyse", "longest", "--results", results, "--data", data]
    command += ["--output-prefix", tmp_path / "out", "--config", slice_of("longest")]
    done = run(plugins | {"WORDORDER_ERRORS": "json"}, *command)
    said = json.loads(done.stderr)
    assert (said["code"], said["path"], said["key"]) == (code, str(file), "longest")
    assert not list(tmp_path.glob("out*"))


def test_one_measures_models(plugins: dict[str, str], tmp_path: Path) -> None:
    results, data = write_sample(tmp_path)
    torch.manual_seed(1)
    cell = Cell(encoding={"type": "none"}, size=SIZE, recipe=Recipe(max_updates=1), seed=1)
    save_model(tmp_path / "model.pt", cell, VOCABULARY, build_model(cell, VOCABULARY).state_dict())
    asked = json.dumps({"settings": {"norms": {"power": 1}}, "preparation": PREPARATION.model_dump(mode="json")})
    output = results / "cells/pair/opr/tiny/1/norms.json"
    command = ["-m", "wordorder.cli", "stage", "measure", "norms", "--config", asked, "--model", tmp_path / "model.pt"]
    done = run(plugins, *command, "--data", data / "pair", "--sets", "test", "--output", output)
    assert done.returncode == 0, done.stderr
    found = json.loads(output.read_text())["sets"]["test"]
    assert found["status"] == "measured" and found["norm"] > 0 and found["lines"] == 25

    command = ["-m", "wordorder.cli", "stage", "analyse", "norms", "--results", results, "--data", data]
    asked = slice_of("norms", power=1, percent=True)
    done = run(plugins, *command, "--output-prefix", tmp_path / "out", "--config", asked)
    assert done.returncode == 0, done.stderr
    rows = pd.read_csv(tmp_path / "out.csv").set_index(["encoding", "seed"])
    assert rows.loc[("opr", 1), "norm"] == pytest.approx(100 * found["norm"], rel=1e-5)
    assert rows.loc[("none", 2), "status"] == "diverged" and rows["norm"].notna().sum() == 1
    assert (tmp_path / "out.pdf").stat().st_size > 0


def test_one_without_a_caption_and_a_method_is_refused() -> None:
    with raises("incomplete-analysis", key="lacking", found=["caption", "draw", "frame", "inputs"]):
        type("Lacking", (Analysis,), {"name": "lacking", "__annotations__": {"name": ClassVar[str]}})


def test_a_study_names_them_and_they_have_captions(plugins: dict[str, str], config: Path) -> None:
    path = config / "studies" / "multi30k.yaml"
    text = path.read_text(encoding="utf-8").partition("analyses:")[0]
    path.write_text(f"{text}analyses: {{norms: {{percent: true}}, longest: {{least: 101}}}}\n")
    code = f"""
from pathlib import Path
from typing import ClassVar
from wordorder.workflow.analyses import check_analyses, measure_slice
from wordorder.workflow.configuration import Configuration
from wordorder.config.analyses import Analyses
from wordorder.config.load import load_dataset, load_study
from wordorder.config.schema import schemas
from wordorder.errors import WordorderError
from wordorder.report.captions import caption
study, data = load_study("multi30k", {str(config)!r}), load_dataset("multi30k", {str(config)!r})
print(study.analyses.names, {{"Norms", "Longest"}} <= schemas()["study"]["$defs"].keys())
print(caption("analysis", analysis="longest"))
default = study.model_copy(update={{"analyses": Analyses({{"norms": None}})}})
print(measure_slice(data, study.analyses["norms"]) == measure_slice(data, default.analyses["norms"]))
try:
    check_analyses(study, Configuration(Path({str(config)!r})))
except WordorderError as error:
    print(error.key, error.line is not None)
"""
    done = run(plugins, "-c", code)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[0] == "['norms', 'longest'] True"
    assert "<em>longest</em> translation" in done.stdout and "analyses/longest.csv" in done.stdout
    assert done.stdout.splitlines()[-2:] == ["True", "analyses.longest.least True"]
