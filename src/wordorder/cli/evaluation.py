"""``wordorder summary``, and the stages that evaluate models, compare systems and make tables."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Literal, get_args

from typer import Argument, Option

from wordorder.cli import options
from wordorder.cli.app import STUDY, command, stage
from wordorder.cli.options import JSONOut, slice_of
from wordorder.cli.slices import models

TableName = Literal["scores", "significance", "variance", "parameters", "credibility", "published", "orderings"]
TABLES: tuple[str, ...] = get_args(TableName)

References = Annotated[Path, Option(help="detokenised references, one line per sentence")]


@stage(
    "evaluate --config @evaluation.json --decoding '{}' --model model.pt --data results/data/demo --language de \\\n"
    "      --output results/models/…/test.json"
)
def evaluate(
    *,
    config: Annotated[models.Evaluation, slice_of("models.Evaluation", "test sets and metrics")],
    decoding: Annotated[models.Decoding, slice_of("models.Decoding", "beam search")],
    model: options.Model,
    data: Annotated[Path, Option(help="results/data/{dataset}")],
    positions: Annotated[
        str | None, Option(metavar="KIND", help="reordered positions of the test sets, such as predicted.btg")
    ] = None,
    language: Annotated[str, Option(help="target language")],
    as_it_is: options.AsItIs = False,
    threads: options.ModelThreads = None,
    output: Annotated[Path, Option(help="scores and checksums to write, JSON")],
) -> None:
    """Translate and score test sets with one model.

    Translations, n-best lists and scores are written beside the output. All evaluations of the model with the same
    decoding share them.
    """
    from wordorder.results.evaluate import evaluate

    evaluate(
        config,
        decoding,
        model=model,
        data=data,
        language=language,
        output=output,
        detokenise=not as_it_is,
        positions=positions,
        threads=threads,
    )


@stage("score --config SLICE --hypotheses test.hypotheses --references test.target --output test.scores.json")
def score(
    *,
    config: Annotated[models.Scoring, slice_of("models.Scoring", "metrics and target language")],
    hypotheses: Annotated[Path, Option(help="detokenised translations, one line per sentence")],
    references: References,
    output: JSONOut,
) -> None:
    """Score a translation by each metric of a study.

    Write scores, signatures and the score of each sentence. An empty file of hypotheses (a diverged training) has
    scores of null.
    """
    from wordorder.files import write_json
    from wordorder.metrics.scores import score_files

    write_json(output, score_files(hypotheses, references, config.metrics, config.target_language))


@stage("score-systems --config SLICE --source test.source --references test.target --output comet.json a b c")
def score_systems(
    hypotheses: Annotated[list[Path], Argument(metavar="FILE...", help="translations with as many lines")],
    *,
    config: Annotated[models.SystemsScoring, slice_of("models.SystemsScoring", "metric and target language")],
    source: Annotated[Path, Option(help="detokenised source text, one line per sentence")],
    references: References,
    cache: Annotated[Path | None, Option(help="folder of known scores (default: 'cache' beside the output)")] = None,
    python: Annotated[Path | None, Option(help="Python of the metric's environment")] = None,
    batch_size: Annotated[int, Option(min=1, help="sentences per batch")] = 16,
    output: JSONOut,
) -> None:
    """Score translations by a metric with an environment of its own, such as COMET.

    Score any number of translations of one source text in one process of the metric's own environment. If this
    environment or a model is missing, the output says so and names the remedy.
    """
    from wordorder.files import write_json
    from wordorder.metrics.base import SystemsTask, metric
    from wordorder.metrics.scores import score_systems

    task = SystemsTask(source, references, hypotheses, cache or output.parent / "cache", python, batch_size)
    result = score_systems(config, task)
    if result["status"] != "scored":
        print(f"{metric(result['metric']).label}: not scored. {result['reason']} {result['how']}", file=sys.stderr)
    write_json(output, result)


@stage("compare --config SLICE --size micro --test test --references test.target --output significance.json a b c")
def compare(
    hypotheses: Annotated[
        list[Path] | None,
        Argument(metavar="[FILE]...", help="translations: of each encoding of the family, one per seed"),
    ] = None,
    *,
    config: Annotated[models.Family, slice_of("models.Family", "family of comparisons")],
    size: Annotated[str, Option(help="size of the models to compare")],
    test: Annotated[str, Option(help="test set")],
    references: References,
    systems: Annotated[
        list[Path] | None, options.many("outputs of 'wordorder stage score-systems' for these translations")
    ] = None,
    output: JSONOut,
) -> None:
    """Test whether systems differ from their baseline.

    Give a verdict on every declared comparison on one test set, and make other tests of it: for each seed sacreBLEU's
    paired tests and the sign test, over the seeds a paired t-test and stratified randomisation, with Holm's correction.
    Seeds without translations are listed. A file OUTPUT with the suffix .looks remembers the seeds of earlier
    comparisons. docs/statistics.md explains each test.
    """
    from wordorder.comparison.levels import looks_file, read_looks, remember_look
    from wordorder.comparison.significance import compare, of_cells
    from wordorder.files import write_json

    translations = of_cells(config, hypotheses or [])
    looks = looks_file(output)
    result = compare(config, translations, size, test, references, systems or [], read_looks(looks))
    remember_look(looks, config.seeds)
    write_json(output, result)


@stage("table scores --config SLICE --results results/demo --output-prefix results/demo/tables/scores")
def table(
    name: Annotated[TableName, Argument(help="the table")],
    *,
    config: Annotated[str, Option(metavar="SLICE", help="contents of the study, as JSON or @FILE.yaml")],
    results: options.StudyResults,
    output_prefix: Annotated[str, Option(metavar="PREFIX", help="writes PREFIX.csv, .md, .tex and .html")],
) -> None:
    """Make a table of a study as CSV, Markdown, LaTeX (booktabs) and HTML.

    'credibility' lists what makes a comparison credible; the exit status is 1 if the study lacks an item.
    """
    from wordorder.config.load import slice_argument
    from wordorder.config.models import PublishedReport, Report
    from wordorder.config.published_scores import PUBLISHED_TABLES
    from wordorder.report.build import build_table
    from wordorder.tables.table import write_table

    if name in PUBLISHED_TABLES:
        asked = slice_argument(config, PublishedReport)
        built = build_table(name, asked.report, results, asked.published)
    else:
        built = build_table(name, slice_argument(config, Report), results)
    write_table(built, output_prefix)


@command(STUDY, "summary --results results/demo")
def summary(*, results: options.StudyResults) -> None:
    """Print the results of a finished study.

    Print its scores (mean ± standard deviation over seeds) and its verdicts.
    """
    from wordorder.tables.summary import summary

    print(summary(results))
