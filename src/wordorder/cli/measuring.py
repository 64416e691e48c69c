"""``wordorder measure``: what is measured of a finished model, for the analyses; ``wordorder import-gold``."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wordorder.cli.arguments import add_command, add_config, add_paths, positive

if TYPE_CHECKING:
    from wordorder.data.binary import ParallelCorpus
    from wordorder.model.translator import Translator


def add_commands(subparsers: Any) -> None:
    measure = subparsers.add_parser(
        "measure",
        help="Measure what a finished model does.",
        description="Measure one thing of a finished model on one set of sentences; writes JSON. docs/analyses.md "
        "defines what is measured.",
    )
    names = measure.add_subparsers(metavar="NAME", required=True)

    def command(name: str, run: Any, text: str) -> argparse.ArgumentParser:
        parser = add_command(names, name, run, text)
        add_paths(parser, model="trained model", corpus="binary corpus", output="JSON to write")
        parser.add_argument(
            "--positions",
            type=Path,
            metavar="DIR",
            help="reordered source positions of the corpus, for a model whose encoding needs them",
        )
        parser.add_argument("--threads", type=positive, metavar="N", help="CPU threads (default: PyTorch's choice)")
        return parser

    def settings(parser: argparse.ArgumentParser) -> None:
        parser.add_argument("--config", default="{}", metavar="SLICE", help="the settings, as JSON or @FILE.yaml")

    parser = command("perplexity", _perplexity, "Perplexity of the references, per subword, word and character.")
    add_paths(parser, references="raw target text")

    parser = command("alignment", _alignment, "Alignment error rate of the decoder's attention to the source.")
    settings(parser)
    parser.add_argument("--preparation", required=True, metavar="SLICE", help="how the dataset treats text")
    add_paths(parser, subword="sentencepiece model", source="source words", target="target words")
    add_paths(parser, links="gold links between these words, counted from 0; 'i-j' sure, 'ipj' possible")

    parser = command("probes", _probes, "What becomes of encoder output and translation when source words move.")
    settings(parser)
    add_paths(parser, subword="sentencepiece model", references="raw target text")
    parser.add_argument("--language", required=True, help="target language")
    parser.add_argument("--as-it-is", action="store_true", help="the corpus was not tokenised: detokenise nothing")

    parser = command("attention_distance", _attention_distance, "How far and how widely each head looks.")
    settings(parser)

    text = "How long models take for the same forward passes, in turns. Let nothing else run."
    parser = add_command(names, "forward_time", _forward_time, text)
    settings(parser)
    parser.add_argument(
        "--models", required=True, nargs="+", metavar="NAME=PATH", help="trained models, each with the name to give it"
    )
    add_paths(parser, output="JSON to write")
    parser.add_argument("--threads", type=positive, metavar="N", help="CPU threads (default: PyTorch's choice)")

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


def _load(options: argparse.Namespace) -> tuple[Translator, ParallelCorpus]:
    import torch

    from wordorder.data.binary import ParallelCorpus
    from wordorder.decoding.translate import check_positions
    from wordorder.errors import WordorderError
    from wordorder.model.checkpoint import load_model
    from wordorder.training import device

    if options.threads:
        torch.set_num_threads(options.threads)
    device.prepare()
    model = load_model(options.model).to(device.of_finished_models())
    check_positions(model, given=options.positions is not None)
    corpus = ParallelCorpus.open(options.corpus, positions=options.positions)
    if corpus.vocabulary_size != model.output.weight.size(0):
        raise WordorderError(
            f"The model was trained with a vocabulary of {model.output.weight.size(0)} subwords, but {options.corpus} "
            f"was made with {corpus.vocabulary_size}. Binarise it with the subwords of the model's training."
        )
    return model, corpus


def _perplexity(options: argparse.Namespace) -> None:
    from wordorder.analyses.perplexity import measure
    from wordorder.data.text import read_lines
    from wordorder.files import write_json

    model, corpus = _load(options)
    write_json(options.output, measure(model, corpus, list(read_lines(options.references))))


def _alignment(options: argparse.Namespace) -> None:
    from wordorder.alignment.gold_sets import word_pieces
    from wordorder.alignment.links import read_gold
    from wordorder.analyses.alignment import Words, check_words, measure
    from wordorder.config.analyses import AttentionReading
    from wordorder.config.datasets import Preparation
    from wordorder.config.load import slice_argument
    from wordorder.data.subword import Subword
    from wordorder.data.text import read_lines
    from wordorder.files import write_json

    settings = slice_argument(options.config, AttentionReading)
    preparation = slice_argument(options.preparation, Preparation)
    model, corpus = _load(options)
    subword = Subword.load(options.subword)
    source, target = ([line.split() for line in read_lines(path)] for path in (options.source, options.target))
    words = Words(
        word_pieces(source, preparation.source_language, preparation, subword),
        word_pieces(target, preparation.target_language, preparation, subword),
    )
    gold = read_gold(options.links, source_lengths=[*map(len, source)], target_lengths=[*map(len, target)])
    check_words(corpus, words, gold)
    write_json(options.output, measure(model, corpus, words, gold, settings))


def _probes(options: argparse.Namespace) -> None:
    from wordorder.analyses.probes import measure
    from wordorder.config.analyses import Probes
    from wordorder.config.load import slice_argument
    from wordorder.data.subword import Subword
    from wordorder.data.text import read_lines
    from wordorder.decoding.translate import check_vocabularies
    from wordorder.files import write_json

    settings = slice_argument(options.config, Probes)
    model, corpus = _load(options)
    subword = Subword.load(options.subword)
    check_vocabularies(model, subword, corpus)
    references = list(read_lines(options.references))
    found = measure(
        model,
        corpus,
        subword,
        references,
        language=options.language,
        settings=settings,
        detokenise=not options.as_it_is,
    )
    write_json(options.output, found)


def _attention_distance(options: argparse.Namespace) -> None:
    from wordorder.analyses.attention_distance import measure
    from wordorder.config.analyses import AttentionDistance
    from wordorder.config.load import slice_argument
    from wordorder.files import write_json

    settings = slice_argument(options.config, AttentionDistance)
    write_json(options.output, measure(*_load(options), settings))


def _forward_time(options: argparse.Namespace) -> None:
    import torch

    from wordorder.analyses.forward_time import measure
    from wordorder.config.analyses import ForwardTime
    from wordorder.config.load import slice_argument
    from wordorder.errors import WordorderError
    from wordorder.files import write_json
    from wordorder.model.checkpoint import load_model
    from wordorder.training import device

    settings = slice_argument(options.config, ForwardTime)
    if options.threads:
        torch.set_num_threads(options.threads)
    device.prepare()
    models = {}
    for argument in options.models:
        name, equals, path = argument.partition("=")
        if not (name and equals and path):
            raise WordorderError(f"--models takes NAME=PATH, not '{argument}'.")
        models[name] = load_model(path).to(device.of_finished_models())
    write_json(options.output, measure(models, settings))


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
