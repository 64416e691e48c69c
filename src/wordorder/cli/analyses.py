"""``wordorder analyse``: compute one analysis of a study, draw it, save the figure with its data."""

from __future__ import annotations

import argparse
from importlib import import_module
from pathlib import Path

from wordorder.cli.arguments import add_config, folder

# The module with frame(analysed, results, data) -> DataFrame, what the CSV holds, and the one with
# draw(frame, analysed) -> Figure. An analysis has the name of its settings in wordorder.config.analyses.Analyses.
ANALYSES = {
    "ngram_gap": ("wordorder.analyses.ngram_gap", "wordorder.analyses.draw_ngram_gap"),
    "length": ("wordorder.analyses.length", "wordorder.analyses.draw_buckets"),
    "reordering": ("wordorder.analyses.reordering", "wordorder.analyses.draw_buckets"),
    "position": ("wordorder.analyses.position", "wordorder.analyses.draw_position"),
    "perplexity": ("wordorder.analyses.perplexity", "wordorder.analyses.draw_seeds"),
    "alignment": ("wordorder.analyses.alignment", "wordorder.analyses.draw_seeds"),
    "probes": ("wordorder.analyses.probes", "wordorder.analyses.draw_probes"),
    "attention_distance": ("wordorder.analyses.attention_distance", "wordorder.analyses.draw_attention_distance"),
    "extrapolation": ("wordorder.analyses.extrapolation", "wordorder.analyses.draw_buckets"),
    "forward_time": ("wordorder.analyses.forward_time", "wordorder.analyses.draw_forward_time"),
    "sweep": ("wordorder.analyses.sweep", "wordorder.analyses.draw_sweep"),
}


def add_commands(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    analyse = subparsers.add_parser(
        "analyse",
        help="Compute and draw an analysis of a study.",
        description="Compute an analysis of a study's translations or models and draw it as SVG, PDF and PNG, with a "
        "CSV of the data drawn. docs/analyses.md explains each.",
    )
    analyse.add_argument("name", choices=ANALYSES)
    add_config(analyse, "study and settings")
    analyse.add_argument("--results", required=True, type=folder, metavar="DIR", help="results/{study}")
    analyse.add_argument("--data", required=True, metavar="DIR", help="results/data")
    analyse.add_argument("--output-prefix", required=True, metavar="PREFIX", help="writes PREFIX.svg, .pdf, .png, .csv")
    analyse.set_defaults(run=run_analysis)


def run_analysis(options: argparse.Namespace) -> None:
    from wordorder.config.load import slice_argument
    from wordorder.config.models import Analysed
    from wordorder.drawing import style
    from wordorder.errors import WordorderError

    analysed = slice_argument(options.config, Analysed)
    if analysed.settings.names != [options.name]:
        raise WordorderError(
            f"The slice must hold the settings of '{options.name}' and of no other analysis, but it holds "
            f'{", ".join(analysed.settings.names) or "none"}. Write {{"settings": {{"{options.name}": {{}}, …}}}}.'
        )
    computing, drawing = map(import_module, ANALYSES[options.name])
    frame = computing.frame(analysed, Path(options.results), Path(options.data))
    style.save(drawing.draw(frame, analysed), options.output_prefix, frame)
