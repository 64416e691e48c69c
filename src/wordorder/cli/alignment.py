"""``wordorder stage train-aligner``, ``align`` and ``import-gold``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Option

from wordorder.cli.app import stage
from wordorder.cli.options import Shard, Source, Subwords, Target, Threads, slice_of
from wordorder.cli.slices import alignments, reordering


@stage("train-aligner --config '{}' --source train.en --target train.ja --model aligner.npz")
def train_aligner(
    *,
    config: Annotated[reordering.HMM, slice_of("reordering.HMM", "aligner of the type 'hmm'")],
    source: Source,
    target: Target,
    subword: Subwords = None,
    threads: Threads = 1,
    model: Annotated[Path, Option(help="aligner to write")],
) -> None:
    """Train the embedded aligner.

    It consists of two HMMs that learn to agree. The result does not depend on the number of threads.
    """
    from wordorder.alignment.corpus import train_aligner

    train_aligner(config, source, target, subword, model, threads=threads)


@stage("align --config '{}' --source train.en --target train.ja --model aligner.npz --output train.links")
def align(
    *,
    config: Annotated[reordering.Alignment, slice_of("reordering.Alignment", "entry of aligners.yaml")],
    source: Source,
    target: Target,
    subword: Subwords = None,
    threads: Threads = 1,
    model: Annotated[Path | None, Option(help="trained aligner, for the type 'hmm'")] = None,
    shard: Shard = "1/1",
    output: Annotated[Path, Option(help="links to write")],
) -> None:
    """Align two texts, sentence by sentence.

    Each line of the result has the links of one sentence pair, such as '0-1 2-0'.
    """
    from wordorder.alignment.corpus import align

    align(config, source, target, subword, output, model=model, shard=shard, threads=threads)


@stage("import-gold --config SLICE --downloads DIR --source s --target t --alignments a ... --report report.json")
def import_gold(
    *,
    config: Annotated[alignments.GoldImport, slice_of("alignments.GoldImport", "set and preprocessing")],
    downloads: Annotated[Path, Option(help="folder of the downloaded files")],
    source: Annotated[Path, Option(help="source words")],
    target: Annotated[Path, Option(help="target words")],
    alignments: Annotated[Path, Option(help="links")],
    clean_source: Annotated[Path, Option(help="cleaned source text")],
    clean_target: Annotated[Path, Option(help="cleaned target text")],
    report: Annotated[Path, Option(help="JSON report")],
) -> None:
    """Import a set of gold alignments.

    Write a set of gold alignments as a split of a dataset: the words that were linked, the links, and the text as the
    dataset's preprocessing makes it, word by word.
    """
    from wordorder.alignment.gold_sets import import_gold

    import_gold(
        config,
        downloads,
        source=source,
        target=target,
        alignments=alignments,
        clean_source=clean_source,
        clean_target=clean_target,
        report=report,
    )
