"""Tests of the tables of scores and parameters, and of what all tables have in common."""

from __future__ import annotations

import itertools
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from evaluation_samples import (
    report,
    sentences,
    write_lines,
)
from index_samples import index_cells
from raises import raises
from table_samples import ENCODINGS, RATES, SEEDS, cells_of, table
from wordorder.cli.main import main
from wordorder.comparison.levels import level_of
from wordorder.config.models import Report
from wordorder.config.seeds import Looks
from wordorder.files import read_json, sha256, write_json, write_text
from wordorder.metrics.scores import score_files
from wordorder.report import overview
from wordorder.report.build import build_table
from wordorder.results.blocks import blocked
from wordorder.results.frames import load_metrics, load_records, load_scores, load_significance, systems_path
from wordorder.tables.study import parameters_table, scores_table
from wordorder.tables.summary import read_table, summary
from wordorder.tables.table import Block, Cell, Table, mean_and_sd, text, to_html, to_markdown


def test_mean_and_sd() -> None:
    assert mean_and_sd([1.0, 2.0, 3.0], 3).text == "2.00 ± 1.00 (n = 3)"
    assert mean_and_sd([1.0, float("nan"), 3.0], 3).text == "2.00 ± 1.41 (n = 2 of 3)"
    assert mean_and_sd([7.0], 1).text == "7.00 (n = 1)"
    assert mean_and_sd([float("nan")], 1).text == "– (n = 0 of 1)"


def test_a_separate_page_names_its_rows_and_columns_and_adapts_to_the_screen() -> None:
    rows = [{"Encoding": text("a<b"), "BLEU": mean_and_sd([24.0], 1)}, {"Encoding": text("rope")}]
    page = to_html(Table("scores", pd.DataFrame(), [Block("A caption", rows)]))
    assert '<tr><th scope="col">Encoding</th><th scope="col">BLEU</th></tr>' in page
    assert '<tr><th scope="row">a&lt;b</th><td>24.00 (n = 1)</td></tr>' in page
    assert '<tr><th scope="row">rope</th><td>–</td></tr>' in page
    assert '<meta name="viewport" content="width=device-width, initial-scale=1">' in page
    assert "color-scheme: light dark" in page and "(prefers-color-scheme: dark)" in page


def test_scores_keep_every_seed(study: Report, tmp_path: Path) -> None:
    data, markdown, _ = table("scores", study, tmp_path)
    assert len(data) == len(ENCODINGS) * 2 * 2  # encodings x tests x metrics
    row = data.set_index(["encoding", "test", "metric"]).loc[("opr+rpr", "test_2", "bleu")]
    scores = [
        read_json(tmp_path / f"cells/pair/opr+rpr/tiny/{seed}/test_2.scores.json")["metrics"]["bleu"]["score"]
        for seed in SEEDS
    ]
    assert [row[f"seed {seed}"] for seed in SEEDS] == pytest.approx(scores)
    assert (row["mean"], row["sd"]) == pytest.approx((np.mean(scores), np.std(scores, ddof=1)))
    assert (row["n"], row["seeds"]) == (3, 3)
    heading, *rows = cells_of(markdown)
    assert heading == ["Size", "Encoding", "test_1 BLEU", "test_1 chrF++", "test_2 BLEU", "test_2 chrF++"]
    assert [cells[1] for cells in rows] == ENCODINGS
    assert rows[1][4].startswith(f"{np.mean(scores):.2f} ± {np.std(scores, ddof=1):.2f} (n = 3) ")


def test_seeds_without_a_score_are_listed(study: Report, tmp_path: Path) -> None:
    data, markdown, latex = table("scores", study, tmp_path)
    lost = data[(data["encoding"] == "learned_t5") & (data["test"] == "test_1") & (data["metric"] == "bleu")].iloc[0]
    assert (lost["n"], lost["seeds"]) == (2, 3)
    assert pd.isna(lost["seed 2"])
    assert re.search(r"\(n = 2 of 3\)$", cells_of(markdown)[3][2])
    assert cells_of(markdown)[4][2] == "– (n = 0 of 3)"
    assert "pair/learned_t5/tiny seed 2 on test_1 (diverged)" in markdown
    assert "pair/null/tiny seed 3 on test_2 (missing)" in markdown
    assert r"pair/learned\_t5/tiny seed 2 on test\_1 (diverged)" in latex


def test_signatures_stand_below(study: Report, tmp_path: Path) -> None:
    signature = "nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:"
    for name in ("scores", "significance"):
        data, markdown, latex = table(name, study, tmp_path)
        wanted = signature if name == "scores" else "nrefs:1|bs:50|seed:7|case:mixed|eff:no|tok:13a|smooth:exp|version:"
        assert f"- BLEU: {wanted}" in markdown
        assert f"BLEU: {wanted}".replace("|", r"\textbar{}") in re.sub(r"\\label.*", "", latex)
        assert data["signature"].dropna().str.contains("version:").all()


def test_systems_that_do_not_differ_significantly_share_a_letter(study: Report, tmp_path: Path) -> None:
    data, markdown, _ = table("scores", study, tmp_path)
    of = data.set_index(["encoding", "test", "metric"])["group"].fillna("")
    for test, metric in {(test, metric) for _, test, metric in of.index}:
        scores = data[(data["test"] == test) & (data["metric"] == metric)].set_index("encoding")
        by_seed = scores[[f"seed {seed}" for seed in SEEDS]]
        assert of["null", test, metric] == of["learned_t5", test, metric] == "", "no seed, or one that diverged"
        sound = ["none", "opr+rpr"]
        shared = by_seed.loc[sound]
        residual = shared.sub(shared.mean(axis=1), axis=0) - shared.mean() + shared.to_numpy().mean()
        freedom = (shared.shape[0] - 1) * (shared.shape[1] - 1)
        error = (float((residual**2).to_numpy().sum()) / freedom / shared.shape[1]) ** 0.5
        means = shared.mean(axis=1)
        for one, other in itertools.combinations(sound, 2):
            q = abs(means[one] - means[other]) / error
            # Systems that diverged or were not run count among those that are compared, as in the verdicts.
            differ = bool(stats.studentized_range.sf(q, len(ENCODINGS), freedom) < 0.05)
            assert differ != bool(set(of[one, test, metric]) & set(of[other, test, metric]))
        best = means.idxmax()
        assert "a" in of[best, test, metric]
    assert "Letters: encodings of one size that share a letter" in markdown


def test_comet_is_a_column_scored_or_not(study: Report, tmp_path: Path) -> None:
    asked = study.model_copy(update={"metrics": [*study.metrics, "comet"]})
    missing = {
        "status": "not scored",
        "signature": None,
        "reason": "There is no model.",
        "how": "Get it.",
        "systems": {},
    }
    for test in ("test_1", "test_2"):
        write_json(systems_path(tmp_path, "comet", "pair", "tiny", test), missing)
    _, markdown, _ = table("scores", asked, tmp_path)
    heading, *rows = cells_of(markdown)
    assert heading[4] == "test_1 COMET"
    assert [row[4] for row in rows] == ["not scored"] * 3 + ["– (n = 0 of 3)"]
    assert "- COMET: not scored. There is no model. Get it." in markdown
    assert "(not scored)" not in markdown, "the reason is said once, not for every cell"

    systems = {}
    for cell in (tmp_path / "cells").glob("pair/*/tiny/*"):
        path = cell / "test_2.hypotheses"
        score = 0.8 + int(cell.name) / 100 if path.read_bytes() else None
        systems[sha256(path)] = {"score": score, "segment_scores": [score] * 25 if score else []}
    scored = {"status": "scored", "signature": "x/y|precision:fp32", "systems": systems}
    write_json(systems_path(tmp_path, "comet", "pair", "tiny", "test_2"), scored)
    data, markdown, _ = table("scores", asked, tmp_path)
    assert cells_of(markdown)[1][-1].startswith("0.8200 ± 0.0100 (n = 3)")
    assert cells_of(markdown)[3][-1].startswith("0.8200 ± 0.0141 (n = 2 of 3)")
    assert "- COMET: x/y|precision:fp32" in markdown
    row = data[(data["encoding"] == "none") & (data["test"] == "test_2") & (data["metric"] == "comet")].iloc[0]
    assert row["mean"] == pytest.approx(0.82)


def test_the_legacy_score_is_marked(tmp_path: Path) -> None:
    asked = report(["none"], [1], ("test_1",)).model_copy(update={"metrics": ["bleu", "bleu_legacy"]})
    folder = tmp_path / "cells/pair/none/tiny/1"
    index_cells(tmp_path, asked)
    one, two = (write_lines(tmp_path / name, sentences(5)) for name in ("hypotheses", "references"))
    write_json(folder / "test_1.scores.json", score_files(one, two, asked.metrics, "de"))
    tests = {"size": "tiny", "test": "test_1", "cells": [], "metrics": {}, "not_scored": []}
    write_json(tmp_path / "significance/pair.tiny.test_1.json", tests)
    _, markdown, _ = table("scores", asked, tmp_path)
    assert cells_of(markdown)[0][-1] == "test_1 BLEU (tokenised, compounds split)"
    assert "- BLEU (tokenised, compounds split): legacy, to compare only with papers" in markdown
    assert "tok:moses-de-compounds" in markdown


def test_letters_after_a_look_that_was_not_declared_are_noted(study: Report, tmp_path: Path) -> None:
    assert not any("exact" in note for note in build_table("scores", study, tmp_path).notes)
    content = read_json(tmp_path / SIGNIFICANCE)
    content["metrics"]["bleu"]["family"]["level"]["exact"] = False
    write_json(tmp_path / SIGNIFICANCE, content)
    notes = build_table("scores", study, tmp_path).notes
    assert sum("no level is exact" in note for note in notes) == 1


@pytest.mark.parametrize(("lost", "different"), [(None, True), (4, False)])
def test_letters_have_the_level_of_the_seeds_that_all_encodings_have(lost: int | None, different: bool) -> None:
    """Less of alpha is spent at four seeds than at the declared five."""
    seeds, looks = [1, 2, 3, 4, 5], Looks(looks=[3, 5], until=5)
    asked = report(["one", "other"], seeds, ("test_1",)).model_copy(update={"metrics": ["bleu"], "looks": looks})
    rows = [
        {"dataset": "pair", "size": "tiny", "encoding": name, "seed": seed, "test": "test_1", "metric": "bleu"}
        | {"score": np.nan, "status": "missing", "signature": ""}
        | ({} if (name, seed) == ("other", lost) else {"score": 20.0 + seed + gain, "status": "scored"})
        for name, gains in {"one": [0.0] * 5, "other": [0.3, 0.9, 1.4, 1.0, 0.9]}.items()
        for seed, gain in zip(seeds, gains, strict=True)
    ]
    common = [seed for seed in seeds if seed != lost]
    level = level_of(asked.alpha, common, looks)
    gains = [0.3, 0.9, 1.4, 1.0, 0.9] if lost is None else [0.3, 0.9, 1.4, 0.9]
    p = stats.ttest_1samp(gains, 0).pvalue
    assert (p < level.level) == different and p < level_of(asked.alpha, seeds, looks).level
    made = scores_table(pd.DataFrame(rows), asked)
    assert (len(set(made.data["group"])) == 2) == different
    assert f"at {100 * level.level:.3g} %" in made.notes[0]
    assert any("no level is exact" in note for note in made.notes) == (lost is not None)


def test_an_encoding_without_translations_has_no_letter_and_costs_the_others_no_seed() -> None:
    """Its training did not notice that the model gives no numbers. The tests exclude it, too."""
    rows = [
        {"dataset": "pair", "size": "tiny", "encoding": name, "seed": seed, "test": "test_1", "metric": "bleu"}
        | {"signature": "", "status": "scored", "score": 20.0 + seed + shift}
        | ({"score": np.nan, "status": "no hypotheses"} if (name, seed) == ("lost", 1) else {})
        for name, shift in {"one": 0.0, "other": 5.0, "lost": 1.0}.items()
        for seed in (1, 2, 3)
    ]
    found = blocked(pd.DataFrame(rows), [1, 2, 3])
    assert (found.seeds, found.excluded) == ((1, 2, 3), {"lost": "diverged"})


def test_models_that_have_learned_nothing_have_no_letters(study: Report, tmp_path: Path) -> None:
    content = read_json(tmp_path / SIGNIFICANCE)
    content["metrics"]["bleu"]["family"]["margin"] = 100.0
    write_json(tmp_path / SIGNIFICANCE, content)
    data = build_table("scores", study, tmp_path).data
    empty = data.groupby(["test", "metric"])["group"].agg(lambda letters: not any(letters))
    assert empty.to_dict() == {
        (test, metric): (test, metric) == ("test_1", "bleu")
        for test in ("test_1", "test_2")
        for metric in ("bleu", "chrf++")
    }


def test_parameters(study: Report, tmp_path: Path) -> None:
    data, markdown, _ = table("parameters", study, tmp_path)
    assert len(data) == len(ENCODINGS) * len(SEEDS)
    cell = data[(data["encoding"] == "opr+rpr") & (data["seed"] == 2)].iloc[0]
    assert (cell["parameters"], cell["encoding_parameters"], cell["seconds"]) == (2_007_000, 7000, 120.0)
    heading, none, opr, learned, never = cells_of(markdown)
    assert heading[2:7] == ["Parameters (M)", "Encoding's (M)", "Over none (M)", "Target tokens/s", "Minutes"]
    assert heading[7] == "Memory (GB)" and none[7] == "1.10"
    assert none[2:5] == ["2.000", "0.000", "+0.000"]
    assert opr[2:7] == ["2.007", "0.007", "+0.007", "2,000", "2.0"]
    assert learned[-2:] == ["9.50", "2 finished, 1 diverged"], "what a diverged seed once had is in no mean"
    assert "means over the trainings that did not diverge" in markdown
    assert never[2:] == ["–"] * 9 + ["3 missing"]


def test_parameters_of_an_encoding_that_diverged_with_each_seed(study: Report, tmp_path: Path) -> None:
    records = load_records(study, tmp_path)
    records.loc[records["encoding"] == "learned_t5", "status"] = "diverged"
    _, _, _, learned, _ = cells_of(to_markdown(parameters_table(records, study)))
    assert learned[2] != "–" and learned[5:] == ["–"] * 6 + ["3 diverged"]


def test_costs_are_those_of_trainings_that_did_not_diverge(study: Report, tmp_path: Path) -> None:
    path = tmp_path / "cells/pair/learned_t5/tiny/2/record.json"
    costs = {"seconds": 0.0, "target_tokens_per_second": 9e6, "epochs": 0.1, "updates": 1}
    write_json(path, read_json(path) | costs | {"efficiency": {"used": {"memory_bytes": 9_000_000_000}}})
    learned = cells_of(table("parameters", study, tmp_path)[1])[3]
    assert learned[2] == "2.010", "the parameters of all"
    assert learned[5:10] == ["2,000", "2.0", "1.10", "4.00", "400"]


def test_latex_is_booktabs_with_everything_escaped(study: Report, tmp_path: Path) -> None:
    for name in ("scores", "significance", "variance", "parameters"):
        _, _, latex = table(name, study, tmp_path)
        for word in (r"\toprule", r"\midrule", r"\bottomrule", r"\caption{", rf"\label{{tab:{name}}}"):
            assert latex.count(word.replace("}", "")) == (3 if name == "significance" else 1)
        body = re.sub(r"\\(label\{.*\}|resizebox.*)", "", latex)
        assert not re.search(r"(?<!\\)[_#%<>]", body.replace("{!}{%", "")), name
        unescaped = re.sub(r"\\[{}]", "", latex)
        assert unescaped.count("{") == unescaped.count("}")
        assert body.isascii()
        for part in latex.split(r"\end{table}")[:-1]:
            columns = len(re.findall(r"l|p\{6cm\}", re.search(r"\\begin\{tabular\}\{(.*)\}", part)[1]))  # type: ignore[index]
            rows = [line for line in part.splitlines() if line.endswith(r"\\")]
            assert {line.count(" & ") + 1 for line in rows} == {columns}


def test_score_of_another_metric_is_said(study: Report, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "cells/pair/none/tiny/1/test_1.scores.json"
    scores: dict[str, Any] = read_json(path)
    del scores["metrics"]["chrf++"]
    write_json(path, scores)
    command = ["stage", "table", "scores", "--config", study.model_dump_json(), "--results", str(tmp_path)]
    assert main([*command, "--output-prefix", str(tmp_path / "t")]) == 1
    assert f"{path} has no score for the metric 'chrf++'" in capsys.readouterr().err
    assert not list(tmp_path.glob("t.*"))


CELL = "cells/pair/none/tiny/1"
SIGNIFICANCE = "significance/pair.tiny.test_1.json"


@pytest.mark.parametrize(
    ("name", "file", "content", "key"),
    [
        ("scores", f"{CELL}/test_1.scores.json", "{}", "status"),
        ("scores", f"{CELL}/test_1.scores.json", "[]", "status"),
        ("scores", f"{CELL}/test_1.scores.json", '{"status": "scored"}', "metrics"),
        ("significance", SIGNIFICANCE, "{}", "size"),
        ("significance", SIGNIFICANCE, "[1]", "size"),
        ("parameters", f"{CELL}/record.json", "{}", "status"),
        ("parameters", f"{CELL}/record.json", "[]", "status"),
        ("credibility", f"{CELL}/record.json", "{}", "data.train"),
        ("credibility", f"{CELL}/record.json", "[]", "data.train"),
        ("credibility", f"{CELL}/test_1.scores.json", "{}", "metrics"),
        ("summary", "tables/scores.csv", "a,b\n1,2\n", "dataset"),
        ("perplexity", f"{CELL}/metrics.jsonl", "", "kind"),
        ("perplexity", f"{CELL}/metrics.jsonl", "{}\n", "kind"),
        ("perplexity", f"{CELL}/metrics.jsonl", "[1]\n", "kind"),
    ],
)
def test_a_file_of_another_shape_is_said(
    name: str, file: str, content: str, key: str, study: Report, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_text(tmp_path / file, content)
    command = ["stage", "figure" if name == "perplexity" else "table", name, "--config", study.model_dump_json()]
    command += ["--output-prefix", str(tmp_path / "t")]
    command = ["results", str(tmp_path)] if name == "summary" else [*command, "--results", str(tmp_path)]
    assert main(command) == 1
    assert capsys.readouterr().err == (
        f"wordorder: error: {tmp_path / file} has no '{key}', so it was not written by this version of wordorder. "
        "Delete it and run its stage again.\n"
    )
    assert not list(tmp_path.glob("t.*"))


def test_seeds_are_those_of_metrics_that_scored_anything(
    study: Report, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table("scores", study, tmp_path)
    path = tmp_path / "tables" / "scores.csv"
    frame = read_table(path)
    frame.loc[frame["metric"] == "chrf++", "n"] = 0
    write_text(path, frame.to_csv(index=False))
    capsys.readouterr()
    assert main(["results", str(tmp_path)]) == 0
    assert re.search(r"tiny +learned_t5 .* 2 of 3\n", capsys.readouterr().out)


def test_a_vertical_bar_does_not_end_a_cell_in_markdown() -> None:
    block = Block("A table.", [{"Name": Cell("depends on |i - j|", None), "Value": Cell("1", 1)}])
    row = to_markdown(Table("some", pd.DataFrame(), [block], [])).strip().split("\n")[-1]
    assert len(re.split(r"(?<!\\)\|", row)) == 4, "two cells between the edges"


def test_more_groups_than_letters_stay_in_their_order(study: Report) -> None:
    letters = [*"abcdefghijklmnopqrstuvwxyz", "(27)", "(28)"]
    rows = [
        {"dataset": "pair", "size": "tiny", "test": "test_1", "metric": "bleu", "encoding": f"s{at}", "mean": -at}
        | {"group": letter}
        for at, letter in enumerate(letters)
    ]
    (found,) = overview.alike(study, pd.DataFrame(rows))
    assert list(found.groups) == letters


def test_text_in_a_column_of_numbers_is_said(study: Report, tmp_path: Path) -> None:
    table("scores", study, tmp_path)
    path = tmp_path / "tables" / "scores.csv"
    assert summary(tmp_path)
    frame = read_table(path).astype({"mean": object})
    frame.loc[0, "mean"] = "seventeen"
    write_text(path, frame.to_csv(index=False))
    with raises("damaged-file", path=path):
        summary(tmp_path)


def test_names_that_look_like_values_are_read_as_they_are(tmp_path: Path) -> None:
    names = ["05", "1e3", "0612", "true", "NA", "null", "None", "nan"]
    for name in names:
        columns = {key: [name, name] for key in ("dataset", "test", "size", "encoding")}
        frame = pd.DataFrame({**columns, "mean": [1.5, None], "n": [3, 0]})
        write_text(tmp_path / "table.csv", frame.to_csv(index=False))
        found = read_table(tmp_path / "table.csv", columns, numbers=["mean", "n"])
        assert found[[*columns]].to_numpy().tolist() == [[name] * 4] * 2
        assert found["n"].tolist() == [3, 0] and found["mean"].isna().tolist() == [False, True]


def test_frames_have_a_row_for_every_cell(study: Report, tmp_path: Path) -> None:
    assert len(load_scores(study, tmp_path)) == len(ENCODINGS) * len(SEEDS) * 2 * 2
    assert list(load_records(study, tmp_path)["status"].value_counts().items()) == [
        ("finished", 8),
        ("missing", 3),
        ("diverged", 1),
    ]
    assert [file["test"] for file in load_significance(study, tmp_path)] == ["test_1", "test_2"]
    metrics = load_metrics(study, tmp_path)
    valid, train = (metrics[metrics["split"] == split] for split in ("valid", "train"))
    assert len(metrics) == len(valid) + len(train) == len(RATES) * len(SEEDS) * (4 + 1)
    assert set(valid["perplexity"]) == {20 / i + seed for i in range(1, 5) for seed in SEEDS}
    assert set(train["loss"]) == {4.6}, "without label smoothing"


def test_summary(study: Report, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["results", str(tmp_path)]) == 1
    assert str(tmp_path) in capsys.readouterr().err
    data, _, _ = table("scores", study, tmp_path)
    verdicts, _, _ = table("significance", study, tmp_path)
    capsys.readouterr()
    assert main(["results", str(tmp_path)]) == 0
    printed = capsys.readouterr().out
    row = data[(data["encoding"] == "learned_t5") & (data["test"] == "test_1")].set_index("metric")
    bleu, chrf = (f"{row.loc[m, 'mean']:.2f} ± {row.loc[m, 'sd']:.2f}" for m in ("bleu", "chrf++"))
    assert re.search(rf"tiny +learned_t5 +{bleu} +{chrf} +2 of 3\n", printed)
    assert re.search(r"tiny +null +– +– +0 of 3\n", printed), "a name, not a missing value"
    assert re.search(r"size +encoding +BLEU +chrF\+\+ +seeds\n", printed) and "↓" not in printed
    scores = tmp_path / "tables" / "scores.csv"
    text = scores.read_text(encoding="utf-8")
    write_text(scores, text.replace("chrf++", "ter"))
    assert re.search(r"size +encoding +BLEU +TER ↓ +seeds\n", summary(tmp_path))
    write_text(scores, text)
    assert "BLEU: nrefs:1|case:mixed" in printed
    assert main(["results", str(tmp_path), "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert [row["encoding"] for row in rows] == list(data["encoding"])
    for verdict in verdicts["verdict"]:
        assert f"- {verdict}\n" in printed
    path = tmp_path / "tables" / "significance.csv"
    common = f"{verdicts['detectable'].iloc[0]:.2f}"
    assert f"these seeds find a difference of {common} with 80 %" in printed
    verdicts.loc[1, "detectable"] = 99.0  # of a system that varies more
    write_text(path, verdicts.to_csv(index=False))
    assert " to 99.00, depending on how much a system varies over the seeds, with 80 %" in summary(tmp_path)


def test_the_memory_of_a_training_on_a_gpu_is_that_of_the_gpu(study: Report, tmp_path: Path) -> None:
    used = {"memory_bytes": 9_000_000_000, "gpu_memory_bytes": 3_000_000_000}
    for seed in SEEDS:
        path = tmp_path / f"cells/pair/none/tiny/{seed}/record.json"
        write_json(path, read_json(path) | {"efficiency": {"used": used}})
    assert cells_of(table("parameters", study, tmp_path)[1])[1][7] == "3.00"


def test_parameters_are_compared_with_the_model_without_an_encoding_of_the_same_size(
    study: Report, tmp_path: Path
) -> None:
    records = load_records(study, tmp_path)
    larger = records.assign(size="large", parameters=records["parameters"] + 5_000_000)
    both = study.model_copy(update={"sizes": ["tiny", "large"]})
    rows = cells_of(to_markdown(parameters_table(pd.concat([records, larger]), both)))[1:]
    over = {(row[0], row[1]): row[4] for row in rows}
    assert over["tiny", "none"] == over["large", "none"] == "+0.000"


def test_the_summary_says_what_limits_the_verdicts(study: Report, tmp_path: Path) -> None:
    table("scores", study, tmp_path)
    verdicts, _, _ = table("significance", study, tmp_path)
    path = tmp_path / "tables" / "significance.csv"
    assert "no level is exact" not in summary(tmp_path)
    write_text(path, verdicts.assign(exact=False, margin=0.5, seeds_for_margin=12).to_csv(index=False))
    assert "the margin, needs 12 seeds" in summary(tmp_path) and "no level is exact" in summary(tmp_path)
    write_text(path, verdicts.assign(margin=0.5, seeds_for_margin=None).to_csv(index=False))
    assert "the margin, needs more than 10,000 seeds." in summary(tmp_path)


def test_losses_are_those_of_cells_with_a_validation(study: Report, tmp_path: Path) -> None:
    before = load_metrics(study, tmp_path)
    path = tmp_path / "cells/pair/none/tiny/2/metrics.jsonl"
    write_text(path, "".join(f"{line}\n" for line in path.read_text().splitlines() if '"valid"' not in line))
    after = load_metrics(study, tmp_path)
    lost = (before["encoding"] == "none") & (before["seed"] == 2)
    assert lost.any() and len(after) == len(before) - lost.sum()
