"""Finished models on disk: only the weights and the cell for which they were trained."""

from __future__ import annotations

import json
from pathlib import Path
from typing import IO, Any, Self, cast

import torch

from wordorder.config.models import Cell
from wordorder.encodings.registry import build
from wordorder.errors import WordorderError
from wordorder.files import atomic, reading
from wordorder.integrity import check_inside
from wordorder.model.architectures.base import Translator, architecture_of
from wordorder.registry import check_code

_FORMAT = 1


def build_model(cell: Cell, vocabulary_size: int) -> Translator:
    """Build a new model for a cell. Its start values come from PyTorch's generator."""
    architecture = architecture_of(cell.size)
    encoding = build(cell.encoding, architecture.shape(cell.size))
    return architecture(cell.size, cell.recipe, encoding, vocabulary_size)


def save_model(path: str | Path, cell: Cell, vocabulary_size: int, weights: dict[str, torch.Tensor]) -> None:
    """Write a finished model."""
    content = {
        "format": _FORMAT,
        "cell": cell.model_dump_json(),
        "vocabulary_size": vocabulary_size,
        "weights": weights,
    }
    save_tensors(path, content)


def save_tensors(path: str | Path, content: Any) -> None:
    """Write a file for :func:`load_tensors`; equal contents give equal bytes."""
    with atomic(path, checksum="inside") as temporary, _Target(temporary) as target:
        torch.save(content, cast(IO[bytes], target))


class _Target:
    """A file that accepts all writes after one has failed, and raises the error when it is closed.

    PyTorch would replace the error by another, or end the process.
    """

    def __init__(self, path: Path) -> None:
        self._file = path.open("wb")
        self._error: OSError | None = None

    def write(self, data: Any) -> int:
        """Write data, unless an earlier write has failed."""
        try:
            if self._error is None:
                self._file.write(data)
        except OSError as error:
            self._error = error
        return len(data)

    def flush(self) -> None:
        """Do nothing; errors appear when the file is closed."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        try:
            self._file.close()
        finally:
            if self._error is not None:
                raise self._error


def load_model(path: str | Path) -> Translator:
    """Read a finished model in evaluation mode on the CPU."""
    content = load_tensors(path)
    if not isinstance(content, dict) or content.get("format") != _FORMAT:
        raise WordorderError(
            f"{path} is not a model of this version of wordorder. Train the cell again.",
            code="wrong-version",
            path=path,
        )
    try:
        check_code(json.loads(content["cell"]).get("code", {}), f"The model {path} was trained")
        cell = Cell.model_validate_json(content["cell"])
        model = build_model(cell, content["vocabulary_size"])
        model.load_state_dict(content["weights"])
    except (AttributeError, KeyError, TypeError, ValueError, RuntimeError) as error:
        raise WordorderError(
            f"{path} does not fit the model that its cell describes, perhaps because the file of its encoding was "
            f"changed: {' '.join(str(error).split())} Train the cell again.",
            code="wrong-model",
            path=path,
        ) from error
    return model.eval()


def load_tensors(path: str | Path, remedy: str = "") -> Any:
    """Load tensors without executing anything from the file, and with readable errors.

    Args:
        path: A file written by :func:`save_tensors`.
        remedy: A sentence for errors that names the command which recreates the file.

    Returns:
        The content.

    Raises:
        WordorderError: The file is missing or damaged.
    """
    if not Path(path).exists():
        raise WordorderError(f"{path} does not exist. Train the cell first.", code="missing-file", path=path)
    remedy = remedy or f"Train the cell again: 'snakemake --force {path}'."
    try:
        with reading(path):
            check_inside(Path(path), remedy)
        return torch.load(path, map_location="cpu", weights_only=True)
    except WordorderError:
        raise
    except Exception as error:  # torch raises many kinds of errors for a file that it did not write.
        raise WordorderError(
            f"{path} cannot be read as saved tensors ({type(error).__name__}): it holds more than tensors, or it is "
            f"no such file. {remedy}",
            code="damaged-file",
            path=path,
        ) from error


def count_parameters(model: Translator) -> dict[str, int]:
    """Count the trainable parameters, each once, of the whole model and of the positional encoding."""
    return {
        "total": sum(parameter.numel() for parameter in model.parameters()),
        "encoding": sum(parameter.numel() for parameter in model.encoding.parameters()),
    }
