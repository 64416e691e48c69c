"""Use the file, entries and command of the guides to encodings as the pages show them."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from torch.nn.functional import scaled_dot_product_attention
from torch.testing import assert_close

from guide import block, plugin
from raises import raises
from tiny_models import sentences, step_by_step, tiny_model
from wordorder.config.load import encoding_names, load_encodings
from wordorder.encodings.base import EncodingConfig, Positions
from wordorder.encodings.registry import parse
from wordorder.model.attention.base import attend

ROOT = Path(__file__).parents[2]
PAGE = "add-an-encoding.md"


@pytest.fixture
def entries(own_encodings: Path, config: Path) -> dict[str, EncodingConfig]:
    """The entries of the guide, by name, from a configuration that has them beside the project's own."""
    (own_encodings / "slope.py").write_text(plugin("encodings"), encoding="utf-8")
    before = encoding_names(config)
    with (config / "encodings.yaml").open("a", encoding="utf-8") as file:
        file.write(block("extending.md", "yaml", "Encoding") + block(PAGE, "yaml"))
    return load_encodings(config, set(encoding_names(config)).difference(before))


def test_the_entries_can_be_trained_and_decoded(entries: dict[str, EncodingConfig]) -> None:
    assert list(entries) == ["slope", "slope_encoder", "opr_slope"]
    source, target = sentences([6, 4]), sentences([5, 5], seed=1)
    for name, config in entries.items():
        model = tiny_model(config).train()
        model(source, target).square().sum().backward()
        parameters = list(model.encoding.parameters())
        assert [len(own) for own in parameters] == [4] * (1 if name == "slope_encoder" else 2)
        assert all(own.grad is not None and own.grad.all() for own in parameters)
        model.eval()
        with torch.no_grad():
            memory = model.encode(source)
            assert_close(step_by_step(model, target, memory), model.decode(target, memory), rtol=1e-4, atol=2e-5)


def test_the_bias_is_the_formula_s(entries: dict[str, EncodingConfig]) -> None:
    attention = tiny_model(entries["slope"]).encoding.attention("encoder", 1)
    (slopes,) = attention.parameters()
    with torch.no_grad():
        slopes.copy_(torch.tensor([0.5, 0.1, 2, 1]))
    queries, keys, values = torch.randn(3, 2, 4, 5, 3)
    positions = Positions.range(5)
    result = attend(
        queries, keys, values,
        mask=None, dropout_probability=0.0, training=False, encoding=attention, query=positions, key=positions,
    )  # fmt: skip
    bias = torch.tensor([[[-slope * abs(i - j) for j in range(5)] for i in range(5)] for slope in (0.5, 0.1, 2, 1)])
    assert_close(result, scaled_dot_product_attention(queries, keys, values, attn_mask=bias[None]))
    assert attention.needs == {"bias"}


def test_a_forgotten_declaration_is_refused_where_the_file_is_loaded(own_encodings: Path) -> None:
    forgetful = plugin("encodings").replace('    needs = frozenset({"bias"})\n', "")
    assert forgetful != plugin("encodings")
    (own_encodings / "slope.py").write_text(forgetful, encoding="utf-8")
    with raises("places-not-declared", path=own_encodings / "slope.py", key="needs", says="SlopeAttention"):
        parse({"type": "slope"})


@pytest.mark.slow
def test_the_command_puts_it_through_the_property_tests(tmp_path: Path) -> None:
    folder = tmp_path / "my_plugins"
    (folder / "encodings").mkdir(parents=True)
    (folder / "encodings/slope.py").write_text(plugin("encodings"), encoding="utf-8")
    command = block(PAGE, "sh").strip().replace("my_plugins", str(folder))
    environment = {
        **os.environ,
        "PATH": os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"])),
        "PYTEST_ADDOPTS": "-p no:cacheprovider",
    }
    done = subprocess.run(command, shell=True, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    passed = re.search(r"(\d+) passed", done.stdout)
    assert passed is not None
    assert int(passed.group(1)) >= 15
    assert "skipped" not in done.stdout
