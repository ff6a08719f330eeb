"""A service that is told to stop ends within the grace of a Pod, whoever does not answer."""

import threading
import time
from types import SimpleNamespace
from typing import Any

import pytest

from jobledger.adapters import wiring
from jobledger.adapters.wiring import Service


def test_it_waits_for_a_while_until_its_claim_is_withdrawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """An API server that accepts and never answers held it for forty seconds; a Pod has thirty."""
    monkeypatch.setattr(wiring, "WITHDRAW_SECONDS_MAX", 0.1)
    stopped, answered = list[str](), threading.Event()

    def part(name: str) -> Any:  # noqa: ANN401 any part of the service
        return SimpleNamespace(stop=lambda: stopped.append(name))

    def withdraw() -> None:
        assert stopped[0] == "controller", "nothing is acted on any more"
        answered.wait(60)

    service = Service(part("controller"), part("http"), part("alarms"), part("reports"), withdraw)

    began = time.monotonic()
    service.stop()
    assert time.monotonic() - began < 30
    assert stopped == ["controller", "reports", "http"]
    answered.set()


def test_a_claim_is_withdrawn_before_it_ends() -> None:
    part: Any = SimpleNamespace(stop=lambda: None)
    withdrawn = list[str]()

    def withdraw() -> None:
        time.sleep(0.2)
        withdrawn.append("claim")

    Service(part, part, part, None, withdraw).stop()
    assert withdrawn == ["claim"]
