"""``wordorder plan``, ``wordorder status`` and ``wordorder efficiency``."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from wordorder.cli.arguments import folder, not_negative, seconds

if TYPE_CHECKING:
    from wordorder.config.models import Study
    from wordorder.status.cells import CellStatus

_CLEAR = "\033[2J\033[H"


def add_commands(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    plan = subparsers.add_parser(
        "plan",
        help="Say what a study will cost.",
        description="Say how many trainings a study has and how many are done, how many parameters, tokens, hours and "
        "how much disk they take, and their data. Speeds are those of finished trainings of the same size, of any "
        "study. Of a study with companions, each and all together.",
    )
    _add_study(plan)
    plan.set_defaults(run=run_plan)

    status = subparsers.add_parser(
        "status",
        help="Show what the cells of a study are doing.",
        description="Show which cells of a study are done, running, stopped (saved, not running), queued (not begun) "
        "or failed (diverged trainings too), with progress, speed and estimated finish, and the end of the log of what "
        "has stopped or failed. Only files are read, so it may be asked at any time, also from another machine with "
        "the same disk; where there is SLURM, its queue is asked too. Companions of the study are shown, too.",
    )
    _add_study(status)
    status.add_argument("--all", action="store_true", help="list every cell, also of a large study")
    status.add_argument(
        "--log-lines", type=not_negative, default=3, metavar="N", help="lines of a log to show (default: 3)"
    )
    status.add_argument("--watch", type=seconds, metavar="SECONDS", help="show it again and again, until Ctrl-C")
    status.set_defaults(run=run_status)

    efficiency = subparsers.add_parser(
        "efficiency",
        help="Show what the trainings of a study used of what they asked for.",
        description="Show memory, cores and GPUs that each finished training used, and those that its SLURM job asked "
        "for; tokens and model FLOPs a second (6 · weights · tokens); and 'batches', the share of the time that went "
        "into making batches. Warns when far more was asked for than used.",
    )
    _add_study(efficiency)
    efficiency.set_defaults(run=run_efficiency)


def _add_study(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("study", metavar="STUDY", help="name, or path of a .yaml file")
    parser.add_argument(
        "--results", type=folder, default=Path("results"), metavar="DIR", help="what runs write (default: results)"
    )
    parser.add_argument("--root", default="config", metavar="DIR", help="the configuration folder (default: config)")


def run_plan(options: argparse.Namespace) -> None:
    from wordorder.config.load import load_with_companions
    from wordorder.status.data_size import data_size
    from wordorder.status.estimate import estimate, plan_text
    from wordorder.workflow.configuration import Configuration

    studies = load_with_companions(options.study, options.root)
    configuration = Configuration(Path(options.root))
    plans = [(study, estimate(study, configuration, options.results)) for study in studies]
    print(plan_text(plans, data_size(studies, options.root)))


def run_status(options: argparse.Namespace) -> None:
    try:
        while True:
            text = _status(options)
            print(f"{_CLEAR}{text}" if options.watch and sys.stdout.isatty() else text, flush=True)
            if not options.watch:
                return
            time.sleep(options.watch)
            if not sys.stdout.isatty():
                print()
    except KeyboardInterrupt:
        return


def _status(options: argparse.Namespace) -> str:
    import datetime

    from wordorder.config.load import load_with_companions
    from wordorder.status.table import status_text, totals
    from wordorder.status.text import all_of, sections

    now = datetime.datetime.now()
    studies = load_with_companions(options.study, options.root)
    found = [_look(study, options) for study in studies]
    texts = [
        status_text(study.name, cells, tests, now, everything=options.all)
        for study, (cells, tests) in zip(studies, found, strict=True)
    ]
    if len(studies) == 1:
        return texts[0]
    return sections(studies, texts, totals(all_of(studies), [cell for cells, _ in found for cell in cells], now))


def _look(study: Study, options: argparse.Namespace) -> tuple[list[CellStatus], dict[str, list[str]]]:
    """What the cells of a study are doing, and the test sets of its datasets."""
    from wordorder.status.cells import look
    from wordorder.status.queue import training_jobs
    from wordorder.workflow.configuration import Configuration
    from wordorder.workflow.models import cell_files
    from wordorder.workflow.study import decoded_tests

    configuration = Configuration(Path(options.root))
    tests = {dataset.name: decoded_tests(study, dataset) for dataset in configuration.datasets_of(study)}
    files = cell_files(study, configuration, options.results)
    # Jobs are submitted where Snakemake was started, which is where results lies unless --directory says otherwise.
    jobs = training_jobs(files, [options.results.resolve().parent, Path.cwd()])
    found = [
        look(cell, own, tests[cell.dataset], jobs.get(cell), log_lines=options.log_lines) for cell, own in files.items()
    ]
    return found, tests


def run_efficiency(options: argparse.Namespace) -> None:
    from wordorder.config.load import load_study
    from wordorder.files import read_object
    from wordorder.status.efficiency import efficiency_text
    from wordorder.workflow.configuration import Configuration
    from wordorder.workflow.models import cell_files

    study = load_study(options.study, options.root)
    files = cell_files(study, Configuration(Path(options.root)), options.results)
    records = {cell: read_object(own.record, "status") for cell, own in files.items() if own.record.exists()}
    print(efficiency_text(study.name, records))
