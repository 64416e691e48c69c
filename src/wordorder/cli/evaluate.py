"""``wordorder stage evaluate``."""

from __future__ import annotations

import argparse
from pathlib import Path

from wordorder.cli.arguments import positive


def add_commands(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    evaluate = subparsers.add_parser(
        "evaluate",
        help="Translate and score the test sets of a dataset with one model.",
        description="Translate the test sets of a dataset with one model and score the translations. Translations, "
        "n-best lists and scores are written beside the output, which all evaluations of the model and decoding share.",
    )
    evaluate.add_argument("--config", required=True, metavar="EVALUATION", help="test sets and metrics, JSON or @FILE")
    evaluate.add_argument("--decoding", required=True, metavar="DECODING", help="the beam search, JSON or @FILE")
    evaluate.add_argument("--model", required=True, type=Path, metavar="MODEL", help="trained model")
    evaluate.add_argument("--data", required=True, type=Path, metavar="DIR", help="results/data/DATASET")
    evaluate.add_argument("--positions", metavar="KIND", help="reordered positions of test sets, such as predicted.btg")
    evaluate.add_argument("--language", required=True, help="target language")
    evaluate.add_argument("--as-it-is", action="store_true", help="the text was not tokenised: detokenise nothing")
    evaluate.add_argument("--output", required=True, type=Path, metavar="FILE", help="JSON with scores and checksums")
    evaluate.add_argument("--threads", type=positive, metavar="N", help="CPU threads (default: PyTorch's choice)")
    evaluate.set_defaults(run=run_evaluate)


def run_evaluate(options: argparse.Namespace) -> None:
    import torch

    from wordorder.config.load import slice_argument
    from wordorder.config.models import Decoding, Evaluation
    from wordorder.results.evaluate import evaluate

    if options.threads is not None:
        torch.set_num_threads(options.threads)
    evaluate(
        slice_argument(options.config, Evaluation),
        slice_argument(options.decoding, Decoding),
        model=options.model,
        data=options.data,
        language=options.language,
        output=options.output,
        detokenise=not options.as_it_is,
        positions=options.positions,
    )
