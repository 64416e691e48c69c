"""Tests of the attentional LSTM, with and without input feeding, step by step and against its formulas."""

from __future__ import annotations

import copy
import math
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn
from torch.testing import assert_close

from place_encodings import Added, InAttention, Transformed, every_place
from raises import raises
from tiny_models import CONFIG, VOCABULARY, configurations, full, positions_of, sentences
from wordorder.config.decoding import Decoding
from wordorder.config.load import load_sizes
from wordorder.config.models import Cell, Recipe
from wordorder.decoding.beam import search
from wordorder.draws import repeatable
from wordorder.dropout import drawn
from wordorder.encodings.base import Encoding, EncodingConfig, Positions, Shape
from wordorder.encodings.compose import Composed, ComposedConfig
from wordorder.encodings.registry import build, parse
from wordorder.errors import WordorderError
from wordorder.model.architectures.base import Translator
from wordorder.model.architectures.lstm import LSTMSize, LSTMTranslator
from wordorder.model.batch import BEGIN, END, PAD, Batch
from wordorder.model.checkpoint import build_model, count_parameters, load_model, save_model
from wordorder.model.objective import TranslationObjective

SHAPES: dict[str, dict[str, Any]] = {
    "usual": {},
    "forward": {"bidirectional": False},
    "feeding": {"input_feeding": True},
    "OpenNMT": {"bidirectional": False, "input_feeding": True},
}
every_shape = pytest.mark.parametrize("shape", SHAPES)
few = settings(max_examples=5)
lengths = st.lists(st.integers(1, 7), min_size=1, max_size=4)
seeds = st.integers(0, 1000)


def size_of(shape: str, **changed: Any) -> LSTMSize:
    return LSTMSize(**{"architecture": "lstm", "layers": 2, "dim": 16, "dropout": 0.3, **SHAPES[shape], **changed})


def cell_of(shape: str, entry: dict[str, Any], **recipe: Any) -> Cell:
    return Cell(encoding=entry, size=size_of(shape), recipe=Recipe(max_updates=1, **recipe), seed=0)


def around(encoding: Encoding, shape: str = "usual", **recipe: Any) -> LSTMTranslator:
    """Build a model with larger random parameters than a new one, in evaluation mode."""
    torch.manual_seed(0)
    model = LSTMTranslator(size_of(shape), Recipe(max_updates=1, **recipe), encoding, VOCABULARY)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.2 * torch.randn_like(parameter))
    return model.eval()


def encoding_of(entry: dict[str, Any]) -> Encoding:
    return build(parse(entry), Shape(16, heads=1, encoder_layers=2, decoder_layers=2))


@cache
def model_of(shape: str) -> LSTMTranslator:
    """Return a model that tests share and do not change."""
    return around(encoding_of({"type": "sinusoidal"}), shape)


def step_by_step(model: Translator, target: Tensor, memory: Any) -> Tensor:
    caches = model.new_caches()
    steps = [model.step(target[:, [place]], memory, caches, place) for place in range(target.size(1))]
    return torch.cat(steps, dim=1)


# ------------------------------------------------------------------------------------------------ the formulas


def one_direction(weights: dict[str, Tensor], inputs: list[Tensor], hidden: Tensor, cell: Tensor) -> list[Tensor]:
    """Compute an LSTM gate by gate, token by token: the hidden states, then the last cell."""
    states = []
    for x in inputs:
        gates = []
        for gate in range(4):  # input, forget, candidate, output
            rows = slice(gate * len(hidden), (gate + 1) * len(hidden))
            value = weights["ih"][rows] @ x + weights["bih"][rows] + weights["hh"][rows] @ hidden + weights["bhh"][rows]
            gates.append(torch.tanh(value) if gate == 2 else 1 / (1 + torch.exp(-value)))
        cell = gates[1] * cell + gates[0] * gates[2]
        hidden = gates[3] * torch.tanh(cell)
        states.append(hidden)
    return [*states, cell]


def weights_of(layer: nn.Module, direction: str = "") -> dict[str, Tensor]:
    names = {"ih": "weight_ih_l0", "hh": "weight_hh_l0", "bih": "bias_ih_l0", "bhh": "bias_hh_l0"}
    return {short: getattr(layer, name + direction) for short, name in names.items()}


def reference(model: LSTMTranslator, source: list[int], target: list[int], feeding: bool) -> Tensor:
    """One sentence through a model of one bidirectional layer and an encoding of nothing, in loops: (T, d)."""
    inputs = [model.source_embedding.weight[token] * math.sqrt(16) for token in source]
    zeros = torch.zeros(8)
    *ahead, cell_ahead = one_direction(weights_of(model.encoder[0]), inputs, zeros, zeros)
    *back, cell_back = one_direction(weights_of(model.encoder[0], "_reverse"), inputs[::-1], zeros, zeros)
    states = [torch.cat(pair) for pair in zip(ahead, back[::-1], strict=True)]
    hidden, cell = torch.cat((ahead[-1], back[-1])), torch.cat((cell_ahead, cell_back))
    last, outputs = torch.zeros(16), []
    for token in target:
        x = model.target_embedding.weight[token] * math.sqrt(16)
        read = torch.cat((x, last)) if feeding else x
        hidden, cell = one_direction(weights_of(model.decoder[0]), [read], hidden, cell)
        exponentials = [torch.exp(hidden @ model.attention.score.weight @ state) for state in states]
        context = sum(e * state for e, state in zip(exponentials, states, strict=True)) / sum(exponentials)
        assert isinstance(context, Tensor)
        last = torch.tanh(model.attention.combine.weight @ torch.cat((context, hidden)))
        outputs.append(last)
    return torch.stack(outputs)


@pytest.mark.parametrize("feeding", [False, True])
@few
@given(source=st.integers(1, 6), target=st.integers(1, 5), seed=seeds)
def test_one_layer_is_its_formula(feeding: bool, source: int, target: int, seed: int) -> None:
    torch.manual_seed(seed)
    size = size_of("usual", layers=1, input_feeding=feeding)
    model = LSTMTranslator(size, Recipe(max_updates=1), encoding_of({"type": "none"}), VOCABULARY).eval()
    tokens, targets = sentences([source], seed=seed), sentences([target], seed=seed + 1)
    result = model(tokens, targets)[0]
    expected = reference(model, tokens[0].tolist(), targets[0].tolist(), feeding)
    assert_close(result, expected, rtol=1e-4, atol=1e-5)
    toward = torch.randn_like(result)
    parameters = list(model.parameters())
    gradients, slow = (torch.autograd.grad((own * toward).sum(), parameters) for own in (result, expected))
    assert_close(gradients, slow, rtol=1e-3, atol=1e-4)


@torch.no_grad()
def test_each_decoder_layer_starts_where_the_encoder_layer_ended() -> None:
    """Two layers equal two single ones: the second reads the first, and each keeps its own state."""
    model, source, target = model_of("usual"), sentences([5]), sentences([3], seed=1)
    memory = model.encode(source)
    x = model._embed(model.source_embedding, source, Positions.range(5), "encoder")[0][0]
    inputs, zeros = list(x), torch.zeros(8)
    for number in range(2):
        *ahead, cell_ahead = one_direction(weights_of(model.encoder[number]), inputs, zeros, zeros)
        *back, cell_back = one_direction(weights_of(model.encoder[number], "_reverse"), inputs[::-1], zeros, zeros)
        inputs = [torch.cat(pair) for pair in zip(ahead, back[::-1], strict=True)]
        assert_close(memory.start[number][0][0], torch.cat((ahead[-1], back[-1])), rtol=1e-4, atol=1e-5)
        assert_close(memory.start[number][1][0], torch.cat((cell_ahead, cell_back)), rtol=1e-4, atol=1e-5)
    assert_close(memory.states[0], torch.stack(inputs), rtol=1e-4, atol=1e-5)
    inputs = list(model._embed(model.target_embedding, target, Positions.range(3), "decoder")[0][0])
    for number in range(2):
        hidden, cell = memory.start[number]
        *inputs, _ = one_direction(weights_of(model.decoder[number]), inputs, hidden[0], cell[0])
    assert_close(model.decode(target, memory)[0], model.attention(torch.stack(inputs)[None], memory)[0])


# ------------------------------------------------------------------------- sentences do not see each other


@every_shape
@few
@given(source=lengths, target=st.integers(1, 6), padding=st.integers(0, 3), seed=seeds)
@torch.no_grad()
def test_padding_and_neighbours_change_nothing(
    shape: str, source: list[int], target: int, padding: int, seed: int
) -> None:
    model = model_of(shape)
    batch = sentences(source, seed=seed, padding=padding)
    targets = sentences([target] * len(source), seed=seed + 1)
    padded = torch.cat((targets, torch.full((len(source), padding), PAD)), dim=1)
    together = model(batch, padded)
    for row, length in enumerate(source):
        alone = model(batch[row : row + 1, :length], targets[row : row + 1])
        assert_close(together[row : row + 1, :target], alone, rtol=1e-4, atol=2e-5)


@every_shape
@few
@given(source=lengths, target=st.integers(1, 6), seed=seeds)
@torch.no_grad()
def test_order_of_a_batch_changes_nothing(shape: str, source: list[int], target: int, seed: int) -> None:
    model = model_of(shape)
    rows = torch.randperm(len(source), generator=torch.Generator().manual_seed(seed))
    batch, targets = sentences(source, seed=seed), sentences([target] * len(source), seed=seed + 1)
    assert_close(model(batch[rows], targets[rows]), model(batch, targets)[rows], rtol=1e-4, atol=2e-5)


@every_shape
@torch.no_grad()
def test_no_token_sees_a_later_one_and_all_see_the_source(shape: str) -> None:
    model, source, target = model_of(shape), sentences([6]), sentences([6], seed=1)
    hidden = model(source, target)
    for place in range(6):
        for tokens, expected in ((target, [False] * place + [True] * (6 - place)), (source, [True] * 6)):
            other = tokens.clone()
            other[0, place] = 4 + (int(tokens[0, place]) - 3) % (VOCABULARY - 4)
            changed = model(*((source, other) if tokens is target else (other, target)))
            assert ((changed - hidden).abs().amax(-1)[0] > 1e-6).tolist() == expected


# ------------------------------------------------------------------------------------------- step by step


@every_shape
@few
@given(source=lengths, target=st.integers(1, 6), seed=seeds)
@torch.no_grad()
def test_full_forward_is_step_by_step_decoding(shape: str, source: list[int], target: int, seed: int) -> None:
    model = model_of(shape)
    batch, targets = sentences(source, seed=seed), sentences([target] * len(source), seed=seed + 1)
    memory = model.encode(batch, positions=positions_of(batch))
    assert_close(step_by_step(model, targets, memory), model.decode(targets, memory), rtol=1e-4, atol=2e-5)


@every_shape
@torch.no_grad()
def test_hypotheses_that_grow_side_by_side_and_change_places_are_sentences_of_their_own(shape: str) -> None:
    model = model_of(shape)
    source, target = sentences([6, 3, 5]), sentences([7, 7, 7], seed=1)
    memory, caches = model.encode(source), model.new_caches()
    beams = torch.stack((target, target.flip(0)), dim=1)  # (B, K, T)
    swap = torch.tensor([1, 0, 3, 2, 5, 4])
    for step in range(7):
        if step == 3:  # one sentence leaves, and the others change places
            kept = torch.tensor([2, 0])
            memory, beams, swap = memory.select(kept), beams[kept], swap[:4]
            for own in caches:
                own.select(torch.tensor([4, 5, 0, 1]))
        result = model.step(beams[:, :, step], memory, caches, step)
        alone = torch.stack([model.decode(beams[:, k, : step + 1], memory)[:, -1] for k in range(2)], dim=1)
        assert_close(result, alone, rtol=1e-4, atol=2e-5)
        for own in caches:
            own.select(swap)
        beams = beams.flip(1)


@every_shape
@pytest.mark.parametrize("stop", ["beam", "exact"])
def test_beam_search_is_independent_of_the_batch(shape: str, stop: str) -> None:
    model = model_of(shape)
    sources = torch.cat((sentences([6, 2, 4, 5]), torch.full((4, 1), PAD)), dim=1)
    sources[torch.arange(4), (sources != PAD).sum(1)] = END
    config = Decoding(beam=3, nbest=2, max_length_b=5, stop=stop)  # type: ignore[arg-type]
    together = search(model, sources, config)
    assert [len(hypotheses) for hypotheses in together] == [2] * 4
    for row, found in enumerate(together):
        (alone,) = search(model, sources[row : row + 1], config)
        assert [hypothesis.tokens for hypothesis in found] == [hypothesis.tokens for hypothesis in alone]
        for hypothesis in found:
            target = torch.tensor([[BEGIN, *hypothesis.tokens]])
            with torch.no_grad():
                scores = model.logits(model(sources[row : row + 1], target)).log_softmax(-1)[0]
            total = sum(float(scores[place, token]) for place, token in enumerate([*hypothesis.tokens, END]))
            assert hypothesis.log_probability == pytest.approx(total, abs=1e-3)


# ----------------------------------------------------------------------------------------------- encodings


@pytest.mark.parametrize("name", configurations())
def test_every_encoding_works_or_is_refused_in_a_sentence(name: str) -> None:
    config = configurations()[name]
    try:
        model = build_model(cell_of("usual", config.model_dump(mode="json")), VOCABULARY)
    except WordorderError as error:
        assert error.code in ("no-place-for-encoding", "unfit-size")  # an LSTM has one head
        return
    source, target = sentences([7, 4, 6], padding=1), sentences([6, 6, 6], seed=1)
    model.eval()
    with torch.no_grad():
        with repeatable(0):
            memory = model.encode(source, positions=positions_of(source))
        hidden = model.decode(target, memory)
        assert_close(step_by_step(model, target, memory), hidden, rtol=1e-4, atol=2e-5)
        with repeatable(0):
            alone = model.encode(source[1:2, :4], positions=positions_of(source[1:2, :4]))
        assert_close(model.decode(target[1:2], alone), hidden[1:2], rtol=1e-4, atol=2e-5)


def test_what_acts_inside_attention_is_refused() -> None:
    shape = Shape(16, heads=4, encoder_layers=2, decoder_layers=2)
    for name, encoding in every_place(shape).items():
        if not isinstance(encoding, InAttention):
            around(encoding)
            continue
        marked = Added(EncodingConfig(type="marked"), shape)
        together = Composed(ComposedConfig(compose=(marked.config, encoding.config)), shape, [marked, encoding])
        for refused in (encoding, together):
            with pytest.raises(WordorderError) as raised:
                around(refused)
            assert f"'{name}'" in str(raised.value) and "'lstm'" in str(raised.value)
    for entry in ({"type": "relative", "cross": True}, {"compose": [{"type": "opr"}, {"type": "relative"}]}):
        with raises("no-place-for-encoding", found="relative", says="'lstm'"):
            build_model(cell_of("usual", entry), VOCABULARY)


@torch.no_grad()
def test_encodings_act_at_the_embeddings_of_both_sides() -> None:
    shape = Shape(16, heads=1, encoder_layers=2, decoder_layers=2)
    source, target = sentences([6, 3]), sentences([5, 5], seed=1)
    for kind in (Added, Transformed):
        for placement in ("encoder", "decoder"):
            torch.manual_seed(0)
            model = around(kind(EncodingConfig(type="own", placement=placement), shape))  # type: ignore[arg-type]
            plain = around(encoding_of({"type": "none"}))
            plain.load_state_dict({key: value for key, value in model.state_dict().items() if "encoding." not in key})
            memory, same = model.encode(source), plain.encode(source)
            assert (float((memory.states - same.states).abs().max()) > 1e-2) is (placement == "encoder")
            moved = model.decode(target, same) - plain.decode(target, same)
            assert (float(moved.abs().max()) > 1e-2) is (placement == "decoder")


@torch.no_grad()
def test_positions_of_the_source_are_those_that_are_given() -> None:
    seen: list[Positions] = []

    class Watching(Encoding):
        def _add_to_embeddings(self, x: Tensor, positions: Positions, stack: str) -> Tensor:
            seen.append(positions)
            return x

    model = around(Watching(EncodingConfig(type="watching"), Shape(16, 1, 2, 2)))
    source, target = sentences([6, 3]), sentences([5, 5], seed=1)
    given_ = positions_of(source, offset=7)
    model(source, target, source_positions=given_)
    assert seen[0].absolute is given_.absolute and seen[0].reordered is given_.reordered
    assert seen[0].lengths is not None and seen[0].lengths.tolist() == [[6], [3]]
    assert seen[1].absolute.tolist() == [[0, 1, 2, 3, 4]] and seen[1].reordered is None
    model.step(target[:, :1], model.encode(source), model.new_caches(), 4)
    assert seen[2].absolute.tolist() == [[0, 1, 2, 3, 4, 5]]
    assert (seen[3].absolute.tolist(), seen[3].limit) == ([[4]], 5)


# ------------------------------------------------------------------------------------------------ training


@every_shape
@pytest.mark.parametrize("ties", ["all", "decoder", "none"])
def test_gradients_reach_every_parameter(shape: str, ties: str) -> None:
    model = around(encoding_of({"type": "learned", "table": 8}), shape, tie_embeddings=ties).train()
    source, target = sentences([8, 5, 6]), sentences([6, 8, 4], seed=1)
    model.logits(full(model, source, target)).log_softmax(-1)[..., 5].sum().backward()  # type: ignore[arg-type]
    unreached = [key for key, value in model.named_parameters() if value.grad is None or not value.grad.any()]
    assert not unreached
    assert all(bool(value.grad.isfinite().all()) for value in model.parameters() if value.grad is not None)


def test_dropout_follows_embeddings_layers_and_output(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each dropout is visible if all others are off; one generator of PyTorch determines all of them."""
    model = around(encoding_of({"type": "none"}), dropout=0.5).train()
    source, target = sentences([9, 7]), sentences([8, 8], seed=1)
    calls: list[tuple[int, ...]] = []

    def counted(x: Tensor, *how: Any) -> Any:
        calls.append(tuple(x.shape))
        return drawn(x, *how)

    monkeypatch.setattr("wordorder.dropout.drawn", counted)
    torch.manual_seed(5)
    first = model(source, target)
    # Embeddings, then the one gap of the packed encoder; the same of the decoder; the output.
    assert calls == [(2, 9, 16), (16, 16), (2, 8, 16), (2, 8, 16), (2, 8, 16)]
    assert 0.3 < float((first == 0).float().mean()) < 0.7
    torch.manual_seed(5)
    assert_close(model(source, target), first, rtol=0, atol=0)
    assert not torch.equal(model(source, target), first)


@every_shape
def test_bfloat16_stays_near_single_precision(shape: str) -> None:
    model = copy.deepcopy(model_of(shape))
    source, target = sentences([6, 3, 7]), sentences([5, 5, 5], seed=1)
    with torch.no_grad():
        expected = model(source, target)
    with torch.autocast("cpu", torch.bfloat16):
        hidden = model(source, target)
        with torch.no_grad():
            stepped = step_by_step(model, target, model.encode(source))
    with torch.no_grad():  # what a search in bfloat16 does
        low = copy.deepcopy(model).bfloat16()(source, target)
    assert low.dtype == torch.bfloat16
    for found in (hidden, stepped, low):
        assert float((found.detach() - expected).abs().mean()) < 0.05 * float(expected.abs().mean())
    hidden.float().square().sum().backward()
    assert all(value.grad is not None and value.grad.isfinite().all() for value in model.parameters())


@pytest.mark.parametrize("shape", ["usual", "OpenNMT"])
def test_it_learns_to_copy(shape: str) -> None:
    torch.manual_seed(0)
    recipe = Recipe(max_updates=1, dropout=0.0)
    size = size_of(shape, layers=1, dim=32)
    model = LSTMTranslator(size, recipe, encoding_of({"type": "none"}), VOCABULARY)
    objective = TranslationObjective(model, 0.0)
    optimizer = torch.optim.Adam(model.parameters())
    generator = torch.Generator().manual_seed(1)
    updates = 200
    for update in range(updates):
        optimizer.param_groups[0]["lr"] = 1e-2 * min(1, (update + 1) / 20, 3 * (1 - update / updates))
        length = int(torch.randint(1, 5, (), generator=generator))
        tokens = torch.randint(4, 12, (64, length), generator=generator)
        begin, end = torch.full((64, 1), BEGIN), torch.full((64, 1), END)
        source = torch.cat((tokens, end), 1)
        batch = Batch(source, torch.cat((begin, tokens), 1), source, real=None, target_tokens=source.numel())
        loss, _ = objective(batch)
        optimizer.zero_grad()
        (loss / source.numel()).backward()
        optimizer.step()
    tokens = torch.randint(4, 12, (100, 4), generator=generator)
    found = search(model.eval(), torch.cat((tokens, torch.full((100, 1), END)), 1), Decoding(beam=2))
    right = sum(own[0].tokens == wanted for own, wanted in zip(found, tokens.tolist(), strict=True))
    assert right >= 90


# --------------------------------------------------------------------------------- building, counting, saving


def test_parameters_of_the_shipped_sizes() -> None:
    """Counted manually: 4 · 1,024 gates, two biases each; one direction of the encoder has half of them."""
    sizes, layers, d = load_sizes(CONFIG), 6, 1024
    decoder = layers * (4 * d * (d + d) + 2 * 4 * d)
    both_ways = layers * 2 * (4 * d // 2 * (d + d // 2) + 2 * 4 * d // 2)
    attention, vocabulary = 3 * d * d, 34_568 * d

    def count(name: str, ties: Any) -> int:
        with torch.device("meta"):
            recipe = Recipe(max_updates=1, tie_embeddings=ties)
            cell = Cell(encoding={"type": "none"}, size=sizes[name], recipe=recipe, seed=0)
            return count_parameters(build_model(cell, 34_568))["total"]

    assert count("lstm", "all") == both_ways + decoder + attention + vocabulary == 126_722_048
    # An encoder that is the decoder's equal, and as many weights more as the first layer has for what is fed to it.
    assert count("lstm_opennmt", "decoder") == 2 * decoder + 4 * d * d + attention + 2 * vocabulary == 178_896_896


@every_shape
def test_a_loaded_model_is_the_saved_one(tmp_path: Path, shape: str) -> None:
    own = cell_of(shape, {"type": "learned", "table": 12})
    torch.manual_seed(1)
    model = build_model(own, VOCABULARY).eval()
    save_model(tmp_path / "model.pt", own, VOCABULARY, model.state_dict())
    torch.manual_seed(2)  # nothing of the loaded one is left to chance
    loaded = load_model(tmp_path / "model.pt")
    assert isinstance(loaded, LSTMTranslator) and not loaded.training
    source, target = sentences([5, 3]), sentences([4, 4], seed=1)
    with torch.no_grad():
        assert_close(loaded(source, target), model(source, target), rtol=0, atol=0)
    assert Cell.model_validate_json(own.model_dump_json()) == own
