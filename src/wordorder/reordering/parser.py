"""The trained reordering parser: its file, and its application to source sentences.

The file is an uncompressed ``.npz`` of ``meta`` (JSON: format, settings, number of weights), ``units`` (the vocabulary,
UTF-8, one per line), ``classes`` (one per token index, or none), ``used`` and ``weights`` (the indices and values of
the weights that are not zero).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from itertools import islice, pairwise
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from wordorder.compiled import compiled, first_call
from wordorder.config import reordering as config
from wordorder.data.arrays import open_npz, write_npz
from wordorder.data.ragged import Ragged
from wordorder.data.text import line_writer
from wordorder.data.trees import Node, Tree, format_tree
from wordorder.data.units import Vocabulary
from wordorder.errors import WordorderError
from wordorder.progress import Progress
from wordorder.reordering.beam import beam_tree
from wordorder.reordering.chart import Nodes, best_tree, no_target, tree_order
from wordorder.reordering.features import FORMAT, Weights, build_tables, unit_hashes

_KIND = "wordorder reordering parser"
_CHUNK = 256  # sentences per unit of work of a thread
_BLOCK = 1 << 14  # sentences in memory while permutations are written

Integers = NDArray[np.int32]


class Parser:
    """Predicts the order of a source sentence's tokens in the target language.

    Up to ``settings.exact`` tokens the best tree is found, for longer sentences a tree by beam search. The penalty is
    subtracted from the score of every inverted node, so that a node is inverted only if the model prefers it by more
    than that; a very large penalty keeps the order of the source.

    Attributes:
        vocabulary: The vocabulary of the training source.
        classes: The class of each token, (vocabulary.size,), or empty.
        weights: The weights, (2^k,).
        settings: The settings; ``exact``, ``beam`` and ``inversion_penalty`` control the search.
    """

    def __init__(self, vocabulary: Vocabulary, classes: Integers, weights: Weights, settings: config.Parser) -> None:
        if len(classes) not in (0, vocabulary.size):
            raise ValueError(f"{len(classes)} classes for {vocabulary.size} units")
        if len(weights) < 8 or len(weights) & (len(weights) - 1):
            raise ValueError(f"{len(weights)} weights: their number must be a power of 2")
        self.vocabulary, self.classes, self.weights, self.settings = vocabulary, classes, weights, settings

    def save(self, path: str | Path) -> None:
        """Write the parser to a file."""
        used = np.flatnonzero(self.weights)
        meta = {
            "kind": _KIND,
            "format": FORMAT,
            "settings": self.settings.model_dump(),
            "weights": len(self.weights),
        }
        arrays = {
            "meta": _text(json.dumps(meta)),
            "units": _text("\n".join(self.vocabulary.units)),
            "classes": self.classes,
            "used": used,
            "weights": self.weights[used],
        }
        write_npz(path, **arrays)

    @classmethod
    def load(cls, path: str | Path) -> Parser:
        """Read a saved parser.

        Args:
            path: The file.

        Returns:
            The parser.

        Raises:
            WordorderError: The file is not a parser, is damaged or has another format.
        """
        remedy = f"Name a file that 'wordorder stage train-parser' wrote, or remake it: 'snakemake --force {path}'."
        try:
            with open_npz(path, remedy) as file:
                meta = json.loads(file["meta"].tobytes())
                if meta["kind"] != _KIND:
                    raise ValueError("of another kind")
                if meta["format"] != FORMAT:
                    raise WordorderError(
                        f"{path} is a reordering parser of format {meta['format']}, but this version of wordorder "
                        f"reads format {FORMAT}. Train it again with this version.",
                        code="wrong-version",
                        path=path,
                        found=meta["format"],
                        expected=FORMAT,
                    )
                units = file["units"].tobytes().decode()
                weights = np.zeros(meta["weights"], dtype=np.float32)
                weights[file["used"]] = file["weights"]
                settings = config.Parser.model_validate(meta["settings"])
                vocabulary = Vocabulary(units.split("\n") if units else [])
                return cls(vocabulary, file["classes"].astype(np.int32), weights, settings)
        except (
            ValueError,
            KeyError,
            TypeError,
            IndexError,
            AttributeError,
        ) as error:  # includes the errors of pydantic and JSON
            raise WordorderError(
                f"{path} is not a complete reordering parser ({error}). {remedy}",
                code="damaged-file",
                path=path,
            ) from error

    def orders(self, sentences: Ragged, *, threads: int = 1) -> Ragged:
        """Compute the tokens of each sentence, 0 … length - 1, in target order. The number of threads has no effect."""
        with Progress("Reordering", total=len(sentences), unit="sentences") as progress:
            return self._parse(sentences, _NO_NODES, threads, progress.advance)

    def write_orders(
        self, sentences: Iterable[Sequence[str]], path: str | Path, *, trees: str | Path | None = None, threads: int = 1
    ) -> int:
        """Write the order of each sentence, given as tokens, to a line of ``path``, and its tree to one of ``trees``.

        An empty sentence has an empty line. The memory does not depend on the number of sentences.

        Returns:
            The number of sentences.
        """
        done = 0
        with ExitStack() as stack:
            write_order = stack.enter_context(line_writer(path))
            write_tree = stack.enter_context(line_writer(trees)) if trees is not None else None
            progress = stack.enter_context(Progress("Reordering", unit="sentences"))
            lines = iter(sentences)
            while block := list(islice(lines, _BLOCK)):
                numbers = self.vocabulary.numbers(block)
                nodes = np.empty((len(numbers.values), 5), dtype=np.int32) if write_tree else _NO_NODES
                for order in self._parse(numbers, nodes, threads, progress.advance):
                    write_order(" ".join(map(str, order.tolist())))
                if write_tree:
                    for begin, end in pairwise(numbers.offsets.tolist()):
                        write_tree(format_tree(_as_tree(nodes[begin : end - 1])) if end > begin else "")
                done += len(numbers)
        return done

    def _parse(self, sentences: Ragged, nodes: Nodes, threads: int, advance: Callable[[int], None]) -> Ragged:
        """Compute orders and, with ``nodes``, (tokens, 5), also the trees, each from the index of its first token."""
        values = np.ascontiguousarray(sentences.values, dtype=np.int32)
        offsets = np.ascontiguousarray(sentences.offsets, dtype=np.int64)
        if values.size and not 0 <= values.min() <= values.max() < self.vocabulary.size:
            wrong = values.min() if values.min() < 0 else values.max()
            raise ValueError(
                f"a sentence has unit {wrong}, but the parser's vocabulary has the numbers 0 to "
                f"{self.vocabulary.size - 1}: number the units with its vocabulary"
            )
        settings = self.settings
        model = (self.classes, self.weights, settings.exact, settings.beam, np.float32(settings.inversion_penalty))
        found = np.empty_like(values)
        with first_call("the reordering parser"):
            _parse_sentences(values, offsets[:1], *model, found, nodes)

        def parse(start: int) -> int:
            part = offsets[start : start + _CHUNK + 1]
            _parse_sentences(values, part, *model, found, nodes)
            return len(part) - 1

        with ThreadPoolExecutor(max(1, threads)) as pool:
            for done in pool.map(parse, range(0, len(sentences), _CHUNK)):
                advance(done)
        return Ragged(found, offsets)


_NO_NODES: Nodes = np.empty((0, 5), dtype=np.int32)


def _text(text: str) -> NDArray[np.uint8]:
    return np.frombuffer(text.encode(), dtype=np.uint8)


def _as_tree(nodes: Nodes) -> Tree:
    """Convert nodes, (length - 1, 5), to a tree."""
    trees: dict[tuple[int, int], Tree] = {}

    def half(begin: int, end: int) -> Tree:
        return begin if end - begin == 1 else trees.pop((begin, end))

    for begin, pivot, end, label, _ in reversed(nodes.tolist()):  # halves before the whole
        trees[begin, end] = Node(half(begin, pivot), half(pivot, end), inverted=bool(label))
    return half(0, len(nodes) + 1)


@compiled
def _parse_sentences(
    values: Integers,
    offsets: NDArray[np.int64],
    classes: Integers,
    weights: Weights,
    exact: int,
    beam: int,
    penalty: np.float32,
    found: Integers,
    nodes: Nodes,
) -> None:
    """Write the orders of the sentences between ``offsets`` to ``found``, and their trees to ``nodes`` unless empty."""
    for index in range(len(offsets) - 1):
        begin, end = offsets[index], offsets[index + 1]
        if begin == end:
            continue
        sentence = values[begin:end]
        own = nodes[begin : end - 1] if len(nodes) else np.empty((end - begin - 1, 5), dtype=np.int32)
        if end - begin > 1:
            tables = build_tables(unit_hashes(sentence, classes), weights, penalty)
            if end - begin <= exact:
                best_tree(tables, no_target(), own)
            else:
                beam_tree(tables, beam, own)
        tree_order(own, found[begin:end])
