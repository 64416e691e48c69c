"""Scores against a number in which the study's encodings differ: k of OPR, d_p of PosNet, τ of HeadXL, noise."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from pydantic import Field, model_validator
from typing_extensions import override

from wordorder.analyses.base import ScoresAnalysis, StudyView
from wordorder.config.base import Name
from wordorder.config.models import Analysed
from wordorder.errors import nearest

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from pandas import DataFrame

_WIDTH = 3.7


class Sweep(ScoresAnalysis):
    """Scores against a number in which the study's encodings differ."""

    name: ClassVar[str] = "sweep"
    caption: ClassVar[str] = (
        "Scores against the number in which the encodings of a curve differ: mean and standard deviation over seeds, "
        "with every seed as a dot. Encodings outside the sweep are levels."
    )

    parameter: Annotated[str, Field(min_length=1)] = Field(description="Label of the axis of the number.")
    curves: Annotated[dict[str, Annotated[dict[Name, float], Field(min_length=2)]], Field(min_length=1)] = Field(
        description="Number of each encoding of each curve. Encodings outside all curves are drawn as levels."
    )
    scale: Literal["linear", "log"] = Field(default="linear", description="Scale of the axis of the number.")

    @model_validator(mode="after")
    def _numbers_fit(self) -> Sweep:
        for name, values in self.curves.items():
            if len(set(values.values())) < len(values):
                raise ValueError(f"two encodings of the curve '{name}' have the same number")
        encodings = [encoding for values in self.curves.values() for encoding in values]
        if len(set(encodings)) < len(encodings):
            raise ValueError("an encoding is in two curves")
        if self.scale == "log" and min(min(values.values()) for values in self.curves.values()) <= 0:
            raise ValueError("a logarithmic scale requires numbers greater than 0")
        return self

    @override
    def check(self, view: StudyView) -> None:
        levels = set(view.study.encodings).difference(*self.curves.values())
        for curve, values in self.curves.items():
            if curve in levels:
                raise view.error(
                    f"has the name of the encoding '{curve}', which is not on a curve, so that the legend would name "
                    "both alike. Give the curve another name",
                    f"sweep.curves.{curve}",
                )
            for name in values:
                if name not in view.study.encodings:
                    hint = nearest(name, view.study.encodings, "study's encodings")
                    raise view.error(
                        f"names '{name}', which is not an encoding of this study{hint}", f"sweep.curves.{curve}"
                    )

    def frame(self, asked: Analysed, results: Path, data: Path) -> DataFrame:
        """Compute one row per cell, test set and metric.

        Columns: curve and value (the encoding's number; both empty for encodings outside all curves), score, mean, sd
        and seeds of the score over seeds, status and signature. Curves come first, each sorted by its numbers.
        """
        from wordorder.results.frames import load_scores
        from wordorder.results.translations import CELL_TEST, with_spread

        curves = self.curves
        places = {encoding: (curve, value) for curve, values in curves.items() for encoding, value in values.items()}
        scores = load_scores(asked.report, results)
        found = [places.get(encoding, ("", float("nan"))) for encoding in scores["encoding"]]
        scores = scores.assign(curve=[curve for curve, _ in found], value=[value for _, value in found])
        order = {curve: number for number, curve in enumerate([*curves, ""])}
        scores = with_spread(scores, "score").sort_values("value", kind="stable")
        scores = scores.sort_values("curve", kind="stable", key=lambda names: names.map(order), ignore_index=True)
        return scores[[*CELL_TEST, "metric", "curve", "value", "score", "mean", "sd", "seeds", "status", "signature"]]

    def draw(self, frame: DataFrame, asked: Analysed) -> Figure:
        """Draw one row of panels per test set, one column per metric.

        Dots are seeds, a line goes through the means; encodings outside all curves are levels.
        """
        from matplotlib.ticker import NullLocator

        from wordorder.drawing.lines import at, legend, look, no_scores, places, title, where_scored
        from wordorder.drawing.style import panels, say, wrap
        from wordorder.metrics import base

        report = asked.report
        levels = [name for name in report.encodings if all(name not in values for values in self.curves.values())]
        # A curve has the colour of its first encoding, so that levels have theirs.
        cues = {curve: look(report, next(iter(values))) for curve, values in self.curves.items()}
        cues |= {name: look(report, name) for name in levels}
        numbers = sorted({value for values in self.curves.values() for value in values.values()})
        where, metrics = places(frame), list(frame["metric"].unique())
        figure, axes = panels(len(where) * len(metrics), len(metrics), _WIDTH, 2.6)
        for index, panel in enumerate(axes):
            place, metric = where[index // len(metrics)], metrics[index % len(metrics)]
            own = at(frame, place)
            own = own[own["metric"] == metric]
            rows = own.dropna(subset="score")
            panel.set_title(wrap(title(report, place), int(_WIDTH * 11)))
            described = base.metric(metric)
            panel.set_ylabel(described.label + (" (lower is better)" if described.lower_is_better else ""))
            panel.set_xlabel(self.parameter)
            panel.grid(axis="y")
            if rows.empty:
                say(panel, no_scores(own))
                continue
            if self.scale == "log":
                panel.set_xscale("log")
                panel.xaxis.set_minor_locator(NullLocator())
            panel.set_xticks(numbers, [f"{number:g}" for number in numbers])
            for name in self.curves:
                _curve(panel, rows[rows["curve"] == name], name, cues[name])
            for name in levels:
                level = rows[rows["encoding"] == name]
                if len(level):
                    style = {key: cues[name][key] for key in ("color", "linestyle")}
                    panel.axhline(level["mean"].iloc[0], label=name, linewidth=1, **style)
        note = (
            "line: mean ± standard deviation over seeds; dots: each seed; levels: means of encodings outside the sweep"
        )
        legend(figure, axes, where_scored(frame), report, note, names=list(cues))
        return figure


def _curve(panel: Axes, rows: DataFrame, name: str, style: dict[str, object]) -> None:
    means = rows.drop_duplicates("value")
    panel.scatter(rows["value"], rows["score"], s=9, color=str(style["color"]), alpha=0.5, linewidths=0)
    panel.errorbar(
        means["value"], means["mean"], yerr=means["sd"], label=name, markersize=3.5, linewidth=1, elinewidth=0.8,
        capsize=2, **style,  # type: ignore[arg-type]
    )  # fmt: skip
