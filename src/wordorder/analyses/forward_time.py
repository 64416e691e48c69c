"""Time of the same forward passes of the same batch for all models of a study (Figure 2 of the PosNet paper).

The paper constructs its batch by hand; ours consists of random tokens. As in the paper, a measurement covers several
passes; in translation, a model that ends its sentences earlier would look faster. The models take turns, one
measurement each per round, so that other load on the machine affects all of them. They are compared by the ratio to the
baseline within a round. One process measures all models of a dataset and size.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from pydantic import Field

from wordorder.analyses.base import JointAnalysis
from wordorder.config.base import Positive
from wordorder.config.models import Analysed
from wordorder.progress import track

if TYPE_CHECKING:
    import torch
    from matplotlib.figure import Figure
    from pandas import DataFrame
    from torch import Tensor

    from wordorder.encodings.base import Positions
    from wordorder.model.architectures.base import Translator

COLUMNS = ["dataset", "size", "encoding", "round", "seconds", "ratio", "device", "threads", "status"]

_WIDTH = 5.0


class ForwardTime(JointAnalysis):
    """Time of the same forward passes of a batch of random tokens, for the models of the first seed."""

    name: ClassVar[str] = "forward_time"
    caption: ClassVar[str] = (
        "Time of the same forward passes of the same batch of random tokens, over the baseline's; the models of the "
        "first seed take turns (as Figure 2 of the PosNet paper, which has one measurement)."
    )

    sentences: Positive = Field(default=32, description="Number of sentences in the batch.")
    length: Annotated[int, Field(ge=2)] = Field(default=32, description="Number of subwords of each source and target.")
    passes: Positive = Field(default=10, description="Number of forward passes per measurement.")
    rounds: Positive = Field(default=7, description="Number of rounds, in each of which every model is measured once.")

    def measure(self, models: Mapping[str, Translator]) -> dict[str, Any]:
        """Measure the seconds of ``passes`` forward passes of each model in each round, after a warm-up round."""
        import torch

        device = next(next(iter(models.values())).parameters()).device
        smallest = min(model.output.weight.size(0) for model in models.values())
        source, target, positions = _batch(self, smallest, device)
        seconds: dict[str, list[float]] = {name: [] for name in models}
        with torch.inference_mode():
            for number in track(range(self.rounds + 1), "Forward passes", total=self.rounds + 1):
                for name, model in models.items():
                    _synchronise(device)
                    begun = time.perf_counter()
                    for _ in range(self.passes):
                        model.logits(model(source, target, source_positions=positions))
                    _synchronise(device)
                    if number:
                        seconds[name].append(time.perf_counter() - begun)
        return {
            "seconds": seconds,
            "device": torch.cuda.get_device_name(device) if device.type == "cuda" else device.type,
            "threads": torch.get_num_threads(),
            "cores": os.cpu_count(),
        }

    def frame(self, asked: Analysed, results: Path, data: Path) -> DataFrame:
        """Compute one row per dataset, size, encoding and round: seconds, and their ratio to the baseline's."""
        import pandas as pd

        from wordorder.results.measured import load_joint_measure

        report = asked.report
        rows: list[dict[str, Any]] = []
        for dataset in report.datasets:
            for size in report.sizes:
                place = {"dataset": dataset.name, "size": size}
                measured = load_joint_measure(results, self.name, dataset.name, size) or {"seconds": {}}
                base = measured["seconds"].get(report.baseline)
                where = {key: measured.get(key) for key in ("device", "threads")}
                for encoding in report.encodings_of(size):
                    found = measured["seconds"].get(encoding)
                    if found is None:
                        rows.append(place | {"encoding": encoding, "status": "missing"} | where)
                        continue
                    for number, seconds in enumerate(found, start=1):
                        ratio = seconds / base[number - 1] if base else None
                        row = {"encoding": encoding, "round": number, "seconds": seconds, "ratio": ratio}
                        rows.append(place | row | {"status": "measured"} | where)
        table = pd.DataFrame(rows, columns=COLUMNS)
        return table.astype({"round": "Int64", "threads": "Int64", "seconds": float, "ratio": float})

    def draw(self, frame: DataFrame, asked: Analysed) -> Figure:
        """Draw one panel per dataset and size: one row per encoding, one dot per round, a bar at the median.

        The row of an encoding without measurements says so.
        """
        from wordorder.drawing.style import PALETTE, panels, say, wrap
        from wordorder.results.frames import groups

        report = asked.report
        cut = list(groups(frame, ["dataset", "size"]))
        titles = {data.name: data.title for data in report.datasets}
        figure, axes = panels(len(cut), 2, _WIDTH, 1.2 + 0.24 * len(report.encodings))
        for panel, ((dataset, size), group) in zip(axes, cut, strict=True):
            panel.set_title(wrap(f"{titles[dataset]}, {size}", int(_WIDTH * 10)))
            measured = group.dropna(subset="ratio")
            if measured.empty:
                unmeasured = group["seconds"].isna().all()
                say(panel, "not measured" if unmeasured else wrap(f"no measurements of {report.baseline}", 40))
                continue
            names = list(reversed(report.encodings_of(size)))
            (device,) = measured["device"].unique()
            threads = f", {measured['threads'].iloc[0]} threads" if device == "cpu" else ""
            panel.set_xlabel(f"time over that of {report.baseline} ({device}{threads})")
            panel.set_yticks(range(len(names)), names)
            panel.set_ylim(-0.6, len(names) - 0.4)
            panel.axvline(1, color="#999999", linewidth=0.8, zorder=0)
            panel.grid(axis="x")
            for row, name in enumerate(names):
                own = measured.loc[measured["encoding"] == name, "ratio"]
                if own.empty:
                    panel.text(1, row, " not measured", va="center", fontsize=7, color="#444444")
                    continue
                panel.scatter(own, [row] * len(own), s=10, color=PALETTE[5], linewidths=0, zorder=2)
                panel.vlines(own.median(), row - 0.3, row + 0.3, color="#000000", linewidth=1.6, zorder=3)
                seconds = group.loc[group["encoding"] == name, "seconds"].median()
                panel.annotate(
                    f"{own.median():.2f} ({_time(seconds)})",
                    (1, row),
                    xycoords=("axes fraction", "data"),
                    xytext=(4, 0),
                    textcoords="offset points",
                    va="center",
                    fontsize=7.5,
                )
        figure.supxlabel("dots: one round; bar and number: median", fontsize=7.5)
        return figure


def _batch(settings: ForwardTime, vocabulary: int, device: torch.device) -> tuple[Tensor, Tensor, Positions]:
    """Create source and target, (sentences, length) each, and positions; reordered positions reverse the source."""
    import torch

    from wordorder.encodings.base import Positions
    from wordorder.model.batch import BEGIN, END

    generator = torch.Generator().manual_seed(1)
    shape = (settings.sentences, settings.length)
    first = max(BEGIN, END) + 1
    source, target = (torch.randint(first, vocabulary, shape, generator=generator) for _ in range(2))
    source[:, -1], target[:, 0] = END, BEGIN
    reordered = torch.arange(settings.length).flip(0).expand(shape).to(device)
    positions = Positions.range(settings.length, on=device).with_reordered(reordered)
    return source.to(device), target.to(device), positions


def _synchronise(device: torch.device) -> None:
    import torch

    if device.type == "cuda":
        torch.cuda.synchronize(device)


def _time(seconds: float) -> str:
    return f"{seconds:.2f} s" if seconds >= 1 else f"{1000 * seconds:.3g} ms"
