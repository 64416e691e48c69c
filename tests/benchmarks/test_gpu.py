"""Test the table of the benchmark on a GPU, and what it says where there is none."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from wordorder.errors import WordorderError


def measured(turn: int, variant: str, speed: float, **others: Any) -> dict[str, Any]:
    common = {"encoding": "t5", "precision": "fp16", "target_tokens_per_second": speed, "flops_per_token": 1e9}
    return {"round": turn, "variant": variant, **common, **others}


def test_a_ratio_is_of_one_round_and_the_rest_are_medians() -> None:
    from gpu import AS_IT_IS, report

    found = [measured(turn, AS_IT_IS, speed, gpu_bytes=4e9) for turn, speed in enumerate((100_000.0, 50_000.0))]
    found += [measured(turn, "joined", speed, gpu_bytes=9e9) for turn, speed in enumerate((300_000.0, 50_000.0))]
    usual, joined = (
        [cell.strip() for cell in line.split("|")[1:-1]] for line in report(found, "NVIDIA H100").splitlines()[2:]
    )
    assert usual == ["t5", AS_IT_IS, "75,000", "1.00", "1.00 1.00", "7.6%", "4.0"]
    assert joined == ["t5", "joined", "175,000", "2.00", "3.00 1.00", "17.7%", "9.0"]


def test_a_variant_that_does_not_fit_into_the_memory_is_told() -> None:
    from gpu import AS_IT_IS, report

    failed = {"round": 0, "encoding": "t5", "variant": "joined", "precision": "fp16", "failed": "too little memory"}
    assert "too little memory" in report([measured(0, AS_IT_IS, 1.0), failed], "NVIDIA H100")


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_it_needs_a_gpu() -> None:
    from gpu import parse, run

    with pytest.raises(WordorderError, match="PyTorch finds no GPU"):
        run(parse([]))
