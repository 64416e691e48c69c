# What all rules share. What to run, with which inputs, parameters and resources, is decided by wordorder.workflow; the
# rules only say which commands make which files.

import gc
import os
import sys
from asyncio import sleep
from pathlib import Path

from snakemake.persistence import PersistenceBase
from snakemake_interface_executor_plugins.executors.remote import RemoteExecutor

from wordorder.report import CAPTIONS
from wordorder.report.caption_texts import captions
from wordorder.workflow.data import ALIGNMENT, REORDERING, binary_files, corpus_file, positions_files
from wordorder.workflow.exits import exit_on_error
from wordorder.workflow.models import CELL, EVALUATED
from wordorder.workflow.patience import remember_min_job_age
from wordorder.workflow.plan import Plan
from wordorder.workflow.resources import grows_with_text
from wordorder.workflow.runs import Runs, restart
from wordorder.workflow.studies import JOINT, SIGNIFICANCE, SYSTEMS

# Thousands of jobs are millions of small objects, hardly any of them garbage: look for it less often.
gc.set_threshold(200_000, 50, 100)

STUDY = config.get("study", "demo")

# The folder of config/ and slurm/: of the Snakefile that was started, or above it where that is workflow/Snakefile.
BASE = Path(workflow.basedir)
BASE = BASE.parent if BASE.name == "workflow" else BASE

# Another table for another cluster: --config training_table=FILE.
plan = Plan(
    Path(config.get("config_dir", BASE / "config")),
    Path(BASE, config.get("training_table", "slurm/training.tsv")),
    STUDY,
    is_main=workflow.is_main_process,
)

# The rules call the 'wordorder' of the environment that runs this Snakemake, activated or not.
os.environ |= {"PATH": os.pathsep.join((str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)))}

# 'COMMAND 2>&1 | logged FILE' shows what a command says and keeps it. A signal that asks a job to stop reaches every
# process of it: the shell and the log ignore it, so that the command can save its state, and its status (75) is seen.
shell.prefix('set -euo pipefail; trap : INT TERM USR1; logged() {{ trap "" INT TERM USR1; exec tee "$1" >&2; }}; ')


# The templates of captions take the texts of figures and analyses from here.
config["captions"] = captions()


wildcard_constraints:
    **plan.constraints(),
    encoding=r"[^/]+",
    size=r"[^/]+",
    digest=r"[0-9a-f]{10}",
    seed=r"\d+",
    decoding=r"beam\d+-[0-9a-f]{10}",
    evaluation=r"evaluation-[0-9a-f]{10}",
    measure=r"\w+-[0-9a-f]{10}",
    analysis=r"\w+",
    metric=r"[^/]+",
    split=r"[^/]+",
    test=r"[^/]+",
    side="source|target",


scattergather:
    **{dataset.name: dataset.shards for dataset in plan.configuration.valid_datasets},


def scattered(dataset, file):
    """``file`` of every shard of a dataset, as the outputs of its scatter rule."""
    return getattr(scatter, dataset)(f"results/data/{dataset}/shards/{{scatteritem}}.{file}")


def gathered(file):
    """``file`` of every shard of a dataset, as the inputs of a gathering rule."""
    pattern = f"results/data/{{dataset}}/shards/{{scatteritem}}.{file}"
    return lambda wildcards: getattr(gather, wildcards.dataset)(pattern, **dict(wildcards.items()))


def cleaned(side, split="{split}"):
    """The cleaned text of one side of a split."""
    return f"results/data/{{dataset}}/clean/{split}.{side}"


def folder_of(name):
    """The folder of the first file of the named input, as a parameter."""
    return lambda _, input: str(Path(input.get(name)[0]).parent)


onstart:
    plan.start(workflow.dag.needrun_jobs())


onsuccess:
    plan.end()


# Snakemake would end where another run needs the same files; here it waits for that run (wordorder.workflow.runs).
runs = Runs(Path("results"), lambda: restart(workflow.rundir))


@exit_on_error
def turn(persistence):
    jobs = list(persistence.dag.needrun_jobs())
    return runs.turn((file for job in jobs for file in job.input), (file for job in jobs for file in job.output))


PersistenceBase.lock = turn


# The executor of SLURM asks ever more rarely while nothing ends, every three minutes at last, and a stage would begin
# that much after the one before it. Its own interval counts up to Snakemake's option --seconds-between-status-checks,
# which it does not look at.
async def sleep_no_longer_than_asked(executor):
    longest = executor.workflow.remote_execution_settings.seconds_between_status_checks
    await sleep(min(executor.next_seconds_between_status_checks, longest))


RemoteExecutor.sleep = sleep_no_longer_than_asked
remember_min_job_age()
