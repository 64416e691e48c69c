"""A finished study in a few small files, from which its tables can be made and checked again.

A bundle is a folder:

    README.md             the run in ten lines, which a person completes
    study.json            what the tables show, the comparisons, and the checksums of the references
    records.jsonl.xz      one line per cell: its names, the address of its model, its training record, the losses and
                          perplexities during training, and what analyses measured with the model
    translations.tar.xz   the translations of all cells
    data.tar.xz           significance tests, scores by metrics with environments of their own, data of figures
    tables/  figures/  analyses/
    extensions/           the files of extensions outside of the package, as a folder of plug-ins

In ``translations.tar.xz`` each member ``DATASET/SIZE/TEST`` holds the translations by all cells, which compress well
because translations of the same sentence follow each other: line by line, those of all cells in the order of
``records.jsonl.xz``.
Archives do not contain times, owners or permissions, so the same study always gives the same bytes.
"""

from __future__ import annotations

import io
import json
import lzma
import re
import tarfile
from collections.abc import Iterable, Mapping, Sequence
from itertools import product
from pathlib import Path, PurePosixPath
from typing import Any

from pydantic import Field, ValidationError

from wordorder.config.base import NAME, Model, Name
from wordorder.config.models import Family, Report
from wordorder.config.pages import Controls
from wordorder.config.published_scores import PublishedInStudy
from wordorder.errors import WordorderError
from wordorder.files import atomic, read_bytes, read_object, read_text, sha256, write_json, write_text
from wordorder.results.frames import cell_folders
from wordorder.results.index import read_index, text_of, write_index

STUDY, RECORDS, TRANSLATIONS, DATA = "study.json", "records.jsonl.xz", "translations.tar.xz", "data.tar.xz"
# The key of an imported training record that names the study of the bundle.
ORIGIN = "imported_from"
_NAMES = ("dataset", "size", "encoding", "seed")
# Keys of a training record that depend on the machine's name or on a job's resources.
_DROPPED = ("efficiency", "hardware", "peak_memory", "restarts", "finished")
_LARGEST = 1 << 28  # bytes of an archive's contents
_FOLDERS = frozenset({"significance", "scores", "figures", "analyses"})  # those of the members of DATA
_LINE = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))


class Bundled(Model):
    """The content of ``study.json``.

    Attributes:
        report: What the tables show.
        published: The papers' scores that the study shows.
        controls: The controls of the study, if it has any.
        families: The comparisons of each dataset.
        tables: The tables of the study.
        references: The SHA-256 of the references of each test set, ``DATASET/TEST``.
        decodings: The folder name of each decoding, which ends in its digest; empty in bundles of earlier versions.
        measures: The file of each measure, ``DATASET/ANALYSIS``, whose name ends in its digest.
    """

    report: Report
    published: list[PublishedInStudy] = Field(default=[])
    controls: Controls | None = None
    families: dict[Name, Family]
    tables: list[Name]
    references: dict[str, str] = Field(default={})
    decodings: dict[str, str] = Field(default={})
    measures: dict[str, str] = Field(default={})


def pack(folder: Path, results: Path, study: Bundled, pictures: Sequence[str] = ()) -> None:
    """Write the records, translations and data of a finished study.

    Args:
        folder: The folder of the bundle.
        results: The folder of the study's results.
        study: The study; the references, decodings and measures are found.
        pictures: The figures and analyses whose data are packed, such as 'figures/scores'.

    Raises:
        WordorderError: A cell has no record, translations or scores.
    """
    records, references = [], {}
    decodings: dict[str, str] = {}
    labels: dict[str, str] = {}
    lines: dict[str, list[list[str]]] = {}
    for cell, files in cell_folders(study.report, results):
        decodings |= files.decodings
        labels |= {f"{cell['dataset']}/{name}": file for name, file in files.measures.items()}
        measures = {name: read_object(files.measure(name)) for name in files.measures if files.measure(name).is_file()}
        record = _reduced(read_object(files.record, "status"))
        counts = {}
        for test in study.report.tests[cell["dataset"]]:
            scored = read_object(files.scores(test), "references.sha256", "hypotheses.sha256")
            path = files.hypotheses(test)
            if sha256(path) != scored["hypotheses"]["sha256"]:
                raise WordorderError(
                    f"{files.scores(test)} does not belong to {path}. Score the translations again.",
                    code="changed-file",
                    path=path,
                )
            references[f"{cell['dataset']}/{text_of(test)}"] = scored["references"]["sha256"]
            # Only \n ends a line, and the last line may lack it.
            own = read_text(path).split("\n")
            lines.setdefault(f"{cell['dataset']}/{cell['size']}/{test}", []).append(own)
            counts[test] = len(own)
        written = {"lines": counts, "record": record, "measures": measures, "metrics": _rows(files.metrics)}
        records.append({**cell, "model": "/".join(files.folder.parts[-5:]), **written})
    found = {"references": references, "decodings": decodings, "measures": labels}
    study = study.model_copy(update=found)
    # Bundles have no checksum files, because Git has its own checksums.
    write_text(folder / STUDY, study.model_dump_json(indent=1) + "\n", checksum="none")
    _compress(folder / RECORDS, "".join(_LINE.encode(each) + "\n" for each in records).encode())
    _write_archive(folder / TRANSLATIONS, {name: _interleaved(own) for name, own in lines.items()})
    data = [*_tests_and_scores(results), *(results / f"{name}.csv" for name in pictures)]
    kept = {file.relative_to(results).as_posix(): read_bytes(file) for file in data}
    _write_archive(folder / DATA, kept)


def repack(folder: Path, results: Path, study: Bundled) -> None:
    """Write what a bundle says about its translations again.

    Args:
        folder: The folder of the bundle.
        results: A folder with new significance tests and data of figures; other data of the bundle stay.
        study: The new content of ``study.json``.
    """
    write_text(folder / STUDY, study.model_dump_json(indent=1) + "\n", checksum="none")
    files = [*_tests_and_scores(results), *results.glob("figures/*.csv"), *results.glob("analyses/*.csv")]
    new = {file.relative_to(results).as_posix(): read_bytes(file) for file in files}
    old = {name: own for name, own in _read_data(folder).items() if not name.startswith("significance/")}
    _write_archive(folder / DATA, old | new)


def _tests_and_scores(results: Path) -> list[Path]:
    return [*results.glob("significance/[!.]*"), *results.glob("scores/*/*.json")]


def _rows(metrics: Path) -> list[Any]:
    return [json.loads(line) for line in read_text(metrics).splitlines()] if metrics.is_file() else []


def _reduced(record: dict[str, Any]) -> dict[str, Any]:
    used = record.get("efficiency", {}).get("used", {})
    memory = {name: used.get(name) for name in ("memory_bytes", "gpu_memory_bytes")}
    hardware = {name: value for name, value in record.get("hardware", {}).items() if name != "host"}
    kept = {name: value for name, value in record.items() if name not in _DROPPED}
    return kept | {"hardware": hardware, "efficiency": {"used": memory}}


def _interleaved(texts: Sequence[list[str]]) -> bytes:
    most = max(map(len, texts))
    return "\n".join(text[i] for i in range(most) for text in texts if i < len(text)).encode()


def _separated(content: bytes, counts: Sequence[int], path: Path, member: str) -> list[bytes]:
    """Undo :func:`_interleaved` for texts with these numbers of lines."""
    lines = content.split(b"\n")
    if len(lines) != sum(counts):
        raise WordorderError(
            f"{path} holds {len(lines)} lines in '{member}', but by {RECORDS} there are {sum(counts)}. "
            "The bundle was changed.",
            code="damaged-bundle",
            path=path,
            key=member,
            found=len(lines),
            expected=sum(counts),
        )
    texts: list[list[bytes]] = [[] for _ in counts]
    following = iter(lines)
    for i in range(max(counts)):
        for text, count in zip(texts, counts, strict=True):
            if i < count:
                text.append(next(following))
    return [b"\n".join(text) for text in texts]


def _write_archive(path: Path, members: Mapping[str, bytes]) -> None:
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for name in sorted(members):
            entry = tarfile.TarInfo(name)
            entry.size = len(members[name])
            archive.addfile(entry, io.BytesIO(members[name]))
    _compress(path, file.getvalue())


def _compress(path: Path, content: bytes) -> None:
    """Write a compressed file of a bundle.

    Raises:
        WordorderError: :func:`_decompress` would refuse the content.
    """
    if len(content) > _LARGEST:
        raise WordorderError(
            f"{path} cannot be written: it would hold {len(content):,} bytes, and a bundle is read only if each of its "
            f"archives holds at most {_LARGEST:,}. Write bundles of studies with fewer cells or test sets.",
            code="too-large",
            path=path,
            found=len(content),
            expected=_LARGEST,
        )
    with atomic(path, checksum="none") as temporary:
        temporary.write_bytes(lzma.compress(content, preset=9 | lzma.PRESET_EXTREME))


def _decompress(path: Path) -> bytes:
    """Return the content of a compressed file of a bundle.

    Raises:
        WordorderError: The file is damaged or its content too large.
    """
    decompressor = lzma.LZMADecompressor(lzma.FORMAT_XZ)
    try:
        content = decompressor.decompress(read_bytes(path), _LARGEST)
        if not decompressor.eof and len(content) < _LARGEST:
            raise EOFError("it ends too early")
    except (OSError, EOFError, lzma.LZMAError) as error:
        raise _damaged(path, error) from error
    if not decompressor.eof:
        raise _unsafe(path, "")
    return content


def _read_archive(path: Path) -> dict[str, bytes]:
    """Return the members of an archive; nothing is unpacked to the disk.

    Raises:
        WordorderError: The archive is missing, damaged or too large, or holds anything but files below its folder.
    """
    try:
        with tarfile.open(fileobj=io.BytesIO(_decompress(path)), mode="r:") as archive:
            members = {}
            for entry in archive:
                # A sparse file of any size takes no space in an archive.
                file = archive.extractfile(entry) if entry.isreg() and not entry.issparse() else None
                where = PurePosixPath(entry.name)
                if file is None or where.is_absolute() or not where.parts or ".." in where.parts:
                    raise _unsafe(path, entry.name or ".")
                members[entry.name] = file.read()
            return members
    except (OSError, tarfile.TarError) as error:
        raise _damaged(path, error) from error


def _read_data(folder: Path) -> dict[str, bytes]:
    """Return the members of the archive of data, which may replace nothing else of a study's results."""
    members = _read_archive(folder / DATA)
    for name in members:
        if PurePosixPath(name).parts[0] not in _FOLDERS:
            raise _damaged(folder / DATA, f"it holds '{name}', which is not in one of {', '.join(sorted(_FOLDERS))}")
    return members


def _decoded(path: Path, content: bytes) -> str:
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        raise _damaged(path, error) from error


def _damaged(path: Path, error: Exception | str) -> WordorderError:
    return WordorderError(f"{path} cannot be read: {error}. Get the bundle again.", code="damaged-bundle", path=path)


def _unsafe(path: Path, member: str) -> WordorderError:
    what = f"'{member}', which is not an ordinary file below its folder" if member else f"more than {_LARGEST} bytes"
    return WordorderError(
        f"{path} holds {what}. It is not read. Get the bundle again.", code="unsafe-archive", path=path, key=member
    )


def _check_names(path: Path, names: Iterable[str]) -> None:
    """Check that names are no paths, because files are named after them."""
    for name in names:
        if not re.fullmatch(NAME, name):
            raise WordorderError(
                f"{path} holds the name '{name}', after which a file cannot be named. Get the bundle again.",
                code="damaged-bundle",
                path=path,
                found=name,
            )


def read_study(folder: Path) -> Bundled:
    """Read ``study.json`` of a bundle.

    Raises:
        WordorderError: The folder is not a bundle, or the file is damaged.
    """
    path = folder / STUDY
    if not path.is_file():
        raise WordorderError(
            f"{folder} is not the folder of a bundle, because it has no file {STUDY}. Name a folder of "
            "results/reference, or one that 'wordorder stage write-reference' wrote.",
            code="missing-file",
            path=path,
        )
    try:
        study = Bundled.model_validate(read_object(path, "report", "families", "tables", "references"))
    except ValidationError as error:
        problem = error.errors()[0]
        key = ".".join(map(str, problem["loc"]))
        raise WordorderError(
            f"{path} does not describe a study: '{key}' is not valid ({problem['msg']}). Get the bundle again.",
            code="damaged-bundle",
            path=path,
            key=key,
        ) from error
    tests = study.report.tests
    expected = dict.fromkeys(f"{dataset}/{text_of(test)}" for dataset in tests for test in tests[dataset])
    _demand(path, expected, study.references)
    if others := [name for name in study.references if name not in expected]:
        raise _damaged(path, f"it names references of '{others[0]}', which the study does not have")
    _check_names(path, [*tests, *study.report.sizes, *study.report.encodings])
    _check_names(path, [part for named in tests.values() for test in named for part in test.split("@", 1)])
    return study


def unpack(folder: Path, results: Path) -> Bundled:
    """Write the records, translations and data of a bundle as results of a study, without scores and tests.

    Args:
        folder: The folder of the bundle.
        results: The folder to write, as an index describes it; significance tests and scores that the bundle holds are
            not taken over, except those by metrics with environments of their own; the seeds of earlier looks are.

    Raises:
        WordorderError: The bundle is damaged or incomplete.
    """
    study = read_study(folder)
    report = study.report
    records = _read_records(folder / RECORDS)
    archive = _read_archive(folder / TRANSLATIONS)
    tests = report.tests
    cells = [
        names
        for names in product(tests, report.sizes, report.encodings, report.seeds)
        if names[2] in report.encodings_of(names[1])
    ]
    _demand(folder / RECORDS, cells, records)
    _check_names(folder / RECORDS, [measure for names in cells for measure in records[names]["measures"]])
    decodings = {test.partition("@")[2] for named in tests.values() for test in named}
    folders = {names: "cells/" + "/".join(map(str, names)) for names in cells}
    write_index(results, folders, {name: name or "." for name in decodings}, dict.fromkeys(tests, "scores"), {})
    index = read_index(results)
    for names in cells:
        write_json(index.cell(*names).record, records[names]["record"])
        if rows := records[names].get("metrics"):
            write_text(index.cell(*names).metrics, "".join(json.dumps(row) + "\n" for row in rows))
        for measure, content in records[names]["measures"].items():
            write_json(index.cell(*names).measure(measure), content)
    for dataset, size in product(tests, report.sizes):
        group = [names for names in cells if names[:2] == (dataset, size)]
        for test in tests[dataset]:
            member = f"{dataset}/{size}/{test}"
            _demand(folder / TRANSLATIONS, [member], archive)
            for names in group:
                _demand(folder / RECORDS, [test], records[names]["lines"])
            counts = [records[names]["lines"][test] for names in group]
            texts = _separated(archive[member], counts, folder / TRANSLATIONS, member)
            for names, text in zip(group, texts, strict=True):
                with atomic(index.cell(*names).hypotheses(test)) as temporary:
                    temporary.write_bytes(text)
    for name, content in _read_data(folder).items():
        if name.startswith("scores/") or name.endswith(".looks"):
            write_text(results / name, _decoded(folder / DATA, content))
    return study


def read_addresses(folder: Path) -> dict[tuple[str, str, str, int], str]:
    """Read the addresses of the models of a bundle.

    Args:
        folder: The folder of the bundle.

    Returns:
        ``DATASET/ENCODING/SIZE/DIGEST/SEED`` by (dataset, size, encoding, seed); empty if the bundle is of an earlier
        version, which did not write them.

    Raises:
        WordorderError: The bundle is damaged.
    """
    return {names: line["model"] for names, line in _read_records(folder / RECORDS).items() if "model" in line}


def read_training_records(folder: Path) -> dict[tuple[str, str, str, int], dict[str, Any]]:
    """Read the training records of a bundle.

    Args:
        folder: The folder of the bundle.

    Returns:
        The content of ``record.json`` by (dataset, size, encoding, seed).

    Raises:
        WordorderError: The bundle is damaged.
    """
    return {names: line["record"] for names, line in _read_records(folder / RECORDS).items()}


def unpack_data(folder: Path, results: Path) -> None:
    """Write the significance tests, other scores, and figures of a bundle as those of a study.

    Args:
        folder: The folder of the bundle.
        results: The folder to write, into which :func:`unpack` has written.

    Raises:
        WordorderError: The bundle is damaged or incomplete.
    """
    for name, content in _read_data(folder).items():
        write_text(results / name, _decoded(folder / DATA, content))
    for drawing in [*folder.glob("figures/*.svg"), *folder.glob("analyses/*.svg")]:
        write_text(results / drawing.relative_to(folder), read_text(drawing))


def _read_records(path: Path) -> dict[tuple[Any, ...], dict[str, Any]]:
    try:
        lines = [json.loads(line) for line in _decompress(path).decode().split("\n")[:-1]]
        for line in lines:
            for key in ("lines", "record", "measures"):
                if not isinstance(line[key], dict):
                    raise TypeError(f"'{key}' of a cell is not an object")
            if not all(isinstance(number, int) and number > 0 for number in line["lines"].values()):
                raise TypeError("'lines' of a cell are not numbers of lines")
            if not isinstance(line.get("metrics", []), list):
                raise TypeError("'metrics' of a cell is not a list")
            if str(line.get("model", "////")).count("/") != 4:
                raise TypeError("'model' of a cell is not DATASET/ENCODING/SIZE/DIGEST/SEED")
        return {tuple(line[key] for key in _NAMES): line for line in lines}
    except (ValueError, KeyError, TypeError) as error:
        raise WordorderError(
            f"{path} does not hold the records of a bundle: {error}.", code="damaged-bundle", path=path
        ) from error


def _demand(path: Path, names: Iterable[Any], found: Mapping[Any, Any]) -> None:
    for name in names:
        if name not in found:
            raise WordorderError(
                f"{path} lacks {name}, which the tables of the study show. The bundle is incomplete.",
                code="incomplete-bundle",
                path=path,
                key=str(name),
            )
