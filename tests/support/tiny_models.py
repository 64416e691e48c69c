"""Tiny Transformers around any encoding, and random sentences for them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import torch
from pydantic import ValidationError
from torch import Tensor

from wordorder.config.load import load_encodings
from wordorder.config.models import Recipe
from wordorder.config.sizes import ArchitectureSize
from wordorder.draws import repeatable
from wordorder.encodings.base import Encoding, EncodingConfig, Positions, Stack
from wordorder.encodings.compose import ComposedConfig
from wordorder.encodings.registry import build, encoding_types, parse
from wordorder.model.architectures.base import architecture_of
from wordorder.model.architectures.prefix_lm import PrefixLMSize
from wordorder.model.architectures.transformer import Memory, Transformer, TransformerSize
from wordorder.model.batch import PAD

CONFIG = Path(__file__).parents[2] / "config"
SIZE = TransformerSize(encoder_layers=2, decoder_layers=2, dim=16, ffn_dim=24, heads=4, dropout=0.3)
PREFIX_LM = PrefixLMSize(architecture="prefix_lm", layers=2, dim=16, ffn_dim=24, heads=4, dropout=0.3)
VOCABULARY = 23


def configurations() -> dict[str, EncodingConfig]:
    """Every encoding there is: each type with its defaults, and the entries of encodings.yaml that differ from them.

    Not those that are points of a sweep, such as opr_16 and headxl_8: another number for larger models, the same code.
    """
    found = {name: parse({"type": name}) for name in encoding_types()}
    for name, config in load_encodings(CONFIG).items():
        if re.search(r"_\d+(_rpr)?$", name):
            continue
        # The tests place encodings themselves.
        if config not in found.values() and config.model_copy(update={"placement": "both"}) not in found.values():
            found[name if name not in found else f"{name} (encodings.yaml)"] = config
    return found


def types() -> dict[str, EncodingConfig]:
    """Each type of encoding with its defaults, which is tested in every model; variants are tested in one of them."""
    return {name: config for name, config in configurations().items() if name == config.type}


def parts(config: EncodingConfig) -> list[EncodingConfig]:
    return list(config.compose) if isinstance(config, ComposedConfig) else [config]


def placed(config: EncodingConfig, stack: Stack) -> EncodingConfig | None:
    """Return the same encoding in one stack only, or None if it cannot be placed there."""
    try:
        if isinstance(config, ComposedConfig):
            own = [placed(part, stack) for part in config.compose]
            return None if None in own else config.model_copy(update={"compose": tuple(own)})
        return type(config).model_validate({**config.model_dump(), "placement": stack})
    except ValidationError:
        return None


def around(
    encoding: Encoding, *, size: ArchitectureSize = SIZE, vocabulary: int = VOCABULARY, **recipe: Any
) -> Transformer:
    """A model with random numbers also where a new one has zeros and ones, in evaluation mode.

    What its encoding draws in evaluation is the same in every pass, so that passes can be compared.
    """
    draw = encoding.draw

    def draw_again(count: int) -> Tensor | None:
        with nullcontext() if encoding.training else repeatable(0):
            return draw(count)

    encoding.draw = draw_again  # type: ignore[method-assign]
    model: Any = architecture_of(size)(size, Recipe(max_updates=1, **recipe), encoding, vocabulary)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.2 * torch.randn_like(parameter))
    return model.eval()


def tiny_model(config: EncodingConfig, *, seed: int = 0, size: ArchitectureSize = SIZE, **recipe: Any) -> Transformer:
    torch.manual_seed(seed)
    return around(build(config, architecture_of(size).shape(size)), size=size, **recipe)


def without_encoding(model: Transformer, **recipe: Any) -> Transformer:
    """Return a copy with the same weights and the encoding 'none'."""
    copy = tiny_model(parse({"type": "none"}), **recipe)
    copy.load_state_dict({name: value for name, value in model.state_dict().items() if "encoding." not in name})
    return copy


def sentences(lengths: Sequence[int], *, seed: int = 0, padding: int = 0) -> Tensor:
    """Generate random ordinary subwords, (B, longest + padding), padded on the right."""
    generator = torch.Generator().manual_seed(seed)
    tokens = torch.randint(4, VOCABULARY, (len(lengths), max(lengths) + padding), generator=generator)
    return tokens.masked_fill(torch.arange(tokens.size(1)) >= torch.tensor(lengths)[:, None], PAD)


def positions_of(tokens: Tensor, *, offset: int = 0) -> Positions:
    """Return positions offset, offset + 1, …; the target order of each sentence is reversed."""
    width = tokens.size(1)
    places = torch.arange(width).expand_as(tokens)
    lengths = (tokens != PAD).sum(1, keepdim=True)
    reordered = torch.where(places < lengths, lengths - 1 - places, places)
    return Positions.range(width, offset=offset).with_reordered(reordered + offset)


def seen(memory: Memory) -> Tensor:
    """Return all source tensors that a decoder reads, (layers · 2, B, H, S, d_h)."""
    return torch.stack([tensor for pair in memory.keys_values for tensor in pair])


def full(model: Transformer, source: Tensor, target: Tensor) -> Tensor:
    hidden: Tensor = model(source, target, source_positions=positions_of(source))
    return hidden


def step_by_step(model: Transformer, target: Tensor, memory: Memory, *, offset: int = 0) -> Tensor:
    """Compute the hidden states of :meth:`Transformer.decode`, (B, T, d), token by token."""
    caches = model.new_caches()
    offset = 0 if model.one_stream else offset  # where positions continue those of the source, they are shifted already
    steps = [model.step(target[:, i : i + 1], memory, caches, offset + i) for i in range(target.size(1))]
    return torch.cat(steps, dim=1)
