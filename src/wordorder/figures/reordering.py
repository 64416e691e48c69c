"""Figures of reordering: links and tree of a sentence, and the distribution of tau of a corpus."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.font_manager import fontManager, get_font
from matplotlib.lines import Line2D
from matplotlib.patches import Rectangle
from matplotlib.ticker import PercentFormatter
from numpy.typing import NDArray

from wordorder.alignment.links import read_links
from wordorder.data.ragged import Ragged
from wordorder.data.subword import Subword
from wordorder.data.text import read_lines
from wordorder.data.trees import Node, Tree, parse_tree, tree_order
from wordorder.data.units import read_units
from wordorder.drawing.style import DASHES, PALETTE, STYLE, panels, save, say, styled
from wordorder.errors import WordorderError
from wordorder.reordering.metrics import identity_orders, score_order, score_orders
from wordorder.reordering.orders import read_orders
from wordorder.reordering.ranks import corpus_ranks, ranks

_CELL = 0.22  # inches per word, if there is room
_LARGEST = 5.0  # largest size of a matrix in inches; longer sentences have smaller cells
_READABLE = 0.1  # inches per word below which numbers replace words, which would overlap
_LEVEL, _HIGHEST = 0.13, 2.0  # inches between two levels of the tree, and of the whole tree
_NODE: dict[bool, dict[str, Any]] = {
    False: {"color": "#888888", "linewidth": 1.0},
    True: {"color": PALETTE[1], "linewidth": 1.8},
}
_EDGES = np.arange(21) / 20  # edges of the bins of tau; 1 belongs to the last


READABLE_WORDS = 20


def draw_files(
    name: Literal["matrix", "tau"],
    /,
    *,
    source: Path,
    target: Path,
    links: Path,
    orders: Path,
    trees: Path,
    subword: Path | None = None,
    sentence: int | None = None,
    output_prefix: str,
) -> None:
    r"""Draw the tree and links of a sentence, or the distribution of Kendall's tau.

    'matrix' shows one sentence, its links and its tree; 'tau' Kendall's tau of all sentences, in the order of the
    source and in the predicted order.

    Example:
        wordorder stage draw-reordering matrix --source s --target t --links l --orders o --trees t \
            --output-prefix PREFIX

    Args:
        name: The figure.
        source: The cleaned source text.
        target: The cleaned target text.
        links: The links, one line per sentence pair.
        orders: The orders, one line per sentence.
        trees: The predicted trees.
        subword: The sentencepiece model, if the orders are orders of subwords.
        sentence: The sentence of the matrix, from 1. If missing, the short one whose order differs most from the
            target's.
        output_prefix: The prefix of the outputs PREFIX.svg, .pdf, .png and .csv.
    """
    found_orders = Ragged.of(read_orders(orders))
    found_links = read_links(links, source_lengths=found_orders.lengths)
    found, ranked = corpus_ranks(found_links, found_orders.lengths)
    before = score_orders(identity_orders(found_orders.offsets), found, ranked).tau
    if name == "tau":
        scores = {"source order": before, "predicted order": score_orders(found_orders, found, ranked).tau}
        save(draw_tau(scores), output_prefix, tau_frame(scores))
        return
    if sentence is None:
        tau = np.ones(len(found_orders))
        tau[ranked] = before
        short = found_orders.lengths <= READABLE_WORDS
        number = int(np.argmin(np.where(short, tau, 2.0))) if len(found_orders) else -1
    else:
        number = sentence - 1
    if not 0 <= number < len(found_orders):
        raise WordorderError(
            f"{orders} has {len(found_orders)} sentences; --sentence must be one of them, from 1.",
            code="wrong-option",
            path=orders,
            key="--sentence",
            found=sentence,
        )
    pieces = Subword.load(subword) if subword else None
    texts = [list(read_units(path, pieces))[number] for path in (source, target)]
    line = list(read_lines(trees))[number]
    shown = texts[0], texts[1], found_links[number], parse_tree(line) if line else None
    save(draw_matrix(*shown), output_prefix, matrix_frame(*shown))


@styled
def draw_matrix(source: Sequence[str], target: Sequence[str], links: NDArray[np.int32], tree: Tree | None) -> Figure:
    """Draw the links of a sentence in source order, below ``tree``, and in the order of the tree.

    A good tree brings the squares to the diagonal. A run of nodes of one kind is drawn as one node of many parts. Words
    that no font of this machine can show are replaced by their indices, from 0.

    Args:
        source: Source words.
        target: Target words.
        links: Links, (n, 2).
        tree: The tree, or None for an empty sentence.

    Returns:
        The figure.
    """
    if tree is None or not target:
        figure, (panel,) = panels(1, 1, 4.0, 1.5)
        say(panel, "one side of this sentence is empty")
        return figure
    cell = min(_CELL, _LARGEST / max(len(source), len(target)))
    nodes = brackets(tree)
    highest = nodes[-1].level if nodes else 0
    level = min(_LEVEL, _HIGHEST / max(highest, 1)) / cell  # in units of words, as everything in the figure
    levels = level * highest
    letters = 0.075 * max(map(len, [*source, *target])) + 0.5  # an estimate, which the layout corrects
    height = cell * (len(target) + levels) + letters + 0.5
    figure, axes = panels(2, 2, cell * max(len(source), 6) + 0.5 * letters + 0.3, height, sharey=True)
    wanted = ranks(links, len(source))
    orders = {"source order": list(range(len(source))), "order of the tree": tree_order(tree)}
    for panel, (name, order) in zip(axes, orders.items(), strict=True):
        tau = "" if wanted is None else f", τ = {score_order(np.array(order, dtype=np.int32), wanted)['tau']:.2f}"
        below_tree = len(target) / (len(target) + 0.5 + levels)
        panel.set_title(name + tau, y=None if panel is axes[0] else below_tree)
        _draw_links(panel, links, order, len(target), 1 if cell >= _READABLE else 10)
        _write_words(panel, "x", [source[unit] for unit in order], order, cell)
    _write_words(axes[0], "y", target, range(len(target)), cell)
    axes[1].tick_params(axis="y", length=0, labelleft=False)
    axes[0].set_ylim(len(target) - 0.5, -1.0 - levels)
    _draw_tree(axes[0], nodes, -0.7, level)
    handles = [
        Line2D([], [], label=name, **_NODE[inverted]) for name, inverted in (("straight", False), ("inverted", True))
    ]
    figure.legend(handles=handles, loc="outside lower center", ncols=2)
    return figure


def _draw_links(panel: Axes, links: NDArray[np.int32], order: Sequence[int], targets: int, step: int) -> None:
    place = {unit: index for index, unit in enumerate(order)}
    panel.set_aspect("equal")
    panel.set_xlim(-0.5, len(order) - 0.5)
    grid: dict[str, Any] = {"color": "#DDDDDD", "linewidth": 0.6, "zorder": 0}
    panel.vlines(np.arange(0, len(order) + 1, step) - 0.5, -0.5, targets - 0.5, **grid)
    panel.hlines(np.arange(0, targets + 1, step) - 0.5, -0.5, len(order) - 0.5, **grid)
    for unit, target in links.tolist():
        square = Rectangle((place[unit] - 0.5, target - 0.5), 1, 1, facecolor=PALETTE[0])
        square.set_edgecolor("white" if step == 1 else PALETTE[0])
        panel.add_patch(square)
    for spine in panel.spines.values():
        spine.set_visible(False)


def _write_words(
    panel: Axes, side: Literal["x", "y"], words: Sequence[str], numbers: Sequence[int], cell: float
) -> None:
    axis = panel.xaxis if side == "x" else panel.yaxis
    panel.tick_params(axis=side, length=0, rotation=90 if side == "x" else 0)
    name = "source" if side == "x" else "target"
    if cell < _READABLE:
        step = -(-len(words) // 20)
        axis.set_ticks(range(0, len(words), step), [str(number) for number in numbers[::step]])
        axis.set_label_text(f"number of the {name} word")
        return
    family, shown = printable(words, numbers)
    axis.set_ticks(range(len(words)), shown, fontfamily=family, fontsize=min(8.0, 50 * cell))
    axis.set_label_text(name if shown == list(words) else f"{name} (numbers: no font has the word)")


# ----------------------------------------------------------------------------------------------------------- trees


def _parts(tree: Node) -> list[Tree]:
    """Return the halves of a node, where a half of the same kind is replaced by its own halves."""
    parts: list[Tree] = []
    stack: list[Tree] = [tree]
    while stack:
        part = stack.pop()
        if isinstance(part, Node) and part.inverted == tree.inverted:
            stack += [part.right, part.left]
        else:
            parts.append(part)
    return parts


class Bracket(NamedTuple):
    """A drawn node over ``parts``: the middle of each in source words, and the level of its top, from 0."""

    inverted: bool
    level: int
    parts: list[tuple[float, int]]

    @property
    def middle(self) -> float:
        """The middle of the node."""
        return (self.parts[0][0] + self.parts[-1][0]) / 2


def brackets(tree: Tree) -> list[Bracket]:
    """Return the nodes of a tree, the uppermost last."""
    found: list[Bracket] = []
    tops: list[tuple[float, int]] = []
    agenda: list[Tree | tuple[bool, int]] = [tree]
    while agenda:
        match agenda.pop():
            case Node() as node:
                parts = _parts(node)
                agenda += [(node.inverted, len(parts)), *reversed(parts)]
            case (inverted, count):
                own = tops[-count:]
                found.append(Bracket(inverted, 1 + max(level for _, level in own), own))
                tops[-count:] = [(found[-1].middle, found[-1].level)]
            case int() as leaf:
                tops.append((float(leaf), 0))
    return found


def _draw_tree(panel: Axes, nodes: list[Bracket], base: float, level: float) -> None:
    """Draw a bracket over every node, upwards from ``base``."""
    for node in nodes:
        style = _NODE[node.inverted] | {"solid_capstyle": "projecting", "zorder": 2 + node.inverted}
        y = base - level * node.level
        panel.plot([node.parts[0][0], node.parts[-1][0]], [y, y], **style)
        for middle, below in node.parts:
            panel.plot([middle, middle], [base - level * below, y], **style)


# ----------------------------------------------------------------------------------------------------------- words


def printable(words: Sequence[str], numbers: Sequence[int]) -> tuple[list[str], list[str]]:
    """Return fonts to try in turn, and the words to print, with an index for each word that no font can show."""
    family = [str(STYLE["font.family"])]
    missing = frozenset("".join(words)) - _characters(family[0])
    other = _font_with(missing) if missing else None
    if other is not None:
        family.append(other)
        missing -= _characters(other)
    return family, [str(number) if missing & set(word) else word for word, number in zip(words, numbers, strict=True)]


@cache
def _characters(family: str) -> frozenset[str]:
    return frozenset(map(chr, get_font(fontManager.findfont(family)).get_charmap()))


@cache
def _font_with(characters: frozenset[str]) -> str | None:
    """Return the installed font that shows most of ``characters``; None if all show less than half."""
    upright = {font.name for font in fontManager.ttflist if font.style == "normal" and font.weight in (400, "normal")}
    # The 'Last Resort' font shows a box for every character.
    counts = {name: len(characters & _characters(name)) for name in sorted(upright) if "Last Resort" not in name}
    best = max(counts, key=counts.__getitem__, default=None)
    return best if best is not None and 2 * counts[best] >= len(characters) else None


# ---------------------------------------------------------------------------------------------------------- corpus


@styled
def draw_tau(scores: Mapping[str, NDArray[np.float64]]) -> Figure:
    """Draw the distribution of tau over the sentences of a corpus: a name and (sentences,) for each order."""
    figure, (panel,) = panels(1, 1, 4.6, 2.8)
    if not all(map(len, scores.values())):
        say(panel, "no sentence has links that give an order")
        return figure
    for index, (name, tau) in enumerate(scores.items()):
        counts = _histogram(tau)
        look: dict[str, Any] = {"color": PALETTE[index % len(PALETTE)], "linestyle": DASHES[index % len(DASHES)]}
        panel.stairs(counts / len(tau), _EDGES, label=f"{name}, mean {tau.mean():.3f}", linewidth=1.6, **look)
        panel.axvline(tau.mean(), linewidth=0.8, **look)
    panel.set_xlim(0, 1)
    panel.set_xlabel("Kendall's τ of a sentence (thin lines: means)")
    panel.set_ylabel("share of the sentences")
    panel.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
    panel.grid(axis="y")
    figure.legend(loc="outside upper center")
    return figure


def _histogram(tau: NDArray[np.float64]) -> NDArray[np.int64]:
    # 1 - 0.9 is slightly less than 0.1, and should count as 0.1.
    return np.histogram(np.minimum(tau + 1e-9, 1), bins=_EDGES)[0]


# ------------------------------------------------------------------------------------------------------------ data


def matrix_frame(
    source: Sequence[str], target: Sequence[str], links: NDArray[np.int32], tree: Tree | None
) -> pd.DataFrame:
    """Return the data of :func:`draw_matrix`: one row per source word, target word, link and node.

    Words have their index and, on the source side, their position in the order of the tree; links have a source and a
    target index; nodes have the middle of their first and last part and their level above the words.
    """
    place = {unit: index for index, unit in enumerate(tree_order(tree))} if tree is not None else {}
    rows: list[dict[str, Any]] = [
        {"drawn": "source word", "source": unit, "place": place.get(unit), "word": word}
        for unit, word in enumerate(source)
    ]
    rows += [{"drawn": "target word", "target": unit, "word": word} for unit, word in enumerate(target)]
    rows += [{"drawn": "link", "source": unit, "target": other} for unit, other in links.tolist()]
    rows += [
        {"drawn": "inverted node" if node.inverted else "straight node", "level": node.level}
        | {"from": node.parts[0][0], "to": node.parts[-1][0]}
        for node in (brackets(tree) if tree is not None else [])
    ]
    columns = ["drawn", "source", "target", "place", "word", "from", "to", "level"]
    whole = dict.fromkeys(("source", "target", "place", "level"), "Int64")
    return pd.DataFrame(rows, columns=columns).astype(whole)


def tau_frame(scores: Mapping[str, NDArray[np.float64]]) -> pd.DataFrame:
    """Return the data of :func:`draw_tau`: for each order its mean, and the sentences in each interval of tau."""
    rows = []
    for name, tau in scores.items():
        counts = _histogram(tau).tolist()
        mean = float(tau.mean()) if len(tau) else None
        for low, high, count in zip(_EDGES, _EDGES[1:], counts, strict=False):
            rows.append({"order": name, "from": low, "to": high, "sentences": count, "mean": mean})
    return pd.DataFrame(rows)
