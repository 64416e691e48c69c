"""Commands on studies: check, plan, status, efficiency and models."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from wordorder.cli.app import STUDY, command
from wordorder.cli.options import Profile, Results, Root, Study, complete_study, flag, seconds
from wordorder.errors import SeveralErrors, WordorderError

_CLEAR = "\033[2J\033[H"


@command(STUDY, "check", "check multi30k", "check my_study.yaml --root my_config")
def check(
    studies: Annotated[
        list[str] | None,
        Argument(
            metavar="[STUDY]...",
            help="names, or paths of .yaml files (default: all)",
            autocompletion=complete_study,
            show_default=False,
        ),
    ] = None,
    *,
    root: Root = Path("config"),
) -> None:
    """Check studies without running them.

    Check studies and their companions, the datasets and sizes they use, the parameters of their encodings, and whether
    their models can be built. Prints one line per study. The exit status is 1 if there is a problem.
    """
    from wordorder.config.load import study_names, with_companions
    from wordorder.workflow.checks import check
    from wordorder.workflow.configuration import Configuration

    names = with_companions(studies or [], root) or study_names(root)
    if not names:
        raise WordorderError(
            f"There are no studies in {root / 'studies'}. Give --root or the file of a study.",
            code="no-studies",
            path=root / "studies",
        )
    problems, configuration = [], Configuration(root)
    for name in names:
        try:
            print(check(configuration.study(name), configuration))
        except WordorderError as error:
            problems.append(error)
    if problems:
        raise problems[0] if len(problems) == 1 else SeveralErrors(problems, code="several-problems")


@command(STUDY, "plan multi30k", "plan opr --hardware H100 --price 2.5", "plan opr --results /scratch/me/results")
def plan(
    study: Study,
    *,
    results: Results = Path("results"),
    root: Root = Path("config"),
    profile: Profile = Path("slurm"),
    hardware: Annotated[
        str | None, Option(metavar="NAME", help="words in the name of the hardware (default: the fastest measured)")
    ] = None,
    price: Annotated[float | None, Option(min=0, help="price of an hour of a GPU")] = None,
    at_once: Annotated[int | None, Option(min=1, help="trainings that run at the same time")] = None,
    utilisation: Annotated[
        float, Option(min=0.001, max=1, help="share of a GPU's peak to assume where nothing was measured")
    ] = 0.1,
) -> None:
    """Estimate what a study costs.

    Show how many trainings a study has and how many are done, how many parameters, tokens, hours and how much disk they
    take, and their data; also the time limits of the cluster's jobs, and with --price the money. Speeds are those of
    finished trainings of the same size, of any study, or of 'wordorder probe'; otherwise they are estimates, and shown
    as such. A study with companions is shown with each of them, and in total.
    """
    from wordorder.config.load import load_with_companions
    from wordorder.status.data_size import data_size
    from wordorder.status.estimate import estimate
    from wordorder.status.plan import Cluster, plan_text
    from wordorder.workflow.configuration import Configuration

    studies, configuration, cluster = load_with_companions(study, root), Configuration(root), Cluster.of(profile)
    table = cluster.table if cluster else None
    plans = [
        (each, estimate(each, configuration, results, hardware=hardware, utilisation=utilisation, table=table))
        for each in studies
    ]
    print(plan_text(plans, data_size(studies, root), cluster=cluster, price=price, at_once=at_once))


@command(STUDY, "probe multi30k", "probe opr --minutes 10", "probe opr --counts")
def probe(
    study: Study,
    *,
    results: Results = Path("results"),
    root: Root = Path("config"),
    profile: Profile = Path("slurm"),
    minutes: Annotated[float, Option(min=0.01, help="time for all measurements")] = 5.0,
    threads: Annotated[int | None, Option(min=1, help="CPU threads (default: PyTorch's choice)")] = None,
    counts: Annotated[bool, flag("counts", "count operations only, and measure nothing")] = False,
) -> None:
    """Measure the speed and memory of a study's trainings.

    Train each size of a study and its companions for some seconds with every encoding, on the hardware at hand, and
    show tokens per second, peak memory, the share of the GPU's peak, and the operations and host waits of an update.
    'wordorder plan' and 'power' then compute with these figures, which are kept in results/hardware. Rows for the
    profile's training.tsv are proposed. Sizes that this table trains on GPUs are only counted where there is no GPU.
    Data need not be prepared.
    """
    from wordorder.config.load import load_with_companions
    from wordorder.status.estimate import estimate
    from wordorder.status.plan import Cluster
    from wordorder.status.probes import probes_text, run_probes, to_probe
    from wordorder.status.rows import proposed_rows
    from wordorder.workflow.configuration import Configuration

    studies, configuration, cluster = load_with_companions(study, root), Configuration(root), Cluster.of(profile)
    table = cluster.table if cluster else None
    found = run_probes(
        to_probe(studies),
        configuration,
        results,
        minutes=minutes,
        threads=threads,
        table=table,
        counts_only=counts,
    )
    print(probes_text(found))
    measured = [each for each in found if each["measured"]]
    if measured:
        parts = [
            part
            for each in studies
            for part in estimate(each, configuration, results, hardware=measured[0]["hardware"], table=table)
        ]
        print(proposed_rows(measured, parts, profile / "training.tsv"))


@command(STUDY, "gpu-report posnet", "gpu-report posnet --minutes 10 --output posnet_h100", name="gpu-report")
def gpu_report(
    study: Study,
    *,
    results: Results = Path("results"),
    root: Root = Path("config"),
    output: Annotated[Path, Option(metavar="DIR", help="folder to write to")] = Path("results/gpu_report"),
    minutes: Annotated[float, Option(min=0.01, help="time for measurements of trainings")] = 15.0,
) -> None:
    """Measure what a paper prints of GPUs, without training its models.

    Probe the trainings of a study and its companions as 'wordorder probe' does, and time forward passes of models with
    random weights. Writes report.md with speed, memory beside the paper's, and the figure 'forward_time'. Needs a GPU,
    and no data.
    """
    import torch

    from wordorder.config.load import load_with_companions
    from wordorder.status.gpu_report import write_gpu_report
    from wordorder.status.probes import run_probes, to_probe
    from wordorder.workflow.configuration import Configuration

    if not torch.cuda.is_available():
        raise WordorderError(
            "There is no GPU here that PyTorch can use. Run the command where there is one; 'wordorder probe --counts' "
            "works anywhere.",
            code="gpu-needed",
        )
    studies, configuration = load_with_companions(study, root), Configuration(root)
    probes = run_probes(to_probe(studies), configuration, results, minutes=minutes)
    print(f"The report is {write_gpu_report(studies[0], configuration, results, output, probes)}.")


@command(
    STUDY,
    "power multi30k --difference 0.5",
    "power arena --difference 0.5 --sigma 0.3",
    "power opr --difference 0.5 --like opr_mini",
)
def power(
    study: Study,
    *,
    difference: Annotated[float, Option(help="true difference to find, in units of the metric")],
    metric: Annotated[str | None, Option(help="metric (default: the study's first)")] = None,
    sigma: Annotated[
        float | None, Option(help="assumed standard deviation over the seeds (default: that of the results)")
    ] = None,
    like: Annotated[
        str | None, Option(metavar="STUDY", help="finished study whose standard deviation to assume")
    ] = None,
    results: Results = Path("results"),
    root: Root = Path("config"),
    profile: Profile = Path("slurm"),
) -> None:
    """Count the seeds that a comparison needs.

    Show for each family of comparisons how many seeds find a true difference with 80 % probability, within which range
    this number lies because the spread over seeds is an estimate, and what the seeds cost. Before a study is run, state
    the spread with --sigma or take it from a finished study with --like.
    """
    from wordorder.config.models import metric_name
    from wordorder.status.plan import Cluster
    from wordorder.status.power import power_text, spreads
    from wordorder.workflow.configuration import Configuration

    for option, value in (("--difference", difference), ("--sigma", sigma)):
        if value is not None and not 0 < value < float("inf"):
            raise WordorderError(
                f"The value of {option} is {value:g}. It must be a positive number, in units of the metric.",
                code="out-of-range",
                key=option,
                found=value,
            )
    configuration = Configuration(root)
    asked = configuration.study(study)
    other = configuration.study(like) if like is not None else None
    chosen = metric or metric_name(asked.metrics[0])
    found = spreads(asked, configuration, results, metric=chosen, sigma=sigma, like=other)
    cluster = Cluster.of(profile)
    print(power_text(asked, configuration, results, difference, found, cluster.table if cluster else None))


@command(STUDY, "status multi30k", "status multi30k --watch 30")
def status(
    study: Study,
    *,
    results: Results = Path("results"),
    root: Root = Path("config"),
    everything: Annotated[bool, flag("all", "list every cell, also of a large study")] = False,
    log_lines: Annotated[int, Option(min=0, help="lines to show of each log")] = 3,
    watch: Annotated[
        float | None, Option(parser=seconds, metavar="SECONDS", help="show the status repeatedly, until Ctrl-C")
    ] = None,
) -> None:
    """Show what the trainings of a study are doing.

    Show which cells of a study are done, running, stopped (saved, not running), queued (not begun) or failed (diverged
    trainings too), with progress, speed and estimated finish, and the end of the log of what has stopped or failed.
    Only files are read, so the command can run at any time, also on another machine with the same disk; if there is
    SLURM, its queue is read too. Companions of the study are shown, too.
    """
    from wordorder.status.report import status_of

    try:
        while True:
            text = status_of(study, results, root, everything=everything, log_lines=log_lines)
            print(f"{_CLEAR}{text}" if watch and sys.stdout.isatty() else text, flush=True)
            if not watch:
                return
            time.sleep(watch)
            if not sys.stdout.isatty():
                print()
    except KeyboardInterrupt:
        return


@command(STUDY, "efficiency multi30k")
def efficiency(study: Study, *, results: Results = Path("results"), root: Root = Path("config")) -> None:
    """Compare what trainings used with what they requested.

    Show memory, cores and GPUs that each finished training used, and those that its SLURM job requested; tokens and
    model FLOPs per second (6 · weights · tokens); and 'batches', the share of the time that went into making batches.
    Warns if far more was requested than used.
    """
    from wordorder.status.report import efficiency_of

    print(efficiency_of(study, results, root))


@command(STUDY, "models", "models --unused", "models --unused --remove")
def models(
    *,
    unused: Annotated[bool, flag("unused", "list only models that no study uses")] = False,
    remove: Annotated[bool, flag("remove", "remove the models that --unused lists")] = False,
    results: Results = Path("results"),
    root: Root = Path("config"),
) -> None:
    """List the trained models, the studies that use them, and their size.

    All studies share the models below results/models. The size is that on the disk, with the translations of a model.
    """
    from wordorder.status.models import models_text, stored_models
    from wordorder.status.models import remove as remove_all
    from wordorder.workflow.configuration import Configuration

    if remove and not unused:
        raise WordorderError(
            "--remove needs --unused: models that a study uses are not removed.", code="usage", key="--remove"
        )
    found = [model for model in stored_models(results, Configuration(root)) if not (unused and model.studies)]
    print(models_text(found))
    if remove and found:
        remove_all(found)
        print("They were removed.")
