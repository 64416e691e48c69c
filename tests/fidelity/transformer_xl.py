"""Relative positions of Transformer-XL."""

from __future__ import annotations

from typing import cast

import torch

from fidelity import Compared, causal, doubled, formula, numbers, package, pairs, released, weights
from golden import golden
from wordorder.encodings.base import Positions, Shape, Stack
from wordorder.encodings.registry import build
from wordorder.encodings.transformer_xl import TransformerXLAttention, TransformerXLConfig
from wordorder.model.attention.multihead import split_heads


def _inside(stack: Stack, shape: Shape) -> TransformerXLAttention:
    return cast(TransformerXLAttention, build(TransformerXLConfig(), shape).attention(stack, 0))


def _golden(stack: Stack) -> Compared:
    values = golden("transformer_xl", dtype=None)
    inside = _inside(stack, Shape(12, 3, 1, 1))
    side = "both_" if stack == "encoder" else ""
    # The encoder's sines and cosines alternate.
    order = torch.arange(12).view(6, 2).T.flatten() if stack == "encoder" else torch.arange(12)
    with torch.no_grad():
        inside.project.weight.copy_(values[f"{side}wr"][:, order])
        inside.content_bias.copy_(values[f"{side}u"])
        inside.position_bias.copy_(values[f"{side}v"])
    none = torch.zeros(12)
    queries = split_heads(values["x"] @ values[f"{side}wq"].T + values.get(f"{side}bq", none), 3)
    keys = split_heads(values["x"] @ values[f"{side}wk"].T + values.get(f"{side}bk", none), 3)
    mask = causal(7) if stack == "decoder" else None
    found = weights(inside, queries, keys, Positions.range(7), mask=mask)
    return Compared(found, values[f"{'both' if stack == 'encoder' else 'causal'}_weights"])


@released("kimiyoung/transformer-xl 44781ed")
def decoder() -> Compared:
    """Attention weights of the decoder"""
    return _golden("decoder")


@released("transformers 5.23.0 (Wav2Vec2-Conformer)")
def encoder() -> Compared:
    """Attention weights of the encoder"""
    return _golden("encoder")


@package("transformers")
def conformer() -> Compared:
    """Outputs of the encoder's attention, 40 tokens"""
    from transformers.models.wav2vec2_conformer import modeling_wav2vec2_conformer as conformer
    from transformers.models.wav2vec2_conformer.configuration_wav2vec2_conformer import Wav2Vec2ConformerConfig

    config = Wav2Vec2ConformerConfig(
        hidden_size=16, num_attention_heads=4, attention_dropout=0.0, position_embeddings_type="relative"
    )
    config._attn_implementation = "eager"
    theirs = conformer.Wav2Vec2ConformerSelfAttention(config).double()
    table = conformer.Wav2Vec2ConformerRelPositionalEmbedding(config)
    inside = _inside("encoder", Shape(16, 4, 1, 1))
    own = doubled(inside)
    (x, x_), wq = numbers(2, 40, 16), numbers(16, 16)[1].detach() / 4
    eye, zeros = torch.eye(16, dtype=torch.float64), torch.zeros(16, dtype=torch.float64)
    order = torch.arange(16).view(2, 8).T.flatten()  # its sines and cosines alternate
    parameters = {
        **{f"linear_{name}.weight": wq if name == "q" else eye for name in ("q", "k", "v", "out")},
        **{f"linear_{name}.bias": zeros for name in ("q", "k", "v", "out")},
        "linear_pos.weight": own["project.weight"][:, order],
        "pos_bias_u": own["content_bias"],
        "pos_bias_v": own["position_bias"],
    }
    positions = {"relative_position_embeddings": table(x_).double()}
    expected = torch.func.functional_call(theirs, parameters, (x_,), positions)[0]
    shares = weights(inside, split_heads(x @ wq.float().T, 4), split_heads(x, 4), Positions.range(40))
    found = (shares @ split_heads(x, 4)).transpose(1, 2).flatten(2)
    return Compared(found, expected, [(x, x_), *pairs(inside, own)])


@formula("section 3.3")
def pair_by_pair() -> Compared:
    """Attention weights of the encoder, one pair of tokens after the other"""
    inside = _inside("encoder", Shape(8, 2, 1, 1))
    own = doubled(inside)
    (queries, queries_), (keys, keys_) = numbers(1, 2, 6, 4), numbers(1, 2, 6, 4)
    scores = []
    for head in range(2):
        projection = own["project.weight"][4 * head : 4 * head + 4]
        for i in range(6):
            for j in range(6):
                angles = (i - j) * 10000.0 ** (-torch.arange(4) / 4).double()
                apart = projection @ torch.cat((angles.sin(), angles.cos()))
                q, k = queries_[0, head, i], keys_[0, head, j]
                content = (q + own["content_bias"][head]) @ k
                scores.append((content + (q + own["position_bias"][head]) @ apart) / 2)
    expected = torch.stack(scores).view(1, 2, 6, 6).softmax(-1)
    found = weights(inside, queries, keys, Positions.range(6))
    return Compared(found, expected, [(queries, queries_), (keys, keys_), *pairs(inside, own)])
