"""Distance and entropy of the self-attention of each head.

With a_ij the weight with which query i reads key j, both indexed by their positions in the sentence:

    distance  Σ_j a_ij |i - j|              entropy  - Σ_j a_ij log a_ij  (nats)

as means over all queries of a sample. For a model, the end of the source and the beginning of the target are ordinary
tokens, and heads without a specific target attend to them; ``boundary`` is the weight on them. ``uniform`` gives the
values of attention spread evenly over all visible keys, because these depend on the lengths of the sentences and on the
decoder's causal mask.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from pydantic import Field

from wordorder.analyses.base import MeasuredSet, ModelAnalysis
from wordorder.config.base import Positive
from wordorder.config.models import Analysed

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.image import AxesImage
    from pandas import DataFrame
    from torch import Tensor

    from wordorder.model.architectures.base import Kind, Translator

STACKS: tuple[Kind, ...] = ("encoder", "decoder")
VALUES = ("distance", "entropy", "boundary")

_PER_ROW = 3  # encodings per figure


class AttentionDistance(ModelAnalysis):
    """Distance and entropy of the self-attention of each head."""

    name: ClassVar[str] = "attention_distance"
    caption: ClassVar[str] = (
        "How far each head of self-attention looks on the first test set, in tokens: mean over seeds, which share no "
        "order of heads, so that those of a layer are sorted by distance. The value of even attention is below "
        "each panel."
    )

    sentences: Positive = Field(default=500, description="Number of sentences, the first ones of each test set.")

    def measure(self, model: Translator, sentences: MeasuredSet) -> dict[str, Any]:
        """Measure the profiles of all heads over the first sentences of a set. An LSTM has none.

        Args:
            model: The model.
            sentences: The set.

        Returns:
            ``status`` and, per stack and layer, the values of each head.
        """
        import torch

        from wordorder.decoding.forced import force
        from wordorder.model.batch import PAD

        corpus = sentences.corpus
        sums: dict[Kind, dict[int, Tensor]] = {stack: {} for stack in STACKS}
        even = dict.fromkeys(STACKS, torch.zeros(1, len(VALUES), dtype=torch.float64))
        tokens = dict.fromkeys(STACKS, 0)
        for forced in force(model, corpus, attention=STACKS, first=self.sentences):
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
            "sentences": min(self.sentences, len(corpus)),
            "stacks": profiles,
        }

    def frame(self, asked: Analysed, results: Path, data: Path) -> DataFrame:
        """Compute one row per cell, test set, stack, layer and head, counted from 1.

        Columns: CELL, test, status, VALUES, uniform_distance and uniform_entropy. A cell without self-attention or
        without measurements has one row without a layer.
        """
        import pandas as pd

        from wordorder.results.measured import load_measures

        rows: list[dict[str, Any]] = []
        for cell, measured in load_measures(asked.report, results, self.name):
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

    def draw(self, frame: DataFrame, asked: Analysed) -> Figure:
        """Draw the distances on the first test set of each dataset and size: layers by heads, nearest first.

        Seeds share no order of heads, so the heads of a layer are sorted by distance before the mean over seeds is
        taken.
        """
        from wordorder.drawing.lines import at, missing_cells, places, title
        from wordorder.drawing.style import panels, say, wrap

        report = asked.report
        first = {dataset.name: dataset.tests[0] for dataset in report.datasets}
        where = [place for place in places(frame) if place[1] == first[place[0]]]
        shown = [(place, name, stack) for place in where for name in report.encodings_of(place[2]) for stack in STACKS]
        known = frame.dropna(subset="layer")
        heads = int(known["head"].max()) if len(known) else 1
        layers = int(known["layer"].max()) if len(known) else 1
        columns = 2 * min(_PER_ROW, len(report.encodings))
        figure, axes = panels(len(shown), columns, 1.2 + 0.28 * heads, 1.1 + 0.28 * layers)
        top = float(known["distance"].max()) if len(known) else 1.0
        image: AxesImage | None = None
        for panel, (place, encoding, stack) in zip(axes, shown, strict=True):
            rows = at(frame, place)
            own = rows[(rows["encoding"] == encoding) & (rows["stack"] == stack)]
            own = own[own.groupby("seed")["distance"].transform(lambda distances: distances.notna().all())]
            several = f"{title(report, place)}\n" if len(where) > 1 else ""
            panel.set_title(f"{several}{wrap(encoding, 20)}\n{stack}", fontsize=8)
            if own.empty:
                say(panel, "not\nmeasured")
                continue
            image = _heatmap(panel, mean_profile(own), top, own["uniform_distance"].mean())
        if image is not None:
            note = f"mean |i - j|, {first[report.datasets[0].name]}" if len(where) == 1 else "mean |i - j|"
            figure.colorbar(image, ax=axes, label=note, shrink=0.7, aspect=30)
        missing = missing_cells(frame, report)
        if missing:
            figure.supxlabel("\n".join(missing), fontsize=7)
        return figure


def profile(weights: Tensor, real: Tensor, boundary: Tensor) -> Tensor:
    """Sum the values of each head over the queries of a batch.

    Args:
        weights: Attention weights, (B, H, L, L).
        real: False at padding, (B, L).
        boundary: Position of the end or the beginning of each sentence, (B,).

    Returns:
        Distance, entropy and weight on the boundary, (H, 3) on the CPU.
    """
    import torch

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
    """Compute even weights over all visible keys, (B, L) to (B, 1, L, L)."""
    seen = real[:, None, :].expand(-1, real.size(1), -1)
    if causal:
        seen = seen.tril()
    # Every query sees at least one key, even padding.
    return (seen / seen.sum(-1, keepdim=True).clamp_min(1))[:, None]


def _named(values: Tensor) -> list[dict[str, float | None]]:
    """Convert (H, 3) to one dictionary per head."""
    rows = values.tolist()
    return [dict(zip(VALUES, (v if math.isfinite(v) else None for v in row), strict=True)) for row in rows]


def _even(uniform: dict[str, float]) -> dict[str, float]:
    return {"uniform_distance": uniform["distance"], "uniform_entropy": uniform["entropy"]}


def mean_profile(rows: DataFrame) -> np.ndarray:
    """Sort each seed's heads by distance, then average over seeds, (layers, heads)."""
    seeds = [
        np.stack([np.sort(layer["distance"].to_numpy()) for _, layer in seed.groupby("layer")])
        for _, seed in rows.groupby("seed")
    ]
    mean: np.ndarray = np.mean(seeds, axis=0)
    return mean


def _heatmap(panel: Axes, values: np.ndarray, top: float, even: float) -> AxesImage:
    image = panel.imshow(values, vmin=0, vmax=top, cmap="cividis", aspect="auto", origin="lower")
    panel.set_xticks(range(values.shape[1]), [str(head) for head in range(1, values.shape[1] + 1)])
    panel.set_yticks(range(values.shape[0]), [str(layer) for layer in range(1, values.shape[0] + 1)])
    panel.set_xlabel(f"head, nearest first\n(even attention: {even:.1f})", fontsize=7)
    panel.set_ylabel("layer", fontsize=8)
    for (row, column), value in np.ndenumerate(values):
        if values.size <= 48:
            colour = "black" if value > 0.6 * top else "white"
            panel.text(column, row, f"{value:.1f}", ha="center", va="center", fontsize=6, color=colour)
    return image
