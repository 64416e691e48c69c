"""``wordorder measure``: measure finished models for the analyses; ``wordorder import-gold``."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wordorder.cli.arguments import add_config, add_paths, positive

if TYPE_CHECKING:
    from wordorder.analyses.base import MeasuredSet
    from wordorder.config.models import Measured
    from wordorder.model.architectures.base import Translator


def add_commands(subparsers: Any) -> None:
    measure = subparsers.add_parser(
        "measure",
        help="Measure what finished models do.",
        description="Measure finished models for one analysis and write JSON: one model on sets of sentences, or, for "
        "an analysis that compares models directly, several models. docs/analyses.md defines what is measured.",
    )
    measure.add_argument("name", metavar="NAME", help="name of the analysis, as in a study")
    add_config(measure, "settings and preprocessing")
    add_paths(measure, output="JSON to write")
    measure.add_argument("--threads", type=positive, metavar="N", help="CPU threads (default: PyTorch's choice)")
    one = measure.add_argument_group("one model")
    one.add_argument("--model", type=Path, metavar="PATH", help="trained model")
    one.add_argument("--data", type=Path, metavar="DIR", help="results/data/{dataset}")
    one.add_argument("--sets", nargs="+", default=[], metavar="SET", help="test sets, valid, or gold.NAME")
    one.add_argument(
        "--positions",
        metavar="NAME",
        help="folder below DIR/positions of the reordered source positions, for a model whose encoding needs them",
    )
    several = measure.add_argument_group("several models")
    several.add_argument(
        "--models", nargs="+", default=[], metavar="NAME=PATH", help="trained models, each with a name"
    )
    measure.set_defaults(run=run_measure)

    gold = subparsers.add_parser(
        "import-gold",
        help="Import a set of gold alignments.",
        description="Write a set of gold alignments as a split of a dataset: the words that were linked, the links, "
        "and the text as the dataset's preprocessing makes it, word by word.",
    )
    add_config(gold, "the set and the preprocessing")
    add_paths(gold, downloads="the folder of the downloaded files", source="source words", target="target words")
    add_paths(gold, alignments="the links", clean_source="cleaned source", clean_target="cleaned target", report="JSON")
    gold.set_defaults(run=_import_gold)


def run_measure(options: argparse.Namespace) -> None:
    import torch

    from wordorder.analyses.base import JointAnalysis, ModelAnalysis
    from wordorder.cli.analyses import the_analysis
    from wordorder.config.load import slice_argument
    from wordorder.config.models import Measured
    from wordorder.errors import WordorderError
    from wordorder.files import write_json
    from wordorder.training import device

    asked = slice_argument(options.config, Measured)
    analysis = the_analysis(asked.settings, options.name)
    if options.threads:
        torch.set_num_threads(options.threads)
    device.prepare()
    if isinstance(analysis, JointAnalysis):
        _demand(options, "models")
        write_json(options.output, analysis.measure(dict(map(_named_model, options.models))))
    elif isinstance(analysis, ModelAnalysis):
        _demand(options, "model", "data", "sets")
        model = _load(options.model)
        sets = (_set(options, asked, name, model) for name in options.sets)
        write_json(options.output, {"sets": {each.name: analysis.measure(model, each) for each in sets}})
    else:
        raise WordorderError(f"The analysis '{options.name}' measures no models.", code="no-measure", key="NAME")


def _demand(options: argparse.Namespace, *names: str) -> None:
    from wordorder.errors import WordorderError

    missing = [f"--{name}" for name in names if not getattr(options, name)]
    if missing:
        raise WordorderError(
            f"The analysis '{options.name}' needs {' and '.join(missing)}.", code="missing-option", key=missing[0]
        )


def _load(path: Path) -> Translator:
    from wordorder.model.checkpoint import load_model
    from wordorder.training import device

    return load_model(path).to(device.of_finished_models())


def _named_model(argument: str) -> tuple[str, Translator]:
    from wordorder.errors import WordorderError

    name, equals, path = argument.partition("=")
    if not (name and equals and path):
        raise WordorderError(f"--models takes NAME=PATH, not '{argument}'.", code="wrong-option", key="--models")
    return name, _load(Path(path))


def _set(options: argparse.Namespace, asked: Measured, name: str, model: Translator) -> MeasuredSet:
    """Return a set of sentences that was made for the model."""
    from wordorder.analyses.base import MeasuredSet
    from wordorder.decoding.translate import check_positions
    from wordorder.errors import WordorderError

    check_positions(model, given=options.positions is not None)
    positions = options.data / "positions" / options.positions / name if options.positions else None
    sentences = MeasuredSet(name, options.data, asked.preparation, asked.detokenise, positions)
    if sentences.corpus.vocabulary_size != model.output.weight.size(0):
        raise WordorderError(
            f"The model was trained with a vocabulary of {model.output.weight.size(0)} subwords, but "
            f"{sentences.corpus.directory} was made with {sentences.corpus.vocabulary_size}. Binarise it with the "
            "subwords of the model's training.",
            code="wrong-vocabulary",
            path=sentences.corpus.directory,
        )
    return sentences


def _import_gold(options: argparse.Namespace) -> None:
    from wordorder.alignment.gold_sets import import_gold
    from wordorder.config.alignments import GoldImport
    from wordorder.config.load import slice_argument

    import_gold(
        slice_argument(options.config, GoldImport),
        options.downloads,
        source=options.source,
        target=options.target,
        alignments=options.alignments,
        clean_source=options.clean_source,
        clean_target=options.clean_target,
        report=options.report,
    )
