"""Permutations as text, and the resulting positions of the subwords of a corpus.

A line holds the indices, from 0, of the tokens of one source sentence in target order: "1 2 0". An empty sentence is an
empty line.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from wordorder.data.binary import ParallelCorpus
from wordorder.data.subword import Subword
from wordorder.data.text import read_lines
from wordorder.errors import WordorderError, at_line
from wordorder.reordering.subwords import subword_positions


def read_orders(path: str | Path) -> Iterator[list[int]]:
    """Read the permutations of a file.

    Args:
        path: The file.

    Yields:
        The permutations.

    Raises:
        WordorderError: A line is not a permutation of 0, 1, 2, ….
    """
    for number, line in enumerate(read_lines(path), start=1):
        try:
            order = [int(word) for word in line.split()]
        except ValueError:
            order = [-1]
        if sorted(order) != list(range(len(order))):
            rule = "Each line must contain the numbers 0 … n - 1 of the sentence's n words once, separated by spaces."
            raise at_line(path, number, f"'{line}' is not a permutation. {rule}", found=line)
        yield order


def order_positions(
    path: str | Path, corpus: ParallelCorpus, *, starts: NDArray[np.bool_] | None
) -> Iterator[NDArray[np.int64]]:
    """Compute the positions of each source sentence of ``corpus`` from the permutations in a file.

    Args:
        path: The permutations, one line per sentence.
        corpus: The corpus.
        starts: Whether a subword begins a word, (vocabulary,), for permutations of words; None for permutations of
            tokens.

    Yields:
        The positions.

    Raises:
        WordorderError: A permutation does not have the number of words (or tokens) of its sentence, or the file does
            not have one line per sentence.
    """
    count = 0
    for index, order in enumerate(read_orders(path)):
        count += 1
        if count > len(corpus):
            continue  # only to count the lines
        tokens = corpus.source(index)
        first = np.ones(len(tokens), dtype=bool) if starts is None else starts[tokens]
        if len(order) != first.sum():
            sentence = (
                f"the order has {len(order)} numbers, but the sentence in {corpus.directory} has {first.sum()} "
                f"{'tokens' if starts is None else 'words'}. The orders must be made from the text of this corpus, "
                "with the same units."
            )
            counts = {"found": len(order), "expected": int(first.sum())}
            raise at_line(path, index + 1, sentence, code="wrong-count", **counts)
        yield subword_positions(order, first)
    if count != len(corpus):
        raise WordorderError(
            f"{path} has {count} orders, but {corpus.directory} has {len(corpus)} sentences.",
            code="unequal-lines",
            path=path,
            found=count,
            expected=len(corpus),
        )


def word_starts(subword: str | Path, corpus: ParallelCorpus) -> NDArray[np.bool_]:
    """Return :meth:`Subword.word_starts` after a check that the model can be that of the corpus."""
    model = Subword.load(subword)
    if model.size != corpus.vocabulary_size:
        raise WordorderError(
            f"{subword} has {model.size} subwords, but {corpus.directory} was made with {corpus.vocabulary_size}. Give "
            "the model of this corpus.",
            code="different-vocabularies",
            path=subword,
            found=model.size,
            expected=corpus.vocabulary_size,
        )
    return model.word_starts()
