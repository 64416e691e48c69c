# Definitions that all rules share. The package wordorder.workflow provides targets, inputs, parameters and resources; the
# rules only define which command creates which files.

import gc
import os
import sys
from asyncio import sleep
from pathlib import Path

from snakemake.persistence import PersistenceBase
from snakemake_interface_executor_plugins.executors.remote import RemoteExecutor

from wordorder.errors import say_on_interrupt
from wordorder.report import CAPTIONS
from wordorder.report.caption_texts import captions
from wordorder.training.slurm import LOCAL_JOBS
from wordorder.workflow.data import ALIGNMENT, REORDERING, binary_files, corpus_file, positions_files
from wordorder.workflow.deletions import Deletions
from wordorder.workflow.exits import exit_on_error
from wordorder.workflow.groups import explain_rejected_groups
from wordorder.workflow.models import CELL, EVALUATED
from wordorder.workflow.patience import remember_min_job_age
from wordorder.workflow.plan import Plan
from wordorder.workflow.resources import grows_with_text
from wordorder.workflow.runs import Runs, restart
from wordorder.workflow.studies import JOINT, SIGNIFICANCE, SYSTEMS

# Thousands of jobs create millions of small objects, few of which are garbage, so collect garbage less often.
gc.set_threshold(200_000, 50, 100)

# Snakemake handles Ctrl-C only while jobs run, not while it decides which jobs to run, waits for another run or cancels
# jobs.
say_on_interrupt("wordorder: Ctrl-C stopped Snakemake. Of jobs on SLURM, 'squeue --me' lists those that still run.")

STUDY = str(config.get("study") or "demo")  # Snakemake parses the option: a number is an int.

# The folder with config/ and slurm/: that of the main Snakefile, or the parent of workflow/ for workflow/Snakefile.
BASE = Path(workflow.basedir)
BASE = BASE.parent if BASE.name == "workflow" else BASE

# The option --config training_table=FILE selects the table of another cluster.
plan = Plan(
    Path(config.get("config_dir", BASE / "config")),
    Path(BASE, config.get("training_table", "slurm/training.tsv")),
    STUDY,
    is_main=workflow.is_main_process,
)

# The rules call the 'wordorder' command of the environment that runs Snakemake, even if it is not activated.
os.environ |= {"PATH": os.pathsep.join((str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)))}

# Snakemake in an allocation runs several jobs in it. Those that it submits have an allocation each.
if workflow.is_main_process:
    os.environ[LOCAL_JOBS] = "1"
elif workflow.remote_exec:
    os.environ.pop(LOCAL_JOBS, None)

# 'COMMAND 2>&1 | logged FILE' prints the output of a command and writes it to a file. A signal to stop reaches all
# processes of a job. The shell and the logger ignore it, so that the command can save its state and its exit status (75)
# is returned.
shell.prefix('set -euo pipefail; trap : INT TERM USR1; logged() {{ trap "" INT TERM USR1; exec tee "$1" >&2; }}; ')


# The caption templates read the texts of figures and analyses from this key.
config["captions"] = exit_on_error(captions)()


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
    """Return a file of each shard of a dataset, as the outputs of its scatter rule."""
    return getattr(scatter, dataset)(f"results/data/{dataset}/shards/{{scatteritem}}.{file}")


def gathered(file):
    """Return an input function for a file of each shard of a dataset, for a gathering rule."""
    pattern = f"results/data/{{dataset}}/shards/{{scatteritem}}.{file}"
    return lambda wildcards: getattr(gather, wildcards.dataset)(pattern, **dict(wildcards.items()))


def cleaned(side, split="{split}"):
    """Return the cleaned text of one side of a split."""
    return f"results/data/{{dataset}}/clean/{split}.{side}"


def folder_of(name):
    """Return a parameter function for the folder of the first file of a named input."""
    return lambda _, input: str(Path(input.get(name)[0]).parent)


deletions = Deletions()


onstart:
    plan.start(workflow.dag.needrun_jobs())
    deletions.start(workflow.dag.needrun_jobs())


onsuccess:
    plan.end()


# The next run makes results again that this one has left outdated (wordorder.workflow.deletions).
onerror:
    for job in deletions.outdated(workflow.dag, workflow.scheduler.failed):
        workflow.persistence.started(job)


# By default, Snakemake exits if another run needs the same files. Here it waits for that run (wordorder.workflow.runs).
runs = Runs(Path("results"), lambda: restart(workflow.rundir))


@exit_on_error
def turn(persistence):
    jobs = list(persistence.dag.needrun_jobs())
    return runs.turn((file for job in jobs for file in job.input), (file for job in jobs for file in job.output))


PersistenceBase.lock = turn


# While no job ends, the SLURM executor lengthens its interval between status checks to three minutes, which would delay
# the next stage. It ignores Snakemake's option --seconds-between-status-checks, so this function limits the interval to
# that option.
async def sleep_no_longer_than_asked(executor):
    longest = executor.workflow.remote_execution_settings.seconds_between_status_checks
    await sleep(min(executor.next_seconds_between_status_checks, longest))


RemoteExecutor.sleep = sleep_no_longer_than_asked
remember_min_job_age()
explain_rejected_groups()
