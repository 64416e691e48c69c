"""Writes files in the background, one after another, while a training run continues."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from torch import Tensor
from torch.utils._pytree import tree_map_only


class Writer:
    """Runs writes in their order.

    Args:
        background: Whether a thread runs them. Otherwise, each is finished when :meth:`run` returns.
    """

    def __init__(self, *, background: bool = False) -> None:
        self._worker = ThreadPoolExecutor(1, thread_name_prefix="writer") if background else None
        self._pending: Future[None] | None = None

    def run(self, write: Callable[[Any], None], state: Any) -> None:
        """Write a state as it is now, after the previous write has ended.

        Args:
            write: Writes the state.
            state: Tensors in dictionaries and lists. A background write gets copies on the CPU.

        Raises:
            Exception: The error of the previous write, or of this one if it is not in the background.
        """
        self.wait()
        if self._worker is None:
            write(state)
        else:
            self._pending = self._worker.submit(write, _copied(state))

    def wait(self) -> None:
        """Wait for the last write, and raise its error if it failed."""
        pending, self._pending = self._pending, None
        if pending is not None:
            pending.result()


def _copied(state: Any) -> Any:
    """Copy tensors to the CPU; parameters that share their memory still do."""
    copies: dict[tuple[Any, ...], Tensor] = {}

    def copy(tensor: Tensor) -> Tensor:
        key = tensor.device, tensor.data_ptr(), tensor.dtype, tensor.shape, tensor.stride()
        if key not in copies:
            copies[key] = tensor.detach().to("cpu", copy=True)
        return copies[key].detach()

    return tree_map_only(Tensor, copy, state)
