"""Rotary positions."""

from __future__ import annotations

import torch

from fidelity import Compared, doubled, formula, numbers, package, pairs, released
from golden import golden
from wordorder.encodings.base import Positions
from wordorder.encodings.rope import RoPEAttention


def ours(queries: torch.Tensor, keys: torch.Tensor, positions: torch.Tensor) -> torch.Tensor:
    inside = RoPEAttention(queries.size(-1), 10000.0)
    return torch.cat(inside.rotate(queries, keys, Positions(positions[None], int(positions.max()) + 1)))


@released("transformers 5.23.0 (Llama)")
def llama() -> Compared:
    """Rotated queries and keys"""
    values = golden("rope", dtype=None)
    found = ours(values["q"], values["k"], values["positions"])
    return Compared(found, torch.cat((values["half_q"], values["half_k"])))


@released("rotary-embedding-torch 0.9.1")
def interleaved() -> Compared:
    """Rotated queries and keys, `layout: interleaved`"""
    values = golden("rope", dtype=None)
    inside = RoPEAttention(8, 10000.0, interleaved=True)
    found = inside.rotate(values["q"], values["k"], Positions(values["positions"][None], 12))
    return Compared(torch.cat(found), torch.cat((values["interleaved_q"], values["interleaved_k"])))


def _part(kind: str, pairs: int) -> Compared:
    values = golden("rope_partial", dtype=None)
    inside = RoPEAttention(16, 10000.0, pairs=pairs, proportional=kind == "proportional")
    found = inside.rotate(values["q"], values["k"], Positions(values["positions"][None], 12))
    return Compared(torch.cat(found), torch.cat((values[f"{kind}_q"], values[f"{kind}_k"])))


@released("transformers 5.23.0 (GPT-NeoX)")
def partial() -> Compared:
    """Queries and keys of which a half is rotated"""
    return _part("partial", 4)


@released("transformers 5.23.0 (proportional)")
def proportional() -> Compared:
    """Queries and keys of which the lower quarter of the frequencies is not rotated"""
    return _part("proportional", 6)


@formula("equation 14, as complex numbers")
def complex_numbers() -> Compared:
    """Rotated queries and keys, positions to 2,000"""
    (queries, queries_), (keys, keys_) = numbers(2, 2, 5, 8), numbers(2, 2, 5, 8)
    positions = torch.tensor([0, 1, 17, 300, 2000])
    both = torch.cat((queries_, keys_))
    turned = torch.complex(both[..., :4], both[..., 4:]) * torch.polar(
        torch.ones(5, 4, dtype=torch.float64), positions[:, None] * 10000.0 ** (-torch.arange(4) / 4).double()
    )
    expected = torch.cat((turned.real, turned.imag), dim=-1)
    return Compared(ours(queries, keys, positions), expected, [(queries, queries_), (keys, keys_)])


@formula("equation 14, with log w as leaves")
def trained() -> Compared:
    """Rotated queries and keys with trained frequencies, positions to 60"""
    (queries, queries_), (keys, keys_) = numbers(2, 2, 5, 8), numbers(2, 2, 5, 8)
    inside = RoPEAttention(8, 10000.0, trained=True)
    own = doubled(inside, drawn=False)
    positions = torch.tensor([0, 1, 17, 33, 60])
    angles = positions[:, None] * own["log_frequencies"].exp()
    both = torch.cat((queries_, keys_))
    turned = torch.complex(both[..., :4], both[..., 4:]) * torch.complex(angles.cos(), angles.sin())
    found = torch.cat(inside.rotate(queries, keys, Positions(positions[None], 61)))
    leaves = [(queries, queries_), (keys, keys_), *pairs(inside, own)]
    return Compared(found, torch.cat((turned.real, turned.imag), dim=-1), leaves)


@package("rotary-embedding-torch")
def rotary_embedding_torch() -> Compared:
    """Products of rotated queries and keys"""
    from rotary_embedding_torch import RotaryEmbedding

    (queries, queries_), (keys, keys_) = numbers(2, 3, 9, 16), numbers(2, 3, 9, 16)
    # Its pairs are neighbours; ours are a number of the first half with one of the second.
    neighbours = torch.arange(16).view(2, 8).T.flatten()
    rotary = RotaryEmbedding(dim=16)
    theirs = [rotary.rotate_queries_or_keys(x[..., neighbours].float()).double() for x in (queries_, keys_)]
    rotated = ours(queries, keys, torch.arange(9)).chunk(2)
    return Compared(rotated[0] @ rotated[1].mT / 4, theirs[0] @ theirs[1].mT / 4, [(queries, queries_), (keys, keys_)])
