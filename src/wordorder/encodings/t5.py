"""Relative positions of T5: one learned number per bucket of distances.

    e_ij = q_i · k_j / √d_h + t_h[bucket(j - i)]
    bucket(r), with n buckets and distances |r| < m distinguished:
        |r|                                                             |r| < n/2
        min(n/2 + ⌊log(|r| / (n/2)) / log(m / (n/2)) · n/2⌋, n - 1)     beyond

Source: Raffel et al. 2020 (T5), section 2.1; the bucket's formula is that of the released code. The encoder uses half
of the buckets for keys up to the query and the other half for later keys, n = buckets / 2 each. The decoder uses all of
them for keys up to the query. The Adaptive-T5 paper compares with 64 buckets. T5 has one table per stack, umT5 (Chung
et al. 2023) one per layer (``tables``).
Start: normal with standard deviation d^-1/2, as in T5's code.
Departures: T5 omits the division by √d_h, but starts W_Q smaller by the same factor.
Promises: relative; works at any length (distances from m on share one bucket); buckets · H parameters per stack, or
with ``tables: per_layer`` per layer. As in T5, the encoder never meets its first bucket for later keys, that of
distance 0.
"""

from __future__ import annotations

import math
from typing import Annotated, Literal, cast

import torch
from pydantic import Field, model_validator
from torch import Tensor, nn
from torch.nn import functional
from typing_extensions import override

from wordorder.encodings.base import AttentionEncoding, Encoding, EncodingConfig, Positions, Shape, Stack
from wordorder.encodings.lookup import distances, spread
from wordorder.encodings.registry import register


class T5Config(EncodingConfig):
    """Parameters of an entry with ``type: t5``."""

    type: Literal["t5"] = "t5"
    buckets: Annotated[int, Field(ge=4, multiple_of=2, description="Number of buckets.")] = 32
    max_distance: Annotated[
        int, Field(gt=0, description="m, the distance in tokens from which all distances share one bucket.")
    ] = 128
    tables: Annotated[
        Literal["shared", "per_layer"], Field(description="Use one table for all layers of a stack, or one per layer.")
    ] = "shared"

    @model_validator(mode="after")
    def _reaches_beyond_the_exact_buckets(self) -> T5Config:
        if self.max_distance <= self.buckets // 2:
            raise ValueError(
                "max_distance must exceed half of buckets, because that many distances have their own bucket"
            )
        return self

    @override
    def parameter_count(self, shape: Shape) -> int:
        tables = sum(1 if self.tables == "shared" else shape.layers(stack) for stack in self.stacks)
        return tables * self.buckets * shape.heads


def bucket(distance: int, *, buckets: int, max_distance: int, causal: bool) -> int:
    """Find the bucket of a distance.

    Args:
        distance: j - i, the distance in tokens of a key after the query.
        buckets: Number of buckets.
        max_distance: Distance from which all distances share one bucket.
        causal: Whether no key is later than the query.

    Returns:
        The bucket, 0 … buckets - 1.
    """
    count = buckets if causal else buckets // 2
    first = count if distance > 0 and not causal else 0
    apart = max(-distance, 0) if causal else abs(distance)
    exact = count // 2
    if apart < exact:
        return first + apart
    # The small number keeps a logarithm that is an integer from being rounded down.
    share = math.log(apart / exact) / math.log(max_distance / exact) + 1e-12
    return first + min(exact + math.floor(share * (count - exact)), count - 1)


class T5Attention(AttentionEncoding):
    """The table of one stack, (buckets, H)."""

    needs = frozenset({"bias"})
    bucket_of: Tensor  # of the distances -max_distance … max_distance, in the decoder … 0

    def __init__(self, config: T5Config, shape: Shape, stack: Stack) -> None:
        super().__init__()
        self.first = -config.max_distance
        self.last = 0 if stack == "decoder" else config.max_distance
        self.table = nn.Parameter(torch.empty(config.buckets, shape.heads).normal_(std=shape.dim**-0.5))
        buckets = [
            bucket(each, buckets=config.buckets, max_distance=config.max_distance, causal=stack == "decoder")
            for each in range(self.first, self.last + 1)
        ]
        self.register_buffer("bucket_of", torch.tensor(buckets), persistent=False)

    @override
    def bias(self, query: Positions, key: Positions) -> Tensor:
        values = functional.embedding(self.bucket_of, self.table).t()  # (H, distances)
        return spread(values, distances(query, key).clamp(self.first, self.last) - self.first)


@register(T5Config)
class T5(Encoding):
    """Acts inside every self-attention of the stacks where it is placed."""

    relative = True

    def __init__(self, config: T5Config, shape: Shape) -> None:
        super().__init__(config, shape)
        shared = config.tables == "shared"
        self.attentions = nn.ModuleDict(
            {
                stack: T5Attention(config, shape, stack)
                if shared
                else nn.ModuleList(T5Attention(config, shape, stack) for _ in range(shape.layers(stack)))
                for stack in config.stacks
            }
        )

    def _attention(self, stack: Stack, layer: int) -> AttentionEncoding:
        found = self.attentions[stack]
        return cast(AttentionEncoding, found[layer] if isinstance(found, nn.ModuleList) else found)
