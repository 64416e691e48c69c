"""Tests of wordorder.results.bundle: reading returns what was written, and nothing else."""

from __future__ import annotations

import io
import json
import lzma
import shutil
import tarfile
from pathlib import Path

import pytest

from bundle_files import change_records
from evaluation_samples import family, report, write_finished_study
from raises import raises
from wordorder.errors import WordorderError
from wordorder.files import read_json, write_json, write_text
from wordorder.results.bundle import (
    DATA,
    RECORDS,
    STUDY,
    TRANSLATIONS,
    Bundled,
    _read_archive,
    _write_archive,
    pack,
    read_addresses,
    read_study,
    unpack,
)
from wordorder.results.frames import cell_folders, load_records
from wordorder.results.index import read_index, write_index

ASKED = report(["null", "learned"], [1, 2])


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("study")
    write_finished_study(folder, ASKED, {"null": 0.4, "learned": 0.1}, diverged=("learned", 2))
    return folder


@pytest.fixture
def results(written: Path, tmp_path: Path) -> Path:
    """Return a copy that a test may change."""
    return shutil.copytree(written, tmp_path / "small")


def packed(folder: Path, results: Path) -> Path:
    families = {"pair": family(["null", "learned"], [1, 2])}
    pack(folder, results, Bundled(report=ASKED, families=families, tables=["scores"]))
    return folder


def test_translations_and_records_come_back(results: Path, tmp_path: Path) -> None:
    line = "a line with\u2028a separator, a\rreturn and \t a tab"
    odd = read_index(results).cell("pair", "tiny", "null", 1)
    lines = odd.hypotheses("test_1").read_bytes().decode().split("\n")
    odd.hypotheses("test_1").write_bytes("\n".join([line, *lines[1:]]).encode())
    with pytest.raises(WordorderError) as raised:
        packed(tmp_path / "bundle", results)
    assert raised.value.code == "changed-file", "scores of other translations"
    odd.hypotheses("test_1").write_bytes("\n".join(lines).encode())
    unpack(packed(tmp_path / "bundle", results), tmp_path / "again")
    for (_, own), (_, again) in zip(cell_folders(ASKED, results), cell_folders(ASKED, tmp_path / "again"), strict=True):
        for test in ("test_1", "test_2"):
            assert again.hypotheses(test).read_bytes() == own.hypotheses(test).read_bytes()
            assert not again.scores(test).exists(), "scores are to be computed"
    assert load_records(ASKED, tmp_path / "again").equals(load_records(ASKED, results))


def test_addresses_losses_and_measures_come_back(results: Path, tmp_path: Path) -> None:
    cells = {names: f"cells/pair/{names[2]}/tiny/{names[3]}" for names in read_index(results).cells}
    write_index(results, cells, {"": "."}, {"pair": "."}, {"pair/probes": "probes-1a.json"})
    losses, measured = '{"update": 10, "loss": 2.5}\n{"update": 20, "loss": NaN}\n', {"sets": {"test_1": [0.25, 1]}}
    own = read_index(results).cell("pair", "tiny", "null", 2)
    write_text(own.metrics, losses)
    write_json(own.measure("probes"), measured)
    bundle = packed(tmp_path / "bundle", results)
    assert (read_study(bundle).decodings, read_study(bundle).measures) == ({"": "."}, {"pair/probes": "probes-1a.json"})
    assert read_addresses(bundle) == cells
    unpack(bundle, tmp_path / "again")
    again = read_index(tmp_path / "again").cell("pair", "tiny", "null", 2)
    assert again.metrics.read_text() == losses and read_json(again.measure("probes")) == measured


def test_several_decodings_come_back(results: Path, tmp_path: Path) -> None:
    asked = report(["null", "learned"], [1, 2], tests=("test_1@ours", "test_1@paper"))
    for _, own in cell_folders(ASKED, results):
        for name in ("ours", "paper"):
            (own.folder / name).mkdir()
            for end in ("hypotheses", "scores.json"):
                shutil.copy(own.folder / f"test_1.{end}", own.folder / name)
    cells = {names: f"cells/pair/{names[2]}/tiny/{names[3]}" for names in read_index(results).cells}
    write_index(results, cells, {"ours": "ours", "paper": "paper"}, {"pair": "."}, {})
    families = {"pair": family(["null", "learned"], [1, 2])}
    pack(tmp_path / "bundle", results, Bundled(report=asked, families=families, tables=[]))
    unpack(tmp_path / "bundle", tmp_path / "again")
    for (_, own), (_, again) in zip(cell_folders(asked, results), cell_folders(asked, tmp_path / "again"), strict=True):
        for test in asked.datasets[0].tests:
            assert again.hypotheses(test).read_bytes() == own.hypotheses(test).read_bytes()


def test_a_size_with_some_of_the_encodings_comes_back(results: Path, tmp_path: Path) -> None:
    asked = ASKED.model_copy(update={"sizes": ["tiny", "small"], "only": {"small": ["null"]}})
    cells = {names: f"cells/pair/{names[2]}/tiny/{names[3]}" for names in read_index(results).cells}
    for seed in (1, 2):
        shutil.copytree(results / f"cells/pair/null/tiny/{seed}", results / f"cells/pair/null/small/{seed}")
        cells["pair", "small", "null", seed] = f"cells/pair/null/small/{seed}"
    write_index(results, cells, {"": "."}, {"pair": "."}, {})
    pack(tmp_path / "bundle", results, Bundled(report=asked, families={}, tables=[]))
    unpack(tmp_path / "bundle", tmp_path / "again")
    found = [(cell["size"], cell["encoding"], cell["seed"]) for cell, _ in cell_folders(asked, tmp_path / "again")]
    both = [("tiny", name, seed) for name in ("null", "learned") for seed in (1, 2)]
    assert found == [*both, ("small", "null", 1), ("small", "null", 2)]
    assert load_records(asked, tmp_path / "again").equals(load_records(asked, results))


def test_the_same_study_gives_the_same_bytes(results: Path, tmp_path: Path) -> None:
    first = packed(tmp_path / "first", results)
    again = packed(tmp_path / "second", Path(shutil.copytree(results, tmp_path / "moved")))
    files = sorted(path.name for path in first.iterdir())
    assert files == ["data.tar.xz", "records.jsonl.xz", "study.json", "translations.tar.xz"]
    assert [(first / name).read_bytes() for name in files] == [(again / name).read_bytes() for name in files]


def member(name: str, kind: bytes = tarfile.REGTYPE) -> tarfile.TarInfo:
    entry = tarfile.TarInfo(name)
    entry.type, entry.linkname = kind, "/etc/passwd"
    return entry


@pytest.mark.parametrize(
    "entry",
    [member("../outside"), member("/absolute"), member("pair/link", tarfile.SYMTYPE), member("."), member("")],
    ids=lambda e: e.name,
)
def test_an_archive_that_leaves_its_folder_is_refused(results: Path, tmp_path: Path, entry: tarfile.TarInfo) -> None:
    bundle = packed(tmp_path / "bundle", results)
    with tarfile.open(bundle / TRANSLATIONS, "w:xz") as archive:
        archive.addfile(entry, io.BytesIO())
    with pytest.raises(WordorderError) as raised:
        unpack(bundle, tmp_path / "again")
    assert (raised.value.code, raised.value.key) == ("unsafe-archive", entry.name or ".")


def test_a_sparse_file_is_refused_whatever_its_size(results: Path, tmp_path: Path) -> None:
    bundle = packed(tmp_path / "bundle", results)
    entry = tarfile.TarInfo("pair/sparse")
    entry.pax_headers = {"GNU.sparse.major": "0", "GNU.sparse.size": str(1 << 40), "GNU.sparse.map": "0,0"}
    with tarfile.open(bundle / TRANSLATIONS, "w:xz", format=tarfile.PAX_FORMAT) as archive:
        archive.addfile(entry, io.BytesIO())
    with raises("unsafe-archive", key="pair/sparse"):
        unpack(bundle, tmp_path / "again")


def test_an_archive_that_is_too_large_is_refused(
    results: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bundle = packed(tmp_path / "bundle", results)
    monkeypatch.setattr("wordorder.results.bundle._LARGEST", 1000)
    with pytest.raises(WordorderError) as raised:
        unpack(bundle, tmp_path / "again")
    assert raised.value.code == "unsafe-archive"


def test_an_archive_that_nobody_could_read_is_not_written(
    results: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("wordorder.results.bundle._LARGEST", 1000)
    with pytest.raises(WordorderError) as raised:
        packed(tmp_path / "bundle", results)
    assert (raised.value.code, raised.value.expected) == ("too-large", 1000)


def drop_a_system(bundle: Path) -> None:
    change_records(bundle, lambda lines: lines[:-1])


def drop_lines(bundle: Path) -> None:
    change_records(bundle, lambda lines: ["".join(lines).replace('"test_1":26', '"test_1":25', 1)])


def truncate(bundle: Path) -> None:
    path = bundle / TRANSLATIONS
    path.write_bytes(path.read_bytes()[:-40])


def name_a_measure(bundle: Path, name: str) -> None:
    """Measures and test sets are names of files, which must not be elsewhere."""
    change_records(
        bundle, lambda lines: [line.replace('"measures":{', f'"measures":{{"{name}":{{}},') for line in lines]
    )


def rename_test(bundle: Path, name: str) -> None:
    study = bundle / STUDY
    study.write_text(study.read_text().replace('"test_1"', f'"{name}"'))


def change_study(bundle: Path, **values: object) -> None:
    study = bundle / STUDY
    study.write_text(json.dumps(json.loads(study.read_text()) | values))


def add_a_reference(bundle: Path) -> None:
    study = json.loads((bundle / STUDY).read_text())
    change_study(bundle, references=study["references"] | {"nope": "0"})


def add_an_index(bundle: Path) -> None:
    _write_archive(bundle / DATA, _read_archive(bundle / DATA) | {"models.json": b"{}"})


def add_bytes_that_are_no_text(bundle: Path) -> None:
    _write_archive(bundle / DATA, _read_archive(bundle / DATA) | {"scores/x.json": b"\xff"})


def replace_in_records(bundle: Path, old: str, new: str) -> None:
    def replaced(lines: list[str]) -> list[str]:
        assert any(old in line for line in lines)
        return [line.replace(old, new) for line in lines]

    change_records(bundle, replaced)


@pytest.mark.parametrize(
    ("damage", "code", "name"),
    [
        (drop_a_system, "incomplete-bundle", RECORDS),
        (drop_lines, "damaged-bundle", TRANSLATIONS),
        (truncate, "damaged-bundle", TRANSLATIONS),
        (lambda bundle: change_records(bundle, lambda _: ["{}\n"]), "damaged-bundle", RECORDS),
        (lambda bundle: (bundle / RECORDS).write_text("{}\n"), "damaged-bundle", RECORDS),
        (lambda bundle: replace_in_records(bundle, '"record":', '"recall":'), "damaged-bundle", RECORDS),
        (lambda bundle: replace_in_records(bundle, '"measures":{', '"measures":3,"x":{'), "damaged-bundle", RECORDS),
        (lambda bundle: replace_in_records(bundle, '"test_1":26', '"test_1":"26"'), "damaged-bundle", RECORDS),
        (lambda bundle: replace_in_records(bundle, '"test_1":26', '"test_3":26'), "incomplete-bundle", RECORDS),
        (lambda bundle: change_study(bundle, families={"pair": 3}), "damaged-bundle", STUDY),
        (lambda bundle: change_study(bundle, references={}), "incomplete-bundle", STUDY),
        (add_a_reference, "damaged-bundle", STUDY),
        (
            lambda bundle: replace_in_records(bundle, '"metrics":[', '"metrics":5,"x":['),
            "damaged-bundle",
            RECORDS,
        ),
        (lambda bundle: replace_in_records(bundle, '"model":"', '"model":"a/'), "damaged-bundle", RECORDS),
        (add_bytes_that_are_no_text, "damaged-bundle", DATA),
        (add_an_index, "damaged-bundle", DATA),
        (lambda bundle: name_a_measure(bundle, "../evil"), "damaged-bundle", RECORDS),
        (lambda bundle: rename_test(bundle, "test_1@/tmp/evil"), "damaged-bundle", STUDY),
    ],
)
def test_a_damaged_bundle_is_an_error(results: Path, tmp_path: Path, damage, code: str, name: str) -> None:  # type: ignore[no-untyped-def]
    bundle = packed(tmp_path / "bundle", results)
    damage(bundle)
    with pytest.raises(WordorderError) as raised:
        unpack(bundle, tmp_path / "again")
    assert (raised.value.code, raised.value.path) == (code, bundle / name)


def test_a_bundle_does_not_name_the_machine(results: Path, tmp_path: Path) -> None:
    """Bundles are published."""
    for _, files in cell_folders(ASKED, results):
        hardware = {"host": "node17.private", "processor": "A CPU", "gpus": []}
        write_json(files.record, read_json(files.record) | {"hardware": hardware})
    held = lzma.decompress((packed(tmp_path / "bundle", results) / RECORDS).read_bytes())
    assert b'"processor":"A CPU"' in held and b"node17" not in held


def test_a_cell_has_the_measures_of_its_dataset(tmp_path: Path) -> None:
    cells = {(name, "tiny", "null", 1): f"cells/{name}" for name in ("pair", "other")}
    measures = {"pair/probes": "probes-1a.json", "other/probes": "probes-2b.json", "other/position": "position.json"}
    write_index(tmp_path, cells, {"": "."}, {"pair": ".", "other": "."}, measures)
    index = read_index(tmp_path)
    assert index.cell("pair", "tiny", "null", 1).measures == {"probes": "probes-1a.json"}
    assert index.cell("other", "tiny", "null", 1).measures["probes"] == "probes-2b.json"
