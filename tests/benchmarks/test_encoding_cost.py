"""Test that the benchmark of encodings starts, compares equal work, and writes its measurements."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest
import torch

from wordorder.encodings.base import Positions, Shape
from wordorder.encodings.registry import build, parse
from wordorder.errors import WordorderError
from wordorder.model.attention.base import attend

SMALL = "--size micro --layers 1 --vocabulary 50 --tokens 24 --lengths 6 12 --rounds 2 --threads 1"


@pytest.fixture(autouse=True)
def unprepared(scripts: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("encoding_cost.prepare", lambda: None)  # settings of a whole process


def test_every_encoding_is_measured(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from encoding_cost import parse_options, run

    run(parse_options([*SMALL.split(), "--decode", "3", "--sentences", "2", "--output", str(tmp_path / "out")]))
    record = json.loads((tmp_path / "out.json").read_text())
    frame = pd.DataFrame(record["results"])
    names = set(frame["encoding"])
    assert {"none", "relative", "relative (naive)", "adaptive_t5 (naive)", "inxl", "posnet_embed"} <= names
    # Two lengths of training steps and one of decoding.
    assert sorted(frame.groupby("encoding").size().unique()) == [3]
    assert set(frame.loc[frame["encoding"] == "none", "ratio"]) == {1.0}
    assert bool((frame["seconds"] > 0).all())
    assert all(len(ratios) == 2 for ratios in frame.loc[frame["encoding"] == "rope", "ratios"])
    assert "| posnet_embed" in capsys.readouterr().out
    assert (tmp_path / "out.png").stat().st_size > 10_000


@pytest.mark.parametrize("name", ["relative (naive)", "adaptive_t5 (naive)", "cope (naive)", "dape (naive)"])
@pytest.mark.parametrize("stack", ["encoder", "decoder"])
def test_naive_formulations_compute_the_same(name: str, stack: str) -> None:
    from encoding_naive import NAIVE

    torch.manual_seed(0)
    base, naive = NAIVE[name]
    shape = Shape(dim=8, heads=2, encoder_layers=1, decoder_layers=1)
    ours = build(parse({"type": base}), shape).eval()
    theirs = naive(ours.config, shape).eval()
    theirs.load_state_dict(ours.state_dict())
    queries, keys, values = torch.randn(3, 2, 2, 5, 4)
    positions = Positions.range(5)
    mask = torch.full((5, 5), -torch.inf).triu(1) if stack == "decoder" else None
    results, gradients = [], []
    for encoding in (ours, theirs):
        result = attend(
            queries, keys, values, mask=mask, dropout_probability=0, training=False,
            encoding=encoding.attention(stack, 0), query=positions, key=positions,  # type: ignore[arg-type]
        )  # fmt: skip
        parameters = list(encoding.parameters())
        found = torch.autograd.grad(result.square().sum(), parameters, allow_unused=True)
        results.append(result)
        gradients.append([gradient for gradient in found if gradient is not None])
    torch.testing.assert_close(*results)
    torch.testing.assert_close(*gradients, rtol=1e-4, atol=1e-6)


def test_a_naive_formulation_that_differs_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    import encoding_cost

    options = encoding_cost.parse_options([*SMALL.split(), "--encodings", "relative"])
    bench = encoding_cost.Bench(options)
    with torch.no_grad():
        torch.nn.init.normal_(next(bench.encodings["relative (naive)"].parameters()))
    with pytest.raises(WordorderError, match=r"'relative \(naive\)' .*'relative' "):
        bench.check_naive()
