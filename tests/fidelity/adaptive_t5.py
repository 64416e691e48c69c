"""Adaptive-T5's curves over soft buckets."""

from __future__ import annotations

import torch

from fidelity import Compared, doubled, formula, pairs, released
from golden import golden
from wordorder.encodings.adaptive_t5 import AdaptiveT5Attention, AdaptiveT5Config
from wordorder.encodings.base import Positions, Shape, Stack

SHAPE = Shape(dim=64, heads=4, encoder_layers=1, decoder_layers=1)


def _authors(stack: Stack) -> Compared:
    values = golden("adaptive_t5", dtype=None)
    inside = AdaptiveT5Attention(AdaptiveT5Config(), SHAPE, stack).eval()
    with torch.no_grad():
        for sign, (part, rate) in enumerate([("neg", "beta"), ("pos", "alpha")][: len(inside.rate)]):
            inside.rate[sign] = values[f"{stack}_{rate}"] * inside.scale  # the file has them divided
            for head in range(4):
                own = {key: values[f"{stack}_{part}_{head}_{key}"] for key in ("w1", "b1", "w2", "b2", "w3", "b3")}
                inside.weight_1[sign, head], inside.bias_1[sign, head] = own["w1"], own["b1"]
                inside.weight_2[sign, head], inside.bias_2[sign, head] = own["w2"], own["b2"]
                inside.weight_3[sign, head] = own["w3"].T
                if inside.bias_3 is not None:
                    inside.bias_3[sign, head] = own["b3"]
    found, expected = inside.bias(Positions.range(40), Positions.range(40)), values[f"{stack}_bias"]
    if stack == "decoder":  # ours lacks the last bias; the mask hides what lies above the diagonal
        last = torch.stack([values[f"decoder_neg_{head}_b3"] for head in range(4)])[:, :, None]
        return Compared((found + last).tril(), expected.tril())
    return Compared(found, expected)


@released("BDBC-KG-NLP/AAAI2021-Scalar-Embedding-of-Relative-Positions")
def encoder() -> Compared:
    """Bias of the encoder"""
    return _authors("encoder")


@released("BDBC-KG-NLP/AAAI2021-Scalar-Embedding-of-Relative-Positions")
def decoder() -> Compared:
    """Bias of the decoder"""
    return _authors("decoder")


@formula("the authors' equations")
def pair_by_pair() -> Compared:
    """Bias of the encoder, one pair of tokens after the other"""
    inside = AdaptiveT5Attention(AdaptiveT5Config(), SHAPE, "encoder").eval()
    own = doubled(inside)

    def curve(head: int, r: int) -> torch.Tensor:
        sign = int(r > 0)
        u = 1 - torch.exp(-own["rate"][sign, head].relu() / 256 * abs(r))
        x = torch.sigmoid(u * own["weight_1"][sign, head, 0] + own["bias_1"][sign, head, 0])
        x = torch.sigmoid(x @ own["weight_2"][sign, head] + own["bias_2"][sign, head, 0])
        return x @ own["weight_3"][sign, head, 0] + own["bias_3"][sign, head, 0]

    expected = torch.stack([curve(head, j - i) for head in range(4) for i in range(7) for j in range(7)])
    found = inside.bias(Positions.range(7), Positions.range(7))
    return Compared(found, expected.view(1, 4, 7, 7), pairs(inside, own))
