"""Tests of the generated language pair: deterministic, exact gold data, ambiguous only as a bag of words."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterable
from itertools import combinations, islice
from pathlib import Path
from random import Random

import pytest
import sacrebleu
from pydantic import ValidationError
from sacremoses import MosesDetokenizer, MosesTokenizer

from generated_pair_reader import translate
from raises import raises
from wordorder.config.datasets import Generator
from wordorder.data.generate import generate, write_split
from wordorder.data.grammar.lexicon import LEXICON, OBJECT, SUBJECT, THAT, TO, Entry
from wordorder.data.grammar.rules import Grammar
from wordorder.data.grammar.transduction import SentencePair, read_off
from wordorder.data.trees import format_tree, parse_tree, tree_order

SETTINGS = Generator()


def sample(split: str, count: int, settings: Generator = SETTINGS) -> list[SentencePair]:
    return list(islice(generate(settings, split), count))


@pytest.fixture(scope="module")
def pairs() -> list[SentencePair]:
    return sample("train", 3000)


def write(folder: Path, settings: Generator, split: str) -> dict[str, list[str]]:
    paths = {kind: folder / f"{split}.{kind}" for kind in ("source", "target", "alignments", "trees")}
    write_split(settings, split=split, **paths)
    return {kind: path.read_text(encoding="utf-8").splitlines() for kind, path in paths.items()}


# ------------------------------------------------------------------------------------------------------ streams

# After a deliberate change of the grammar or lexicon: take the hash from the failing assertion.
GOLDEN = "455b6dadf5de1d5316a83ffc444f52b018048116146913fccac63585d54cec64"


def test_the_first_hundred_pairs_never_change() -> None:
    text = "".join(
        f"{' '.join(pair.source)}\t{' '.join(pair.target)}\t{pair.alignment}\t{format_tree(pair.tree)}\n"
        for pair in sample("train", 100)
    )
    assert hashlib.sha256(text.encode()).hexdigest() == GOLDEN


def test_asking_for_more_keeps_the_first_ones_and_other_sizes_do_not_matter(tmp_path: Path) -> None:
    few = write(tmp_path / "few", Generator(train=20, valid=5, tests={"test": 7}), "train")
    more = write(tmp_path / "more", Generator(train=50, valid=9, tests={"other": 3, "test": 70}), "train")
    assert [len(lines) for lines in few.values()] == [20] * 4
    assert [len(lines) for lines in more.values()] == [50] * 4
    assert few == {kind: lines[:20] for kind, lines in more.items()}


def test_seeds_and_tests_have_their_own_streams() -> None:
    assert sample("train", 20) != sample("train", 20, Generator(seed=2))
    assert sample("test", 20) != sample("hard", 20)


def test_a_split_may_have_lengths_of_its_own() -> None:
    settings = Generator(max_depth=3, modifiers=0.5, tests={"test": 9, "long": 9}, lengths={"long": (13, 24)})
    lengths = {split: [len(pair.source) for pair in sample(split, 200, settings)] for split in ("test", "long")}
    assert min(lengths["long"]) == 13 and max(lengths["long"]) == 24
    assert min(lengths["test"]) < 13 and max(lengths["test"]) == settings.max_length


@pytest.mark.parametrize("lengths", [{"hard": (3, 9)}, {"test": (9, 3)}])
def test_lengths_that_no_split_can_have_are_refused(lengths: dict[str, tuple[int, int]]) -> None:
    with pytest.raises(ValidationError):
        Generator(lengths=lengths)


def test_lengths_that_the_grammar_never_makes_end_the_search() -> None:
    with raises(code="out-of-range", key="lengths"):
        sample("train", 1, Generator(lengths={"train": (1, 2)}))


def test_no_sentence_of_one_kind_of_split_occurs_in_another() -> None:
    # Short sentences from few words would collide often without the partition.
    settings = Generator(max_length=8, adjectives=0, modifiers=0, adjuncts=0)
    sources = {
        split: {" ".join(pair.source) for pair in sample(split, 1500, settings)} for split in ("train", "valid", "test")
    }
    for one, other in combinations(sources, 2):
        assert not sources[one] & sources[other], f"{one} and {other} overlap"
    repeats = sources["train"] & {
        " ".join(pair.source) for pair in sample("train", 1500, settings.model_copy(update={"seed": 2}))
    }
    assert repeats, "the sentences are too rare for this test to notice a missing partition"


def test_an_unknown_split_is_refused_and_nothing_is_written(tmp_path: Path) -> None:
    with raises("unknown-name", key="tests"):
        write(tmp_path, SETTINGS, "dev")
    assert not list(tmp_path.iterdir())


# --------------------------------------------------------------------------------------------------------- gold


def possible_translations() -> dict[str, set[str | None]]:
    words: dict[str, set[str | None]] = defaultdict(set)
    endings = {entry.ending for entry in LEXICON["noun"]}
    for category, entries in LEXICON.items():
        inflected = category in ("auxiliary", "intransitive", "transitive", "ditransitive")
        for entry in entries:
            words[entry.source] |= {entry.target + ending for ending in endings} if inflected else {entry.target}
    for entry in (TO, THAT):
        words[entry.source].add(entry.target)
    return words


def test_alignments_agree_with_the_lexicon_and_leave_only_articles_and_particles_alone(
    pairs: list[SentencePair],
) -> None:
    translations = possible_translations()
    for pair in pairs:
        for i, j in pair.alignment:
            assert pair.target[j] in translations[pair.source[i]]
        sources, targets = zip(*pair.alignment, strict=True)
        assert len(set(sources)) == len(sources) and len(set(targets)) == len(targets)
        assert {word for i, word in enumerate(pair.source) if i not in sources} <= {"the"}
        assert {word for j, word in enumerate(pair.target) if j not in targets} <= {SUBJECT, OBJECT}
        assert "the" not in {pair.source[i] for i in sources}


def test_the_written_trees_give_the_target_order_of_the_aligned_words(tmp_path: Path) -> None:
    files = write(tmp_path, Generator(train=500), "train")
    for source, alignment, tree in zip(files["source"], files["alignments"], files["trees"], strict=True):
        order = tree_order(parse_tree(tree))
        links = [tuple(map(int, link.split("-"))) for link in alignment.split()]
        assert sorted(order) == list(range(len(source.split())))
        aligned = {i for i, _ in links}
        assert [i for i in order if i in aligned] == [i for i, _ in sorted(links, key=lambda link: link[1])]


def test_no_permutation_holds_a_pattern_that_brackets_cannot_express(pairs: list[SentencePair]) -> None:
    for pair in pairs[:300]:
        order = [i for i, _ in sorted(pair.alignment, key=lambda link: link[1])]
        for a, b, c, d in combinations(order, 4):
            assert not (c < a < d < b or b < d < a < c)  # 2413 and 3142


def test_an_article_goes_with_the_word_after_it(pairs: list[SentencePair]) -> None:
    for pair in pairs:
        order = tree_order(pair.tree)
        for i, word in enumerate(pair.source):
            if word == "the":
                assert order[order.index(i) + 1] == i + 1


# -------------------------------------------------------------------------------------------------- the language


def test_a_deterministic_reader_of_the_source_order_gets_everything_right() -> None:
    """No sentence is ambiguous, and agreement and case are always right: the reader knows nothing of the generator."""
    for settings in (SETTINGS, Generator(max_depth=4, max_length=60, modifiers=0.6, adjuncts=0.6)):
        for pair in sample("train", 1500, settings):
            assert translate(pair.source) == pair.target


@pytest.mark.parametrize(
    ("source", "target"),
    [
        ("the dog bit the man", "nuro ka teno vo ranas"),
        ("the man bit the dog", "teno ka nuro vo ranas"),
        ("the dogs bit the man", "nuroi ka teno vo ranan"),
        ("my cat that the dogs saw will sleep", "nuroi ka fotan hen lo nuto ka gosu feris"),
        ("my cat that saw the dogs will sleep", "nuroi vo fotis hen lo nuto ka gosu feris"),
        (
            "no sad goat that called my monks greeted no bakers never",  # the example of docs/generated-pair.md
            "ture lo garoi vo litis hen bu buva zufo ka bu sinoi vo soris",
        ),
        (
            "near your boy no nuns slowly sold the cat with some lamb to the king soon",
            "dode ze vomo kib bu monoi ka lige bako ri ni fudo pe nuto vo bulin",
        ),
    ],
)
def test_the_reader_reads_what_a_person_would(source: str, target: str) -> None:
    """Pins the reader, and with it the generator, to sentences translated by hand."""
    assert " ".join(translate(source.split())) == target


def test_sentences_have_the_promised_lengths_and_vocabulary(pairs: list[SentencePair]) -> None:
    lengths = [len(pair.source) for pair in pairs]
    assert min(lengths) >= 3 and max(lengths) == SETTINGS.max_length
    assert 10 <= sum(lengths) / len(lengths) <= 12
    source = {word for pair in pairs for word in pair.source}
    target = {word for pair in pairs for word in pair.target}
    assert len(source) == 190 and len(target) == 285 and not source & target


def test_every_word_has_one_category() -> None:
    entries = [entry for category in LEXICON.values() for entry in category]
    words = [entry.source for entry in (*entries, TO, THAT)]
    assert len(words) == len(set(words))


def test_moses_keeps_words_whole_and_the_round_trip_is_exact(pairs: list[SentencePair]) -> None:
    for language, side in (("en", 0), ("qaa", 1)):
        tokenizer, detokenizer = MosesTokenizer(language), MosesDetokenizer(language)
        for pair in pairs[:500]:
            tokens = tokenizer.tokenize(" ".join(pair[side]), escape=False)
            assert tokens == pair[side]
            assert detokenizer.detokenize(tokens, unescape=False) == " ".join(pair[side])


# ------------------------------------------------------------------------------------------------ bags of words


def readings(settings: Generator, seed: int, count: int) -> tuple[SentencePair, list[SentencePair]]:
    """A sentence, and random others with the same bag of source words and the same structure.

    All words of a category are drawn independently of each other, so given the bag and even the structure, every
    assignment of the words to their places is as likely as the true one.
    """
    random = Random(seed)
    draws: list[float] = []
    words: dict[str, list[Entry]] = defaultdict(list)

    def draw() -> float:
        draws.append(random.random())
        return draws[-1]

    def choose(category: str) -> Entry:
        words[category].append(random.choice(LEXICON[category]))
        return words[category][-1]

    true = read_off(Grammar(settings, random=draw, choose=choose).sentence())

    def other() -> SentencePair:
        replay = iter(draws)
        bag = {category: random.sample(entries, len(entries)) for category, entries in words.items()}
        return read_off(
            Grammar(settings, random=lambda: next(replay), choose=lambda category: bag[category].pop()).sentence()
        )

    return true, [other() for _ in range(count)]


def best_guess(sentences: Iterable[str]) -> str:
    """The sentence with the highest mean BLEU against all (minimum Bayes risk)."""
    metric = sacrebleu.BLEU(effective_order=True)
    sentences = list(sentences)
    return max(
        sorted(set(sentences)),
        key=lambda guess: sum(metric.sentence_score(guess, [other]).score for other in sentences),
    )


def test_a_bag_of_words_is_not_enough() -> None:
    """Even an oracle that knows the bag, the grammar and the sentence's structure stays far below 100 BLEU."""
    references, guesses = [], []
    for seed in range(200):
        true, others = readings(SETTINGS, seed, 12)
        assert all(sorted(other.source) == sorted(true.source) for other in others)
        references.append(" ".join(true.target))
        guesses.append(best_guess(" ".join(other.target) for other in others))
    assert sacrebleu.corpus_bleu(guesses, [references]).score < 40
