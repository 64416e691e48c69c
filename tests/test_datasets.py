"""The shipped datasets: their files can be read as they say, and their slices stay what finished studies have."""

from __future__ import annotations

import bz2
import gzip
import hashlib
import io
import os
import tarfile
import zipfile
from collections import defaultdict
from pathlib import Path

import pytest

from snakemake_runs import dry_run, job_counts, outputs
from wordorder import plan
from wordorder.config.datasets import Choice, Dataset, Download, Preparation, TextFile
from wordorder.config.load import dataset_names, load_dataset, slice_argument
from wordorder.data.clean import clean_files
from wordorder.data.download import download
from wordorder.data.importing import import_parts
from wordorder.data.pairs import count_pairs, describe_pairs
from wordorder.errors import WordorderError

ROOT = Path(__file__).parent.parent / "config"
DOWNLOADED = [name for name in dataset_names(ROOT) if not load_dataset(name, ROOT).generator]
WHOLE = [name for name in DOWNLOADED if not name.startswith(("mini_", "multi30k"))]

# ------------------------------------------------------------------------------------- what was finished before

# The slices of the datasets with which studies were finished before there were formats, by dataset and split or file;
# one changed letter would prepare, train and score everything again.
FINISHED = {
    ("multi30k", "preprocessing"): '{"preprocessing":{"aggressive_dash_splits":false,"cleaning":{"max_length":250,'
    '"max_ratio":1.5,"min_length":1,"ratio_slack":10},"normalise_punctuation":true,"tokenise":true},'
    '"source_language":"en","target_language":"de"}',
    ("multi30k", "subword"): '{"subword_sentences":10000000,"vocabulary":8000}',
    ("multi30k", "train"): '{"by_hand":null,"parts":[{"source":{"file":"train.en.gz","member":null},"target":{"file":'
    '"train.de.gz","member":null}}]}',
    ("multi30k", "val.en.gz"): '{"bytes":21650,"mirror":"multi30k/val.en.gz","sha256":'
    '"14f7d25ddd868909a9213e361768460edcacdd6ab9d1e77b92560dc10c10dc28","url":"https://raw.githubusercontent.com/'
    'multi30k/dataset/a3d2e0d26b56f3846f66a952536ffed4e401d05a/data/task1/raw/val.en.gz"}',
    ("grammar", "preprocessing"): '{"preprocessing":{"aggressive_dash_splits":false,"cleaning":{"max_length":250,'
    '"max_ratio":1.5,"min_length":1,"ratio_slack":10},"normalise_punctuation":false,"tokenise":false},'
    '"source_language":"en","target_language":"qaa"}',
}
ALL_FINISHED = "c0505f53088fc1490ff23db254dd4368d1bf198ede3ceaf08fda1f6eaaeb8a5f"  # SHA-256 of all of them


def slices(name: str) -> dict[tuple[str, str], str]:
    dataset = load_dataset(name, ROOT)
    found = {(name, "preprocessing"): plan.preprocessing_slice(dataset), (name, "subword"): plan.subword_slice(dataset)}
    for split in ("train", "valid", *dataset.test_names):
        make = plan.generator_slice if dataset.generator else plan.import_slice
        found[name, split] = make(dataset, split)
    for file in dataset.downloads:
        found[name, file] = plan.download_slice(dataset, file)
    return found


def test_the_slices_of_finished_studies_are_the_same_to_the_letter() -> None:
    found = {key: text for name in ("grammar", "multi30k", "multi30k_fr") for key, text in slices(name).items()}
    assert {key: found[key] for key in FINISHED} == FINISHED
    assert (
        hashlib.sha256("\n".join(f"{key}\t{text}" for key, text in found.items()).encode()).hexdigest() == ALL_FINISHED
    )


# --------------------------------------------------------------------------------------- reading what is described


def tiny(side: TextFile, language: str, pairs: int) -> str:
    """A text of so many sentences as this side of a part must look, with what the format has besides."""
    sentences = [f"{language} sentence {number} &amp; more" for number in range(1, pairs + 1)]
    match side.format:
        case "sgm":
            segments = "".join(f'<seg id="{number}">{text}</seg>\n' for number, text in enumerate(sentences, start=1))
            return f'<srcset>\n<doc docid="a">\n{segments}</doc></srcset>\n'
        case "ted":
            return "<url>x</url>\n<title>title</title>\n" + "".join(f"{text}\n" for text in sentences)
        case _:
            return "".join(f"{text}\n" for text in sentences)


def shared(sides: list[tuple[TextFile, str]], pairs: int) -> str:
    """A text that holds several sides: a translation memory, or columns."""
    if sides[0][0].format == "tmx":
        units = "".join(
            "<tu>"
            + "".join(f'<tuv xml:lang="{side.language}"><seg>{lang} {number}</seg></tuv>' for side, lang in sides)
            + "</tu>"
            for number in range(pairs)
        )
        return f"<tmx><body>{units}</body></tmx>"
    columns = {side.column: language for side, language in sides}
    width, separator = max(column or 0 for column in columns), sides[0][0].separator or "\t"
    return "".join(
        separator.join(f"{columns.get(column, '?')} {number}" for column in range(1, width + 1)) + "\n"
        for number in range(pairs)
    )


def pack(name: str, text: str) -> bytes:
    data = text.encode()
    return gzip.compress(data) if name.endswith(".gz") else bz2.compress(data) if name.endswith(".bz2") else data


def write_downloads(dataset: Dataset, folder: Path, pairs: int) -> None:
    """Every file that the dataset names, with every member that its parts name, of the kind that its name says."""
    sides: dict[str, dict[str | None, list[tuple[TextFile, str]]]] = defaultdict(lambda: defaultdict(list))
    for part in [*dataset.train, *dataset.valid, *(part for parts in dataset.tests.values() for part in parts)]:
        for side, language in ((part.source, dataset.source_language), (part.target, dataset.target_language)):
            if (side, language) not in sides[side.file][side.member]:
                sides[side.file][side.member].append((side, language))
    folder.mkdir(exist_ok=True)
    for file, members in sides.items():
        texts = {
            member: shared(found, pairs) if len(found) > 1 else tiny(*found[0], pairs)
            for member, found in members.items()
        }
        if None in texts:
            (folder / file).write_bytes(pack(file, texts[None]))
        elif file.endswith(".zip"):
            with zipfile.ZipFile(folder / file, "w") as archive:
                for member, text in texts.items():
                    archive.writestr(str(member), pack(str(member), text))
        else:
            with tarfile.open(folder / file, "w" if file.endswith(".tar") else "w:gz") as tar:
                for member, text in texts.items():
                    info, data = tarfile.TarInfo(str(member)), pack(str(member), text)
                    info.size = len(data)
                    tar.addfile(info, io.BytesIO(data))


@pytest.mark.parametrize("name", DOWNLOADED)
def test_every_part_can_be_read_as_it_is_described(name: str, tmp_path: Path) -> None:
    dataset, pairs = load_dataset(name, ROOT), 120
    write_downloads(dataset, tmp_path / "downloads", pairs)
    assert {path.name for path in (tmp_path / "downloads").iterdir()} == set(dataset.downloads)  # each file is used
    for split in ("train", "valid", *dataset.test_names):
        parts = plan.parts(dataset, split)
        number = import_parts(parts, tmp_path / "downloads", tmp_path / "s", tmp_path / "t")
        if all(part.choose is None for part in parts):
            assert number == pairs * len(parts)
        lines = [(tmp_path / side).read_text().splitlines() for side in ("s", "t")]
        languages = [{line.split()[0] for line in side if line} - {"title"} for side in lines]
        assert languages in ([{dataset.source_language}, {dataset.target_language}], [set(), set()])


@pytest.mark.parametrize("name", DOWNLOADED)
def test_no_file_of_a_shared_folder_is_described_twice(name: str) -> None:
    datasets = [load_dataset(other, ROOT) for other in DOWNLOADED]
    own = load_dataset(name, ROOT)
    for file in own.downloads:
        assert plan.shared_download_slice(datasets, own.folder, file) == plan.download_slice(own, file)


def test_two_descriptions_of_one_file_are_told() -> None:
    one, other = load_dataset("wmt14_ende", ROOT), load_dataset("wmt14_enfr", ROOT)
    file = "wmt14-test-full.tgz"
    changed = {**other.downloads, file: other.downloads[file].model_copy(update={"md5": "0" * 32})}
    with pytest.raises(WordorderError, match="'wmt14_ende' and 'wmt14_enfr' share the folder 'wmt' of downloads, but"):
        plan.shared_download_slice([one, other.model_copy(update={"downloads": changed})], "wmt", file)
    with pytest.raises(WordorderError, match=r"No dataset of the folder 'wmt' .* 'x'"):
        plan.shared_download_slice([one], "wmt", "x")


def test_whole_datasets_have_published_numbers_and_shards() -> None:
    for name in WHOLE:
        dataset = load_dataset(name, ROOT)
        assert set(dataset.test_names) <= set(dataset.published_pairs), name
        assert dataset.shards >= dataset.published_pairs.get("train", 0) / 400_000, name


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
    assert plan.preprocessing_slice(one) == plan.preprocessing_slice(other)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("reverse_of: gramar", r"'reverse_of' is the unknown dataset 'gramar'; did you mean 'grammar'\?"),
        ("reverse_of: mini_enja", "'reverse_of' is the unknown dataset 'mini_enja'"),  # itself derived
        ("reverse_of: grammar\nvariant_of: grammar", "either 'reverse_of' or 'variant_of' must be given"),
        ("reverse_of: grammar\nlicence: free", "'licence' is no known key"),
        (
            "reverse_of: grammar",
            r"new.yaml, line 3: 'reverse_of' is 'grammar', whose sentences a generator makes, and in one direction "
            r"only\. Name a dataset of files, or derive this one with 'variant_of'\.",
        ),
    ],
)
def test_mistakes_in_a_derived_dataset(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "datasets").mkdir()
    for name in ("grammar", "mini_jaen", "mini_enja"):
        (tmp_path / f"datasets/{name}.yaml").write_text((ROOT / f"datasets/{name}.yaml").read_text())
    (tmp_path / "datasets/new.yaml").write_text(f"name: new\ntitle: New\n{text}\n")
    with pytest.raises(WordorderError, match=message):
        load_dataset("new", tmp_path)


def test_a_generated_dataset_may_have_a_variant(tmp_path: Path) -> None:
    (tmp_path / "datasets").mkdir()
    (tmp_path / "datasets/grammar.yaml").write_text((ROOT / "datasets/grammar.yaml").read_text())
    (tmp_path / "datasets/new.yaml").write_text("name: new\ntitle: New\nvariant_of: grammar\nvocabulary: 99\n")
    variant = load_dataset("new", tmp_path)
    assert variant.generator == load_dataset("grammar", tmp_path).generator and variant.preprocessing.vocabulary == 99


# --------------------------------------------------------------------------------------------- published numbers


def test_the_nearer_of_two_counts_is_compared(tmp_path: Path) -> None:
    for split, read, kept in (("train", 4_520_000, 4_400_000), ("valid", 3000, 3000)):
        (tmp_path / split).write_text(f'{{"read": {read}, "kept": {kept}}}')
    published = {"train": 4_508_785, "valid": 3000}
    table = count_pairs(published, [tmp_path / split for split in published])
    assert table["train"] == {"published": 4508785, "imported": 4520000, "kept": 4400000, "difference": 11215}
    assert describe_pairs("wmt", table).splitlines() == [
        "wmt, train: 4,508,785 pairs published, 4,520,000 imported, 4,400,000 kept: +11,215 (+0.25%)",
        "wmt, valid: 3,000 pairs published, 3,000 imported, 3,000 kept: as published",
    ]


# ------------------------------------------------------------------------------------------------------ workflow


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
    assert "wordorder detokenise --language ja --input results/data/mini_enja/tokenised/test.target" in text


# ------------------------------------------------------------------------------------------------- real text

needs_mirror = pytest.mark.skipif("WORDORDER_MIRROR" not in os.environ, reason="WORDORDER_MIRROR is not set")


@needs_mirror
def test_first_stages_of_wmt14_on_a_part_of_its_real_text(tmp_path: Path) -> None:
    """Common Crawl, Europarl and News Commentary are three hundred lines each of the corpora in the mirror."""
    mirror, dataset = Path(os.environ["WORDORDER_MIRROR"]), load_dataset("wmt14_ende", ROOT)
    places = {
        "training/europarl-v7.de-en": "europarl20k-de-en/train.{}.gz",
        "commoncrawl.de-en": "europarl20k-de-en/test.{}.gz",
        "training/news-commentary-v9.de-en": "europarl20k-de-en/validation.{}.gz",
    }
    for part in dataset.train:
        with tarfile.open(tmp_path / part.source.file, "w:gz") as tar:
            for side, language in ((part.source, "en"), (part.target, "de")):
                with gzip.open(mirror / places[str(side.member).rpartition(".")[0]].format(language)) as file:
                    data = b"".join(next(file) for _ in range(300))
                info = tarfile.TarInfo(str(side.member))
                info.size = len(data)
                tar.addfile(info, io.BytesIO(data))
    assert import_parts(dataset.train, tmp_path, tmp_path / "s", tmp_path / "t") == 900
    report = clean_files(
        slice_argument(plan.preprocessing_slice(dataset), Preparation),
        tmp_path / "s",
        tmp_path / "t",
        output_source=tmp_path / "cs",
        output_target=tmp_path / "ct",
        report=tmp_path / "report.json",
    )
    assert report.read == 900 and 700 < report.kept < 900


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
    for file in plan.downloads(dataset, split):
        entry: Download = dataset.downloads[file]
        download(entry, tmp_path / file, mirror=os.environ["WORDORDER_MIRROR"])
    assert import_parts(plan.parts(dataset, split), tmp_path, tmp_path / "s", tmp_path / "t") == pairs
