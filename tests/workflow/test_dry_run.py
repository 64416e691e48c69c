"""Test that each shipped study, with each shipped profile, has the jobs that it requires."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from snakemake_runs import ROOT, dry_run, job_counts, outputs, snakemake
from wordorder.config.load import load_study, load_with_companions, study_names
from wordorder.config.models import Study
from wordorder.workflow import study as asked
from wordorder.workflow.configuration import Configuration
from wordorder.workflow.models import ModelRules
from wordorder.workflow.store import SliceStore
from wordorder.workflow.study_slices import controls_of

CONFIG = ROOT / "config"


# Companions are asked for with the studies that name them. Several studies share a dry-run, half of which is its start.
# The jobs are the same on any profile: the laptop's profile is tried with a few, and fewer still are fast tests.
COMPANIONS = {companion for name in study_names(CONFIG) for companion in load_study(name, CONFIG).companions}
STUDIES = [name for name in study_names(CONFIG) if name not in {"demo", *COMPANIONS}]
TOGETHER = 7
FAST = [(("demo",), "slurm"), (("demo", "multi30k"), "local")]
SLOW = [(("crosslingual", "posnet_dp_mini"), "local")]
SLOW += [(tuple(STUDIES[start : start + TOGETHER]), "slurm") for start in range(0, len(STUDIES), TOGETHER)]


@pytest.mark.parametrize(
    ("names", "profile"),
    [*FAST, *(pytest.param(*each, marks=pytest.mark.slow) for each in SLOW)],
    ids=lambda value: value if isinstance(value, str) else value[0],
)
def test_studies_train_translate_and_score_their_cells(names: tuple[str, ...], profile: str, tmp_path: Path) -> None:
    studies = {each.name: each for name in names for each in load_with_companions(name, CONFIG)}
    counts = job_counts(dry_run(tmp_path, *names, profile=profile))
    expected = jobs_of(list(studies.values()))
    assert {rule: counts.get(rule, 0) for rule in expected} == expected


def jobs_of(studies: list[Study]) -> dict[str, int]:
    """Count the required jobs of studies by rule. Studies share models, and one may have two names for a model."""
    configuration = Configuration(CONFIG)
    models = ModelRules(configuration, SliceStore(is_main=True))
    cells = [(study, cell) for study in studies for cell in asked.cells(study)]
    evaluations = {models.evaluation_file(*each, name) for each in cells for name in each[0].decodings}
    tests = [
        asked.decoded_tests(study, dataset)
        for study in studies
        for dataset in configuration.datasets_of(study)
        for _ in study.sizes
    ]
    return {
        "train_model": len({models.folder(study, cell) for study, cell in cells}),
        "evaluate_model": len(evaluations),
        "compare_systems": sum(map(len, tests)),
        "make_table": sum(
            len([*asked.table_names(study, controls=bool(controls_of(study, configuration))), "credibility"])
            for study in studies
        ),
        "draw_figure": sum(len(study.figures) for study in studies),
        "analyse": sum(len(study.analyses.names) for study in studies),
        "make_page": len(studies),
    }


@pytest.mark.slow
@pytest.mark.parametrize("study", ["demo", "opr"])  # The second one has a paper and figures of untrained vectors.
def test_a_second_dry_run_starts_without_pytorch(tmp_path: Path, study: str) -> None:
    """Its import takes longer than the rest of a dry-run; the first dry-run caches what the encodings say."""
    command = "import sys; from snakemake.cli import main\ntry: main()\nfinally: print('torch' in sys.modules)"
    arguments = [study, "--dry-run", "--quiet", "--cores", "1", "--directory", str(tmp_path)]
    found = [
        subprocess.run(
            [sys.executable, "-c", command, *arguments],
            cwd=ROOT,
            env=os.environ | {"XDG_CACHE_HOME": str(tmp_path / "cache")},
            capture_output=True,
            text=True,
            check=True,
        ).stdout.split()[-1]
        for _ in range(2)
    ]
    assert found == ["True", "False"]


@pytest.mark.slow
def test_the_target_of_a_study_asks_for_its_companions_too(config: Path, tmp_path: Path) -> None:
    def would_run(*targets: str) -> dict[str, list[str]]:
        return outputs(dry_run(tmp_path, *targets, "--cores", "1", "--config", f"config_dir={config}"))

    alone, companion = would_run("demo"), would_run("crosslingual")
    demo = config / "studies/demo.yaml"
    demo.write_text(f"{demo.read_text()}companions: [crosslingual]\n")
    both = would_run("demo")
    assert both["make_page"] == ["results/crosslingual/index.html", "results/demo/index.html"]
    # What they share, such as the data, is made once.
    assert both == {
        rule: sorted({*alone.get(rule, []), *companion.get(rule, [])}) for rule in alone.keys() | companion.keys()
    }
    assert would_run() == both, "the study of --config study=NAME, demo if there is none"
    assert would_run("results/demo/index.html")["make_page"] == ["results/demo/index.html"]
    assert would_run("tables")["make_table"] == alone["make_table"], "milestones are those of one study"


@pytest.mark.parametrize(
    ("study", "table", "more"),
    [
        pytest.param("xlpe_mini", "published", {"measure_model", "compare_systems"}, marks=pytest.mark.slow),
        pytest.param("posnet_big", "published", {"compare_systems"}, marks=pytest.mark.slow),
        pytest.param("opr_k_mini", "published", set(), marks=pytest.mark.slow),
        pytest.param("xlpe_mini", "orderings", {"compare_systems"}, marks=pytest.mark.slow),
    ],
)
def test_the_table_of_published_scores_waits_for_what_its_tables_hold(
    study: str, table: str, more: set[str], tmp_path: Path
) -> None:
    counts = job_counts(dry_run(tmp_path, f"results/{study}/tables/{table}.csv"))
    assert {"measure_model", "compare_systems"} & set(counts) == more
    assert counts["evaluate_model"] and counts["make_table"] == 1


def training(text: str) -> str:
    """Return the part of a dry-run about the first training."""
    return text[text.index("rule train_model:") :].partition("Shell command")[0]


def test_the_profile_of_slurm_and_its_table_say_what_a_training_takes(tmp_path: Path) -> None:
    said = training(dry_run(tmp_path, "train_all", "--set-threads", "train_model=2", profile="slurm"))
    for words in (
        "threads: 2",
        "mem_mb=2000",
        "runtime=60",
        "cpus_per_task=1",
        "gpu=0",
        "slurm_extra=--signal=TERM@60",
    ):
        assert words in said
    said = training(dry_run(tmp_path, "train_all", "--set-resources", "train_model:runtime=7", profile="slurm"))
    assert "runtime=7," in said and "mem_mb=2000" in said


def test_a_mistake_in_the_table_of_trainings_is_all_that_is_said(tmp_path: Path) -> None:
    table = tmp_path / "table"
    command = ("-n", "train_all", "--config", f"training_table={table}")
    table.write_text("# a comment\n* * -2 1 1 1 0")
    done = snakemake(tmp_path, *command, profile="slurm")
    assert done.returncode == 1
    assert re.search(rf"^wordorder: error: {table}, line 2: .+\Z", done.stderr.strip(), re.MULTILINE), done.stderr
    assert "Traceback" not in done.stderr and "rule " not in done.stdout + done.stderr
    table.write_text("grammar base 3 0.5 1 4 2")
    done = snakemake(tmp_path, *command, profile="slurm")
    assert done.returncode == 1
    assert re.search(rf"^wordorder: error: {table} .*'micro'.+\Z", done.stderr.strip(), re.MULTILINE), done.stderr
    assert "Traceback" not in done.stderr and "rule " not in done.stdout + done.stderr


def test_all_that_is_commented_in_the_profile_of_slurm_can_be_switched_on(tmp_path: Path) -> None:
    text = (ROOT / "slurm/profile.yaml").read_text()
    switched, number = re.subn(
        r"(?m)^( +)# (?=(slurm_account|slurm_partition|gpu_model|train_model|  slurm_partition):)", r"\1", text
    )
    assert number == 9
    (tmp_path / "profile.yaml").write_text(switched)
    text = dry_run(tmp_path, "multi30k", profile=str(tmp_path))
    for rule in ("train_model", "evaluate_model"):
        said = text[text.index(f"rule {rule}:") :].partition("Shell command")[0]
        for words in ("slurm_account=my_account", "slurm_partition=my_gpu_partition", "gpu_model=a100"):
            assert words in said, rule


def groups(text: str) -> Counter[str]:
    """Return the groups that a dry-run would submit as one job each."""
    return Counter(re.findall(r"Group job (\w+) ", text))


def test_chains_of_short_jobs_are_submitted_as_one(tmp_path: Path) -> None:
    text = dry_run(tmp_path, "demo", profile="slurm")
    found = groups(text)
    assert found["prepare"] == 1 and sum(found.values()) < 10
    alone = set(re.findall(r"(?m)^rule (\w+):", text)) - {"demo", "make_table", "draw_figure", "analyse", "make_page"}
    assert alone <= {"train_model", "evaluate_model", "train_parser", "compare_systems"}
    # Where a job on one node does not say so, SLURM may give it GPUs of several, which its one task cannot reach.
    trainings = re.findall(r"(?m)^rule train_model:\n(?:.+\n)*? +resources: (.+)$", text)
    assert len(trainings) == 12 and all("nodes=1" in said.split(", ") for said in trainings)


@pytest.mark.slow
def test_what_is_measured_of_models_is_submitted_alone(tmp_path: Path) -> None:
    """A group of independent jobs requests the sum of their GPUs."""
    text = dry_run(tmp_path, "crosslingual", profile="slurm")
    cells = asked.cells(load_study("crosslingual", CONFIG))
    measured = re.findall(r"(?m)^( *)rule measure_model", text)
    assert len(measured) == 4 * len(cells) and set(measured) == {""}, "the jobs of a group are indented"


def test_what_holds_a_whole_text_asks_for_memory_and_time_by_its_size(tmp_path: Path) -> None:
    """The texts are empty, and about as large as those of WMT17 Chinese-English."""
    data = tmp_path / "results/data/wmt17_zhen"
    for name, size in {"clean/train.source": 2_400, "clean/train.target": 2_800, "subword/model.model": 0}.items():
        (data / name).parent.mkdir(parents=True, exist_ok=True)
        with (data / name).open("wb") as file:
            file.truncate(size * 1_000_000)
    wanted = ["reordering/btg_subword/oracle/train.orders", "classes/subword.50.tsv"]
    files = [f"results/data/wmt17_zhen/{name}" for name in wanted]
    text = dry_run(tmp_path, *files, "--rerun-triggers", "mtime", profile="slurm")
    asked = dict(re.findall(r"rule (\w+):(?:\n.+)*?\n *resources: .*?mem_mb=(\d+)", text))
    assert asked == {"train_aligner": "16000", "align_split": "8000", "find_oracle": "2000", "train_classes": "9200"}


@pytest.mark.parametrize(("study", "dataset"), [("multi30k", "multi30k"), ("arena_reordering_mini", "mini_jaen")])
def test_the_shards_of_a_large_corpus_can_be_spread_over_nodes(
    study: str, dataset: str, config: Path, tmp_path: Path
) -> None:
    """The options in docs/new-cluster.md create no groups that wait for each other, of tokenised text neither."""
    options = re.search(r"--groups (.|\\\n)*16\n", (ROOT / "docs/new-cluster.md").read_text())
    assert options is not None
    file = config / f"datasets/{dataset}.yaml"
    file.write_text(file.read_text() + "shards: 32\n")
    words = options[0].replace("\\\n", " ").split()
    arguments = ["prepare_all", *words, "--config", f"study={study}", f"config_dir={config}"]
    found = groups(dry_run(tmp_path, *arguments, profile="slurm"))
    assert found["clean"] == found["binarise"] == 2


def test_downloads_run_where_the_internet_is() -> None:
    rules = "".join(path.read_text() for path in sorted((ROOT / "workflow/rules").glob("*.smk")))
    downloading = [block for block in re.split(r"(?m)^rule ", rules) if "wordorder stage download" in block]
    assert downloading and all("localrule: True" in block for block in downloading)


MILESTONES = {
    "prepare_all": {"gather_binary", "gather_reports", "binarise_split", "import_gold"},
    "train_all": {"train_model"},
    "evaluate_all": {"evaluate_model"},
    "tables": {"make_table"},
    "figures": {"draw_figure"},
}


@pytest.mark.parametrize("milestone", MILESTONES)
@pytest.mark.slow
def test_a_milestone_ends_with_its_stage(milestone: str, tmp_path: Path) -> None:
    counts = job_counts(dry_run(tmp_path, milestone, "--config", "study=multi30k", "--cores", "1"))
    assert MILESTONES[milestone] <= set(counts)
    order = ["prepare_all", "train_all", "evaluate_all"]
    if milestone in order:
        later = set().union(*(MILESTONES[name] for name in order[order.index(milestone) + 1 :]))
        assert not later & set(counts)
    assert not any(rule.endswith("grammar") for rule in counts), "another study's data"


def test_the_training_set_is_scattered_as_its_dataset_says(config: Path, tmp_path: Path) -> None:
    dataset = config / "datasets" / "grammar.yaml"
    dataset.write_text(dataset.read_text() + "shards: 3\n")
    arguments = ["prepare_all", "--cores", "1", "--config", f"config_dir={config}"]
    found = outputs(dry_run(tmp_path, *arguments))
    assert found["clean_shard"] == [f"results/data/grammar/shards/{i}-of-3.clean.source" for i in (1, 2, 3)]
    assert len(found["binarise_shard"]) == 3
    assert len(found["gather_text"]) == 2
    more = outputs(dry_run(tmp_path, *arguments, "--set-scatter", "grammar=5"))
    assert len(more["clean_shard"]) == 5


def test_a_study_with_a_mistake_fails_only_when_it_is_asked_for(config: Path, tmp_path: Path) -> None:
    study = config / "studies" / "demo.yaml"
    study.write_text(study.read_text().replace("sinusoidal, opr", "sinusodial, opr"))
    (config / "studies/tables.yaml").write_text(study.read_text().replace("name: demo", "name: tables"))
    arguments = ["--cores", "1", "--config", f"config_dir={config}"]
    assert job_counts(dry_run(tmp_path, "multi30k", *arguments))["train_model"] > 0
    failed = snakemake(tmp_path, "--dry-run", "demo", *arguments)
    assert failed.returncode == 1
    assert f"wordorder: error: {study}" in failed.stderr and "'sinusoidal'?" in failed.stderr
    assert "Traceback" not in failed.stderr


def test_a_wrong_parameter_of_an_encoding_is_told_without_a_traceback(config: Path, tmp_path: Path) -> None:
    encodings = config / "encodings.yaml"
    encodings.write_text(encodings.read_text().replace("  k: 8", "  kk: 8"))
    failed = snakemake(tmp_path, "--dry-run", "demo", "--cores", "1", "--config", f"config_dir={config}")
    assert failed.returncode == 1
    assert "encodings.yaml" in failed.stderr and "opr.kk" in failed.stderr and "Traceback" not in failed.stderr


def test_a_model_that_cannot_be_built_is_told_before_anything_runs(config: Path, tmp_path: Path) -> None:
    study = config / "studies/demo.yaml"
    text = study.read_text().replace("sizes: [micro]", "sizes: [micro, micro_lstm]")
    study.write_text(text.replace("[none, sinusoidal, opr, inxl]", "[none, sinusoidal, opr, inxl, relative]"))
    failed = snakemake(tmp_path, "--dry-run", "demo", "--cores", "1", "--config", f"config_dir={config}")
    assert failed.returncode == 1 and "Traceback" not in failed.stderr
    assert re.search(r"^wordorder: error: .*'demo'.*'relative'.*'micro_lstm'", failed.stderr, re.MULTILINE)


def test_an_analysis_that_cannot_be_loaded_is_told_without_a_traceback(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "plugins/analyses/broken.py"
    file.parent.mkdir(parents=True)
    file.write_text("1 / 0\n")
    monkeypatch.setenv("WORDORDER_PLUGINS", str(tmp_path / "plugins"))
    failed = snakemake(tmp_path, "--dry-run", "demo", "--cores", "1")
    assert failed.returncode == 1 and str(file) in failed.stderr and "ZeroDivisionError" in failed.stderr
    assert "Traceback" not in failed.stderr and "rule " not in failed.stdout + failed.stderr


def test_a_dataset_with_a_mistake_hinders_only_its_studies(config: Path, tmp_path: Path) -> None:
    dataset = config / "datasets" / "multi30k.yaml"
    dataset.write_text(dataset.read_text().replace("target_language", "target_langauge"))
    arguments = ["--cores", "1", "--config", f"config_dir={config}"]
    assert job_counts(dry_run(tmp_path, "demo", *arguments))["train_model"] > 0
    failed = snakemake(tmp_path, "--dry-run", "multi30k", *arguments)
    assert failed.returncode == 1 and str(dataset) in failed.stderr and "Traceback" not in failed.stderr


@pytest.mark.parametrize("target", ["crosslingual_ja", "prepare_all"])
def test_a_language_that_cannot_be_scored_is_told_before_anything_runs(
    target: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "MeCab.py").write_text("raise ImportError('not here')\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=os.pathsep)
    failed = snakemake(tmp_path, "--dry-run", target, "--cores", "1", "--config", "study=crosslingual_ja")
    assert failed.returncode == 1 and "Traceback" not in failed.stderr
    assert re.search(r"^wordorder: error: .*'mini_enja'.*'ja'.*'sacrebleu\[ja\]'", failed.stderr, re.MULTILINE)


def test_an_unknown_study_is_told_the_nearest_name(tmp_path: Path) -> None:
    failed = snakemake(tmp_path, "--dry-run", "train_all", "--cores", "1", "--config", "study=multi30")
    assert failed.returncode == 1 and "did you mean 'multi30k" in failed.stderr
    assert "Traceback" not in failed.stderr
