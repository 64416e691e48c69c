"""Attention with linear biases (ALiBi).

    e_ij = q_i · k_j / √d_h - m_h · |i - j|
    m_h = 2^(-8h/H),   h = 1 … H, if H is a power of two. Otherwise the slopes are those of the next lower power of two,
                       followed by every other slope, starting with the first, of the next higher power of two.

The paper describes decoders only. In an encoder, four variants (``sides``) treat keys before and after the query:

| sides     | keys before the query, j < i                                 | keys after the query, j > i             |
|-----------|--------------------------------------------------------------|-----------------------------------------|
| symmetric | -m_h |i - j|                                                 | the same                                |
| masked    | as above with the slopes of H/2 heads, for heads 1 … H/2     | the same for the other heads            |
|           | hidden from the other heads                                  | hidden from heads 1 … H/2               |
| learned   | l_h |i - j|, l_h learned                                     | r_h |i - j|, r_h learned                |
| offset    | -m_h (|i - j| - 1/2)                                         | -m_h |i - j|                            |

Source: Press et al. 2022, section 3. The rule for other H is that of the released code. The first three values of
``sides`` come from the authors (their repository, issue 5), the fourth from Ruoss et al. 2023.
Start: learned slopes l and r from N(-2, 1).
Promises: relative; works at any length; no parameters, except with ``learned``: 2H in the encoder and H in the decoder,
shared by the layers of a stack. With ``symmetric``, a sentence and its mirror image look alike except for the END
token, which stays last and is the only mark of the end. The other values of ``sides`` distinguish them. In the decoder,
``masked`` equals ``symmetric``, because no head can see later keys.
Departures: none.
"""

from __future__ import annotations

from typing import Literal, cast

import torch
from pydantic import Field
from torch import Tensor, nn
from typing_extensions import override

from wordorder.encodings.base import (
    AttentionEncoding,
    Encoding,
    EncodingConfig,
    Positions,
    ScoreFunction,
    Shape,
    Stack,
    sides_of,
)
from wordorder.encodings.lookup import distances
from wordorder.encodings.registry import register
from wordorder.errors import WordorderError

_UNSEEN = -1e9  # per token; not -inf, because a padding query may see only padding on its side

Sides = Literal["symmetric", "masked", "learned", "offset"]


class ALiBiConfig(EncodingConfig):
    """Parameters of an entry with ``type: alibi``."""

    type: Literal["alibi"] = "alibi"
    sides: Sides = Field(
        default="symmetric",
        description="Treatment of keys before and after the query in an encoder; see the table in the module.",
    )

    @override
    def parameter_count(self, shape: Shape) -> int:
        return sum(sides_of(stack) for stack in self.stacks) * shape.heads if self.sides == "learned" else 0


def slopes(heads: int) -> list[float]:
    """Compute the slopes m_1 … m_H."""
    lower = 1 << (heads.bit_length() - 1)
    found: list[float] = [2 ** (-8 * head / lower) for head in range(1, lower + 1)]
    return found if heads == lower else found + slopes(2 * lower)[::2][: heads - lower]


class ALiBiAttention(AttentionEncoding):
    """The bias per token of distance in one stack: ``rises`` has the shape (1 | 2, H), keys before the query first."""

    needs = frozenset({"bias"})
    pairwise = True
    rises: Tensor

    def __init__(self, config: ALiBiConfig, heads: int, stack: Stack) -> None:
        super().__init__()
        self.offset = 0.5 if config.sides == "offset" else 0.0
        sides = sides_of(stack)
        if config.sides == "learned":
            self.rises = nn.Parameter(torch.randn(sides, heads) - 2)
            return
        rises = -torch.tensor(slopes(heads))[None]  # (1, H)
        if config.sides == "masked" and stack == "encoder":
            half = torch.tensor(slopes(heads // 2))
            unseen = torch.full_like(half, _UNSEEN)
            rises = torch.stack((torch.cat((-half, unseen)), torch.cat((unseen, -half))))
            self.hides = True
        self.register_buffer("rises", rises, persistent=False)

    @override
    def bias(self, query: Positions, key: Positions) -> Tensor:
        return self.of(distances(query, key))

    def of(self, apart: Tensor) -> Tensor:
        """Compute the bias for distances.

        Args:
            apart: Distances j - i, (1 | B, Lq, Lk).

        Returns:
            The bias, (1 | B, H, Lq, Lk).
        """
        apart = apart[:, None]
        before, behind = self.rises[0, :, None, None], self.rises[-1, :, None, None]
        if not self.offset and len(self.rises) == 1:
            return before * apart.abs().to(before.dtype)
        return torch.where(apart < 0, before * (-apart - self.offset), behind * apart)

    @override
    def score_function(self, queries: Tensor, query: Positions, key: Positions) -> ScoreFunction:
        sentences = len(queries)
        rows, columns = query.absolute.expand(sentences, -1), key.absolute.expand(sentences, -1)

        def score(value: Tensor, sentence: Tensor, head: Tensor, row: Tensor, column: Tensor) -> Tensor:
            apart = columns[sentence, column] - rows[sentence, row]
            before, behind = self.rises[0, head], self.rises[-1, head]
            return value + torch.where(apart < 0, before * (-apart - self.offset), behind * apart)

        return score


@register(ALiBiConfig)
class ALiBi(Encoding):
    """Acts inside every self-attention of the stacks where it is placed."""

    relative = True

    def __init__(self, config: ALiBiConfig, shape: Shape) -> None:
        super().__init__(config, shape)
        if config.sides == "masked" and "encoder" in config.stacks and shape.heads % 2:
            raise WordorderError(
                "The encoding 'alibi' with 'sides: masked' needs an even number of heads, because half of them see "
                f"each side, but the size has {shape.heads}. Choose another number of heads in sizes.yaml, or other "
                "sides.",
                code="unfit-size",
                key="heads",
                found=shape.heads,
            )
        self.biases = nn.ModuleDict({stack: ALiBiAttention(config, shape.heads, stack) for stack in config.stacks})

    def _attention(self, stack: Stack, layer: int) -> AttentionEncoding:
        return cast(AttentionEncoding, self.biases[stack])
