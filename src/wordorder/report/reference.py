"""Reference runs: write a finished study as a bundle, and verify its tables against its translations."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from pathlib import Path
from typing import Literal

from wordorder.analyses.measure import analyse
from wordorder.comparison.levels import looks_file, read_looks
from wordorder.comparison.study import compare_in_study
from wordorder.config.models import Analysed
from wordorder.config.pages import CONTROLS
from wordorder.drawing.small_svg import raster_svg, small_svg
from wordorder.errors import WordorderError
from wordorder.figures.catalogue import FIGURES, draw_figure
from wordorder.files import atomic, read_bytes, read_json, read_text, refuse_to_replace, sha256, write_json, write_text
from wordorder.metrics.scores import score_files, text_metrics
from wordorder.progress import track
from wordorder.report.build import build_controls_table, build_table
from wordorder.report.ten_lines import README, skeleton
from wordorder.results.bundle import DATA, STUDY, Bundled, pack, read_study, repack, unpack, unpack_data
from wordorder.results.frames import cell_folders, significance_path, systems_metrics
from wordorder.results.translations import raw
from wordorder.tables.table import Table, to_markdown

# In bytes. Larger SVG files, such as noisy heat maps, are stored as an image to keep the repository small.
_LARGEST_SVG = 120_000
_TOLERANCE = 1e-6


@dataclass(frozen=True)
class Difference:
    """A difference between a committed table and the one that the translations give.

    Attributes:
        table: The file of the table.
        row: The row, from 1; None in a file of significance tests.
        column: The column; "line" in a Markdown file; the name of the value in a file of significance tests.
        committed: The committed text; None if the committed table has no such cell.
        found: The text from the translations; None if their table has no such cell.
    """

    table: str
    row: int | None
    column: str
    committed: str | None
    found: str | None

    def __str__(self) -> str:
        row = "" if self.row is None else f", row {self.row}"
        return f"{self.table}{row}, {self.column}: committed {self.committed!r}, found {self.found!r}"


@dataclass(frozen=True)
class Verified:
    """The result of verifying a bundle.

    Attributes:
        cells: The number of translations that were scored again.
        differences: The differences from the committed tables.
        not_verified: Metrics that run in separate environments and were not verified.
    """

    cells: int
    differences: list[Difference] = field(default_factory=list)
    not_verified: list[str] = field(default_factory=list)


def write_reference(
    folder: Path, results: Path, study: Bundled, pictures: Sequence[str], extensions: Mapping[str, Path]
) -> None:
    """Write a finished study as a bundle, with its tables and one SVG file per picture.

    A bundle that is written again keeps its README.md; a new one gets a skeleton, which a person completes.

    Args:
        folder: The folder of the bundle to write.
        results: The folder of the study's results.
        study: The study's tables and comparisons.
        pictures: Names of figures and analyses, such as 'figures/scores'.
        extensions: The code outside of the package that the study uses, by its path in a folder of plug-ins.

    Raises:
        WordorderError: The study is not finished, or the folder holds anything but a bundle.
    """
    refuse_to_replace(folder, "a bundle", STUDY)
    with atomic(folder, checksum="none") as temporary:
        pack(temporary, results, study, pictures)
        _write_tables(temporary, results, study)
        for name in pictures:
            _write_picture(temporary, results, name)
        for name, file in extensions.items():
            write_text(temporary / "extensions" / name, read_text(file), checksum="none")
        _write_readme(folder, temporary, results, study, pictures)


def _write_readme(folder: Path, temporary: Path, results: Path, study: Bundled, pictures: Sequence[str]) -> None:
    old, index = folder / README, folder.resolve().parent.parent / README
    content = read_bytes(old) if old.is_file() else skeleton(study, results, pictures, listed=index.is_file()).encode()
    (temporary / README).write_bytes(content)


def _write_tables(folder: Path, results: Path, study: Bundled) -> None:
    for name in study.tables:
        table = _build(name, study, results)
        write_text(folder / "tables" / f"{name}.csv", table.csv, checksum="none")
        write_text(folder / "tables" / f"{name}.md", to_markdown(table), checksum="none")


def _other_tables(folder: Path, study: Bundled) -> list[Path]:
    """List the files of a bundle's tables that its study does not have."""
    return sorted(path for path in folder.glob("tables/*") if path.stem not in study.tables)


def _build(name: str, study: Bundled, results: Path) -> Table:
    if name == CONTROLS and study.controls is not None:
        return build_controls_table(study.controls, results)
    return build_table(name, study.report, results, study.published)


def _write_picture(folder: Path, results: Path, name: str) -> None:
    drawing = small_svg(read_text(results / f"{name}.svg"))
    if len(drawing) > _LARGEST_SVG:
        drawing = raster_svg(results / f"{name}.png")
    write_text(folder / f"{name}.svg", drawing, checksum="none")


def rebuild_reference(
    folder: Path, data: Path, scratch: Path, study: Bundled, analyses: Mapping[str, Analysed]
) -> None:
    """Score the translations of a bundle again and rewrite its significance tests, its tables and their figures.

    The figures of trainings are rewritten, too, if the bundle holds the losses of its trainings, which bundles of
    earlier versions do not.

    Args:
        folder: The folder of the bundle.
        data: The folder of the datasets, 'results/data', with the raw references.
        scratch: An empty folder for intermediate files.
        study: The tables and comparisons that the bundle is to have, for the same cells.
        analyses: Analyses that read nothing but scores and records, with their settings; they are repeated.

    Raises:
        WordorderError: The bundle is damaged or has other cells, or the references differ from those of the bundle.
    """
    _demand_same_cells(folder, study)
    _restore(folder, data, scratch)
    _score(study, scratch, data)
    _test(study, scratch, data)
    for name, figure in FIGURES.items():
        if figure.reads in ("scores", "significance") or (
            figure.reads == "metrics" and (folder / f"figures/{name}.svg").is_file() and _has_metrics(scratch, study)
        ):
            prefix = f"{scratch}/figures/{name}"
            draw_figure(name, config=study.report, results=scratch, output_prefix=prefix)
            _write_picture(folder, scratch, f"figures/{name}")
    for name, settings in analyses.items():
        analyse(name, config=settings, results=scratch, data=data, output_prefix=f"{scratch}/analyses/{name}")
        _write_picture(folder, scratch, f"analyses/{name}")
    for path in _other_tables(folder, study):
        path.unlink()
    _write_tables(folder, scratch, study)
    repack(folder, scratch, study)


def _has_metrics(results: Path, study: Bundled) -> bool:
    return all(files.metrics.is_file() for _, files in cell_folders(study.report, results))


def _demand_same_cells(folder: Path, study: Bundled) -> None:
    """Refuse a study whose seeds, sizes, encodings or test sets are not those of the bundle."""
    old, new = read_study(folder).report, study.report
    for what in ("seeds", "sizes", "encodings", "only", "datasets"):
        held, wanted = (report.tests if what == "datasets" else getattr(report, what) for report in (old, new))
        if held != wanted:
            raise WordorderError(
                f"{folder} cannot be rebuilt, because the '{what}' of its study have changed: the bundle has {held}, "
                f"the study {wanted}. Restore the study, or run it and write the bundle again with 'wordorder stage "
                "write-reference'.",
                code="other-cells",
                path=folder,
                key=what,
                found=wanted,
                expected=held,
            )


def _restore(folder: Path, data: Path, scratch: Path) -> Bundled:
    """Unpack a bundle, after checking that its references exist."""
    study = unpack(folder, scratch)
    for dataset in study.report.datasets:
        if dataset.name not in study.families:
            raise WordorderError(
                f"{folder / STUDY} lacks the comparisons of the dataset '{dataset.name}' in 'families'. The bundle is "
                "incomplete; get it again.",
                code="incomplete-bundle",
                path=folder / STUDY,
                key="families",
            )
    for names, expected in study.references.items():
        path = _references(data, names)
        if not path.is_file():
            raise WordorderError(
                f"{path} does not exist. Create it with 'snakemake {path} --cores 1'.", code="missing-file", path=path
            )
        if sha256(path) != expected:
            raise WordorderError(
                f"{path} differs from the references with which the bundle was scored (SHA-256 {expected}). Remove the "
                "file and let the workflow make it again.",
                code="other-references",
                path=path,
                expected=expected,
            )
    return study


def restore_results(folder: Path, data: Path, results: Path) -> Bundled:
    """Write a bundle as results of a study, from which its page can be made.

    The translations are scored again; significance tests and figures are those of the bundle.

    Args:
        folder: The folder of the bundle.
        data: The folder of the datasets, 'results/data', with the raw references.
        results: An empty folder.

    Raises:
        WordorderError: The bundle is damaged or incomplete, or the references are not those of the bundle.
    """
    study = _restore(folder, data, results)
    unpack_data(folder, results)
    _score(study, results, data)
    return study


def reference_texts(folder: Path, data: Path, *, sources: bool = False) -> list[Path]:
    """List the raw references that :func:`verify_reference` reads.

    Args:
        folder: The folder of the bundle.
        data: The folder of the datasets, 'results/data'.
        sources: Whether to list the raw sources, too, which a page shows.

    Returns:
        The files, which need not exist.
    """
    sides: tuple[Literal["source", "target"], ...] = ("source", "target") if sources else ("target",)
    names = (each.split("/") for each in read_study(folder).references)
    return [raw(data, dataset, test, side) for dataset, test in names for side in sides]


def _references(data: Path, names: str) -> Path:
    """Return the raw references of ``DATASET/TEST``."""
    dataset, test = names.split("/")
    return raw(data, dataset, test, "target")


def verify_reference(folder: Path, data: Path, scratch: Path) -> Verified:
    """Verify the tables of a bundle against its translations.

    The translations are scored again, the significance tests are repeated, and the resulting tables are compared with
    the committed ones. So are the tables that the committed significance tests give, from which pages are made.

    Args:
        folder: The folder of the bundle.
        data: The folder of the datasets, 'results/data', with the raw references.
        scratch: An empty folder for intermediate files.

    Returns:
        The differences, and the metrics that could not be verified.

    Raises:
        WordorderError: The bundle is damaged or incomplete, or the references differ from those of the bundle.
    """
    study = _restore(folder, data, scratch)
    for path in _other_tables(folder, study):
        raise WordorderError(
            f"{path} is not among the tables of {folder / STUDY}, so nothing verifies it. Delete it, or get the bundle "
            "again.",
            code="damaged-bundle",
            path=path,
            expected=study.tables,
        )
    cells = _score(study, scratch, data)
    _test(study, scratch, data)
    not_verified = systems_metrics(study.report)
    differences = [
        difference
        for name in study.tables
        for difference in _compare(folder / "tables" / name, name, study, scratch, not_verified)
    ]
    unpack_data(folder, scratch / "held")
    differences = differences or list(_compare_tests(study, scratch / "held", scratch, not_verified))
    return Verified(cells, differences, not_verified)


def _score(study: Bundled, results: Path, data: Path) -> int:
    tests = study.report.tests
    jobs = [(cell, own, test) for cell, own in cell_folders(study.report, results) for test in tests[cell["dataset"]]]
    for cell, files, test in track(jobs, "scores", total=len(jobs), unit="translations"):
        family = study.families[cell["dataset"]]
        references = raw(data, cell["dataset"], test, "target")
        metrics = text_metrics(family.metrics)
        scores = score_files(files.hypotheses(test), references, metrics, family.target_language)
        write_json(files.scores(test), scores)
    return len(jobs)


def _test(study: Bundled, results: Path, data: Path) -> None:
    report = study.report
    for dataset, size, test in report.compared:
        family = study.families[dataset].among(report.encodings_of(size))
        path = significance_path(results, dataset, size, test)
        looks = read_looks(looks_file(path))
        tested = compare_in_study(family, report, results, data, dataset=dataset, size=size, test=test, earlier=looks)
        write_json(path, tested)


def _compare_tests(study: Bundled, held: Path, results: Path, not_verified: Sequence[str]) -> Iterator[Difference]:
    """Yield the differences of the committed significance tests, value by value, except by metrics not verified."""
    for dataset, size, test in study.report.compared:
        committed, found = (
            dict(_leaves(read_json(significance_path(folder, dataset, size, test)))) for folder in (held, results)
        )
        skipped = ("/not_scored/", *(f"/metrics/{metric}/" for metric in not_verified))
        for name in {**committed, **found}:
            pair = committed.get(name), found.get(name)
            if not name.startswith(skipped) and not _same(*pair):
                yield Difference(f"{DATA}, {significance_path(Path(), dataset, size, test)}", None, name, *pair)


def _leaves(value: object, name: str = "") -> Iterator[tuple[str, str]]:
    """Yield the values of a document with their names, such as '/metrics/bleu/family/level/alpha'."""
    if isinstance(value, dict | list):
        for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
            yield from _leaves(inner, f"{name}/{key}")
    else:
        yield name, str(value)


def _compare(
    prefix: Path, name: str, study: Bundled, results: Path, not_verified: Sequence[str]
) -> Iterator[Difference]:
    """Yield the differences of a committed table: those of its CSV file, and of the grids in its Markdown file."""
    table = _build(name, study, results)
    old, new = _rows(_text(prefix.with_suffix(".csv")), not_verified), _rows(table.csv, not_verified)
    no_row: dict[str, str] = {}
    for number, (committed, found) in enumerate(zip_longest(old, new, fillvalue=no_row), start=1):
        for column in {**committed, **found}:
            pair = committed.get(column), found.get(column)
            if not _same(*pair):
                yield Difference(f"{name}.csv", number, column, *pair)
    grids = _grids(_text(prefix.with_suffix(".md"))), _grids(to_markdown(table))
    for number, (line, wanted) in enumerate(zip_longest(*grids), start=1):
        if line != wanted:
            yield Difference(f"{name}.md", number, "line", line, wanted)


def _text(path: Path) -> str:
    if not path.is_file():
        raise WordorderError(
            f"{path} does not exist, so the bundle is incomplete. Restore the file, or write the bundle again with "
            "'wordorder stage write-reference'.",
            code="incomplete-bundle",
            path=path,
        )
    return read_text(path)


def _rows(text: str, not_verified: Sequence[str]) -> list[dict[str, str]]:
    rows = csv.DictReader(io.StringIO(text), restkey="beyond the last column")
    return [
        {column: ",".join(text) if isinstance(text, list) else text for column, text in row.items()}
        for row in rows
        if row.get("metric") not in not_verified
    ]


def _grids(text: str) -> list[str]:
    return [line for line in text.split("\n") if line.startswith("|")]


def _same(committed: str | None, found: str | None) -> bool:
    if committed == found:
        return True
    try:
        return math.isclose(float(committed or "x"), float(found or "x"), rel_tol=_TOLERANCE, abs_tol=_TOLERANCE)
    except ValueError:
        return False
