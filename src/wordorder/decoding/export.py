"""Export of finished models to CTranslate2, a fast translation engine: same weights, same translations.

CTranslate2 adds one vector per position to the embeddings. A model can be exported if this is all that its encoding
does: absolute encodings with a table or a formula, and no encoding.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from wordorder.data.subword import Subword
from wordorder.decoding.translate import check_vocabularies
from wordorder.encodings.base import Encoding, Positions, Stack
from wordorder.errors import WordorderError
from wordorder.files import atomic, refuse_to_replace
from wordorder.model.architectures.base import Translator
from wordorder.model.architectures.transformer import Transformer
from wordorder.model.layers import DecoderLayer, EncoderLayer, Residual
from wordorder.model.places import acts
from wordorder.wording import listed

_FILES = {"config.json", "model.bin", "shared_vocabulary.json", "source_vocabulary.json", "target_vocabulary.json"}
# Positions of an encoding without a limit.
_POSITIONS = 1024


def export_ctranslate2(model: Translator, subword: Subword, output: Path) -> None:
    """Write a model as a folder that CTranslate2 loads.

    Args:
        model: A finished model.
        subword: Its subwords, which become the vocabulary.
        output: The folder to write.

    Raises:
        WordorderError: CTranslate2 is not installed, or does not support such a model.
    """
    refuse_to_replace(output, "a model of CTranslate2", "model.bin")
    if others := sorted(file.name for file in output.glob("*") if file.name not in _FILES):
        raise WordorderError(
            f"{output} holds files besides a model of CTranslate2, which would be removed: {listed(others)}. Move "
            "them, or name a new folder.",
            code="not-empty",
            path=output,
            found=others,
        )
    try:
        from ctranslate2.specs import TransformerSpec
    except ImportError as error:
        raise WordorderError(
            "CTranslate2 is not installed. Install the extra: pip install 'wordorder[export]'.", code="missing-package"
        ) from error
    if not isinstance(model, Transformer) or not len(model.encoder):
        raise _unknown("its architecture is not an encoder-decoder Transformer", type(model).__name__)
    check_vocabularies(model, subword)
    first = next(layer for layer in model.decoder if isinstance(layer, DecoderLayer))
    spec: Any = TransformerSpec.from_config(
        (len(model.encoder), len(model.decoder)), first.self_attention.heads, pre_norm=first.around_self.pre_norm
    )
    for stack, own, norm in (
        (spec.encoder, model.encoder, model.encoder_norm),
        (spec.decoder, model.decoder, model.decoder_norm),
    ):
        for into, layer in zip(stack.layer, own, strict=True):
            _set_layer(into, layer)
        if isinstance(norm, nn.LayerNorm):
            _set_norm(stack.layer_norm, norm)
    spec.encoder.embeddings[0].weight = _array(model.source_embedding.weight)
    spec.decoder.embeddings.weight = _array(model.target_embedding.weight)
    spec.decoder.projection.weight = _array(model.output.weight)
    spec.encoder.position_encodings.encodings = _array(_positions(model, "encoder"))
    spec.decoder.position_encodings.encodings = _array(_positions(model, "decoder"))
    pieces = subword.all_pieces()
    spec.register_source_vocabulary(pieces)
    spec.register_target_vocabulary(pieces)
    spec.config.add_source_eos = True
    spec.validate()
    spec.optimize()
    with atomic(output, checksum="none") as temporary:
        temporary.mkdir()
        spec.save(str(temporary))


def _positions(model: Transformer, stack: Stack) -> Tensor:
    """Return what the encoding adds to the embeddings of each position, (positions, d).

    Raises:
        WordorderError: The encoding does anything else.
    """
    encoding: Encoding = model.encoding
    inside = [encoding.attention(stack, layer) for layer in range(len(getattr(model, stack)))]
    inside += [encoding.cross_attention(layer) for layer in range(len(model.decoder))]
    if any(map(acts, inside)):
        raise _unknown("it acts inside attention", encoding.config.type)
    length = encoding.limit(stack) or _POSITIONS
    with torch.no_grad():
        if encoding.draw(1) is not None or encoding.config.needs_reordered:
            raise _unknown("it needs more than the positions of tokens", encoding.config.type)
        table = _added(encoding, stack, length, model.dim, seed=1)
        # What depends on the embeddings, the subwords or the length of a sentence differs here.
        few = _added(encoding, stack, min(2, length), model.dim, seed=2)
    if not torch.allclose(table[: len(few)], few, atol=1e-5):
        raise _unknown("it depends on more than the positions of tokens", encoding.config.type)
    return table


def _added(encoding: Encoding, stack: Stack, length: int, dim: int, *, seed: int) -> Tensor:
    """Return what an encoding adds to random embeddings, (length, d)."""
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(1, length, dim, generator=generator)
    tokens = torch.randint(4, 100, (1, length), generator=generator)
    positions = replace(Positions.range(length), lengths=torch.tensor([[length]]), tokens=tokens)
    with_positions = encoding.add_to_embeddings(x, positions, stack)
    return (encoding.transform_embeddings(with_positions, positions, stack) - x)[0]


def _set_layer(spec: Any, layer: nn.Module) -> None:
    assert isinstance(layer, EncoderLayer | DecoderLayer)
    attention = layer.self_attention
    _set_linears(spec.self_attention, attention.project_in, attention.project_out)
    _set_norm(spec.self_attention.layer_norm, layer.around_self)
    if isinstance(layer, DecoderLayer):
        cross = layer.cross_attention
        _set_linears(spec.attention, cross.project_query, cross.project_memory, cross.project_out)
        _set_norm(spec.attention.layer_norm, layer.around_cross)
    for into, linear in (
        (spec.ffn.linear_0, layer.feed_forward.expand),
        (spec.ffn.linear_1, layer.feed_forward.contract),
    ):
        into.weight, into.bias = _array(linear.weight), _array(linear.bias)
    _set_norm(spec.ffn.layer_norm, layer.around_ffn)


def _set_linears(spec: Any, *linears: nn.Linear) -> None:
    for into, linear in zip(spec.linear, linears, strict=True):
        into.weight, into.bias = _array(linear.weight), _array(linear.bias)


def _set_norm(spec: Any, norm: nn.LayerNorm | Residual) -> None:
    own = norm.norm if isinstance(norm, Residual) else norm
    spec.gamma, spec.beta = _array(own.weight), _array(own.bias)


def _array(tensor: Tensor) -> Any:
    return tensor.detach().float().cpu().contiguous().numpy()


def _unknown(why: str, found: str) -> WordorderError:
    return WordorderError(
        f"CTranslate2 does not support such a model: {why} ('{found}'). Export a Transformer without a positional "
        "encoding, or with an absolute one that is added to the embeddings.",
        code="not-exportable",
        found=found,
    )
