"""Writes files in the background, one after another, while a training run continues."""

from __future__ import annotations

from collections import deque
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
        self._pending: deque[Future[None]] = deque()

    def run(self, write: Callable[[Any], None], state: Any) -> None:
        """Write a state as it is now, after the previous writes. The method waits while two others have not ended.

        Args:
            write: Writes the state.
            state: Tensors in dictionaries and lists. A background write gets copies on the CPU.

        Raises:
            Exception: The error of an earlier write, or of this one if it is not in the background.
        """
        if self._worker is None:
            write(state)
            return
        while self._pending and (len(self._pending) > 1 or self._pending[0].done()):
            self._pending.popleft().result()
        self._pending.append(self._worker.submit(write, _copied(state)))

    def wait(self) -> None:
        """Wait for all writes, and raise the error of one that failed."""
        while self._pending:
            self._pending.popleft().result()


def _copied(state: Any) -> Any:
    """Copy tensors to the CPU; parameters that share their memory still do."""
    copies: dict[tuple[Any, ...], Tensor] = {}

    def copy(tensor: Tensor) -> Tensor:
        key = tensor.device, tensor.data_ptr(), tensor.dtype, tensor.shape, tensor.stride()
        if key not in copies:
            copies[key] = tensor.detach().to("cpu", copy=True)
        return copies[key].detach()

    return tree_map_only(Tensor, copy, state)
