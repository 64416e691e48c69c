"""Count the matrix products of a training step, and measure how fast this process computes them."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

import torch

from wordorder.model.architectures.transformer import TransformerSize
from wordorder.training.batches import Indices

TYPES = {"fp32": torch.float32, "bf16": torch.bfloat16}


class Product(NamedTuple):
    """A number of equal matrix products: ``times`` times ``batch`` of (m, k) x (k, n)."""

    times: int
    batch: int
    m: int
    k: int
    n: int


def model_flops(size: TransformerSize, vocabulary: int, source: Indices, target: Indices) -> int:
    """Count the floating-point operations of one update on sentences of the given lengths, END included.

    Padding is not counted.

    A weight is multiplied and added once for every token that meets it, so, forward, with d the model size, f that of
    the feed-forward layers, e and r encoder and decoder layers:

        2 · source tokens · (e · (4d² + 2df) + r · 2d²)         the cross-attention's keys and values are source tokens
        2 · target tokens · (r · (6d² + 2df) + d · vocabulary)
        2 · 2d · Σ over sentences of (e·S² + r·T² + r·S·T)      scores, and sums weighted by them; nothing is saved by
                                                                the causal mask

    The backward pass has two products of the same size for each of these, hence three times the sum.
    """
    d, f, e, r = size.dim, size.ffn_dim, size.encoder_layers, size.decoder_layers
    of_source = e * (4 * d * d + 2 * d * f) + r * 2 * d * d
    of_target = r * (6 * d * d + 2 * d * f) + d * vocabulary
    pairs = e * (source**2).sum() + r * (target**2).sum() + r * (source * target).sum()
    return 3 * 2 * int(of_source * source.sum() + of_target * target.sum() + 2 * d * pairs)


def products(size: TransformerSize, vocabulary: int, sentences: int, source: int, target: int) -> list[Product]:
    """List the matrix products of one forward pass over a batch without padding."""
    d, f, e, r = size.dim, size.ffn_dim, size.encoder_layers, size.decoder_layers
    heads, d_h = sentences * size.heads, size.dim // size.heads
    found = []
    for layers, tokens, length in ((e, sentences * source, source), (r, sentences * target, target)):
        found += [
            Product(layers, 1, tokens, d, 3 * d),
            Product(layers, heads, length, d_h, length),
            Product(layers, heads, length, length, d_h),
            Product(layers, 1, tokens, d, d),
            Product(layers, 1, tokens, d, f),
            Product(layers, 1, tokens, f, d),
        ]
    return [
        *found,
        Product(2 * r, 1, sentences * target, d, d),  # cross-attention: queries and output
        Product(r, 1, sentences * source, d, 2 * d),
        Product(r, heads, target, d_h, source),
        Product(r, heads, target, source, d_h),
        Product(1, 1, sentences * target, d, vocabulary),
    ]


def fastest(function: Callable[[], object], repeats: int) -> float:
    """Return the seconds of the fastest call, after a warm-up call."""
    times = []
    for _ in range(repeats + 1):
        started = time.perf_counter()
        function()
        times.append(time.perf_counter() - started)
    return min(times[1:])


def square_rate(precision: str, width: int = 2048, repeats: int = 3) -> float:
    """Measure the FLOP/s of a large matrix product with the settings of this process."""
    left, right = torch.randn(2, width, width).to(TYPES[precision])
    return 2 * width**3 / fastest(lambda: left @ right, repeats)


def products_rate(precision: str, shapes: Sequence[Product], repeats: int = 2) -> float:
    """Measure the FLOP/s of a training step that consists of these products only, forward and backward."""
    operations, seconds = 0, 0.0
    for times, batch, m, k, n in shapes:
        # The shapes of a linear layer: x (m, k), weight (n, k), gradient (m, n).
        shape = (batch,) if batch > 1 else ()
        x, weight, gradient = (torch.randn(*shape, *last).to(TYPES[precision]) for last in ((m, k), (n, k), (m, n)))
        for left, right in ((x, weight.mT), (gradient, weight), (gradient.mT, x)):
            seconds += times * fastest(partial(torch.matmul, left, right), repeats)
        operations += times * 3 * 2 * batch * m * k * n
    return operations / seconds
