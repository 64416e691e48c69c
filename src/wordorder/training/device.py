"""Settings of the process that make computations fast and repeatable, and the choice of a device."""

from __future__ import annotations

import ctypes
import sys
from pathlib import Path
from typing import Any

import torch

from wordorder.model.architectures.base import Translator
from wordorder.model.checkpoint import load_model

_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3
_PRECISIONS = {"fp32": "32-true", "bf16": "bf16-mixed", "fp16": "16-mixed"}


def prepare(precision: str = "fp32") -> None:
    """Set up the process before a model is built.

    It keeps freed memory, rounds subnormal numbers to 0, uses the faster matrix product and, on a CPU, deterministic
    algorithms.

    Args:
        precision: The precision of the recipe; with any precision except fp32, LSTMs on a GPU use TF32.
    """
    _keep_freed_memory()
    # ALiBi and forget gates give distant keys subnormal attention weights, which make a CPU several times slower. The
    # threads that PyTorch starts later inherit the setting.
    torch.set_flush_denormal(True)
    torch.set_float32_matmul_precision("medium" if _medium_is_single_precision() else "highest")
    torch.backends.cudnn.allow_tf32 = precision != "fp32"  # This concerns only LSTMs.
    if torch.cuda.is_available():
        # cuDNN's attention plans each new shape of a batch, and a training run has thousands of shapes.
        torch.backends.cuda.enable_cudnn_sdp(False)
        # Deterministic algorithms stay off: fused attention sums gradients in any order, so results on a GPU are never
        # bit-identical. The deterministic forms of the other operations sort and wait for the device.
        return
    # torch.use_deterministic_algorithms does the same, but imports a compiler, which takes a second.
    torch.set_deterministic_debug_mode("warn")
    # By default, deterministic mode fills each new tensor with NaN. That costs time and has no benefit here.
    torch.utils.deterministic.fill_uninitialized_memory = False  # type: ignore[attr-defined]


def of_finished_models() -> torch.device:
    """Return the device on which finished models translate and are measured: a GPU if there is one."""
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


def finished_model(path: str | Path, threads: int | None = None) -> Translator:
    """Load a finished model onto the device on which it translates and is measured.

    Args:
        path: The file of the model.
        threads: The CPU threads of the process; by default PyTorch's choice.

    Raises:
        WordorderError: The file is not a readable model.
    """
    if threads is not None:
        torch.set_num_threads(threads)
    prepare()
    return load_model(path).to(of_finished_models())


def fabric_precision(precision: str) -> Any:
    """Return lightning-fabric's name of a recipe's precision."""
    return _PRECISIONS[precision]


def _keep_freed_memory() -> None:
    """Let glibc reuse large blocks instead of returning them: page faults cost a tenth of a step on a CPU."""
    if sys.platform == "linux":
        try:
            libc = ctypes.CDLL("libc.so.6")
            libc.mallopt(_M_MMAP_THRESHOLD, 1 << 30)
            libc.mallopt(_M_TRIM_THRESHOLD, 1 << 30)
        except OSError:  # With another C library, training is slower but correct.
            pass


def _medium_is_single_precision() -> bool:
    """Return whether 'medium' precision is still single precision on this CPU.

    With 'medium', oneDNN computes matrix products, twice as fast as the default BLAS on some CPUs. On a CPU with matrix
    units, oneDNN would use bfloat16, so 'medium' must not be used. GPUs keep full single precision too, so that 'fp32'
    always means single precision.
    """
    if torch.cuda.is_available():
        return False
    generator = torch.Generator().manual_seed(0)
    left, right = torch.randn(2, 64, 256, generator=generator)
    exact = left.double() @ right.double().T
    previous = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("medium")
    try:
        error = ((left @ right.T).double() - exact).abs().max() / exact.abs().max()
    finally:
        torch.set_float32_matmul_precision(previous)
    return bool(error < 1e-5)
