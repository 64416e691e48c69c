"""Tests of the figures on generated data: their content, and that nothing overlaps or leaves the page."""

from __future__ import annotations

import io
import xml.etree.ElementTree as ElementTree
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from tiny_models import CONFIG
from wordorder.config.load import load_encodings
from wordorder.config.models import Report, ReportedDataset, Untrained
from wordorder.drawing import style
from wordorder.figures import perplexity, scores, vectors
from wordorder.results.frames import CELL

LONG = [
    "none",
    "sinusoidal",
    "learned",
    "rope",
    "opr+rpr",
    "adaptive_t5_bidirectional_encoder_only",
    "posnet-attn-dilated-window+sinusoidal-base",
    "relative.keys.and.values.of.shaw",
]
TITLES = {"pair": "A language pair with quite a long title, of 160,000 sentences"}


def score_rows(encodings: list[str], seeds: int, tests: tuple[str, ...] = ("test_1",)) -> pd.DataFrame:
    draw = np.random.default_rng(0)
    rows = [
        {"dataset": "pair", "size": "tiny", "encoding": encoding, "seed": seed, "test": test, "metric": metric}
        | {"score": 30 + draw.normal()}
        for test in tests
        for encoding in encodings
        for seed in range(seeds)
        for metric in ("bleu", "ter")
    ]
    return pd.DataFrame(rows)


def drawn_scores(rows: pd.DataFrame, metric: str) -> Figure:
    datasets = [ReportedDataset(name="pair", title=TITLES["pair"], tests=[*rows["test"].unique()])]
    encodings, seeds = [*rows["encoding"].unique()], [*map(int, rows["seed"].unique())]
    report = Report(
        study="study", title="A study", datasets=datasets, encodings=encodings, sizes=["tiny"], seeds=seeds,
        metrics=["bleu", "ter"], baseline="none",
    )  # fmt: skip
    return scores.draw(rows[rows["metric"] == metric], report)


def reported_rows(encodings: list[str], seeds: int) -> pd.DataFrame:
    """Return metrics like those of trainings: an epoch has 100 updates, with reports after 60 and 100."""
    rows = [
        {"dataset": "pair", "size": "tiny", "encoding": encoding, "seed": seed, "split": split}
        | {"update": update, "epoch": update // 100, "loss": np.log(perplexity), "perplexity": perplexity}
        for number, encoding in enumerate(encodings)
        for seed in range(seeds)
        for i in range(1, 9 + seed)
        for split, update, perplexity in (
            ("train", 100 * i - 40, 500.0 / i),
            ("train", 100 * i, 200.0 / i),
            ("valid", 100 * i, 10 + 90 / i + number + seed),
        )
    ]
    return pd.DataFrame(rows)


def valid_rows(encodings: list[str], seeds: int) -> pd.DataFrame:
    rows = reported_rows(encodings, seeds)
    return rows[rows["split"] == "valid"].reset_index(drop=True)


def drawn_perplexity(rows: pd.DataFrame, encodings: list[str], cells: pd.DataFrame | None = None) -> Figure:
    """Draw rows of :func:`.perplexity.drawn`; all trainings finished, unless ``cells`` says otherwise."""
    found = rows[CELL].drop_duplicates().assign(status="finished") if cells is None else cells
    return perplexity.draw(rows, found, encodings, TITLES | {"other": "Another language pair"})


def texts(figure: Figure) -> list[str]:
    svg = io.BytesIO()
    style.styled(figure.savefig)(svg, format="svg")
    root = ElementTree.fromstring(svg.getvalue())
    return ["".join(element.itertext()) for element in root.iter("{http://www.w3.org/2000/svg}text")]


def boxes(figure: Figure) -> dict[str, Any]:
    """Return the position of each text in pixels; tick labels outside the axes' limits are not drawn."""
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    written = [text for legend in figure.legends for text in legend.get_texts()] + [*figure.texts]
    for axes in (axes for axes in figure.axes if axes.get_visible()):
        written += [axes.title, axes.xaxis.label, axes.yaxis.label, *axes.texts]
        for axis, (low, high) in ((axes.xaxis, axes.get_xlim()), (axes.yaxis, axes.get_ylim())):
            ticks = zip(axis.get_ticklocs(), axis.get_ticklabels(), strict=True)
            written += [label for place, label in ticks if min(low, high) <= place <= max(low, high)]
    renderer = canvas.get_renderer()
    return {f"{i} {text.get_text()}": text.get_window_extent(renderer) for i, text in enumerate(written)}


def all_figures(encodings: list[str], seeds: int) -> dict[str, Figure]:
    table = np.sin(np.arange(20)[:, None] * np.linspace(0.05, 1, 16))
    panels: vectors.Panels = dict.fromkeys(encodings, "no vector for a position in the encoder")
    panels |= {encodings[-1]: table}
    return {
        "scores": drawn_scores(score_rows(encodings, seeds), "bleu"),
        "perplexity": drawn_perplexity(perplexity.drawn(reported_rows(encodings, seeds)), encodings),
        "similarity": vectors.draw_similarity(panels),
        "matrix": vectors.draw_matrix(panels),
    }


@pytest.mark.parametrize(("encodings", "seeds"), [(LONG, 5), (LONG, 1), (LONG[:2], 3), (LONG[:1], 1)])
def test_every_name_is_there_and_on_the_page(encodings: list[str], seeds: int) -> None:
    for kind, figure in all_figures(encodings, seeds).items():
        page = figure.bbox
        for text, box in boxes(figure).items():
            inside = min(box.x0, box.y0) >= -1 and box.x1 <= page.x1 + 1 and box.y1 <= page.y1 + 1
            inside = inside or not text.split(" ", 1)[1]
            assert inside, f"{kind}: {text} leaves the page: {box}"
        written = "".join(texts(figure)).replace("\n", "")
        for encoding in encodings:
            assert encoding in written, f"{kind}: {encoding} in {written}"


def test_legends_cover_no_panel() -> None:
    for kind, figure in all_figures(LONG, 3).items():
        FigureCanvasAgg(figure).draw()
        for legend in figure.legends:
            for axes in figure.axes:
                assert not legend.get_window_extent().overlaps(axes.get_window_extent()), kind


def test_titles_cover_no_other() -> None:
    for kind, figure in all_figures(LONG, 2).items():
        FigureCanvasAgg(figure).draw()
        titles = [axes.title.get_window_extent() for axes in figure.axes if axes.title.get_text()]
        assert not any(a.overlaps(b) for a, b in combinations(titles, 2)), kind


def test_scores_show_every_seed_the_mean_and_the_baseline() -> None:
    rows = score_rows(["none", "rope"], 4, ("one_test", "another_test"))
    figure = drawn_scores(rows, "bleu")
    assert len(figure.axes) == 2
    chosen = rows[(rows["metric"] == "bleu") & (rows["test"] == "one_test")]
    panel = figure.axes[0]
    dots = np.asarray(panel.collections[0].get_offsets())
    assert sorted(dots[:, 0]) == pytest.approx(sorted(chosen["score"]))
    assert len(set(dots[:, 1])) == 8, "each dot of a row has its own line"
    assert panel.yaxis_inverted(), "the first encoding is above"
    means = chosen.groupby("encoding")["score"].mean()
    spreads = chosen.groupby("encoding")["score"].std()
    (bars,) = panel.containers
    assert list(bars.lines[0].get_xdata()) == pytest.approx(list(means))
    ends = [np.ptp(segment[:, 0]) / 2 for segment in bars.lines[2][0].get_segments()]
    assert ends == pytest.approx(list(spreads))
    baseline = next(line for line in panel.lines if line.get_label() == "mean of none")
    assert list(baseline.get_xdata()) == pytest.approx([means["none"]] * 2)
    labels = texts(figure)
    for label in ("BLEU", "one_test", "another_test", "score of one seed", "mean ± standard deviation over seeds"):
        assert label in labels


def test_the_legend_of_scores_names_the_baseline_that_the_first_size_lacks() -> None:
    only = {"tiny": ["opr"], "base": ["none", "opr"]}
    study = Report.model_validate(
        {
            "study": "study", "title": "A study", "datasets": [{"name": "pair", "title": "", "tests": ["test_1"]}],
            "encodings": ["none", "opr"], "sizes": ["tiny", "base"], "seeds": [0, 1], "metrics": ["bleu"],
            "baseline": "none", "only": only,
        }
    )  # fmt: skip
    rows = pd.concat([score_rows(names, 2).assign(size=size) for size, names in only.items()])
    (legend,) = scores.draw(rows[rows["metric"] == "bleu"], study).legends
    assert [text.get_text() for text in legend.get_texts()] == [
        "score of one seed", "mean ± standard deviation over seeds", "mean of none"
    ]  # fmt: skip


def test_scores_count_missing_seeds() -> None:
    rows = score_rows(["none", "rope"], 3)
    rows.loc[(rows["encoding"] == "rope") & (rows["seed"] == 1), "score"] = np.nan
    written = texts(drawn_scores(rows, "ter"))
    assert "1 of 3 missing" in written
    assert "TER (lower is better)" in written
    rows["score"] = np.nan
    written = texts(drawn_scores(rows, "bleu"))
    assert "no scores" in written


def test_mean_perplexity_ends_with_the_first_seed() -> None:
    rows = valid_rows(["none"], 3)  # seeds 0, 1, 2 end after 8, 9 and 10 epochs
    mean = perplexity.mean_line(rows)
    assert list(mean.index) == [100 * i for i in range(1, 9)]
    assert mean[400] == pytest.approx(10 + 90 / 4 + 1)
    rows.loc[rows["seed"] == 1, "perplexity"] = np.nan
    assert perplexity.mean_line(rows).empty, "a seed that diverged at once has no place in a mean"


def test_a_training_perplexity_is_the_mean_since_the_validation_before() -> None:
    rows = reported_rows(["none", "rope"], 2)
    # Reports come in the order of the file, seeds end at different times, and a training may end without a validation.
    last = {**rows.iloc[-1], "split": "train", "update": 910, "epoch": 9, "loss": 3.0, "perplexity": np.exp(3.0)}
    rows = pd.concat([rows, pd.DataFrame([last])], ignore_index=True)
    found = perplexity.drawn(rows)
    assert list(found) == list(rows)
    pd.testing.assert_frame_equal(
        found[found["split"] == "valid"].reset_index(drop=True),
        rows[rows["split"] == "valid"].reset_index(drop=True),
    )
    for (encoding, seed), run in found[found["split"] == "train"].groupby(["encoding", "seed"]):
        count = 8 + seed
        ended = [910] if (encoding, seed) == ("rope", 1) else []
        assert list(run["update"]) == [100 * i for i in range(1, count + 1)] + ended
        means = [(500 / i) ** 0.6 * (200 / i) ** 0.4 for i in range(1, count + 1)] + [np.exp(3.0)] * len(ended)
        assert list(run["perplexity"]) == pytest.approx(means)
        assert list(np.exp(run["loss"])) == pytest.approx(means)


@pytest.mark.parametrize("lost", [np.nan, np.inf, 1e4])
def test_a_missing_training_loss_is_not_small(lost: float) -> None:
    rows = reported_rows(["none"], 1)
    rows.loc[3, "loss"] = lost
    found = perplexity.drawn(rows)
    assert list(found["perplexity"][:3]) == [found["perplexity"][0], np.inf, found["perplexity"][2]]
    drawn_perplexity(found, ["none"])


def test_metrics_without_reports_on_training_are_drawn() -> None:
    rows = valid_rows(["none"], 2)
    found = perplexity.drawn(rows)
    assert found.equals(rows)
    valid, lowest = drawn_perplexity(found, ["none"]).axes
    assert valid.get_ylabel() == "validation perplexity (log scale)"
    assert len(valid.lines) == 3 and len(lowest.lines) == 1


def test_perplexity_draws_a_line_for_each_seed_on_a_log_axis() -> None:
    rows = reported_rows(["none", "rope"], 3)
    rows.loc[[15, 17], ["loss", "perplexity"]] = np.inf  # a diverged training
    figure = drawn_perplexity(perplexity.drawn(rows), ["none", "rope"])
    train, valid, lowest = figure.axes
    for panel in (train, valid):
        assert panel.get_yscale() == "log"
        assert len(panel.lines) == 2 * (3 + 1)
    # The second epoch of the first seed of 'none': 60 updates at 500 / 2, 40 at 200 / 2.
    assert (train.lines[0].get_xdata()[1], valid.lines[0].get_xdata()[1]) == (200, 200)  # type: ignore[index]
    assert train.lines[0].get_ydata()[1] == pytest.approx(250**0.6 * 100**0.4)  # type: ignore[index]
    assert valid.lines[0].get_ydata()[1] == pytest.approx(10 + 90 / 2)  # type: ignore[index]
    written = texts(figure)
    assert {"training perplexity (log scale)", "validation perplexity (log scale)"} <= set(written)
    assert written.count("updates") == 2
    assert {"20", "50", "100"} <= set(written), "ticks are plain numbers"
    assert [text.get_text() for text in lowest.get_yticklabels()] == ["none", "rope"]
    assert lowest.yaxis_inverted() and lowest.get_xscale() == "log"
    for row, encoding in enumerate(("none", "rope")):
        # With i validations, the last is the lowest: 10 + 90 / i, and one more for each encoding and seed.
        expected = [10 + 90 / (8 + seed) + row + seed for seed in range(3)]
        dots = np.asarray(lowest.collections[row].get_offsets())
        assert dots[:, 0] == pytest.approx(expected)
        assert lowest.lines[row].get_xdata()[-1] == pytest.approx(np.mean(expected))  # type: ignore[index]
        # The row is the legend of the lines of its encoding.
        mean = valid.lines[4 * row + 3]
        assert mean.get_label() == encoding
        for look in ("color", "linestyle", "marker"):
            assert getattr(lowest.lines[row], f"get_{look}")() == getattr(mean, f"get_{look}")()
    low, high = lowest.get_xlim()
    assert all(low < dot < high for dots in lowest.collections for dot in np.asarray(dots.get_offsets())[:, 0])


def declared_cells(rows: pd.DataFrame, seeds: int, *others: dict[str, str]) -> pd.DataFrame:
    """Return the cells of the rows and of ``others``, each with all seeds."""
    places = [*rows[CELL[:-1]].drop_duplicates().to_dict("records"), *others]
    cells = pd.DataFrame([place | {"seed": seed} for place in places for seed in range(seeds)])
    found = cells.merge(rows[CELL].drop_duplicates(), how="left", indicator="status")
    return found.assign(status=found["status"].map({"both": "finished", "left_only": "missing"}))


def names_of_rows(figure: Figure) -> list[list[str]]:
    return [
        [label.get_text().replace("\n", " ") for label in panel.get_yticklabels()]
        for panel in figure.axes
        if panel.get_xlabel().startswith("lowest")
    ]


def test_perplexity_counts_the_seeds_of_an_encoding_that_has_fewer() -> None:
    rows = perplexity.drawn(reported_rows(["none", "rope"], 2))
    fewer = rows[(rows["encoding"] == "none") | (rows["seed"] == rows["seed"].min())]
    cells = declared_cells(fewer, 3, {"dataset": "pair", "size": "tiny", "encoding": "alibi"})
    assert names_of_rows(drawn_perplexity(fewer, ["none", "rope", "alibi"], cells)) == [
        ["none (2 of 3 seeds)", "rope (1 of 3 seeds)", "alibi (0 of 3 seeds)"]
    ]


def test_perplexity_of_an_encoding_that_only_one_dataset_has_is_missing_in_the_other() -> None:
    rows = perplexity.drawn(reported_rows(["none", "rope"], 2))
    both = pd.concat([rows, rows[rows["encoding"] == "none"].assign(dataset="other")])
    cells = declared_cells(both, 2, {"dataset": "other", "size": "tiny", "encoding": "rope"})
    assert names_of_rows(drawn_perplexity(both, ["none", "rope"], cells)) == [
        ["none", "rope"],
        ["none", "rope (0 of 2 seeds)"],
    ]


def test_perplexity_of_a_dataset_without_trainings_says_so() -> None:
    rows = perplexity.drawn(reported_rows(["none"], 2))
    cells = declared_cells(rows, 2, {"dataset": "other", "size": "tiny", "encoding": "none"})
    figure = drawn_perplexity(rows, ["none"], cells)
    assert names_of_rows(figure) == [["none"], ["none (0 of 2 seeds)"]]
    assert figure.axes[3].get_title() == "Another language pair, tiny" and not figure.axes[3].lines
    FigureCanvasAgg(figure).draw()


@pytest.mark.parametrize("validated", [True, False])
def test_perplexity_of_a_training_that_diverged_between_validations_is_in_no_mean(validated: bool) -> None:
    rows = perplexity.drawn(reported_rows(["none"], 3))
    cells = declared_cells(rows, 3)
    cells.loc[cells["seed"] == 0, "status"] = "diverged"
    figure = drawn_perplexity(rows[(rows["seed"] > 0) | validated], ["none"], cells)
    expected = [10 + 90 / (8 + seed) + seed for seed in (1, 2)]
    assert np.asarray(figure.axes[-1].collections[0].get_offsets())[:, 0] == pytest.approx(expected)
    assert names_of_rows(figure) == [["none (2 of 3 seeds, 1 diverged)"]]


def test_perplexity_names_only_encodings_that_a_size_has() -> None:
    rows = reported_rows(["none", "rope"], 2)
    other = rows[rows["encoding"] == "rope"].assign(size="small")
    figure = drawn_perplexity(perplexity.drawn(pd.concat([rows, other])), ["none", "rope"])
    named = [[text.get_text() for text in panel.get_yticklabels()] for panel in figure.axes[2::3]]
    assert sorted(named) == [["none", "rope"], ["rope"]]
    assert figure.axes[2].lines[-1].get_color() == figure.axes[5].lines[-1].get_color()


@pytest.mark.parametrize("lost", [np.nan, np.inf])
def test_perplexity_before_a_training_diverged_is_in_no_mean(lost: float) -> None:
    rows = perplexity.drawn(reported_rows(["none"], 3))
    ended = rows[(rows["seed"] == 0) & (rows["split"] == "valid")].index[-1]
    rows.loc[ended, ["loss", "perplexity"]] = lost
    figure = drawn_perplexity(rows, ["none"])
    lowest = figure.axes[-1]
    expected = [10 + 90 / (8 + seed) + seed for seed in (1, 2)]
    assert np.asarray(lowest.collections[0].get_offsets())[:, 0] == pytest.approx(expected)
    assert lowest.lines[0].get_xdata()[-1] == pytest.approx(np.mean(expected))  # type: ignore[index]
    assert "none (2 of 3 seeds, 1 diverged)" in " ".join(texts(figure)).replace("  ", " ")


def test_perplexity_of_models_that_all_diverged_is_drawn() -> None:
    rows = reported_rows(["none"], 2).assign(loss=np.inf, perplexity=np.inf)
    *_, lowest = drawn_perplexity(perplexity.drawn(rows), ["none"]).axes
    assert not lowest.lines
    assert [text.get_text() for text in lowest.get_yticklabels()] == ["none (0 of 2 seeds, 2\ndiverged)"]


def test_similarity() -> None:
    table = np.array([[1.0, 0.0], [3.0, 0.0], [0.0, 2.0], [-1.0, 0.0], [0.0, 0.0]])
    expected = [[1, 1, 0, -1, 0], [1, 1, 0, -1, 0], [0, 0, 1, 0, 0], [-1, -1, 0, 1, 0], [0, 0, 0, 0, 0]]
    assert vectors.similarity(table) == pytest.approx(np.array(expected))


def test_heat_maps_show_the_values() -> None:
    table = np.arange(12.0).reshape(4, 3) - 3
    panels: vectors.Panels = {"a": table, "b": "no vector for a position in the encoder"}
    (image,) = vectors.draw_matrix(panels).axes[0].images
    assert np.array_equal(image.get_array(), table)
    assert image.get_clim() == (-8, 8)
    figure = vectors.draw_similarity(panels)
    (image,) = figure.axes[0].images
    assert np.asarray(image.get_array()) == pytest.approx(vectors.similarity(table))
    assert image.get_clim() == (-1, 1)


@pytest.mark.parametrize("draw", [vectors.draw_similarity, vectors.draw_matrix, vectors.draw_products])
def test_encodings_without_vectors_are_named_below_and_take_no_room(draw: Any) -> None:
    table = np.arange(12.0).reshape(4, 3) - 3
    other = table + 1
    figure = draw({"none": "has no vectors", "a": table, "rope": "has no vectors", "b": other, "c": "has no model"})
    titles = [axes.get_title() for axes in figure.axes if axes.images and axes.get_title()]
    assert titles == ["a", "b"]
    assert figure.get_supxlabel().split("\n") == ["none, rope: has no vectors", "c: has no model"]
    assert figure.get_figheight() < draw({"a": table, "b": other}).get_figheight() + 0.5


@pytest.mark.parametrize("draw", [vectors.draw_similarity, vectors.draw_matrix, vectors.draw_products])
def test_encodings_with_the_same_vectors_share_a_panel(draw: Any) -> None:
    table = np.arange(12.0).reshape(4, 3) - 3
    figure = draw({"a": table, "b": table + 1, "a_rpr": table.copy()})
    assert [axes.get_title() for axes in figure.axes if axes.images and axes.get_title()] == ["a, a_rpr", "b"]


@pytest.mark.parametrize("draw", [vectors.draw_profile, vectors.draw_ranges])
def test_encodings_with_the_same_vectors_share_a_line_in_the_colour_of_the_first(draw: Any) -> None:
    table = np.arange(12.0).reshape(4, 3) - 3
    alone = {
        line.get_label(): line.get_color() for line in draw({"a": table, "b": table + 1, "c": table + 2}).axes[0].lines
    }
    figure = draw({"a": table, "a_rpr": table.copy(), "c": table + 2})
    colours = {line.get_label(): line.get_color() for line in figure.axes[0].lines}
    assert colours["a, a_rpr"] == alone["a"] and colours["c"] == alone["c"]
    assert {"a", "a_rpr"}.isdisjoint(colours)


def test_products_have_a_range_of_their_own() -> None:
    table = np.array([[1.0, 2.0], [3.0, -1.0]])
    (image,) = vectors.draw_products({"a": table}).axes[0].images
    assert np.asarray(image.get_array()) == pytest.approx(np.array([[5.0, 1.0], [1.0, 10.0]]))
    assert image.get_clim() == (-10, 10)


def test_the_profile_is_that_of_the_middle_position_and_names_who_has_none() -> None:
    table = np.array([[1.0, 0.0], [0.0, 3.0], [2.0, 0.0], [0.0, 2.0]])
    panels: vectors.Panels = {"none": "has no vectors", "a": table}
    found = vectors.profile(table)
    assert dict(found) == {-2: 1, -1: 0, 0: 1, 1: 0}
    figure = vectors.draw_profile(panels)
    (line,) = [line for line in figure.axes[0].lines if line.get_label() == "a"]
    assert list(line.get_xdata()) == [-2, -1, 0, 1] and list(line.get_ydata()) == [1, 0, 1, 0]
    assert "none (no vectors)" in texts(figure)
    frame = vectors.profile_frame(panels)
    assert list(frame) == ["encoding", "distance", "similarity", "note"]
    assert list(frame["similarity"].dropna()) == [1, 0, 1, 0] and frame["note"][0] == "has no vectors"


def test_ranges_are_those_of_the_dimensions() -> None:
    table = np.array([[1.0, 0.0], [-4.0, 3.0], [2.0, 0.0]])
    (line,) = vectors.draw_ranges({"a": table}).axes[0].lines
    assert list(line.get_ydata()) == [6, 3]
    assert vectors.range_frame({"a": table}).to_numpy().tolist() == [["a", 0, -4, 2], ["a", 1, 0, 3]]


def test_vectors_that_training_does_not_change_need_no_model(tmp_path: Path) -> None:
    names = ["sinusoidal", "learned", "opr_rpr", "none"]
    report = Report(
        study="study", title="A study", datasets=[], encodings=names, sizes=["base"], seeds=[1], metrics=["bleu"],
        baseline="none", untrained=Untrained(dim=32, encodings=load_encodings(CONFIG, names)),
    )  # fmt: skip
    found = vectors.load(report, tmp_path, dataset="d", size="base", seed=1, stack="encoder", length=9)
    assert list(found) == names
    waves, orthogonal = np.asarray(found["sinusoidal"]), np.asarray(found["opr_rpr"])
    assert waves.shape == orthogonal.shape == (9, 32)
    assert waves[1, :2] == pytest.approx([np.sin(1), np.cos(1)])
    assert "learned" in found["learned"] and "no vector" in found["none"]


def test_figures_of_no_vectors_say_so() -> None:
    for draw in (vectors.draw_profile, vectors.draw_ranges, vectors.draw_similarity, vectors.draw_matrix):
        assert "no encoding has vectors" in texts(draw({"none": "has no vectors"}))


def test_frames_hold_what_is_drawn() -> None:
    table = np.arange(6.0).reshape(3, 2)
    frame = vectors.as_frame({"a": table, "b": "no model"}, lambda each: each)
    assert list(frame) == ["encoding", "position", 0, 1, "note"]
    assert frame[[0, 1]].iloc[:3].to_numpy() == pytest.approx(table)
    assert list(frame["encoding"]) == ["a", "a", "a", "b"]
    assert frame["note"].iloc[3] == "no model"
    similar = vectors.as_frame({"a": table}, vectors.similarity)
    assert similar[[0, 1, 2]].to_numpy() == pytest.approx(vectors.similarity(table))
