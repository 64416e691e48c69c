"""Test that ``wordorder export --ctranslate2`` preserves probabilities and translations."""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import Tensor

from raises import raises
from training_runs import VOCABULARY, TrainingRun, write_reversals
from training_runs import cell as trained_cell
from wordorder.cli.main import main
from wordorder.config import datasets
from wordorder.config.decoding import Decoding
from wordorder.config.models import Cell, Recipe
from wordorder.data.binary import ParallelCorpus
from wordorder.data.subword import Subword, train_subword
from wordorder.decoding.beam import search
from wordorder.decoding.export import export_ctranslate2
from wordorder.model.architectures.base import Translator
from wordorder.model.architectures.transformer import TransformerSize
from wordorder.model.batch import BEGIN, END
from wordorder.model.checkpoint import build_model, load_model, save_model
from wordorder.training.batches import pad_sources

LINES = ["A dog runs over the grass .", "Two men sit on a bench and talk .", "She reads a book .", "A dog ."]
# What CTranslate2 can express: encodings, and how norms and embeddings are arranged.
KNOWN: list[tuple[dict[str, Any], dict[str, Any]]] = [
    ({"type": "sinusoidal"}, {"norm": "pre"}),
    ({"type": "learned", "table": 64}, {"norm": "post", "tie_embeddings": "none"}),
    ({"type": "none"}, {"norm": "pre", "tie_embeddings": "decoder"}),
    ({"type": "sinusoidal", "placement": "encoder"}, {"norm": "post"}),
]
PIECES = ["<pad>", "<unk>", "<s>", "</s>", *map(str, range(4, VOCABULARY))]
# Our search never takes padding or the beginning, and may end at once.
AS_OURS: dict[str, Any] = {"suppress_sequences": [["<pad>"], ["<s>"]], "min_decoding_length": 0}


@pytest.fixture(scope="module")
def subword(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("subword")
    (folder / "text").write_text("\n".join(LINES) + "\n", encoding="utf-8")
    config = datasets.Subword(vocabulary=80, subword_sentences=1000)
    train_subword([folder / "text"], folder / "subword.model", config=config)
    return folder / "subword.model"


def saved(folder: Path, subword: Subword, encoding: dict[str, Any], **recipe: Any) -> Translator:
    """Save a random model whose choices are as clear as those of a trained one."""
    torch.manual_seed(3)
    size = TransformerSize(encoder_layers=2, decoder_layers=3, dim=16, ffn_dim=32, heads=4, dropout=0.1)
    cell = Cell(encoding=encoding, size=size, recipe=Recipe(max_updates=1, **recipe), seed=0)
    model = build_model(cell, subword.size)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.3 * torch.randn_like(parameter))
    save_model(folder / "model.pt", cell, subword.size, model.state_dict())
    return load_model(folder / "model.pt")


def log_probabilities(model: Translator, source: Tensor, target: list[int]) -> Tensor:
    """Return our log-probability of each token of a target and of its end."""
    given = torch.tensor([[BEGIN, *target]])
    with torch.no_grad():
        scores = torch.log_softmax(model.logits(model(source, given)), -1)[0]
    return scores[torch.arange(len(target) + 1), torch.tensor([*target, END])]


@pytest.mark.parametrize(("encoding", "recipe"), KNOWN, ids=str)
def test_probabilities_and_translations_are_ours(
    encoding: dict[str, Any], recipe: dict[str, Any], subword: Path, tmp_path: Path
) -> None:
    engine = pytest.importorskip("ctranslate2", reason="the extra 'export' is not installed")
    pieces = Subword.load(subword)
    model, written = saved(tmp_path, pieces, encoding, **recipe), pieces.all_pieces()
    named_model = ["--model", str(tmp_path / "model.pt"), "--subword", str(subword)]
    assert main(["export", "--ctranslate2", str(tmp_path / "out"), *named_model]) == 0
    translator = engine.Translator(str(tmp_path / "out"), device="cpu", compute_type="float32", intra_threads=1)
    sources = [pieces.encode(line) for line in LINES]
    named = [[written[token] for token in source] for source in sources]
    scored = translator.score_batch(named, named[::-1])
    for source, target, found in zip(sources, sources[::-1], scored, strict=True):
        ours = log_probabilities(model, torch.tensor([[*source, END]]), target)
        assert found.log_probs == pytest.approx(ours.tolist(), abs=1e-4)
    padded = pad_sources([torch.tensor(source).numpy() for source in sources])
    config = Decoding(beam=1, max_length_a=0, max_length_b=12)
    ours_best = [[written[token] for token in own[0].tokens] for own in search(model, padded, config)]
    theirs = translator.translate_batch(named, beam_size=1, max_decoding_length=12, **AS_OURS)
    assert [one.hypotheses[0] for one in theirs] == ours_best


@pytest.mark.slow
def test_beam_search_of_a_trained_model_finds_nearly_all_our_translations(tmp_path: Path) -> None:
    engine = pytest.importorskip("ctranslate2", reason="the extra 'export' is not installed")
    train, valid = (write_reversals(tmp_path / name, pairs=400, seed=len(name)) for name in ("train", "valid"))
    TrainingRun(tmp_path, trained_cell(max_epochs=12), train, valid).finish()
    model = load_model(tmp_path / "model.pt")
    pieces: Any = SimpleNamespace(size=VOCABULARY, all_pieces=lambda: PIECES)
    export_ctranslate2(model, pieces, tmp_path / "out")
    translator = engine.Translator(str(tmp_path / "out"), device="cpu", compute_type="float32", intra_threads=1)
    corpus = ParallelCorpus.open(valid)
    sources = [corpus.source(number) for number in range(100)]
    config = Decoding(beam=5, alpha=0, stop="exact", max_length_a=0, max_length_b=20)
    ours = [[PIECES[token] for token in own[0].tokens] for own in search(model, pad_sources(sources), config)]
    named = [[PIECES[token] for token in source] for source in sources]
    theirs = translator.translate_batch(named, beam_size=5, length_penalty=0, max_decoding_length=20, **AS_OURS)
    # At the greatest length ours must end, which costs probability, and theirs are cut. What else differs is how
    # finished hypotheses leave the beam: 98 of 99 translations were the same.
    ended = [(one.hypotheses[0], own) for one, own in zip(theirs, ours, strict=True) if len(own) < 20]
    assert len(ended) > 50 and sum(one == own for one, own in ended) >= 0.95 * len(ended)


@pytest.mark.parametrize("encoding", ["rope", "alibi", "directional", "learned_control"])
def test_other_encodings_are_refused(encoding: str, subword: Path, tmp_path: Path) -> None:
    pytest.importorskip("ctranslate2", reason="the extra 'export' is not installed")
    pieces = Subword.load(subword)
    control = {"type": "learned", "control": 32} if encoding == "learned_control" else {"type": encoding}
    model = saved(tmp_path, pieces, control)
    with raises("not-exportable"):
        export_ctranslate2(model, pieces, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_other_files_in_the_folder_are_kept(subword: Path, tmp_path: Path) -> None:
    pieces, output = Subword.load(subword), tmp_path / "out"
    model = saved(tmp_path, pieces, {"type": "none"})
    output.mkdir()
    (output / "model.bin").write_text("a model")
    (output / "subword.model").write_text("mine")
    with raises("not-empty", output, found=["subword.model"]):
        export_ctranslate2(model, pieces, output)
    assert (output / "subword.model").read_text() == "mine"


def test_without_the_package_the_extra_is_named(subword: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ctranslate2.specs", None)
    pieces = Subword.load(subword)
    with raises("missing-package"):
        export_ctranslate2(saved(tmp_path, pieces, {"type": "none"}), pieces, tmp_path / "out")
