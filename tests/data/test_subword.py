"""Joint subwords."""

from __future__ import annotations

import random
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import sentencepiece
from hypothesis import given
from hypothesis import strategies as st

from full_disk import no_file_larger_than
from raises import raises
from wordorder.config import datasets
from wordorder.config.datasets import TextPreprocessing
from wordorder.data.binary import ParallelCorpus
from wordorder.data.clean import preprocessor
from wordorder.data.subword import BEGIN, END, PAD, UNKNOWN, Subword, binarise, character_coverage, train_subword
from wordorder.data.text import read_lines, write_pairs
from wordorder.data.units import words
from wordorder.integrity import record

LETTERS = "abcdefghijklmnopqrstuvwxyzäöüß.,?'½Ａ"  # the last two are changed by other normalisations


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two texts of made-up words, blank lines among them, and a model of 200 subwords."""
    folder = tmp_path_factory.mktemp("subword")
    chance = random.Random(0)
    words = ["".join(chance.choices(LETTERS, k=chance.randint(1, 9))) for _ in range(300)]
    lines = [[" ".join(chance.choices(words, k=chance.randint(0, 12))) for _ in range(400)] for _ in range(2)]
    lines[0][0] = LETTERS
    lines[1][7] = ""
    write_pairs(folder / "source", folder / "target", zip(*lines, strict=True))
    train(folder, "model")
    return folder


def train(folder: Path, name: str, *, vocabulary: int = 200, sentences: int = 10_000) -> bytes:
    train_subword(
        [folder / "source", folder / "target"],
        folder / name,
        config=datasets.Subword(vocabulary=vocabulary, subword_sentences=sentences),
    )
    return (folder / name).read_bytes()


@pytest.fixture(scope="module")
def model(folder: Path) -> Subword:
    return Subword.load(folder / "model")


def test_special_pieces_are_where_every_stage_expects_them(folder: Path, model: Subword) -> None:
    assert (PAD, UNKNOWN, BEGIN, END) == (0, 1, 2, 3)
    processor = sentencepiece.SentencePieceProcessor(model_file=str(folder / "model"))
    assert [processor.id_to_piece(token) for token in range(4)] == ["<pad>", "<unk>", "<s>", "</s>"]
    assert model.size == 200


def test_words_begin_where_their_space_is(folder: Path, model: Subword) -> None:
    starts = model.word_starts()
    assert starts.shape == (200,) and not starts[[PAD, UNKNOWN, BEGIN, END]].any()
    for path in (folder / "source", folder / "target"):
        for line in read_lines(path):
            assert starts[model.encode(line)].sum() == len(line.split())
    # The letter is unknown, so the space before it is a subword; inside a word, an unknown letter starts no new one.
    assert model.encode("漢")[1:] == [UNKNOWN]
    for text, count in (("漢", 1), ("漢a ab漢", 2), ("  a   漢  ", 2), ("", 0)):
        assert starts[model.encode(text)].sum() == count


@pytest.mark.parametrize("tokenise", [True, False])
def test_words_of_cleaned_text_are_words_of_the_model(model: Subword, tokenise: bool) -> None:
    """Also where the text has the character that sentencepiece writes for a space."""
    prepare, starts = preprocessor("en", TextPreprocessing(tokenise=tokenise)), model.word_starts()
    for text in ("the \u2581 cat", "\u2581\u2581 a", "\u2581a b\u2581c\u2581", "\u2581"):
        line = prepare(text)
        assert starts[model.encode(line)].sum() == len(words(line))


def test_training_repeats_to_the_byte(folder: Path) -> None:
    assert train(folder, "again") == (folder / "model").read_bytes()
    sampled = train(folder, "sampled", sentences=101, vocabulary=150)
    assert train(folder, "sampled again", sentences=101, vocabulary=150) == sampled
    assert sampled != train(folder, "all", vocabulary=150)


def test_a_sample_is_the_same_in_every_process(folder: Path, tmp_path: Path) -> None:
    texts = [str(folder / side) for side in ("source", "target")]
    script = (
        "import sys; from wordorder.config.datasets import Subword; from wordorder.data.subword import train_subword; "
        "train_subword(sys.argv[2:], sys.argv[1], config=Subword(vocabulary=150, subword_sentences=101))"
    )
    for name in ("one", "other"):
        subprocess.run([sys.executable, "-c", script, str(tmp_path / name), *texts], check=True)
    assert (tmp_path / "one").read_bytes() == (tmp_path / "other").read_bytes()


def test_a_sample_is_spread_over_all_texts(tmp_path: Path) -> None:
    for side, letters in (("source", "ab"), ("target", "cd")):
        lines = [f"{letter}{number % 97}" for letter in letters for number in range(200)]
        (tmp_path / side).write_text("\n\n".join(lines))
    train(tmp_path, "model", vocabulary=40, sentences=400)
    assert UNKNOWN not in Subword.load(tmp_path / "model").encode("a b c d")


@pytest.mark.parametrize("line", ["\u2585 ö", "ö " * 2_000], ids=["reserved character", "long line"])
def test_no_line_is_left_out(folder: Path, tmp_path: Path, line: str) -> None:
    """Sentencepiece leaves out lines with its own character, and long ones, without a message."""
    for side in ("source", "target"):
        text = (folder / side).read_text("utf-8").replace("ö", "o")
        (tmp_path / side).write_text(f"{text}{line}\n", encoding="utf-8")
    train(tmp_path, "model")
    assert UNKNOWN not in Subword.load(tmp_path / "model").encode("ö")


def test_the_training_text_has_no_unknown_character(folder: Path, model: Subword) -> None:
    for side in ("source", "target"):
        for line in read_lines(folder / side):
            tokens = model.encode(line)
            assert model.decode(tokens) == line
            assert all(END < token < model.size for token in tokens)


@given(st.text("".join(sorted(LETTERS)) + " "))
def test_any_text_of_known_letters_comes_back(model: Subword, line: str) -> None:
    assert model.decode(model.encode(line)) == " ".join(line.split())


@given(st.text(st.characters(exclude_categories=("Cs", "Cc", "Zl", "Zp"))))
def test_any_text_becomes_tokens_of_the_vocabulary_and_one_line(model: Subword, line: str) -> None:
    tokens = model.encode(line)
    assert all(token == UNKNOWN or END < token < model.size for token in tokens), "never padding, beginning or end"
    assert len((model.decode(tokens) + "x").splitlines()) == 1


def test_decode_takes_what_a_model_puts_out(model: Subword) -> None:
    tokens = model.encode("abc")
    assert model.decode(np.array([BEGIN, *tokens, END, PAD], dtype=np.uint16)) == "abc"
    assert model.decode([UNKNOWN]) == "⁇"
    assert model.decode([]) == ""


def test_text_that_looks_like_a_special_piece_is_text(model: Subword) -> None:
    assert not {PAD, BEGIN, END} & set(model.encode("<s> </s> <pad> <unk>"))


def test_a_vocabulary_that_the_text_cannot_fill_is_said_with_the_largest(folder: Path) -> None:
    with raises("unfit-vocabulary", key="preprocessing.vocabulary") as caught:
        train(folder, "large", vocabulary=50_000)
    largest = int(str(caught.error).rsplit(" to ", 1)[1].split()[0])
    assert not (folder / "large").exists()
    train(folder, "largest", vocabulary=largest)
    assert Subword.load(folder / "largest").size == largest


def test_a_vocabulary_without_room_for_the_characters_is_said_with_the_smallest(folder: Path) -> None:
    with raises("unfit-vocabulary", key="preprocessing.vocabulary") as caught:
        train(folder, "small", vocabulary=10)
    smallest = int(str(caught.error).rsplit(" to ", 1)[1].split()[0])
    train(folder, "smallest", vocabulary=smallest)
    assert Subword.load(folder / "smallest").size == smallest
    with raises("unfit-vocabulary", key="preprocessing.vocabulary"):
        train(folder, "tiny", vocabulary=2)


def test_too_small_a_sample_is_said(folder: Path) -> None:
    with raises("out-of-range", key="preprocessing.subword_sentences"):
        train(folder, "sample", sentences=100)


def test_alphabets_are_kept_whole_and_many_characters_are_not() -> None:
    assert character_coverage([LETTERS], 100) == 1
    han = "".join(map(chr, range(0x4E00, 0x4E00 + 3000)))
    assert character_coverage([han[:1500], han[1500:]], 32_000) == 1
    assert character_coverage([han[:1500], han[1500:]], 8_000) == 0.9995


def test_a_rare_letter_of_a_small_corpus_has_a_piece(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("the same words again\n" * 1000 + "Ω\n")
    train_subword(
        [tmp_path / "text"], tmp_path / "model", config=datasets.Subword(vocabulary=40, subword_sentences=10_000)
    )
    assert UNKNOWN not in Subword.load(tmp_path / "model").encode("Ω")


@pytest.mark.parametrize("content", ["", "\n \n"])
def test_no_text_is_said(tmp_path: Path, content: str) -> None:
    (tmp_path / "text").write_text(content)
    with raises("empty-file"):
        train_subword(
            [tmp_path / "text"], tmp_path / "model", config=datasets.Subword(vocabulary=40, subword_sentences=1000)
        )


def test_invalid_text_is_said_and_nothing_written(tmp_path: Path) -> None:
    (tmp_path / "text").write_bytes(b"good\n" * 10 + b"\xff\n")
    with raises("not-utf-8", line=11):
        train_subword(
            [tmp_path / "text"], tmp_path / "model", config=datasets.Subword(vocabulary=10, subword_sentences=1000)
        )
    assert [path.name for path in tmp_path.iterdir()] == ["text"]


def test_a_full_disk_leaves_no_model(folder: Path, tmp_path: Path) -> None:
    with raises("disk-full"), no_file_larger_than(1000):
        train_subword(
            [folder / "source"], tmp_path / "model", config=datasets.Subword(vocabulary=200, subword_sentences=1000)
        )
    assert list(tmp_path.iterdir()) == []


def test_what_is_no_model_is_said(folder: Path, tmp_path: Path) -> None:
    with raises("unreadable-file"):
        Subword.load(tmp_path / "nothing")
    for content in (b"", b"text", (folder / "model").read_bytes()[:500]):
        (tmp_path / "model").write_bytes(content)
        with raises("damaged-file", says="checksum"):
            Subword.load(tmp_path / "model")
        record(tmp_path / "model", "inside", tmp_path / "model")
        with raises("damaged-file"):
            Subword.load(tmp_path / "model")


def test_a_model_with_other_special_pieces_is_refused(folder: Path, tmp_path: Path) -> None:
    sentencepiece.SentencePieceTrainer.train(
        input=str(folder / "source"), model_prefix=str(tmp_path / "foreign"), vocab_size=100, minloglevel=2
    )
    record(tmp_path / "foreign.model", "inside", tmp_path / "foreign.model")
    with raises("wrong-model"):
        Subword.load(tmp_path / "foreign.model")


def test_from_text_to_binary_to_text(folder: Path, model: Subword, tmp_path: Path) -> None:
    binarise(folder / "model", folder / "source", folder / "target", tmp_path / "corpus")
    corpus = ParallelCorpus.open(tmp_path / "corpus")
    assert len(corpus) == 400
    assert corpus.vocabulary_size == model.size
    assert [model.decode(corpus.source(i)) for i in range(400)] == list(read_lines(folder / "source"))
    assert [model.decode(corpus.target(i)) for i in range(400)] == list(read_lines(folder / "target"))
