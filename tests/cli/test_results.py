"""The commands that print results and encodings: results, compare and inspect."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest

from guide import plugin
from little_study import Workspace
from snakemake_runs import ROOT
from wordorder.api.inspection import inspect
from wordorder.api.results import load_table
from wordorder.cli.main import main

DEMO = str(ROOT / "results" / "reference" / "demo")


def test_results_print_a_table(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["results", DEMO, "--table", "parameters"]) == 0
    assert capsys.readouterr().out == (Path(DEMO) / "tables" / "parameters.md").read_text("utf-8") + "\n"
    assert main(["results", DEMO, "--table", "significance", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert {row["system"] for row in rows} == {"none", "opr", "inxl"}
    assert [row["p"] for row in rows] == load_table(DEMO, "significance")["p"].tolist(), "with all digits"


def test_an_encoding_is_explained_and_drawn(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    root = ["--root", str(ROOT / "config")]
    assert main(["inspect", "opr_16", "--json", "--figure", str(tmp_path / "opr"), "--length", "8", *root]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["settings"] == {"type": "opr", "k": 16}
    assert found["parameters"] == 0 and {"Title", "Source", "Promises", "Departures"} < set(found["texts"]["opr"])
    assert {path.suffix for path in tmp_path.glob("opr.*")} == {".svg", ".pdf", ".png", ".csv"}
    rows = pd.read_csv(tmp_path / "opr.csv").fillna({"head": 0})
    assert rows.groupby(["drawn", "head"]).size().to_dict() == {
        ("vectors", 0): 8 * 64,
        ("cosine similarity", 0): 8 * 8,
        ("attention of equal tokens", 1): 8 * 8,
        ("attention of equal tokens", 4): 8 * 8,
    }
    vectors = inspect("opr_16", root=ROOT / "config").encoding.table(8)
    written = rows[rows["drawn"] == "vectors"].pivot(index="row", columns="column", values="value")
    assert vectors is not None and written.to_numpy() == pytest.approx(vectors.numpy(), rel=1e-5, abs=1e-9)
    assert main(["inspect", "headxl", "--figure", str(tmp_path / "headxl"), "--length", "8", *root]) == 0
    assert (tmp_path / "headxl.csv").read_text("utf-8") == "drawn,head,row,column,value\n", "nothing outside a model"
    capsys.readouterr()
    assert main(["inspect", "opr_rpr", *root]) == 0
    assert {"Shaw", "Source:"} <= set(capsys.readouterr().out.split())


def test_an_encoding_without_documentation_is_described(plugins: Path, capsys: pytest.CaptureFixture[str]) -> None:
    documented = plugin("encodings")
    (plugins / "encodings/own.py").write_text(documented.replace(documented.split('"""')[1], ""))
    assert main(["inspect", "slope", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["texts"] == {"slope": {"Title": "", "Formula": ""}}
    assert main(["inspect", "slope"]) == 0
    first, *between, last = capsys.readouterr().out.splitlines()
    assert "slope" in first and "8 trainable" in last and between == [""], "no paragraphs without text"


def test_an_unknown_encoding_is_a_sentence(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORDORDER_ERRORS", "json")
    assert main(["inspect", "ropee", "--root", str(ROOT / "config")]) == 1
    assert json.loads(capsys.readouterr().err)["suggestion"] == "rope"
    assert main(["inspect", "disam", "--root", str(ROOT / "config")]) == 1
    assert json.loads(capsys.readouterr().err)["suggestion"] == "disan", "a name in encodings.yaml, which is no type"
    assert main(["inspect", "composed", "--root", str(ROOT / "config")]) == 1
    assert json.loads(capsys.readouterr().err)["code"] == "unknown-name", "a composition needs its parts"


@pytest.mark.slow
@pytest.mark.xdist_group("finished_study")
def test_two_encodings_are_compared(finished: Workspace, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    where = ["--study", "little", "--results", str(finished.folder / "results"), "--root", str(finished.config)]
    assert main(["compare", "opr", "sinusoidal", *where, "--figure", str(tmp_path / "pair")]) == 0
    assert "opr" in capsys.readouterr().out and (tmp_path / "pair.svg").is_file()
    assert main(["compare", "opr", "sinusoidal", *where, "--json"]) == 0
    by_name = capsys.readouterr().out
    assert {row["metric"] for row in json.loads(by_name)} >= {"bleu"}
    where[1] = str(finished.config / "studies" / "little.yaml")
    assert main(["compare", "opr", "sinusoidal", *where, "--json"]) == 0
    assert capsys.readouterr().out == by_name, "a study is named by its file, too"
