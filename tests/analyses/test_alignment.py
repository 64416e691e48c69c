"""Tests of links derived from attention, against small matrices and the definition in loops; gold sets as splits."""

from __future__ import annotations

import gzip
import io
import json
import os
import random
import tarfile
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from raises import raises
from tiny_models import SIZE, tiny_model
from wordorder.alignment.error_rate import error_rate
from wordorder.alignment.gold_sets import import_gold, read_gold_set, reverse, word_pieces, write_gold
from wordorder.alignment.links import GoldLinks, Links, read_gold
from wordorder.analyses.alignment import (
    AttentionAlignment,
    Words,
    check_words,
    layer_number,
    strongest,
    word_weights,
)
from wordorder.cli.main import main
from wordorder.config import datasets
from wordorder.config.alignments import GoldImport, GoldSet, GoldText, gold_split
from wordorder.config.datasets import Preparation, TextPreprocessing
from wordorder.config.load import load_gold_sets
from wordorder.data.binary import ParallelCorpus, write_corpus
from wordorder.data.subword import Subword, train_subword
from wordorder.data.text import read_lines, write_lines
from wordorder.decoding.forced import Forced
from wordorder.encodings.registry import parse
from wordorder.model.batch import PAD, Batch
from wordorder.workflow.slices import canonical

ROOT = Path(__file__).parents[2]
MIRROR = os.environ.get("WORDORDER_MIRROR")
needs_mirror = pytest.mark.skipif(not MIRROR, reason="WORDORDER_MIRROR names no mirror")
SIZES = {"europarl100-de-en": 100, "hansards-en-fr": 447, "kftt-ja-en": 582, "wpt03-ro-en": 248, "tsinghua-zh-en": 450}


# ------------------------------------------------------------------------------------------------------- words


def test_words_by_hand() -> None:
    # Source: "a" "b1 b2"; target: "x1 x2" "y".
    pieces = np.array([[0.5, 0.2, 0.1], [0.1, 0.3, 0.4], [0.6, 0.1, 0.2]])
    words = word_weights(pieces, [1, 2], [2, 1])
    # Added up over b: .3 and .7 for x1 and x2, .3 for y. Averaged over x: (.5 + .1) / 2 for a, (.3 + .7) / 2 for b.
    assert words == pytest.approx(np.array([[0.3, 0.5], [0.6, 0.3]]))
    assert strongest(pieces, [1, 2], [2, 1]) == [(1, 0), (0, 1)]


def test_a_word_of_which_nothing_is_left_has_no_link() -> None:
    pieces = np.array([[0.1, 0.9], [0.8, 0.2]])
    assert strongest(pieces, [0, 1, 1], [1, 0, 1]) == [(2, 0), (1, 2)]
    assert strongest(np.zeros((2, 0)), [0], [2]) == []
    assert strongest(np.zeros((0, 2)), [2], []) == []


def test_of_equal_weights_the_first_word_is_linked() -> None:
    assert strongest(np.full((1, 3), 0.25), [1, 1, 1], [1]) == [(0, 0)]


def test_words_as_the_definition_says() -> None:
    draw = random.Random(1)
    for _ in range(30):
        source, target = ([draw.randint(0, 3) for _ in range(draw.randint(1, 5))] for _ in "st")
        weights = np.random.default_rng(draw.randrange(99)).random((sum(target), sum(source)))
        found = word_weights(weights, source, target)
        for j, pieces in enumerate(target):
            for i, others in enumerate(source):
                total = 0.0
                for t in range(sum(target[:j]), sum(target[:j]) + pieces):
                    for s in range(sum(source[:i]), sum(source[:i]) + others):
                        total += weights[t, s] / pieces
                assert found[j, i] == pytest.approx(total)


@pytest.mark.parametrize(("layer", "layers", "number"), [(-2, 6, 4), (-1, 6, 5), (0, 6, 0), (-2, 1, 0), (-9, 3, 0)])
def test_layers(layer: int, layers: int, number: int) -> None:
    assert layer_number(layer, layers) == number


def test_a_layer_that_there_is_not() -> None:
    with raises("out-of-range", key="analyses.alignment.layer", found=3, expected=2, says="3 decoder layers"):
        layer_number(3, 3)


# ----------------------------------------------------------------------------------------------------- measuring


def sure(links: Links) -> GoldLinks:
    return GoldLinks(links, links)


def pass_of(weights: dict[int, Tensor], monkeypatch: pytest.MonkeyPatch) -> None:
    """The model's attention becomes these layers, (B, H, T, S)."""
    layers = [layer for _, layer in sorted(weights.items())]
    count = len(layers[0])
    nothing = torch.full((count, 1), PAD)
    batch = Batch(nothing, nothing, nothing, real=None, target_tokens=count)
    # The longer sentence comes first, as in a batch by length.
    forced = Forced(np.array([1, 0]), batch, torch.zeros(count, 1), {"cross": layers})
    monkeypatch.setattr("wordorder.decoding.forced.force", lambda *_, **__: iter([forced]))


@pytest.fixture
def pairs(tmp_path: Path) -> ParallelCorpus:
    write_corpus(tmp_path / "pairs", [([4, 5], [6, 7]), ([4, 5, 6], [7, 8])], vocabulary_size=23)
    return ParallelCorpus.open(tmp_path / "pairs")


WORDS = Words([[1, 1], [1, 2]], [[1, 1], [1, 1]])


def peaks(rows: list[list[int]]) -> Tensor:
    """(B, T, S = 4): all attention on the given source pieces."""
    return torch.nn.functional.one_hot(torch.tensor(rows), 4).float()


def test_alignment_by_hand(pairs: ParallelCorpus, monkeypatch: pytest.MonkeyPatch) -> None:
    # Rows: sentence 1, then 0. Steps: first word, second word, end. Sentence 0 rests on its end (2) in step 2.
    penultimate = peaks([[0, 2, 3], [1, 0, 2]])
    last = peaks([[1, 1, 1], [0, 0, 0]])
    pass_of({0: penultimate[:, None], 1: last[:, None]}, monkeypatch)
    gold = GoldLinks(Links.of([[(1, 0), (0, 1)], [(0, 0)]]), Links.of([[(1, 0), (0, 1)], [(0, 0), (1, 1)]]))
    model = tiny_model(parse({"type": "none"}))
    found = AttentionAlignment().align(model, pairs, WORDS, gold)
    assert (found["status"], found["layer"], found["layers"], found["sentences"]) == ("measured", 0, 2, 2)
    assert (found["aer"], found["precision"], found["recall"]) == (0, 1, 1)
    # The last layer: sentence 1 links both words to word 1, sentence 0 both to word 0.
    found = AttentionAlignment(layer=-1).align(model, pairs, WORDS, gold)
    assert found["links"] == {"found": 4, "sure": 3, "found_sure": 1, "found_possible": 2}
    assert found["aer"] == pytest.approx(1 - (1 + 2) / (4 + 3))
    # A step later: sentence 0 links its first word to word 0, sentence 1 to word 1. What else they see is their ends.
    found = AttentionAlignment(step="read").align(model, pairs, WORDS, gold)
    assert found["links"] == {"found": 4, "sure": 3, "found_sure": 1, "found_possible": 1}


def test_attention_to_the_end_is_no_link_to_a_word(pairs: ParallelCorpus, monkeypatch: pytest.MonkeyPatch) -> None:
    weights = torch.tensor([[0.1, 0.2, 0.1, 0.6], [0.3, 0.1, 0.1, 0.5]])
    pass_of({0: torch.stack((weights, weights))[:, None]}, monkeypatch)
    gold = sure(Links.of([[(1, 0), (0, 1)], [(1, 0), (0, 1)]]))
    assert AttentionAlignment().align(tiny_model(parse({"type": "none"})), pairs, WORDS, gold)["aer"] == 0


def test_heads_are_averaged_or_chosen(pairs: ParallelCorpus, monkeypatch: pytest.MonkeyPatch) -> None:
    right, wrong = peaks([[0, 1], [1, 0]]), peaks([[1, 0], [0, 1]])
    # On average the wrong heads win.
    pass_of({0: torch.stack((0.4 * right + 0.6 * wrong, 0.4 * right, wrong, 0.9 * right), 1)}, monkeypatch)
    gold = sure(Links.of([[(1, 0), (0, 1)], [(0, 0), (1, 1)]]))
    model = tiny_model(parse({"type": "none"}))
    assert AttentionAlignment(heads=[1, 3]).align(model, pairs, WORDS, gold)["aer"] == 0
    assert AttentionAlignment(heads=[2, 3]).align(model, pairs, WORDS, gold)["aer"] == 1
    assert AttentionAlignment().align(model, pairs, WORDS, gold)["aer"] == 0
    with raises("out-of-range", key="analyses.alignment.heads", found=4, expected=3, says="4 heads per layer"):
        AttentionAlignment(heads=[4]).align(model, pairs, WORDS, gold)


def test_a_real_model_is_read_in_both_steps(tmp_path: Path) -> None:
    generator = np.random.default_rng(1)
    rows = [tuple(generator.integers(4, 23, generator.integers(1, 9)).tolist() for _ in "st") for _ in range(20)]
    write_corpus(tmp_path / "corpus", rows, vocabulary_size=23)
    corpus = ParallelCorpus.open(tmp_path / "corpus")
    words = Words([[1] * len(s) for s, _ in rows], [[1] * len(t) for _, t in rows])
    gold = sure(Links.of([[(0, 0)] for _ in rows]))
    for step in ("produce", "read"):
        found = AttentionAlignment(step=step).align(tiny_model(parse({"type": "sinusoidal"})), corpus, words, gold)
        assert found["links"]["found"] == sum(len(t) for _, t in rows)


def test_a_model_that_diverged(pairs: ParallelCorpus) -> None:
    model = tiny_model(parse({"type": "none"}))
    with torch.no_grad():
        model.source_embedding.weight.fill_(float("nan"))
    gold = sure(Links.of([[(1, 0)], [(0, 0)]]))
    found = AttentionAlignment().align(model, pairs, WORDS, gold)
    assert (found["status"], found["aer"], found["recall"]) == ("not a number", None, None)
    assert SIZE.decoder_layers == found["layers"]


def test_words_of_another_text_are_refused(pairs: ParallelCorpus) -> None:
    gold = sure(Links.of([[], []]))
    check_words(pairs, WORDS, gold)
    for words in (Words([[1, 1], [1, 1]], WORDS.target), Words(WORDS.source[:1], WORDS.target[:1])):
        with raises("another-corpus", says=str(pairs.directory)):
            check_words(pairs, words, gold)


# ------------------------------------------------------------------------------------------------------ gold sets


def preparation(**text: Any) -> Preparation:
    return Preparation(preprocessing=TextPreprocessing(**text), source_language="de", target_language="en")


def imported(folder: Path, config: GoldImport) -> dict[str, Path]:
    names = ("source", "target", "alignments", "clean_source", "clean_target", "report")
    files = {name: folder / "out" / name for name in names}
    import_gold(config, folder, **files)
    return files


@pytest.fixture
def joint(tmp_path: Path) -> GoldText:
    (tmp_path / "text").write_text("ein Hund da   ||| a dog \nja ||| yes sir\n", encoding="utf-8")
    (tmp_path / "links").write_text("1-1 2-2 3p2 4-1\n1p2 1-1\n")
    return GoldText(joint="text", links="links", first=1)


def test_import(tmp_path: Path, joint: GoldText) -> None:
    files = imported(tmp_path, GoldImport(text=joint, members={}, reverse=False, preparation=preparation()))
    assert list(read_lines(files["source"])) == ["ein Hund da", "ja"]
    assert files["alignments"].read_text() == "0-0 1-1 2p1\n0-0 0p1\n"
    assert list(read_lines(files["clean_source"])) == ["ein Hund da", "ja"]
    assert json.loads(files["report"].read_text()) == {"pairs": 2, "links": {"sure": 3, "possible": 5, "dropped": 1}}


def test_import_the_other_way_round(tmp_path: Path, joint: GoldText) -> None:
    files = imported(tmp_path, GoldImport(text=joint, members={}, reverse=True, preparation=preparation()))
    assert list(read_lines(files["source"])) == ["a dog", "yes sir"]
    gold = read_gold(files["alignments"], source_lengths=[2, 2], target_lengths=[3, 1])
    assert gold.sure[0].tolist() == [[0, 0], [1, 1]]
    assert gold.possible[0].tolist() == [[0, 0], [1, 1], [1, 2]]


def test_import_from_two_files_and_an_archive(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "de.zip", "w") as archive:
        archive.writestr("inside/de.txt", "\ufeffja\n")
    (tmp_path / "en").write_text("yes\n")
    (tmp_path / "links").write_text("0-0\n")
    text = GoldText(source="de.zip", target="en", links="links", first=0)
    words, gold = read_gold_set(text, tmp_path, {"de.zip": "de.txt"})
    assert words == ([["ja"]], [["yes"]]) and gold.sure[0].tolist() == [[0, 0]]


def test_a_damaged_archive_of_a_set_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "de.zip").write_bytes(b"no archive")
    text = GoldText(source="de.zip", target="en", links="links", first=0)
    with raises("damaged-file", tmp_path / "de.zip"):
        read_gold_set(text, tmp_path, {"de.zip": "de.txt"})


def test_only_spaces_separate_the_words_of_gold_links(tmp_path: Path) -> None:
    """A word may be an ideographic space, and hold a no-break space or a control character (KFTT)."""
    (tmp_path / "text").write_text("10\u00a0000 \u3000 a\x85b ||| x\ty  z\n", encoding="utf-8")
    (tmp_path / "links").write_text("0-0 2-2\n")
    words, gold = read_gold_set(GoldText(joint="text", links="links", first=0), tmp_path)
    assert words == ([["10\u00a0000", "\u3000", "a\ufffdb"]], [["x", "y", "z"]])
    assert gold.sure[0].tolist() == [[0, 0], [2, 2]] and gold.dropped == 0


def test_a_malformed_link_of_a_set_is_an_error_with_its_line(tmp_path: Path) -> None:
    text = blank_text(tmp_path, "a\n\nc\n", "x\n\nz\n", "0-0\n\n0:0\n")
    for read in (text, text.model_copy(update={"skip_blank": False})):
        with raises("malformed-line", tmp_path / "links", 3, found="0:0"):
            read_gold_set(read, tmp_path)


@pytest.fixture
def rwth(tmp_path: Path) -> GoldText:
    """An archive as that of RWTH: texts in Latin-1, links from 1, of which one is only possible, and a blank line."""
    members = {
        "de": "die Gebühr ist zu hoch .\n\nkönnen Sie mich hören ?\n",
        "en": "the fee is too high .\n\ncan you hear me ?\n",
        "alignmentDeEn.talp": "1-1 2-2 3-3 4-4 5-5 6-6\n\n1-1 2-2 4-3 3p4 5-5\n",
        "alignmentDeEn": "SENT: 0\nS 0 0\n",
    }
    with tarfile.open(tmp_path / "DeEnGoldAlignment.tar.gz", "w:gz") as archive:
        for name, text in members.items():
            info, data = tarfile.TarInfo(f"DeEn/{name}"), text.encode("latin-1")
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    text = load_gold_sets(ROOT / "config")["rwth-de-en"].text
    assert text.pairs == 508
    return text.model_copy(update={"pairs": 2})


def test_the_archive_of_rwth_is_read_the_other_way_round(tmp_path: Path, rwth: GoldText) -> None:
    english = Preparation(preprocessing=TextPreprocessing(), source_language="en", target_language="de")
    files = imported(tmp_path, GoldImport(text=rwth, members={}, reverse=True, preparation=english))
    assert list(read_lines(files["source"])) == ["the fee is too high .", "can you hear me ?"]
    assert list(read_lines(files["clean_target"])) == ["die Gebühr ist zu hoch .", "können Sie mich hören ?"]
    assert files["alignments"].read_text() == "0-0 1-1 2-2 3-3 4-4 5-5\n0-0 1-1 2-3 3p2 4-4\n"
    assert json.loads(files["report"].read_text())["links"] == {"sure": 10, "possible": 11, "dropped": 0}


def blank_text(folder: Path, source: str, target: str, links: str) -> GoldText:
    for name, text in (("de", source), ("en", target), ("links", links)):
        (folder / name).write_text(text)
    return GoldText(source="de", target="en", links="links", first=0, skip_blank=True)


def test_a_pair_with_a_blank_line_in_any_file_is_skipped_as_a_whole(tmp_path: Path) -> None:
    text = blank_text(tmp_path, "a\n\nc\nd\n\n", "w\nx\n\nz\n", "0-0\n0-0\n0-0\n0-0\n\n\n")
    words, gold = read_gold_set(text, tmp_path)
    assert words == ([["a"], ["d"]], [["w"], ["z"]]) and len(gold.sure) == 2
    text = blank_text(tmp_path, "a\nb\nc\n", "x\ny\nz\n", "0-0\n\n0-0\n")
    assert read_gold_set(text, tmp_path)[0] == ([["a"], ["c"]], [["x"], ["z"]])


def test_files_of_different_lengths_are_refused_when_blank_lines_are_skipped(tmp_path: Path) -> None:
    text = blank_text(tmp_path, "a\n\nc\n", "x\ny\n", "0-0\n\n0-0\n")
    with raises("unequal-lines", found=2, expected=3, says="'en' 2"):
        read_gold_set(text, tmp_path)


def test_links_may_be_compressed(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("ja ||| yes\n")
    (tmp_path / "links.gz").write_bytes(gzip.compress(b"0-0\n"))
    _, gold = read_gold_set(GoldText(joint="text", links="links.gz", first=0), tmp_path)
    assert gold.sure[0].tolist() == [[0, 0]]


def test_an_archive_with_another_number_of_pairs(tmp_path: Path, rwth: GoldText) -> None:
    with raises("wrong-count", key="pairs", found=2, expected=508, says="DeEnGoldAlignment.tar.gz"):
        read_gold_set(rwth.model_copy(update={"pairs": 508}), tmp_path)


def test_a_set_without_pairs_is_refused(tmp_path: Path) -> None:
    for name in ("de", "en", "links"):
        (tmp_path / name).touch()
    with raises("empty-file", tmp_path / "links"):
        read_gold_set(GoldText(source="de", target="en", links="links", first=0), tmp_path)


def test_a_line_without_its_other_side(tmp_path: Path, joint: GoldText) -> None:
    (tmp_path / "text").write_text("a ||| b\nc\n")
    with raises("malformed-line", tmp_path / "text", 2, says="'source ||| target'"):
        read_gold_set(joint, tmp_path)


def test_each_word_is_cleaned_by_itself_and_its_pieces_are_counted(tmp_path: Path) -> None:
    """Moses cuts "dog." and joins nothing: the text is that of words cleaned one by one, which lose none of theirs."""
    write_lines(tmp_path / "text", [f"der hund {n} ja ." for n in range(60)] + [f"the dog . , {n}" for n in range(60)])
    train_subword(
        [tmp_path / "text"], tmp_path / "model", config=datasets.Subword(vocabulary=60, subword_sentences=1000)
    )
    subword = Subword.load(tmp_path / "model")
    (tmp_path / "words").write_text("der hund. \u00ad ja ||| the dog\n", encoding="utf-8")
    (tmp_path / "links").write_text("0-0 1-1 2-1\n")
    text = GoldText(joint="words", links="links", first=0)
    files = imported(tmp_path, GoldImport(text=text, members={}, reverse=False, preparation=preparation()))
    (line,) = read_lines(files["clean_source"])
    assert line.startswith("der hund . ")
    words = [row.split() for row in read_lines(files["source"])]
    (counts,) = word_pieces(words, "de", preparation(), subword)
    assert sum(counts) == len(subword.encode(line))
    starts = subword.word_starts()[subword.encode(line)]
    assert starts.sum() == len(line.split())
    assert counts[0] == len(subword.encode("der")) and counts[1] == len(subword.encode("hund ."))


@pytest.mark.parametrize("name", [*SIZES, "rwth-de-en"])
def test_configured_sets(name: str) -> None:
    gold = load_gold_sets(ROOT / "config")[name]
    assert set(gold.text.files) == set(gold.downloads)
    assert f"{gold.source_language}-{gold.target_language}" in name
    assert gold.direction(gold.target_language, gold.source_language) == "reverse"
    assert gold.direction("en", "xx") is None


@needs_mirror
@pytest.mark.parametrize("name", SIZES)
def test_sets_of_the_mirror(name: str, tmp_path: Path) -> None:
    """Downloaded by the command; given to itself each has the error rate 0, by our code and by the definition."""
    gold_set = load_gold_sets(ROOT / "config")[name]
    for file, entry in gold_set.downloads.items():
        assert main(["stage", "download", "--config", canonical(entry), "--output", str(tmp_path / file)]) == 0
    members = {file: entry.text_member for file, entry in gold_set.downloads.items() if entry.text_member}
    (source, target), gold = read_gold_set(gold_set.text, tmp_path, members)
    assert len(gold.sure) == len(source) == len(target) == SIZES[name]
    assert gold.dropped == {"europarl100-de-en": 1}.get(name, 0)
    for links in (gold.sure, gold.possible, reverse(reverse(gold)).sure):
        rate = error_rate(links, gold)
        assert (rate.aer, rate.precision, rate.recall) == (0, 1, 1)
        assert by_definition(links, gold) == 0
    mixed = Links.of([(0, 0), *((i, j) for i, j in row.tolist()[::2])] for row in gold.possible)
    assert error_rate(mixed, gold).aer == pytest.approx(by_definition(mixed, gold))
    write_gold(tmp_path / "again", gold)
    again = read_gold(tmp_path / "again")
    assert error_rate(again.sure, gold).aer == 0 and len(again.possible.source) == len(gold.possible.source)


def by_definition(found: Links, gold: GoldLinks) -> float:
    """Och and Ney 2003, in sets."""
    a, s, p = (
        {(number, i, j) for number, row in enumerate(links) for i, j in row.tolist()}
        for links in (found, gold.sure, gold.possible)
    )
    return 1 - (len(a & s) + len(a & p)) / (len(a) + len(s))


def test_a_gold_set_needs_text_and_known_files() -> None:
    entry = {"url": "https://example.org/x", "sha256": "0" * 64}
    base = {"title": "x", "source_language": "de", "target_language": "en", "licence": "x", "downloads": {"x": entry}}
    GoldSet.model_validate({**base, "text": {"joint": "x", "links": "x", "first": 1}})
    with pytest.raises(ValueError, match="'source' and 'target' or 'joint'"):
        GoldSet.model_validate({**base, "text": {"source": "x", "links": "x", "first": 1}})
    with pytest.raises(ValueError, match=r"'y'.* 'downloads'"):
        GoldSet.model_validate({**base, "text": {"joint": "y", "links": "x", "first": 1}})
    assert gold_split("x") == "gold.x"
