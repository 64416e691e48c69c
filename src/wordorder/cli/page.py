"""``wordorder page``: all that a study found, on one page for a browser."""

from __future__ import annotations

import argparse

from wordorder.cli.arguments import add_config, folder


def add_commands(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    page = subparsers.add_parser(
        "page",
        help="Make the page of a study.",
        description="Make one HTML page of what a study has written: overview, tables, figures, translations side by "
        "side, records and the credibility list. The page holds everything itself and needs no network.",
    )
    add_config(page, "what the study holds")
    page.add_argument("--results", required=True, type=folder, metavar="DIR", help="results/{study}")
    page.add_argument("--data", required=True, metavar="DIR", help="results/data")
    page.add_argument("--output", required=True, metavar="FILE", help="HTML")
    page.set_defaults(run=run_page)


def run_page(options: argparse.Namespace) -> None:
    from wordorder.config.load import slice_argument
    from wordorder.config.models import Page
    from wordorder.files import write_text
    from wordorder.report.page import build_page

    write_text(options.output, build_page(slice_argument(options.config, Page), options.results, options.data))
