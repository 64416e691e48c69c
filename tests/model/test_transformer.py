from __future__ import annotations

from typing import Any, Literal

import pytest
import torch
from torch import Tensor, nn
from torch.testing import assert_close

from tiny_models import CONFIG, SIZE, VOCABULARY, seen, sentences, tiny_model
from training_passes import LENGTHS, SIZES, batch_of
from wordorder.config.load import load_sizes
from wordorder.config.models import Cell, Recipe
from wordorder.encodings.base import Positions
from wordorder.encodings.registry import build, parse
from wordorder.model.architectures.base import architecture_of
from wordorder.model.architectures.transformer import Transformer
from wordorder.model.batch import PAD
from wordorder.model.checkpoint import build_model, count_parameters
from wordorder.model.objective import TranslationObjective

NONE = parse({"type": "none"})
SINUSOIDAL = parse({"type": "sinusoidal"})
Ties = Literal["all", "decoder", "none"]


def new_model(**recipe: Any) -> Transformer:
    torch.manual_seed(0)
    return Transformer(SIZE, Recipe(max_updates=1, **recipe), build(NONE, Transformer.shape(SIZE)), VOCABULARY)


def counts(encoding: dict[str, Any], vocabulary: int, norm: Literal["pre", "post"] = "post") -> dict[str, int]:
    """Count the parameters of a model of the base shape, without allocating its tensors."""
    recipe = Recipe(norm=norm, max_updates=1)
    with torch.device("meta"):
        cell = Cell(encoding=encoding, size=load_sizes(CONFIG)["base"], recipe=recipe, seed=0)
        return count_parameters(build_model(cell, vocabulary))


def test_parameters_of_the_published_base_model() -> None:
    none = counts({"type": "none"}, 37_000)
    assert none == {"total": 63_082_496, "encoding": 0}
    assert none["total"] - 37_000 * 512 == 44_138_496
    assert counts({"type": "sinusoidal"}, 37_000) == none
    assert counts({"type": "learned"}, 37_000) == {"total": 63_082_496 + 1_048_576, "encoding": 1_048_576}
    # A pre-norm stack ends with a norm of its own.
    assert counts({"type": "none"}, 37_000, "pre")["total"] == 63_082_496 + 2 * 2 * 512


@pytest.mark.parametrize(("ties", "matrices"), [("all", 1), ("decoder", 2), ("none", 3)])
def test_tied_embeddings(ties: Ties, matrices: int) -> None:
    model = new_model(tie_embeddings=ties)
    tables = [model.source_embedding.weight, model.target_embedding.weight, model.output.weight]
    assert len({id(table) for table in tables}) == matrices
    assert (tables[1] is tables[2]) is (ties != "none")
    assert (tables[0] is tables[1]) is (ties == "all")
    layers = sum(parameter.numel() for parameter in [*model.encoder.parameters(), *model.decoder.parameters()])
    norms = 4 * SIZE.dim
    assert count_parameters(model)["total"] == matrices * VOCABULARY * SIZE.dim + layers + norms


@pytest.mark.parametrize("ties", ["all", "decoder", "none"])
def test_new_embeddings(ties: Ties) -> None:
    torch.manual_seed(0)
    size = SIZE.model_copy(update={"dim": 64})
    model = Transformer(size, Recipe(max_updates=1, tie_embeddings=ties), build(NONE, Transformer.shape(size)), 400)
    for table in (model.source_embedding, model.target_embedding):
        assert not table.weight[PAD].any()
        assert float(table.weight.detach()[1:].std()) == pytest.approx(64**-0.5, rel=0.03)
    assert float(model.output.weight.detach()[1:].std()) == pytest.approx(64**-0.5, rel=0.03)


def test_only_a_pre_norm_stack_ends_with_a_norm() -> None:
    source, target = sentences([4, 3]), sentences([5, 5], seed=1)
    for norm, kind in (("pre", nn.LayerNorm), ("post", nn.Identity)):
        model = new_model(norm=norm).eval()
        assert type(model.encoder_norm) is type(model.decoder_norm) is kind
        # Either way what comes out is normed.
        hidden = model(source, target).detach()
        assert_close(hidden.mean(-1), torch.zeros(2, 5), rtol=0, atol=1e-5)
        assert_close(hidden.var(-1, correction=0), torch.ones(2, 5), rtol=0, atol=1e-3)
        expected = model.decoder[-1].around_ffn.norm if norm == "post" else model.decoder_norm
        shift = torch.arange(float(SIZE.dim))
        with torch.no_grad():
            expected.bias += shift  # type: ignore[union-attr, operator]
        assert_close(model(source, target).detach(), hidden + shift)


@torch.no_grad()
def test_who_sees_whom() -> None:
    model = tiny_model(SINUSOIDAL)
    source, target = sentences([6]), sentences([6], seed=1)
    hidden = model(source, target)
    for place in range(6):
        other = target.clone()
        other[0, place] = 4 + (int(target[0, place]) - 3) % (VOCABULARY - 4)
        changed = (model(source, other) - hidden).abs().amax(-1)[0] > 1e-4
        assert changed.tolist() == [False] * place + [True] * (6 - place)
        other = source.clone()
        other[0, place] = 4 + (int(source[0, place]) - 3) % (VOCABULARY - 4)
        assert bool(((model(other, target) - hidden).abs().amax(-1) > 1e-4).all())


@torch.no_grad()
def test_chosen_sentences_of_a_memory() -> None:
    model = tiny_model(SINUSOIDAL)
    source = sentences([6, 2, 4])
    memory, rows = model.encode(source), torch.tensor([2, 0, 2])
    chosen = memory.select(rows)
    assert_close(seen(chosen), seen(model.encode(source[rows])))
    target = sentences([3, 3, 3], seed=1)
    assert_close(model.decode(target, chosen), model(source[rows], target))
    without_padding = model.encode(source[:, :2]).select(rows)
    assert without_padding.mask is None


@torch.no_grad()
def test_logits_are_products_with_the_output_embeddings() -> None:
    model = tiny_model(NONE, tie_embeddings="none")
    hidden = torch.randn(2, 3, SIZE.dim)
    expected = torch.einsum("btd,vd->btv", hidden, model.output.weight)
    assert_close(model.logits(hidden), expected)


def test_the_padding_piece_is_never_trained_as_an_input() -> None:
    model = tiny_model(NONE, tie_embeddings="none").train()
    source, target = sentences([6, 2]), sentences([5, 3], seed=1)
    model(source, target).square().sum().backward()
    for table, tokens in ((model.source_embedding, source), (model.target_embedding, target)):
        assert table.weight.grad is not None
        trained = table.weight.grad.any(-1).nonzero().flatten().tolist()
        assert set(trained) == set(tokens.flatten().tolist()) - {PAD}


def variation_of(kind: Any, method: str) -> Any:
    """Derive from an architecture a class that encodes or decodes other tokens, and one that derives from this."""

    def changed(tokens: Tensor) -> Tensor:
        return tokens.where(tokens == PAD, 4 + (tokens + 1) % (VOCABULARY - 4))

    class Encodes(kind):  # type: ignore[misc]
        def encode(self, source: Tensor, *, positions: Positions | None = None) -> Any:
            return super().encode(changed(source), positions=positions)

    class Decodes(kind):  # type: ignore[misc]
        def decode(self, target: Tensor, memory: Any) -> Tensor:
            hidden: Tensor = super().decode(changed(target), memory)
            return hidden

    class Derived({"encode": Encodes, "decode": Decodes}[method]):  # type: ignore[misc]
        pass

    return Derived


@pytest.mark.parametrize("method", ["encode", "decode"])
@pytest.mark.parametrize("size", SIZES)
@torch.no_grad()
def test_a_variation_is_trained_as_it_translates(size: str, method: str) -> None:
    """A class that overrides ``encode`` or ``decode`` trains with its own methods, and therefore with padding."""
    torch.manual_seed(0)
    kind = architecture_of(SIZES[size])
    assert kind.packs is (size == "transformer")
    encoding = build(SINUSOIDAL, kind.shape(SIZES[size]))
    usual, varied = (
        each(SIZES[size], Recipe(max_updates=1), encoding, VOCABULARY).eval()
        for each in (kind, variation_of(kind, method))
    )
    varied.load_state_dict(usual.state_dict())
    assert not varied.packs
    batch = batch_of(LENGTHS)
    batch.source_places = torch.arange(batch.source.numel()).masked_select(batch.source.flatten() != PAD)
    loss, _ = TranslationObjective(varied, 0.1)(batch)
    positions = Positions.range(batch.source.size(1)).with_reordered(batch.source_positions)
    hidden = varied.decode(batch.target_input, varied.encode(batch.source, positions=positions))
    assert torch.equal(varied(batch.source, batch.target_input, source_positions=positions), hidden)
    expected = nn.functional.cross_entropy(
        varied.logits(hidden).transpose(1, 2),
        batch.target_output,
        ignore_index=PAD,
        label_smoothing=0.1,
        reduction="sum",
    )
    assert_close(loss, expected)
    assert not torch.allclose(loss, TranslationObjective(usual, 0.1)(batch)[0])


def test_a_variation_with_a_pass_of_its_own_may_leave_padding_out() -> None:
    class Own(Transformer):
        def encode(self, source: Tensor, *, positions: Positions | None = None) -> Any:
            return super().encode(source, positions=positions)

        def forward(self, *tensors: Tensor, **options: Any) -> Tensor:
            return super().forward(*tensors, **options)

    assert Own.packs
