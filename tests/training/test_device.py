"""Settings of the machine."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from raises import raises
from training_runs import cell
from wordorder.config.load import load_sizes
from wordorder.model.architectures.base import Translator
from wordorder.model.batch import Batch
from wordorder.model.checkpoint import build_model
from wordorder.model.objective import TranslationObjective
from wordorder.training import device
from wordorder.training.counting import as_on_a_gpu
from wordorder.training.device import PASS_TOKENS, bytes_per_token, pass_tokens, prepare

GPU = torch.device("cuda")


@pytest.fixture
def base() -> Callable[[str], Translator]:
    """Return base models of 32,000 subwords without memory, by their encoding."""

    def build(encoding: str) -> Translator:
        size = load_sizes("config")["base"]
        with torch.device("meta"):
            return build_model(cell(encoding={"type": encoding}).model_copy(update={"size": size}), 32_000)

    return build


def test_the_environment_sets_the_tokens_of_a_pass(
    base: Callable[[str], Translator], monkeypatch: pytest.MonkeyPatch
) -> None:
    for tokens in (0, 32768):
        monkeypatch.setenv(PASS_TOKENS, str(tokens))
        assert [pass_tokens(GPU, base(name)) for name in ("sinusoidal", "t5")] == [tokens] * 2
        assert pass_tokens(torch.device("cpu"), base("sinusoidal")) == 0


@pytest.mark.parametrize("text", ["many", "-1", "1.5", "³"])
def test_other_words_than_a_number_of_tokens_are_refused(
    text: str, base: Callable[[str], Translator], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(PASS_TOKENS, text)
    with raises("out-of-range", key=PASS_TOKENS, found=text):
        pass_tokens(GPU, base("sinusoidal"))


@pytest.mark.parametrize(
    ("gigabytes", "least", "most"),
    [(80, 8 * 4096, 80_000), (40, 6 * 4096, 8 * 4096), (16, 4096, 4 * 4096), (1, 1, 1)],
)
def test_the_free_memory_decides_how_many_micro_batches_a_gpu_takes_in_one_pass(
    gigabytes: int, least: int, most: int, base: Callable[[str], Translator], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(PASS_TOKENS, raising=False)
    monkeypatch.setattr(device, "free_memory", lambda on: gigabytes * 1_000_000_000)
    assert least <= pass_tokens(GPU, base("sinusoidal")) <= most
    assert pass_tokens(GPU, base("t5")) == 0  # whose rows are single sentences
    assert pass_tokens(torch.device("cpu"), base("sinusoidal")) == 0


@pytest.mark.parametrize("size", ["base", "big", "deep", "micro"])
@pytest.mark.parametrize("encoding", ["sinusoidal", "rope"])
def test_no_token_needs_more_memory_than_estimated(size: str, encoding: str) -> None:
    """Bytes that the backward pass will read, counted on the device 'meta', with every kind of dropout."""
    asked = cell(encoding={"type": encoding}, attention_dropout=0.1, activation_dropout=0.1)
    with torch.device("meta"):
        model = build_model(asked.model_copy(update={"size": load_sizes("config")[size]}), 32_000)
    own = {parameter.untyped_storage()._cdata for parameter in model.parameters()}
    kept: dict[int, Tensor] = {}

    def keep(tensor: Tensor) -> Tensor:
        if tensor.untyped_storage()._cdata not in own:
            kept[tensor.untyped_storage()._cdata] = tensor
        return tensor

    tokens = torch.ones(16, 256, dtype=torch.int64, device="meta")
    rows = torch.stack((tokens, tokens))
    batch = Batch(
        tokens, tokens, tokens, tokens.flatten(), tokens.numel(), source_rows=rows, target_rows=rows, longest=99
    )
    objective = TranslationObjective(model.to("meta"), 0.1)
    with as_on_a_gpu(), torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        objective(batch)
    # The loss keeps the gradient of the output layer, whose size does not depend on the tokens.
    total = sum(tensor.untyped_storage().nbytes() for tensor in kept.values()) - 4 * model.output.weight.numel()
    assert 0.6 * bytes_per_token(model) < total / tokens.numel() < bytes_per_token(model)


def test_subnormal_numbers_become_zero() -> None:
    least = torch.tensor(torch.finfo(torch.float32).tiny)
    assert float(least * 0.5) > 0
    prepare()
    assert float(least * 0.5) == 0
