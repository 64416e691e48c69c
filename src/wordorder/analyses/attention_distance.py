"""How far each head of self-attention looks, and how widely it spreads.

With a_ij the weight with which query i reads key j, both counted by their places in the sentence:

    distance  Σ_j a_ij |i - j|              entropy  - Σ_j a_ij log a_ij  (nats)

as means over all queries of a sample. The end of the source and the beginning of the target are tokens as any other
to a model, and heads with nothing to look for rest on them; ``boundary`` is the weight that they get. What attention
spread evenly over all that a query may see would give stands beside it as ``uniform``, since it depends on the
sentences' lengths, and on the decoder's seeing only what is behind it.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pandas as pd
import torch
from torch import Tensor

from wordorder.config.analyses import AttentionDistance
from wordorder.config.models import Analysed
from wordorder.data.binary import ParallelCorpus
from wordorder.decoding.forced import force
from wordorder.decoding.recording import Kind
from wordorder.model.batch import PAD
from wordorder.model.translator import Translator
from wordorder.results.measured import load_measures

STACKS: tuple[Kind, ...] = ("encoder", "decoder")
VALUES = ("distance", "entropy", "boundary")


def profile(weights: Tensor, real: Tensor, boundary: Tensor) -> Tensor:
    """Sums over the queries of a batch, of each head: distance, entropy, weight on the boundary: (H, 3), on the CPU.

    weights: (B, H, L, L); real: (B, L), false at padding; boundary: (B,), the place of the end or beginning.
    """
    places = torch.arange(weights.size(-1), device=weights.device)
    weights = weights.double()
    apart = (places[:, None] - places).abs().double()
    values = torch.stack(
        (
            (weights * apart).sum(-1),
            -torch.xlogy(weights, weights).sum(-1),
            weights.gather(-1, boundary[:, None, None, None].expand(*weights.shape[:3], 1)).squeeze(-1),
        ),
        dim=-1,
    )  # (B, H, L, 3)
    return (values * real[:, None, :, None]).sum((0, 2)).cpu()


def uniform(real: Tensor, *, causal: bool) -> Tensor:
    """Even weights over all that a query may see: (B, L) -> (B, 1, L, L)."""
    seen = real[:, None, :].expand(-1, real.size(1), -1)
    if causal:
        seen = seen.tril()
    # Padding queries of a causal mask see something too; of a full one, every query does.
    return (seen / seen.sum(-1, keepdim=True).clamp_min(1))[:, None]


def measure(model: Translator, corpus: ParallelCorpus, settings: AttentionDistance) -> dict[str, Any]:
    """Profiles of all heads over the first sentences of a corpus. An LSTM has none."""
    sums: dict[Kind, dict[int, Tensor]] = {stack: {} for stack in STACKS}
    even = dict.fromkeys(STACKS, torch.zeros(1, len(VALUES), dtype=torch.float64))
    tokens = dict.fromkeys(STACKS, 0)
    for forced in force(model, corpus, attention=STACKS, first=settings.sentences):
        for stack in STACKS:
            read = forced.batch.source if stack == "encoder" else forced.batch.target_input
            real = read != PAD
            boundary = real.sum(1) - 1 if stack == "encoder" else torch.zeros_like(read[:, 0])
            tokens[stack] += int(real.sum())
            even[stack] = even[stack] + profile(uniform(real, causal=stack == "decoder"), real, boundary)
            for layer, weights in enumerate(forced.attention[stack]):
                sums[stack][layer] = sums[stack].get(layer, 0) + profile(weights, real, boundary)
    profiles = {
        stack: {
            "tokens": tokens[stack],
            "uniform": _named(even[stack] / tokens[stack])[0] if tokens[stack] else None,
            "layers": [_named(found / tokens[stack]) for _, found in sorted(sums[stack].items())],
        }
        for stack in STACKS
    }
    finite = all(bool(found.isfinite().all()) for layers in sums.values() for found in layers.values())
    return {
        "status": "measured" if finite else "not a number",
        "sentences": min(settings.sentences, len(corpus)),
        "stacks": profiles,
    }


def _named(values: Tensor) -> list[dict[str, float | None]]:
    """(H, 3) -> what each head does."""
    rows = values.tolist()
    return [dict(zip(VALUES, (v if math.isfinite(v) else None for v in row), strict=True)) for row in rows]


def frame(analysed: Analysed, results: Path, data: Path) -> pd.DataFrame:
    """A row for each cell, test set, stack, layer and head, from 1: CELL, test, status, VALUES, uniform_distance …

    A cell without self-attention, or not measured, has one row without a layer.
    """
    rows: list[dict[str, Any]] = []
    for cell, measured in load_measures(analysed.report, results, "attention_distance"):
        own = [
            cell | {"stack": stack, "layer": layer, "head": head, **values} | _even(profiles["uniform"])
            for stack, profiles in measured.get("stacks", {}).items()
            for layer, heads in enumerate(profiles["layers"], start=1)
            for head, values in enumerate(heads, start=1)
        ]
        rows += own or [cell]
    columns = [*VALUES, "uniform_distance", "uniform_entropy"]
    table = pd.DataFrame(rows)
    for name in ("stack", "layer", "head", *columns):
        if name not in table:
            table[name] = None
    return table.astype(dict.fromkeys(columns, float) | {"layer": "Int64", "head": "Int64"})


def _even(uniform: dict[str, float]) -> dict[str, float]:
    return {"uniform_distance": uniform["distance"], "uniform_entropy": uniform["entropy"]}
