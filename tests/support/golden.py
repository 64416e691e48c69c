"""Golden values: numbers that released implementations of encodings computed (``tests/encodings/golden/README.md``)."""

from __future__ import annotations

from pathlib import Path

import numpy
import torch
from torch import Tensor

FOLDER = Path(__file__).parents[1] / "encodings" / "golden"


def golden(name: str, *, dtype: torch.dtype | None = torch.float64) -> dict[str, Tensor]:
    """Load the arrays of a golden file.

    Args:
        name: The file's name without ending.
        dtype: Type of the real numbers, by default double; None keeps single precision, in which they were made.

    Returns:
        A tensor for each array; whole numbers and masks keep their type.
    """
    with numpy.load(FOLDER / f"{name}.npz") as arrays:
        tensors = {array: torch.as_tensor(arrays[array]) for array in arrays.files}
    return {array: t.to(dtype) if dtype and t.is_floating_point() else t for array, t in tensors.items()}
