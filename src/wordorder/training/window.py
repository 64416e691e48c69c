"""Mean metrics of a training run between two reports."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch
from lightning_fabric import Fabric
from torch import Tensor


def summed(fabric: Fabric, values: Tensor) -> Tensor:
    """Sum values over all processes.

    Args:
        fabric: The launched Fabric of this process.
        values: The values of this process, of any shape.

    Returns:
        The sums, of the same shape, in all processes.
    """
    if fabric.world_size == 1:
        return values
    summed = fabric.all_reduce(values, reduce_op="sum")
    assert isinstance(summed, Tensor)
    return summed


class Window:
    """Sums since the last report, which stay on the device until the next one, so that no update waits for them.

    Args:
        device: The device.
    """

    def __init__(self, device: torch.device) -> None:
        # The sums of loss, negative log-likelihood (nll) and gradient norm.
        self.sums = torch.zeros(3, dtype=torch.float64, device=device)
        self.updates = self.tokens = 0
        self.seconds = 0.0
        self.note = ""

    def add_loss(self, loss: Tensor, nll: Tensor) -> None:
        """Add a micro-batch.

        Args:
            loss: Its summed loss, ().
            nll: Its summed negative log-likelihood in nats, ().
        """
        self.sums[0].add_(loss.detach())
        self.sums[1].add_(nll)

    def add_update(self, norm: Tensor, tokens: int) -> None:
        """Add an update.

        Args:
            norm: Its gradient norm, ().
            tokens: Its target tokens in all processes.
        """
        self.sums[2].add_(norm.detach())
        self.updates += 1
        self.tokens += tokens

    def read(self, fabric: Fabric) -> list[float]:
        """Wait for the device and return the sums over all processes: loss, nll and gradient norm."""
        sums = self.sums.clone()
        sums[:2] = summed(fabric, sums[:2])
        read: list[float] = sums.tolist()
        return read

    def close(self, sums: Sequence[float]) -> dict[str, float]:
        """Compute the mean metrics and reset the window.

        Args:
            sums: The result of :meth:`read`.

        Returns:
            The metrics by name; losses are in nats per target token.
        """
        loss, nll, norm = sums
        nll /= self.tokens
        values = {
            "loss": loss / self.tokens,
            "nll": nll,
            "perplexity": math.exp(nll) if nll < 700 else math.inf,
            "gradient_norm": norm / self.updates,
            "tokens_per_second": self.tokens / self.seconds,
        }
        self.note = f"loss {values['loss']:.3f}, {values['tokens_per_second']:,.0f} tokens/s"
        self.sums.zero_()
        self.updates, self.tokens, self.seconds = 0, 0, 0.0
        return values

    def state(self) -> dict[str, Any]:
        """Return the window for the saved state."""
        return {"sums": self.sums.cpu(), "updates": self.updates, "tokens": self.tokens, "seconds": self.seconds}

    def load(self, saved: Sequence[dict[str, Any]], *, rank: int, number: int) -> None:
        """Restore the window of one process from a saved state, perhaps of another number of processes.

        Args:
            saved: The windows of all processes that saved the state. The losses are those of each process's own
                micro-batches; everything else is equal in all of them.
            rank: The number of this process, from 0.
            number: The number of processes.
        """
        self.sums.copy_(saved[0]["sums"])
        self.sums[:2] = sum((state["sums"][:2] for state in saved[rank::number]), torch.zeros(2)).to(self.sums.device)
        self.updates, self.tokens, self.seconds = saved[0]["updates"], saved[0]["tokens"], saved[0]["seconds"]
