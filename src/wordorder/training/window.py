"""Means of a training between two reports."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch
from lightning_fabric import Fabric
from torch import Tensor


def summed(fabric: Fabric, values: Tensor) -> Tensor:
    """The sum over all processes."""
    if fabric.world_size == 1:
        return values
    summed = fabric.all_reduce(values, reduce_op="sum")
    assert isinstance(summed, Tensor)
    return summed


class Window:
    """Sums since the last report. They stay on the device until then, so that no update waits for them."""

    def __init__(self, device: torch.device) -> None:
        self.sums = torch.zeros(3, dtype=torch.float64, device=device)  # loss, nll, gradient norm
        self.updates = self.tokens = 0
        self.seconds = 0.0
        self.note = ""

    def add_loss(self, loss: Tensor, nll: Tensor) -> None:
        self.sums[0] += loss.detach()
        self.sums[1] += nll

    def add_update(self, norm: Tensor, tokens: int) -> None:
        self.sums[2] += norm.detach()
        self.updates += 1
        self.tokens += tokens

    def read(self, fabric: Fabric) -> list[float]:
        """Wait for the device and return the sums of loss, nll and gradient norm over all processes."""
        sums = self.sums.clone()
        sums[:2] = summed(fabric, sums[:2])
        read: list[float] = sums.tolist()
        return read

    def close(self, sums: Sequence[float]) -> dict[str, float]:
        """Return the means of the window, which then starts again, from what :meth:`read` returned."""
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
        return {"sums": self.sums.cpu(), "updates": self.updates, "tokens": self.tokens, "seconds": self.seconds}

    def load(self, saved: Sequence[dict[str, Any]], *, rank: int, number: int) -> None:
        """Go on from the windows that processes had saved, as process ``rank`` of ``number``, perhaps another number.

        Each had the losses of its own micro-batches; all else is the same in each.
        """
        self.sums.copy_(saved[0]["sums"])
        self.sums[:2] = sum((state["sums"][:2] for state in saved[rank::number]), torch.zeros(2)).to(self.sums.device)
        self.updates, self.tokens, self.seconds = saved[0]["updates"], saved[0]["tokens"], saved[0]["seconds"]
