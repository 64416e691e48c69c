"""Commands of the data stages."""

from __future__ import annotations

import argparse
import os
from functools import partial
from pathlib import Path
from typing import Any

from wordorder.cli.arguments import add_command, add_config, add_paths
from wordorder.config.datasets import Download, Generator, Import, Preparation, Subword
from wordorder.config.load import slice_argument
from wordorder.errors import WordorderError


def add_commands(subparsers: Any) -> None:
    """Add the commands to ``wordorder``'s parser."""

    command = partial(add_command, subparsers)

    def many(parser: argparse.ArgumentParser, **options: str) -> None:
        for name, text in options.items():
            flag = f"--{name.replace('_', '-')}"
            parser.add_argument(flag, required=True, type=Path, nargs="+", metavar="PATH", help=text)

    parser = command(
        "download",
        _download,
        "Fetch one file: what was put into the folder by_hand beside it, or a copy in the local mirror that "
        "WORDORDER_MIRROR names, else from its URL. The checksum is always verified; an interrupted download is "
        "resumed.",
    )
    add_config(parser, "an entry of a dataset's 'downloads'")
    add_paths(parser, output="the file to write")

    parser = command("import", _import, "Write the parts of one split as two text files, one sentence a line.")
    add_config(parser, "the parts of the split")
    add_paths(parser, downloads="the folder of the downloaded files", source="source text", target="target text")

    parser = command("generate", _generate, "Generate one split of the embedded language pair, with its gold truth.")
    add_config(parser, "the dataset's 'generator'")
    parser.add_argument("--split", required=True, help="train, valid or the name of a test set")
    add_paths(parser, source="source text", target="target text", alignments="gold alignments", trees="gold trees")

    parser = command("scatter", _scatter, "Split a parallel text into contiguous blocks of the same size.")
    add_paths(parser, source="source text", target="target text")
    many(parser, output_sources="source blocks, in order", output_targets="target blocks, in order")

    parser = command("clean", _clean, "Normalise, tokenise and clean a parallel text, and report what was dropped.")
    add_config(parser, "the preprocessing and the two languages")
    add_paths(parser, source="raw source text", target="raw target text")
    add_paths(parser, output_source="cleaned source text", output_target="cleaned target text", report="JSON report")
    parser.add_argument("--keep-all", action="store_true", help="drop no pair (validation and test sets)")
    parser.add_argument("--kept", type=Path, metavar="PATH", help="write the line numbers, from 0, of the kept pairs")
    parser.add_argument(
        "--held-out",
        type=Path,
        nargs="+",
        metavar="PATH",
        help="source and target texts, in turn, of validation and test sets: pairs that share a side with them, but "
        "for case, spaces and punctuation, are dropped",
    )

    parser = command(
        "detokenise",
        _detokenise,
        "Write tokenised text as people write it, so that scores can be compared.",
    )
    parser.add_argument("--language", required=True, help="the language of the text, for the Moses rules")
    add_paths(parser, input="tokenised text", output="the text to write")

    for name, run, text in (
        ("gather-text", _gather_text, "Concatenate texts."),
        ("gather-reports", _gather_reports, "Add up the counts of cleaning reports."),
        ("gather-binary", _gather_binary, "Concatenate binary corpora."),
    ):
        parser = command(name, run, text)
        many(parser, inputs="what to gather, in order")
        add_paths(parser, output="the result")

    parser = command("train-subword", _train_subword, "Train the joint subword model of both languages.")
    add_config(parser, "the size of the vocabulary and how much text it is trained on")
    many(parser, inputs="cleaned texts of both languages")
    add_paths(parser, output="the sentencepiece model to write")

    parser = command("binarise", _binarise, "Turn a cleaned parallel text into a binary corpus.")
    add_paths(parser, subword="sentencepiece model", source="source text", target="target text")
    add_paths(parser, output="the directory to write")


def _download(options: argparse.Namespace) -> None:
    from wordorder.data.download import download

    mirror = os.environ.get("WORDORDER_MIRROR")
    download(slice_argument(options.config, Download), options.output, mirror=Path(mirror) if mirror else None)


def _import(options: argparse.Namespace) -> None:
    from wordorder.data.importing import import_parts

    slice_ = slice_argument(options.config, Import)
    import_parts(slice_.parts, options.downloads, options.source, options.target, by_hand=slice_.by_hand)


def _generate(options: argparse.Namespace) -> None:
    from wordorder.data.generate import write_split

    write_split(
        slice_argument(options.config, Generator),
        split=options.split,
        source=options.source,
        target=options.target,
        alignments=options.alignments,
        trees=options.trees,
    )


def _scatter(options: argparse.Namespace) -> None:
    from wordorder.data.shards import scatter

    scatter(options.source, options.target, options.output_sources, options.output_targets)


def _clean(options: argparse.Namespace) -> None:
    from wordorder.data.clean import clean_files
    from wordorder.data.overlap import HeldOut

    files = options.held_out
    if files and len(files) % 2:
        raise WordorderError(f"--held-out was given {len(files)} files. Give pairs of a source and a target text.")
    clean_files(
        slice_argument(options.config, Preparation),
        options.source,
        options.target,
        output_source=options.output_source,
        output_target=options.output_target,
        report=options.report,
        kept=options.kept,
        keep_all=options.keep_all,
        held_out=HeldOut.read(zip(files[::2], files[1::2], strict=True)) if files else None,
    )


def _detokenise(options: argparse.Namespace) -> None:
    from wordorder.data.text import read_lines, write_lines
    from wordorder.data.tokenise import detokeniser

    write_lines(options.output, map(detokeniser(options.language), read_lines(options.input)))


def _gather_text(options: argparse.Namespace) -> None:
    from wordorder.data.shards import gather_text

    gather_text(options.inputs, options.output)


def _gather_reports(options: argparse.Namespace) -> None:
    from wordorder.data.shards import gather_reports

    gather_reports(options.inputs, options.output)


def _gather_binary(options: argparse.Namespace) -> None:
    from wordorder.data.binary import gather_corpora

    gather_corpora(options.output, options.inputs)


def _train_subword(options: argparse.Namespace) -> None:
    from wordorder.data.subword import train_subword

    slice_ = slice_argument(options.config, Subword)
    train_subword(options.inputs, options.output, vocabulary=slice_.vocabulary, sentences=slice_.subword_sentences)


def _binarise(options: argparse.Namespace) -> None:
    from wordorder.data.subword import binarise

    binarise(options.subword, options.source, options.target, options.output)
