"""Commands on encodings: inspect, params and mathematics."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from wordorder.cli.app import ENCODING, command
from wordorder.cli.options import Root, complete_size, flag
from wordorder.errors import WordorderError


@command(ENCODING, "inspect rope", "inspect opr_16 --figure opr_16", "inspect alibi --json")
def inspect(
    encoding: Annotated[str, Argument(metavar="ENCODING", help="a name in encodings.yaml, or a type")],
    *,
    figure: Annotated[Path | None, Option(metavar="PREFIX", help="writes PREFIX.svg, .pdf, .png and .csv")] = None,
    length: Annotated[int, Option(min=1, help="positions to draw")] = 32,
    dim: Annotated[int, Option(min=1, help="model size")] = 64,
    heads: Annotated[int, Option(min=1, help="attention heads")] = 4,
    json: Annotated[bool, flag("json", "print JSON")] = False,
    root: Root = Path("config"),
) -> None:
    """Explain an encoding and draw what it does.

    Print its formula, source, promises, departures from the source and trainable parameters in one layer. The figure
    shows the vectors of positions and their similarity, where there are any, and the attention of equal tokens, which
    differs by position only.
    """
    from wordorder.api.inspection import inspect, write_figure

    found = inspect(encoding, root=root, dim=dim, heads=heads)
    print(found.as_json() if json else found)
    if figure is not None:
        write_figure(found.encoding, figure, length)


@command(ENCODING, "params --size base --vocabulary 37000", "params --published")
def params(
    *,
    size: Annotated[
        str | None, Option(metavar="SIZE", help="a name in sizes.yaml", autocompletion=complete_size)
    ] = None,
    vocabulary: Annotated[int | None, Option(min=1, help="size of the joint vocabulary, in subwords")] = None,
    published: Annotated[bool, flag("published", "compare with published/parameters.yaml")] = False,
    root: Root = Path("config"),
) -> None:
    """Count the parameters of every encoding.

    Print the trainable parameters, in millions, of a model of each configured encoding; or, with --published, the
    counts that papers print beside those of our models, and why a count is missed.
    """
    from wordorder.config.load import load_encodings, load_published, load_sizes
    from wordorder.model.counts import count_lines, published_lines

    if published and (size, vocabulary) != (None, None):
        raise WordorderError(
            "--published names sizes and vocabularies itself. Leave --size and --vocabulary out.",
            code="conflicting-options",
            key="--published",
        )
    if published:
        lines = published_lines(load_published(root), load_encodings(root), load_sizes(root))
    elif size is None or vocabulary is None:
        raise WordorderError("Give --size and --vocabulary, or --published.", code="missing-option", key="--size")
    else:
        lines = count_lines(load_encodings(root), load_sizes(root), size, vocabulary)
    for line in lines:
        print(line, flush=True)


@command(ENCODING, "mathematics --output results/mathematics")
def mathematics(
    *,
    output: Annotated[Path, Option(help="folder for the figure and its data")],
    seed: Annotated[int, Option(min=0, max=2**32 - 1, help="seed of the random words and weights")] = 1,
) -> None:
    """Check what the papers prove about encodings.

    Measure the papers' mathematical claims on the code that trains: permuted words in attention, weight concatenation,
    theorem 3.1 of PosNet, orthogonality and period of OPR, and the sinusoid's rotation. Print each claim with its
    bound. The exit status is 1 if one does not hold. The command needs no study.
    """
    from wordorder.figures.mathematics import write_claims

    write_claims(output, seed)
