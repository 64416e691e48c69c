"""Commands on studies: check, plan, probe, gpu-report, power, status, efficiency and models."""

from __future__ import annotations

import os
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
    """Validate study files without running the studies.

    Validate the studies and their companions, the datasets and model sizes that they use, and the parameters of their
    encodings, and build their models without weights. The command prints one line per study. The exit status is 1 if
    there is a problem.
    """
    from wordorder.config.load import study_names, with_companions
    from wordorder.workflow.checks import check
    from wordorder.workflow.configuration import Configuration

    names = with_companions(studies or [], root) or study_names(root)
    if not names:
        raise WordorderError(
            f"There are no study files in {root / 'studies'}. Name the configuration folder with --root, or give the "
            "file of a study.",
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


@command(
    STUDY,
    "plan multi30k",
    "plan opr --hardware H100 --price 2.5",
    "plan opr --results /scratch/me/results",
    "plan demo --json",
)
def plan(
    study: Study,
    *,
    results: Results = Path("results"),
    root: Root = Path("config"),
    profile: Profile = None,
    hardware: Annotated[
        str | None, Option(metavar="NAME", help="part of the name of the hardware (default: the faster kind of device)")
    ] = None,
    price: Annotated[float | None, Option(min=0, help="price per GPU-hour")] = None,
    at_once: Annotated[int | None, Option(min=1, help="training runs that run at the same time")] = None,
    utilisation: Annotated[
        float, Option(min=0.001, max=1, help="assumed fraction of a GPU's peak where no speed was measured")
    ] = 0.1,
    json: Annotated[
        bool, flag("json", "print JSON: one record per study, dataset and model size, and the size of the data")
    ] = False,
) -> None:
    """Estimate the cost of a study.

    Show the number of training runs and how many are done, their parameters, tokens, hours and disk space, and the disk
    space of their data. With a profile, show the time limits of the cluster's jobs; with --price, show the price.
    Speeds come from finished runs of the same model size in any study, or from 'wordorder probe'. Without either they
    are estimated, and marked as estimates. Companion studies are shown separately and in the total.
    """
    from wordorder.config.load import load_with_companions
    from wordorder.status.data_size import data_size
    from wordorder.status.estimate import estimate
    from wordorder.status.plan import Cluster, plan_text
    from wordorder.status.records import plan_json
    from wordorder.workflow.configuration import Configuration

    for option, value in (("--price", price), ("--at-once", at_once)):
        if json and value is not None:
            raise WordorderError(
                f"{option} cannot be combined with --json, which prints the hours from which prices and wall times "
                f"follow. Leave out one of them.",
                code="conflicting-options",
                key=option,
            )
    studies, configuration, cluster = load_with_companions(study, root), Configuration(root), Cluster.of(profile)
    table = cluster.table if cluster else None
    plans = [
        (each, estimate(each, configuration, results, hardware=hardware, utilisation=utilisation, table=table))
        for each in studies
    ]
    data = data_size(studies, root)
    if json:
        print(plan_json(plans, data, cluster))
    else:
        print(plan_text(plans, data, cluster=cluster, price=price, at_once=at_once))


@command(STUDY, "probe multi30k", "probe opr --minutes 10", "probe opr --counts")
def probe(
    study: Study,
    *,
    results: Results = Path("results"),
    root: Root = Path("config"),
    profile: Profile = None,
    minutes: Annotated[float, Option(min=0.01, help="minutes for all measurements")] = 5.0,
    threads: Annotated[int, Option(min=1, help="CPU threads, as with --set-threads train_model=INTEGER")] = 1,
    counts: Annotated[bool, flag("counts", "count operations without measuring speeds")] = False,
) -> None:
    """Measure the speed and memory of a study's training runs.

    Train each model size of a study and its companions for some seconds with every encoding, on this machine. Show
    tokens per second, peak memory, the fraction of the GPU's peak, and the passes per update. 'wordorder plan' and
    'wordorder power' use these measurements, which are stored in results/hardware. The command also proposes rows for
    the profile's training.tsv. On a machine without a GPU, it only counts the operations and host waits per update of
    the sizes that this table trains on GPUs. The data need not be prepared.
    """
    from wordorder.config.load import load_with_companions
    from wordorder.status.estimate import estimate
    from wordorder.status.plan import SLURM, Cluster
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
        print(proposed_rows(measured, parts, (profile or SLURM) / "training.tsv"))


@command(STUDY, "gpu-report posnet", "gpu-report posnet --minutes 10 --output posnet_h100", name="gpu-report")
def gpu_report(
    study: Study,
    *,
    results: Results = Path("results"),
    root: Root = Path("config"),
    output: Annotated[
        Path | None, Option(metavar="DIR", help="folder to write to (default: results/gpu_report/STUDY)")
    ] = None,
    minutes: Annotated[float, Option(min=0.01, help="minutes for the measurements of training runs")] = 15.0,
) -> None:
    """Measure the GPU speed and memory of a paper's models.

    Measure short training runs of a study and its companions like 'wordorder probe', but with a separate pass for each
    micro-batch, as in the programs of the papers, and time forward passes of models with random weights. Write
    report.md, which compares speed and memory with the paper's, and the figure 'forward_time'. The command needs a GPU,
    but neither data nor trained models.
    """
    import torch

    from wordorder.config.load import load_with_companions
    from wordorder.status.gpu_report import write_gpu_report
    from wordorder.status.probes import run_probes, to_probe
    from wordorder.training.memory import PASS_TOKENS
    from wordorder.workflow.configuration import Configuration

    if not torch.cuda.is_available():
        raise WordorderError(
            "PyTorch finds no GPU on this machine. Run the command on a machine with a GPU, or use 'wordorder probe "
            "--counts', which needs none.",
            code="gpu-needed",
        )
    # The papers' programs make each micro-batch a separate pass; joined ones would hold more memory for some encodings.
    os.environ.setdefault(PASS_TOKENS, "0")
    studies, configuration = load_with_companions(study, root), Configuration(root)
    probes = run_probes(to_probe(studies), configuration, results, minutes=minutes)
    folder = output or Path("results/gpu_report", studies[0].name)
    print(f"Wrote {write_gpu_report(studies[0], configuration, results, folder, probes)}.")


@command(
    STUDY,
    "power multi30k --difference 0.5",
    "power arena --difference 0.5 --sigma 0.3",
    "power opr --difference 0.5 --like opr_mini",
    "power multi30k --difference 0.5 --json",
)
def power(
    study: Study,
    *,
    difference: Annotated[float, Option(help="true difference to detect, in units of the metric")],
    metric: Annotated[str | None, Option(help="metric (default: the study's first)")] = None,
    sigma: Annotated[
        float | None, Option(help="assumed standard deviation over seeds (default: estimated from results)")
    ] = None,
    like: Annotated[
        str | None, Option(metavar="STUDY", help="finished study whose standard deviation is assumed")
    ] = None,
    json: Annotated[bool, flag("json", "print JSON: one record per family of comparisons, without the cost")] = False,
    results: Results = Path("results"),
    root: Root = Path("config"),
    profile: Profile = None,
) -> None:
    """Compute the number of seeds that a comparison needs.

    Show for each family of comparisons the number of seeds that detects a true difference with 80 % probability, and
    the cost of these seeds. The number has a range, because the standard deviation over seeds is itself an estimate.
    Before a study has run, its reference run gives the standard deviation, if there is one in results/reference. You
    can also state it with --sigma, or take it from another study with --like.
    """
    from wordorder.config.models import metric_name
    from wordorder.status.plan import Cluster
    from wordorder.status.power import power_json, power_text, spreads
    from wordorder.workflow.configuration import Configuration

    for option, value in (("--difference", difference), ("--sigma", sigma)):
        if value is not None and not 0 < value < float("inf"):
            raise WordorderError(
                f"The value of {option} is {value:g}. Give a positive, finite number in units of the metric.",
                code="out-of-range",
                key=option,
                found=value,
            )
    if sigma is not None and like is not None:
        raise WordorderError(
            "--sigma and --like both give the standard deviation over seeds. Leave out one of them.",
            code="conflicting-options",
            key="--sigma",
        )
    configuration = Configuration(root)
    planned = configuration.study(study)
    other = configuration.study(like) if like is not None else None
    chosen = metric or metric_name(planned.metrics[0])
    found = spreads(planned, configuration, results, metric=chosen, sigma=sigma, like=other)
    if json:
        print(power_json(difference, found))
        return
    cluster = Cluster.of(profile)
    print(power_text(planned, configuration, results, difference, found, cluster.table if cluster else None))


@command(STUDY, "status multi30k", "status multi30k --watch 30", "status multi30k --json")
def status(
    study: Study,
    *,
    results: Results = Path("results"),
    root: Root = Path("config"),
    everything: Annotated[bool, flag("all", "list every run, even of a large study")] = False,
    log_lines: Annotated[int, Option(min=0, help="lines to show of each log")] = 3,
    json: Annotated[bool, flag("json", "print JSON on one line: one record per run, always of all runs")] = False,
    watch: Annotated[
        float | None, Option(parser=seconds, metavar="SECONDS", help="seconds between repetitions until Ctrl-C")
    ] = None,
) -> None:
    """Show the progress of a study's training runs.

    Show the progress, speed and estimated finish of each run of a study and its companions. A run is done, running,
    stopped (saved but not running), queued (not begun) or failed (including diverged runs). For runs that stopped or
    failed, and for finished runs whose evaluation failed, show the end of the log. The command only reads files, so it
    can run at any time, also on another machine with the same disk. If SLURM is installed, the command also reads its
    queue.
    """
    from wordorder.status.report import status_as_json, status_of

    try:
        while True:
            if json:
                text = status_as_json(study, results, root, log_lines=log_lines)
            else:
                text = status_of(study, results, root, everything=everything, log_lines=log_lines)
            print(f"{_CLEAR}{text}" if watch and sys.stdout.isatty() and not json else text, flush=True)
            if not watch:
                return
            time.sleep(watch)
            if not sys.stdout.isatty() and not json:  # a blank line between reports; one JSON list per line
                print()
    except KeyboardInterrupt:
        return


@command(STUDY, "efficiency multi30k")
def efficiency(study: Study, *, results: Results = Path("results"), root: Root = Path("config")) -> None:
    """Compare used and requested resources of training runs.

    Show the memory, cores and GPUs that each finished run used, and those that its SLURM job requested. Also show
    tokens and model FLOPs per second (6 · weights · tokens). The column 'batches' is the fraction of time spent making
    batches. The command warns if a job requested far more than it used.
    """
    from wordorder.status.report import efficiency_of

    print(efficiency_of(study, results, root))


@command(STUDY, "models", "models --unused", "models --unused --remove", "models --json")
def models(
    *,
    unused: Annotated[bool, flag("unused", "list only models that no study uses")] = False,
    remove: Annotated[bool, flag("remove", "remove the models that --unused lists")] = False,
    json: Annotated[bool, flag("json", "print JSON: one record per model")] = False,
    results: Results = Path("results"),
    root: Root = Path("config"),
) -> None:
    """List the stored models, the studies that use them and their disk space.

    All studies share the models in results/models. The disk space of a model includes its translations. A study with a
    mistake, or whose extension is missing, is left out with a warning; --unused then ends with an error.
    """
    from wordorder.status.models import models_text, stored_models
    from wordorder.status.models import remove as remove_all
    from wordorder.status.records import models_json
    from wordorder.workflow.configuration import Configuration

    if remove and not unused:
        raise WordorderError(
            "--remove requires --unused, because models that a study uses are never removed. Add --unused.",
            code="usage",
            key="--remove",
        )
    # Without one of the studies, models that it uses could be listed as unused, and removed.
    stored = stored_models(results, Configuration(root), tolerant=not unused)
    found = [model for model in stored if not (unused and model.studies)]
    print(models_json(found) if json else models_text(found))
    if remove and found:
        remove_all(found)
        if not json:
            print("They were removed.")
