"""What a study asks for: its cells, and the slice of the configuration that each job gets.

A slice is canonical JSON (sorted keys, no spaces, defaults filled in) and holds only what its job depends on, so it
changes exactly when the job must run again. The workflow passes it as ``--config``; each function says which model
reads it there.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from pydantic import BaseModel

from wordorder.config.alignments import GoldImport, gold_split
from wordorder.config.analyses import Analyses, AttentionReading
from wordorder.config.datasets import (
    Dataset,
    Generator,
    Import,
    Part,
    Preparation,
    PublishedPairs,
    Subword,
    TextPreprocessing,
)
from wordorder.config.load import (
    load_aligners,
    load_dataset,
    load_encodings,
    load_gold_sets,
    load_published_scores,
    load_reorderers,
    load_sizes,
    load_study,
)
from wordorder.config.models import (
    Analysed,
    Cell,
    Comparison,
    DrawnReordering,
    Family,
    Page,
    PositionsKind,
    PublishedReport,
    Report,
    ReportedDataset,
    Scoring,
    Study,
)
from wordorder.config.problems import nearest
from wordorder.config.published_scores import PUBLISHED_TABLES, PublishedInStudy
from wordorder.errors import WordorderError

if TYPE_CHECKING:
    from wordorder.encodings.base import EncodingConfig


class CellName(NamedTuple):
    """One model to train, by the names of its parts: the path of its folder under results/{study}/cells."""

    dataset: str
    encoding: str
    size: str
    seed: int


def cells(study: Study) -> list[CellName]:
    """All models of a study, seeds fastest."""
    return [CellName(*names) for names in product(study.datasets, study.encodings, study.sizes, study.seeds)]


def test_names(study: Study, dataset: Dataset) -> list[str]:
    """The test sets of one dataset that the study translates, in the order of the dataset."""
    return [name for name in dataset.test_names if not study.tests or name in study.tests]


def comparisons(study: Study) -> list[Comparison]:
    """The family of a study: the declared one, or every other encoding against the baseline."""
    others = (name for name in study.encodings if name != study.baseline)
    return study.comparisons or [Comparison(system=name, baseline=study.baseline) for name in others]


def encoding_parameters(name: str, root: str | Path = "config") -> dict[str, Any]:
    """The entry ``name`` of encodings.yaml with all its parameters, checked by the encoding itself."""
    return _encoding(name, root).model_dump(mode="json")


def _encoding(name: str, root: str | Path) -> EncodingConfig:
    from wordorder.encodings.registry import parse  # imports torch

    try:
        return parse(load_encodings(root)[name])
    except WordorderError as error:
        raise WordorderError(f"{Path(root, 'encodings.yaml')}, '{name}': {error}") from error


def positions_name(
    study: Study, dataset: Dataset, encoding: str, split: str, root: str | Path = "config"
) -> str | None:
    """The folder of the reordered source positions that a study gives an encoding for a split; None if it needs none.

    It is 'gold' or 'identity', or 'oracle' or 'predicted' with the reorderer ('predicted.btg'); and those of the
    training set may have noise ('gold.noise0.1'). Raises WordorderError where the dataset cannot give such positions.
    """
    if not _encoding(encoding, root).needs_reordered:
        return None
    positions = study.reordering.of(encoding)
    key = "train" if split == "train" else "test"
    kind: PositionsKind = getattr(positions, key)
    try:
        check_positions(dataset, kind)
    except WordorderError as error:
        raise WordorderError(
            f"In the study '{study.name}' the encoding '{encoding}' needs reordered source positions, and "
            f"'reordering.{key}' is '{kind}'. {error} Set 'reordering.{key}' to 'predicted', with "
            "a 'reorderer', or to 'identity', or leave the encoding or the dataset out."
        ) from error
    name = kind if kind in ("gold", "identity") else f"{kind}.{positions.reorderer}"
    return f"{name}.noise{positions.noise:g}" if split == "train" and positions.noise else name


def check_positions(dataset: Dataset, kind: PositionsKind) -> None:
    """Raise WordorderError where a dataset cannot give reordered positions of this kind."""
    if kind == "gold" and dataset.generator is None:
        raise WordorderError(
            f"The dataset '{dataset.name}' has no gold positions, because only generated datasets have gold trees."
        )


def reorderers(study: Study, root: str | Path = "config") -> list[str]:
    """The reorderers whose positions a study's encodings use."""
    used = (study.reordering.of(name) for name in study.encodings if _encoding(name, root).needs_reordered)
    return sorted({of.reorderer for of in used if of.reorderer and {"oracle", "predicted"} & {of.train, of.test}})


def drawn_reorderings(study: Study, datasets: Iterable[Dataset], root: str | Path = "config") -> list[DrawnReordering]:
    """The test sets whose predicted orders are scored and drawn, for every reorderer that the study uses.

    Only the embedded aligner links text that it was not trained on; without such links nothing can be scored.
    """
    reordering, aligners = load_reorderers(root), load_aligners(root)
    embedded = [name for name in reorderers(study, root) if aligners[reordering[name].aligner].aligner.type == "hmm"]
    return [
        DrawnReordering(dataset=data.name, reorderer=name, test=test)
        for data in datasets
        for name in embedded
        for test in test_names(study, data)
    ]


def check_analyses(study: Study, datasets: Iterable[Dataset], root: str | Path = "config") -> None:
    """Raise WordorderError where a dataset of the study cannot give what an analysis asks for."""
    from wordorder.data.tokenise import UNSPACED_LANGUAGES, base_language  # imports sacremoses

    datasets = list(datasets)
    length, reordering = study.analyses.length, study.analyses.reordering
    aligners = load_aligners(root)
    for dataset in datasets:
        where = f"In the study '{study.name}' the dataset '{dataset.name}'"
        if length and length.unit == "word" and base_language(dataset.source_language) in UNSPACED_LANGUAGES:
            raise WordorderError(
                f"{where} has a source without spaces between words, which 'analyses.length' cannot count. "
                "Set 'analyses.length.unit' to 'subword'."
            )
        if reordering and reordering.by == "gold" and dataset.generator is None:
            raise WordorderError(
                f"{where} has no gold trees, which 'analyses.reordering.by: gold' asks for; only generated datasets "
                "have. Set it to 'links'."
            )
    if study.analyses.alignment:
        _check_gold_sets(study, datasets, root)
    if reordering and reordering.by == "links":
        hmms = [name for name, alignment in aligners.items() if alignment.aligner.type == "hmm"]
        if reordering.aligner not in hmms:
            raise WordorderError(
                f"In the study '{study.name}' 'analyses.reordering.aligner' is '{reordering.aligner}', but only an "
                f"aligner of type 'hmm' links test sets by what it learnt: {', '.join(hmms) or 'there is none'}."
            )


def gold_sets(dataset: Dataset, root: str | Path = "config") -> list[str]:
    """The sets of gold alignments that are of a dataset's languages; 'gold' are the links of a generated one."""
    languages = dataset.source_language, dataset.target_language
    fitting = [name for name, gold in load_gold_sets(root).items() if gold.direction(*languages)]
    return (["gold"] if dataset.generator else []) + fitting


def aligned_splits(study: Study, dataset: Dataset, root: str | Path = "config") -> list[str]:
    """The splits of a dataset on which 'analyses.alignment' measures: its own test sets, and sets of other text."""
    wanted = study.analyses.alignment.sets if study.analyses.alignment else []
    chosen = [name for name in gold_sets(dataset, root) if name in wanted]
    own = test_names(study, dataset) if "gold" in chosen else []
    return own + [gold_split(name) for name in chosen if name != "gold"]


def _check_gold_sets(study: Study, datasets: Iterable[Dataset], root: str | Path) -> None:
    """Every set must be of a dataset's languages, and every dataset must have one."""
    assert study.analyses.alignment is not None
    where = f"In the study '{study.name}' 'analyses.alignment.sets'"
    known, fitting = ["gold", *load_gold_sets(root)], {data.name: gold_sets(data, root) for data in datasets}
    for name in study.analyses.alignment.sets:
        if name not in known:
            raise WordorderError(f"{where} names the unknown set '{name}'{nearest(name, known, 'gold sets')}")
        if not any(name in names for names in fitting.values()):
            raise WordorderError(f"{where} names '{name}', which is of other languages than the study's datasets.")
    for dataset, names in fitting.items():
        if not set(names) & set(study.analyses.alignment.sets):
            raise WordorderError(
                f"{where} names no gold links for the dataset '{dataset}'. Of its languages there "
                f"{'is: ' + ', '.join(names) if names else 'are none in gold_alignments.yaml'}."
            )


# ------------------------------------------------------------------------------------------- slices of a dataset


def gold_slice(dataset: Dataset, name: str, root: str | Path = "config") -> str:
    """``GoldImport``: a set of gold_alignments.yaml as a split of a dataset."""
    gold = load_gold_sets(root)[name]
    return canonical(
        GoldImport(
            text=gold.text,
            members={file: entry.text_member for file, entry in gold.downloads.items() if entry.text_member},
            reverse=gold.direction(dataset.source_language, dataset.target_language) == "reverse",
            preparation=_preparation(dataset),
        )
    )


def download_slice(dataset: Dataset, file: str) -> str:
    """``Download``: one key of the dataset's downloads."""
    return canonical(dataset.downloads[file])


def shared_download_slice(datasets: Iterable[Dataset], folder: str, file: str) -> str:
    """``Download``: the file of a folder of downloads, which several of ``datasets`` may share.

    Raises WordorderError where two of them mean different files by one name.
    """
    owners = [dataset for dataset in datasets if dataset.folder == folder and file in dataset.downloads]
    for other in owners[1:]:
        if other.downloads[file] != owners[0].downloads[file]:
            raise WordorderError(
                f"The datasets '{owners[0].name}' and '{other.name}' share the folder '{folder}' of downloads, but "
                f"describe its file '{file}' differently. Give one of them another file name or 'download_folder'."
            )
    if not owners:
        raise WordorderError(f"No dataset of the folder '{folder}' of downloads has a file '{file}'.")
    return download_slice(owners[0], file)


def parts(dataset: Dataset, split: str) -> list[Part]:
    """The parts of 'train', 'valid' or a test set."""
    return {**dataset.tests, "train": dataset.train, "valid": dataset.valid}[split]


def downloads(dataset: Dataset, split: str) -> list[str]:
    """The keys of the dataset's downloads from which one split is imported."""
    return list(dict.fromkeys(side.file for part in parts(dataset, split) for side in (part.source, part.target)))


def import_slice(dataset: Dataset, split: str) -> str:
    """``Import``."""
    return canonical(Import(parts=parts(dataset, split), by_hand=dataset.by_hand))


def generator_slice(dataset: Dataset, split: str) -> str:
    """``Generator``, without the numbers of sentences of the other splits, on which this one does not depend."""
    if dataset.generator is None:
        raise WordorderError(f"The dataset '{dataset.name}' has no generator; its '{split}' is downloaded.")
    others = {name: Generator.model_fields[name].default for name in ("train", "valid") if name != split}
    tests = {name: number for name, number in dataset.generator.tests.items() if name == split}
    return canonical(dataset.generator.model_copy(update={**others, "tests": tests}))


def preprocessing_slice(dataset: Dataset) -> str:
    """``Preparation``: what 'clean' does to the text of this pair."""
    return canonical(_preparation(dataset))


def _preparation(dataset: Dataset) -> Preparation:
    return Preparation(
        preprocessing=_only(TextPreprocessing, dataset.preprocessing),
        source_language=dataset.source_language,
        target_language=dataset.target_language,
    )


def published_slice(dataset: Dataset) -> str:
    """``PublishedPairs``, in the order in which the reports are given: that of :func:`canonical`."""
    return canonical(PublishedPairs(dataset.published_pairs))


def subword_slice(dataset: Dataset) -> str:
    """``Subword``."""
    return canonical(_only(Subword, dataset.preprocessing))


# --------------------------------------------------------------------------------------------- slices of a study


def cell_slice(study: Study, cell: CellName, root: str | Path = "config") -> str:
    """``Cell``: the model to train. The data it is trained on are files, not configuration."""
    return canonical(
        Cell(
            encoding=encoding_parameters(cell.encoding, root),
            size=load_sizes(root)[cell.size],
            recipe=study.recipe,
            seed=cell.seed,
        )
    )


def decoding_slice(study: Study) -> str:
    """``Decoding``."""
    return canonical(study.decoding)


def scoring_slice(study: Study, dataset: Dataset) -> str:
    """``Scoring``."""
    return canonical(Scoring(metrics=study.metrics, target_language=dataset.target_language))


def measure_slice(study: Study, measure: str) -> str:
    """The settings of one analysis that measures models, as far as measuring depends on them."""
    settings = getattr(study.analyses, measure) or getattr(Analyses.model_validate({measure: {}}), measure)
    return canonical(_only(AttentionReading, settings) if measure == "alignment" else settings)


def comet_slice(study: Study) -> str:
    """``Comet``, of a study that asks for it."""
    if study.comet is None:
        raise WordorderError(f"The study '{study.name}' asks for no COMET scores; its key would be 'comet'.")
    return canonical(study.comet)


def significance_slice(study: Study, dataset: Dataset) -> str:
    """``Family``: the comparisons, which are the same for all sizes and test sets."""
    family = comparisons(study)
    compared = {name for comparison in family for name in (comparison.system, comparison.baseline)}
    return canonical(
        Family(
            encodings=[name for name in study.encodings if name in compared],
            seeds=study.seeds,
            baseline=study.baseline,
            comparisons=family,
            metrics=study.metrics,
            target_language=dataset.target_language,
            significance=study.significance,
        )
    )


def report_slice(study: Study, datasets: Iterable[Dataset]) -> str:
    """``Report``, for tables; ``datasets`` are those of the study."""
    return canonical(_report(study, datasets))


def figure_slice(study: Study, datasets: Iterable[Dataset], figure: str) -> str:
    """``Report``, for a figure; how many positions are shown is no matter of figures without vectors."""
    shown = None if figure in ("scores", "perplexity", "mathematics") else study.shown_positions
    return canonical(_report(study, datasets).model_copy(update={"shown_positions": shown}))


def _report(study: Study, datasets: Iterable[Dataset]) -> Report:
    reported = [ReportedDataset(name=data.name, title=data.title, tests=test_names(study, data)) for data in datasets]
    return Report(
        study=study.name,
        title=study.title,
        datasets=reported,
        encodings=study.encodings,
        sizes=study.sizes,
        seeds=study.seeds,
        metrics=study.metrics,
        baseline=study.baseline,
        alpha=study.significance.alpha,
        comet=study.comet,
    )


def published_scores_slice(study: Study, datasets: Iterable[Dataset], root: str | Path = "config") -> str:
    """``PublishedReport``; ``datasets`` are those of the study. An unknown table is a WordorderError."""
    return canonical(PublishedReport(report=_report(study, datasets), published=_published(study, root)))


def _published(study: Study, root: str | Path) -> list[PublishedInStudy]:
    tables = {table.name: table for table in load_published_scores(root)} if study.published else {}
    for shown in study.published:
        if shown.table not in tables:
            raise WordorderError(
                f"The study '{study.name}' shows the published table '{shown.table}', which is not in "
                f"{Path(root, 'published', 'scores.yaml')}{nearest(shown.table, tables, 'tables')}"
            )
    return [PublishedInStudy(shown=shown, printed=tables[shown.table]) for shown in study.published]


def table_names(study: Study) -> list[str]:
    """The tables that a study asks for, and those beside papers' scores where it shows some.

    The credibility list, which every study has, is not among them.
    """
    return [*study.tables, *(PUBLISHED_TABLES if study.published else [])]


def page_slice(study: Study, datasets: Iterable[Dataset], root: str | Path = "config") -> str:
    """``Page``; ``datasets`` are those of the study. An unknown published table is a WordorderError."""
    datasets = list(datasets)
    return canonical(
        Page(
            report=_report(study, datasets),
            tables=table_names(study),
            published=_published(study, root),
            figures=[*study.figures],
            analyses=study.analyses.names,
            reorderings=drawn_reorderings(study, datasets, root),
            source_languages={data.name: data.source_language for data in datasets},
            target_languages={data.name: data.target_language for data in datasets},
        )
    )


def analysis_slice(study: Study, datasets: Iterable[Dataset], name: str) -> str:
    """``Analysed``, for the analysis ``name``, whose settings it holds alone; ``datasets`` are those of the study."""
    datasets = list(datasets)
    return canonical(
        Analysed(
            report=_report(study, datasets),
            settings=Analyses(**{name: getattr(study.analyses, name)}),
            source_languages={data.name: data.source_language for data in datasets},
            target_languages={data.name: data.target_language for data in datasets},
        )
    )


def canonical(model: BaseModel) -> str:
    """The one JSON text of a model's content."""
    return json.dumps(model.model_dump(mode="json"), sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def _only(kind: type[Any], value: BaseModel) -> Any:
    """The part of ``value`` that its base class ``kind`` has."""
    return kind(**{field: getattr(value, field) for field in kind.model_fields})


# ---------------------------------------------------------------------------------------------------- for people


def check(path_or_name: str | Path, root: str | Path = "config") -> str:
    """Check a study and all that it uses; returns one line that says how much there is to run."""
    study = load_study(path_or_name, root)
    problems = []
    for name in study.encodings:
        try:
            encoding_parameters(name, root)
        except WordorderError as error:
            problems.append(str(error))
    if problems:
        raise WordorderError("\n".join(problems))
    datasets = [load_dataset(name, root) for name in study.datasets]
    for dataset, name, split in product(datasets, study.encodings, ("train", "test")):
        try:
            positions_name(study, dataset, name, split, root)
        except WordorderError as error:
            problems.append(str(error))
    for look in (check_analyses, published_scores_slice):
        try:
            look(study, datasets, root)
        except WordorderError as error:
            problems.append(str(error))
    if problems:
        raise WordorderError("\n".join(problems))
    factors = " × ".join(
        _count(len(names), noun)
        for names, noun in (
            (study.datasets, "dataset"),
            (study.encodings, "encoding"),
            (study.sizes, "size"),
            (study.seeds, "seed"),
        )
    )
    tests = sum(len(test_names(study, dataset)) for dataset in datasets)
    return (
        f"{study.name}: {_count(len(cells(study)), 'cell')} ({factors}), {_count(tests, 'test set')}, "
        f"{_count(len(comparisons(study)), 'comparison')}."
    )


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
