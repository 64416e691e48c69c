"""The identification of a training run, which decides whether a saved state is resumed or discarded."""

from __future__ import annotations

import hashlib

from wordorder.config.canonical import canonical_json, minimal
from wordorder.config.models import Cell

_FORMAT = 2


def stamp(cell: Cell, corpus: str) -> str:
    """Return the identification of a run.

    Default values are omitted, so that a new option with a default keeps saved states. The validation set is no part of
    it, so that its changes keep finished models.

    Args:
        cell: The model to train.
        corpus: The identification of the training corpus and its positions.
    """
    content = minimal(cell) | {"revisions": cell.encoding.revisions | cell.size.revisions}
    return _hash(f"{_FORMAT}\n{canonical_json(content)}\n{corpus}")


def earlier_stamp(cell: Cell, corpus: str) -> str:
    """Return the identification with which a run was saved before default values were omitted; its state is resumed.

    Args:
        cell: The model to train.
        corpus: The identification of the training corpus and its positions.
    """
    return _hash(f"1\n{cell.model_dump_json()}\n{corpus}")


def _hash(content: str) -> str:
    return hashlib.sha256(content.encode()).hexdigest()
