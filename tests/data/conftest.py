from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def direct(monkeypatch: pytest.MonkeyPatch) -> None:
    """Use no proxy for servers on this machine."""
    monkeypatch.setenv("no_proxy", "127.0.0.1")
