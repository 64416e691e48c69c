"""Joint subwords of both languages: byte-pair encoding by sentencepiece (Kudo and Richardson 2018)."""

from __future__ import annotations

import io
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, compress
from pathlib import Path

import numpy as np
import sentencepiece
from numpy.typing import NDArray

from wordorder.config import datasets
from wordorder.data.binary import write_corpus
from wordorder.data.sampling import spread
from wordorder.data.text import read_lines, read_pairs
from wordorder.errors import WordorderError
from wordorder.files import atomic, reading
from wordorder.integrity import check_inside
from wordorder.progress import track

PAD, UNKNOWN, BEGIN, END = range(4)
SPACE = "\u2581"  # sentencepiece's symbol for the space before a word
_BOUNDARY = "\u2585"  # sentencepiece leaves out training lines with this character, which it uses itself
_LONGEST_LINE = 4192  # bytes; sentencepiece leaves out longer training lines, unless it is told a larger number

# Number of distinct characters that always counts as an alphabet.
_ALPHABET = 256
_SMALLEST_SAMPLE = 100


def character_coverage(lines: Iterable[str], vocabulary: int) -> float:
    """Choose the share of running text whose characters get their own subword.

    It is 1 as long as all characters take at most a tenth of the vocabulary; less would make rare letters of a small
    corpus unknown. Otherwise (Chinese, Japanese, noise from the web) it is 0.9995, sentencepiece's default; more would
    fill the vocabulary with characters that occur once.
    """
    characters: set[str] = set()
    for line in lines:
        characters.update(line)
    return 1.0 if len(characters) <= max(_ALPHABET, vocabulary // 10) else 0.9995


def train_subword(inputs: Sequence[str | Path], output: str | Path, *, config: datasets.Subword) -> None:
    """Train the joint subword model of both languages.

    The same input gives the same model. Of a larger text than 'subword_sentences', an evenly spread sample is used:
    sentencepiece itself would draw another sample in every process.

    Example:
        wordorder stage train-subword --config '{}' --inputs train.s train.t --output model.model

    Args:
        inputs: The cleaned texts of both languages.
        output: The sentencepiece model to write.
        config: The size of the vocabulary and the amount of text.

    Raises:
        WordorderError: The text cannot fill the vocabulary, or the vocabulary has no room for its characters.
    """
    vocabulary, sentences = config.vocabulary, config.subword_sentences
    names = ", ".join(map(str, inputs))
    if sentences <= _SMALLEST_SAMPLE:
        raise WordorderError(
            f"'preprocessing.subword_sentences' is {sentences}, but sentencepiece takes more than {_SMALLEST_SAMPLE}.",
            code="out-of-range",
            key="preprocessing.subword_sentences",
            found=sentences,
        )

    def all_lines() -> Iterator[str]:
        every = chain.from_iterable(map(read_lines, inputs))
        return (line.replace(_BOUNDARY, " ") for line in every if line.strip())

    chosen = spread(sum(1 for _ in all_lines()), sentences)

    def lines() -> Iterator[str]:
        return compress(all_lines(), chosen)

    if not len(chosen):
        raise WordorderError(f"No subwords can be trained: {names} has no text.", code="empty-file", path=inputs[0])
    model = io.BytesIO()
    try:
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=track(lines(), "Subword training reads", unit="lines"),
            model_writer=model,
            model_type="bpe",
            vocab_size=vocabulary,
            character_coverage=character_coverage(lines(), vocabulary),
            # This option and the shuffle have no effect on so few lines, but the model contains their values.
            input_sentence_size=sentences,
            max_sentence_length=max(_LONGEST_LINE, max(len(line.encode()) for line in lines())),
            shuffle_input_sentence=True,
            # The lines are already normalised, and further changes would not be visible in the text.
            normalization_rule_name="identity",
            pad_id=PAD,
            unk_id=UNKNOWN,
            bos_id=BEGIN,
            eos_id=END,
            num_threads=1,
            minloglevel=2,
        )
    except RuntimeError as error:
        raise WordorderError(
            _explain(str(error), vocabulary, names),
            code="unfit-vocabulary",
            key="preprocessing.vocabulary",
            found=vocabulary,
        ) from error
    with atomic(output, checksum="inside") as temporary:
        temporary.write_bytes(model.getvalue())


def _explain(message: str, vocabulary: int, names: str) -> str:
    if found := re.search(r"set it to a value <= (\d+)", message):
        return (
            f"{names} has too little text for a vocabulary of {vocabulary} subwords: at most {found[1]} can be made. "
            f"Set the dataset's 'preprocessing.vocabulary' to {found[1]} or less."
        )
    if found := re.search(r"smaller than required_chars\D*(\d+) vs (\d+)", message):
        return (
            f"A vocabulary of {vocabulary} subwords has no room for the characters of {names}. "
            f"Set the dataset's 'preprocessing.vocabulary' to {found[2]} or more."
        )
    return (
        f"sentencepiece could not train {vocabulary} subwords on {names}: {message}. "
        "Set the dataset's 'preprocessing.vocabulary' to another number."
    )


class Subword:
    """A trained subword model. Create one with :meth:`load`."""

    def __init__(self, processor: sentencepiece.SentencePieceProcessor) -> None:
        self._processor = processor
        self.size: int = processor.get_piece_size()

    @classmethod
    def load(cls, path: str | Path) -> Subword:
        """Read a sentencepiece model."""
        remedy = f"Remake it: 'snakemake --force {path}'."
        with reading(path):
            size = check_inside(Path(path), remedy)
            data = Path(path).read_bytes()[:size]
        processor = sentencepiece.SentencePieceProcessor()
        try:
            processor.LoadFromSerializedProto(data)
        except RuntimeError as error:
            raise WordorderError(
                f"{path} is not a sentencepiece model. {remedy}", code="damaged-file", path=path
            ) from error
        special = (processor.pad_id(), processor.unk_id(), processor.bos_id(), processor.eos_id())
        if special != (PAD, UNKNOWN, BEGIN, END):
            raise WordorderError(
                f"{path} numbers padding, unknown, beginning and end {special} instead of 0, 1, 2, 3. "
                "Train the model with 'wordorder stage train-subword'.",
                code="wrong-model",
                path=path,
                found=special,
                expected=(PAD, UNKNOWN, BEGIN, END),
            )
        return cls(processor)

    def encode(self, line: str) -> list[int]:
        """Convert a line to token indices, without beginning and end."""
        return list(self._processor.encode(line))

    def pieces(self, line: str) -> list[str]:
        """Split a line into subwords as the model writes them, one per index of :meth:`encode`."""
        return [str(piece) for piece in self._processor.encode(line, out_type=str)]

    def all_pieces(self) -> list[str]:
        """Return every subword as it is written in the model, in the order of their numbers."""
        return [str(self._processor.id_to_piece(token)) for token in range(self.size)]

    def word_starts(self) -> NDArray[np.bool_]:
        """Return whether each token begins a word, (size,).

        A token that is only a space begins the word whose first letter follows; an unknown letter continues a word.
        """
        return np.array([self._processor.id_to_piece(token).startswith(SPACE) for token in range(self.size)])

    def decode(self, tokens: Sequence[int]) -> str:
        """Convert token indices to a line; special tokens vanish, except that an unknown one becomes ``⁇``."""
        return " ".join(str(self._processor.decode([int(token) for token in tokens])).split())


def binarise(subword: str | Path, source: str | Path, target: str | Path, output: str | Path) -> None:
    """Turn a cleaned parallel text into a binary corpus.

    Example:
        wordorder stage binarise --subword model.model --source train.s --target train.t --output binary/train

    Args:
        subword: The sentencepiece model.
        source: The cleaned source text.
        target: The cleaned target text.
        output: The corpus to write.
    """
    model = Subword.load(subword)
    pairs = track(read_pairs(source, target), "Binarising", unit="pairs")
    encoded = ((model.encode(source_line), model.encode(target_line)) for source_line, target_line in pairs)
    write_corpus(output, encoded, vocabulary_size=model.size)
