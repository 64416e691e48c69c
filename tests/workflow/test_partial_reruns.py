"""Tests of what reruns after a change: dry-runs on a study that has really finished."""

from __future__ import annotations

import re

import pytest

from little_study import Workspace
from snakemake_runs import snakemake

pytestmark = [pytest.mark.xdist_group("finished_study")]  # one process, so that the study is run once

PAGE = {"make_page": ["results/little/index.html"]}
REPORTED = {
    **PAGE,
    "make_table": [
        f"results/little/tables/{name}.csv"
        for name in ("credibility", "parameters", "scores", "significance", "variance")
    ],
    "draw_figure": [
        f"results/little/figures/{name}.pdf"
        for name in ("encoding_matrix", "forest", "perplexity", "scores", "similarity", "variance")
    ],
}


def test_a_finished_study_has_nothing_to_do(study: Workspace) -> None:
    assert study.would_run() == {}


@pytest.mark.slow
def test_cores_memory_and_profiles_run_nothing_again(study: Workspace) -> None:
    assert study.would_run("--set-threads", "train_model=1", "--set-resources", "train_model:mem_mb=9000") == {}
    assert study.would_run(profile="slurm") == {}


def both(study: Workspace, seed: int = 1, decoding: str = "") -> list[str]:
    """Return the evaluations of both encodings."""
    return sorted(study.evaluation(name, seed, decoding=decoding) for name in ("opr", "sinusoidal"))


COMPARED = {"compare_systems": ["results/little/significance/pair.mini.test.json"]}


def test_another_k_runs_only_the_opr_cell_again(study: Workspace) -> None:
    before = study.model_folder("opr"), study.model_folder("sinusoidal")
    study.change("encodings.yaml", "k: 8", "k: 4")
    assert study.model_folder("opr") != before[0] and study.model_folder("sinusoidal") == before[1]
    assert study.would_run() == {
        "train_model": [study.cell("opr", "model.pt")],
        "evaluate_model": [study.evaluation("opr")],
        **COMPARED,
        **REPORTED,
    }
    # The model with k = 8 is still there: going back to it runs nothing at all.
    study.change("encodings.yaml", "k: 4", "k: 8")
    assert study.would_run() == {}


@pytest.mark.slow
def test_a_new_seed_trains_one_cell_per_encoding(study: Workspace) -> None:
    study.change("studies/little.yaml", "seeds: [1]", "seeds: [1, 2]")
    found = study.would_run()
    assert found["train_model"] == [study.cell("opr", "model.pt", 2), study.cell("sinusoidal", "model.pt", 2)]
    assert found["evaluate_model"] == both(study, 2)
    assert set(found) == {"train_model", "evaluate_model", "compare_systems", *REPORTED}


@pytest.mark.slow
def test_other_sentences_to_measure_on_train_nothing(study: Workspace) -> None:
    study.change("studies/little.yaml", "tests: [test]", "tests: [test, other]")
    found = study.would_run()
    assert found["evaluate_model"] == both(study)
    assert found["generate_split"] == ["results/data/pair/raw/other.source"]
    assert not {"train_model", "train_subword", "clean_shard"} & set(found)

    study.change("studies/little.yaml", "tests: [test, other]", "tests: [test]")
    study.change("datasets/pair.yaml", "test: 20", "test: 25")
    found = study.would_run()
    assert found["generate_split"] == ["results/data/pair/raw/test.source"]
    assert found["evaluate_model"] == both(study)
    assert not {"train_model", "train_subword"} & set(found)

    study.change("datasets/pair.yaml", "valid: 20, tests: {test: 25", "valid: 25, tests: {test: 20")
    found = study.would_run()
    assert found["generate_split"] == ["results/data/pair/raw/valid.source"]
    assert not {"train_model", "train_subword", "evaluate_model"} & set(found)


@pytest.mark.slow
def test_a_deleted_evaluation_comes_back_alone(study: Workspace) -> None:
    (study.folder / study.evaluation("opr")).unlink()
    assert study.would_run() == {
        "evaluate_model": [study.evaluation("opr")],
        **COMPARED,
        "make_table": [
            f"results/little/tables/{name}.csv" for name in ("credibility", "scores", "significance", "variance")
        ],
        "draw_figure": [f"results/little/figures/{name}.pdf" for name in ("forest", "scores", "variance")],
        **PAGE,
    }


@pytest.mark.slow
def test_a_deleted_figure_or_table_comes_back_alone(study: Workspace) -> None:
    (study.folder / "results/little/figures/scores.png").unlink()
    (study.folder / "results/little/tables/scores.md").unlink()
    assert study.would_run() == {
        "draw_figure": ["results/little/figures/scores.pdf"],
        "make_table": ["results/little/tables/scores.csv"],
        **PAGE,
    }


@pytest.mark.slow
def test_a_deleted_page_comes_back_alone_and_the_same(study: Workspace) -> None:
    page = study.folder / "results/little/index.html"
    before = page.read_bytes()
    assert before.count(b"<h1>A little study</h1>") == 1
    page.unlink()
    assert study.would_run() == PAGE
    done = snakemake(study.folder, *study.arguments())
    assert done.returncode == 0, done.stdout + done.stderr
    assert page.read_bytes() == before
    assert study.would_run() == {}


def test_models_can_be_deleted_to_save_space(study: Workspace) -> None:
    (study.folder / study.cell("opr", "model.pt")).unlink()
    assert study.would_run() == {}


@pytest.mark.slow
def test_another_title_changes_only_tables_figures_and_the_page(study: Workspace) -> None:
    study.change("studies/little.yaml", "A little study", "A small study")
    assert study.would_run() == REPORTED


@pytest.mark.slow
def test_another_recipe_trains_all_again_but_prepares_nothing(study: Workspace) -> None:
    study.change("studies/little.yaml", "max_updates: 20", "max_updates: 30")
    found = study.would_run()
    assert len(found["train_model"]) == 2 and not {"clean_shard", "generate_split", "binarise_split"} & set(found)


@pytest.mark.slow
def test_another_cleaning_runs_the_removed_shards_again(study: Workspace) -> None:
    study.change("datasets/pair.yaml", "vocabulary: 150", "vocabulary: 150, cleaning: {max_length: 15}")
    found = study.would_run()
    assert len(found["clean_shard"]) == 2 and len(found["train_model"]) == 2
    assert "generate_split" not in found


@pytest.fixture
def exchangeable(study: Workspace) -> Workspace:
    """A finished study with two decodings, and with encodings whose models have the names of equal encodings."""
    decoding = "{beam: 2, max_length_a: 0, max_length_b: 10}"
    study.change("studies/little.yaml", f"decoding: {decoding}", f"decoding: {{one: {{beam: 1}}, two: {decoding}}}")
    study.change("studies/little.yaml", "encodings: [opr, sinusoidal]", "encodings: [small, large, sinusoidal]")
    study.change("studies/little.yaml", "baseline: sin", "tables: [parameters]\nanalyses: {length: {}}\nbaseline: sin")
    study.change("studies/little.yaml", "baseline: sin", "figures: [scores, perplexity]\nbaseline: sin")
    more = "opr4: {type: opr, k: 4}\nsmall: {type: opr, k: 4}\nlarge: {type: opr, k: 8}"
    study.change("encodings.yaml", "k: 8}", f"k: 8}}\n{more}")
    done = snakemake(study.folder, *study.arguments())
    assert done.returncode == 0, done.stdout + done.stderr
    return study


@pytest.mark.slow
def test_exchanged_names_make_everything_that_shows_them_again(exchangeable: Workspace) -> None:
    """Decodings, then encodings exchange their contents, so that each job has the same files as before."""
    exchanged = {
        **PAGE,
        "compare_systems": [f"results/little/significance/pair.mini.test@{name}.json" for name in ("one", "two")],
        "make_table": [f"results/little/tables/{name}.csv" for name in ("credibility", "parameters")],
        "draw_figure": [f"results/little/figures/{name}.pdf" for name in ("perplexity", "scores")],
        "analyse": ["results/little/analyses/length.pdf"],
    }
    study = exchangeable
    assert study.would_run() == {}
    for file, first, second in (("studies/little.yaml", "one:", "two:"), ("encodings.yaml", "small:", "large:")):
        _exchange(study, file, first, second)
        assert study.would_run() == exchanged
        _exchange(study, file, first, second)
        assert study.would_run() == {}


def _exchange(study: Workspace, file: str, first: str, second: str) -> None:
    study.change(file, first, "third:")
    study.change(file, second, first)
    study.change(file, "third:", second)


def test_a_run_leaves_logs_and_no_shards(finished: Workspace) -> None:
    left = [path for path in finished.folder.glob("results/data/pair/shards/*") if not path.name.startswith(".")]
    assert not left
    assert finished.log("opr").stat().st_size > 0


@pytest.mark.slow
def test_the_report_holds_tables_and_figures(study: Workspace) -> None:
    done = snakemake(study.folder, *study.arguments(), "--report", "report.html")
    assert done.returncode == 0, done.stderr
    page = (study.folder / "report.html").read_text(encoding="utf-8")
    for name in ("scores", "significance", "variance", "parameters"):
        assert re.search(rf"results/little/tables/{name}\.html", page)
    for name in ("forest", "variance", "scores", "perplexity", "similarity", "encoding_matrix"):
        assert re.search(rf"results/little/figures/{name}\.svg", page)
    for caption in (
        "Scores of each encoding",
        "Every comparison that the study declares",
        "Parameters of each model",
        "Perplexity on",
        "Cosine similarity of",
    ):
        assert caption in page
