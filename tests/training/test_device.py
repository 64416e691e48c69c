"""Settings of the machine."""

from __future__ import annotations

import pytest
import torch

from raises import raises
from wordorder.training.device import PASS_TOKENS, pass_tokens, prepare

GPU = torch.device("cuda")


def test_a_gpu_takes_as_many_tokens_as_the_environment_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(PASS_TOKENS, raising=False)
    assert pass_tokens(GPU) == 0
    monkeypatch.setenv(PASS_TOKENS, "32768")
    assert pass_tokens(GPU) == 32768
    assert pass_tokens(torch.device("cpu")) == 0


@pytest.mark.parametrize("text", ["many", "-1", "0", "1.5", "³"])
def test_other_words_than_a_number_of_tokens_are_refused(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(PASS_TOKENS, text)
    with raises("out-of-range", key=PASS_TOKENS, found=text):
        pass_tokens(GPU)


def test_subnormal_numbers_become_zero() -> None:
    least = torch.tensor(torch.finfo(torch.float32).tiny)
    assert float(least * 0.5) > 0
    prepare()
    assert float(least * 0.5) == 0
