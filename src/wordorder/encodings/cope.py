"""Contextual positions (CoPE).

    g_it = σ(q_i · k_t / √d_h)                      a gate: does token t count for query i?
    p_ij = g_ij + … + g_ii  for j ≤ i               the sum of gates from key to query
    e_ij = q_i · k_j / √d_h + q_i · E[p_ij]         E is interpolated between two integer positions

Source: Golovneva et al. 2024 (CoPE), equations 3-6, for a causal decoder. The code of its appendix B does not divide
the query of the second term.
Start: tables from a normal distribution with standard deviation 0.02.
Departures: tables start with a standard deviation of 0.02 instead of 0, so that gates have a gradient from the first
update. The paper has no encoder. In ours, keys occur on both sides. Later keys count from the query to the key,
g_(i+1)t + … + g_ij, and have a separate table; otherwise a sentence and its mirror image would look alike.
Promises: relative, since only the order of positions matters; works at any length (sums beyond the table share its last
vector); table · d_h parameters per layer and, in the encoder, per side; without ``share_heads``, per head, too.

On a CPU, compiled loops walk from each query to its keys, on each side, until the sum of gates exceeds the table. Each
key beyond costs one addition. Only the scores are kept for the gradient. Other devices use tensor operations.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Annotated, Any, Literal

import numpy as np
import torch
from pydantic import Field
from torch import Tensor, nn
from typing_extensions import override

from wordorder.encodings.base import AttentionEncoding, EncodingConfig, Positions, Shape, Stack, sides_of
from wordorder.encodings.layers import PerLayer
from wordorder.encodings.lookup import distances
from wordorder.encodings.registry import register


class CoPEConfig(EncodingConfig):
    """Parameters of an entry with ``type: cope``."""

    revision = 2
    type: Literal["cope"] = "cope"
    table: Annotated[int, Field(gt=1, description="Number of integer positions, each with its own vector.")] = 64
    share_heads: bool = Field(default=True, description="Use one table for all heads of a layer.")

    @override
    def parameter_count(self, shape: Shape) -> int:
        sides = sum(sides_of(stack) * shape.layers(stack) for stack in self.stacks)
        return sides * self.table * shape.head_dim * (1 if self.share_heads else shape.heads)


class CoPEAttention(AttentionEncoding):
    """The tables of one layer, (sides, 1 | H, table, d_h), keys before the query first."""

    needs = frozenset({"scores"})

    def __init__(self, config: CoPEConfig, shape: Shape, stack: Stack) -> None:
        super().__init__()
        self.last = config.table - 1
        heads = 1 if config.share_heads else shape.heads
        self.vectors = nn.Parameter(0.02 * torch.randn(sides_of(stack), heads, config.table, shape.head_dim))

    @override
    def scores(self, scores: Tensor, queries: Tensor, keys: Tensor, query: Positions, key: Positions) -> Tensor:
        if scores.device.type != "cpu":
            return self.scores_by_tensors(scores, queries, query, key)
        products = queries @ self._undivided().mT.to(queries.dtype)  # (sides, B, H, Lq, table)
        order = key.absolute.argsort(dim=-1)
        places = torch.searchsorted(key.absolute.gather(-1, order), query.absolute.contiguous())
        counted: Tensor = _Counted.apply(scores.contiguous(), products.contiguous(), order, places)  # type: ignore[no-untyped-call]
        return counted

    def _undivided(self) -> Tensor:
        """Return E scaled for queries that arrive divided but must act undivided, (sides, 1, 1 | H, table, d_h)."""
        return math.sqrt(self.vectors.size(-1)) * self.vectors[:, None]

    def scores_by_tensors(self, scores: Tensor, queries: Tensor, query: Positions, key: Positions) -> Tensor:
        """Change the scores by tensor operations; see :meth:`scores`.

        Args:
            scores: Scores, (B, H, Lq, Lk).
            queries: Queries, (B, H, Lq, d_h).
            query: Positions of the queries.
            key: Positions of the keys.

        Returns:
            The changed scores, (B, H, Lq, Lk).
        """
        apart = distances(query, key)[:, None]  # (1 | B, 1, Lq, Lk)
        sums = self._sums(scores, apart, query, key)
        products = queries @ self._undivided().mT.to(queries.dtype)  # (sides, B, H, Lq, table)
        added = self._interpolated(products[0], sums)
        if len(products) > 1:
            added = torch.where(apart > 0, self._interpolated(products[1], sums), added)
        return scores + added

    def _sums(self, scores: Tensor, apart: Tensor, query: Positions, key: Positions) -> Tensor:
        """Compute p_ij, (B, H, Lq, Lk). Gates are summed in the order of the keys' positions, not of their indices."""
        gates = torch.sigmoid(scores.to(_computed(scores)))
        if key.ordered and query.absolute is key.absolute:
            upto = gates.cumsum(-1)
            own = upto.diagonal(dim1=-2, dim2=-1)[..., None]
            return torch.where(apart > 0, upto - own, own - upto + gates)
        order = key.absolute.argsort(dim=-1)  # (1 | B, Lk)
        places = order.argsort(dim=-1)
        shape = gates.shape
        ordered = gates.gather(-1, order[:, None, None].expand(shape))
        upto = ordered.cumsum(-1).gather(-1, places[:, None, None].expand(shape))  # g_i1 + … + g_ij
        # The query is one of the keys: the sum up to itself is where the distance is 0.
        own = torch.where(apart == 0, upto, 0).sum(-1, keepdim=True)
        return torch.where(apart > 0, upto - own, own - upto + gates)

    def _interpolated(self, products: Tensor, sums: Tensor) -> Tensor:
        sums = sums.clamp(0, self.last)
        below = sums.detach().floor().clamp(max=self.last - 1)
        share = (sums - below).to(products.dtype)
        rows = below.nan_to_num().long()  # A diverged model has sums that are NaN and therefore not rows.
        return (1 - share) * products.gather(-1, rows) + share * products.gather(-1, rows + 1)


class _Counted(torch.autograd.Function):
    """Adds q_i · E[p_ij] to the scores by compiled loops."""

    @staticmethod
    def forward(context: Any, scores: Tensor, products: Tensor, order: Tensor, places: Tensor) -> Tensor:
        context.save_for_backward(scores, products, order, places)
        counted = torch.empty_like(scores, dtype=_computed(scores))

        def run(rows: slice) -> None:
            given = _numbers(_heads(scores)[rows]), _numbers(_sided(products)[:, rows])
            _loops()[0](*given, *_orders(order, places, scores, rows), _heads(counted)[rows].numpy())

        _in_parallel(run, scores)
        return counted

    @staticmethod
    def backward(context: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        scores, products, order, places = context.saved_tensors
        toward = gradients[0].contiguous()
        of_scores = torch.empty_like(scores, dtype=_computed(scores))
        of_products = torch.zeros_like(products, dtype=_computed(scores))

        def run(rows: slice) -> None:
            given = _numbers(_heads(scores)[rows]), _numbers(_sided(products)[:, rows])
            of_both = _heads(of_scores)[rows].numpy(), _sided(of_products)[:, rows].numpy()
            _loops()[1](*given, *_orders(order, places, scores, rows), _numbers(_heads(toward)[rows]), *of_both)

        _in_parallel(run, scores)
        return of_scores.to(scores.dtype), of_products.to(products.dtype), None, None


def _computed(scores: Tensor) -> torch.dtype:
    """Return the type in which compiled loops compute: single precision, or double if the scores are double."""
    return torch.promote_types(scores.dtype, torch.float32)


def _heads(scores: Tensor) -> Tensor:
    """View (B, H, …) as (B·H, …)."""
    return scores.view(-1, *scores.shape[2:])


def _sided(products: Tensor) -> Tensor:
    """View (sides, B, H, …) as (sides, B·H, …)."""
    return products.view(len(products), -1, *products.shape[3:])


def _numbers(x: Tensor) -> np.ndarray[Any, Any]:
    """Return numbers that compiled loops can read."""
    array: np.ndarray[Any, Any] = x.detach().to(_computed(x)).contiguous().numpy()
    return array


def _orders(order: Tensor, places: Tensor, scores: Tensor, rows: slice) -> tuple[np.ndarray[Any, Any], ...]:
    """Return the order of the keys and the index of each query in it for some heads: (n, Lk) and (n, Lq)."""
    sentences = torch.arange(rows.start, rows.stop) // scores.size(1) % len(order)
    queries = sentences % len(places)
    return order[sentences].numpy(), places[queries].clamp(max=order.size(1) - 1).numpy()


def _in_parallel(run: Callable[[slice], None], scores: Tensor) -> None:
    """Call ``run`` for independent groups of heads, on PyTorch's number of threads."""
    heads, pairs = scores.size(0) * scores.size(1), scores.size(2) * scores.size(3)
    number = max(1, (1 << 17) // max(1, pairs))
    groups = [slice(start, min(start + number, heads)) for start in range(0, heads, number)]
    threads = min(torch.get_num_threads(), len(groups))
    if threads < 2:
        for group in groups:
            run(group)
        return
    with ThreadPoolExecutor(threads) as pool:
        for done in [pool.submit(run, group) for group in groups]:
            done.result()


@cache
def _loops() -> tuple[Callable[..., None], Callable[..., None]]:
    # Imported here because importing numba takes half a second.
    from wordorder.compiled import compiled

    return compiled(_count), compiled(_count_back)


def _count(values: Any, products: Any, order: Any, places: Any, result: Any) -> None:
    """Add q_i · E[p_ij] to scores.

    Args:
        values: Scores, (n, Lq, Lk).
        products: q_i · E of each side, (sides, n, Lq, table).
        order: Keys in the order of their positions, (n, Lk).
        places: Index of each query in that order, (n, Lq).
        result: Output, (n, Lq, Lk).
    """
    heads, queries, keys = values.shape
    sides, last = len(products), products.shape[3] - 1
    for n in range(heads):
        for i in range(queries):
            for side in range(2):
                if side == 0:
                    step, place, count = -1, places[n, i], places[n, i] + 1
                else:
                    step, place, count = 1, places[n, i] + 1, keys - places[n, i] - 1
                if side == sides:  # masked keys
                    for _ in range(count):
                        result[n, i, order[n, place]] = values[n, i, order[n, place]]
                        place += step
                    break
                row = products[side, n, i]
                total, met = 0.0, 0
                while met < count:
                    key = order[n, place]
                    value = values[n, i, key]
                    total += 1 / (1 + math.exp(-value))
                    if not total < last:
                        break
                    below = int(total)
                    share = total - below
                    result[n, i, key] = value + (1 - share) * row[below] + share * row[below + 1]
                    met += 1
                    place += step
                beyond = row[last] + 0 * total  # NaN if a score is NaN
                for _ in range(met, count):
                    result[n, i, order[n, place]] = values[n, i, order[n, place]] + beyond
                    place += step


def _count_back(
    values: Any, products: Any, order: Any, places: Any, toward: Any, of_values: Any, of_products: Any
) -> None:
    """Compute the gradients of scores and products.

    Args:
        values: Scores, (n, Lq, Lk).
        products: q_i · E of each side, (sides, n, Lq, table).
        order: Keys in the order of their positions, (n, Lk).
        places: Index of each query in that order, (n, Lq).
        toward: Gradient of the result, (n, Lq, Lk).
        of_values: Output for the gradient of the scores, (n, Lq, Lk).
        of_products: Output for the gradient of the products, (sides, n, Lq, table), initially 0.
    """
    heads, queries, keys = values.shape
    sides, last = len(products), products.shape[3] - 1
    gates, slopes = np.empty(keys), np.empty(keys)
    for n in range(heads):
        for i in range(queries):
            for side in range(2):
                if side == 0:
                    step, place, count = -1, places[n, i], places[n, i] + 1
                else:
                    step, place, count = 1, places[n, i] + 1, keys - places[n, i] - 1
                if side == sides:
                    for _ in range(count):
                        of_values[n, i, order[n, place]] = toward[n, i, order[n, place]]
                        place += step
                    break
                row, of_row = products[side, n, i], of_products[side, n, i]
                total, met = 0.0, 0
                while met < count:
                    key = order[n, place]
                    gate = 1 / (1 + math.exp(-values[n, i, key]))
                    total += gate
                    if not total < last:
                        break
                    below = int(total)
                    share = total - below
                    given = toward[n, i, key]
                    of_row[below] += (1 - share) * given
                    of_row[below + 1] += share * given
                    gates[met] = gate
                    slopes[met] = given * (row[below + 1] - row[below])
                    met += 1
                    place += step
                far = place
                beyond = 0 * total
                for _ in range(met, count):
                    key = order[n, far]
                    of_values[n, i, key] = toward[n, i, key]
                    beyond += toward[n, i, key]
                    far += step
                of_row[last] += beyond
                # A gate counts for its own key and for all farther keys within the table.
                slope = 0.0
                for each in range(met - 1, -1, -1):
                    place -= step
                    slope += slopes[each]
                    gate = gates[each]
                    key = order[n, place]
                    of_values[n, i, key] = toward[n, i, key] + slope * gate * (1 - gate)


@register(CoPEConfig)
class CoPE(PerLayer):
    """Acts inside every self-attention of the stacks where it is placed."""

    relative = True

    def __init__(self, config: CoPEConfig, shape: Shape) -> None:
        super().__init__(config, shape)
        self._fill(lambda stack: CoPEAttention(config, shape, stack))
