"""Checks that a model has the hooks that its encoding uses. An encoding without any effect is rejected."""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast

from torch import nn

from wordorder.encodings.base import PLACES, AttentionEncoding, Encoding, Stack
from wordorder.encodings.compose import Composed
from wordorder.errors import WordorderError

_STACKS: tuple[Stack, ...] = ("encoder", "decoder")


def acts(attention: AttentionEncoding) -> bool:
    """Return whether an encoding does anything at all inside one attention."""
    return bool(attention.needs)


def refuse_attention(encoding: Encoding, architecture: str) -> None:
    """Reject an encoding that acts inside attention for a model whose attention has no hooks.

    Args:
        encoding: The encoding.
        architecture: The name of the architecture.

    Raises:
        WordorderError: The encoding acts inside attention.
    """
    for part in _parts(encoding):
        if part.inside_attention():
            raise WordorderError(
                f"The encoding '{part.config.type}' acts inside the attention of a Transformer, but the size's "
                f"architecture is '{architecture}', where an encoding can act only at the embeddings. Choose an "
                "encoding of the embeddings, such as 'none' or 'sinusoidal', or the size of a Transformer.",
                code="no-place-for-encoding",
                found=part.config.type,
            )


def refuse_idle(encoding: Encoding, *, cross: bool = True) -> None:
    """Reject an encoding that acts inside attention, if the model has no such attention.

    An encoding with trainable parameters for missing attention is also rejected, because nothing would train them.

    Args:
        encoding: The encoding of the model.
        cross: Whether the decoder has an attention to the source.

    Raises:
        WordorderError: The encoding has no hook in the model.
    """
    for part in _parts(encoding):
        inside = list(_attentions(part, cross=cross))
        if part.inside_attention() and not any(map(acts, inside)):
            if not cross and any(map(acts, _attentions(part, cross=True))):
                raise _no_cross(part)
            given = next((type(each).__name__ for each in inside if each is not part._nothing), None)
            raise _idle(part, "acts only in") if given is None else _silent(part, given)
        used = {id(module) for attention in inside for module in attention.modules()}
        own = (module for module in part.modules() if isinstance(module, AttentionEncoding) and id(module) not in used)
        if any(True for module in own for _ in module.parameters()):
            if not part.inside_attention():
                raise _unused(part)
            raise _idle(part, "has trainable parameters for")


def refuse_untrained(model: nn.Module, encoding: Encoding, *, one_stream: bool) -> None:
    """Reject a model with trainable parameters that its first update does not train.

    Exempt are the parameters for source queries in the last layer of a model with one stream: only keys and values of
    source tokens are read there, and the table of each layer serves models of all architectures.

    Args:
        model: The model after the backward passes of an update.
        encoding: The encoding of the model.
        one_stream: Whether the model reads source and target as one stream.

    Raises:
        WordorderError: A parameter has no gradient.
    """
    last = encoding.shape.encoder_layers - 1
    unread = [part.attention("encoder", last) for part in _parts(encoding)] if one_stream else []
    exempt = {parameter for attention in unread for parameter in attention.parameters()}
    idle = [
        name
        for name, parameter in model.named_parameters()
        if parameter.requires_grad and parameter.grad is None and parameter not in exempt
    ]
    if idle:
        others = f" and {len(idle) - 1} other parameters" if len(idle) > 1 else ""
        raise WordorderError(
            f"Nothing trains '{idle[0]}'{others} of the model with the encoding '{encoding.config.type}': the first "
            "update gave no gradient. Create parameters only for the stacks and layers that read them (an encoding "
            "acts in the stacks of 'config.stacks'), or set their 'requires_grad' to False.",
            code="no-place-for-encoding",
            key=idle[0],
            found=encoding.config.type,
        )


def refuse_rotation_of_one_side(encoding: Encoding) -> None:
    """Reject a rotation of only source or only target tokens for a model in which they form one stream.

    Args:
        encoding: The encoding of the model.

    Raises:
        WordorderError: The encoding rotates the tokens of one side only.
    """
    for part in _parts(encoding):
        sides = [
            {layer for layer in range(part.shape.layers(stack)) if "rotate" in part.attention(stack, layer).needs}
            for stack in _STACKS
        ]
        if sides[0] != sides[1]:
            raise WordorderError(
                f"The encoding '{part.config.type}' with 'placement: {part.config.placement}' rotates the tokens of "
                "one side only, but in a prefix language model target queries meet source keys, whose products then "
                "mean nothing. Use 'placement: both', or the size of a Transformer.",
                code="no-place-for-encoding",
                key="placement",
                found=part.config.placement,
                expected="both",
            )


def _unused(encoding: Encoding) -> WordorderError:
    return WordorderError(
        f"The encoding '{encoding.config.type}' has an AttentionEncoding with trainable parameters, but overrides "
        "neither '_attention' nor '_cross_attention', so that no attention uses it. Return it from one of them.",
        code="no-place-for-encoding",
        found=encoding.config.type,
    )


def _no_cross(encoding: Encoding) -> WordorderError:
    return WordorderError(
        f"The encoding '{encoding.config.type}' acts between target and source, but the size's architecture has one "
        "stream and no attention of its own to the source. Choose another encoding, or the size of a Transformer.",
        code="no-place-for-encoding",
        found=encoding.config.type,
    )


def _idle(encoding: Encoding, what: str) -> WordorderError:
    shape, placement = encoding.shape, encoding.config.placement
    return WordorderError(
        f"The encoding '{encoding.config.type}' with 'placement: {placement}' {what} layers that the size does not "
        f"have (encoder_layers: {shape.encoder_layers}, decoder_layers: {shape.decoder_layers}). Give the encoding "
        "another placement, or choose another encoding or size.",
        code="no-place-for-encoding",
        found=encoding.config.type,
    )


def _silent(encoding: Encoding, given: str) -> WordorderError:
    return WordorderError(
        f"The encoding '{encoding.config.type}' gives attention a '{given}', which overrides none of the places of "
        f"AttentionEncoding: {', '.join(PLACES)}. Is the name of a method misspelt?",
        code="no-place-for-encoding",
        found=given,
    )


def _attentions(encoding: Encoding, *, cross: bool) -> Iterator[AttentionEncoding]:
    """Iterate over the encoding's parts in each existing attention."""
    for stack in _STACKS:
        for layer in range(encoding.shape.layers(stack)):
            yield encoding.attention(stack, layer)
    if cross:
        for layer in range(encoding.shape.decoder_layers):
            yield encoding.cross_attention(layer)


def _parts(encoding: Encoding) -> list[Encoding]:
    return cast(list[Encoding], list(encoding.parts)) if isinstance(encoding, Composed) else [encoding]
