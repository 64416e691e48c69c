"""Makes the machine fast and repeatable before a model is built."""

from __future__ import annotations

import ctypes
import os
import sys
from pathlib import Path
from typing import Any

import torch

from wordorder.model.architectures.base import Translator
from wordorder.model.checkpoint import load_model

_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3
_PRECISIONS = {"fp32": "32-true", "bf16": "bf16-mixed", "fp16": "16-mixed"}


def prepare(precision: str = "fp32") -> None:
    """Make the process fast and, on a CPU, deterministic: memory, subnormal numbers, matrix products.

    Args:
        precision: Precision of the recipe; with any but fp32, LSTMs on a GPU use TF32.
    """
    _keep_freed_memory()
    # ALiBi and forget gates give far keys subnormal attention weights, with which a CPU computes several times more
    # slowly. The threads that PyTorch starts later inherit the setting.
    torch.set_flush_denormal(True)
    torch.set_float32_matmul_precision("medium" if _medium_is_single_precision() else "highest")
    torch.backends.cudnn.allow_tf32 = precision != "fp32"  # of LSTMs
    if torch.cuda.is_available():
        # cuDNN's attention makes a plan for every new shape of a batch, and thousands of shapes come.
        torch.backends.cuda.enable_cudnn_sdp(False)
        # Fused attention sums gradients in any order on a GPU, so nothing there repeats its bits; and deterministic
        # forms of the other operations sort, and wait for the device.
        return
    # torch.use_deterministic_algorithms does the same, but imports a compiler, which takes a second.
    torch.set_deterministic_debug_mode("warn")
    # Otherwise every new tensor is first filled with NaN, which costs time and guards against nothing here.
    torch.utils.deterministic.fill_uninitialized_memory = False  # type: ignore[attr-defined]


def free_memory(on: torch.device) -> int:
    """Return the bytes of memory that are free on a GPU; of a CPU, all memory of the machine."""
    if on.type == "cuda":
        return torch.cuda.mem_get_info(on)[0]
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def of_finished_models() -> torch.device:
    """Where finished models translate and are measured: on a GPU where there is one."""
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


def finished_model(path: str | Path, threads: int | None = None) -> Translator:
    """Load a finished model onto the device where it translates and is measured.

    Args:
        path: The model.
        threads: The CPU threads of the process; PyTorch's choice if missing.
    """
    if threads is not None:
        torch.set_num_threads(threads)
    prepare()
    return load_model(path).to(of_finished_models())


def fabric_precision(precision: str) -> Any:
    """The name that lightning-fabric has for a recipe's precision."""
    return _PRECISIONS[precision]


def _keep_freed_memory() -> None:
    """Let glibc reuse large blocks instead of giving them back: page faults cost a tenth of a CPU step."""
    if sys.platform == "linux":
        try:
            libc = ctypes.CDLL("libc.so.6")
            libc.mallopt(_M_MMAP_THRESHOLD, 1 << 30)
            libc.mallopt(_M_TRIM_THRESHOLD, 1 << 30)
        except OSError:  # another C library: slower, not wrong
            pass


def _medium_is_single_precision() -> bool:
    """Whether 'medium' precision is still single precision on this CPU.

    It sends matrix products to oneDNN, twice as fast as the default BLAS on some CPUs. Where the CPU has matrix
    units, oneDNN would use bfloat16; then the setting is left alone. GPUs keep full single precision as well, so that
    'fp32' means what it says.
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
