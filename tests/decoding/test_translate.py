from __future__ import annotations

import io
import json
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from raises import raises
from tiny_models import tiny_model
from wordorder.children import shared
from wordorder.cli.main import main
from wordorder.config import datasets
from wordorder.config.decoding import Decoding
from wordorder.config.models import Cell, Recipe
from wordorder.data.binary import ParallelCorpus, write_corpus
from wordorder.data.positions import write_positions
from wordorder.data.subword import Subword, train_subword
from wordorder.data.tokenise import detokeniser
from wordorder.decoding.beam import Hypothesis
from wordorder.decoding.translate import plan, texts, translate, translate_corpus, translate_lines
from wordorder.encodings.base import Positions
from wordorder.encodings.registry import parse
from wordorder.metrics.scores import score_files
from wordorder.model.architectures.transformer import Transformer, TransformerSize
from wordorder.model.batch import BEGIN, END
from wordorder.model.checkpoint import build_model, load_model, save_model

LINES = [
    "A dog runs over the grass .",
    "Two men sit on a bench and talk .",
    "",
    "She reads a book , he doesn't .",
    "A dog runs over the grass .",
    "The children play football in the park \u2581 today .",
]


def save_random_model(path: Path, vocabulary: int, encoding: dict[str, Any]) -> Transformer:
    torch.manual_seed(1)
    size = TransformerSize(encoder_layers=1, decoder_layers=1, dim=16, ffn_dim=32, heads=2, dropout=0.1)
    cell = Cell(encoding=encoding, size=size, recipe=Recipe(max_updates=1), seed=0)
    save_model(path, cell, vocabulary, build_model(cell, vocabulary).state_dict())
    return load_model(path)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> SimpleNamespace:
    """A subword model, a binary corpus of LINES and a random model, as files."""
    folder = tmp_path_factory.mktemp("files")
    text = folder / "text"
    text.write_text("\n".join(LINES) + "\n", encoding="utf-8")
    train_subword([text], folder / "subword.model", config=datasets.Subword(vocabulary=80, subword_sentences=1000))
    subword = Subword.load(folder / "subword.model")
    encoded = [subword.encode(line) for line in LINES]
    write_corpus(folder / "corpus", zip(encoded, encoded, strict=True), vocabulary_size=subword.size)
    save_random_model(folder / "model.pt", subword.size, {"type": "sinusoidal"})
    return SimpleNamespace(
        folder=folder, subword=folder / "subword.model", corpus=folder / "corpus", model=folder / "model.pt"
    )


def arguments(files: SimpleNamespace, output: Path, **changes: Any) -> list[str]:
    options = {
        "config": json.dumps({"beam": 3, "nbest": 2, "max_length_b": 4}),
        "model": files.model,
        "corpus": files.corpus,
        "subword": files.subword,
        "language": "de",
        "output": output / "hypotheses",
        "nbest": output / "nbest.jsonl",
        **changes,
    }
    return ["stage", "translate", *(str(word) for name, value in options.items() for word in (f"--{name}", value))]


def test_a_corpus_becomes_one_line_a_sentence(files: SimpleNamespace, tmp_path: Path) -> None:
    assert main(arguments(files, tmp_path)) == 0
    lines = (tmp_path / "hypotheses").read_text(encoding="utf-8").split("\n")
    assert len(lines) == len(LINES) + 1 and lines[-1] == ""
    entries = [json.loads(line) for line in (tmp_path / "nbest.jsonl").read_text(encoding="utf-8").splitlines()]
    assert [entry["index"] for entry in entries] == list(range(len(LINES)))
    subword = Subword.load(files.subword)
    for entry, line in zip(entries, lines, strict=False):
        assert entry["hypotheses"][0]["text"] == line
        assert len(entry["hypotheses"]) == 2
        for hypothesis in entry["hypotheses"]:
            assert set(hypothesis) == {"text", "tokens", "score", "log_probability"}
            assert hypothesis["text"].replace(" ", "") == subword.decode(hypothesis["tokens"]).replace(" ", "")
    assert entries[0]["hypotheses"] == entries[4]["hypotheses"]
    assert entries[0]["hypotheses"] != entries[1]["hypotheses"]
    assert not list(tmp_path.glob(".*.partial"))


def test_translations_are_detokenised(files: SimpleNamespace) -> None:
    subword = Subword.load(files.subword)
    hypotheses = [Hypothesis(subword.encode(line), -1.0, -1.0) for line in LINES[:4]]
    assert texts(hypotheses, subword, detokeniser("en")) == [
        "A dog runs over the grass.",
        "Two men sit on a bench and talk.",
        "",
        "She reads a book, he doesn't.",
    ]


def test_text_that_was_not_tokenised_is_left_as_it_is(
    files: SimpleNamespace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "wordorder.decoding.translate.texts", lambda found, subword, write: [write("a , b .")] * len(found)
    )
    model, corpus, subword = load_model(files.model), ParallelCorpus.open(files.corpus), Subword.load(files.subword)
    for language, line in (("en", "a, b."), (None, "a , b .")):
        paths = {"output": tmp_path / "hypotheses", "nbest": tmp_path / "nbest.jsonl"}
        translate_corpus(model, corpus, subword, language=language, config=Decoding(beam=1, max_length_b=1), **paths)
        assert set(paths["output"].read_text().splitlines()) == {line}


def test_an_empty_corpus_gives_empty_files(files: SimpleNamespace, tmp_path: Path) -> None:
    write_corpus(tmp_path / "empty", [], vocabulary_size=80)
    assert main(arguments(files, tmp_path, corpus=tmp_path / "empty")) == 0
    assert (tmp_path / "hypotheses").read_bytes() == (tmp_path / "nbest.jsonl").read_bytes() == b""


def test_bf16_finds_what_fp32_finds_where_the_model_is_sure(files: SimpleNamespace) -> None:
    model = load_model(files.model)
    corpus = ParallelCorpus.open(files.corpus)
    sources = [corpus.source(index) for index in range(len(corpus))]
    # Among random weights only the length can be foreseen: at most one token, and the first is chosen from all.
    config = Decoding(beam=1, max_length_a=0, max_length_b=1)
    single = translate(model, sources, config)
    half = translate(model, sources, config.model_copy(update={"precision": "bf16"}))
    assert all(parameter.dtype == torch.float32 for parameter in model.parameters())
    for one, other in zip(single, half, strict=True):
        assert other[0].log_probability == pytest.approx(one[0].log_probability, abs=0.1)
    assert [one[0].log_probability for one in single] != [one[0].log_probability for one in half]


@torch.no_grad()
def test_bf16_does_not_round_learned_frequencies(monkeypatch: pytest.MonkeyPatch) -> None:
    """Their error would grow with the position."""
    model = tiny_model(parse({"type": "rope", "trained": True}))
    searched: list[Any] = []
    monkeypatch.setattr("wordorder.decoding.translate.packed", lambda model: searched.append(model) or model)
    assert translate(model, [np.array([5, 6, 7])], Decoding(beam=1, max_length_b=2, precision="bf16"))[0]
    frequencies = {name for name, _ in model.named_parameters() if name.endswith("log_frequencies")}
    assert len(frequencies) == 2
    for name, parameter in searched[0].named_parameters():
        assert parameter.dtype == (torch.float32 if name in frequencies else torch.bfloat16)
        assert parameter is not model.get_parameter(name)
    far = Positions.range(1, offset=3000)
    x = torch.randn(1, 4, 1, 4, dtype=torch.bfloat16)
    turned, expected = (each.encoding.attention("encoder", 1).rotate(x, x, far)[0] for each in (searched[0], model))
    assert torch.equal(turned, expected)


def test_batches_hold_each_distinct_sentence_once_and_keep_to_the_limit() -> None:
    sources = [(5,) * length for length in (3, 9, 1, 3, 40, 0)] + [(6, 7), (6, 6)]
    batches = list(plan(sources, Decoding(beam=2, batch_tokens=24)))
    assert [source for batch in batches for source in batch] == sorted(set(sources), key=lambda s: (-len(s), s))
    assert batches[0] == [(5,) * 40]  # alone, though it is too long
    assert all((len(batch[0]) + 1) * len(batch) * 2 <= 24 for batch in batches[1:])
    assert len(batches) == 4


def test_an_encoding_that_draws_in_every_pass_translates_repeatably(tmp_path: Path) -> None:
    model = save_random_model(tmp_path / "model.pt", 80, {"type": "randomized"})
    sources = [np.arange(4, 4 + length) for length in (7, 3, 9)]
    config = Decoding(beam=2, max_length_b=6)
    state = torch.get_rng_state()
    found = translate(model, sources, config)
    assert torch.equal(torch.get_rng_state(), state)
    torch.manual_seed(5)
    assert translate(model, sources, config) == found


@pytest.mark.parametrize("encoding", ["sinusoidal", "randomized"])
def test_any_number_of_processes_finds_the_same(tmp_path: Path, encoding: str, monkeypatch: pytest.MonkeyPatch) -> None:
    model = save_random_model(tmp_path / "model.pt", 80, {"type": encoding})
    sources = [np.arange(4, 4 + length) for length in (7, 3, 9, 5, 3)]
    config = Decoding(beam=2, max_length_b=6, batch_tokens=20)
    used = []

    def counted(work: Any, count: int, processes: int) -> Any:
        used.append((count, processes))
        return shared(work, count, processes)

    monkeypatch.setattr("wordorder.decoding.translate.shared", counted)
    threads, found = torch.get_num_threads(), []
    try:
        for number in (1, 2, 3):
            torch.set_num_threads(number)
            found.append(translate(model, sources, config))
    finally:
        torch.set_num_threads(threads)
    assert found[0] == found[1] == found[2]
    assert used == [(4, 2), (4, 3)]  # four different sentences, each too long to share a batch


def test_a_vocabulary_of_another_size_is_refused(
    files: SimpleNamespace, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_corpus(tmp_path / "other", [([5], [5])], vocabulary_size=99)
    assert main(arguments(files, tmp_path, corpus=tmp_path / "other")) == 1
    assert f"{tmp_path / 'other'} was made with 99" in capsys.readouterr().err
    save_random_model(tmp_path / "other.pt", 99, {"type": "none"})
    assert main(arguments(files, tmp_path, model=tmp_path / "other.pt")) == 1
    error = capsys.readouterr().err
    assert "trained with a vocabulary of 99 subwords, but the subword model has 80" in error
    assert not (tmp_path / "hypotheses").exists()


def test_a_source_longer_than_the_encoders_table_is_refused_before_any_work(
    files: SimpleNamespace, tmp_path: Path
) -> None:
    model = save_random_model(tmp_path / "short.pt", 80, {"type": "learned", "table": 6})
    sources = [torch.full((length,), 5).numpy() for length in (2, 5, 6, 9)]
    with raises("too-few-positions", line=4, found=10, expected=6):
        translate(model, sources, Decoding())
    assert len(translate(model, sources[:2], Decoding())) == 2


SHORT = {"table": 6, "placement": "decoder"}


@pytest.mark.parametrize(
    "encoding",
    [
        {"type": "learned", **SHORT},
        {"type": "posnet_embed", **SHORT},
        {"compose": [{"type": "sinusoidal"}, {"type": "posnet_attention", **SHORT}]},
    ],
)
def test_a_table_too_short_for_the_target_cuts_translations_with_a_warning(
    encoding: dict[str, Any], files: SimpleNamespace, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model = save_random_model(tmp_path / "short.pt", 80, encoding)
    with torch.no_grad():
        model.output.weight[3] -= 1  # the end is unlikely
    (found,) = translate(model, [torch.full((9,), 5).numpy()], Decoding(alpha=3))
    assert len(found[0].tokens) == 5
    assert "translations are cut at 5 subwords" in capsys.readouterr().err


def test_a_diverged_model_gives_empty_files_which_have_no_score_and_a_warning(
    files: SimpleNamespace, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model = load_model(files.model)
    with torch.no_grad():
        model.output.weight.fill_(torch.nan)
    corpus, subword = ParallelCorpus.open(files.corpus), Subword.load(files.subword)
    paths = {"output": tmp_path / "hypotheses", "nbest": tmp_path / "nbest.jsonl"}
    translate_corpus(model, corpus, subword, language="de", config=Decoding(), **paths)
    assert [path.read_bytes() for path in paths.values()] == [b"", b""]
    assert "not a number for 5 of 5 different sentences" in capsys.readouterr().err
    (tmp_path / "references").write_text("Hund\n" * len(LINES))
    scored = score_files(paths["output"], tmp_path / "references", ["bleu"], "de")
    assert (scored["status"], scored["metrics"]["bleu"]["score"]) == ("no hypotheses", None)


def test_text_by_hand_is_translated_like_the_corpus(
    files: SimpleNamespace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    config = json.dumps({"beam": 3})
    assert main(arguments(files, tmp_path, config=config, language="en")) == 0
    expected = (tmp_path / "hypotheses").read_text(encoding="utf-8").split("\n")
    words = ["translate", "--model", str(files.model), "--subword", str(files.subword), "--config", config]
    words += ["--source-language", "en", "--target-language", "en", "--threads", "1"]
    # The tokens of the corpus, as they were before normalisation and tokenisation; one line separator is no line end.
    text = "A  dog\u2028runs over the grass.\n\nTwo men sit on a bench and talk."
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(text.encode())))
    assert main(words) == 0
    lines = capfdbinary.readouterr().out.decode().split("\n")
    assert lines == [expected[0], "", expected[1], ""], "a line without text has no translation"
    assert expected[0] != expected[1]


def test_lines_of_a_tokenised_dataset_are_detokenised(files: SimpleNamespace, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its preprocessing does not tokenise. A random model writes nothing that real detokenisation would join."""
    monkeypatch.setattr("wordorder.decoding.translate.detokeniser", lambda language: str.upper)
    preprocessing = datasets.TextPreprocessing(tokenise=False)
    plain, joined = (
        translate_lines(
            load_model(files.model),
            LINES,
            Subword.load(files.subword),
            source_language="en",
            target_language="en",
            preprocessing=preprocessing,
            config=Decoding(beam=3),
            detokenise=detokenise,
        )
        for detokenise in (False, True)
    )
    assert joined == [line.upper() for line in plain] != plain


def test_the_command_detokenises_translations_of_tokenised_text(
    files: SimpleNamespace, monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    monkeypatch.setattr("wordorder.decoding.translate.detokeniser", lambda language: str.upper)
    words = ["translate", "--model", str(files.model), "--subword", str(files.subword)]
    words += ["--source-language", "en", "--target-language", "en", "--threads", "1"]
    written = []
    for options in (["--preprocessing", '{"tokenise": false}'], ["--tokenised"]):
        monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(b"A dog , not a cat .\n")))
        assert main([*words, *options]) == 0
        written.append(capfdbinary.readouterr().out.decode())
    assert written[1] == written[0].upper() != written[0]


def test_a_line_that_is_too_long_is_named_by_its_number_in_the_text(files: SimpleNamespace, tmp_path: Path) -> None:
    model = save_random_model(tmp_path / "table.pt", 80, {"type": "learned", "table": 12, "placement": "encoder"})
    with raises("too-few-positions", line=4, says="Line 4 of the source"):
        translate_lines(
            model,
            ["", "A dog.", " ", "A dog. " * 20],
            Subword.load(files.subword),
            source_language="en",
            target_language="en",
            preprocessing=datasets.TextPreprocessing(),
            config=Decoding(),
            detokenise=True,
        )


def test_mistakes_in_the_preprocessing_name_its_option(
    files: SimpleNamespace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["translate", "--model", str(files.model), "--subword", str(files.subword)]
    words += ["--source-language", "en", "--target-language", "en", "--preprocessing"]
    assert main([*words, "{"]) != 0
    assert "--preprocessing" in (said := capsys.readouterr().err) and "--config" not in said
    (block := tmp_path / "block.yaml").write_text("tokenise: false\nvocabulary: 500\nremove_overlap: true\n")
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(b"A dog.\n")))
    assert main([*words, f"@{block}", "--threads", "1"]) == 0, "the block of a dataset as it stands"


@pytest.fixture(scope="module")
def ordered(files: SimpleNamespace) -> SimpleNamespace:
    """The same corpus with positions, and a random model that needs them."""
    corpus = ParallelCorpus.open(files.corpus)
    lengths = corpus.source_lengths.tolist()
    rows = [list(range(length)) for length in lengths]
    rows[0].reverse()  # so the first and the fifth sentence have the same tokens, but not the same positions
    folder = files.folder
    write_positions(folder / "positions", rows, kind="gold", corpus=corpus)
    save_random_model(folder / "inxl.pt", 80, {"type": "inxl"})
    return SimpleNamespace(**{**vars(files), "model": folder / "inxl.pt", "positions": folder / "positions"})


def test_a_sentence_with_other_positions_is_another_sentence(ordered: SimpleNamespace, tmp_path: Path) -> None:
    assert main(arguments(ordered, tmp_path, positions=ordered.positions)) == 0
    entries = [json.loads(line) for line in (tmp_path / "nbest.jsonl").read_text(encoding="utf-8").splitlines()]
    assert len(entries) == len(LINES)
    assert entries[0]["hypotheses"] != entries[4]["hypotheses"]


def test_translations_with_positions_do_not_depend_on_order_or_batches(ordered: SimpleNamespace) -> None:
    model, corpus = load_model(ordered.model), ParallelCorpus.open(ordered.corpus, positions=ordered.positions)
    assert corpus.positions is not None
    config = Decoding(beam=3, max_length_b=4)
    pairs = [(corpus.source(index), corpus.positions[index]) for index in range(len(corpus))]
    pairs += [pairs[3], pairs[2]]

    def found(order: list[int], config: Decoding) -> list[list[Hypothesis]]:
        sources, positions = [pairs[number][0] for number in order], [pairs[number][1] for number in order]
        return translate(model, sources, config, positions=positions)

    in_order = list(range(len(pairs)))
    together = found(in_order, config)
    assert together[6] == together[3] and together[7] == together[2]
    assert found(in_order[::-1], config)[::-1] == together, "the same bits"
    for number in in_order:
        (alone,) = found([number], config)
        assert [one.tokens for one in alone] == [one.tokens for one in together[number]]
    narrow = found(in_order, config.model_copy(update={"batch_tokens": 1}))
    assert [[one.tokens for one in own] for own in narrow] == [[one.tokens for one in own] for own in together]


def test_the_search_sees_the_positions_of_each_sentence(ordered: SimpleNamespace) -> None:
    """The score of a hypothesis is what the model, asked directly with these positions, gives it."""
    model, corpus = load_model(ordered.model), ParallelCorpus.open(ordered.corpus, positions=ordered.positions)
    assert corpus.positions is not None
    sources = [corpus.source(index) for index in range(len(corpus))]
    positions = [corpus.positions[index] for index in range(len(corpus))]
    for source, own, hypotheses in zip(
        sources,
        positions,
        translate(model, sources, Decoding(beam=2, max_length_b=4), positions=positions),
        strict=True,
    ):
        n, tokens = len(source), hypotheses[0].tokens
        where = Positions.range(n + 1).with_reordered(torch.tensor([[*own.tolist(), n]]))
        with torch.no_grad():
            hidden = model(
                torch.tensor([[*source.tolist(), END]]), torch.tensor([[BEGIN, *tokens]]), source_positions=where
            )
            log_probabilities = torch.log_softmax(model.logits(hidden)[0], -1)
        expected = sum(float(log_probabilities[step, token]) for step, token in enumerate([*tokens, END]))
        assert hypotheses[0].log_probability == pytest.approx(expected, abs=1e-4)


def test_positions_are_demanded_and_refused(
    files: SimpleNamespace, ordered: SimpleNamespace, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments(ordered, tmp_path, corpus=tmp_path / "nowhere")) == 1, "this is said before all else"
    assert "'inxl' needs the position that each source token takes in target order" in capsys.readouterr().err
    assert main(arguments(files, tmp_path, positions=ordered.positions)) == 1
    assert "'sinusoidal' uses no reordered positions." in capsys.readouterr().err
    write_corpus(tmp_path / "other", [([5], [5])], vocabulary_size=80)
    assert main(arguments(ordered, tmp_path, corpus=tmp_path / "other", positions=ordered.positions)) == 1
    assert "were made for another binary corpus than" in capsys.readouterr().err
    assert not (tmp_path / "hypotheses").exists()
    sources = [ParallelCorpus.open(files.corpus).source(0)]
    with raises("missing-positions", says="'wordorder stage positions'"):
        translate(load_model(ordered.model), sources, Decoding())
    with raises("needless-positions", says="'sinusoidal'"):
        translate(load_model(files.model), sources, Decoding(), positions=sources)


def test_text_by_hand_needs_a_model_without_positions(
    ordered: SimpleNamespace, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    class Unread:
        def __getattr__(self, name: str) -> object:
            raise AssertionError("nothing is read")

    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=Unread()))
    words = ["translate", "--model", str(ordered.model), "--subword", str(ordered.subword)]
    assert main([*words, "--source-language", "en", "--target-language", "de"]) == 1
    assert "'inxl' needs the position" in (error := capsys.readouterr().err)
    assert "nothing finds it in raw text yet. Translate a binary corpus" in error


@pytest.mark.parametrize(("allowed", "warned"), [(5, False), (6, True)])
def test_a_warning_says_that_one_token_is_cut(
    allowed: int, warned: bool, files: SimpleNamespace, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model = save_random_model(tmp_path / "short.pt", 80, {"type": "learned", **SHORT})
    translate(model, [torch.full((3,), 5).numpy()], Decoding(max_length_a=0, max_length_b=allowed))
    assert ("translations are cut at 5 subwords" in capsys.readouterr().err) is warned
