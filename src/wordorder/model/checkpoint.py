"""Finished models on disk: weights, the cell they were trained for, nothing else."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch

from wordorder.config.models import Cell
from wordorder.encodings.registry import build
from wordorder.errors import WordorderError
from wordorder.files import atomic
from wordorder.model.architectures.base import Translator, architecture_of

_FORMAT = 1


def build_model(cell: Cell, vocabulary_size: int) -> Translator:
    """Build a new model for a cell, whose start values come from PyTorch's generator."""
    architecture = architecture_of(cell.size)
    encoding = build(cell.encoding, architecture.shape(cell.size))
    return architecture(cell.size, cell.recipe, encoding, vocabulary_size)


def save_model(path: str | Path, cell: Cell, vocabulary_size: int, weights: dict[str, torch.Tensor]) -> None:
    content = {
        "format": _FORMAT,
        "cell": cell.model_dump_json(),
        "vocabulary_size": vocabulary_size,
        "weights": weights,
    }
    # PyTorch would write the name of a path, which is random here, into the file: equal models have equal bytes.
    with atomic(path) as temporary, temporary.open("wb") as file:
        torch.save(content, file)


def load_model(path: str | Path) -> Translator:
    """Read a finished model, in evaluation mode, on the CPU."""
    content = load_tensors(path)
    if not isinstance(content, dict) or content.get("format") != _FORMAT:
        raise WordorderError(
            f"{path} is not a model of this version of wordorder. Train the cell again.",
            code="wrong-version",
            path=path,
        )
    try:
        cell = Cell.model_validate_json(content["cell"])
        model = build_model(cell, content["vocabulary_size"])
        model.load_state_dict(content["weights"])
    except (KeyError, TypeError, ValueError, RuntimeError) as error:
        raise WordorderError(
            f"{path} does not fit the model that its cell describes, perhaps because the file of its encoding was "
            f"changed: {' '.join(str(error).split())} Train the cell again.",
            code="wrong-model",
            path=path,
        ) from error
    return model.eval()


def load_tensors(path: str | Path) -> Any:
    """torch.load that executes nothing from the file, with errors a person can read."""
    try:
        return torch.load(path, map_location="cpu", weights_only=True)
    except FileNotFoundError as error:
        raise WordorderError(f"{path} does not exist. Train the cell first.", code="missing-file", path=path) from error
    except Exception as error:  # torch raises a dozen kinds for a damaged file
        raise WordorderError(
            f"{path} cannot be read as saved tensors ({type(error).__name__}): it is damaged, or it holds more than "
            "tensors. Delete it and run its stage again.",
            code="damaged-file",
            path=path,
        ) from error


def count_parameters(model: Translator) -> dict[str, int]:
    """Trainable parameters, each counted once: of the whole model, and of the positional encoding alone."""
    return {
        "total": sum(parameter.numel() for parameter in model.parameters()),
        "encoding": sum(parameter.numel() for parameter in model.encoding.parameters()),
    }
