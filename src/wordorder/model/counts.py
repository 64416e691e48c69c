"""Counts of trainable parameters, and their comparison with printed counts."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal
from itertools import groupby
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from wordorder.config.encodings import EncodingConfig
from wordorder.config.models import Cell, Recipe
from wordorder.config.published import PublishedRow, PublishedTable
from wordorder.config.sizes import ModelSize
from wordorder.encodings.base import REGISTRY
from wordorder.errors import WordorderError, unknown_name
from wordorder.model.architectures.base import Translator, architecture_of
from wordorder.model.checkpoint import build_model, count_parameters
from wordorder.registry import own_line
from wordorder.wording import listed

_DRAWN = 1 << 16  # largest number of values drawn for a model that is never used


def counted(encoding: EncodingConfig, size: ModelSize, recipe: Recipe, vocabulary_size: int) -> dict[str, int]:
    """Count the parameters of a model without allocating it.

    Args:
        encoding: Configuration of the encoding.
        size: Size of the model.
        recipe: Recipe, for tied embeddings.
        vocabulary_size: Number of subwords.

    Returns:
        'total', and 'encoding' for the encoding only.

    Raises:
        WordorderError: The encoding cannot be part of such a model, or fails in any other way, or does not belong to
            the package and has another number of parameters than its formula gives.
    """
    counts = count_parameters(sketched(encoding, size, recipe, vocabulary_size))
    _check_formula(encoding, size, counts["encoding"])
    return counts


def _check_formula(encoding: EncodingConfig, size: ModelSize, built: int) -> None:
    """Compare the parameters of an encoding with its formula, if it has one; for the package's own, tests do this."""
    own = {file: type(each) for each in encoding.with_contained if (file := REGISTRY.file(each.type))}
    if not own or any(config.parameter_count is EncodingConfig.parameter_count for config in own.values()):
        return
    files = list(own)
    where = f"The formula 'parameter_count' in {listed(map(str, files))}"
    try:
        formula = encoding.parameter_count(architecture_of(size).shape(size))
    except Exception as error:  # A user's own formula may raise anything.
        raise WordorderError(
            f"{where} cannot be computed: {type(error).__name__}: {error}.",
            code="wrong-parameter-count",
            path=files[0],
            key=encoding.type,
        ) from error
    if formula != built:
        raise WordorderError(
            f"{where} gives {formula:,} trainable parameters, but the module has {built:,}. Correct the formula, or "
            "the module if it has other parameters than you meant.",
            code="wrong-parameter-count",
            path=files[0],
            key=encoding.type,
            found=built,
            expected=formula,
        )


def sketched(encoding: EncodingConfig, size: ModelSize, recipe: Recipe, vocabulary_size: int) -> Translator:
    """Return a model that is never used: most of its values are uninitialised memory.

    Args:
        encoding: Configuration of the encoding.
        size: Size of the model.
        recipe: Recipe of the model.
        vocabulary_size: Number of subwords.

    Returns:
        The model.

    Raises:
        WordorderError: The encoding cannot be part of such a model, or fails in any other way.
    """
    cell = Cell(encoding=encoding, size=size, recipe=recipe, seed=0)
    with suppress(Exception), _WithoutStartValues():
        return build_model(cell, vocabulary_size)
    try:  # The encoding may depend on its start values; other errors occur again.
        return build_model(cell, vocabulary_size)
    except WordorderError:
        raise
    except Exception as error:  # A user's own encoding may raise anything.
        file, line = own_line(error) or (None, None)
        where = f" (line {line} of {file})" if file else ""
        raise WordorderError(
            f"It cannot be built: {type(error).__name__}: {error}{where}.",
            code="model-cannot-be-built",
            path=file,
            line=line,
        ) from error


class _WithoutStartValues(TorchFunctionMode):
    """Leaves large tables and layers uninitialised, most of which then never occupy memory.

    Small or normally distributed values are drawn nevertheless, because an encoding may draw until it accepts the
    values. PyTorch's device 'meta' serves the same purpose, but first imports a compiler, which takes longer than
    everything else.
    """

    def __torch_function__(
        self, function: Callable[..., Any], types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        kwargs = kwargs or {}
        # torch.nn.init passes only the draws that it makes immediately to modes.
        if getattr(function, "__module__", None) == "torch.nn.init":
            return args[0] if args else kwargs["tensor"]
        if function is torch.Tensor.uniform_ and args[0].numel() > _DRAWN:
            return args[0]
        return function(*args, **kwargs)


@dataclass(frozen=True)
class Compared:
    """A printed count and ours; both are differences if the printed count is one."""

    table: PublishedTable
    row: PublishedRow
    count: int

    @property
    def ours(self) -> Decimal:
        """Our count in millions, rounded as in the paper. It stays exact if the paper says that it is zero."""
        millions = Decimal(self.count).scaleb(-6)
        return millions if self.row.printed == "none" else millions.quantize(self.printed, ROUND_HALF_UP)

    @property
    def printed(self) -> Decimal:
        """The printed count in millions."""
        return Decimal(0) if self.row.printed == "none" else Decimal(self.row.printed)

    @property
    def met(self) -> bool:
        """Whether both counts are equal."""
        return self.ours == self.printed


def compare_published(
    tables: list[PublishedTable], encodings: Mapping[str, EncodingConfig], sizes: Mapping[str, ModelSize]
) -> Iterator[Compared]:
    """Yield the comparison of every row in order.

    Args:
        tables: The printed counts.
        encodings: The configured encodings.
        sizes: The configured sizes.

    Yields:
        The comparisons.

    Raises:
        WordorderError: The encoding or size of a row does not exist.
    """
    for table in tables:
        for row in table.rows:
            counts = _of_row(table, row, encodings, sizes)
            count = counts["encoding"] if row.printed == "none" else counts["total"]
            if row.base is not None:
                count -= _of_row(table, table.find(row.base), encodings, sizes)["total"]
            yield Compared(table, row, count)


def _of_row(
    table: PublishedTable,
    row: PublishedRow,
    encodings: Mapping[str, EncodingConfig],
    sizes: Mapping[str, ModelSize],
) -> dict[str, int]:
    for kind, name, known in (("encoding", row.encoding, encodings), ("size", row.size, sizes)):
        if name not in known:
            place = f"The published row '{row.row}' of {table.paper}, {table.table},"
            raise unknown_name(f"{place} names the unknown {kind}", name, known, f"entries of {kind}s.yaml")
    recipe = Recipe(norm=table.norm, tie_embeddings=table.tie_embeddings, max_updates=1)
    return counted(encodings[row.encoding], sizes[row.size], recipe, table.vocabulary)


def count_lines(encodings: Mapping[str, EncodingConfig], size: ModelSize, vocabulary_size: int) -> Iterator[str]:
    """Iterate over the lines of a table: the parameters of a model of each encoding, or why it cannot be built.

    Raises:
        WordorderError: The vocabulary has no more than the special pieces.
    """
    if vocabulary_size <= 4:
        raise WordorderError(
            f"--vocabulary must be above 4, the number of special pieces, but is {vocabulary_size}.",
            code="invalid-value",
            key="--vocabulary",
            found=vocabulary_size,
        )
    recipe = Recipe(norm="post", max_updates=1)
    yield f"{'encoding':24} {'total':>10} {'encoding':>10}   (millions)"
    for name, entry in encodings.items():
        try:
            counts = counted(entry, size, recipe, vocabulary_size)
        except WordorderError as error:
            yield f"{name:24} {'-':>10} {'-':>10}   {error}"
            continue
        yield f"{name:24} {counts['total'] / 1e6:10.2f} {counts['encoding'] / 1e6:10.2f}"


def published_lines(
    tables: list[PublishedTable], encodings: Mapping[str, EncodingConfig], sizes: Mapping[str, ModelSize]
) -> Iterator[str]:
    """Iterate over the lines that compare the printed counts with ours; see :func:`compare_published`."""
    compared = list(compare_published(tables, encodings, sizes))
    for table, rows in groupby(compared, key=lambda own: own.table):
        yield f"\n{table.paper}, {table.table}: vocabulary {table.vocabulary:,}, tied embeddings: " + (
            f"{table.tie_embeddings}, {table.norm}-norm"
        )
        yield f"  {'row':18}{'encoding':20}{'size':16}{'parameters':>13}{'ours':>11}{'printed':>9}{'difference':>12}"
        for own in rows:
            row, sign = own.row, "+" if own.row.base is not None else ""
            yield (
                f"  {row.row:18}{row.encoding:20}{row.size:16}{own.count:13,}{f'{own.ours:{sign}}':>11}{row.printed:>9}"
                f"{f'{own.ours - own.printed:+}':>12}  {'ok' if own.met else 'miss'}"
            )
            if row.note:
                yield textwrap.fill(row.note, 110, initial_indent=" " * 6, subsequent_indent=" " * 6)
    met = sum(own.met for own in compared)
    yield f"\n{met} of {len(compared)} printed counts are met to the last digit (all in millions)."
