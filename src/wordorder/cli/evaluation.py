"""``wordorder score``, ``comet``, ``compare``, ``table`` and ``summary``."""

from __future__ import annotations

import argparse
import sys

from wordorder.cli.arguments import add_config, folder, positive

TABLES = ("scores", "significance", "parameters", "credibility", "published", "orderings")


def add_commands(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    score = subparsers.add_parser(
        "score",
        help="Score a translation with sacreBLEU.",
        description="Score one translation of a test set with sacreBLEU's metrics; writes scores, signatures and the "
        "score of each sentence as JSON. An empty hypotheses file (a diverged training) gives scores of null.",
    )
    add_config(score, "metrics and target language")
    score.add_argument("--hypotheses", required=True, metavar="FILE", help="detokenised text, one sentence a line")
    score.add_argument("--references", required=True, metavar="FILE", help="as many lines as the hypotheses")
    score.add_argument("--output", required=True, metavar="FILE", help="JSON")
    score.set_defaults(run=run_score)

    comet = subparsers.add_parser(
        "comet",
        help="Score translations with COMET.",
        description="Score any number of translations of one source with COMET, in one process of the environment that "
        "'make comet' makes. Where there is no such environment or no model, the output says so, and how to get it.",
    )
    add_config(comet, "model and precision")
    comet.add_argument("--source", required=True, metavar="FILE", help="detokenised text, one sentence a line")
    comet.add_argument("--references", required=True, metavar="FILE", help="as many lines as the source")
    comet.add_argument("--hypotheses", required=True, nargs="+", metavar="FILE", help="as many lines, each")
    comet.add_argument("--output", required=True, metavar="FILE", help="JSON")
    comet.add_argument("--cache", metavar="DIR", help="keeps what was scored (default: 'cache' beside the output)")
    comet.add_argument(
        "--python", metavar="PATH", help="has unbabel-comet (default: WORDORDER_COMET_PYTHON, .venv-comet/bin/python)"
    )
    comet.add_argument("--batch-size", type=positive, default=16, metavar="N", help="sentences at once (default: 16)")
    comet.set_defaults(run=run_comet)

    compare = subparsers.add_parser(
        "compare",
        help="Test whether systems differ from their baseline.",
        description="Test every declared comparison on one test set: for each seed sacreBLEU's paired tests and the "
        "sign test, over the seeds a paired t-test and stratified randomisation, and Holm's correction within the "
        "family. Seeds without hypotheses are listed. docs/statistics.md says what each test is for.",
    )
    add_config(compare, "the family of comparisons")
    compare.add_argument("--results", required=True, type=folder, metavar="DIR", help="results/{study}")
    compare.add_argument("--dataset", required=True, help="the dataset of the test set")
    compare.add_argument("--size", required=True, help="the size of the models to compare")
    compare.add_argument("--test", required=True, help="the test set")
    compare.add_argument("--references", required=True, metavar="FILE")
    compare.add_argument("--comet", metavar="FILE", help="what 'wordorder comet' wrote about these hypotheses")
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


def run_comet(options: argparse.Namespace) -> None:
    from pathlib import Path

    from wordorder.config.load import slice_argument
    from wordorder.config.models import Comet
    from wordorder.files import write_json
    from wordorder.metrics.comet import score_systems

    result = score_systems(
        slice_argument(options.config, Comet),
        source=options.source,
        references=options.references,
        hypotheses=options.hypotheses,
        cache=options.cache or Path(options.output).parent / "cache",
        python=options.python,
        batch_size=options.batch_size,
    )
    if result["status"] != "scored":
        print(f"COMET: not scored. {result['reason']} {result['how']}", file=sys.stderr)
    write_json(options.output, result)


def run_compare(options: argparse.Namespace) -> None:
    from wordorder.comparison.significance import compare
    from wordorder.config.load import slice_argument
    from wordorder.config.models import Family
    from wordorder.files import write_json

    family = slice_argument(options.config, Family)
    result = compare(
        family,
        options.results,
        options.dataset,
        options.size,
        options.test,
        options.references,
        options.comet,
    )
    write_json(options.output, result)


def run_table(options: argparse.Namespace) -> None:
    from wordorder.config.load import slice_argument
    from wordorder.config.models import PublishedReport, Report
    from wordorder.config.published_scores import PUBLISHED_TABLES
    from wordorder.report.build import build_table
    from wordorder.tables.study import write_table

    if options.name in PUBLISHED_TABLES:
        asked = slice_argument(options.config, PublishedReport)
        table = build_table(options.name, asked.report, options.results, asked.published)
    else:
        table = build_table(options.name, slice_argument(options.config, Report), options.results)
    write_table(table, options.output_prefix)


def run_summary(options: argparse.Namespace) -> None:
    from wordorder.tables.summary import summary

    print(summary(options.results))
