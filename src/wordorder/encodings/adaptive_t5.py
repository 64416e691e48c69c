"""Adaptive-T5 (AT5): a learned curve over soft buckets of distances.

    e_ij = q_i · k_j / √d_h + g_h(u),   r = j - i
    u = 1 - exp(-ReLU(α_h) / S · r)     r > 0
    u = 1 - exp(+ReLU(β_h) / S · r)     r ≤ 0

u grows from 0 at the query to 1 far away; α and β set the rate. g is an MLP 1 → hidden → second_hidden → 1 with
sigmoids and with dropout between the hidden layers. Each head has one MLP per sign of r.

Source: Wu et al. 2021, as their code computes it, with S = 256. No absolute encoding is added. The encoding acts only
in the first layer of each stack. Encoder and decoder have separate curves; the decoder has none for r > 0.
Start: α and β from U[1, 15]; weights from a normal distribution with standard deviation 0.1, truncated at two standard
deviations; biases 0.1; the input bias from U[-√(3/d), √(3/d)].
Promises: relative; works at any length; 1 + 2 · hidden + (hidden + 2) · second_hidden parameters per head in the
decoder, and one more per head and sign in the encoder; d more in the encoder with ``input_bias``.
Departures: the decoder has no last bias, because a softmax ignores a constant that is added to every key. g is computed
once per distance, so that all pairs with one distance share its dropout. The authors drop pair by pair, with one mask
for all sentences of a batch (``dropout_per: pair``). Their encoder also adds a learned vector to the scaled embeddings
(``input_bias: true``), which carries no positions.
"""

from __future__ import annotations

from typing import Annotated, Literal, cast

import torch
from pydantic import Field
from torch import Tensor, nn
from torch.nn import functional
from typing_extensions import override

from wordorder.encodings.base import AttentionEncoding, Encoding, EncodingConfig, Positions, Shape, Stack
from wordorder.encodings.lookup import distances, spread
from wordorder.encodings.registry import register


class AdaptiveT5Config(EncodingConfig):
    """Parameters of an entry with ``type: adaptive_t5``."""

    type: Literal["adaptive_t5"] = "adaptive_t5"
    hidden: Annotated[int, Field(gt=0, description="Size of the first hidden layer; the paper has 16 or 32.")] = 16
    second_hidden: Annotated[int, Field(gt=0, description="Size of the second hidden layer.")] = 4
    dropout: Annotated[float, Field(ge=0, lt=1, description="Rate of dropout between the hidden layers.")] = 0.5
    dropout_per: Literal["distance", "pair"] = Field(
        default="distance",
        description="Share dropout masks between pairs of equal distance, or draw one per pair, as published.",
    )
    input_bias: bool = Field(default=False, description="Add the authors' learned vector to the encoder's embeddings.")
    scale: Annotated[float, Field(gt=0, description="S, the divisor of α and β.")] = 256.0

    @override
    def parameter_count(self, shape: Shape) -> int:
        curve = 1 + 2 * self.hidden + (self.hidden + 1) * self.second_hidden + self.second_hidden
        count = sum(shape.heads * (curve if stack == "decoder" else 2 * (curve + 1)) for stack in self.stacks)
        return count + (shape.dim if self.has_input_bias else 0)

    @property
    def has_input_bias(self) -> bool:
        """Whether the encoder adds the learned vector."""
        return self.input_bias and "encoder" in self.stacks


class AdaptiveT5Attention(AttentionEncoding):
    """The curves of one stack; each parameter has the shape (signs, H, …), r ≤ 0 first. The decoder has only r ≤ 0."""

    needs = frozenset({"bias"})

    def __init__(self, config: AdaptiveT5Config, shape: Shape, stack: Stack) -> None:
        super().__init__()
        self.scale = config.scale
        self.dropout = config.dropout
        self.per_pair = config.dropout_per == "pair"
        curves = (1 if stack == "decoder" else 2, shape.heads)
        self.rate = nn.Parameter(torch.empty(curves).uniform_(1, 15))  # β_h, α_h
        self.weight_1 = _weight(*curves, 1, config.hidden)
        self.bias_1 = _bias(*curves, 1, config.hidden)
        self.weight_2 = _weight(*curves, config.hidden, config.second_hidden)
        self.bias_2 = _bias(*curves, 1, config.second_hidden)
        self.weight_3 = _weight(*curves, 1, config.second_hidden)
        self.bias_3 = None if stack == "decoder" else _bias(*curves, 1)

    @override
    def bias(self, query: Positions, key: Positions) -> Tensor:
        apart = distances(query, key)
        if self.per_pair and self.training and self.dropout:
            # (signs, H, 1 | B, Lq, Lk)
            pairs = self._curves(apart.abs().flatten()).view(*self.rate.shape, *apart.shape)
            return torch.where(apart > 0, pairs[-1], pairs[0]).transpose(0, 1)
        limit = max(query.limit, key.limit)
        values = self._curves(torch.arange(limit, device=apart.device))  # (signs, H, limit)
        rows = apart.abs()
        if len(values) > 1:
            rows = rows + limit * (apart > 0)
        return spread(values.transpose(0, 1).flatten(1), rows)

    def _curves(self, distance: Tensor) -> Tensor:
        """Compute g_h(u) for the distances |r|, (n,), as (signs, H, n)."""
        u = -torch.expm1(-self.rate.relu()[..., None] / self.scale * distance)
        x = torch.sigmoid(u[..., None] * self.weight_1 + self.bias_1)
        x = functional.dropout(x, self.dropout, self.training)
        x = torch.sigmoid(x @ self.weight_2 + self.bias_2)
        # A plain sum stays in single precision where matrix products do not.
        x = (x * self.weight_3).sum(-1)
        return x if self.bias_3 is None else x + self.bias_3


def _weight(*size: int) -> nn.Parameter:
    return nn.Parameter(nn.init.trunc_normal_(torch.empty(size), std=0.1, a=-0.2, b=0.2))


def _bias(*size: int) -> nn.Parameter:
    return nn.Parameter(torch.full(size, 0.1))


@register(AdaptiveT5Config)
class AdaptiveT5(Encoding):
    """Acts inside the first self-attention of the stacks where it is placed."""

    relative = True

    def __init__(self, config: AdaptiveT5Config, shape: Shape) -> None:
        super().__init__(config, shape)
        self.attentions = nn.ModuleDict({stack: AdaptiveT5Attention(config, shape, stack) for stack in config.stacks})
        bound = (3 / shape.dim) ** 0.5
        self.input_bias = (
            nn.Parameter(torch.empty(shape.dim).uniform_(-bound, bound)) if config.has_input_bias else None
        )

    def _add_to_embeddings(self, x: Tensor, positions: Positions, stack: Stack) -> Tensor:
        return x if self.input_bias is None or stack == "decoder" else x + self.input_bias.to(x.dtype)

    def _attention(self, stack: Stack, layer: int) -> AttentionEncoding:
        return cast(AttentionEncoding, self.attentions[stack]) if layer == 0 else self._nothing
