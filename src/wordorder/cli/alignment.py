"""``wordorder train-aligner`` and ``wordorder align``."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wordorder.cli.arguments import add_command, add_config, add_paths, positive

if TYPE_CHECKING:
    from wordorder.data.subword import Subword


def add_commands(subparsers: Any) -> None:
    def command(name: str, run: Any, text: str, what: str) -> argparse.ArgumentParser:
        parser = add_command(subparsers, name, run, text)
        add_config(parser, what)
        add_paths(parser, source="cleaned source text", target="cleaned target text")
        parser.add_argument(
            "--subword", type=Path, metavar="PATH", help="align the subwords of this sentencepiece model, not words"
        )
        parser.add_argument("--threads", type=positive, default=1, help="(default: %(default)s)")
        return parser

    text = "Train the embedded aligner: two HMMs that learn to agree. The result does not depend on the threads."
    parser = command("train-aligner", _train, text, "an aligner of the type 'hmm'")
    add_paths(parser, model="the aligner to write")

    text = "Align two texts, sentence by sentence. A line of the result has the links of a pair: '0-1 2-0'."
    parser = command("align", _align, text, "an entry of aligners.yaml")
    parser.add_argument(
        "--model", type=Path, metavar="PATH", help="the trained aligner; other types train and align in one go"
    )
    parser.add_argument("--shard", default="1/1", metavar="K/N", help="only the K-th of N blocks of sentences")
    add_paths(parser, output="the links to write")


def _subword(options: argparse.Namespace) -> Subword | None:
    from wordorder.data.subword import Subword

    return Subword.load(options.subword) if options.subword else None


def _train(options: argparse.Namespace) -> None:
    from wordorder.alignment.hmm import train
    from wordorder.config.load import slice_argument
    from wordorder.config.reordering import HMM
    from wordorder.data.units import Vocabulary, count_lines, read_units, spread

    config = slice_argument(options.config, HMM)
    subword = _subword(options)
    lines = [count_lines(path) for path in (options.source, options.target)]
    _check_lines(options, *lines)
    chosen = spread(lines[0], config.sentences)
    texts, vocabularies = [], []
    for path in (options.source, options.target):
        vocabularies.append(Vocabulary.build(read_units(path, subword, chosen=chosen)))
        texts.append(vocabularies[-1].numbers(read_units(path, subword, chosen=chosen)))
    train(texts[0], texts[1], config, threads=options.threads).save(options.model, *vocabularies)


def _align(options: argparse.Namespace) -> None:
    from wordorder.alignment.hmm import HMMAligner
    from wordorder.alignment.links import write_links
    from wordorder.alignment.symmetrise import symmetrise
    from wordorder.config.load import slice_argument
    from wordorder.config.reordering import Alignment
    from wordorder.data.units import Shard, read_units
    from wordorder.errors import WordorderError

    config = slice_argument(options.config, Alignment)
    subword, shard = _subword(options), Shard.parse(options.shard)
    texts = [read_units(path, subword, shard) for path in (options.source, options.target)]
    if config.aligner.type != "hmm":
        from wordorder.alignment.external import align as align_externally

        sides = [list(text) for text in texts]
        _check_lines(options, *map(len, sides))
        links = symmetrise(*align_externally(sides[0], sides[1], config.aligner), config.symmetrisation)
    elif options.model:
        aligner, *vocabularies = HMMAligner.load(options.model)
        numbers = [vocabulary.numbers(text) for vocabulary, text in zip(vocabularies, texts, strict=True)]
        _check_lines(options, *map(len, numbers))
        links = aligner.align(*numbers, symmetrisation=config.symmetrisation, threads=options.threads)
    else:
        raise WordorderError("The aligner 'hmm' needs --model. 'wordorder train-aligner' makes one.")
    write_links(options.output, links)


def _check_lines(options: argparse.Namespace, source: int, target: int) -> None:
    from wordorder.errors import WordorderError

    if source != target:
        raise WordorderError(
            f"{options.source} has {source} lines but {options.target} has {target}. The two sides of a parallel text "
            "must have one line a sentence each."
        )
