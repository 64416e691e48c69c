"""Test that golden values are described, and that sinusoidal positions, which many use, match theirs."""

from __future__ import annotations

import re

import torch
from torch.testing import assert_close

from golden import FOLDER, golden
from wordorder.encodings.base import Shape
from wordorder.encodings.sinusoidal import Sinusoidal, SinusoidalConfig


def test_readme_describes_every_file() -> None:
    described = set(re.findall(r"^\| (\w+) \|", (FOLDER / "README.md").read_text(encoding="utf-8"), re.M)) - {"file"}
    assert described == {path.stem for path in FOLDER.glob("*.npz")}


def test_whole_numbers_and_masks_keep_their_type() -> None:
    values = golden("relative_attention")
    assert values["k_padding"].dtype == torch.bool
    assert golden("rope")["positions"].dtype == torch.int64
    assert values["k_x"].dtype == torch.float64
    assert golden("relative_attention", dtype=None)["k_x"].dtype == torch.float32


def test_sinusoidal_positions_are_those_of_released_code() -> None:
    values = golden("sinusoidal")
    shape = Shape(dim=8, heads=2, encoder_layers=1, decoder_layers=1)
    table = Sinusoidal(SinusoidalConfig(), shape).table(20)
    assert table is not None
    assert_close(table.double(), values["interleaved"], rtol=0, atol=1e-6)
    # Marian's sines precede its cosines.
    assert_close(table[:, [0, 2, 4, 6, 1, 3, 5, 7]].double(), values["marian_table"], rtol=0, atol=1e-6)
