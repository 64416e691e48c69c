"""Properties that every positional encoding must have, whatever its formula.

A new encoding is tested here as soon as the registry finds it; one of your own too, in the folder of
WORDORDER_PLUGINS. What it promises is read from its class (``absolute``, ``relative``), from its configuration
(``parameter_count``) and from its ``limit``.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from functools import cache, partial
from itertools import pairwise
from typing import Any

import pytest
import torch
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch.testing import assert_close

from raises import raises
from tiny_models import (
    PREFIX_LM,
    SIZE,
    configurations,
    full,
    parts,
    placed,
    positions_of,
    seen,
    sentences,
    step_by_step,
    tiny_model,
    types,
    without_encoding,
)
from wordorder.encodings.base import PLACES, AttentionEncoding, EncodingConfig, Positions, Stack
from wordorder.encodings.registry import build, parse
from wordorder.model.architectures.transformer import Transformer, TransformerSize
from wordorder.model.attention.base import REGISTRY as BACKENDS
from wordorder.model.attention.base import Attention, needs_of
from wordorder.model.batch import PAD, Batch
from wordorder.model.masks import causal_mask, padding_mask
from wordorder.model.objective import TranslationObjective
from wordorder.model.places import acts

ALL = configurations() | {
    # Distances beyond the clip happen in short sentences too.
    "relative (clip 2, a table a head)": parse({"type": "relative", "clip": 2, "share_heads": False}),
}
IN_PREFIX_LM = " in a prefix LM"
ALL |= {name + IN_PREFIX_LM: config for name, config in types().items()}
STACKS: tuple[Stack, ...] = ("encoder", "decoder")

every_encoding = pytest.mark.parametrize("name", [name for name in ALL if not name.endswith(IN_PREFIX_LM)])
every_model = pytest.mark.parametrize("name", ALL)
few = settings(deadline=None, max_examples=5, suppress_health_check=[HealthCheck.function_scoped_fixture])
lengths = st.lists(st.integers(1, 7), min_size=1, max_size=4)
seeds = st.integers(0, 1000)


@cache
def model_of(name: str) -> Transformer:
    """Shared by tests that do not change it."""
    return new_model(name)


def new_model(name: str, **options: Any) -> Transformer:
    return tiny_model(ALL[name], size=PREFIX_LM if name.endswith(IN_PREFIX_LM) else SIZE, **options)


def is_relative(config: EncodingConfig) -> bool:
    return build(config, Transformer.shape(SIZE)).relative


def orderless(config: EncodingConfig) -> bool:
    """Whether an encoding has no positions, or is a control, whose positions carry no order."""
    return config.type == "none" or config.places is not None


def assert_same(actual: Tensor, expected: Tensor) -> None:
    assert_close(actual, expected, rtol=1e-4, atol=2e-5)


def differ(left: Tensor, right: Tensor) -> bool:
    return float((left - right).abs().max()) > 1e-4  # what a slow wave makes of neighbours, far above rounding


def idle(model: Transformer, parameter: str) -> bool:
    """Whether nothing reads the parameter: of source tokens the last layer of one stream has keys and values only."""
    return model.one_stream and parameter.startswith("encoding.") and "encoder.1." in parameter


def loss_of(model: Transformer, source: Tensor, target: Tensor) -> Tensor:
    gold = target.roll(1, dims=0)
    real = (gold != PAD).flatten().nonzero().flatten()
    batch = Batch(source, target, gold, real, len(real), positions_of(source).reordered)
    loss: Tensor = TranslationObjective(model, 0.1)(batch)[0]
    return loss


# -------------------------------------------------------------------------------- sentences do not see each other


@every_model
@few
@given(source=lengths, target=st.integers(1, 7), padding=st.integers(0, 3), seed=seeds)
@torch.no_grad()
def test_padding_and_neighbours_change_nothing(
    name: str, source: list[int], target: int, padding: int, seed: int
) -> None:
    model = model_of(name)
    batch = sentences(source, seed=seed, padding=padding)
    targets = sentences([target] * len(source), seed=seed + 1)
    targets_padded = torch.cat((targets, torch.full((len(source), padding), PAD)), dim=1)
    together = full(model, batch, targets_padded)
    for row, length in enumerate(source):
        alone = full(model, batch[row : row + 1, :length], targets[row : row + 1])
        assert_same(together[row : row + 1, :target], alone)


@every_model
@few
@given(source=lengths, target=st.integers(1, 7), seed=seeds)
@torch.no_grad()
def test_order_of_a_batch_changes_nothing(name: str, source: list[int], target: int, seed: int) -> None:
    model = model_of(name)
    rows = torch.randperm(len(source), generator=torch.Generator().manual_seed(seed))
    batch, targets = sentences(source, seed=seed), sentences([target] * len(source), seed=seed + 1)
    assert_same(full(model, batch[rows], targets[rows]), full(model, batch, targets)[rows])


# ---------------------------------------------------------------------------------------------- positions are data


@every_model
@few
@given(source=lengths, target=st.integers(1, 7), seed=seeds)
@torch.no_grad()
def test_full_forward_is_step_by_step_decoding(name: str, source: list[int], target: int, seed: int) -> None:
    model = model_of(name)
    batch, targets = sentences(source, seed=seed), sentences([target] * len(source), seed=seed + 1)
    memory = model.encode(batch, positions=positions_of(batch))
    assert_same(step_by_step(model, targets, memory), model.decode(targets, memory))


@every_model
@few
@given(length=st.integers(2, 7), seed=seeds)
@torch.no_grad()
def test_tokens_that_take_their_positions_along_can_stand_anywhere(name: str, length: int, seed: int) -> None:
    model = model_of(name)
    batch = sentences([length] * 2, seed=seed)
    order = torch.randperm(length, generator=torch.Generator().manual_seed(seed))
    positions = positions_of(batch)
    assert positions.reordered is not None
    moved = Positions(positions.absolute[:, order], positions.limit, positions.reordered[:, order])
    expected = seen(model.encode(batch, positions=positions))[..., order, :]
    assert_same(seen(model.encode(batch[:, order], positions=moved)), expected)


@every_model
@few
@given(length=st.integers(3, 7), seed=seeds)
@torch.no_grad()
def test_only_an_encoding_tells_orders_apart(name: str, length: int, seed: int) -> None:
    """Equations 9 and 13 of the PosNet paper: without positions a permuted source gives the permuted memory."""
    model, config = model_of(name), ALL[name]
    source = torch.arange(4, 4 + length)[None] + seed % 10
    order = torch.randperm(length, generator=torch.Generator().manual_seed(seed))
    # The reordered positions are mirrored, so a sum of both kinds of positions is the same at mirrored places.
    assume(any(new not in (old, length - 1 - old) for old, new in enumerate(order.tolist())))
    memory, permuted = (model.encode(tokens, positions=positions_of(tokens)) for tokens in (source, source[:, order]))
    target = sentences([3], seed=seed)
    in_memory = any("encoder" in part.stacks and not orderless(part) for part in parts(config))
    between = not model.one_stream and acts(
        model.encoding.cross_attention(0)
    )  # the decoder may see the order of a memory that has none
    if in_memory:
        assert differ(seen(permuted), seen(memory)[..., order, :])
    else:
        assert_same(seen(permuted), seen(memory)[..., order, :])
    if in_memory or between:
        assert differ(model.decode(target, permuted), model.decode(target, memory))
    else:
        assert_same(model.decode(target, permuted), model.decode(target, memory))


@every_model
@few
@given(length=st.integers(2, 7), offset=st.integers(1, 20), seed=seeds)
@torch.no_grad()
def test_a_shift_changes_nothing_where_relative(name: str, length: int, offset: int, seed: int) -> None:
    model, config = model_of(name), ALL[name]
    tokens = sentences([length] * 2, seed=seed)
    assume(bool((tokens != tokens[:, :1]).any()))  # the values of equal tokens have the same mean with any weights
    shifts = [positions_of(tokens, offset=by) for by in (0, offset)]
    here, there = (model.encode(tokens, positions=own) for own in shifts)
    output_here, output_there = (model.encoder_output(tokens, positions=own) for own in shifts)
    steps_here = step_by_step(model, tokens, here)
    steps_there = step_by_step(model, tokens, there, offset=offset)
    if all(orderless(part) or is_relative(part) for part in parts(config)):
        assert_same(output_there, output_here)
        assert_same(steps_there, steps_here)
    else:
        assert differ(output_there, output_here) or differ(steps_there, steps_here)


@every_encoding
def test_an_encoding_declares_the_places_that_it_overrides(name: str) -> None:
    """No more and no less: attention backends are chosen by the declaration."""
    encoding = model_of(name).encoding
    given = [encoding.attention(stack, layer) for stack in STACKS for layer in range(2)]
    given += [encoding.cross_attention(layer) for layer in range(2)]
    for attention in (module for each in given for module in (each, *getattr(each, "parts", []))):
        kind = type(attention)
        overridden = {place for place in PLACES if getattr(kind, place) is not getattr(AttentionEncoding, place)}
        assert kind.needs == overridden
        assert attention.needs <= overridden
        assert kind.pairwise == (kind.score_function is not AttentionEncoding.score_function)


def _inputs(positions: Positions, seed: int) -> tuple[Tensor, Tensor, Tensor]:
    generator = torch.Generator().manual_seed(seed)
    return tuple(torch.randn(2, SIZE.heads, positions.limit, 4, generator=generator) for _ in range(3))  # type: ignore[return-value]


def _layer_input(queries: Tensor) -> Tensor:
    """Make (B, L, d) of (B, H, L, d_h)."""
    return queries[:, 0].repeat(1, 1, SIZE.dim // 4)


@every_encoding
@few
@given(length=st.integers(1, 6), seed=seeds)
@torch.no_grad()
def test_what_is_not_declared_does_nothing(name: str, length: int, seed: int) -> None:
    """An object may narrow the declaration of its class, but only by what it really does not do."""
    encoding = model_of(name).encoding
    positions = replace(Positions.range(length), tokens=torch.arange(length)[None])
    queries, keys, values = _inputs(positions, seed)
    scores = queries @ keys.mT
    for stack in STACKS:
        attention = encoding.attention(stack, 0)
        does = {
            "rotate": attention.rotate(queries, keys, positions)[0] is not queries,
            "gates": (state := attention.gates(_layer_input(queries), positions)) is not None,
            "values": attention.values(values, positions) is not values,
            "bias": attention.bias(*[read := replace(positions, state=state)] * 2) is not None,
            "scores": attention.scores(scores, queries, keys, read, read) is not scores,
            "context": attention.context(values, scores, positions, positions) is not values,
        }
        assert {place for place, done in does.items() if done} == attention.needs - {"head_inputs"}


@every_encoding
@torch.no_grad()
def test_every_backend_that_may_be_chosen_gives_what_the_eager_one_gives(name: str) -> None:
    """Fused kernels run on CPUs too; FlexAttention without a compiler, as PyTorch's own reference of its kernels."""
    encoding = model_of(name).encoding
    for length in (1, 6):  # FlexAttention takes a tenth of a second for each
        positions = replace(Positions.range(length), tokens=torch.arange(length)[None])
        queries, keys, values = _inputs(positions, length)
        padding = padding_mask(torch.tensor([[5] * length, [5] + [PAD] * (length - 1)]))
        for stack in STACKS:
            attention = encoding.attention(stack, 0)
            mask = padding if stack == "encoder" else causal_mask(length, on=queries.device)
            read = replace(positions, state=attention.gates(_layer_input(queries), positions))
            asked = Attention(queries, keys, values, mask, attention, read, read, queries)
            expected = BACKENDS.get("eager").attend(asked)
            needs = needs_of(attention, dropout=False, weights=False)
            for backend in (each for each in BACKENDS if each.fits("cuda", needs)):
                assert_same(backend.attend(asked), expected)


def test_absolute_encodings_are_not_relative() -> None:
    for config in ALL.values():
        for part in parts(config):
            encoding = build(part, Transformer.shape(SIZE))
            assert not (encoding.absolute and encoding.relative), part
            assert encoding.marks(part) == encoding.absolute


# ------------------------------------------------------------------------------------------------------- training


@every_model
@pytest.mark.parametrize("norm", ["pre", "post"])
def test_gradients_reach_every_parameter(name: str, norm: str) -> None:
    model = new_model(name, norm=norm).train()
    source = sentences([7, 5, 6])
    memory = model.encode(source, positions=positions_of(source))
    hidden = model.decode(sentences([6, 7, 4], seed=1), memory)
    model.logits(hidden).log_softmax(-1)[..., 5].sum().backward()
    unreached = [key for key, value in model.named_parameters() if value.grad is None or not value.grad.any()]
    assert not [key for key in unreached if not idle(model, key)]
    assert all(bool(value.grad.isfinite().all()) for value in model.parameters() if value.grad is not None)


@every_model
def test_a_model_that_diverged_gives_no_number_and_no_error(name: str) -> None:
    model = new_model(name)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.fill_(torch.nan)
        source, target = sentences([5, 2]), sentences([3, 4])
        assert full(model, source, target).isnan().all()
        assert step_by_step(model, target, model.encode(source, positions=positions_of(source))).isnan().all()


@every_model
def test_a_seed_decides_everything(name: str) -> None:
    def run(seed: int) -> tuple[Tensor, list[Tensor | None]]:
        model = new_model(name, seed=seed).train()
        loss = loss_of(model, sentences([7, 5]), sentences([6, 4], seed=1))
        loss.backward()
        return loss.detach(), [parameter.grad for parameter in model.parameters()]

    (loss, gradients), (again, gradients_again), (other, _) = run(0), run(0), run(1)
    assert_close(again, loss, rtol=0, atol=0)
    assert_close(gradients_again, gradients, rtol=0, atol=0)
    assert other != loss


@every_model
@few
@given(source=lengths, target=st.integers(1, 7), seed=seeds)
def test_bfloat16_stays_near_single_precision(name: str, source: list[int], target: int, seed: int) -> None:
    model = new_model(name)
    batch, targets = sentences(source, seed=seed), sentences([target] * len(source), seed=seed + 1)
    with torch.no_grad():
        expected = full(model, batch, targets)
    with torch.autocast("cpu", torch.bfloat16):
        hidden = full(model, batch, targets)
        with torch.no_grad():
            memory = model.encode(batch, positions=positions_of(batch))
            stepped = step_by_step(model, targets, memory)
    assert float((hidden.detach() - expected).abs().mean()) < 0.05 * float(expected.abs().mean())
    assert float((stepped - expected).abs().mean()) < 0.05 * float(expected.abs().mean())
    hidden.float().square().sum().backward()
    for key, value in model.encoding.named_parameters(prefix="encoding"):
        if not (idle(model, key) and value.grad is None):
            assert value.grad is not None and value.grad.dtype == torch.float32 and value.grad.isfinite().all(), key


# -------------------------------------------------------------------------------------------------------- lengths


@every_encoding
@torch.no_grad()
def test_any_length_works_or_is_refused_in_a_sentence(name: str) -> None:
    model = tiny_model(ALL[name])
    limits = [limit for stack in STACKS if (limit := model.encoding.limit(stack)) is not None]
    length = min(limits, default=300)  # 300 is more than any table of this project starts with
    source, target = sentences([length]), sentences([length], seed=1)
    short = full(model, source[:, :5], target[:, :5])
    long = full(model, source[:, :5], target)
    assert long.isfinite().all()
    assert_same(long[:, :5], short)
    assert seen(model.encode(source, positions=positions_of(source))).isfinite().all()
    # A table that has grown is the table that was long from the start.
    assert_same(long, full(tiny_model(ALL[name]), source[:, :5], target))

    memory = model.encode(source[:, :3], positions=positions_of(source[:, :3]))
    for stack in STACKS:
        if (limit := model.encoding.limit(stack)) is None:
            continue
        longer = sentences([limit + 1])
        refused: list[Callable[[], object]] = [partial(model.encode, longer)]
        if stack == "decoder":
            step = partial(model.step, longer[:, :1], memory, model.new_caches(), limit)
            refused = [partial(model.decode, longer, memory), step]
        for call in refused:
            with raises("too-long", found=limit + 1, expected=limit) as raised:
                call()
            assert re.search(rf"\b{limit}\b.*\b{limit + 1}\b", str(raised.error)), raised.error
            assert str(raised.error)[0].isupper()


@every_encoding
@torch.no_grad()
def test_a_table_holds_what_is_added_to_the_embeddings(name: str) -> None:
    encoding = model_of(name).encoding
    positions = replace(Positions.range(9), tokens=sentences([9]))  # a control reads the tokens
    for stack in STACKS:
        table = encoding.table(9, stack)
        if table is not None:
            assert table.shape == (9, SIZE.dim)
            added = encoding.add_to_embeddings(torch.zeros(1, 9, SIZE.dim), positions, stack)
            assert_close(added[0], table)
            assert all(differ(one, next_one) for one, next_one in pairwise(table))


# ------------------------------------------------------------------------------------------ placement, parameters


@every_encoding
@pytest.mark.parametrize("stack", STACKS)
@torch.no_grad()
def test_placement_switches_the_other_stack_off(name: str, stack: Stack) -> None:
    config = placed(ALL[name], stack)
    if config is None:
        pytest.skip("cannot be placed there")
    model = tiny_model(config)
    without = without_encoding(model)
    source, target = sentences([7, 5]), sentences([6, 6], seed=1)
    memory, plain = (each.encode(source, positions=positions_of(source)) for each in (model, without))
    decoded, decoded_plain = model.decode(target, plain), without.decode(target, plain)
    acts = config.type != "none"
    # Not one bit differs where the encoding is not.
    assert torch.equal(seen(memory), seen(plain)) is not (acts and stack == "encoder")
    assert torch.equal(decoded, decoded_plain) is not (acts and stack == "decoder")
    other: Stack = "decoder" if stack == "encoder" else "encoder"
    assert model.encoding.limit(other) is None
    assert model.encoding.table(3, other) is None


@every_encoding
@pytest.mark.parametrize("stack", ["both", *STACKS])
def test_parameters_are_as_many_as_promised(name: str, stack: str) -> None:
    config = ALL[name] if stack == "both" else placed(ALL[name], stack)  # type: ignore[arg-type]
    if config is None:
        pytest.skip("cannot be placed there")
    for size in (SIZE, TransformerSize(encoder_layers=1, decoder_layers=3, dim=24, ffn_dim=8, heads=6, dropout=0)):
        shape = Transformer.shape(size)
        built = sum(parameter.numel() for parameter in build(config, shape).parameters())
        assert built == config.parameter_count(shape)
