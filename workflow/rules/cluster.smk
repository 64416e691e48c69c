# What trainings take of a cluster, and how often a cluster is asked for news. Resources and groups run nothing again.

from asyncio import sleep
from fnmatch import fnmatch
from math import inf

from snakemake_interface_executor_plugins.executors.remote import RemoteExecutor

from wordorder.files import reading

# Another table for another cluster: --config training_table=FILE.
TRAINING_TABLE = Path(workflow.basedir, config.get("training_table", "slurm/training.tsv"))
TRAINING_COLUMNS = ["dataset", "size", "memory_gb", "hours", "nodes", "cpus", "gpus"]


@cache
@told
def training_table():
    rows = []
    with reading(TRAINING_TABLE):
        lines = TRAINING_TABLE.read_text(encoding="utf-8", errors="replace").splitlines()
    for number, line in enumerate(lines, start=1):
        words = line.partition("#")[0].split()
        try:
            if words:
                dataset, size, *numbers = words
                rows.append(dict(zip(TRAINING_COLUMNS, [dataset, size, *map(float, numbers)], strict=True)))
        except ValueError:
            raise WordorderError(
                f"{TRAINING_TABLE}, line {number}: expected the columns {', '.join(TRAINING_COLUMNS)} with a number in "
                f"each of the last five, found '{line.strip()}'."
            )
        if words and (problem := range_problem(rows[-1])):
            raise WordorderError(f"{TRAINING_TABLE}, line {number}: {problem}.")
    return rows


def range_problem(row):
    """What no training can take; None where all can be asked for."""
    for column in ["memory_gb", "hours"]:
        if not 0 < row[column] < inf:
            return f"'{column}' must be more than 0, not {row[column]:g}"
    for column, least in [("nodes", 1), ("cpus", 1), ("gpus", 0)]:
        if not row[column] >= least or row[column] % 1:
            return f"'{column}' must be a whole number from {least} on, not {row[column]:g}"
    return None


# Resources are asked for in the middle of Snakemake's work, which would bury the sentence. Jobs have been told theirs.
if workflow.is_main_process:
    training_table()


@cache
@told
def training_row(dataset, size):
    for row in training_table():
        if fnmatch(dataset, row["dataset"]) and fnmatch(size, row["size"]):
            return row
    raise WordorderError(
        f"{TRAINING_TABLE}: no row fits the size '{size}' on the dataset '{dataset}'. Add one, or one of stars."
    )


def takes(column, factor=1, grows=False):
    """A resource of a training, as its row says; one that grows gets as much again with every attempt."""

    def resource(wildcards, attempt):
        amount = training_row(wildcards.dataset, wildcards.size)[column] * factor
        return round(amount * attempt if grows else amount)

    return resource


def takes_gpu(wildcards):
    """One GPU for what runs a model that was trained on any."""
    return min(1, takes("gpus")(wildcards, 1))


def grows_with_text(base, per_mb, most=inf):
    """A resource of what reads whole texts: MB or minutes, per megabyte of both sides or of the only one.

    A second attempt gets twice as much, however much is the most.
    """

    def resource(wildcards, input, attempt):
        files = [input.source, *([input.target] if "target" in input.keys() else [])]
        size_mb = sum(Path(file).stat().st_size for file in files) / 1e6
        return round(min(base + per_mb * size_mb, most) * attempt)

    return resource


# A training on one node is one task, which starts a process for each of its GPUs. One on several is a task a GPU, or a
# node where there are none, and 'mpi' tells Snakemake to leave their start to srun. None is a resource not asked for.


def takes_all_gpus(wildcards):
    row = training_row(wildcards.dataset, wildcards.size)
    return round(row["nodes"] * row["gpus"])


def takes_cpus_per_task(wildcards):
    row = training_row(wildcards.dataset, wildcards.size)
    tasks = max(1, row["gpus"]) if row["nodes"] > 1 else 1
    return max(1, round(row["cpus"] // tasks))


def on_several_nodes(value):
    """A resource of the trainings that have several: what ``value`` makes of the nodes and of the tasks of each."""

    def resource(wildcards):
        row = training_row(wildcards.dataset, wildcards.size)
        return value(round(row["nodes"]), round(max(1, row["gpus"]))) if row["nodes"] > 1 else None

    return resource


# The executor of SLURM asks ever more rarely while nothing ends, every three minutes at last, and a stage would begin
# that much after the one before it. Its own interval counts up to Snakemake's option --seconds-between-status-checks,
# which it does not look at.
async def sleep_no_longer_than_asked(executor):
    longest = executor.workflow.remote_execution_settings.seconds_between_status_checks
    await sleep(min(executor.next_seconds_between_status_checks, longest))


RemoteExecutor.sleep = sleep_no_longer_than_asked
