"""Every full-size dataset from its archives to a binary corpus, on a few sentences: the commands that a study runs.

The archives have the names, members and formats of the real ones. Their sentences are own ones, which needs no mirror,
or the heads of real texts in the mirror; a file that the mirror has itself is fetched from it.
"""

from __future__ import annotations

import importlib.util
import json
import os
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from corpus_files import Pairs, PairsOf, own_pairs, write_downloads, write_file
from wordorder.cli.main import main
from wordorder.config.datasets import Dataset
from wordorder.config.load import dataset_names, load_dataset
from wordorder.data.binary import ParallelCorpus
from wordorder.data.importing import import_parts
from wordorder.data.mirror import candidates
from wordorder.data.subword import Subword
from wordorder.data.text import read_pairs, write_pairs
from wordorder.data.tokenise import tokeniser
from wordorder.workflow import dataset_slices as slices
from wordorder.workflow.slices import canonical

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2] / "config"
WHOLE = [name for name in dataset_names(ROOT) if name.startswith(("iwslt", "wat", "wmt"))]
MIRROR = os.environ.get("WORDORDER_MIRROR")
LARGE = 1 << 20  # bytes of a file that a test does not fetch
SEGMENTERS = {"mecab": "ipadic", "jieba": "jieba"}
WORDS = {"ja": "年間", "zh": "一些"}  # of both the own and the real sentences

# Real texts by pair of languages and split, or of all its other splits: the split's own sentences where the mirror has
# them, else such as are like them.
REAL = {
    "de-en": {
        "train": "europarl20k-de-en/train.{}.gz",
        "newstest2014": "wmt-newstest/en-de/newstest2014.{}.gz",
        "*": "wmt-newstest/en-de/newstest2013.{}.gz",
    },
    "en-fr": {
        "train": "wmt-newstest/en-fr/newstest2012.{}.gz",
        "newstest2014": "wmt-newstest/en-fr/newstest2014.{}.gz",
        "*": "wmt-newstest/en-fr/newstest2013.{}.gz",
    },
    "en-ro": {
        "train": "ro-sts-en-ro/train.{}.gz",
        "newstest2016": "wmt-newstest/en-ro/newstest2016.{}.gz",
        "*": "wmt-newstest/en-ro/newsdev2016.{}.gz",
    },
    "en-zh": {
        "train": "wmt-newstest/en-zh/newstest2018.{}.gz",
        "newstest2017": "wmt-newstest/en-zh/newstest2017.{}.gz",
        "*": "3am-zh-en/val.{}.gz",
    },
    "en-ja": {"train": "flores200-devtest/devtest.{}.gz", "*": "ntrex128/newstest2019.{}.gz"},
}


def real_pairs(dataset: Dataset, number: int) -> PairsOf:
    """About so many lines of a text for each split; each part goes on where the one before it ended."""
    languages = dataset.source_language, dataset.target_language
    texts = REAL["-".join(sorted(languages))]

    def pairs_of(split: str, part: int) -> Pairs:
        source, target = (Path(MIRROR or "", texts.get(split, texts["*"]).format(language)) for language in languages)
        share = number // len(slices.parts(dataset, split))
        lines = islice(read_pairs(source, target), part * share, (part + 1) * share)
        return [(" ".join(s.split()), " ".join(t.split())) for s, t in lines]

    return pairs_of


def tokenised(dataset: Dataset, pairs_of: PairsOf) -> PairsOf:
    """The pairs of a corpus that is published in lower-cased tokens."""
    source, target = (tokeniser(language) for language in (dataset.source_language, dataset.target_language))
    return lambda split, part: [(source(s).lower(), target(t).lower()) for s, t in pairs_of(split, part)]


def run(*arguments: str | Path) -> None:
    assert main(["stage", *map(str, arguments)]) == 0


@pytest.mark.parametrize("name", WHOLE)
@pytest.mark.parametrize(
    "real", [False, pytest.param(True, marks=pytest.mark.skipif(not MIRROR, reason="WORDORDER_MIRROR is not set"))]
)
def test_from_the_archives_to_a_binary_corpus(name: str, real: bool, tmp_path: Path) -> None:
    dataset = load_dataset(name, ROOT)
    for segmenter in dataset.preprocessing.segment.values():
        if importlib.util.find_spec(SEGMENTERS[segmenter]) is None:
            pytest.skip(f"{segmenter} is not installed")
    number = 300 if real else 120
    pairs_of = (real_pairs if real else own_pairs)(dataset, number)
    downloads = tmp_path / "downloads"
    written = write_downloads(dataset, downloads, tokenised(dataset, pairs_of) if dataset.tokenised else pairs_of)
    mirrored = [
        file
        for file, entry in dataset.downloads.items()
        if (entry.bytes or LARGE) < LARGE
        and any(copy.path.exists() for copy in candidates(entry, downloads / file, MIRROR))
    ]
    for file in mirrored if real else ():
        run("download", "--config", canonical(dataset.downloads[file]), "--output", downloads / file)

    # import: what was put into the archives comes out of them, and of those of the mirror as much as is published
    raw = {split: [tmp_path / f"raw/{split}.{side}" for side in ("source", "target")] for split in written}
    for split, (source, target) in raw.items():
        slice_ = slices.import_slice(dataset, split)
        run("import", "--config", slice_, "--downloads", downloads, "--source", source, "--target", target)
        found = list(read_pairs(source, target))
        if real and set(slices.downloads(dataset, split)) <= set(mirrored):
            assert len(found) == dataset.published_pairs[split]
            write_pairs(source, target, found[:number])
        elif any(part.choose for part in slices.parts(dataset, split)):
            assert found and set(found) < set(written[split])
        else:
            assert found == written[split]

    # clean: held-out sets lose nothing; of the training set own sentences lose what is held out, the first pair
    clean = {split: [tmp_path / f"clean/{split}.{side}" for side in ("source", "target")] for split in raw}
    held_out = [path for split, paths in raw.items() if split != "train" for path in paths]
    reports: dict[str, dict[str, Any]] = {}
    for split, (source, target) in raw.items():
        report = tmp_path / f"clean/{split}.json"
        options = ["--keep-all"] if split != "train" else []
        if split == "train" and dataset.preprocessing.remove_overlap:
            options = ["--held-out", *map(str, held_out)]
        run(
            *(
                "clean",
                "--config",
                slices.preprocessing_slice(dataset),
                *options,
                "--source",
                source,
                "--target",
                target,
            ),
            *("--output-source", clean[split][0], "--output-target", clean[split][1], "--report", report),
        )
        reports[split] = json.loads(report.read_text())
        assert reports[split]["kept"] == reports[split]["read"] or split == "train"
    lost = reports["train"]["read"] - reports["train"]["kept"]
    overlap = 1 if dataset.preprocessing.remove_overlap else 0
    assert 0 <= lost < reports["train"]["read"] / 2 if real else lost == overlap
    assert real or reports["train"]["removed"].get("overlap", 0) == overlap
    for language, path in zip((dataset.source_language, dataset.target_language), clean["train"], strict=True):
        assert language not in dataset.preprocessing.segment or WORDS[language] in path.read_text().split()

    # subwords, and from them back to the words
    vocabulary = (2000 if dataset.preprocessing.segment else 1000) if real else 250
    slice_ = json.dumps(json.loads(slices.subword_slice(dataset)) | {"vocabulary": vocabulary})
    model = tmp_path / "model"
    run("train-subword", "--config", slice_, "--inputs", *clean["train"], "--output", model)
    subword = Subword.load(model)
    for split, (source, target) in clean.items():
        folder = tmp_path / "binary" / split
        run("binarise", "--subword", model, "--source", source, "--target", target, "--output", folder)
        corpus, pairs = ParallelCorpus.open(folder), list(read_pairs(source, target))
        assert len(corpus) == len(pairs) == reports[split]["kept"]
        back = [
            (subword.decode(corpus.source(i).tolist()), subword.decode(corpus.target(i).tolist()))
            for i in range(len(corpus))
        ]
        known = [index for index, pair in enumerate(back) if "⁇" not in "".join(pair)]
        assert [back[index] for index in known] == [pairs[index] for index in known]
        assert len(known) > (len(pairs) / 2 if split == "train" or not real else 0)


ASPEC = "{}A-01A0123456 ||| 7 ||| 新しい方法を示した。 ||| A new method was shown.\n"
SETIMES = (
    '<?xml version="1.0" encoding="UTF-8"?>\n<tmx version="1.4">\n<header srclang="en" datatype="PlainText"/>\n<body>\n'
    '<tu>\n<tuv xml:lang="en"><seg>Bread &amp; salt</seg></tuv>\n<tuv xml:lang="ro"><seg>Pâine și sare</seg></tuv>\n'
    "</tu>\n</body>\n</tmx>\n"
)
TED = (
    "<url>http://www.ted.com/x</url>\n<keywords>talks</keywords>\n<speaker>A. B.</speaker>\n<talkid>1</talkid>\n"
    "<title>{0} 1</title>\n<description>{0} 2</description>\n {0} 3 \n<reviewer></reviewer>\n"
)
SGM = (
    '<{0}set setid="x" srclang="any">\n<doc docid="a">\n<p>\n<seg id="1">A &quot;{0}&quot; &amp; more</seg>\n</p>\n'
    "</doc>\n</{0}set>\n"
)


@pytest.mark.parametrize(
    ("name", "split", "part", "texts", "pairs"),
    [
        ("wat17_jaen", "train", 0, [ASPEC.format("0.98 ||| ")], [("新しい方法を示した。", "A new method was shown.")]),
        ("wat17_jaen", "test", 0, [ASPEC.format("")], [("新しい方法を示した。", "A new method was shown.")]),
        ("wmt16_enro", "train", 1, [SETIMES], [("Bread & salt", "Pâine și sare")]),
        (
            *("wmt16_enro", "newstest2016", 0, [SGM.format("src"), SGM.format("ref")]),
            [('A "src" & more', 'A "ref" & more')],
        ),
        ("iwslt17_enfr", "train", 0, [TED.format("en"), TED.format("fr")], [("en 3", "fr 3")]),
        (
            *("iwslt16_deen", "train", 0, [TED.format("de"), TED.format("en")]),
            [("de 1", "en 1"), ("de 2", "en 2"), ("de 3", "en 3")],
        ),
        ("iwslt14_deen", "test", 0, ["so &apos;s\n", "it &apos;s &quot;\n"], [("so 's", "it 's \"")]),
    ],
)
def test_formats_as_they_are_published(
    name: str, split: str, part: int, texts: list[str], pairs: Pairs, tmp_path: Path
) -> None:
    """Written by hand, without a look at what the dataset's file says of them."""
    sides = slices.parts(load_dataset(name, ROOT), split)[part]
    files: dict[str, dict[str | None, str]] = {sides.source.file: {}, sides.target.file: {}}
    for side, text in zip((sides.source, sides.target), (texts[0], texts[-1]), strict=True):
        files[side.file][side.member] = text
    for file, members in files.items():
        write_file(tmp_path / file, members)
    import_parts([sides], tmp_path, tmp_path / "s", tmp_path / "t")
    assert list(read_pairs(tmp_path / "s", tmp_path / "t")) == pairs
