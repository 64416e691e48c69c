"""The base class of encodings with a separate effect in each layer."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

from torch import nn

from wordorder.encodings.base import AttentionEncoding, Encoding, EncodingConfig, Shape, Stack


class PerLayer(Encoding):
    """An encoding with a separate effect inside the self-attention of each layer.

    Attributes:
        layers: The effects on the layers of each stack. It is empty until a subclass fills it.
    """

    def __init__(self, config: EncodingConfig, shape: Shape) -> None:
        super().__init__(config, shape)
        self.layers = nn.ModuleDict()

    def _fill(self, create: Callable[[Stack], AttentionEncoding]) -> None:
        """Create the effects on all layers of the stacks where the encoding is placed, one after another."""
        for stack in self.config.stacks:
            self.layers[stack] = nn.ModuleList(create(stack) for _ in range(self.shape.layers(stack)))

    def _attention(self, stack: Stack, layer: int) -> AttentionEncoding:
        return cast(AttentionEncoding, cast(nn.ModuleList, self.layers[stack])[layer])
