"""``wordorder stage page``: the results of a study, on one page for a browser."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from typer import Option

from wordorder.cli.app import stage
from wordorder.cli.options import Data, StudyResults, slice_of


@stage("page --config SLICE --results results/demo --data results/data --output results/demo/index.html")
def page(
    *,
    config: Annotated[Any, slice_of("models.Page", "contents of the study")],
    results: StudyResults,
    data: Data,
    output: Annotated[Path, Option(help="HTML")],
) -> None:
    """Make the page of a study.

    Make one HTML page of the results of a study: overview, tables, figures, translations side by side, records and the
    credibility list. The page contains everything itself and needs no network.
    """
    from wordorder.files import write_text
    from wordorder.report.page import build_page

    write_text(output, build_page(config, results, data))
