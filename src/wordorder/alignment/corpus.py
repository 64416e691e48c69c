"""Train aligners on the files of a parallel text, and align them."""

from __future__ import annotations

from pathlib import Path

from wordorder.alignment.hmm import HMMAligner, train
from wordorder.alignment.links import write_links
from wordorder.alignment.symmetrise import symmetrise
from wordorder.config.reordering import HMM, Alignment
from wordorder.data.subword import Subword
from wordorder.data.units import Shard, Vocabulary, count_lines, read_units, spread
from wordorder.errors import WordorderError


def train_aligner(config: HMM, source: Path, target: Path, subword: Path | None, model: Path, *, threads: int) -> None:
    """Train the embedded aligner.

    Args:
        config: Its settings.
        source: The cleaned source text.
        target: The cleaned target text.
        subword: The sentencepiece model whose subwords are aligned; words are if missing.
        model: The file to write.
        threads: The CPU threads, on which the result does not depend.

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
    subword: Path | None,
    output: Path,
    *,
    model: Path | None,
    shard: str,
    threads: int,
) -> None:
    """Align two texts, sentence by sentence; see :func:`train_aligner`.

    Args:
        config: The aligner and its symmetrisation.
        source: The cleaned source text.
        target: The cleaned target text.
        subword: The sentencepiece model whose subwords are aligned; words are if missing.
        output: The links to write.
        model: The trained aligner, for the type 'hmm'.
        shard: The block of sentences to align, such as '1/4'.
        threads: The CPU threads.

    Raises:
        WordorderError: The texts differ in their number of lines, or the trained aligner is missing.
    """
    pieces, block = Subword.load(subword) if subword else None, Shard.parse(shard)
    texts = [read_units(path, pieces, block) for path in (source, target)]
    if config.aligner.type != "hmm":
        from wordorder.alignment.external import align as align_externally

        sides = [list(text) for text in texts]
        _check_lines(source, target, *map(len, sides))
        links = symmetrise(*align_externally(sides[0], sides[1], config.aligner), config.symmetrisation)
    elif model:
        aligner, *vocabularies = HMMAligner.load(model)
        numbers = [vocabulary.numbers(text) for vocabulary, text in zip(vocabularies, texts, strict=True)]
        _check_lines(source, target, *map(len, numbers))
        links = aligner.align(*numbers, symmetrisation=config.symmetrisation, threads=threads)
    else:
        raise WordorderError(
            "The aligner 'hmm' needs --model. 'wordorder stage train-aligner' makes one.",
            code="missing-option",
            key="--model",
        )
    write_links(output, links)


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
