"""Whether a model has the places where an encoding acts. An encoding that could do nothing is refused."""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast

from wordorder.encodings.base import AttentionEncoding, Encoding
from wordorder.encodings.compose import Composed, ComposedAttention
from wordorder.errors import WordorderError

_IN_ATTENTION = ("head_inputs", "rotate", "values", "bias", "scores", "context")
_GIVES_ATTENTION = ("_attention", "_cross_attention")


def acts(attention: AttentionEncoding) -> bool:
    """Whether an encoding does anything at all inside one attention."""
    if isinstance(attention, ComposedAttention):
        return any(map(acts, attention.parts))
    return _overrides(attention, AttentionEncoding, _IN_ATTENTION)


def refuse_attention(encoding: Encoding, architecture: str) -> None:
    """For a model whose attention has no places. Raises WordorderError for an encoding that needs one."""
    for part in _parts(encoding):
        if _overrides(part, Encoding, _GIVES_ATTENTION):
            raise WordorderError(
                f"The encoding '{part.config.type}' acts inside the attention of a Transformer, but the size's "
                f"architecture is '{architecture}', where an encoding can act at the embeddings alone. Choose an "
                "encoding of the embeddings, such as 'none' or 'sinusoidal', or the size of a Transformer."
            )


def refuse_idle(encoding: Encoding) -> None:
    """For a Transformer. Raises WordorderError where an encoding acts inside attention, but in none that there is.

    The same where it has trained numbers for attention that there is not: nothing would ever train them.
    """
    for part in _parts(encoding):
        inside = list(_attentions(part))
        if _overrides(part, Encoding, _GIVES_ATTENTION) and not any(map(acts, inside)):
            given = next((type(each).__name__ for each in inside if type(each) is not AttentionEncoding), None)
            raise _idle(part, "acts only in") if given is None else _silent(part, given)
        used = {id(module) for attention in inside for module in attention.modules()}
        own = (module for module in part.modules() if isinstance(module, AttentionEncoding) and id(module) not in used)
        if any(True for module in own for _ in module.parameters()):
            raise _idle(part, "has trained numbers for")


def _idle(encoding: Encoding, what: str) -> WordorderError:
    shape, placement = encoding.shape, encoding.config.placement
    return WordorderError(
        f"The encoding '{encoding.config.type}' with 'placement: {placement}' {what} layers that the size does not "
        f"have (encoder_layers: {shape.encoder_layers}, decoder_layers: {shape.decoder_layers}). Give the encoding "
        "another placement, or choose another encoding or size."
    )


def _silent(encoding: Encoding, given: str) -> WordorderError:
    return WordorderError(
        f"The encoding '{encoding.config.type}' gives attention a '{given}', which overrides none of the places of "
        f"AttentionEncoding: {', '.join(_IN_ATTENTION)}. Is the name of a method misspelt?"
    )


def _attentions(encoding: Encoding) -> Iterator[AttentionEncoding]:
    """Those of every layer that there is."""
    for stack in ("encoder", "decoder"):
        for layer in range(encoding.shape.layers(stack)):
            yield encoding.attention(stack, layer)
    for layer in range(encoding.shape.decoder_layers):
        yield encoding.cross_attention(layer)


def _parts(encoding: Encoding) -> list[Encoding]:
    return cast(list[Encoding], list(encoding.parts)) if isinstance(encoding, Composed) else [encoding]


def _overrides(thing: object, base: type, names: tuple[str, ...]) -> bool:
    return any(getattr(type(thing), name) is not getattr(base, name) for name in names)
