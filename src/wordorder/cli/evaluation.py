"""``wordorder score``, ``score-systems``, ``compare``, ``table`` and ``summary``."""

from __future__ import annotations

import argparse
import sys

from wordorder.cli.arguments import add_config, folder, positive

TABLES = ("scores", "significance", "parameters", "credibility", "published", "orderings")


def add_commands(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    score = subparsers.add_parser(
        "score",
        help="Score a translation.",
        description="Score one translation of a test set by each metric of a study; writes scores, signatures and the "
        "score of each sentence as JSON. An empty hypotheses file (a diverged training) gives scores of null.",
    )
    add_config(score, "metrics and target language")
    score.add_argument("--hypotheses", required=True, metavar="FILE", help="detokenised text, one sentence a line")
    score.add_argument("--references", required=True, metavar="FILE", help="as many lines as the hypotheses")
    score.add_argument("--output", required=True, metavar="FILE", help="JSON")
    score.set_defaults(run=run_score)

    systems = subparsers.add_parser(
        "score-systems",
        help="Score translations by a metric with an environment of its own, such as COMET.",
        description="Score any number of translations of one source by one metric, in one process of the metric's own "
        "environment. If this environment or a model is missing, the output says so, and how to get it.",
    )
    add_config(systems, "the metric and the target language")
    systems.add_argument("hypotheses", nargs="+", metavar="FILE", help="translations, as many lines as the source")
    systems.add_argument("--source", required=True, metavar="FILE", help="detokenised text, one sentence per line")
    systems.add_argument("--references", required=True, metavar="FILE", help="as many lines as the source")
    systems.add_argument("--output", required=True, metavar="FILE", help="JSON")
    systems.add_argument(
        "--cache", metavar="DIR", help="stores what was scored, for all studies (default: 'cache' beside the output)"
    )
    systems.add_argument("--python", metavar="PATH", help="the Python of the metric's environment")
    systems.add_argument("--batch-size", type=positive, default=16, metavar="N", help="sentences at once (default: 16)")
    systems.set_defaults(run=run_score_systems)

    compare = subparsers.add_parser(
        "compare",
        help="Test whether systems differ from their baseline.",
        description="Test every declared comparison on one test set: for each seed sacreBLEU's paired tests and the "
        "sign test, over the seeds a paired t-test and stratified randomisation, and Holm's correction within the "
        "family. Seeds without hypotheses are listed. docs/statistics.md says what each test is for.",
    )
    add_config(compare, "the family of comparisons")
    compare.add_argument(
        "hypotheses", nargs="*", metavar="FILE", help="translations: of each encoding of the family, one per seed"
    )
    compare.add_argument("--size", required=True, help="the size of the models to compare")
    compare.add_argument("--test", required=True, help="the test set")
    compare.add_argument("--references", required=True, metavar="FILE")
    compare.add_argument(
        "--systems", action="append", default=[], metavar="FILE", help="written by 'wordorder score-systems'"
    )
    compare.add_argument("--output", required=True, metavar="FILE", help="JSON")
    compare.set_defaults(run=run_compare)

    table = subparsers.add_parser(
        "table",
        help="Make a table of a study.",
        description="Make a table of a study as CSV, Markdown, LaTeX (booktabs) and HTML. 'credibility' is the list of "
        "what a comparison must have to be believed; the exit status is 1 where the study misses an item.",
    )
    table.add_argument("name", choices=TABLES)
    add_config(table, "what the study holds")
    table.add_argument("--results", required=True, type=folder, metavar="DIR", help="results/{study}")
    table.add_argument("--output-prefix", required=True, metavar="PREFIX", help="PREFIX.csv, .md, .tex, .html")
    table.set_defaults(run=run_table)

    summary = subparsers.add_parser(
        "summary",
        help="Print the results of a study.",
        description="Print the scores (mean ± standard deviation over seeds) and the verdicts of a finished study.",
    )
    summary.add_argument("--results", required=True, type=folder, metavar="DIR", help="results/{study}")
    summary.set_defaults(run=run_summary)


def run_score(options: argparse.Namespace) -> None:
    from wordorder.config.load import slice_argument
    from wordorder.config.models import Scoring
    from wordorder.files import write_json
    from wordorder.metrics.scores import score_files

    scoring = slice_argument(options.config, Scoring)
    write_json(
        options.output, score_files(options.hypotheses, options.references, scoring.metrics, scoring.target_language)
    )


def run_score_systems(options: argparse.Namespace) -> None:
    from pathlib import Path

    from wordorder.config.load import slice_argument
    from wordorder.config.models import SystemsScoring
    from wordorder.files import write_json
    from wordorder.metrics.base import SystemsTask, metric
    from wordorder.metrics.scores import score_systems

    task = SystemsTask(
        source=options.source,
        references=options.references,
        hypotheses=options.hypotheses,
        cache=options.cache or Path(options.output).parent / "cache",
        python=options.python,
        batch_size=options.batch_size,
    )
    result = score_systems(slice_argument(options.config, SystemsScoring), task)
    if result["status"] != "scored":
        label = metric(result["metric"]).label
        print(f"{label}: not scored. {result['reason']} {result['how']}", file=sys.stderr)
    write_json(options.output, result)


def run_compare(options: argparse.Namespace) -> None:
    from itertools import product

    from wordorder.comparison.significance import compare
    from wordorder.config.load import slice_argument
    from wordorder.config.models import Family
    from wordorder.errors import WordorderError
    from wordorder.files import write_json

    family = slice_argument(options.config, Family)
    cells = list(product(family.encodings, family.seeds))
    if len(options.hypotheses) != len(cells):
        raise WordorderError(
            f"There are {len(options.hypotheses)} files of hypotheses, but the family has {len(family.encodings)} "
            f"encodings with {len(family.seeds)} seeds each. Name one file per encoding and seed, in this order.",
            code="wrong-number-of-files",
            found=len(options.hypotheses),
            expected=len(cells),
        )
    translations = dict(zip(cells, options.hypotheses, strict=True))
    result = compare(family, translations, options.size, options.test, options.references, options.systems)
    write_json(options.output, result)


def run_table(options: argparse.Namespace) -> None:
    from wordorder.config.load import slice_argument
    from wordorder.config.models import PublishedReport, Report
    from wordorder.config.published_scores import PUBLISHED_TABLES
    from wordorder.report.build import build_table
    from wordorder.tables.table import write_table

    if options.name in PUBLISHED_TABLES:
        asked = slice_argument(options.config, PublishedReport)
        table = build_table(options.name, asked.report, options.results, asked.published)
    else:
        table = build_table(options.name, slice_argument(options.config, Report), options.results)
    write_table(table, options.output_prefix)


def run_summary(options: argparse.Namespace) -> None:
    from wordorder.tables.summary import summary

    print(summary(options.results))
