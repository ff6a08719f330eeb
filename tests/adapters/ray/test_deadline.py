"""A name may have many addresses: one that takes no connection leaves time for the others."""

import contextlib
import socket
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from jobledger.adapters.ray import deadline
from jobledger.adapters.ray.job_api import RayJobApi
from tests.adapters.ray.scripted_head import ScriptedHead, answer

DEAD, NAME = "127.0.0.2", "localhost"


@contextlib.contextmanager
def address_that_takes_no_connection(port: int) -> Iterator[None]:
    """Keep a port of `DEAD` so full that a connection to it neither comes about nor fails."""
    with contextlib.ExitStack() as kept:
        listener = kept.enter_context(socket.socket())
        listener.bind((DEAD, port))
        listener.listen(0)
        for _ in range(3):
            waiting = kept.enter_context(socket.socket())
            waiting.setblocking(False)
            waiting.connect_ex((DEAD, port))
        yield


def resolve(monkeypatch: pytest.MonkeyPatch, *addresses: str) -> None:
    """Let `NAME` have these addresses."""
    theirs = socket.getaddrinfo

    def getaddrinfo(host: str, port: int, *rest: Any, **options: Any) -> list[Any]:  # noqa: ANN401
        hosts = addresses if host == NAME else [host]
        return [found for each in hosts for found in theirs(each, port, *rest, **options)]

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)


def test_a_dead_address_does_not_use_up_the_time_of_the_good_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    api = RayJobApi(call_seconds=4.0, proxies={})
    with ScriptedHead(answer({"status": "RUNNING"})) as head:
        port = int(head.address.rpartition(":")[2])
        resolve(monkeypatch, DEAD, "127.0.0.1")
        with address_that_takes_no_connection(port):
            assert api.info(f"{NAME}:{port}", "job").status == "RUNNING"
    api.close()


def test_all_addresses_together_have_the_time_of_one_call(monkeypatch: pytest.MonkeyPatch) -> None:
    clock, shares = SimpleNamespace(now=100.0), []

    def hang(_: tuple[str, int], seconds: float) -> socket.socket:
        shares.append(seconds)
        clock.now += seconds
        raise TimeoutError

    monkeypatch.setattr(deadline, "time", SimpleNamespace(monotonic=lambda: clock.now))
    monkeypatch.setattr(socket, "create_connection", hang)
    resolve(monkeypatch, *[f"127.0.0.{last}" for last in range(1, 5)])
    with pytest.raises(TimeoutError):
        deadline.connect(NAME, 8265, ends=102.0)
    assert shares == pytest.approx([0.5] * 4)
