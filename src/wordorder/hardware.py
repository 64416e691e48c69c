"""The hardware and the version of PyTorch that trained a model, as its record names them."""

from __future__ import annotations

from typing import Any

UNKNOWN = "unknown hardware"


def hardware_name(record: dict[str, Any]) -> str:
    """Return the GPUs of a training record or, if there are none, its processor and instruction set.

    Args:
        record: The training record.

    Returns:
        The names, such as 'AMD EPYC, AVX512'; empty if the record is of an earlier version, which did not write them.
    """
    hardware = record.get("hardware")
    found = hardware if isinstance(hardware, dict) else {}
    names = dict.fromkeys(found.get("gpus") or [found.get("processor"), found.get("instructions")])
    return ", ".join(name for name in names if name)


def rounding(record: dict[str, Any]) -> str:
    """Return what decides how a training run rounds: the hardware and the version of PyTorch.

    Args:
        record: The training record.

    Returns:
        The description, such as 'AMD EPYC, AVX512, torch 2.13.0+cpu'; of a training that continued elsewhere, all of
        them.
    """
    everywhere = record.get("trained_on")
    if isinstance(everywhere, list) and everywhere:
        return " and then ".join(map(str, everywhere))
    packages = record.get("packages")
    version = packages.get("torch") if isinstance(packages, dict) else None
    return ", ".join([hardware_name(record) or UNKNOWN, *([f"torch {version}"] if version else [])])
