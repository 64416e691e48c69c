"""``wordorder score``, ``compare``, ``table`` and ``summary``."""

from __future__ import annotations

import argparse

TABLES = ("scores", "significance", "parameters")


def add_commands(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    score = subparsers.add_parser(
        "score",
        help="score a translation with sacreBLEU",
        description="Score one translation of a test set with sacreBLEU's metrics; writes scores, signatures and the "
        "score of each sentence as JSON. An empty hypotheses file (a diverged training) gives scores of null.",
    )
    score.add_argument("--config", required=True, metavar="SLICE", help="metrics and target language, JSON or @file")
    score.add_argument("--hypotheses", required=True, metavar="FILE", help="detokenised text, one sentence a line")
    score.add_argument("--references", required=True, metavar="FILE", help="as many lines as the hypotheses")
    score.add_argument("--output", required=True, metavar="FILE", help="JSON")
    score.set_defaults(run=run_score)

    compare = subparsers.add_parser(
        "compare",
        help="test whether systems differ from their baseline",
        description="Test every declared comparison on one test set: sacreBLEU's paired test for each seed, a paired "
        "t-test over the seeds, Holm's correction within the family. Seeds without hypotheses are listed.",
    )
    compare.add_argument("--config", required=True, metavar="SLICE", help="the family of comparisons, JSON or @file")
    compare.add_argument(
        "--cells", required=True, metavar="DIR", help="holds {encoding}/{size}/{seed}/{test}.hypotheses"
    )
    compare.add_argument("--size", required=True, help="the size of the models to compare")
    compare.add_argument("--test", required=True, help="the test set")
    compare.add_argument("--references", required=True, metavar="FILE")
    compare.add_argument("--output", required=True, metavar="FILE", help="JSON")
    compare.set_defaults(run=run_compare)

    table = subparsers.add_parser(
        "table",
        help="make a table of a study",
        description="Make a table of a study as CSV, Markdown, LaTeX (booktabs) and HTML.",
    )
    table.add_argument("name", choices=TABLES)
    table.add_argument("--config", required=True, metavar="SLICE", help="what the study holds, JSON or @file")
    table.add_argument("--results", required=True, metavar="DIR", help="results/{study}")
    table.add_argument("--output-prefix", required=True, metavar="PREFIX", help="PREFIX.csv, .md, .tex, .html")
    table.set_defaults(run=run_table)

    summary = subparsers.add_parser(
        "summary",
        help="print the results of a study",
        description="Print the scores (mean ± standard deviation over seeds) and the verdicts of a finished study.",
    )
    summary.add_argument("--results", required=True, metavar="DIR", help="results/{study}")
    summary.set_defaults(run=run_summary)


def run_score(options: argparse.Namespace) -> None:
    from wordorder.config.load import slice_argument
    from wordorder.config.models import Scoring
    from wordorder.evaluation.scores import score_files
    from wordorder.files import write_json

    scoring = slice_argument(options.config, Scoring)
    write_json(
        options.output, score_files(options.hypotheses, options.references, scoring.metrics, scoring.target_language)
    )


def run_compare(options: argparse.Namespace) -> None:
    from wordorder.config.load import slice_argument
    from wordorder.config.models import Family
    from wordorder.evaluation.significance import compare
    from wordorder.files import write_json

    family = slice_argument(options.config, Family)
    write_json(options.output, compare(family, options.cells, options.size, options.test, options.references))


def run_table(options: argparse.Namespace) -> None:
    from wordorder.config.load import slice_argument
    from wordorder.config.models import Report
    from wordorder.evaluation import results, tables

    report = slice_argument(options.config, Report)
    if options.name == "scores":
        table = tables.scores_table(results.load_scores(report, options.results), report)
    elif options.name == "significance":
        table = tables.significance_table(results.load_significance(report, options.results), report)
    else:
        table = tables.parameters_table(results.load_records(report, options.results), report)
    tables.write_table(table, options.output_prefix)


def run_summary(options: argparse.Namespace) -> None:
    from wordorder.evaluation.summary import summary

    print(summary(options.results))
