"""How much of an update fits into the memory of a GPU in one pass through the model."""

from __future__ import annotations

import copy
import os
import sys
from itertools import chain

import torch
from torch import Tensor, nn

from wordorder.errors import WordorderError
from wordorder.model.architectures.base import Translator
from wordorder.model.batch import Batch
from wordorder.model.objective import TranslationObjective
from wordorder.training.batches import ALONE, PassLimit
from wordorder.training.simulation import DEVICE, Dispatches, as_on_a_gpu

PASS_TOKENS = "WORDORDER_PASS_TOKENS"
_STATE_BYTES = 20  # of each parameter: itself, its gradient also as sent to other processes, and two moments
# The numbers kept until the backward pass, by the inputs and outputs of matrix products; tests count them.
_BYTES_PER_NUMBER, _BYTES_OF_MASKS = 5.2, 8192
_SENTENCES, _LENGTH = 16, 96  # of the passes whose tensors are counted


def pass_limit(on: torch.device, model: Translator, *, free: int | None = None) -> PassLimit:
    """Return what a GPU takes in one pass.

    Half of the memory that parameters, gradients and the optimizer leave free decides. If rows may not hold several
    sentences, attention works on padded sentences, so that pairs of positions count, too. ``WORDORDER_PASS_TOKENS``
    sets another number of tokens, whatever the pairs; 0 joins nothing. This is a property of the machine and no part of
    a study's configuration: joining micro-batches changes only rounding and which random numbers are drawn. CPUs join
    nothing, so that equal trainings keep equal bits there.

    Args:
        on: The device.
        model: The model, before it is moved to the device.
        free: The free bytes of the device's memory before the training; by default :func:`free_memory`.

    Raises:
        WordorderError: The variable is not a number of tokens.
    """
    text = os.environ.get(PASS_TOKENS, "")
    if on.type == "cpu" or not (text or model.packs):
        return ALONE
    if not text:
        free = free_memory(on) if free is None else free
        states = _STATE_BYTES * sum(parameter.numel() for parameter in model.parameters())
        try:
            per_token, per_pair = (bytes_per_token(model), 0.0) if model.shares_rows else measured_bytes(model)
        except RuntimeError as error:  # such as an operation that 'meta' does not implement
            return _not_measured(model, error)
        return PassLimit(max(1, int((free - states) / 2 / per_token)), per_pair / per_token)
    if not (text.isascii() and text.isdigit()):
        raise WordorderError(
            f"The environment variable {PASS_TOKENS} is '{text}', which is not a number of tokens. Set it to the "
            "number of tokens that the GPU's memory holds in one pass, such as 32768, set it to 0 to make each "
            "micro-batch a separate pass, or unset it.",
            code="out-of-range",
            key=PASS_TOKENS,
            found=text,
        )
    return PassLimit(int(text))


def _not_measured(model: Translator, error: Exception) -> PassLimit:
    """Warn that the memory of a pass cannot be measured, and let each micro-batch be a separate pass."""
    cause = (str(error) or type(error).__name__).splitlines()[0].split(". ")[0].rstrip(".")
    print(
        f"wordorder: warning: the memory of a pass cannot be measured with the encoding '{model.encoding.config.type}' "
        f"({cause}), so that each micro-batch is a separate pass; set {PASS_TOKENS} to join micro-batches.",
        file=sys.stderr,
    )
    return ALONE


def bytes_per_token(model: Translator) -> int:
    """Estimate the memory that one token of each side needs until the backward pass, in single precision.

    It follows from the inputs and outputs of matrix products, with an addition for norms, dropout and masks. The logits
    are not included, because the loss has a limit of its own.

    Args:
        model: The model.
    """
    inside = [part for part in model.modules() if isinstance(part, nn.Linear) and part is not model.output]
    return round(_BYTES_PER_NUMBER * sum(part.in_features + part.out_features for part in inside)) + _BYTES_OF_MASKS


def measured_bytes(model: Translator) -> tuple[float, float]:
    """Measure the memory that a token of each side, and a pair of positions, need until the backward pass.

    Attention of padded sentences keeps numbers for each pair of positions, and encodings may keep some for each token.
    The tensors of two passes on the simulated GPU are counted, whose sentences differ in length only. A pair stands for
    one in each attention of each layer; numbers are in single precision.

    Args:
        model: The model, whose parameters are not on a GPU yet.

    Returns:
        The bytes of a token, at least :func:`bytes_per_token`, and of a pair, at least 0.
    """
    per_token = bytes_per_token(model)
    limits = [limit for stack in ("encoder", "decoder") if (limit := model.encoding.limit(stack)) is not None]
    long = min([_LENGTH, *(limit // 2 - 1 for limit in limits)])
    short = max(1, long // 3)
    if short == long:
        return per_token, 0.0
    copied, reordered = _without_memory(model), model.encoding.config.needs_reordered
    in_short, in_long = (
        kept_bytes(copied, _sentences(length, reordered=reordered)) / (_SENTENCES * length) for length in (short, long)
    )
    per_pair = max(0.0, (in_long - in_short) / (long - short))
    return max(per_token, in_short - short * per_pair), per_pair


def kept_bytes(model: Translator, batch: Batch) -> int:
    """Count the bytes that a training pass keeps for its backward pass, in addition to the parameters.

    Args:
        model: A model on the device ``meta``.
        batch: The batch, on the same device.
    """
    own = {parameter.untyped_storage()._cdata for parameter in model.parameters()}
    kept: dict[int, Tensor] = {}

    def keep(tensor: Tensor) -> Tensor:
        if tensor.untyped_storage()._cdata not in own:
            kept[tensor.untyped_storage()._cdata] = tensor
        return tensor

    with (
        as_on_a_gpu(),
        Dispatches(),
        torch.random.fork_rng(devices=[]),
        torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor),
    ):
        TranslationObjective(model, 0.1).train()(batch)
    # The loss keeps the gradient of the output layer, whose size does not depend on the tokens.
    return sum(tensor.untyped_storage().nbytes() for tensor in kept.values()) - 4 * model.output.weight.numel()


def _without_memory(model: Translator) -> Translator:
    """Return a copy whose parameters and buffers have shapes, but no numbers."""
    tensors = {id(tensor): tensor for tensor in chain(model.parameters(), model.buffers())}
    memo = {
        number: nn.Parameter(tensor.to(DEVICE), tensor.requires_grad)
        if isinstance(tensor, nn.Parameter)
        else tensor.to(DEVICE)
        for number, tensor in tensors.items()
    }
    return copy.deepcopy(model, memo=memo)


def _sentences(length: int, *, reordered: bool) -> Batch:
    """Return pairs of equally long sentences on the device ``meta``, packed."""
    tokens = torch.ones(_SENTENCES, length, dtype=torch.int64, device=DEVICE)
    places = torch.arange(tokens.numel(), device=DEVICE)
    lengths = torch.full((_SENTENCES,), length)
    positions = tokens if reordered else None
    return Batch(tokens, tokens, tokens, places, tokens.numel(), positions, lengths, places)


def free_memory(on: torch.device) -> int:
    """Return the free bytes of a GPU's memory; for a CPU, all memory of the machine."""
    if on.type == "cuda":
        return torch.cuda.mem_get_info(on)[0]
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
