"""Peak speeds of GPUs from their data sheets: dense matrix products, in floating-point operations per second."""

from __future__ import annotations

from typing import NamedTuple

from wordorder.errors import unknown_name


class Peak(NamedTuple):
    """Peak operations per second of a kind of GPU by precision; None if it does not support a precision."""

    fp32: float
    fp16: float
    bf16: float | None


# The first entry counts whose words all occur in the device name of PyTorch. The fp32 numbers do not use matrix units.
# Data sheets often print twice these numbers, for sparse matrices.
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
# Assumed operations per second of one core, for training runs that are small enough for CPUs. Two machines
# with AVX-512 reached about 60e9 in single precision; older processors reach less.
ASSUMED_CORE = 40e9


def peak(hardware: str, precision: str) -> float | None:
    """Return the peak operations per second of a device; None if its data sheet is unknown."""
    for words, numbers in _PEAKS.items():
        if all(word.casefold() in hardware.casefold() for word in words.split()):
            found: float | None = getattr(numbers, precision)
            return found
    return None


def demand_peak(hardware: str, precision: str) -> float:
    """Return :func:`peak` and raise an error if it is unknown.

    Raises:
        WordorderError: The data sheet of the device is unknown.
    """
    found = peak(hardware, precision)
    if found is None:
        start = f"Neither a probe nor a data sheet with a speed in {precision} exists for"
        raise unknown_name(start, hardware, _PEAKS, "GPUs", code="unknown-hardware", key="--hardware")
    return found
