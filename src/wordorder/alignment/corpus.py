"""Train aligners on the files of a parallel text, and apply them."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from wordorder.alignment.external import align as align_externally
from wordorder.alignment.hmm import HMMAligner, train
from wordorder.alignment.links import write_links
from wordorder.alignment.symmetrise import symmetrise
from wordorder.config.reordering import HMM, Alignment
from wordorder.data.sampling import spread
from wordorder.data.subword import Subword
from wordorder.data.units import Shard, Vocabulary, count_lines, read_units
from wordorder.errors import WordorderError


def train_aligner(
    config: HMM, source: Path, target: Path, subword: Path | None = None, *, model: Path, threads: int = 1
) -> None:
    """Train the embedded aligner.

    It consists of two HMMs that learn to agree.

    Example:
        wordorder stage train-aligner --config '{}' --source train.en --target train.ja --model aligner.npz

    Args:
        config: The settings of the aligner, of the type 'hmm'.
        source: The cleaned source text.
        target: The cleaned target text.
        subword: The sentencepiece model whose subwords are aligned; if missing, words are aligned.
        model: The aligner to write.
        threads: The number of CPU threads, which does not affect the result.

    Raises:
        WordorderError: The texts differ in their number of lines.
    """
    pieces = Subword.load(subword) if subword else None
    lines = [count_lines(path) for path in (source, target)]
    _check_lines(source, target, *lines)
    chosen = spread(lines[0], config.sentences)
    texts, vocabularies = [], []
    for path in (source, target):
        vocabularies.append(Vocabulary.build(read_units(path, pieces, chosen=chosen)))
        texts.append(vocabularies[-1].numbers(read_units(path, pieces, chosen=chosen)))
    train(texts[0], texts[1], config, threads=threads).save(model, *vocabularies)


def align(
    config: Alignment,
    source: Path,
    target: Path,
    subword: Path | None = None,
    *,
    output: Path,
    model: Path | None = None,
    train_source: Path | None = None,
    train_target: Path | None = None,
    shard: str = "1/1",
    threads: int = 1,
) -> None:
    """Align two texts, sentence by sentence.

    Each line of the result has the links of one sentence pair, such as '0-1 2-0'.

    Example:
        wordorder stage align --config '{}' --source train.en --target train.ja --model aligner.npz --output train.links

    Args:
        config: The aligner and its symmetrisation, as in aligners.yaml.
        source: The cleaned source text.
        target: The cleaned target text.
        subword: The sentencepiece model whose subwords are aligned; if missing, words are aligned.
        output: The links to write.
        model: The trained aligner, for the type 'hmm'.
        train_source: The cleaned source text of the training set. External programs learn only from the text that they
            align; with this option, they align the training set and the text together.
        train_target: The cleaned target text of the training set.
        shard: The block of sentences to align, such as '1/4'.
        threads: The number of CPU threads.

    Raises:
        WordorderError: The texts differ in their number of lines, or the trained aligner or one side of the training
            set is missing.
    """
    links: Iterable[NDArray[np.int32]]
    pieces, block = Subword.load(subword) if subword else None, Shard.parse(shard)
    if config.aligner.type != "hmm":
        learned = _training_units(train_source, train_target, pieces)
        read = [list(read_units(path, pieces, block)) for path in (source, target)]
        _check_lines(source, target, *map(len, read))
        found = align_externally(learned[0] + read[0], learned[1] + read[1], config.aligner)
        forward, backward = (own.from_pair(len(learned[0])) for own in found)
        links = symmetrise(forward, backward, config.symmetrisation)
    elif model:
        lines = [count_lines(path) for path in (source, target)]
        _check_lines(source, target, *lines)
        aligner, *vocabularies = HMMAligner.load(model)
        texts = (read_units(path, pieces, block) for path in (source, target))
        sides = (vocabulary.blocks(text) for vocabulary, text in zip(vocabularies, texts, strict=True))
        aligned = aligner.align_blocks(
            zip(*sides, strict=True),
            pairs=len(block.range(lines[0])),
            symmetrisation=config.symmetrisation,
            threads=threads,
        )
        links = chain.from_iterable(aligned)
    else:
        raise WordorderError(
            "The aligner 'hmm' needs --model. 'wordorder stage train-aligner' creates one.",
            code="missing-option",
            key="--model",
        )
    write_links(output, links)


def _training_units(
    source: Path | None, target: Path | None, pieces: Subword | None
) -> tuple[list[list[str]], list[list[str]]]:
    """Read both sides of the training set that is aligned with a text; without one, both are empty."""
    if source is None and target is None:
        return [], []
    if source is None or target is None:
        given, missing = ("target", "source") if source is None else ("source", "target")
        raise WordorderError(
            f"--train-{given} needs --train-{missing}, the other side of the training set.",
            code="missing-option",
            key=f"--train-{missing}",
        )
    sides = list(read_units(source, pieces)), list(read_units(target, pieces))
    _check_lines(source, target, *map(len, sides))
    return sides


def _check_lines(source: Path, target: Path, source_lines: int, target_lines: int) -> None:
    if source_lines != target_lines:
        raise WordorderError(
            f"{source} has {source_lines} lines but {target} has {target_lines}. The two sides of a parallel text "
            "must have one line per sentence each.",
            code="unequal-lines",
            path=target,
            found=target_lines,
            expected=source_lines,
        )
