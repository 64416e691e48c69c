"""Settings of the process that make computations fast and repeatable, and the choice of a device."""

from __future__ import annotations

import ctypes
import os
import sys
from pathlib import Path
from typing import Any

import torch
from torch import nn

from wordorder.errors import WordorderError
from wordorder.model.architectures.base import Translator
from wordorder.model.checkpoint import load_model

PASS_TOKENS = "WORDORDER_PASS_TOKENS"
_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3
_STATE_BYTES = 20  # of each parameter: itself, its gradient also as sent to other processes, and two moments
# The numbers kept until the backward pass, by the inputs and outputs of matrix products; tests count them.
_BYTES_PER_NUMBER, _BYTES_OF_MASKS = 5.2, 8192
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


def pass_tokens(on: torch.device, model: Translator, *, free: int | None = None) -> int:
    """Return the tokens of each side that a GPU takes in one pass, or 0 if each micro-batch is a separate pass.

    If rows may hold several sentences, half of the memory that parameters, gradients and the optimizer leave free
    decides. ``WORDORDER_PASS_TOKENS`` sets another number, also for models whose micro-batches are joined with padding
    in attention; 0 joins nothing. This is a property of the machine and no part of a study's configuration: joining
    micro-batches changes only rounding and which random numbers are drawn. CPUs join nothing, so that equal trainings
    keep equal bits there.

    Args:
        on: The device.
        model: The model.
        free: The free bytes of the device's memory before the training; by default :func:`free_memory`.

    Raises:
        WordorderError: The variable is not a number of tokens.
    """
    text = os.environ.get(PASS_TOKENS, "")
    if on.type == "cpu":
        return 0
    if not text:
        free = free_memory(on) if free is None else free
        states = _STATE_BYTES * sum(parameter.numel() for parameter in model.parameters())
        return max(1, int((free - states) / 2 / bytes_per_token(model))) if model.shares_rows else 0
    if not (text.isascii() and text.isdigit()):
        raise WordorderError(
            f"The environment variable {PASS_TOKENS} is '{text}', which is not a number of tokens. Set it to the "
            "number of tokens that the GPU's memory holds in one pass, such as 32768, set it to 0 to make each "
            "micro-batch a separate pass, or unset it.",
            code="out-of-range",
            key=PASS_TOKENS,
            found=text,
        )
    return int(text)


def bytes_per_token(model: Translator) -> int:
    """Estimate the memory that one token of each side needs until the backward pass, in single precision.

    It follows from the inputs and outputs of matrix products, with an addition for norms, dropout and masks. The logits
    are not included, because the loss has a limit of its own.

    Args:
        model: The model.
    """
    inside = [part for part in model.modules() if isinstance(part, nn.Linear) and part is not model.output]
    return round(_BYTES_PER_NUMBER * sum(part.in_features + part.out_features for part in inside)) + _BYTES_OF_MASKS


def free_memory(on: torch.device) -> int:
    """Return the free bytes of a GPU's memory; for a CPU, all memory of the machine."""
    if on.type == "cuda":
        return torch.cuda.mem_get_info(on)[0]
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


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
