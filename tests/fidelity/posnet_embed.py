"""PosNet at the embeddings."""

from __future__ import annotations

import torch

from fidelity import Compared, doubled, formula, numbers, pairs, released
from golden import golden
from wordorder.encodings.base import Positions, Shape
from wordorder.encodings.posnet_embed import PosNetEmbed, PosNetEmbedConfig

SHAPE = Shape(dim=32, heads=2, encoder_layers=1, decoder_layers=1)


@released("vesterchang/interpret_positional_encoding 8888135")
def whole_sentences() -> Compared:
    """Embeddings of three sentences of 17 tokens"""
    values = golden("posnet_embed", dtype=None)
    encoding = PosNetEmbed(PosNetEmbedConfig(kernel_dim=8, table=24), SHAPE).eval()
    with torch.no_grad():
        encoding.project_in.copy_(values["W1"])
        encoding.kernels.matrices.copy_(values["Phi"])
        encoding.project_out.copy_(values["W2"])
    return Compared(encoding.transform_embeddings(values["x"], Positions.range(17), "encoder"), values["y"])


@formula("equations 16 and 24")
def token_by_token() -> Compared:
    """Embeddings, token by token"""
    encoding = PosNetEmbed(PosNetEmbedConfig(kernel_dim=8, table=9), SHAPE).eval()
    own = doubled(encoding)
    x, x_ = numbers(2, 4, 32)
    places = (3, 0, 8, 1)
    moved = [
        [(token @ own["project_in"] @ own["kernels.matrices"][place]).relu() @ own["project_out"] + token
         for token, place in zip(sentence, places, strict=True)]
        for sentence in x_
    ]  # fmt: skip
    found = encoding.transform_embeddings(x, Positions(torch.tensor([places]), 9), "decoder")
    return Compared(found, torch.stack([torch.stack(rows) for rows in moved]), [(x, x_), *pairs(encoding, own)])
