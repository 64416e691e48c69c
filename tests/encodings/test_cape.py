"""Tests of CAPE against an independent implementation, and of the draws of both stacks."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.testing import assert_close

from golden import golden
from raises import raises
from tiny_models import PREFIX_LM, sentences, tiny_model
from wordorder.encodings.base import Encoding, Positions, Shape
from wordorder.encodings.cape import CAPE, augmented
from wordorder.encodings.registry import build, parse
from wordorder.encodings.sinusoidal import frequencies
from wordorder.encodings.waves import waves

DIM = 16
SHAPE = Shape(dim=DIM, heads=4, encoder_layers=1, decoder_layers=1)
SENTENCES, LENGTH = 4000, 3


def encoding_of(**parameters: Any) -> Encoding:
    return build(parse({"type": "cape", **parameters}), SHAPE).train()


def moved(encoding: Encoding, drawn: Tensor | None, stack: str = "encoder", length: int = LENGTH) -> Tensor:
    """The positions, (SENTENCES, length), whose sinusoids are added; of the lowest frequencies, which do not turn."""
    positions = replace(Positions.range(length), drawn=drawn)
    zeros = torch.zeros(SENTENCES, length, DIM, dtype=torch.float64)
    added = encoding.add_to_embeddings(zeros, positions, stack).expand(SENTENCES, -1, -1)  # type: ignore[arg-type]
    return torch.atan2(added[..., -2], added[..., -1]) / frequencies(DIM)[-1]


def test_sinusoids_are_those_of_an_independent_implementation() -> None:
    values = golden("cape")
    real = torch.arange(9) <= values["last_index"][:, None]
    drawn = torch.cat((values["global_shift"], values["log_scale"]), dim=1)
    positions = augmented(values["eval_positions"], drawn, values["local_shift"])  # centred there
    assert_close(positions[real], values["train_positions"][real], rtol=0, atol=1e-5)
    assert_close(waves(positions, frequencies(8))[real], values["train_out"][real], rtol=0, atol=1e-5)


def test_training_adds_sinusoids_of_moved_positions(monkeypatch: pytest.MonkeyPatch) -> None:
    encoding, drawn = encoding_of(), torch.tensor([[3.5, 0.2], [-1.25, -0.1]])
    monkeypatch.setattr(torch, "rand", lambda shape: torch.full(shape, 0.75))  # ε is half of its range
    positions = Positions(torch.tensor([[4, 0, 9]]), 10, drawn=drawn)
    x = torch.randn(2, 3, DIM)
    found = encoding.add_to_embeddings(x, positions, "decoder")
    for row, (shift, log_scale) in enumerate(drawn.tolist()):
        for column, position in enumerate((4, 0, 9)):
            place = (position + shift + 0.25) * math.exp(log_scale)
            angles = [place * 10000 ** (-2 * m / DIM) for m in range(DIM // 2)]
            expected = [wave(angle) for angle in angles for wave in (math.sin, math.cos)]
            assert_close(found[row, column] - x[row, column], torch.tensor(expected), rtol=0, atol=1e-5)


def test_draws_fill_their_ranges() -> None:
    torch.manual_seed(0)
    drawn = encoding_of(global_shift=7, scale=2).draw(SENTENCES)
    assert drawn is not None and drawn.shape == (SENTENCES, 2)
    for column, most in zip(drawn.T, (7, math.log(2)), strict=True):
        assert float(column.abs().max()) <= most
        counts = torch.histc(column, bins=4, min=-most, max=most)
        assert float(counts.min()) > 0.22 * SENTENCES
    assert abs(float(torch.corrcoef(drawn.T)[0, 1])) < 0.05


def test_each_token_has_a_local_shift_of_its_own() -> None:
    torch.manual_seed(0)
    encoding = encoding_of(local_shift=0.25)
    local = moved(encoding, torch.zeros(SENTENCES, 2)) - torch.arange(LENGTH)
    assert float(local.abs().max()) <= 0.25 + 1e-6
    assert float(torch.histc(local.float(), bins=4, min=-0.25, max=0.25).min()) > 0.22 * local.numel()
    assert float(torch.corrcoef(local.T).triu(1).abs().max()) < 0.06
    decoder = moved(encoding, torch.zeros(SENTENCES, 2), "decoder") - torch.arange(LENGTH)
    assert abs(float(torch.corrcoef(torch.stack((local[:, 0], decoder[:, 0])))[0, 1])) < 0.06
    assert_close(moved(encoding_of(local_shift=0), torch.zeros(SENTENCES, 2))[0], torch.arange(3.0).double())


def test_a_local_shift_of_a_half_keeps_the_order() -> None:
    torch.manual_seed(0)
    encoding = encoding_of(scale=2)
    assert bool((moved(encoding, encoding.draw(SENTENCES), length=10).diff(dim=1) > -1e-6).all())


@pytest.mark.parametrize("size", [None, PREFIX_LM])
def test_both_stacks_share_the_shift_and_the_scale(size: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a whole model adds in one pass, apart from local shifts."""
    config = parse({"type": "cape", "local_shift": 0})
    model = (tiny_model(config) if size is None else tiny_model(config, size=size)).train()
    drawn: list[Tensor] = []

    def record(self: CAPE, x: Tensor, positions: Positions, stack: str) -> Tensor:
        assert positions.drawn is not None
        drawn.append(positions.drawn)
        return x

    monkeypatch.setattr(CAPE, "_add_to_embeddings", record)
    for _ in range(2):
        model(sentences([5, 4, 3]), sentences([3, 3, 3], seed=1))
    source, target, again, _ = drawn
    assert source.shape == (3, 2)
    assert_close(target, source, rtol=0, atol=0)
    assert not torch.equal(again, source)  # another pass, other draws
    assert len({tuple(row) for row in source.tolist()}) == 3  # and other ones for each sentence


def test_evaluation_is_sinusoidal() -> None:
    cape, plain = (tiny_model(parse({"type": name})) for name in ("cape", "sinusoidal"))
    source, target = sentences([6, 5]), sentences([4, 4], seed=1)
    with torch.no_grad():
        assert torch.equal(cape(source, target), plain(source, target))
    assert cape.encoding.draw(2) is None
    table, expected = (model.encoding.table(7) for model in (cape, plain))
    assert table is not None and expected is not None and torch.equal(table, expected)


def test_nothing_is_trained_or_saved() -> None:
    encoding = encoding_of()
    assert not list(encoding.parameters()) and not encoding.state_dict()


def test_ranges_are_checked() -> None:
    for key, value in (("scale", 0.9), ("global_shift", -1), ("local_shift", -0.1)):
        with raises("out-of-range", key=key):
            parse({"type": "cape", key: value})
