"""A tiny model with any encoding must learn to copy, reverse and sort; without positions, only to sort.

The first source token names the task. Words do not repeat, so that a bag of words holds all that sorting needs.
"""

from __future__ import annotations

import pytest
import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from wordorder.config.models import Recipe
from wordorder.encodings.base import Positions
from wordorder.encodings.registry import build, encoding_types, parse
from wordorder.model.architectures.base import Translator
from wordorder.model.architectures.prefix_lm import PrefixLM, PrefixLMSize
from wordorder.model.architectures.transformer import Transformer, TransformerSize
from wordorder.model.batch import BEGIN, END

pytestmark = pytest.mark.slow

SIZE = TransformerSize(encoder_layers=2, decoder_layers=2, dim=64, ffn_dim=128, heads=4, dropout=0)
TASKS, FIRST_TASK, FIRST_WORD, WORDS, LONGEST = ("copy", "reverse", "sort"), 4, 7, 8, 5
ENOUGH = 0.98
MOST_UPDATES = 3000

# So few updates do not suffice to learn a wide range of positions.
PARAMETERS = {"shape": {"shift": 4}, "randomized": {"range": 32, "longest": 8}}
# Tasks that an encoding cannot learn, as its file states.
FAILS = {"none": {"copy", "reverse"}}


def draw(number: int, generator: torch.Generator) -> tuple[Tensor, Tensor, Tensor]:
    """Source (B, L + 2), target (B, L) and the number of each sentence's task (B,)."""
    length = int(torch.randint(2, LONGEST + 1, (1,), generator=generator))
    words = FIRST_WORD + torch.rand(number, WORDS, generator=generator).argsort(1)[:, :length]
    tasks = torch.randint(len(TASKS), (number,), generator=generator)
    answers = torch.stack((words, words.flip(1), words.sort(1).values))
    target = answers[tasks, torch.arange(number)]
    return torch.cat((FIRST_TASK + tasks[:, None], words, torch.full((number, 1), END)), 1), target, tasks


def positions_of(source: Tensor) -> Positions:
    """A language pair without reordering: what cross-lingual encodings see is the order itself."""
    positions = Positions.range(source.size(1))
    return positions.with_reordered(positions.absolute.expand_as(source))


def framed(target: Tensor) -> tuple[Tensor, Tensor]:
    edge = torch.ones_like(target[:, :1])
    return torch.cat((BEGIN * edge, target), 1), torch.cat((target, END * edge), 1)


@torch.no_grad()
def greedy(model: Translator, source: Tensor, steps: int) -> Tensor:
    memory, caches = model.encode(source, positions=positions_of(source)), model.new_caches()
    tokens = [torch.full((len(source), 1), BEGIN)]
    for step in range(steps):
        tokens.append(model.logits(model.step(tokens[-1], memory, caches, step)).argmax(-1))
    return torch.cat(tokens[1:], 1)


def exact_matches(model: Translator, generator: torch.Generator) -> dict[str, float]:
    """The share of unseen sentences that a task's answer, with its end, is decoded for exactly."""
    model.eval()
    right, seen = torch.zeros(len(TASKS)), torch.zeros(len(TASKS))
    for _ in range(4):
        source, target, tasks = draw(128, generator)
        answer = framed(target)[1]
        exact = (greedy(model, source, answer.size(1)) == answer).all(1)
        right += torch.bincount(tasks[exact], minlength=len(TASKS))
        seen += torch.bincount(tasks, minlength=len(TASKS))
    model.train()
    return dict(zip(TASKS, (right / seen).tolist(), strict=True))


def learn(model: Translator, solved: set[str]) -> dict[str, float]:
    """Train until the tasks ``solved`` are solved, or for MOST_UPDATES; return the shares of exact matches."""
    generator = torch.Generator().manual_seed(1)
    optimiser = torch.optim.Adam(model.parameters(), betas=(0.9, 0.98), fused=True)
    matches = dict.fromkeys(TASKS, 0.0)
    for update in range(MOST_UPDATES):
        # Down to a tenth at 500 updates, so that most encodings are done by then.
        rate = 2e-3 * min(1, (update + 1) / 50) * max(0.1, 1 - update / 500)
        for group in optimiser.param_groups:
            group["lr"] = rate
        source, target, _ = draw(64, generator)
        read, answer = framed(target)
        hidden = model(source, read, source_positions=positions_of(source))
        optimiser.zero_grad()
        cross_entropy(model.logits(hidden).flatten(0, 1), answer.flatten()).backward()
        optimiser.step()
        if update >= 300 and update % 50 == 0:
            matches = exact_matches(model, generator)
            if all(matches[task] >= ENOUGH for task in solved):
                break
    return matches


@pytest.mark.parametrize("name", encoding_types())
def test_a_tiny_model_learns_to_copy_reverse_and_sort(name: str) -> None:
    torch.manual_seed(0)
    config = parse({"type": name, **PARAMETERS.get(name, {})})
    model = Transformer(SIZE, Recipe(max_updates=1), build(config, Transformer.shape(SIZE)), FIRST_WORD + WORDS)
    check(name, learn(model, set(TASKS) - FAILS.get(name, set())))


@pytest.mark.parametrize("name", ["sinusoidal", "none"])
def test_a_tiny_prefix_lm_learns_the_same(name: str) -> None:
    torch.manual_seed(0)
    size = PrefixLMSize(architecture="prefix_lm", layers=4, dim=64, ffn_dim=128, heads=4, dropout=0)
    encoding = build(parse({"type": name}), PrefixLM.shape(size))
    model = PrefixLM(size, Recipe(max_updates=1), encoding, FIRST_WORD + WORDS)
    check(name, learn(model, set(TASKS) - FAILS.get(name, set())))


@pytest.mark.parametrize("name", ["posnet_embed", "relative"])
def test_a_control_learns_what_needs_no_order(name: str) -> None:
    torch.manual_seed(0)
    encoding = build(parse({"type": name, "control": FIRST_WORD + WORDS}), Transformer.shape(SIZE))
    model = Transformer(SIZE, Recipe(max_updates=1), encoding, FIRST_WORD + WORDS)
    check("none", learn(model, set(TASKS) - FAILS["none"]))


def check(name: str, matches: dict[str, float]) -> None:
    """Compare the shares of exact matches with what the encoding promises."""
    for task, share in matches.items():
        if task in FAILS.get(name, set()):
            assert share < 0.5, (task, share)
        else:
            assert share >= ENOUGH, (task, share)
