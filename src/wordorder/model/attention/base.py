"""The interface of attention backends: interchangeable ways to compute the same attention.

A backend declares where it runs and what it supports. What an attention needs of it follows from the declarations of
its encoding (:attr:`.AttentionEncoding.needs`), from dropout and from a request for the weights. The backend that fits
and has the highest rank is taken. On a CPU this is always ``eager``; on a GPU it is ``sdpa`` where nothing is needed
but what is added to the scores, and ``eager`` elsewhere.

The environment variable ``WORDORDER_ATTENTION`` names a backend to prefer where it fits, such as ``flex``. It is a
property of the machine, like the number of threads, and no part of a study's configuration: which kernel computes the
attention must not decide which models are trained again.

B batch, L length, H heads, d_h head size; Lq and Lk count queries and keys.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar, Literal

from torch import Tensor

from wordorder.encodings.base import AttentionEncoding, Positions
from wordorder.errors import WordorderError, unknown_name
from wordorder.registry import Registry

VARIABLE = "WORDORDER_ATTENTION"

# bias, scores, context: the hooks of AttentionEncoding that act within the attention itself.
# score_function: the hook "scores" of an encoding that also offers it pair by pair.
# weights: the caller wants to read the attention weights. dropout: of the attention weights, in training.
# added_…: the same of an encoding whose "scores" adds what does not depend on the scores.
Need = Literal[
    "bias", "scores", "score_function", "added_scores", "added_score_function", "context", "weights", "dropout"
]
WeightsReader = Callable[[Tensor], object]


@dataclass(frozen=True)
class Attention:
    """One attention to compute.

    Attributes:
        queries: Queries after rotation, (B, H, Lq, d_h).
        keys: Keys after rotation, (B, H, Lk, d_h).
        values: Values, (B, H, Lk, d_h).
        mask: Added to the scores: 0 where a query may look and -inf elsewhere, (1 | B, 1 | H, 1 | Lq, Lk).
        encoding: The encoding, of which only what the backend supports is needed.
        query: Positions of the queries.
        key: Positions of the keys.
        unrotated: Queries before rotation, (B, H, Lq, d_h).
        dropout: Probability of dropping an attention weight; 0 outside training.
        weights_reader: Called with the attention weights after dropout, (B, H, Lq, Lk).
    """

    queries: Tensor
    keys: Tensor
    values: Tensor
    mask: Tensor | None
    encoding: AttentionEncoding
    query: Positions
    key: Positions
    unrotated: Tensor
    dropout: float = 0.0
    weights_reader: WeightsReader | None = None


class AttentionBackend(ABC):
    """One way to compute attention. Subclasses register themselves with :func:`register`."""

    name: ClassVar[str]
    supports: ClassVar[frozenset[Need]]
    # Types of devices, such as "cuda", on which the backend may be chosen; None means every device.
    devices: ClassVar[frozenset[str] | None] = None
    # Of the backends that fit, the one with the highest rank is chosen; rank 0 is chosen only when it is named.
    rank: ClassVar[int] = 0

    @abstractmethod
    def attend(self, asked: Attention) -> Tensor:
        """Compute scaled dot-product attention.

        Returns:
            Weighted sums of the values, (B, H, Lq, d_h).
        """

    @classmethod
    def fits(cls, device: str, needs: frozenset[Need]) -> bool:
        """Return whether the backend runs on a type of device and supports all needs."""
        supports = cls.supports | {f"added_{need}" for need in cls.supports}
        return (cls.devices is None or device in cls.devices) and needs <= supports


REGISTRY: Registry[AttentionBackend] = Registry("attention_backends", "attention backend")


def register(backend: type[AttentionBackend]) -> type[AttentionBackend]:
    """Register a backend under its name (class decorator)."""
    REGISTRY.add(backend.name, backend(), defined_by=backend)
    return backend


def choose(device: str, needs: frozenset[Need]) -> AttentionBackend:
    """Choose the backend for one attention.

    Args:
        device: Type of the device, such as "cpu" or "cuda".
        needs: What the backend must support.

    Raises:
        WordorderError: ``WORDORDER_ATTENTION`` names no backend, or no backend fits.
    """
    backend = _chosen(os.environ.get(VARIABLE, ""), device, needs)
    _used.add(backend.name)
    return backend


def used() -> list[str]:
    """Return the names of the backends that this process has chosen so far, sorted."""
    return sorted(_used)


def forget_choices() -> None:
    """Forget which backends fit, after one of them has changed its declarations."""
    _chosen.cache_clear()


_used: set[str] = set()


@lru_cache(maxsize=256)
def _chosen(preferred: str, device: str, needs: frozenset[Need]) -> AttentionBackend:
    if preferred and preferred not in REGISTRY:
        start, code = f"{VARIABLE} names the unknown attention backend", "unknown-attention-backend"
        raise unknown_name(start, preferred, REGISTRY.names(), "attention backends", code=code, key=VARIABLE)
    if preferred and REGISTRY.get(preferred).fits(device, needs):
        return REGISTRY.get(preferred)
    fitting = [backend for backend in REGISTRY if backend.rank and backend.fits(device, needs)]
    if not fitting:
        raise WordorderError(
            f"No attention backend runs on the device '{device}' and supports {', '.join(sorted(needs))}. Add a "
            "backend that does, or correct the declaration 'needs' of the encoding.",
            code="no-attention-backend",
            found=sorted(needs),
        )
    return max(fitting, key=lambda backend: backend.rank)


def needs_of(encoding: AttentionEncoding, *, dropout: bool, weights: bool) -> frozenset[Need]:
    """Return what one attention needs of its backend, from what its encoding declares."""
    needs: set[Need] = set()
    if "bias" in encoding.needs:
        needs.add("bias")
    if "scores" in encoding.needs:
        if encoding.additive:
            needs.add("added_score_function" if encoding.pairwise else "added_scores")
        else:
            needs.add("score_function" if encoding.pairwise else "scores")
    if "context" in encoding.needs:
        needs.add("context")
    if dropout:
        needs.add("dropout")
    if weights:
        needs.add("weights")
    return frozenset(needs)


def attend(
    queries: Tensor,
    keys: Tensor,
    values: Tensor,
    *,
    mask: Tensor | None,
    dropout_probability: float,
    training: bool,
    encoding: AttentionEncoding,
    query: Positions,
    key: Positions,
    unrotated: Tensor | None = None,
    weights_reader: WeightsReader | None = None,
) -> Tensor:
    """Compute scaled dot-product attention with the backend that fits.

    Args:
        queries: Queries after rotation, (B, H, Lq, d_h).
        keys: Keys after rotation, (B, H, Lk, d_h).
        values: Values, (B, H, Lk, d_h).
        mask: See :class:`Attention`.
        dropout_probability: Probability of dropping an attention weight in training.
        training: Whether there is dropout.
        encoding: What the positional encoding does inside this attention.
        query: Positions of the queries.
        key: Positions of the keys.
        unrotated: Queries before rotation; the same as ``queries`` if missing.
        weights_reader: Request for the attention weights; called with them, (B, H, Lq, Lk).

    Returns:
        Weighted sums of the values, (B, H, Lq, d_h).
    """
    dropout = dropout_probability if training else 0.0
    needs = needs_of(encoding, dropout=dropout > 0, weights=weights_reader is not None)
    unrotated = queries if unrotated is None else unrotated
    asked = Attention(queries, keys, values, mask, encoding, query, key, unrotated, dropout, weights_reader)
    return choose(queries.device.type, needs).attend(asked)
