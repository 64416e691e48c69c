"""Tests of randomized positions against released numbers and formulas, and of their promise for long sentences."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.testing import assert_close

from golden import golden
from raises import raises
from raw_scores import raw_scores
from tiny_models import SIZE, VOCABULARY, seen, sentences
from training_passes import SIZES
from training_passes import model_of as new_model
from wordorder.config.decoding import Decoding
from wordorder.config.models import Recipe
from wordorder.decoding.beam import search
from wordorder.draws import repeatable
from wordorder.encodings.alibi import slopes
from wordorder.encodings.base import Encoding, Positions, Shape, Stack
from wordorder.encodings.randomized import Draws, Randomized
from wordorder.encodings.registry import build, parse
from wordorder.encodings.sinusoidal import frequencies
from wordorder.encodings.waves import waves
from wordorder.model.architectures.transformer import Transformer

DIM = 32
SHAPE = Shape(dim=DIM, heads=4, encoder_layers=2, decoder_layers=1)
ABSOLUTE, DISTANCES = ["sinusoidal", "learned"], ["alibi", "transformer_xl"]


def encoding_of(shape: Shape = SHAPE, **parameters: Any) -> Encoding:
    if "range" in parameters:
        parameters.setdefault("longest", parameters["range"])
    return build(parse({"type": "randomized", **parameters}), shape)


def drawn(encoding: Encoding, lengths: list[int] | None, *, limit: int | None = None, count: int = 1) -> Positions:
    """Positions of a pass: of sentences of known lengths, or of ``count`` of a length that is not known."""
    known = None if lengths is None else torch.tensor(lengths)[:, None]
    limit = max(lengths or [], default=0) if limit is None else limit
    numbers = encoding.draw(len(lengths) if lengths else count)
    return replace(Positions.range(limit), drawn=numbers, lengths=known)


def places(encoding: Encoding, positions: Positions, stack: Stack = "encoder", *, among: int) -> Tensor:
    """The positions whose sinusoids are added to the embeddings: (B, L)"""
    rows = 1 if positions.lengths is None else len(positions.lengths)
    added = encoding.add_to_embeddings(torch.zeros(rows, positions.limit, DIM), positions, stack)
    near, found = torch.cdist(added, waves(torch.arange(among), frequencies(DIM)).float()).min(-1)
    assert float(near.max()) < 1e-2  # neighbours are 0.9 apart
    return found


def orders(smallest: list[Tensor], among: int) -> Tensor:
    """``drawn`` (1, D) with these draws: of each layer, for lengths not known and known, of each side."""
    rows = []
    for first in smallest:
        row = torch.full((among,), among, dtype=torch.int32)
        row[first] = torch.arange(len(first), dtype=torch.int32)
        rows.append(row)
    return torch.cat(rows)[None]


# ------------------------------------------------------------------------------------------------------ what is drawn


@pytest.mark.parametrize("training", [True, False])
def test_a_sentence_draws_as_many_positions_as_it_has_tokens_from_the_whole_range(training: bool) -> None:
    torch.manual_seed(0)
    encoding = encoding_of(range=12).train(training)
    counts = torch.zeros(12)
    for _ in range(600):
        found = places(encoding, drawn(encoding, [3]), among=12)
        assert bool((found.diff(dim=1) > 0).all())
        counts[found[0]] += 1
    # Each of 12 positions is one of the 3 in a quarter of the draws: 150 times, with a deviation of about 10.6.
    assert 110 < int(counts.min()) <= int(counts.max()) < 190


def test_each_batch_draws_again() -> None:
    torch.manual_seed(0)
    for training in (True, False):
        encoding = encoding_of(range=400).train(training)
        passes = [places(encoding, drawn(encoding, [6]), among=400) for _ in range(2)]
        assert not torch.equal(*passes)


def test_sentences_of_a_batch_share_the_draw_and_keep_their_lengths() -> None:
    encoding = encoding_of(range=100)
    found = places(encoding, drawn(encoding, [5, 5, 3]), among=200)
    assert torch.equal(found[0], found[1])
    short = found[2, :3]
    assert set(short.tolist()) < set(found[0].tolist()) and bool((short.diff() > 0).all())


def test_a_length_that_is_not_known_is_the_longest() -> None:
    torch.manual_seed(0)
    encoding = encoding_of(range=40, longest=10).train()
    many = torch.cat([places(encoding, drawn(encoding, None, limit=6), "decoder", among=60) for _ in range(300)])
    # The i-th smallest of n of N numbers without repetition is (i + 1)(N + 1)/(n + 1) - 1 in the mean.
    expected = torch.arange(1, 7) * 41 / 11 - 1
    assert_close(many.float().mean(0), expected, rtol=0, atol=1.0)
    # What a decoder has read keeps its positions.
    positions = drawn(encoding, None, limit=14)
    long = places(encoding, positions, "decoder", among=60)
    step = replace(positions.part(slice(5, 6)), limit=6)
    added = encoding.add_to_embeddings(torch.zeros(1, 1, DIM), step, "decoder")
    assert_close(added[0, 0], waves(long[0, 5], frequencies(DIM)).float())
    assert long[0, 10:].tolist() == [40, 41, 42, 43]  # beyond ``longest`` they count on


def test_draw_fixed_is_that_of_unknown_lengths_in_the_encoder_too() -> None:
    torch.manual_seed(0)
    encoding = encoding_of(range=40, longest=10, draw="fixed")
    found = torch.cat([places(encoding, drawn(encoding, [6]), among=60) for _ in range(300)])
    assert_close(found.float().mean(0), torch.arange(1, 7) * 41 / 11 - 1, rtol=0, atol=1.0)


def test_source_and_target_draw_separately() -> None:
    encoding = encoding_of(range=300, draw="fixed", longest=20)
    positions = drawn(encoding, [6])
    source = places(encoding, positions, among=300)
    target = places(encoding, replace(positions, lengths=None), "decoder", among=300)
    assert not torch.equal(source, target)


@pytest.mark.parametrize(("lengths", "number"), [([6], 6), (None, 10)])
def test_mean_positions_are_the_means_of_draws(lengths: list[int] | None, number: int) -> None:
    encoding = encoding_of(range=40, longest=10, evaluation="mean").eval()
    positions = drawn(encoding, lengths, limit=6)
    assert positions.drawn is None
    expected = (torch.arange(1, 7) * 41 / (number + 1) - 1).round().long()
    assert_close(places(encoding, positions, among=50), expected[None])
    assert encoding.train().draw(1) is not None


@pytest.mark.parametrize("base", ["rope", *DISTANCES])
def test_each_layer_has_a_draw_of_its_own(base: str) -> None:
    torch.manual_seed(0)
    encoding = encoding_of(base=base)
    positions = drawn(encoding, [6])
    queries, keys = torch.randn(2, 1, 4, 6, 8)
    layers = [encoding.attention("encoder", layer) for layer in range(2)]
    layers[1].load_state_dict(layers[0].state_dict())
    first, second = (raw_scores(layer, queries, keys, positions) for layer in layers)
    assert float((first - second).detach().abs().max()) > 1e-3


# --------------------------------------------------------------------------------------------- long sentences, limits


def test_short_sentences_train_every_position_of_long_ones() -> None:
    """As the file promises, training has seen all positions of a long sentence, however short its sentences were."""
    torch.manual_seed(0)
    encoding = encoding_of(range=16).train()
    met = torch.cat([places(encoding, drawn(encoding, [2]), among=16) for _ in range(200)]).unique()
    encoding.eval()
    longest = places(encoding, drawn(encoding, [16]), among=16).unique()
    assert set(longest.tolist()) <= set(met.tolist()) == set(range(16))


@pytest.mark.parametrize("base", DISTANCES)
def test_short_sentences_train_every_distance_of_long_ones(base: str) -> None:
    torch.manual_seed(0)
    draws = encoding_of(base=base, range=16).draws
    assert isinstance(draws, Draws)

    def distances(length: int) -> set[int]:
        encoding = encoding_of(base=base, range=16).train()
        positions = drawn(encoding, [length])
        return set(draws.distances(positions, positions, layer=1)[0].flatten().tolist())

    met = set().union(*(distances(3) for _ in range(150)))
    assert distances(16) <= met == set(range(-15, 16))


@pytest.mark.parametrize("base", ["sinusoidal", "rope", *DISTANCES])
def test_beyond_the_range_any_length_works(base: str) -> None:
    encoding = encoding_of(base=base, range=8, longest=6)
    for lengths, limit in (([20], 20), (None, 20)):
        positions = drawn(encoding, lengths, limit=limit)
        if base == "sinusoidal":
            assert places(encoding, positions, among=60)[0, -3:].diff().tolist() == [1, 1]
        else:
            x = torch.randn(1, 4, 20, 8)
            assert bool(raw_scores(encoding.attention("encoder", 0), x, x, positions).isfinite().all())


def test_learned_stops_with_an_error() -> None:
    encoding = encoding_of(base="learned", range=8, longest=6)
    assert (encoding.limit("encoder"), encoding.limit("decoder")) == (8, 6)
    encoding.add_to_embeddings(torch.zeros(2, 8, DIM), drawn(encoding, [8, 3]), "encoder")
    with raises("too-long", key="range", found=9, expected=8):
        encoding.add_to_embeddings(torch.zeros(1, 9, DIM), drawn(encoding, [9]), "encoder")
    with raises("too-long", key="range", found=7, expected=6):
        encoding.add_to_embeddings(torch.zeros(1, 7, DIM), drawn(encoding, None, limit=7), "decoder")
    assert encoding_of(base="learned", range=8, longest=6, draw="fixed").limit("encoder") == 6


# ----------------------------------------------------------------------------------------- released code and formulas


def test_embeddings_are_those_of_released_code() -> None:
    arrays = golden("randomized")
    indices, among = arrays["sincos_indices"].long(), int(arrays["noise_max_length"])
    encoding = encoding_of(Shape(8, 2, 1, 1), range=among, longest=among).eval()
    positions = replace(Positions.range(7), drawn=orders([indices, indices], among), lengths=torch.tensor([[7]]))
    found = encoding.add_to_embeddings(torch.zeros(1, 7, 8), positions, "encoder")[0]
    sines_first = torch.cat((found[:, 0::2], found[:, 1::2]), dim=1).double()
    assert_close(sines_first, arrays["sincos_out"], rtol=0, atol=1e-5)


def test_learned_vectors_are_those_of_drawn_positions() -> None:
    encoding = encoding_of(base="learned", range=30)
    positions = replace(
        Positions.range(3), drawn=orders([torch.tensor([4, 9, 2])] * 2, 30), lengths=torch.tensor([[3]])
    )
    added = encoding.add_to_embeddings(torch.zeros(1, 3, DIM), positions, "encoder")
    table = next(parameter for name, parameter in encoding.named_parameters() if "encoder" in name)
    assert_close(added[0], table[[2, 4, 9]])


def test_rotations_are_those_of_released_code() -> None:
    arrays = golden("randomized")
    indices, among = arrays["rotary_indices"].long(), int(arrays["noise_max_length"])
    encoding = encoding_of(Shape(24, 3, 1, 1), base="rope", range=among, longest=among).eval()
    positions = replace(Positions.range(7), drawn=orders([indices] * 2, among), lengths=torch.tensor([[7], [7]]))
    x = arrays["rotary_q"].transpose(1, 2)  # neighbours are pairs, here halves
    order = torch.cat((torch.arange(0, 8, 2), torch.arange(1, 8, 2)))
    found, same = encoding.attention("encoder", 0).rotate(x[..., order], x[..., order], positions)
    assert_close(found, arrays["rotary_out"].transpose(1, 2)[..., order], rtol=0, atol=1e-5)
    assert torch.equal(found, same)


@pytest.mark.parametrize(("name", "sides"), [("sym", "same"), ("both", "independent")])
def test_distances_are_those_of_released_code(name: str, sides: str) -> None:
    arrays = golden("randomized")
    among = int(arrays["noise_max_length"])
    encoding = encoding_of(Shape(32, 4, 1, 1), base="alibi", range=among, longest=among, sides=sides)
    left, right = (arrays[f"alibi_{name}_{side}"].long() - 1 for side in ("left", "right"))
    draws = [left] * 2 if sides == "same" else [left, right] * 2
    positions = replace(Positions.range(7), drawn=orders(draws, among - 1), lengths=torch.tensor([[7]]))
    found = encoding.attention("encoder", 0).bias(positions, positions)
    assert found is not None
    assert_close(found[0].double(), arrays[f"alibi_{name}_bias"], rtol=0, atol=1e-5)


@pytest.mark.parametrize("stack", ["encoder", "decoder"])
@pytest.mark.parametrize("base", DISTANCES)
def test_scores_and_gradients_are_the_formula_pair_by_pair(base: str, stack: Stack) -> None:
    torch.manual_seed(0)
    shape = Shape(dim=12, heads=3, encoder_layers=1, decoder_layers=1)
    encoding = encoding_of(shape, base=base, range=20, longest=12, sides="independent").double()
    for parameter in encoding.parameters():
        torch.nn.init.normal_(parameter, std=0.5)
    lengths = [5, 3] if stack == "encoder" else None
    positions = drawn(encoding, lengths, limit=5, count=2)
    queries, keys = (x.requires_grad_() for x in torch.randn(2, 2, 3, 5, 4, dtype=torch.float64))
    attention: Any = encoding.attention(stack, 0)
    found = raw_scores(attention, queries, keys, positions)

    assert positions.drawn is not None
    whens = positions.drawn[0].view(1, 2, 2, 19)[0, int(stack == "encoder")]
    rows = []
    for b in range(2):
        number = 12 if lengths is None else lengths[b]
        left, right = ([v + 1 for v in range(19) if int(when[v]) < number - 1] for when in whens)
        for h in range(3):
            for i in range(5):
                for j in range(5):
                    real = lengths is None or max(i, j) < number
                    if not real or (stack == "decoder" and j > i):
                        rows.append(found[b, h, i, j])
                        continue
                    apart = 0 if i == j else right[j - i - 1] if j > i else -left[i - j - 1]
                    product = queries[b, h, i] @ keys[b, h, j]
                    if base == "alibi":
                        bias = -slopes(3)[h] * (apart if apart >= 0 else -apart - 0.5)
                        rows.append(product / 2 + bias)
                        continue
                    angles = -apart * 10000 ** (-torch.arange(0, 12, 2, dtype=torch.float64) / 12)
                    vector = attention.base.project.weight[4 * h : 4 * h + 4] @ torch.cat((angles.sin(), angles.cos()))
                    u, v = attention.base.content_bias[h], attention.base.position_bias[h]
                    rows.append((product + u @ keys[b, h, j] + (queries[b, h, i] + v) @ vector) / 2)
    expected = torch.stack(rows).view(found.shape)
    assert_close(found, expected, rtol=0, atol=1e-6)
    leaves = [queries, keys, *attention.parameters()]
    toward = torch.randn_like(found)
    mine, theirs = (torch.autograd.grad((each * toward).sum(), leaves, retain_graph=True) for each in (found, expected))
    assert_close(mine, theirs, rtol=0, atol=1e-5)


# ---------------------------------------------------------------------------------------------------------- the model


@torch.no_grad()
def test_a_model_draws_once_for_each_pass_and_repeats_it_where_it_must() -> None:
    torch.manual_seed(0)
    encoding = encoding_of(Transformer.shape(SIZE))
    model = Transformer(SIZE, Recipe(max_updates=1), encoding, VOCABULARY).eval()
    source = sentences([6, 4])
    passes = [seen(model.encode(source)) for _ in range(2)]
    assert float((passes[0] - passes[1]).abs().max()) > 1e-3
    state = torch.get_rng_state()
    repeated = []
    for _ in range(2):
        with repeatable(7):
            repeated.append(seen(model.encode(source)))
    assert torch.equal(*repeated) and torch.equal(torch.get_rng_state(), state)


@pytest.mark.parametrize("size", SIZES)
@torch.no_grad()
def test_a_search_does_not_copy_the_draw_of_a_pass(size: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sentences that leave the batch, hypotheses and steps share one row, with the same translations as copies."""
    model = new_model(parse({"type": "randomized", "range": 40, "longest": 20}), SIZES[size], dropout=0.0).eval()
    decoding, sources = Decoding(beam=3, nbest=3, max_length_a=0, max_length_b=6), sentences([6, 2, 4])
    original, draw, strides = Randomized._add_to_embeddings, Randomized.draw, []

    def watched(self: Randomized, x: Tensor, positions: Positions, stack: Stack) -> Tensor:
        assert positions.drawn is not None and len(positions.drawn) == len(x)
        strides.append(positions.drawn.stride(0) if len(x) > 1 else 0)
        return original(self, x, positions, stack)

    monkeypatch.setattr(Randomized, "_add_to_embeddings", watched)
    torch.manual_seed(0)
    found = search(model, sources, decoding)
    assert len(strides) > 4 and set(strides) == {0}
    monkeypatch.setattr(Randomized, "draw", lambda self, count: draw(self, count).contiguous())
    torch.manual_seed(0)
    assert search(model, sources, decoding) == found and set(strides) != {0}


def test_parameters_that_cannot_be_drawn_are_refused() -> None:
    with raises("invalid-value", says="longest (50) cannot exceed range (40)"):
        parse({"type": "randomized", "range": 40, "longest": 50})
    with raises("invalid-value", says="'sides: independent' is about distances"):
        parse({"type": "randomized", "sides": "independent"})


@pytest.mark.parametrize("base", ["sinusoidal", "rope", "alibi"])
def test_parameters_are_those_of_the_base(base: str) -> None:
    shape = Shape(dim=512, heads=8, encoder_layers=6, decoder_layers=6)
    assert parse({"type": "randomized", "base": base}).parameter_count(shape) == 0
    assert parse({"type": "randomized", "base": "learned"}).parameter_count(shape) == 2 * 2048 * 512


@pytest.mark.parametrize(("base", "absolute"), [("sinusoidal", True), ("learned", True), ("rope", False)])
def test_what_it_may_be_composed_with_depends_on_the_base(base: str, absolute: bool) -> None:
    entry = {"compose": [{"type": "sinusoidal"}, {"type": "randomized", "base": base}]}
    if absolute:
        with raises("invalid-value", says="both absolute"):
            parse(entry)
    else:
        build(parse(entry), SHAPE)
    assert encoding_of(base=base).inside_attention() is not absolute
