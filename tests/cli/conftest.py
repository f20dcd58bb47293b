"""Commands are tried as if they were run by hand: a pipeline's variables would make them write more."""

from __future__ import annotations

import pytest

from tests.commands import PIPELINE


@pytest.fixture(autouse=True)
def _by_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in PIPELINE:
        monkeypatch.delenv(name, raising=False)
