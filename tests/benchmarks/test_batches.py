"""The benchmark of batches, on a few pairs."""

from __future__ import annotations

from types import ModuleType

import numpy as np
import pytest


@pytest.fixture
def batches(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    import batches

    monkeypatch.setattr(batches, "SAMPLE", 3000)
    return batches


def test_planning_reports_time_and_memory(batches: ModuleType) -> None:
    found = batches.planning(5000)
    tokens = sum(int(side.sum()) for side in batches.lengths(5000, np.random.default_rng(0))) / 2
    assert tokens / batches.BATCH_TOKENS < found["batches"] < 2 * tokens / batches.BATCH_TOKENS
    assert found["seconds"] > 0 and found["peak_gb"] >= found["peak_gb_before"] > 0


def test_a_fast_consumer_waits_longer_than_a_slow_one(batches: ModuleType) -> None:
    fast, slow = (batches.waiting(speed, updates=3)["waiting"] for speed in (1e9, 1e5))
    assert 0 <= slow < 0.5 < fast <= 1
