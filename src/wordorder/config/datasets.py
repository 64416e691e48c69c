"""Typed models of a dataset: its files, its splits, and its preprocessing."""

from __future__ import annotations

import unicodedata
from typing import Annotated, Any, Literal

from pydantic import Discriminator, Field, RootModel, Tag, model_validator

from wordorder.config.base import Model, Name, Positive, Rate, WithCode
from wordorder.config.extensions import ByName

SHA256 = r"^[0-9a-f]{64}$"
SHA1 = r"^[0-9a-f]{40}$"
MD5 = r"^[0-9a-f]{32}$"
URL = r"^https?://"


class Download(Model):
    """One file to download, or to obtain manually. Checksums and ``bytes`` are those of the file at ``url``."""

    url: Annotated[str, Field(pattern=URL)] | None = Field(default=None, description="Address of the file.")
    also: list[Annotated[str, Field(pattern=URL)]] = Field(
        default=[], description="Further addresses of the same file, tried in turn if 'url' does not give it."
    )
    sha256: Annotated[str, Field(pattern=SHA256)] | None = Field(
        default=None, description="SHA-256 checksum of the file at 'url'."
    )
    md5: Annotated[str, Field(pattern=MD5)] | None = Field(
        default=None, description="MD5 checksum, if no SHA-256 is published."
    )
    git_blob: Annotated[str, Field(pattern=SHA1)] | None = Field(
        default=None, description="Object name of the file in git."
    )
    bytes: Positive | None = Field(default=None, description="Size of the file at 'url', in bytes.")
    mirror: str | None = Field(
        default=None,
        description="Path inside the local mirror (WORDORDER_MIRROR); 'path' and 'path.gz' are tried.",
    )
    text_sha256: Annotated[str, Field(pattern=SHA256)] | None = Field(
        default=None,
        description="SHA-256 of the uncompressed text, which identifies a differently compressed copy in the mirror.",
    )
    text_member: str | None = Field(
        default=None, description="Member of a .zip archive to which 'text_sha256' applies."
    )
    lines: Positive | None = Field(
        default=None, description="Number of lines of the text, if no checksum is published."
    )
    by_hand: str | None = Field(
        default=None, description="How to obtain a file that may not be downloaded automatically; replaces 'url'."
    )

    @model_validator(mode="after")
    def _known_by_its_checksum(self) -> Download:
        if (self.url is None) == (self.by_hand is None):
            raise ValueError("either 'url' or 'by_hand' must be given")
        if self.also and self.url is None:
            raise ValueError("'also' names further addresses, but 'url' is missing")
        if self.by_hand is None and not (self.sha256 or self.md5 or self.git_blob):
            raise ValueError("one of 'sha256', 'md5' and 'git_blob' must be given for the file at 'url'")
        return self

    @property
    def addresses(self) -> list[str]:
        """Where the file is, in the order in which the addresses are tried."""
        return [self.url, *self.also] if self.url else []


# Suffixes of archives, compressed or not.
ARCHIVES = (".zip", ".tar", ".tgz", ".tar.gz", ".tbz2", ".tar.bz2", ".txz", ".tar.xz")


class TextFile(Model):
    """One side of a part: a downloaded file (``.gz`` and ``.bz2`` are decompressed), or one member of an archive."""

    file: str = Field(description="Key in the dataset's 'downloads'.")
    member: str | None = Field(
        default=None, description="Path inside the archive; required for .zip, .tar, .tar.gz, .tgz, …"
    )
    format: Name = Field(
        default="text",
        description="'text' has one sentence per line; for others, which have additional keys, see "
        "docs/add-a-dataset.md.",
    )
    unescape: bool = Field(
        default=False, description="Convert &amp; &lt; &gt; &quot; &apos; &#91; &#93; &#124; to text."
    )

    @model_validator(mode="after")
    def _member_of_an_archive(self) -> TextFile:
        archive = self.file.endswith(ARCHIVES)
        if archive and not self.member:
            raise ValueError(f"'{self.file}' is an archive: 'member' must name one of its files")
        if self.member is not None and not archive:
            raise ValueError(f"'member' is only for archives, whose names end in {', '.join(ARCHIVES)}")
        return self


AnyTextFile = Annotated[TextFile, ByName("dataset_formats", "format", default="text")]


class Choice(Model):
    """A selection of pairs of a part, for corpora without published splits: each pair falls into one of ``of`` buckets.

    By 'line', the bucket is the number of the pair, from 1, modulo ``of``. By 'source' or 'target', it is a hash of the
    letters and digits of that sentence, so that all pairs with this sentence fall into the same bucket.
    """

    by: Literal["line", "source", "target"] = Field(
        description="What determines the bucket of a pair: its number, or its source or target sentence."
    )
    of: Annotated[int, Field(ge=2, description="Number of buckets.")]
    keep: list[Annotated[int, Field(ge=0)]] = Field(default=[], description="Buckets to keep.")
    drop: list[Annotated[int, Field(ge=0)]] = Field(default=[], description="Buckets to drop.")
    unique: bool = Field(default=False, description="Keep only the first pair with the same sentence 'by'.")

    @model_validator(mode="after")
    def _buckets(self) -> Choice:
        if bool(self.keep) == bool(self.drop):
            raise ValueError("either 'keep' or 'drop' must name buckets")
        if max(self.keep + self.drop) >= self.of:
            raise ValueError(f"the buckets are 0 to {self.of - 1}")
        if self.unique and self.by == "line":
            raise ValueError("'unique' needs 'by' to be 'source' or 'target'")
        return self


class Words(Model):
    """A selection of pairs by their lengths in words, before any preprocessing.

    Words are separated by spaces. Two Han or kana characters without a space between them count as one word.
    """

    source: tuple[Positive, Positive] | None = Field(
        default=None, description="Smallest and largest number of words of the source sentence."
    )
    target: tuple[Positive, Positive] | None = Field(
        default=None, description="Smallest and largest number of words of the target sentence."
    )

    @model_validator(mode="after")
    def _some_length(self) -> Words:
        if self.source is None and self.target is None:
            raise ValueError("'source' or 'target' must be given")
        for side, limits in (("source", self.source), ("target", self.target)):
            if limits is not None and limits[0] > limits[1]:
                raise ValueError(f"'{side}' is from {limits[0]} to {limits[1]} words, which no sentence has")
        return self


class Part(Model):
    """Two line-aligned text files, or two sides of one file."""

    source: AnyTextFile = Field(description="The file with the source sentences.")
    target: AnyTextFile = Field(description="The file with the target sentences.")
    choose: Choice | None = Field(default=None, description="The pairs of the part to use; all if missing.")
    words: Words | None = Field(default=None, description="The lengths of the pairs to use; any if missing.")

    @property
    def sides(self) -> tuple[TextFile, TextFile]:
        """The files of both sides."""
        return self.source, self.target

    def reversed(self) -> Part:
        """Return the part with its sides exchanged."""
        sides = {"line": "line", "source": "target", "target": "source"}
        choose = self.choose and self.choose.model_copy(update={"by": sides[self.choose.by]})
        words = self.words and Words(source=self.words.target, target=self.words.source)
        return Part(source=self.target, target=self.source, choose=choose, words=words)


class Cleaning(Model):
    """Filters that drop training pairs. Lengths count tokens after tokenisation.

    Two Han or kana characters without a space between them count as one token, also in segmented text, where longer
    words therefore count as several tokens: 5 % more tokens than words in small_parallel_enja, 9 % in KFTT.
    """

    min_length: Positive = Field(default=1, description="Smallest number of tokens of a side.")
    max_length: Positive = Field(
        default=250,
        description="Largest number of tokens of a side; see docs/add-a-dataset.md for Chinese and Japanese.",
    )
    max_ratio: Annotated[float, Field(ge=1)] = Field(
        default=1.5,
        description="Largest ratio of the longer to the shorter side, in tokens counted as for 'max_length'; pairs "
        "above it are dropped.",
    )
    ratio_slack: int = Field(
        default=10, ge=0, description="Pairs whose lengths differ by at most this many tokens pass the ratio test."
    )


class TextPreprocessing(Model):
    """Preprocessing of the text before the subwords."""

    normalise_punctuation: bool = Field(default=True, description="Normalise punctuation with the Moses rules.")
    tokenise: bool = Field(default=True, description="Moses tokenisation (sacremoses) before the subwords.")
    aggressive_dash_splits: bool = Field(
        default=False, description="Split words at dashes, as the Moses tokeniser's option -a does."
    )
    segment: dict[str, Literal["mecab", "jieba"]] = Field(
        default={},
        description="Word segmenter for each language without spaces: {ja: mecab}, {zh: jieba}. "
        "Without it they are left to the subwords.",
    )
    replace: dict[str, dict[str, str]] = Field(
        default={},
        description="For a language, characters with their replacements: {ro: {ş: ș}}. Text only; references are kept.",
    )
    join: list[str] = Field(
        default=[],
        description="Languages without spaces of which some text comes segmented: spaces between their characters are "
        "removed before the text is segmented.",
    )
    cleaning: Cleaning = Field(default=Cleaning(), description="The filters of training pairs.")

    @model_validator(mode="after")
    def _single_characters(self) -> TextPreprocessing:
        for language, characters in self.replace.items():
            for character, replacement in characters.items():
                if len(character) != 1:
                    raise ValueError(f"'replace.{language}' names '{character}', which is not one character")
                for text in (character, replacement):
                    if (right := unicodedata.normalize("NFC", text)) != text:
                        raise ValueError(
                            f"'replace.{language}' has '{text}' in another form than Unicode's NFC, to which all text "
                            f"is converted; write {right!a}"
                        )
        return self


class Subword(Model):
    """The joint subword model of both languages: the slice of a 'train-subword' job."""

    vocabulary: Positive = Field(default=32000, description="Size of the joint BPE vocabulary.")
    subword_sentences: Positive = Field(
        default=10_000_000, description="BPE is trained on at most this many sentences of both sides."
    )


class Preprocessing(Subword, TextPreprocessing):
    """Preprocessing from raw text to subwords."""

    remove_overlap: bool = Field(
        default=False,
        description="Drop training pairs one of whose sides has the same letters and digits, whatever their case, as "
        "that side of a pair of 'valid' or of a test set. Both are compared after 'replace'.",
    )


class Preparation(Model):
    """The slice of a 'clean' job: the preprocessing of one language pair before the subwords."""

    preprocessing: TextPreprocessing
    source_language: str
    target_language: str


class Import(WithCode):
    """The slice of an 'import' job: the parts that are concatenated to one split of a dataset."""

    parts: Annotated[list[Part], Field(min_length=1)]
    by_hand: str | None = Field(default=None, description="Message to the user if a file is missing.")


class Generator(Model):
    """The generated language pair; see :mod:`wordorder.data.generate`.

    As the slice of a 'generate' job, it holds only the test set to be generated, and the numbers of sentences of the
    other splits are the defaults.
    """

    seed: int = Field(default=1, description="Seed of the random streams.")
    train: Positive = Field(default=10000, description="Number of training pairs.")
    valid: Positive = Field(default=500, description="Number of validation pairs.")
    tests: dict[Name, Positive] = Field(
        default={"test": 1000}, description="Number of pairs of each test set, by its name."
    )
    max_depth: Positive = Field(
        default=2, le=20, description="Levels of phrases and relative clauses within a noun phrase."
    )
    max_length: int = Field(
        default=20, ge=8, description="Largest number of words of a source sentence; longer ones are drawn again."
    )
    lengths: dict[Name, tuple[Positive, Positive]] = Field(
        default={},
        description="Smallest and largest number of words of the source sentences of a split, instead of 1 and "
        "max_length; sentences of other lengths are drawn again.",
    )
    adjectives: Rate = Field(default=0.5, description="Probability that a noun has an adjective.")
    modifiers: Rate = Field(
        default=0.3, description="Probability that a noun has a prepositional phrase or relative clause."
    )
    adjuncts: Rate = Field(
        default=0.3, description="Probability of an adverbial of time, of place and of manner, each independently."
    )

    @model_validator(mode="after")
    def _lengths_of_splits(self) -> Generator:
        splits = ["train", "valid", *self.tests]
        for split, (least, most) in self.lengths.items():
            if split not in splits:
                raise ValueError(f"'lengths' names the split '{split}', but the splits are {', '.join(splits)}")
            if least > most:
                raise ValueError(f"the lengths of '{split}' are from {least} to {most}, which no sentence has")
        return self


def _counted_by(value: Any) -> str:
    return "several" if isinstance(value, dict) else "one"


PairCount = Annotated[
    Annotated[Positive, Tag("one")] | Annotated[dict[str, Positive], Tag("several")],
    Discriminator(_counted_by),
]


class Dataset(Model):
    """A language pair with its training, validation and test parts."""

    name: Name = Field(description="Name of the dataset, which is the name of its file.")
    title: str = Field(description="Title on pages and in tables.")
    source_language: str = Field(description="ISO 639-1 code of the source language, such as en.")
    target_language: str = Field(description="ISO 639-1 code of the target language, such as de.")
    licence: str = Field(description="Licence or terms of use of the text.")
    homepage: str | None = Field(default=None, description="Address of a page about the dataset.")
    by_hand: str | None = Field(default=None, description="How to obtain the files if a licence restricts access.")
    downloads: dict[Name, Download] = Field(default={}, description="Files to download or to place manually, by name.")
    download_folder: Name | None = Field(
        default=None,
        description="Folder of the files under resources/downloads; by default the name of the dataset. Datasets that "
        "need the same archive download it once if they name the same folder.",
    )
    tokenised: bool = Field(
        default=False,
        description="The text has spaces between its tokens already. They are kept for training ('preprocessing."
        "tokenise' must be false); translations and references are detokenised before they are scored.",
    )
    published_pairs: dict[Name, PairCount] = Field(
        default={},
        description="Numbers of pairs that publications report for 'train', 'valid' or a test set, to compare with; "
        "several reports by the name of each.",
    )
    train: list[Part] = Field(default=[], description="Parts that are concatenated to the training set.")
    valid: list[Part] = Field(default=[], description="Parts that are concatenated to the validation set.")
    tests: dict[Name, list[Part]] = Field(default={}, description="Parts of each test set, by its name.")
    generator: Generator | None = Field(
        default=None,
        description="Settings of the generated pair, instead of 'downloads', 'train', 'valid' and 'tests'.",
    )
    preprocessing: Preprocessing = Field(default=Preprocessing(), description="Cleaning, tokenisation and subwords.")
    shards: Annotated[int, Field(gt=0, le=10_000)] = Field(
        default=1, description="Number of parallel jobs for the preprocessing of 'train'."
    )

    @property
    def test_names(self) -> list[str]:
        """The names of the test sets."""
        return list(self.generator.tests if self.generator else self.tests)

    @property
    def detokenise(self) -> bool:
        """Whether translations must be detokenised. Translations of untokenised text need no detokenisation."""
        return self.preprocessing.tokenise or self.tokenised or self.generator is not None

    @property
    def folder(self) -> str:
        """The folder of its downloads under resources/downloads."""
        return self.download_folder or self.name


class PublishedPairs(RootModel[dict[Name, PairCount]]):
    """The slice of a 'count-pairs' job."""


class DerivedSplit(Model):
    """A split that is made from splits of the original dataset."""

    of: list[Name] = Field(
        default=[], description="Splits of the original whose parts are concatenated; by default the one of this name."
    )
    words: Words | None = Field(
        default=None, description="The lengths of the pairs to use, instead of those that the original uses."
    )


class DerivedDataset(Model):
    """A dataset file that contains only its differences from another dataset, whose downloads it shares."""

    name: Name = Field(description="Name of the dataset, which is the name of its file.")
    title: str = Field(description="Title on pages and in tables.")
    reverse_of: Name | None = Field(
        default=None, description="Dataset to reverse: the same text in the other direction."
    )
    variant_of: Name | None = Field(default=None, description="Dataset to vary: the same except for the other keys.")
    vocabulary: Positive | None = Field(default=None, description="Replaces 'preprocessing.vocabulary'.")
    max_length: Positive | None = Field(
        default=None,
        description="Replaces 'preprocessing.cleaning.max_length', such as for tests of longer sentences than those of "
        "training.",
    )
    splits: dict[Name, DerivedSplit] = Field(
        default={},
        description="Replaces 'train', 'valid' or the test sets. If a test set is named, those that are not named are "
        "left out.",
    )

    @model_validator(mode="after")
    def _of_one(self) -> DerivedDataset:
        if (self.reverse_of is None) == (self.variant_of is None):
            raise ValueError("either 'reverse_of' or 'variant_of' must be given")
        return self

    @property
    def original(self) -> str:
        """The name of the original dataset."""
        return self.reverse_of or self.variant_of or ""

    def of(self, original: Dataset) -> Dataset:
        """Return the complete dataset."""
        own: dict[str, Any] = {"name": self.name, "title": self.title, "download_folder": original.folder}
        changed: dict[str, Any] = {}
        if self.vocabulary is not None:
            changed["vocabulary"] = self.vocabulary
        if self.max_length is not None:
            changed["cleaning"] = original.preprocessing.cleaning.model_copy(update={"max_length": self.max_length})
        if changed:
            own["preprocessing"] = original.preprocessing.model_copy(update=changed)
        if self.reverse_of is not None:
            own |= {
                "source_language": original.target_language,
                "target_language": original.source_language,
                "train": [part.reversed() for part in original.train],
                "valid": [part.reversed() for part in original.valid],
                "tests": {test: [part.reversed() for part in parts] for test, parts in original.tests.items()},
            }
        dataset = original.model_copy(update=own)
        return self._split(dataset) if self.splits else dataset

    def _split(self, dataset: Dataset) -> Dataset:
        """Replace the splits of a dataset by those that 'splits' makes from them, and drop files that none needs."""
        known = {"train": dataset.train, "valid": dataset.valid, **dataset.tests}
        made = {
            name: [
                part if split.words is None else part.model_copy(update={"words": split.words})
                for original in split.of or [name]
                for part in known[original]
            ]
            for name, split in self.splits.items()
        }
        tests = {name: parts for name, parts in made.items() if name not in ("train", "valid")} or dataset.tests
        splits = {"train": dataset.train, "valid": dataset.valid, **tests} | made
        used = {side.file for parts in splits.values() for part in parts for side in part.sides}
        counts = dataset.published_pairs.items()
        return dataset.model_copy(
            update={
                "train": splits["train"],
                "valid": splits["valid"],
                "tests": tests,
                "downloads": {name: file for name, file in dataset.downloads.items() if name in used},
                "published_pairs": {name: count for name, count in counts if name in splits.keys() - made.keys()},
            }
        )
