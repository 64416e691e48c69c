"""Inputs and parameters of the rules that download and prepare data, align words and reorder source sentences."""

from __future__ import annotations

import os
from typing import Any

from wordorder.config.datasets import Dataset, Download
from wordorder.config.reordering import Alignment, Reorderer
from wordorder.data.mirror import demand_unchanged
from wordorder.workflow import dataset_slices as slices
from wordorder.workflow.configuration import Configuration
from wordorder.workflow.positions import check_positions
from wordorder.workflow.slices import canonical

DATA = "results/data/{dataset}"
SUBWORD = f"{DATA}/subword/model.model"
ALIGNMENT = f"{DATA}/alignment/{{aligner}}"
REORDERING = f"{DATA}/reordering/{{reorderer}}"
# The outputs are the files of a binary corpus, not its folder: the time stamp of a folder changes when a file is added
# to it, which would rerun all training runs.
BINARY = ("source.tokens.npy", "source.offsets.npy", "target.tokens.npy", "target.offsets.npy", "meta.json")

Options = list[str]


def binary_files(split: str) -> list[str]:
    """Return the files of the binary corpus of a split."""
    return [f"{DATA}/binary/{split}/{file}" for file in BINARY]


def corpus_file(split: str) -> str:
    """Return the file that represents the binary corpus of a split in the inputs of a rule.

    One rule writes all files of a corpus, and this file last. One file instead of five keeps the workflow fast with
    thousands of models.
    """
    return f"{DATA}/binary/{split}/meta.json"


def positions_file(name: str, split: str) -> str:
    """Return the file that represents the reordered positions of a split in the inputs of a rule."""
    return f"{DATA}/positions/{name}/{split}/meta.json"


def positions_files(name: str, split: str) -> list[str]:
    """Return the files of the reordered positions of a split."""
    return [f"{DATA}/positions/{name}/{split}/{file}" for file in ("positions.npy", "meta.json")]


def _unchanged(entry: Download, file: str) -> str:
    """Return the slice of a download, of which the copied file must not have changed."""
    demand_unchanged(entry, f"resources/downloads/{file}", os.environ.get("WORDORDER_MIRROR") or None)
    return canonical(entry)


class DataRules:
    """Inputs and parameters of the rules about data; the methods take the wildcards of the rule.

    Args:
        configuration: The configuration folder.
    """

    def __init__(self, configuration: Configuration) -> None:
        self.configuration = configuration

    def _dataset(self, wildcards: Any) -> Dataset:
        return self.configuration.dataset(wildcards.dataset)

    # ------------------------------------------------------------------------------------------------- downloads

    def download_slice(self, wildcards: Any) -> str:
        """Return the slice of a download of a dataset."""
        entry = slices.shared_download(self.configuration.valid_datasets, wildcards.folder, wildcards.file)
        return _unchanged(entry, f"{wildcards.folder}/{wildcards.file}")

    def gold_download_slice(self, wildcards: Any) -> str:
        """Return the slice of a download of a set of gold alignments."""
        entry = self.configuration.gold_sets[wildcards.gold].downloads[wildcards.file]
        return _unchanged(entry, f"gold_alignments/{wildcards.gold}/{wildcards.file}")

    def downloads(self, wildcards: Any) -> list[str]:
        """Return the downloads from which a split is imported."""
        dataset = self._dataset(wildcards)
        return [f"resources/downloads/{dataset.folder}/{file}" for file in slices.downloads(dataset, wildcards.split)]

    def download_folder(self, wildcards: Any) -> str:
        """Return the folder of the downloads of a dataset."""
        return f"resources/downloads/{self._dataset(wildcards).folder}"

    def gold_downloads(self, wildcards: Any) -> list[str]:
        """Return the downloads of a set of gold alignments."""
        files = self.configuration.gold_sets[wildcards.gold].text.files
        return [f"resources/downloads/gold_alignments/{wildcards.gold}/{file}" for file in files]

    # ----------------------------------------------------------------------------------------------- preparation

    def text_to_clean(self, dataset: Dataset, split: str, side: str) -> str:
        """Return the text of one side of a split that is cleaned."""
        return f"results/data/{dataset.name}/{'tokenised' if dataset.tokenised else 'raw'}/{split}.{side}"

    def source_to_clean(self, wildcards: Any) -> str:
        """Return the source text of a split that is cleaned."""
        return self.text_to_clean(self._dataset(wildcards), wildcards.split, "source")

    def target_to_clean(self, wildcards: Any) -> str:
        """Return the target text of a split that is cleaned."""
        return self.text_to_clean(self._dataset(wildcards), wildcards.split, "target")

    def held_out_texts(self, wildcards: Any) -> list[str]:
        """Return the texts whose sentences are removed from the training set; none without 'remove_overlap'."""
        dataset = self._dataset(wildcards)
        splits = ["valid", *dataset.test_names] if dataset.preprocessing.remove_overlap else []
        return [f"results/data/{dataset.name}/raw/{split}.{side}" for split in splits for side in ("source", "target")]

    def held_out_option(self, wildcards: Any) -> Options:
        """Return the option that names the held-out texts."""
        texts = self.held_out_texts(wildcards)
        return ["--held-out", *texts] if texts else []

    def side_language(self, wildcards: Any) -> str:
        """Return the language of a side."""
        language: str = getattr(self._dataset(wildcards), f"{wildcards.side}_language")
        return language

    def import_slice(self, wildcards: Any) -> str:
        """Return the slice of an import."""
        return slices.import_slice(self._dataset(wildcards), wildcards.split)

    def generator_slice(self, wildcards: Any) -> str:
        """Return the slice of a generated split."""
        return slices.generator_slice(self._dataset(wildcards), wildcards.split)

    def preprocessing_slice(self, wildcards: Any) -> str:
        """Return the slice of cleaning."""
        return slices.preprocessing_slice(self._dataset(wildcards))

    def subword_slice(self, wildcards: Any) -> str:
        """Return the slice of the subword model."""
        return slices.subword_slice(self._dataset(wildcards))

    def published_slice(self, wildcards: Any) -> str:
        """Return the slice of the count of sentence pairs."""
        return slices.published_slice(self._dataset(wildcards))

    def published_reports(self, wildcards: Any) -> list[str]:
        """Return the cleaning reports of the splits with published counts, in the order of the slice."""
        splits = sorted(self._dataset(wildcards).published_pairs)
        return [f"results/data/{wildcards.dataset}/clean/{split}.report.json" for split in splits]

    def gold_slice(self, wildcards: Any) -> str:
        """Return the slice of a set of gold alignments as a split of a dataset."""
        return slices.gold_slice(self._dataset(wildcards), self.configuration.gold_sets[wildcards.gold])

    # ------------------------------------------------------------------------------------------------- alignment

    def _alignment(self, wildcards: Any) -> Alignment:
        """Return the aligner of a job, which has the wildcard of the aligner or of its reorderer."""
        name = wildcards.get("aligner") or self._reorderer(wildcards).aligner
        return self.configuration.aligners[name]

    def _reorderer(self, wildcards: Any) -> Reorderer:
        return self.configuration.reorderers[wildcards.reorderer]

    def aligner_slice(self, wildcards: Any) -> str:
        """Return the slice of the training of an aligner."""
        return canonical(self._alignment(wildcards).aligner)

    def alignment_slice(self, wildcards: Any) -> str:
        """Return the slice of an alignment."""
        return canonical(self._alignment(wildcards))

    def unit_model(self, wildcards: Any) -> list[str]:
        """Return the subword model if subwords are aligned and reordered; nothing for words."""
        return [SUBWORD] if self._alignment(wildcards).unit == "subword" else []

    def unit_option(self, wildcards: Any, input: Any) -> Options:
        """Return the option that names the subword model if subwords are aligned and reordered."""
        return ["--subword", str(input.subword)] if input.subword else []

    def aligner_training(self, wildcards: Any) -> list[str]:
        """Return what an alignment needs of the training set: the trained aligner, or for external programs the text.

        External programs learn only from the text that they align, so they align other splits with the training set.
        """
        if self._alignment(wildcards).aligner.type == "hmm":
            return [f"{ALIGNMENT}/model.npz"]
        return [] if wildcards.split == "train" else [f"{DATA}/clean/train.{side}" for side in ("source", "target")]

    def aligner_options(self, wildcards: Any, input: Any) -> Options:
        """Return the options that name the trained aligner or the training set."""
        is_embedded = self._alignment(wildcards).aligner.type == "hmm"
        names = ["--model"] if is_embedded else ["--train-source", "--train-target"]
        return [word for option in zip(names, map(str, input.training), strict=False) for word in option]

    def links(self, wildcards: Any) -> str:
        """Return the alignment links of a split by a reorderer's aligner; rules without a split need 'train'."""
        split = wildcards.get("split") or "train"
        return ALIGNMENT.replace("{aligner}", self._reorderer(wildcards).aligner) + f"/{split}.links"

    # ------------------------------------------------------------------------------------------------ reordering

    def oracle_slice(self, wildcards: Any) -> str:
        """Return the slice of oracle orders."""
        return canonical(self._reorderer(wildcards).oracle)

    def parser_slice(self, wildcards: Any) -> str:
        """Return the slice of the training of a parser."""
        return canonical(self._reorderer(wildcards).parser)

    def classes_file(self, wildcards: Any) -> list[str]:
        """Return the word classes of a parser; parsers with the same unit and number of classes share them."""
        number, unit = self._reorderer(wildcards).parser.classes, self._alignment(wildcards).unit
        return [f"{DATA}/classes/{unit}.{number}.tsv"] if number else []

    def classes_option(self, wildcards: Any, input: Any) -> Options:
        """Return the option that names the word classes."""
        return ["--classes", str(input.classes)] if input.classes else []

    def subword_of_unit(self, wildcards: Any) -> list[str]:
        """Return the subword model for classes of subwords."""
        return [SUBWORD] if wildcards.unit == "subword" else []

    def without_fold(self, wildcards: Any) -> Options:
        """Return the option that names the part of the training set that is excluded from a parser's training."""
        return [] if wildcards.fold == "all" else ["--without", wildcards.fold.replace("of", "/")]

    def parser_of_part(self, wildcards: Any) -> str:
        """Return the parser for a part of the training set; with folds, the parser whose training excluded the part."""
        fold = f"{wildcards.part}of{wildcards.parts}" if self._reorderer(wildcards).folds else "all"
        return f"{REORDERING}/parser/{fold}.npz"

    def parts_of_training_set(self, wildcards: Any) -> list[str]:
        """Return the orders of all parts of the training set."""
        count = self._reorderer(wildcards).folds or self._dataset(wildcards).shards
        return [f"{REORDERING}/parts/{part}of{count}.orders" for part in range(1, count + 1)]

    # ------------------------------------------------------------------------------------------------- positions

    def gold_trees(self, wildcards: Any) -> str:
        """Return the gold trees of a split.

        Raises:
            WordorderError: The dataset is not generated, so that it has no gold trees.
        """
        check_positions(self._dataset(wildcards), "gold")
        return f"{DATA}/raw/{{split}}.trees"

    def keep_all(self, wildcards: Any) -> Options:
        """Return the option for splits of which cleaning keeps all pairs, that is, all except 'train'."""
        return [] if wildcards.split == "train" else ["--keep-all"]

    def word_model(self, wildcards: Any) -> list[str]:
        """Return the subword model if words were reordered, so that the subwords of a word stay together."""
        return [] if self._alignment(wildcards).unit == "subword" else [SUBWORD]

    def words_option(self, wildcards: Any, input: Any) -> Options:
        """Return the option that names the subword model if words were reordered."""
        return ["--words", str(input.subword)] if input.subword else []
