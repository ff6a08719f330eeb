"""The pool that evidence is captured by: turns of namespaces, and threads left to others."""

import threading
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager

import pytest

from jobledger.adapters.service.work.turn_pool import TurnPool
from tests.support.waiting import wait_until


@contextmanager
def pool_of(threads: int) -> Iterator[tuple[TurnPool[str], threading.Event]]:
    """Give a pool, and what everything that hangs in it waits for."""
    pool: TurnPool[str] = TurnPool(threads, "test")
    over = threading.Event()
    try:
        yield pool, over
    finally:
        over.set()
        pool.stop()


def hold(pool: TurnPool[str], over: threading.Event) -> Future[str]:
    """Have a thread of a pool held; return once it is."""
    begun = threading.Event()

    def holds() -> str:
        begun.set()
        over.wait(60)
        return "held"

    held = pool.submit("flood", holds)
    assert begun.wait(60)
    return held


def test_the_result_comes_back_and_so_does_an_error() -> None:
    def fails() -> str:
        raise ValueError("no")

    with pool_of(2) as (pool, _):
        assert pool.submit("a", lambda: "done").result(60) == "done"
        with pytest.raises(ValueError, match="no"):
            pool.submit("a", fails).result(60)
        assert pool.submit("a", lambda: "and on").result(60) == "and on"


def test_a_namespace_whose_calls_all_hang_leaves_threads_to_others() -> None:
    with pool_of(8) as (pool, over):
        begun: list[str] = []

        def hangs() -> str:
            begun.append("flood")
            over.wait(60)
            return "late"

        floods = [pool.submit("flood", hangs) for _ in range(40)]
        wait_until(lambda: len(begun) == 6, "the flood holds what it may")
        for number in range(3):
            assert pool.submit(f"calm {number}", lambda: "soon").result(60) == "soon"
        assert len(begun) == 6
        over.set()
        assert [future.result(60) for future in floods] == ["late"] * 40, "and all are done"


def test_namespaces_take_turns() -> None:
    with pool_of(1) as (pool, over):
        order: list[str] = []

        def noted(name: str) -> str:
            order.append(name)
            return name

        hold(pool, over)
        waiting = [pool.submit("flood", lambda: noted("flood")) for _ in range(20)]
        waiting.append(pool.submit("calm", lambda: noted("calm")))
        over.set()
        for future in waiting:
            future.result(60)
        assert order.index("calm") <= 1


def test_what_waits_is_cancelled_at_the_end_and_nothing_is_taken_after_it() -> None:
    with pool_of(1) as (pool, over):
        hung = hold(pool, over)
        waiting = pool.submit("a", lambda: "never")
        pool.stop()
        assert waiting.cancelled()
        assert pool.submit("a", lambda: "never").cancelled()
        over.set()
        assert hung.result(60) == "held", "what is under way is left to its own limits"


def test_a_thread_that_cannot_be_started_is_started_for_the_next_call(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each that could not was one less for ever: the pool, of eight, ended with none."""

    def refuse(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    with pool_of(1) as (pool, _):
        with monkeypatch.context() as full:
            full.setattr(threading.Thread, "start", refuse)
            first = pool.submit("a", lambda: "late")
        assert pool.submit("a", lambda: "done").result(60) == "done"
        assert first.result(60) == "late"
