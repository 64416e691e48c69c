"""The data stages."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

from typer import Option

from wordorder.cli.app import stage
from wordorder.cli.options import Subword, flag, many, slice_of
from wordorder.cli.slices import datasets
from wordorder.errors import WordorderError

SourceText = Annotated[Path, Option(help="source text")]
TargetText = Annotated[Path, Option(help="target text")]
Output = Annotated[Path, Option(help="file or folder to write")]
Downloads = Annotated[Path, Option(help="folder of the downloaded files")]


@stage("download --config @download.yaml --output resources/downloads/multi30k/train.en")
def download(
    *,
    config: Annotated[datasets.Download, slice_of("datasets.Download", "entry of a dataset's 'downloads'")],
    output: Output,
) -> None:
    """Fetch one file.

    Copy what a person put into the folder by_hand beside the output, or what the local mirror (WORDORDER_MIRROR) has;
    otherwise download the URL. The checksum is always verified; an interrupted download resumes.
    """
    from wordorder.data.download import download

    mirror = os.environ.get("WORDORDER_MIRROR")
    download(config, output, mirror=Path(mirror) if mirror else None)


@stage("import --config SLICE --downloads downloads --source train.en --target train.de", name="import")
def import_(
    *,
    config: Annotated[datasets.Import, slice_of("datasets.Import", "parts of the split")],
    downloads: Downloads,
    source: SourceText,
    target: TargetText,
) -> None:
    """Write the parts of one split as two text files, with one sentence per line."""
    from wordorder.data.importing import import_parts

    import_parts(config.parts, downloads, source, target, by_hand=config.by_hand)


@stage("generate --config '{}' --split valid --source s --target t --alignments a --trees trees")
def generate(
    *,
    config: Annotated[datasets.Generator, slice_of("datasets.Generator", "'generator' of the dataset")],
    split: Annotated[str, Option(help="train, valid or the name of a test set")],
    source: SourceText,
    target: TargetText,
    alignments: Annotated[Path, Option(help="gold alignments")],
    trees: Annotated[Path, Option(help="gold trees")],
) -> None:
    """Generate one split of the embedded language pair, with its gold alignments and trees."""
    from wordorder.data.generate import write_split

    write_split(config, split=split, source=source, target=target, alignments=alignments, trees=trees)


@stage("scatter --source s --target t --output-sources 0.s 1.s --output-targets 0.t 1.t")
def scatter(
    *,
    source: SourceText,
    target: TargetText,
    output_sources: Annotated[list[Path], many("source blocks, in order")],
    output_targets: Annotated[list[Path], many("target blocks, in order")],
) -> None:
    """Split a parallel text into contiguous blocks of the same size."""
    from wordorder.data.shards import scatter

    scatter(source, target, output_sources, output_targets)


@stage("clean --config SLICE --source raw.s --target raw.t --output-source s --output-target t --report report.json")
def clean(
    *,
    config: Annotated[datasets.Preparation, slice_of("datasets.Preparation", "preprocessing and the two languages")],
    source: Annotated[Path, Option(help="raw source text")],
    target: Annotated[Path, Option(help="raw target text")],
    output_source: Annotated[Path, Option(help="cleaned source text")],
    output_target: Annotated[Path, Option(help="cleaned target text")],
    report: Annotated[Path, Option(help="JSON report")],
    keep_all: Annotated[bool, flag("keep-all", "drop no pair (validation and test sets)")] = False,
    kept: Annotated[Path | None, Option(help="line numbers, from 0, of the kept pairs, to write")] = None,
    held_out: Annotated[
        list[Path] | None,
        many("source and target texts, in turn, of held-out sets: drop pairs that share a side with them"),
    ] = None,
) -> None:
    """Normalise, tokenise and clean a parallel text, and report what was dropped.

    Sides are shared with held-out sets if they differ in case, spaces and punctuation only.
    """
    from wordorder.data.clean import clean_files
    from wordorder.data.overlap import HeldOut

    if held_out and len(held_out) % 2:
        raise WordorderError(
            f"--held-out was given {len(held_out)} files. Give pairs of a source and a target text.",
            code="odd-number-of-files",
            key="--held-out",
        )
    clean_files(
        config,
        source,
        target,
        output_source=output_source,
        output_target=output_target,
        report=report,
        kept=kept,
        keep_all=keep_all,
        held_out=HeldOut.read(zip(held_out[::2], held_out[1::2], strict=True)) if held_out else None,
    )


@stage("detokenise --language de --input test.tokenised --output test.txt")
def detokenise(
    *,
    language: Annotated[str, Option(help="language of the text, for the Moses rules")],
    input: Annotated[Path, Option(help="tokenised text")],
    output: Output,
) -> None:
    """Detokenise text that is distributed tokenised, so that scores are comparable."""
    from wordorder.data.text import read_lines, write_lines
    from wordorder.data.tokenise import detokeniser

    write_lines(output, map(detokeniser(language), read_lines(input)))


@stage("gather-text --inputs 0.s 1.s --output s")
def gather_text(*, inputs: Annotated[list[Path], many("texts, in order")], output: Output) -> None:
    """Concatenate texts."""
    from wordorder.data.shards import gather_text

    gather_text(inputs, output)


@stage("gather-reports --inputs 0.json 1.json --output report.json")
def gather_reports(*, inputs: Annotated[list[Path], many("cleaning reports")], output: Output) -> None:
    """Add up cleaning reports."""
    from wordorder.data.shards import gather_reports

    gather_reports(inputs, output)


@stage("gather-binary --inputs binary0 binary1 --output binary")
def gather_binary(*, inputs: Annotated[list[Path], many("binary corpora, in order")], output: Output) -> None:
    """Concatenate binary corpora."""
    from wordorder.data.binary import gather_corpora

    gather_corpora(output, inputs)


@stage("train-subword --config '{}' --inputs train.s train.t --output model.model")
def train_subword(
    *,
    config: Annotated[datasets.Subword, slice_of("datasets.Subword", "vocabulary and amount of text")],
    inputs: Annotated[list[Path], many("cleaned texts of both languages")],
    output: Annotated[Path, Option(help="sentencepiece model to write")],
) -> None:
    """Train the joint subword model of both languages."""
    from wordorder.data.subword import train_subword

    train_subword(inputs, output, vocabulary=config.vocabulary, sentences=config.subword_sentences)


@stage("binarise --subword model.model --source train.s --target train.t --output binary/train")
def binarise(*, subword: Subword, source: SourceText, target: TargetText, output: Output) -> None:
    """Turn a cleaned parallel text into a binary corpus."""
    from wordorder.data.subword import binarise

    binarise(subword, source, target, output)
