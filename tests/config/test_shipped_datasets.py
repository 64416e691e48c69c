"""Test that files of shipped datasets can be read as described, and that their slices match finished studies."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from corpus_files import own_pairs, write_downloads
from raises import raises
from small_config import replace, write_config
from snakemake_runs import dry_run, job_counts, outputs, snakemake
from wordorder.config.datasets import Choice, Dataset, Download, Words
from wordorder.config.load import dataset_names, load_dataset, load_published_scores
from wordorder.data.download import download
from wordorder.data.importing import import_parts
from wordorder.data.overlap import HeldOut
from wordorder.data.pairs import compare_pairs, describe_pairs
from wordorder.data.text import read_pairs
from wordorder.workflow.dataset_slices import (
    downloads,
    parts,
    preprocessing_slice,
    published_slice,
    shared_download,
)

ROOT = Path(__file__).parents[2] / "config"
DOWNLOADED = [name for name in dataset_names(ROOT) if not load_dataset(name, ROOT).generator]
WHOLE = [name for name in DOWNLOADED if not name.startswith(("mini_", "multi30k"))]


# --------------------------------------------------------------------------------------- reading what is described


@pytest.mark.parametrize("name", DOWNLOADED)
def test_every_part_can_be_read_as_it_is_described(name: str, tmp_path: Path) -> None:
    dataset = load_dataset(name, ROOT)
    chooses = any(part.choose for split in ("train", *dataset.test_names) for part in parts(dataset, split))
    pairs = own_pairs(dataset, 1200 if chooses else 120)  # of which some splits take a hundredth
    written = write_downloads(dataset, tmp_path / "downloads", pairs)
    assert {path.name for path in (tmp_path / "downloads").iterdir()} == set(dataset.downloads)  # each file is used
    for split, pairs in written.items():
        described = parts(dataset, split)
        import_parts(described, tmp_path / "downloads", tmp_path / "s", tmp_path / "t")
        found = list(read_pairs(tmp_path / "s", tmp_path / "t"))
        if all(part.choose is None and part.words is None for part in described):
            assert found == pairs
        else:
            assert set(found) < set(pairs)


@pytest.mark.parametrize("name", DOWNLOADED)
def test_no_file_of_a_shared_folder_is_described_twice(name: str) -> None:
    datasets = [load_dataset(other, ROOT) for other in DOWNLOADED]
    own = load_dataset(name, ROOT)
    for file in own.downloads:
        assert shared_download(datasets, own.folder, file) == own.downloads[file]


def test_two_different_descriptions_of_one_file_are_reported() -> None:
    one, other = load_dataset("wmt14_ende", ROOT), load_dataset("wmt14_enfr", ROOT)
    file = "wmt14-test-full.tgz"
    changed = {**other.downloads, file: other.downloads[file].model_copy(update={"md5": "0" * 32})}
    with raises("conflicting-downloads", found=file, says="'wmt14_ende' and 'wmt14_enfr'"):
        shared_download([one, other.model_copy(update={"downloads": changed})], "wmt", file)
    with raises("unknown-name", key="downloads", found="x", says="'wmt'"):
        shared_download([one], "wmt", "x")


def test_full_size_datasets_have_published_numbers_and_shards() -> None:
    for name in WHOLE:
        dataset = load_dataset(name, ROOT)
        assert set(dataset.test_names) <= set(dataset.published_pairs), name
        said = dataset.published_pairs.get("train", 0)
        assert dataset.shards >= (said if isinstance(said, int) else max(said.values())) / 400_000, name


# ---------------------------------------------------------------------------------------------- derived datasets


def test_a_reversed_dataset_swaps_its_sides_and_shares_its_downloads() -> None:
    one, other = load_dataset("mini_zhen", ROOT), load_dataset("mini_enzh", ROOT)
    assert (other.source_language, other.target_language, other.folder) == ("en", "zh", "mini_zhen")
    assert [(part.target, part.source) for part in one.train] == [(part.source, part.target) for part in other.train]
    assert (one.train[1].choose, other.train[1].choose) == (
        Choice(by="target", of=40, drop=[0, 1]),
        Choice(by="source", of=40, drop=[0, 1]),
    )
    assert other.test_names == one.test_names and other.preprocessing == one.preprocessing


def test_a_variant_differs_in_what_it_says() -> None:
    one, other = load_dataset("wmt14_ende", ROOT), load_dataset("wmt14_ende_40k", ROOT)
    assert other.preprocessing.vocabulary == 40000
    keys = set(Dataset.model_fields) - {"name", "title", "download_folder", "preprocessing"}
    assert all(getattr(one, key) == getattr(other, key) for key in keys)
    assert preprocessing_slice(one) == preprocessing_slice(other)


def test_a_variant_may_train_on_shorter_sentences() -> None:
    short, original = (load_dataset(name, ROOT) for name in ("mini_ende_short", "mini_ende"))
    assert short.preprocessing.cleaning.max_length == 8 < original.preprocessing.cleaning.max_length
    assert (short.train, short.tests, short.folder) == (original.train, original.tests, original.folder)
    assert (
        short.preprocessing.model_copy(update={"cleaning": original.preprocessing.cleaning}) == original.preprocessing
    )


def test_splits_of_other_lengths_are_made_from_those_of_the_original() -> None:
    lengths, original = (load_dataset(name, ROOT) for name in ("multi30k_lengths", "multi30k"))
    assert [part.words for part in (*lengths.train, *lengths.valid)] == [Words(source=(1, 11))] * 2
    assert [part.source for part in lengths.train] == [part.source for part in original.train]
    assert lengths.test_names == ["words_1_11", "words_12_17", "words_18_40"]
    joined = [
        part.source
        for test in ("2016_flickr", "2017_flickr", "2018_flickr", "2017_mscoco")
        for part in original.tests[f"test_{test}"]
    ]
    for parts_of_one in lengths.tests.values():
        assert [part.source for part in parts_of_one] == joined


SPLITS = """
splits:
  valid: {words: {target: [1, 3]}}
  long: {of: [test], words: {source: [4, 9]}}
"""


def test_a_reversed_dataset_selects_lengths_in_its_own_direction(tmp_path: Path) -> None:
    write_config(tmp_path)
    new = tmp_path / "datasets/new.yaml"
    new.write_text(f"name: new\ntitle: New\nreverse_of: pair{SPLITS}")
    dataset, original = load_dataset("new", tmp_path), load_dataset("pair", tmp_path)
    assert dataset.train == [part.reversed() for part in original.train]
    (long,) = dataset.tests["long"]
    assert long.words == Words(source=(4, 9)) and long.source == original.tests["test"][0].target
    assert dataset.test_names == ["long"] and dataset.valid[0].words == Words(target=(1, 3))
    assert long.reversed().words == Words(target=(4, 9))
    new.write_text("name: new\ntitle: New\nvariant_of: pair\nsplits: {train: {words: {source: [1, 3]}}}\n")
    assert load_dataset("new", tmp_path).tests == original.tests


def test_published_numbers_of_other_pairs_are_not_inherited(tmp_path: Path) -> None:
    write_config(tmp_path)
    replace(
        tmp_path / "datasets/pair.yaml",
        ("licence: free", "licence: free\npublished_pairs: {train: 9, valid: 4, test: 2}"),
    )
    (tmp_path / "datasets/new.yaml").write_text(f"name: new\ntitle: New\nvariant_of: pair{SPLITS}")
    assert load_dataset("new", tmp_path).published_pairs == {"train": 9}


@pytest.mark.parametrize(
    ("splits", "problem"),
    [
        ("long: {of: [tset]}", {"code": "unknown-name", "key": "splits.long.of[0]", "suggestion": "test"}),
        ("long: {words: {source: [1, 2]}}", {"code": "unknown-name", "key": "splits.long"}),
        ("long: {of: [test, train]}", {"code": "inconsistent-keys", "key": "splits.long.of[1]", "found": "train"}),
        ("train: {of: [valid]}", {"code": "inconsistent-keys", "key": "splits.train.of[0]", "found": "valid"}),
        ("a.b: {of: [test]}", {"code": "reserved-name", "key": "splits.a.b"}),
        ("test: {words: {source: [9, 8]}}", {"code": "invalid-value", "key": "splits.test.words"}),
        ("test: {words: {}}", {"code": "invalid-value", "key": "splits.test.words"}),
        ("test: {words: {source: [0, 8]}}", {"code": "out-of-range", "key": "splits.test.words.source[0]"}),
        ("test: {word: {}}", {"code": "unknown-key", "key": "splits.test.word", "suggestion": "words"}),
    ],
)
def test_mistakes_in_derived_splits(tmp_path: Path, splits: str, problem: dict[str, Any]) -> None:
    write_config(tmp_path)
    (tmp_path / "datasets/new.yaml").write_text(f"name: new\ntitle: New\nvariant_of: pair\nsplits:\n  {splits}\n")
    with raises(**problem, line=5):
        load_dataset("new", tmp_path)


@pytest.mark.parametrize("derived", ["variant_of: pair", "reverse_of: pair"])
def test_derived_splits_do_not_bring_test_pairs_into_training(tmp_path: Path, derived: str) -> None:
    write_config(tmp_path)
    one, other = ("source", "target") if "variant" in derived else ("target", "source")
    replace(
        tmp_path / "datasets/pair.yaml",
        ("choose: {by: line, of: 9, drop: [0, 1]}", "words: {source: [1, 8]}"),
        ("choose: {by: line, of: 9, keep: [0]}", "words: {source: [9, 20]}"),
        ("choose: {by: line, of: 9, keep: [1]}", "words: {source: [21, 30]}"),
    )
    new = tmp_path / "datasets/new.yaml"
    heading = f"name: new\ntitle: New\n{derived}\nsplits:\n"
    new.write_text(heading + f"  train: {{words: {{{one}: [1, 9]}}}}\n  valid: {{words: {{{one}: [10, 20]}}}}\n")
    load_dataset("new", tmp_path)
    for splits, key in (
        (f"  train: {{words: {{{one}: [1, 20]}}}}\n", "splits.train"),
        (f"  train: {{words: {{{one}: [1, 9]}}}}\n", "splits.train"),
        (f"  valid: {{words: {{{one}: [8, 20]}}}}\n", "splits.valid"),
        (f"  test: {{words: {{{one}: [8, 30]}}}}\n", "splits.test"),
        (f"  test: {{words: {{{other}: [31, 90]}}}}\n", "splits.test"),
    ):
        new.write_text(heading + splits)
        with raises("duplicate-entry", key=key, line=5):
            load_dataset("new", tmp_path)


def test_a_generated_dataset_has_no_derived_splits(tmp_path: Path) -> None:
    write_config(tmp_path)
    (tmp_path / "datasets/new.yaml").write_text("name: new\ntitle: New\nvariant_of: toy\nsplits: {valid: {}}\n")
    with raises("inconsistent-keys", key="splits", says="generator.lengths"):
        load_dataset("new", tmp_path)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("reverse_of: gramar", {"code": "unknown-name", "line": 3, "key": "reverse_of", "suggestion": "grammar"}),
        ("reverse_of: mini_enja", {"code": "derived-twice", "line": 3, "key": "reverse_of"}),
        ("variant_of: new", {"code": "derived-twice", "line": 3, "key": "variant_of"}),
        ("reverse_of: grammar\nvariant_of: grammar", {"code": "invalid-value", "line": 1}),
        ("reverse_of: grammar\nlicence: free", {"code": "inconsistent-keys", "line": 3, "key": "reverse_of"}),
        (
            "reverse_of: grammar",
            {"code": "inconsistent-keys", "line": 3, "key": "reverse_of"},
        ),
    ],
)
def test_mistakes_in_a_derived_dataset(tmp_path: Path, text: str, problem: dict[str, Any]) -> None:
    (tmp_path / "datasets").mkdir()
    for name in ("grammar", "mini_jaen", "mini_enja"):
        (tmp_path / f"datasets/{name}.yaml").write_text((ROOT / f"datasets/{name}.yaml").read_text())
    (tmp_path / "datasets/new.yaml").write_text(f"name: new\ntitle: New\n{text}\n")
    with raises(**problem):
        load_dataset("new", tmp_path)


def test_a_generated_dataset_may_have_a_variant(tmp_path: Path) -> None:
    (tmp_path / "datasets").mkdir()
    (tmp_path / "datasets/grammar.yaml").write_text((ROOT / "datasets/grammar.yaml").read_text())
    (tmp_path / "datasets/new.yaml").write_text("name: new\ntitle: New\nvariant_of: grammar\nvocabulary: 99\n")
    variant = load_dataset("new", tmp_path)
    assert variant.generator == load_dataset("grammar", tmp_path).generator and variant.preprocessing.vocabulary == 99


def test_a_mistake_in_one_dataset_hinders_no_other(tmp_path: Path) -> None:
    (tmp_path / "datasets").mkdir()
    for name in ("mini_jaen", "mini_enja"):
        (tmp_path / f"datasets/{name}.yaml").write_text((ROOT / f"datasets/{name}.yaml").read_text())
    (tmp_path / "datasets/broken.yaml").write_text("name: [\n")
    assert load_dataset("mini_enja", tmp_path).source_language == "en"
    (tmp_path / "datasets/mini_jaen.yaml").write_text("name: [\n")
    with raises("invalid-yaml", line=2):
        load_dataset("mini_enja", tmp_path)


# --------------------------------------------------------------------------------------------- published numbers


def test_the_nearer_of_two_counts_is_compared(tmp_path: Path) -> None:
    for split, read, kept in (("train", 4_520_000, 4_400_000), ("valid", 3000, 3000)):
        (tmp_path / split).write_text(f'{{"read": {read}, "kept": {kept}}}')
    published = {"train": 4_508_785, "valid": 3000}
    table = compare_pairs(published, [tmp_path / split for split in published])
    assert table["train"] == {"published": 4508785, "imported": 4520000, "kept": 4400000, "difference": 11215}
    assert describe_pairs("wmt", table).splitlines() == [
        "wmt, train: 4,508,785 pairs published, 4,520,000 imported, 4,400,000 kept: +11,215 (+0.25%)",
        "wmt, valid: 3,000 pairs published, 3,000 imported, 3,000 kept: as published",
    ]


def test_a_superfluous_report_is_an_error(tmp_path: Path) -> None:
    with raises("wrong-count"):
        compare_pairs({"train": 1}, [tmp_path / "train", tmp_path / "valid"])


def test_a_report_without_its_counts_is_an_error(tmp_path: Path) -> None:
    for content in ("{}", "[]"):
        (tmp_path / "train").write_text(content)
        with raises("missing-key", tmp_path / "train", key="read"):
            compare_pairs({"train": 1}, [tmp_path / "train"])


def test_each_of_several_counts_is_compared(tmp_path: Path) -> None:
    (tmp_path / "train").write_text('{"read": 4520000, "kept": 4400000}')
    table = compare_pairs({"train": {"A (2023)": 4_430_000, "B": 4_520_000}}, [tmp_path / "train"])
    claims = {"A (2023)": {"pairs": 4430000, "difference": -30000}, "B": {"pairs": 4520000, "difference": 0}}
    assert table == {"train": {"published": claims, "imported": 4520000, "kept": 4400000}}
    assert describe_pairs("wmt", table).splitlines() == [
        "wmt, train: 4,430,000 pairs published by A (2023), 4,520,000 imported, 4,400,000 kept: -30,000 (-0.68%)",
        "wmt, train: 4,520,000 pairs published by B, 4,520,000 imported, 4,400,000 kept: as published",
    ]


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("wmt14_ende", {"PosNet (2023)": 4_430_000, "Cross-lingual PE (2020)": 4_500_000, "OPR (2025)": 4_500_000}),
        ("wmt14_enfr", {"PosNet (2023)": 35_760_000}),
        ("wat17_jaen", {"Cross-lingual PE (2020)": 2_000_000}),
        ("wmt17_zhen", {"Cross-lingual PE (2020)": 20_000_000}),
        ("wmt17_enzh", {"Cross-lingual PE (2020)": 20_000_000}),
        ("wmt16_enro", {"OPR (2025)": 610_000}),
        ("iwslt14_ende", {"OPR (2025)": 160_000}),
        ("iwslt17_enfr", {"OPR (2025)": 282_000}),
    ],
)
def test_the_papers_counts_are_compared(name: str, said: dict[str, int]) -> None:
    """The names are those of the papers in the tables of published scores."""
    found = load_dataset(name, ROOT).published_pairs["train"]
    papers = {table.paper for table in load_published_scores(ROOT)}
    assert isinstance(found, dict) and {key: found[key] for key in found if key in papers} == said


@pytest.mark.parametrize(
    ("said", "problem"),
    [
        ("many", {"code": "wrong-type", "line": 105, "key": "published_pairs.train"}),
        ("{A: many}", {"code": "wrong-type", "line": 105, "key": "published_pairs.train.A"}),
        ("{A: 0}", {"code": "out-of-range", "line": 105, "key": "published_pairs.train.A"}),
    ],
)
def test_mistakes_in_published_numbers(config: Path, said: str, problem: dict[str, Any]) -> None:
    file = config / "datasets/multi30k.yaml"
    file.write_text(f"{file.read_text()}published_pairs: {{train: {said}}}\n")
    with raises(**problem):
        load_dataset("multi30k", config)


def test_what_is_published_once_is_in_the_slice_as_ever() -> None:
    dataset = load_dataset("mini_ende", ROOT)
    assert published_slice(dataset) == '{"newstest2013":3000,"newstest2014":3003}'


# ------------------------------------------------------------------------------------------------------ workflow


def test_a_corpus_that_must_be_obtained_manually_is_requested(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("WORDORDER_MIRROR", raising=False)
    done = snakemake(tmp_path, "--cores", "1", "results/data/wat17_jaen/raw/test.source")
    assert done.returncode == 1 and "Traceback" not in done.stderr
    assert "\nwordorder: error: test.txt cannot be downloaded by a program. Apply at https://jipsti" in done.stderr
    assert not (tmp_path / "logs").exists()  # no job was begun
    place = tmp_path / "resources/downloads/wat17_jaen/by_hand/test.txt"
    assert f"at {place.relative_to(tmp_path)}, from where it is copied." in done.stderr
    place.parent.mkdir(parents=True)
    place.write_text("a ||| b ||| c ||| d\n")
    done = snakemake(tmp_path, "--cores", "1", "resources/downloads/wat17_jaen/test.txt")
    assert done.returncode == 1 and "by_hand/test.txt has 1 lines instead of 1812." in done.stderr
    assert not (tmp_path / "resources/downloads/wat17_jaen/test.txt").exists()


def test_only_text_that_was_tokenised_is_detokenised() -> None:
    raw = load_dataset("multi30k", ROOT)
    untokenised = raw.model_copy(update={"preprocessing": raw.preprocessing.model_copy(update={"tokenise": False})})
    assert raw.detokenise and not untokenised.detokenise
    assert untokenised.model_copy(update={"tokenised": True}).detokenise
    assert load_dataset("grammar", ROOT).detokenise  # as when its studies were finished


def test_the_workflow_keeps_words_and_test_sentences_apart(tmp_path: Path) -> None:
    config = tmp_path / "config"
    for file in ("encodings.yaml", "sizes.yaml", "datasets/mini_jaen.yaml", "datasets/mini_enja.yaml"):
        (config / file).parent.mkdir(parents=True, exist_ok=True)
        (config / file).write_text((ROOT / file).read_text())
    (config / "studies").mkdir()
    (config / "studies/little.yaml").write_text(
        "name: little\ntitle: x\ndatasets: [mini_enja]\nencodings: [none]\nsizes: [micro]\nseeds: [1]\n"
        "recipe: {max_updates: 1}\nbaseline: none\n"
    )
    options = ["--cores", "1", "--printshellcmds", "--config", "study=little", f"config_dir={config}"]
    text = dry_run(tmp_path / "run", "prepare_all", *options)
    counts, made = job_counts(text), outputs(text)
    assert (counts["import_tokenised_split"], counts["detokenise_split"]) == (3, 4)  # 'train' is never detokenised
    assert "import_split" not in counts and counts["count_pairs"] == 1
    assert all(file.startswith("resources/downloads/mini_jaen/") for file in made["download_file"])
    assert counts["download_file"] == 6
    raw = "results/data/mini_enja/raw"
    held_out = " ".join(f"{raw}/{split}.{side}" for split in ("valid", "test") for side in ("source", "target"))
    assert f" --held-out {held_out} --source " in text
    assert "wordorder stage detokenise --language ja --input results/data/mini_enja/tokenised/test.target" in text


# ------------------------------------------------------------------------------------------------- real text

needs_mirror = pytest.mark.skipif("WORDORDER_MIRROR" not in os.environ, reason="WORDORDER_MIRROR is not set")


@needs_mirror
@pytest.mark.parametrize(
    ("name", "shared", "together"),
    [
        ("multi30k", {"valid": 2, "test_2017_flickr": 5, "test_2018_flickr": 2}, 9),
        ("multi30k_fr", {"valid": 4, "test_2017_flickr": 3}, 7),
    ],
)
def test_training_pairs_that_share_a_side_with_test_sets(
    name: str, shared: dict[str, int], together: int, tmp_path: Path
) -> None:
    """The number is that of the comment in the dataset's file, which keeps these pairs."""
    dataset = load_dataset(name, ROOT)
    assert not dataset.preprocessing.remove_overlap
    for file, entry in dataset.downloads.items():
        download(entry, tmp_path / file, mirror=os.environ["WORDORDER_MIRROR"])
    texts = {}
    for split in ("train", "valid", *dataset.test_names):
        texts[split] = tmp_path / f"{split}.source", tmp_path / f"{split}.target"
        import_parts(parts(dataset, split), tmp_path, *texts[split])
    pairs = list(read_pairs(*texts.pop("train")))
    held_out = {split: HeldOut.read([text]) for split, text in texts.items()}
    found = {split: {n for n, pair in enumerate(pairs) if held.has(*pair)} for split, held in held_out.items()}
    assert {split: len(numbers) for split, numbers in found.items() if numbers} == shared
    assert len(set().union(*found.values())) == together


@needs_mirror
@pytest.mark.parametrize(
    ("name", "split", "pairs"),
    [
        ("mini_deen", "ted", 6750),
        ("mini_enfr", "tst2016", 1159),
        ("mini_enfr", "tst2017", 1455),
        ("mini_enro", "test", 2758),
    ],
)
def test_splits_of_the_mirror_have_their_pairs(name: str, split: str, pairs: int, tmp_path: Path) -> None:
    dataset = load_dataset(name, ROOT)
    for file in downloads(dataset, split):
        entry: Download = dataset.downloads[file]
        download(entry, tmp_path / file, mirror=os.environ["WORDORDER_MIRROR"])
    assert import_parts(parts(dataset, split), tmp_path, tmp_path / "s", tmp_path / "t") == pairs
