"""Tests of the parts that figures of analyses share."""

from __future__ import annotations

import pandas as pd
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg

from evaluation_samples import report
from wordorder.drawing.lines import legend, look
from wordorder.drawing.style import panels, styled


@pytest.mark.parametrize("count", [1, 17, 40])
@styled
def test_a_legend_of_many_encodings_fits_on_the_page(count: int) -> None:
    names = [f"encoding_{number}" if number % 2 else f"encoding_with_a_long_name_{number}" for number in range(count)]
    study = report(names, [1, 2])
    frame = pd.DataFrame(
        {
            "encoding": names,
            "dataset": "pair",
            "size": "tiny",
            "seed": 1,
            "status": ["diverged", *["scored"] * (count - 1)],
        }
    )
    figure, axes = panels(3, 3, 3.4, 2.5)
    for name in names:
        axes[0].plot([0, 1], [0, 1], label=name, **look(study, name))
    height = figure.get_figheight()
    legend(figure, axes, frame, study, "mean over seeds; band: ± standard deviation")
    FigureCanvasAgg(figure).draw()
    (drawn,) = figure.legends
    box = drawn.get_window_extent()
    assert box.y0 >= 0 and box.x1 <= figure.bbox.x1 + 1 and box.y1 <= figure.bbox.y1 + 1
    assert len(drawn.get_texts()) == count
    assert not any(box.overlaps(panel.get_window_extent()) for panel in axes)
    assert (figure.get_figheight() > height) == (count > 1), "a figure with few keeps its height"
