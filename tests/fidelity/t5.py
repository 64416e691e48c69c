"""Relative positions of T5."""

from __future__ import annotations

from typing import Any

import torch

from fidelity import Compared, causal, doubled, numbers, package, pairs, released, weights
from golden import golden
from wordorder.encodings.base import Positions, Shape, Stack
from wordorder.encodings.registry import build
from wordorder.encodings.t5 import T5Config
from wordorder.model.attention.multihead import split_heads


def _inside(config: T5Config, shape: Shape, stack: Stack) -> Any:
    return build(config, shape).attention(stack, 0)


def _golden(stack: Stack) -> Compared:
    values = {key[4:]: value for key, value in golden("t5", dtype=None).items() if key.startswith(stack[:3])}
    inside = _inside(T5Config(buckets=8, max_distance=16), Shape(12, 3, 1, 1), stack)
    with torch.no_grad():
        inside.table.copy_(values["table"])
    # Their scores are not divided by √d_h.
    queries = split_heads(values["x"] @ values["wq"].T, 3) * 2
    keys = split_heads(values["x"] @ values["wk"].T, 3)
    mask = causal(7) if stack == "decoder" else None
    return Compared(weights(inside, queries, keys, Positions.range(7), mask=mask), values["weights"])


@released("transformers 5.23.0")
def encoder() -> Compared:
    """Attention weights of the encoder, 8 buckets"""
    return _golden("encoder")


@released("transformers 5.23.0")
def decoder() -> Compared:
    """Attention weights of the decoder, 8 buckets"""
    return _golden("decoder")


def _transformers(stack: Stack) -> Compared:
    from transformers import T5Config as TheirConfig
    from transformers.models.t5.modeling_t5 import T5Attention

    config = TheirConfig(d_model=16, d_kv=4, num_heads=4, dropout_rate=0.0, is_decoder=stack == "decoder")
    theirs = T5Attention(config, has_relative_attention_bias=True, layer_idx=0).double()
    inside = _inside(T5Config(), Shape(16, 4, 1, 1), stack)
    own = doubled(inside)
    (x, x_), wq = numbers(2, 150, 16), numbers(16, 16)[1].detach() / 4
    parameters = {
        "q.weight": wq,
        "k.weight": torch.eye(16, dtype=torch.float64),
        "v.weight": torch.eye(16, dtype=torch.float64),
        "o.weight": torch.eye(16, dtype=torch.float64),
        "relative_attention_bias.weight": own["table"],
    }
    mask = causal(150) if stack == "decoder" else torch.zeros(1, 1, 1, 150)
    expected = torch.func.functional_call(theirs, parameters, (x_,), {"mask": mask.double()})[0]
    shares = weights(inside, split_heads(x @ wq.float().T, 4) * 2, split_heads(x, 4), Positions.range(150), mask=mask)
    found = (shares @ split_heads(x, 4)).transpose(1, 2).flatten(2)
    return Compared(found, expected, [(x, x_), *pairs(inside, own)])


@package("transformers")
def transformers_encoder() -> Compared:
    """Outputs of the encoder, 150 tokens, 32 buckets"""
    return _transformers("encoder")


@package("transformers")
def transformers_decoder() -> Compared:
    """Outputs of the decoder, 150 tokens, 32 buckets"""
    return _transformers("decoder")
