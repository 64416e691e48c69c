"""The commands ``wordorder inspect``, ``params`` and ``mathematics``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from wordorder.cli.app import ENCODING, command
from wordorder.cli.options import Root, complete_size, flag
from wordorder.errors import WordorderError, unknown_name


@command(ENCODING, "inspect rope", "inspect opr_16 --figure opr_16", "inspect alibi --json")
def inspect(
    encoding: Annotated[str, Argument(metavar="ENCODING", help="name in encodings.yaml, or type of an encoding")],
    *,
    figure: Annotated[
        Path | None, Option(metavar="PREFIX", help="files to write: PREFIX.svg, .pdf, .png and .csv")
    ] = None,
    length: Annotated[int, Option(min=1, help="number of positions to draw")] = 32,
    dim: Annotated[int, Option(min=1, help="dimension of the model")] = 64,
    heads: Annotated[int, Option(min=1, help="number of attention heads")] = 4,
    json: Annotated[bool, flag("json", "print JSON")] = False,
    root: Root = Path("config"),
) -> None:
    """Describe an encoding and draw its effect.

    Print its formula, source, promises, departures from the source and trainable parameters in one layer. The figure
    shows the position vectors and their similarity, if the encoding has any, and the attention between equal tokens,
    which depends only on their positions.
    """
    from wordorder.api.inspection import inspect, write_figure

    found = inspect(encoding, root=root, dim=dim, heads=heads)
    print(found.as_json() if json else found)
    if figure is not None:
        write_figure(found.encoding, figure, length)


@command(ENCODING, "params --size base --vocabulary 37000", "params --published")
def params(
    *,
    size: Annotated[str | None, Option(metavar="SIZE", help="name in sizes.yaml", autocompletion=complete_size)] = None,
    vocabulary: Annotated[int | None, Option(min=1, help="size of the joint vocabulary, in subwords")] = None,
    published: Annotated[bool, flag("published", "compare with published/parameters.yaml")] = False,
    root: Root = Path("config"),
) -> None:
    """Count the parameters of every encoding.

    Print the number of trainable parameters, in millions, of a model with each configured encoding. With --published,
    print the counts in papers next to those of our models, with the reasons for differences.
    """
    from wordorder.config.load import load_encodings, load_published, load_sizes, size_names
    from wordorder.model.counts import count_lines, published_lines

    if published and (size, vocabulary) != (None, None):
        raise WordorderError(
            "--published cannot be combined with --size or --vocabulary, because the file names its own sizes and "
            "vocabularies. Leave out --size and --vocabulary.",
            code="conflicting-options",
            key="--published",
        )
    if published:
        lines = published_lines(load_published(root), load_encodings(root), load_sizes(root))
    elif size is None or vocabulary is None:
        raise WordorderError(
            "The size of the models is unknown. Give --size and --vocabulary, or --published.",
            code="missing-option",
            key="--size",
        )
    else:
        if size not in (names := size_names(root)):
            raise unknown_name("There is no size", size, names, "sizes", code="unknown-size", key="--size")
        lines = count_lines(load_encodings(root), load_sizes(root, [size])[size], vocabulary)
    for line in lines:
        print(line, flush=True)


@command(ENCODING, "mathematics --output results/mathematics")
def mathematics(
    *,
    output: Annotated[Path, Option(help="folder for the figure and its data")],
    seed: Annotated[int, Option(min=0, max=2**32 - 1, help="seed of the random words and weights")] = 1,
) -> None:
    """Check the papers' mathematical claims about encodings.

    Measure the claims on the code that trains: permuted words in attention, weight concatenation, theorem 3.1 of
    PosNet, orthogonality and period of OPR, and rotation of the sinusoid. Print each claim with its bound. The exit
    status is 1 if a claim does not hold as expected. The command needs no study.
    """
    from wordorder.figures.mathematics import write_claims

    write_claims(output, seed)
