# What all stages share: the configuration, which is read once and only when needed, and how commands are run.

import os
import re
import sys
from functools import cache, partial, wraps
from pathlib import Path

from wordorder import workflow as plan
from wordorder.config import load
from wordorder.errors import WordorderError
from wordorder.report import CAPTIONS

CONFIG = Path(config.get("config_dir", Path(workflow.basedir, "config")))
STUDY = config.get("study", "demo")

# The rules call the 'wordorder' of the environment that runs this Snakemake, activated or not.
os.environ["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])

# 'COMMAND 2>&1 | logged FILE' shows what a command says and keeps it. A signal that asks a job to stop reaches every
# process of it: the shell and the log ignore it, so that the command can save its state, and its status (75) is seen.
shell.prefix('set -euo pipefail; trap : INT TERM USR1; logged() {{ trap "" INT TERM USR1; exec tee "$1" >&2; }}; ')


# ---------------------------------------------------------------------------------------------- the configuration


def told(function):
    """A mistake in the configuration ends the run with its sentence alone; Snakemake would add a traceback."""

    @wraps(function)
    def wrapper(*arguments):
        try:
            return function(*arguments)
        except WordorderError as error:
            sys.exit(f"wordorder: error: {error}")

    return wrapper


@cache
@told
def study_of(name):
    return load.load_study(name, CONFIG)


@cache
@told
def dataset_of(name):
    return load.load_dataset(name, CONFIG)


def sound_datasets():
    """The datasets without mistakes; the others are told when a study asks for them."""
    datasets = []
    for name in load.dataset_names(CONFIG):
        try:
            datasets.append(load.load_dataset(name, CONFIG))
        except WordorderError:
            pass
    return datasets


DATASETS = sound_datasets()


def one_of(names):
    """A regular expression that matches these names; nothing if there are none."""
    return "|".join(map(re.escape, sorted(names, key=len, reverse=True))) or "(?!)"


REORDERERS = list(told(load.load_reorderers)(CONFIG))


wildcard_constraints:
    aligner=one_of(told(load.load_aligners)(CONFIG)),
    reorderer=one_of(REORDERERS),
    study=one_of(load.study_names(CONFIG)),
    dataset=one_of(load.dataset_names(CONFIG)),
    size=one_of(told(load.load_sizes)(CONFIG)),
    encoding=r"[^/]+",
    seed=r"\d+",
    split=r"[^/]+",
    test=r"[^/]+",
    side="source|target",


# ------------------------------------------------------------------------------------------------------ the files

CELL = "results/{study}/cells/{dataset}/{encoding}/{size}/{seed}"

COMET = "results/{study}/comet/{dataset}.{size}.{test}.json"

# A binary corpus is a directory. Its files are declared, not the directory: the time stamp of a directory changes when
# something is put beside them, and would train everything again.
BINARY = ["source.tokens.npy", "source.offsets.npy", "target.tokens.npy", "target.offsets.npy", "meta.json"]


FIGURE_FORMATS = ["svg", "pdf", "png", "csv"]


def binary_files(split):
    return [f"results/data/{{dataset}}/binary/{split}/{file}" for file in BINARY]


def positions_folder(name, split):
    return f"results/data/{{dataset}}/positions/{name}/{split}"


def positions_files(name, split):
    return [f"{positions_folder(name, split)}/{file}" for file in ("positions.npy", "meta.json")]


@cache
@told
def positions_name(study, dataset, encoding, split):
    """The reordered source positions that a cell takes of a split; None for most encodings, which need none."""
    return plan.positions_name(study_of(study), dataset_of(dataset), encoding, split, CONFIG)


def positions_of(split, wildcards):
    """What positions a job of a cell reads: no file where its encoding needs none."""
    split = split.format(**wildcards)
    name = positions_name(wildcards.study, wildcards.dataset, wildcards.encoding, split)
    return [file.format(**wildcards) for file in positions_files(name, split)] if name else []


def corpus_options(split, option, wildcards):
    """The folder of a split's corpus, and after it the option with the folder of its positions where a cell needs them.

    Both as one parameter of the rule, whose command is thereby the same, word for word, as that of a cell without: what
    was finished before an encoding needed positions stays finished.
    """
    split = split.format(**wildcards)
    folder = f"results/data/{wildcards.dataset}/binary/{split}"
    name = positions_name(wildcards.study, wildcards.dataset, wildcards.encoding, split)
    return [folder, option, positions_folder(name, split).format(**wildcards)] if name else folder


def cell_files(study, file, tests=False):
    """``file`` in the folder of every cell of a study, and with ``tests`` for every test set: '{test}.scores.json'."""
    return [
        f"{CELL}/{file}".format(study=study.name, test=test, **cell._asdict())
        for cell in plan.cells(study)
        for test in (plan.test_names(study, dataset_of(cell.dataset)) if tests else [None])
    ]


# --------------------------------------------------------------------------------------------- what targets consist of


@cache
def study_of_target(name):
    """The study, if its models can be built, and its languages segmented and scored here: else nothing runs."""
    study = study_of(name)
    told(plan.check_models)(study, CONFIG)
    told(plan.check_languages)(study, map(dataset_of, study.datasets))
    return study


def significance_files(study):
    return files_of_test_sets(study, "results/{study}/significance/{dataset}.{size}.{test}.json")


def comet_files(study):
    """COMET scores, of a study that asks for them."""
    return files_of_test_sets(study, COMET) if study_of(study).comet else []


def files_of_test_sets(study, pattern):
    return [
        pattern.format(study=study, dataset=dataset, size=size, test=test)
        for dataset in study_of(study).datasets
        for size in study_of(study).sizes
        for test in plan.test_names(study_of(study), dataset_of(dataset))
    ]


def cleaning_reports(study):
    return [f"results/data/{dataset}/clean/train.report.json" for dataset in study_of(study).datasets] + [
        f"results/data/{dataset}/pairs.json"
        for dataset in study_of(study).datasets
        if dataset_of(dataset).published_pairs
    ]


def prepared_outputs(wildcards):
    return cleaning_reports(STUDY) + [
        file.format(dataset=dataset)
        for dataset in study_of_target(STUDY).datasets
        for split in ["train", "valid", *plan.test_names(study_of(STUDY), dataset_of(dataset)), *gold_splits(dataset)]
        for file in [*binary_files(split), *needed_positions(dataset, split)]
    ]


def gold_splits(dataset):
    """The sets of gold alignments that the study's analyses ask for, as splits of a dataset."""
    splits = told(plan.aligned_splits)(study_of(STUDY), dataset_of(dataset), CONFIG)
    return [split for split in splits if split.startswith("gold.")]


def needed_positions(dataset, split):
    """The positions of a split that the study's encodings need."""
    names = {positions_name(STUDY, dataset, encoding, split) for encoding in study_of(STUDY).encodings}
    return [file for name in sorted(filter(None, names)) for file in positions_files(name, split)]


def trained_outputs(wildcards):
    return cell_files(study_of_target(STUDY), "model.pt")


def decoded_outputs(wildcards):
    return cell_files(study_of_target(STUDY), "{test}.hypotheses", tests=True)


def scored_outputs(wildcards):
    return cell_files(study_of_target(STUDY), "{test}.scores.json", tests=True) + comet_files(STUDY)


def table_outputs(study, wildcards):
    """The tables that a study asks for, and the credibility list, without which no study is finished."""
    formats = ["csv", "md", "tex", "html"]
    names = [*plan.table_names(study_of_target(study)), "credibility"]
    return [f"results/{study}/tables/{name}.{format}" for name in names for format in formats]


def figure_outputs(study, wildcards):
    names = study_of_target(study).figures
    return [f"results/{study}/figures/{name}.{format}" for name in names for format in FIGURE_FORMATS]


def analysis_outputs(study, wildcards):
    told(plan.check_analyses)(study_of_target(study), map(dataset_of, study_of(study).datasets), CONFIG)
    names = study_of(study).analyses.names
    return [f"results/{study}/analyses/{name}.{format}" for name in names for format in FIGURE_FORMATS]


def reordering_outputs(study):
    """How good the predicted orders of the test sets are, for every reorderer that the study uses."""
    return [
        f"results/data/{drawn.dataset}/reordering/{drawn.reorderer}/{file}"
        for drawn in told(plan.drawn_reorderings)(study_of(study), map(dataset_of, study_of(study).datasets), CONFIG)
        for file in [
            f"predicted/{drawn.test}.json",
            *(f"figures/{drawn.test}.{figure}.{format}" for figure in ("matrix", "tau") for format in FIGURE_FORMATS),
        ]
    ]


def study_outputs(study, wildcards):
    """Everything that is made again when it is deleted. Not the models: who deletes them for their size keeps the rest."""
    return [
        *cleaning_reports(study),
        *cell_files(study_of(study), "{test}.hypotheses", tests=True),
        *cell_files(study_of(study), "{test}.scores.json", tests=True),
        *significance_files(study),
        *table_outputs(study, wildcards),
        *figure_outputs(study, wildcards),
        *analysis_outputs(study, wildcards),
        *reordering_outputs(study),
        f"results/{study}/index.html",
    ]


def target_outputs(study, wildcards):
    """What the target of a study asks for: all of the study and of its companions, each file once."""
    studies = [study, *study_of(study).companions]
    return list(dict.fromkeys(file for name in studies for file in study_outputs(name, wildcards)))


def report_slice(wildcards):
    study = study_of(wildcards.study)
    return plan.report_slice(study, map(dataset_of, study.datasets))
