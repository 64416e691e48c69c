"""The generated language pair: sentences with gold alignments and gold reordering trees.

The same configuration gives the same files on every platform and Python version: all decisions depend on
``random.Random(int).random()``, whose sequence Python guarantees, and on SHA-256.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import ExitStack
from itertools import islice
from pathlib import Path
from random import Random

from wordorder.config.datasets import Generator
from wordorder.data.grammar.lexicon import LEXICON, Entry
from wordorder.data.grammar.rules import Grammar
from wordorder.data.grammar.transduction import SentencePair, read_off
from wordorder.data.text import line_writer
from wordorder.data.trees import format_tree
from wordorder.errors import WordorderError, unknown_name
from wordorder.progress import track

# Sentences that are drawn for one of the wanted length before the search ends.
_PATIENCE = 20_000


def write_split(config: Generator, *, split: str, source: Path, target: Path, alignments: Path, trees: Path) -> None:
    """Generate one split of the embedded language pair, with its gold alignments and trees.

    Example:
        wordorder stage generate --config '{}' --split valid --source s --target t --alignments a --trees trees

    Args:
        config: The 'generator' of the dataset.
        split: 'train', 'valid' or the name of a test set.
        source: The source text to write.
        target: The target text to write.
        alignments: The gold alignments to write: pairs i-j of a source and a target word, from 0.
        trees: The gold trees to write, over the words of the source.

    Raises:
        WordorderError: The configuration has no such split.
    """
    sizes = {**config.tests, "train": config.train, "valid": config.valid}
    if split not in sizes:
        raise unknown_name("The dataset's 'generator' has no split", split, sizes, "splits", key="tests")
    with ExitStack() as stack:
        writers = [stack.enter_context(line_writer(path)) for path in (source, target, alignments, trees)]
        pairs = islice(generate(config, split), sizes[split])
        for pair in track(pairs, f"generate {split}", total=sizes[split], unit="sentences"):
            lines = (
                " ".join(pair.source),
                " ".join(pair.target),
                " ".join(f"{i}-{j}" for i, j in pair.alignment),
                format_tree(pair.tree),
            )
            for write, line in zip(writers, lines, strict=True):
                write(line)


def generate(generator: Generator, split: str) -> Iterator[SentencePair]:
    """Yield the endless stream of a split, which depends only on seed, name of the split and the grammar's settings.

    Raises:
        WordorderError: The grammar makes no sentence of the split's lengths.
    """
    random = Random(int.from_bytes(hashlib.sha256(f"{generator.seed} {split}".encode()).digest(), "big")).random

    def choose(category: str) -> Entry:
        entries = LEXICON[category]
        return entries[int(random() * len(entries))]

    grammar = Grammar(generator, random=random, choose=choose)
    kind = split if split in ("train", "valid") else "test"
    least, most = generator.lengths.get(split, (1, generator.max_length))
    while True:
        for _ in range(_PATIENCE):
            pair = read_off(grammar.sentence())
            if least <= len(pair.source) <= most and _kind(pair.source) == kind:
                break
        else:
            raise WordorderError(
                f"None of {_PATIENCE:,} generated sentences fits '{split}', whose sources have {least} to {most} words."
                " Correct its 'lengths', or make sentences longer with 'max_depth' or 'modifiers' of the generator.",
                code="out-of-range",
                key="lengths",
                found=(least, most),
            )
        yield pair


def _kind(source: list[str]) -> str:
    """Return the only kind of split in which a source sentence may occur; a hash assigns 80 % of them to 'train'."""
    draw = hashlib.sha256(" ".join(source).encode()).digest()[0]
    return "train" if draw < 204 else "valid" if draw < 230 else "test"
