from __future__ import annotations

import copy
import math
from functools import cache
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from wordorder.config.decoding import Decoding
from wordorder.config.models import Cell, Recipe
from wordorder.decoding.beam import Hypothesis, max_length, search
from wordorder.decoding.translate import translate
from wordorder.model.architectures.transformer import Transformer, TransformerSize
from wordorder.model.batch import BEGIN, END, PAD, UNKNOWN, Batch
from wordorder.model.checkpoint import build_model
from wordorder.model.objective import TranslationObjective
from wordorder.training.batches import pad_sources

UPDATES = 400
VOCABULARY = 75  # not a multiple of the blocks in which tokens are compared
ENCODINGS: dict[str, dict[str, Any]] = {
    "none": {"type": "none"},
    "sinusoidal": {"type": "sinusoidal"},
    "opr": {"type": "opr"},
    "learned": {"type": "learned", "table": 64},
    "relative": {"type": "relative", "clip": 3},
    "opr+relative": {"compose": [{"type": "opr"}, {"type": "relative", "clip": 3, "values": False}]},
}
POWER = {"length_penalty": "power", "alpha": 0.8}
GNMT = {"length_penalty": "gnmt", "alpha": 0.6}


def new_model(
    encoding: dict[str, Any],
    *,
    seed: int = 0,
    norm: Any = "pre",
    sharpness: float = 1.0,
    vocabulary: int = VOCABULARY,
) -> Transformer:
    """Build a random model; a larger sharpness moves its probabilities further from uniform."""
    torch.manual_seed(seed)
    size = TransformerSize(encoder_layers=2, decoder_layers=2, dim=32, ffn_dim=64, heads=4, dropout=0.0)
    model = build_model(Cell(encoding=encoding, size=size, recipe=Recipe(norm=norm, max_updates=1), seed=0), vocabulary)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter *= sharpness
    return model.eval()


def random_sources(count: int, *, seed: int, highest: int = VOCABULARY) -> list[np.ndarray[Any, Any]]:
    generator = np.random.default_rng(seed)
    return [generator.integers(4, highest, generator.integers(1, 8)) for _ in range(count)]


@torch.no_grad()
def make_end_likelier(model: Transformer, logit: float) -> None:
    """Raise the logit of END by about this amount at every step."""
    hidden = model.decode(torch.arange(4, 68).view(8, 8), model.encode(torch.arange(4, 68).view(8, 8))).mean((0, 1))
    model.output.weight[END] += logit * hidden / hidden.square().sum()


COPIED = 20  # the tokens 4 … 19 are copied


@cache
def copying_model() -> Transformer:
    """Train a small model to copy."""
    model = new_model({"type": "sinusoidal"}).train()
    objective = TranslationObjective(model, 0.1)
    optimizer = torch.optim.Adam(model.parameters(), betas=(0.9, 0.98))
    generator = torch.Generator().manual_seed(1)
    for update in range(UPDATES):
        optimizer.param_groups[0]["lr"] = 5e-3 * min(1, (update + 1) / 40, 4 * (1 - update / UPDATES))
        length = int(torch.randint(1, 8, (), generator=generator))
        tokens = torch.randint(4, COPIED, (64, length), generator=generator)
        begin, end = torch.full((64, 1), BEGIN), torch.full((64, 1), END)
        source = torch.cat((tokens, end), 1)
        batch = Batch(source, torch.cat((begin, tokens), 1), source, real=None, target_tokens=source.numel())
        loss, _ = objective(batch)
        optimizer.zero_grad()
        (loss / source.numel()).backward()
        optimizer.step()
    return model.eval()


# ------------------------------------------------------------------------------------------------- the reference


def reference(model: Transformer, source: Tensor, config: Decoding) -> list[Hypothesis]:
    """Search one sentence (S,) as in a textbook: no cache, no batch, no bound."""

    def penalty(length: int) -> float:
        base = length if config.length_penalty == "power" else (5 + length) / 6
        return float(base**config.alpha)

    limit = max_length(len(source), config)
    table = model.encoding.limit("decoder")
    limit = limit if table is None else min(limit, table - 1)
    memory = model.encode(source[None])
    open_: list[tuple[float, list[int]]] = [(0.0, [])]
    finished: list[Hypothesis] = []
    for step in range(limit + 1):
        candidates = []
        for total, prefix in open_:
            hidden = model.decode(torch.tensor([[BEGIN, *prefix]]), memory)[0, -1]
            row = torch.log_softmax(model.logits(hidden).float(), -1).tolist()
            for token, value in enumerate(row):
                if token not in (PAD, BEGIN) and (step < limit or token == END):
                    candidates.append((total + value, [*prefix, token]))
        candidates.sort(key=lambda candidate: -candidate[0])
        for total, tokens in candidates[: config.beam]:
            if tokens[-1] == END:
                finished.append(Hypothesis(tokens[:-1], total / penalty(len(tokens)), total))
        open_ = [candidate for candidate in candidates if candidate[1][-1] != END][: config.beam]
        if config.stop == "beam" and len(finished) >= config.beam:
            break
    return sorted(finished, key=lambda hypothesis: -hypothesis.score)[: config.nbest]


def assert_same(found: list[list[Hypothesis]], expected: list[list[Hypothesis]]) -> None:
    for mine, theirs in zip(found, expected, strict=True):
        assert [hypothesis.tokens for hypothesis in mine] == [hypothesis.tokens for hypothesis in theirs]
        for one, other in zip(mine, theirs, strict=True):
            assert one.score == pytest.approx(other.score, abs=1e-4)
            assert one.log_probability == pytest.approx(other.log_probability, abs=1e-4)


def check(
    model: Transformer, config: Decoding, *, seed: int, count: int = 4, highest: int = VOCABULARY
) -> list[list[Hypothesis]]:
    sources = random_sources(count, seed=seed, highest=highest)
    found = search(model, pad_sources(sources), config)
    with torch.no_grad():
        expected = [reference(model, pad_sources([source])[0], config) for source in sources]
    assert_same(found, expected)
    return found


@pytest.mark.parametrize("penalty", [POWER, GNMT], ids=["power", "gnmt"])
@pytest.mark.parametrize("beam", [1, 4])
@pytest.mark.parametrize("encoding", ENCODINGS)
def test_search_equals_the_naive_one_on_random_models(encoding: str, beam: int, penalty: dict[str, Any]) -> None:
    model = new_model(ENCODINGS[encoding], sharpness=1.6)
    config = Decoding(beam=beam, nbest=beam, max_length_a=1, max_length_b=3, **penalty)
    found = check(model, config, seed=beam)
    assert all(len(hypotheses) == beam for hypotheses in found)


@pytest.mark.parametrize("penalty", [POWER, GNMT], ids=["power", "gnmt"])
@pytest.mark.parametrize("beam", [1, 4])
def test_search_equals_the_naive_one_on_a_trained_model(beam: int, penalty: dict[str, Any]) -> None:
    check(copying_model(), Decoding(beam=beam, nbest=beam, max_length_b=6, **penalty), seed=10, count=8, highest=COPIED)


@pytest.mark.parametrize("alpha", [-1.0, 0.0, 1.0, 3.0])
@pytest.mark.parametrize("penalty", ["power", "gnmt"])
@pytest.mark.parametrize("nbest", [1, 3])
def test_stopping_early_loses_nothing(penalty: Any, alpha: float, nbest: int) -> None:
    # The end of a sentence is likely at every step, so hypotheses finish early that later ones may or may not beat.
    model = new_model({"type": "sinusoidal"}, seed=3)
    make_end_likelier(model, 4)
    config = Decoding(
        stop="exact", beam=3, nbest=nbest, length_penalty=penalty, alpha=alpha, max_length_a=0, max_length_b=8
    )
    check(model, config, seed=5, count=12)


@pytest.mark.parametrize("stop", ["beam", "exact"])
@pytest.mark.parametrize("beam", [5, 7, 8, 20])
def test_search_equals_the_naive_one_with_a_beam_as_wide_as_the_vocabulary(beam: int, stop: Any) -> None:
    model = new_model({"type": "sinusoidal"}, vocabulary=7)
    config = Decoding(beam=beam, nbest=beam, stop=stop, max_length_a=0, max_length_b=3)
    for hypotheses in check(model, config, seed=6, highest=7):
        assert len({tuple(one.tokens) for one in hypotheses}) == len(hypotheses)


# --------------------------------------------------------------------------------------------------- properties


def test_a_model_trained_to_copy_copies() -> None:
    sources = random_sources(100, seed=77, highest=COPIED)
    found = translate(copying_model(), sources, Decoding(beam=4))
    right = sum(hypotheses[0].tokens == source.tolist() for hypotheses, source in zip(found, sources, strict=True))
    assert right >= 95


def test_translations_depend_neither_on_the_batches_nor_on_the_order() -> None:
    model, sources = copying_model(), random_sources(80, seed=6, highest=COPIED)
    sources[7] = sources[70] = sources[3]
    config = Decoding(beam=4, nbest=4, max_length_b=5)
    found = translate(model, sources, config)
    shuffled = np.random.default_rng(1).permutation(len(sources))
    again = translate(model, [sources[number] for number in shuffled], config)
    assert again == [found[number] for number in shuffled]  # the same bits
    for batch_tokens in (1, 100, 100_000):
        other = translate(model, sources, config.model_copy(update={"batch_tokens": batch_tokens}))
        assert_same(other, found)


def test_a_sentence_is_translated_the_same_beside_longer_ones() -> None:
    model, sources = copying_model(), random_sources(12, seed=8, highest=COPIED)
    config = Decoding(beam=3, nbest=3, max_length_b=2)
    together = search(model, pad_sources(sources), config)
    assert_same([search(model, pad_sources([source]), config)[0] for source in sources], together)


def test_hypotheses_are_ordered_and_distinct_and_scored_as_said() -> None:
    found = check(new_model(ENCODINGS["opr"]), Decoding(beam=5, nbest=5, alpha=0.7, max_length_b=2), seed=2)
    for hypotheses in found:
        assert [one.score for one in hypotheses] == sorted((one.score for one in hypotheses), reverse=True)
        assert len({tuple(one.tokens) for one in hypotheses}) == 5
        for one in hypotheses:
            assert one.score == pytest.approx(one.log_probability / (len(one.tokens) + 1) ** 0.7)


@pytest.mark.parametrize(("a", "b"), [(0.0, 0), (0.0, 3), (1.0, 0), (0.5, 2)])
def test_no_hypothesis_is_longer_than_allowed(a: float, b: int) -> None:
    model = new_model({"type": "none"})
    make_end_likelier(model, -20)  # wishes to go on for ever
    config = Decoding(beam=3, nbest=3, alpha=1, max_length_a=a, max_length_b=b)
    sources = random_sources(6, seed=4)
    longest = [max(len(one.tokens) for one in found) for found in search(model, pad_sources(sources), config)]
    assert longest == [int(a * (len(source) + 1) + b) for source in sources]


def test_a_sentence_may_have_fewer_hypotheses_than_were_asked_for() -> None:
    config = Decoding(beam=3, nbest=3, max_length_a=0, max_length_b=0)
    (found,) = search(new_model({"type": "none"}), torch.tensor([[5, END]]), config)
    assert [one.tokens for one in found] == [[]]  # with no room for a token there is only the empty one


def test_a_search_stops_at_the_last_position_of_a_table() -> None:
    model = new_model({"type": "learned", "table": 12})
    make_end_likelier(model, -20)  # wishes to go on for ever
    (found,) = search(model, pad_sources(random_sources(1, seed=1)), Decoding(beam=2, max_length_b=50))
    assert len(found[0].tokens) == 11


def test_special_pieces_are_never_output_but_the_unknown_one_may_be() -> None:
    model = new_model({"type": "sinusoidal"})
    with torch.no_grad():
        favourite = model.decode(torch.tensor([[BEGIN]]), model.encode(torch.tensor([[5, END]])))[0, 0]
        model.output.weight[[PAD, BEGIN, UNKNOWN]] = favourite
    (found,) = search(model, torch.tensor([[5, END]]), Decoding(beam=3, nbest=3, max_length_b=4))
    tokens = {token for one in found for token in one.tokens}
    assert UNKNOWN in tokens
    assert not tokens & {PAD, BEGIN, END}


def test_equal_candidates_are_taken_in_the_order_of_their_numbers() -> None:
    model = new_model({"type": "none"})
    with torch.no_grad():
        model.output.weight.zero_()  # every token is as likely as any other
    (found,) = search(
        model, torch.tensor([[9, END]]), Decoding(beam=4, nbest=4, alpha=0, max_length_a=0, max_length_b=1)
    )
    assert [one.tokens for one in found] == [[], [UNKNOWN], [4], [5]]


def test_an_empty_source_is_translated() -> None:
    (alone,) = search(copying_model(), torch.tensor([[END]]), Decoding(beam=3, nbest=3))
    (beside, _) = search(copying_model(), torch.tensor([[END, PAD, PAD], [5, 6, END]]), Decoding(beam=3, nbest=3))
    assert len(alone) == 3
    assert_same([alone], [beside])


def test_a_diverged_model_finds_nothing() -> None:
    model = copy.deepcopy(new_model({"type": "none"}))
    with torch.no_grad():
        model.output.weight.fill_(math.nan)
    assert search(model, torch.tensor([[5, END], [6, END]]), Decoding(beam=2)) == [[], []]


def test_a_model_with_dropout_on_is_refused() -> None:
    with pytest.raises(ValueError, match="evaluation mode"):
        search(new_model({"type": "none"}).train(), torch.tensor([[5, END]]), Decoding())
