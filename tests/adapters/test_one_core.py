"""The threads of the controller stay together on one core, and give way where others need it."""

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from jobledger.adapters.process import one_core
from jobledger.adapters.process.one_core import (
    OneCore,
    better_core,
    busy_seconds,
    on_any_core,
    on_one_core,
)
from tests.support.waiting import wait_until

SEVERAL = len(os.sched_getaffinity(0)) > 1
needs_cores = pytest.mark.skipif(not SEVERAL, reason="there is one core only")


@pytest.mark.parametrize(
    ("core", "busy", "own", "chosen"),
    [
        pytest.param(None, {0: 0.9, 1: 0.2, 2: 0.4}, 0.5, 1, id="at first: the freest"),
        pytest.param(None, {2: 0.0, 1: 0.0}, 0.0, 1, id="of equals: always the same"),
        pytest.param(3, {0: 0.5, 1: 0.9}, 0.0, 0, id="its core is not to be used any more"),
        pytest.param(0, {0: 1.0, 1: 0.0}, 1.0, None, id="alone on it, however busy"),
        pytest.param(0, {0: 1.0, 1: 0.1}, 0.5, 1, id="shared, while another is free"),
        pytest.param(0, {0: 1.0, 1: 0.3}, 0.5, None, id="shared, and another is little freer"),
        pytest.param(0, {0: 1.0, 1: 1.0}, 0.1, None, id="all are busy"),
        pytest.param(0, {0: 0.4, 1: 0.0}, 0.5, None, id="accounts that differ by a tick"),
    ],
)
def test_where_to_go(
    core: int | None, busy: dict[int, float], own: float, chosen: int | None
) -> None:
    """It moves where others take more of its core than all do of another."""
    assert better_core(core, busy, own) == chosen


def test_what_the_kernel_tells_of_cores() -> None:
    """Waiting for disks is no work; interrupts, and what other machines took, are."""
    told = (
        "cpu  9 9 9 9 9 9 9 9 9 9\n"
        "cpu0 100 10 50 9000 700 3 2 35 0 0\n"
        "cpu11 1 0 1 9000 0 0 0\n"
        "intr 1 2 3\n"
    )
    assert busy_seconds(told) == {0: 2.0, 11: 0.02}


@pytest.fixture
def beside() -> Iterator[threading.Thread]:
    """A thread that was there before."""
    done = threading.Event()
    thread = threading.Thread(target=done.wait)
    thread.start()
    yield thread
    done.set()
    thread.join()


@needs_cores
def test_all_threads_go_and_later_ones_too(beside: threading.Thread) -> None:
    """One that the chosen core's threads begin is there from the start."""
    chosen = OneCore()
    try:
        chosen.choose()
        assert chosen.core is not None
        assert _cores_of(beside) == {chosen.core}
        found: list[set[int]] = []
        later = threading.Thread(target=lambda: found.append(os.sched_getaffinity(0)))
        later.start()
        later.join()
        assert found == [{chosen.core}]
    finally:
        chosen.bind(chosen.free)
    assert _cores_of(beside) == chosen.free


@needs_cores
def test_what_an_administrator_says_holds(beside: threading.Thread) -> None:
    """`taskset -p` of a process, or a cpuset that changes, says anew which cores may be used."""
    chosen = OneCore()
    everything = chosen.free
    try:
        chosen.choose()
        allowed = everything - {chosen.core}
        chosen.bind(allowed)
        chosen.choose()
        assert chosen.free == allowed
        assert _cores_of(beside) <= allowed
    finally:
        chosen.bind(everything)


@needs_cores
def test_a_program_that_is_started_may_use_every_core(monkeypatch: pytest.MonkeyPatch) -> None:
    """A plug-in for credentials, or a private Postgres, is not to share the one."""
    monkeypatch.setattr(one_core, "EVERY_SECONDS", 0.01)
    everything = os.sched_getaffinity(0)
    with on_one_core():
        wait_until(lambda: len(os.sched_getaffinity(0)) == 1, "the core is chosen")
        with on_any_core():
            told = _child()
        assert len(os.sched_getaffinity(0)) == 1
    assert told == repr(everything)
    assert os.sched_getaffinity(0) == everything
    with on_any_core():
        assert _child() == repr(everything)


def test_where_nothing_is_told_of_cores_nothing_changes(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """As in a sandbox of its own kernel, or on another system."""
    monkeypatch.setattr(one_core, "_STAT", tmp_path / "none")
    before = os.sched_getaffinity(0)
    with on_one_core(), on_any_core():
        assert os.sched_getaffinity(0) == before


@needs_cores
def test_where_cores_may_not_be_chosen_nothing_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    """As where a filter of system calls refuses it; what is started is started all the same."""
    refused = threading.Event()

    def refuse(_task: int, _cores: set[int]) -> None:
        refused.set()
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(one_core, "EVERY_SECONDS", 0.01)
    monkeypatch.setattr(os, "sched_setaffinity", refuse)
    everything = os.sched_getaffinity(0)
    with on_one_core(), on_any_core():
        assert refused.wait(10.0)
        assert _child() == repr(everything)
        with on_any_core():
            assert _child() == repr(everything)


def _cores_of(thread: threading.Thread) -> set[int]:
    assert thread.native_id is not None
    return os.sched_getaffinity(thread.native_id)


def _child() -> str:
    said = "import os; print(os.sched_getaffinity(0))"
    return subprocess.check_output([sys.executable, "-c", said], text=True).strip()
