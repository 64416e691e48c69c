"""Encodings outside a translation model: their vectors, their effect on attention, and their use in one's own model.

Shapes: B batch, L length, H heads, d model size, d_h head size.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, get_args

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from wordorder.draws import repeatable
from wordorder.encodings.base import Encoding, Positions, Shape, Stack
from wordorder.encodings.registry import build, parse
from wordorder.errors import WordorderError, unknown_name
from wordorder.model.attention.base import WeightsReader, attend
from wordorder.model.attention.multihead import merge_heads, split_heads
from wordorder.model.masks import causal_mask
from wordorder.wording import count_of


def build_encoding(entry: str | Mapping[str, Any], *, dim: int, heads: int, layers: int = 1) -> Encoding:
    """Build an encoding for a model of your own.

    Args:
        entry: A type such as ``"rope"``, or an entry as in encodings.yaml, ``{"type": "opr", "k": 8}``.
        dim: The model size d.
        heads: The number of attention heads H.
        layers: The number of layers with self-attention.

    Returns:
        A module; make it part of your model, so that its parameters are trained.

    Raises:
        WordorderError: There is no such type, or a parameter or a number is wrong.
    """
    if not isinstance(entry, str | Mapping):
        raise WordorderError(
            f"The argument 'entry' is {entry!r}, but must be the name of a type, such as 'rope', or a dictionary, such "
            "as {'type': 'opr', 'k': 8}.",
            code="not-an-entry",
            key="entry",
            found=entry,
        )
    config = parse(_plain({"type": entry} if isinstance(entry, str) else entry))
    depth = _whole("layers", layers)
    return build(config, Shape(_whole("dim", dim), _whole("heads", heads), depth, depth))


def _plain(value: Any) -> Any:
    """Convert the NumPy numbers of an entry to those of Python."""
    if isinstance(value, Mapping):
        return {key: _plain(own) for key, own in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(own) for own in value]
    return value.item() if isinstance(value, np.generic) else value


def _whole(name: str, value: Any) -> int:
    """Return a positive whole number, which may be one of NumPy."""
    if not isinstance(value, int | np.integer) or value < 1:
        raise WordorderError(
            f"The argument '{name}' is {value!r}, but must be a positive whole number.",
            code="out-of-range",
            key=name,
            found=value,
        )
    return int(value)


def _check_stack(stack: str) -> None:
    if stack not in get_args(Stack):
        raise unknown_name("There is no stack", stack, get_args(Stack), "stacks", key="stack")


def positions(encoding: Encoding, tokens: Tensor, *, offset: int = 0, lengths: Tensor | None = None) -> Positions:
    """Return the positions of the tokens of a batch, for one pass through the model.

    Args:
        encoding: The encoding, which may draw random positions in training.
        tokens: Token numbers, (B, L) int64.
        offset: The position of the first token.
        lengths: The number of tokens of each sentence without padding, (B,) int64, as in an encoder. None if it is not
            yet known, as in a decoder. Encodings such as 'number' and 'randomized' depend on it.

    Raises:
        WordorderError: The encoding has fewer positions, or there is not one length per sentence.
    """
    length = tokens.size(1)
    if lengths is not None and lengths.shape != (len(tokens),):
        raise WordorderError(
            f"The argument 'lengths' has the shape {tuple(lengths.shape)}, but must have ({len(tokens)},): one number "
            "of tokens per sentence.",
            code="wrong-shape",
            key="lengths",
            found=tuple(lengths.shape),
            expected=(len(tokens),),
        )
    limit = encoding.limit("decoder" if lengths is None else "encoder")
    if limit is not None and offset + length > limit:
        raise WordorderError(
            f"The encoding '{encoding.config.type}' has {limit} positions, but the tokens need {offset + length}. "
            "Shorten the sequences, or raise the size of the encoding's table.",
            code="too-few-positions",
            found=offset + length,
            expected=limit,
        )
    drawn = encoding.draw(len(tokens))
    return replace(
        Positions.range(length, offset=offset, on=tokens.device),
        tokens=tokens,
        drawn=None if drawn is None else drawn.to(tokens.device),
        lengths=None if lengths is None else lengths[:, None].to(tokens.device),
    )


def embed(encoding: Encoding, embeddings: Tensor, positions: Positions, *, stack: Stack = "decoder") -> Tensor:
    """Apply what an encoding does to embeddings.

    Args:
        encoding: The encoding.
        embeddings: Token embeddings, (B, L, d). A Transformer scales them by √d first.
        positions: Positions of the tokens.
        stack: "decoder" for a model that reads from left to right, otherwise "encoder". Sentences of an encoder whose
            lengths were not given have L tokens each.

    Returns:
        Embeddings of the same shape, unchanged if the encoding acts only in attention.

    Raises:
        WordorderError: The encoding was built for another model size d, or there is no such stack.
    """
    _check_stack(stack)
    _check_width(encoding, embeddings=embeddings)
    positions = _with_lengths(positions, embeddings) if stack == "encoder" else positions
    return encoding.transform_embeddings(encoding.add_to_embeddings(embeddings, positions, stack), positions, stack)


def _check_width(encoding: Encoding, **tensors: Tensor) -> None:
    for name, tensor in tensors.items():
        if tensor.size(-1) != encoding.shape.dim:
            raise WordorderError(
                f"The argument '{name}' has vectors of {tensor.size(-1)} numbers, but the encoding was built for "
                f"{encoding.shape.dim}. Give 'build_encoding' the size of your model: dim={tensor.size(-1)}.",
                code="wrong-shape",
                key=name,
                found=tensor.size(-1),
                expected=encoding.shape.dim,
            )


def _with_lengths(positions: Positions, x: Tensor) -> Positions:
    """Give sentences of an encoder, (B, L, d), L tokens each unless their lengths are known."""
    if positions.lengths is not None or positions.sentences is not None:
        return positions
    return replace(positions, lengths=positions.absolute.new_full((len(x), 1), x.size(1)))


def _padding_mask(positions: Positions, length: int) -> Tensor | None:
    """Return -inf at the keys after the end of each sentence, (B, 1, 1, L), or None if lengths are not known."""
    if positions.lengths is None:
        return None
    keys = torch.arange(length, device=positions.lengths.device)
    hidden = keys >= positions.lengths
    return torch.zeros(hidden.shape, device=hidden.device).masked_fill(hidden, -math.inf)[:, None, None]


def attention(
    encoding: Encoding,
    queries: Tensor,
    keys: Tensor,
    values: Tensor,
    positions: Positions,
    *,
    layer: int = 0,
    inputs: Tensor | None = None,
    causal: bool = True,
    weights_reader: WeightsReader | None = None,
) -> Tensor:
    """Compute self-attention with everything that an encoding does inside it.

    Args:
        encoding: The encoding.
        queries: Projected queries, (B, L, d); the function splits them into heads.
        keys: Projected keys, (B, L, d).
        values: Projected values, (B, L, d).
        positions: Positions of the tokens.
        layer: The layer, from 0; one of those for which the encoding was built.
        inputs: What was projected, (B, L, d); only encodings with gates need it.
        causal: Let a token attend to itself and earlier tokens only. If False, tokens attend to all tokens of their
            sentence, but not to padding; sentences whose lengths were not given have L tokens each.
        weights_reader: Called with the attention weights, (B, H, L, L).

    Returns:
        The concatenated heads before the output projection, (B, L, d).

    Raises:
        WordorderError: The encoding needs ``inputs``, or other inputs for each head, or was built for another model
            size or fewer layers.
    """
    _check_width(encoding, queries=queries, keys=keys, values=values)
    layers = encoding.shape.decoder_layers if causal else encoding.shape.encoder_layers
    if not 0 <= layer < layers:
        raise WordorderError(
            f"The argument 'layer' is {layer}, but the encoding was built for {count_of(layers, 'layer')}, numbered "
            "from 0. Give 'build_encoding' the number of layers of your model, such as layers=6.",
            code="out-of-range",
            key="layer",
            found=layer,
            expected=layers - 1,
        )
    positions = positions if causal else _with_lengths(positions, queries)
    own = encoding.attention("decoder" if causal else "encoder", layer)
    if "head_inputs" in own.needs or ("gates" in own.needs and inputs is None):
        needed = "an input of its own for each group of heads" if "head_inputs" in own.needs else "'inputs'"
        raise WordorderError(
            f"The encoding '{encoding.config.type}' needs {needed}, which this attention does not have. "
            "Use wordorder.model.attention.multihead.SelfAttention, or another encoding.",
            code="no-place-for-encoding",
            found=encoding.config.type,
        )
    if inputs is not None and "gates" in own.needs:
        positions = replace(positions, state=own.gates(inputs, positions))
    split = [split_heads(each, encoding.shape.heads) for each in (queries, keys, values)]
    rotated, rotated_keys = own.rotate(split[0], split[1], positions)
    context = attend(
        rotated,
        rotated_keys,
        own.values(split[2], positions),
        mask=causal_mask(queries.size(1), on=queries.device) if causal else _padding_mask(positions, queries.size(1)),
        dropout_probability=0.0,
        training=encoding.training,
        encoding=own,
        query=positions,
        key=positions,
        unrotated=split[0],
        weights_reader=weights_reader,
    )
    return merge_heads(context)


@torch.no_grad()
def attention_weights(
    encoding: Encoding, length: int, *, layer: int = 0, causal: bool = False, seed: int = 1
) -> Tensor:
    """Compute the attention of equal tokens, in which only positions make a difference.

    All tokens have the same random query, key and value, so that an encoding that does nothing gives equal weights.
    What the encoding does to embeddings takes part: queries and keys are those of the marked embeddings. The encoding
    is in evaluation mode meanwhile.

    Args:
        encoding: The encoding.
        length: The number of tokens L.
        layer: The layer, from 0.
        causal: Let a token attend to itself and earlier tokens only.
        seed: The seed of the token's vector and of random positions.

    Returns:
        Attention weights, (H, L, L); row i has the weights of query i.

    Raises:
        WordorderError: The length is not a positive number, or the encoding has fewer positions or layers.
    """
    length = _whole("length", length)
    generator = torch.Generator().manual_seed(seed)
    vector = torch.randn(1, 1, encoding.shape.dim, generator=generator).expand(1, length, -1)
    tokens = torch.zeros(1, length, dtype=torch.int64)
    stack: Stack = "decoder" if causal else "encoder"
    trained = encoding.training
    encoding.eval()
    try:
        with repeatable(seed):
            places = positions(encoding, tokens, lengths=None if causal else torch.tensor([length]))
            return _weights(encoding, vector, places, layer, stack)
    finally:
        encoding.train(trained)


def _weights(encoding: Encoding, vector: Tensor, places: Positions, layer: int, stack: Stack) -> Tensor:
    if encoding.config.needs_reordered:  # as if the source were in target order already
        places = places.with_reordered(places.absolute)
    x = embed(encoding, vector, places, stack=stack)
    found: list[Tensor] = []
    causal = stack == "decoder"
    attention(encoding, x, x, x, places, layer=layer, inputs=x, causal=causal, weights_reader=found.append)
    return found[0][0]


def similarity(encoding: Encoding, length: int, *, stack: Stack = "encoder") -> Tensor | None:
    """Compute the cosine similarity of the vectors of positions.

    Args:
        encoding: The encoding; ``encoding.table(length)`` has the vectors themselves.
        length: The number of positions L.
        stack: The stack whose vectors are compared.

    Returns:
        Similarities, (L, L), or None if the encoding gives no vector to a position.

    Raises:
        WordorderError: There is no such stack, or the length is not a positive number.
    """
    _check_stack(stack)
    table = encoding.table(_whole("length", length), stack)
    if table is None:
        return None
    unit = functional.normalize(table, dim=-1)
    return unit @ unit.T
