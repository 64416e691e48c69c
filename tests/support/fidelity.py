"""Comparisons of encodings with independent implementations, and the page ``docs/fidelity.md`` that reports them.

``tests/fidelity/NAME.py`` has the comparisons of the encoding ``NAME``: functions marked by :func:`released`,
:func:`package` or :func:`formula`, whose docstring names what is compared. Everything else that the page says of an
encoding comes from the docstring of the encoding's own file, from ``parameters.yaml`` and from ``encodings.yaml``.
"""

from __future__ import annotations

import importlib.util
import math
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from inspect import getdoc
from itertools import groupby
from pathlib import Path
from typing import Any, Literal

import torch
from torch import Tensor, nn

from wordorder.config.load import load_encodings, load_published, load_sizes
from wordorder.encodings.base import AttentionEncoding, EncodingConfig, Positions, Shape
from wordorder.encodings.compose import ComposedConfig
from wordorder.encodings.documentation import sections
from wordorder.encodings.registry import encoding_types, parse
from wordorder.model.attention.base import REGISTRY as BACKENDS
from wordorder.model.attention.base import Attention
from wordorder.model.counts import compare_published

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "fidelity.md"
FOLDER = ROOT / "tests" / "fidelity"
OUTPUTS, GRADIENTS = 1e-5, 1e-4  # the largest differences that are allowed

Kind = Literal["released", "package", "formula"]


@dataclass(frozen=True)
class Compared:
    """What both implementations make of the same numbers.

    Attributes:
        ours: Outputs of the project, in single precision.
        theirs: Outputs of the other implementation, of the same shape.
        leaves: Pairs of inputs and parameters, ours and theirs, whose gradients are compared.
    """

    ours: Tensor
    theirs: Tensor
    leaves: Sequence[tuple[Tensor, Tensor]] = ()


@dataclass(frozen=True)
class Difference:
    """The largest differences, divided by the largest value of the other implementation where that exceeds 1."""

    outputs: float
    gradients: float | None

    @property
    def allowed(self) -> bool:
        return self.outputs <= OUTPUTS and (self.gradients is None or self.gradients <= GRADIENTS)


@dataclass(frozen=True)
class Comparison:
    """One comparison of an encoding.

    Attributes:
        encoding: The registered name of the encoding.
        kind: "released" for golden values, "package" for a package of the extra ``fidelity``, "formula" for a naive
            formula in double precision.
        against: The released code, the distribution's name, or the place of the formula in its source.
        run: The comparison.
    """

    encoding: str
    kind: Kind
    against: str
    run: Callable[[], Compared]

    @property
    def what(self) -> str:
        return (getdoc(self.run) or "").rstrip(".")

    @property
    def key(self) -> tuple[str, str, str]:
        """What identifies it on the page: a package's version may change."""
        return self.encoding, self.against, self.what

    def installed(self) -> str | None:
        """The version of the package; None where it is missing. Other comparisons need none."""
        try:
            return version(self.against) if self.kind == "package" else ""
        except PackageNotFoundError:
            return None

    def measure(self) -> Difference:
        """Run the comparison."""
        torch.manual_seed(0)
        compared = self.run()
        assert compared.ours.shape == compared.theirs.shape, self.key
        toward = torch.randn(compared.theirs.shape, dtype=torch.float64)
        gradients = [
            _difference(ours, theirs)
            for ours, theirs in zip(
                *(
                    torch.autograd.grad((outputs.double() * toward).sum(), leaves, materialize_grads=True)
                    for outputs, leaves in zip(
                        (compared.ours, compared.theirs), zip(*compared.leaves, strict=True), strict=True
                    )
                ),
                strict=True,
            )
        ] if compared.leaves else []  # fmt: skip
        return Difference(_difference(compared.ours, compared.theirs), max(gradients, default=None))


def _difference(ours: Tensor, theirs: Tensor) -> float:
    ours, theirs = ours.detach().double(), theirs.detach().double()
    return float((ours - theirs).abs().max() / theirs.abs().max().clamp(min=1))


# ------------------------------------------------------------------------------------------------ writing comparisons


def _mark(kind: Kind, against: str) -> Callable[[Callable[[], Compared]], Callable[[], Compared]]:
    def mark(run: Callable[[], Compared]) -> Callable[[], Compared]:
        run.__dict__["comparison"] = (kind, against)
        return run

    return mark


def released(code: str) -> Callable[[Callable[[], Compared]], Callable[[], Compared]]:
    """Mark a comparison with golden values of released code, such as "butsugiri/shape a2b04a2"."""
    return _mark("released", code)


def package(distribution: str) -> Callable[[Callable[[], Compared]], Callable[[], Compared]]:
    """Mark a comparison with a package of the extra ``fidelity``, which the function itself imports."""
    return _mark("package", distribution)


def formula(place: str) -> Callable[[Callable[[], Compared]], Callable[[], Compared]]:
    """Mark a comparison with the formula as it is written at ``place`` of the source, in double precision."""
    return _mark("formula", place)


def numbers(*shape: int) -> tuple[Tensor, Tensor]:
    """Draw normal numbers: a leaf in single precision and the same leaf in double precision."""
    single = torch.randn(shape)
    return single.requires_grad_(), single.detach().double().requires_grad_()


def doubled(module: nn.Module, *, drawn: bool = True) -> dict[str, Tensor]:
    """Return copies of the parameters as leaves in double precision, by name.

    Args:
        module: The module; its own parameters are replaced by random ones first.
        drawn: False keeps its parameters.
    """
    with torch.no_grad():
        for parameter in module.parameters():
            if drawn:
                parameter.normal_()
    return {name: value.detach().double().requires_grad_() for name, value in module.named_parameters()}


def pairs(module: nn.Module, copies: dict[str, Tensor]) -> list[tuple[Tensor, Tensor]]:
    """Pair the parameters of a module with their copies, as the leaves of :class:`Compared`."""
    return [(value, copies[name]) for name, value in module.named_parameters()]


def weights(
    inside: AttentionEncoding, queries: Tensor, keys: Tensor, positions: Positions, *, mask: Tensor | None = None
) -> Tensor:
    """Compute the attention weights, (B, H, L, L), that an encoding makes of queries and keys (B, H, L, d_h)."""
    read: list[Tensor] = []
    rotated, turned = inside.rotate(queries, keys, positions)
    values = torch.zeros_like(keys)
    asked = Attention(rotated, turned, values, mask, inside, positions, positions, queries, weights_reader=read.append)
    BACKENDS.get("eager").attend(asked)
    return read[0]


def causal(length: int) -> Tensor:
    """Return the mask of a decoder, (1, 1, L, L): -inf above the diagonal."""
    return torch.full((1, 1, length, length), -torch.inf).triu(1)


def sinusoid(position: int, dim: int) -> Tensor:
    """Compute the sines and cosines of a position, (dim,), one number after the other."""
    values = [(math.cos if c % 2 else math.sin)(position / 10000 ** ((c - c % 2) / dim)) for c in range(dim)]
    return torch.tensor(values, dtype=torch.float64)


# ------------------------------------------------------------------------------------------------ finding and measuring


@cache
def comparisons() -> tuple[Comparison, ...]:
    """Load the comparisons of all encodings, in the order of the names and of each file."""
    return tuple(comparison for path in sorted(FOLDER.glob("[a-z]*.py")) for comparison in _of_file(path))


def _of_file(path: Path) -> Iterator[Comparison]:
    if path.stem.startswith("test_"):
        return
    spec = importlib.util.spec_from_file_location(f"fidelity_of_{path.stem}", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    for run in vars(module).values():
        if "comparison" in getattr(run, "__dict__", {}):
            kind, against = run.__dict__["comparison"]
            yield Comparison(path.stem, kind, against, run)


@dataclass(frozen=True)
class Row:
    """A row of a page: the name of what was compared with, its version, and the differences as they are printed."""

    against: str
    outputs: str
    gradients: str


def measured(recorded: dict[tuple[str, str, str], Row]) -> dict[tuple[str, str, str], Row]:
    """Run all comparisons; those whose package is not installed keep their recorded row."""
    rows = {}
    for comparison in comparisons():
        number = comparison.installed()
        if number is None:
            rows[comparison.key] = recorded.get(comparison.key, Row(comparison.against, "not run", "not run"))
            continue
        found = comparison.measure()
        gradients = "–" if found.gradients is None else _printed_number(found.gradients)
        rows[comparison.key] = Row(f"{comparison.against} {number}".strip(), _printed_number(found.outputs), gradients)
    return rows


def _printed_number(value: float) -> str:
    return f"{value:.0e}" if value else "0"


def read_page(text: str) -> dict[tuple[str, str, str], Row]:
    """Read the rows of comparisons that a page has, by :attr:`Comparison.key`."""
    found = {}
    for section in text.split("\n## ")[1:]:
        encoding = section.split("\n", 1)[0].strip("`")
        for against, what, outputs, gradients in re.findall(r"^\| (.+?) \| (.+?) \| (\S+) \| (\S+) \|$", section, re.M):
            for comparison in comparisons():
                named = against.rsplit(" ", 1)[0] if comparison.kind == "package" else against
                if comparison.key == (encoding, named, what):
                    found[comparison.key] = Row(against, outputs, gradients)
    return found


# ---------------------------------------------------------------------------------------------------------- the page

_INTRODUCTION = """\
# Fidelity of the encodings

Each encoding is compared with independent implementations: numbers that released code computed (golden values, see
`tests/encodings/golden/README.md`), packages of other authors (`pip install '.[fidelity]'`), and the printed formula,
written naively in double precision. Ours run in single precision. A difference is the largest absolute one, divided by
the largest value where that exceeds 1; gradients are those of inputs and parameters. Allowed are {outputs:.0e} for
outputs and {gradients:.0e} for gradients; tests enforce both. "–" means that there are no gradients to compare.

`make fidelity` writes this page. Its texts come from the files of the encodings, `src/wordorder/encodings/NAME.py`, and
its comparisons from `tests/fidelity/NAME.py`.

| Encoding | Compared with | Outputs | Gradients | Departures |
| --- | --- | --- | --- | --- |
"""


def render(rows: dict[tuple[str, str, str], Row]) -> str:
    """Write the page with the given rows of comparisons."""
    own = {name: list(group) for name, group in groupby(comparisons(), key=lambda each: each.encoding)}
    text = _INTRODUCTION.format(outputs=OUTPUTS, gradients=GRADIENTS)
    for name in encoding_types():
        found = [rows[comparison.key] for comparison in own.get(name, [])]
        kinds = dict.fromkeys(comparison.kind for comparison in own.get(name, []))
        departs = "none" if sections(name).get("Departures", "").startswith("none") else "yes"
        text += (
            f"| [`{name}`](#{name}) | {', '.join(kinds) or 'nothing'} | {_largest([row.outputs for row in found])} | "
            f"{_largest([row.gradients for row in found])} | {departs} |\n"
        )
    presets, printed = _presets(), _printed()
    for name in encoding_types():
        text += f"\n## `{name}`\n\n{_told(name, presets, printed)}"
        if name in own:
            text += "\n| Compared with | What | Outputs | Gradients |\n| --- | --- | --- | --- |\n"
        for comparison in own.get(name, []):
            row = rows[comparison.key]
            text += f"| {row.against} | {comparison.what} | {row.outputs} | {row.gradients} |\n"
    return text


def _largest(printed: list[str]) -> str:
    numeric = [value for value in printed if re.fullmatch(r"\d.*", value)]
    return max(numeric, key=float, default="–")


def _told(name: str, presets: dict[str, list[str]], printed: dict[str, list[str]]) -> str:
    shape = Shape(dim=512, heads=8, encoder_layers=6, decoder_layers=6)
    count = parse({"type": name}).parameter_count(shape)
    told = sections(name)
    lines = [
        told["Title"] + ".",
        *(f"{title}: {told[key]}" for key, title in _HEADINGS.items() if key in told),
        f"Parameters: {count:,} in the base Transformer (6 + 6 layers, d = 512, 8 heads) with the default settings.",
        *printed.get(name, []),
    ]
    if presets[name]:
        lines.append("Entries of `encodings.yaml`: " + ", ".join(f"`{preset}`" for preset in presets[name]) + ".")
    return "\n\n".join(lines) + "\n"


_HEADINGS = {"Source": "Source", "Start": "Start values", "Departures": "Departures", "Promises": "Promises"}


def _types(config: EncodingConfig) -> list[str]:
    return [part.type for part in config.compose] if isinstance(config, ComposedConfig) else [config.type]


def _presets() -> dict[str, list[str]]:
    entries = load_encodings(ROOT / "config")
    return {name: [key for key, config in entries.items() if name in _types(config)] for name in encoding_types()}


def _printed() -> dict[str, list[str]]:
    """The printed counts of parameters that models with an encoding are compared with, as sentences."""
    config: Any = ROOT / "config"
    entries = load_encodings(config)
    found: dict[str, list[str]] = {}
    for compared in compare_published(load_published(config), entries, load_sizes(config)):
        row, sign = compared.row, "+" if compared.row.base is not None else ""
        unit = "no parameters" if row.printed == "none" else f"{row.printed} million"
        ours = "none" if not compared.count else f"{compared.ours:{sign}} million"
        sentence = (
            f"{compared.table.paper}, {compared.table.table}, {row.row!r}: printed {unit}, ours {ours} "
            f"(`{row.encoding}`, {row.size})."
        )
        for name in _types(entries[row.encoding]):
            found.setdefault(name, []).append(" ".join(filter(None, (sentence, row.note))))
    return found


def write() -> None:
    """Measure and write the page."""
    PAGE.write_text(render(measured(read_page(PAGE.read_text("utf-8")) if PAGE.exists() else {})), encoding="utf-8")


if __name__ == "__main__":
    write()
