"""What GPUs can do at most, by their data sheets: dense matrix products, in floating-point operations a second."""

from __future__ import annotations

from typing import NamedTuple

from wordorder.errors import unknown_name


class Peak(NamedTuple):
    """The most operations per second of a kind of GPU; None where it cannot compute in a precision."""

    fp32: float
    fp16: float
    bf16: float | None


# Names as PyTorch gives them contain these words; the first entry of which all words are found counts. In fp32, matrix
# units are not used. Data sheets often print twice as much, for sparse matrices.
_PEAKS = {
    "H200": Peak(67e12, 989e12, 989e12),
    "H100 PCIe": Peak(51e12, 756e12, 756e12),
    "H100 NVL": Peak(60e12, 835e12, 835e12),
    "H100": Peak(67e12, 989e12, 989e12),
    "A100": Peak(19.5e12, 312e12, 312e12),
    "RTX 4090": Peak(82.6e12, 165e12, 165e12),
    "V100": Peak(15.7e12, 125e12, None),
}
ASSUMED_GPU, ASSUMED_UTILISATION = "A100", 0.1
# Operations per second of one core, of trainings as small as those that run on CPUs.
ASSUMED_CORE = 20e9


def peak(hardware: str, precision: str) -> float | None:
    """Return the most operations per second of a device; None where no data sheet is known."""
    for words, numbers in _PEAKS.items():
        if all(word.casefold() in hardware.casefold() for word in words.split()):
            found: float | None = getattr(numbers, precision)
            return found
    return None


def demand_peak(hardware: str, precision: str) -> float:
    """Return :func:`peak`.

    Raises:
        WordorderError: No data sheet of the device is known.
    """
    found = peak(hardware, precision)
    if found is None:
        start = f"There is no probe, and no data sheet with a speed in {precision}, of"
        raise unknown_name(start, hardware, _PEAKS, "GPUs", code="unknown-hardware", key="--hardware")
    return found
