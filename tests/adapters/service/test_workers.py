"""Tasks of many jobs on a few threads."""

import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Event

import pytest

from jobledger.adapters.service.work.workers import IN_A_ROW_MAX, Lane, Task, Workers
from jobledger.adapters.telemetry.clock import SystemClock
from jobledger.core.ports.clock import Clock
from jobledger.core.values.ids import StreamId
from tests.adapters.service.parts import run_all
from tests.support.memory.clock import SimulatedClock
from tests.support.records import NOON, a_stream
from tests.support.waiting import wait_until

JOB, OTHER = a_stream("one"), a_stream("other")


def a_namespace_each(stream: StreamId) -> str:
    return str(stream)


@contextmanager
def at_work(
    threads: int,
    clock: Clock | None = None,
    namespace_of: Callable[[StreamId], str] = a_namespace_each,
) -> Iterator[Workers]:
    workers = Workers(clock or SimulatedClock(NOON), threads, namespace_of)
    workers.start()
    workers.open_gate()
    try:
        yield workers
    finally:
        workers.stop()


def noting(done: list[str], name: str) -> Task:
    return lambda: done.append(name)


def test_nothing_is_carried_out_before_the_gate_opens() -> None:
    workers, done = Workers(SimulatedClock(NOON), 1), list[str]()
    workers.submit(JOB, noting(done, "a"))
    assert not workers.run_once()
    workers.open_gate()
    assert workers.run_once()
    assert done == ["a"]


def test_they_are_behind_while_more_jobs_wait_than_there_are_threads() -> None:
    workers = Workers(SimulatedClock(NOON), 2)
    workers.open_gate()
    for number in range(3):
        assert not workers.is_behind()
        workers.submit(a_stream(str(number)), lambda: None)
    assert workers.is_behind()
    workers.run_once()
    assert not workers.is_behind()


def test_tasks_of_a_job_are_carried_out_in_the_order_of_asking() -> None:
    done: list[str] = []
    with at_work(4) as workers:
        for number in range(50):
            workers.submit(JOB, noting(done, str(number)))
        wait_until(lambda: len(done) == 50, "all tasks to be done")
    assert done == [str(number) for number in range(50)]


def test_a_job_that_never_runs_out_of_tasks_keeps_no_thread_from_the_others() -> None:
    workers, done = Workers(SimulatedClock(NOON), 1), list[str]()
    workers.open_gate()

    def and_one_more() -> None:
        done.append("one")
        workers.submit(JOB, and_one_more)

    workers.submit(JOB, and_one_more)
    workers.submit(OTHER, noting(done, "other"))
    for _ in range(IN_A_ROW_MAX + 1):
        assert workers.run_once()
    assert done == ["one"] * IN_A_ROW_MAX + ["other"]


def test_namespaces_take_turns_whatever_waits_in_each() -> None:
    flood = [a_stream(f"flood {number}") for number in range(500)]
    calm = [a_stream(f"calm {number}") for number in range(3)]
    owner = dict.fromkeys(flood, "flood") | dict.fromkeys(calm, "calm")
    workers, done = Workers(SimulatedClock(NOON), 1, owner.__getitem__), list[str]()
    workers.open_gate()
    for stream in (*flood, *calm):
        workers.submit(stream, noting(done, owner[stream]))
    for _ in range(8):
        assert workers.run_once()
    assert done == ["flood", "calm"] * 3 + ["flood"] * 2


@contextmanager
def hung(threads: int, owner: dict[StreamId, str]) -> Iterator[tuple[Workers, Counter[str]]]:
    """Return workers, and how many tasks of each namespace have begun: they all hang to the end."""
    workers = Workers(SimulatedClock(NOON), threads, lambda stream: owner[stream])
    begun, over = Counter[str](), threading.Event()
    lock = threading.Lock()

    def a_task(namespace: str) -> Task:
        def task() -> None:
            with lock:
                begun[namespace] += 1
            over.wait(60)

        return task

    for stream, namespace in owner.items():
        workers.submit(stream, a_task(namespace))
    workers.start()
    workers.open_gate()
    try:
        yield workers, begun
    finally:
        over.set()
        workers.stop()


def jobs_of(namespace: str, count: int) -> dict[StreamId, str]:
    return {a_stream(f"{namespace} {number}"): namespace for number in range(count)}


@pytest.mark.parametrize(
    ("threads", "at_once"), [(1, 1), (2, 1), (3, 2), (4, 3), (8, 6), (11, 8), (12, 9)]
)
def test_a_namespace_alone_holds_three_quarters_of_the_threads(threads: int, at_once: int) -> None:
    """Once all that may begin have begun, what is submitted last is begun by nobody."""
    with hung(threads, jobs_of("flood", 20)) as (workers, begun):
        wait_until(lambda: begun["flood"] == at_once, "as many as may hang at once to begin")
        assert not workers.run_once()
        assert begun == {"flood": at_once}


def test_a_namespace_whose_tasks_all_hang_keeps_no_thread_from_the_next_nor_from_a_third() -> None:
    owner = jobs_of("flood", 20)
    with hung(8, owner) as (workers, begun):
        wait_until(lambda: begun["flood"] >= 6, "the flood to have begun")
        done: list[str] = []
        for number in range(3):
            owner |= jobs_of(f"calm {number}", 1)
        for stream, namespace in list(owner.items())[20:]:
            workers.submit(stream, noting(done, namespace))
        wait_until(lambda: len(done) == 3, "the jobs of the others to be done beside it")
        assert begun == {"flood": 6}


def test_two_namespaces_whose_tasks_all_hang_leave_a_thread_to_a_third() -> None:
    owner = jobs_of("flood", 20) | jobs_of("tide", 20)
    with hung(8, owner) as (workers, begun):
        wait_until(lambda: begun.total() >= 6, "both to have begun")
        done: list[str] = []
        owner |= jobs_of("calm", 1)
        workers.submit(list(owner)[-1], noting(done, "calm"))
        wait_until(lambda: done == ["calm"], "the third's job to be done beside them")
        assert begun.total() < 8


def test_what_waited_for_its_own_namespace_is_done_once_a_task_of_it_ends() -> None:
    owner, done = jobs_of("flood", 50), list[str]()
    over = threading.Event()
    with at_work(4, namespace_of=owner.__getitem__) as workers:
        for stream in owner:
            workers.submit(stream, lambda: done.append("flood") if over.wait(60) else None)
        over.set()
        wait_until(lambda: len(done) == 50, "all of a lone namespace to be done")
        wait_until(lambda: len(workers) == 0, "nothing to be left")


def test_what_is_tried_again_waits_in_the_namespace_it_was_asked_in() -> None:
    """Its job may not be known any more by then."""
    clock, known = SimulatedClock(NOON), {JOB: "flood", OTHER: "calm"}
    workers, done = Workers(clock, 1, lambda stream: known.get(stream, "")), list[str]()
    workers.open_gate()
    workers.submit(JOB, retried(done, "one", [1.0]))
    assert workers.run_once()
    del known[JOB]
    for number in range(3):
        more = known.setdefault(a_stream(f"flood {number}"), "flood")
        workers.submit(a_stream(f"flood {number}"), noting(done, more))
    workers.submit(OTHER, noting(done, "calm"))
    clock.advance(1)
    while workers.run_once():
        pass
    assert done == ["one", "flood", "calm", "flood", "flood", "one"]


def retried(done: list[str], name: str, pauses: list[float]) -> Task:
    def task() -> float | None:
        done.append(name)
        return pauses.pop() if pauses else None

    return task


def test_a_job_that_was_begun_goes_on_before_the_next_is_begun() -> None:
    workers, done = Workers(SimulatedClock(NOON), 1), list[str]()
    workers.open_gate()
    for job, name in ((JOB, "one"), (OTHER, "other")):
        workers.submit(job, noting(done, f"finalizer of {name}"), Lane.OWN)
        workers.submit(job, noting(done, f"status of {name}"), Lane.OWN)
    while workers.run_once():
        pass
    names = ("one", "other")
    assert done == [f"{what} of {name}" for name in names for what in ("finalizer", "status")]


def test_of_a_job_at_most_one_task_runs_at_once() -> None:
    streams = [a_stream(f"job {number}") for number in range(5)]
    running: Counter[StreamId] = Counter()
    most: Counter[StreamId] = Counter()
    lock, done = threading.Lock(), list[StreamId]()

    def a_task(stream: StreamId) -> Task:
        def task() -> None:
            with lock:
                running[stream] += 1
                most[stream] = max(most[stream], running[stream])
            sum(random.Random(1).random() for _ in range(500))
            with lock:
                running[stream] -= 1
                done.append(stream)

        return task

    with at_work(8) as workers:
        for _ in range(100):
            for stream in streams:
                workers.submit(stream, a_task(stream))
        wait_until(lambda: len(done) == 500, "all tasks to be done")
    assert set(most.values()) == {1}


def test_tasks_that_come_back_at_once_are_carried_out_beside_each_other() -> None:
    """They meet at a barrier: one after the other they would wait for each other for ever."""
    barrier, tried, met = threading.Barrier(3), Counter[StreamId](), list[StreamId]()

    def a_task(stream: StreamId) -> Task:
        def task() -> float | None:
            tried[stream] += 1
            if tried[stream] == 1:
                return 0.05
            barrier.wait(60)
            met.append(stream)
            return None

        return task

    with at_work(4, SystemClock()) as workers:
        for number in range(3):
            stream = a_stream(f"job {number}")
            workers.submit(stream, a_task(stream))
        wait_until(lambda: len(met) == 3, "all three to meet")


def test_what_is_written_to_the_job_itself_waits_for_nothing_else() -> None:
    over = threading.Event()
    with at_work(4) as workers:
        done: list[str] = []
        workers.submit(JOB, lambda: done.append("effect") if over.wait(60) else None, Lane.OTHERS)
        workers.submit(JOB, noting(done, "status"), Lane.OWN)
        wait_until(lambda: bool(done), "the status to be written beside a slow effect")
        over.set()
        wait_until(lambda: len(done) == 2, "the slow effect to end")
    assert done == ["status", "effect"]


def test_a_task_that_waits_lets_the_others_pass_and_comes_back_in_time() -> None:
    clock, done = SimulatedClock(NOON), list[str]()
    workers = Workers(clock, 1)
    workers.open_gate()
    pauses = iter([5.0, None])

    def stubborn() -> float | None:
        done.append("stubborn")
        return next(pauses)

    workers.submit(JOB, stubborn)
    workers.submit(JOB, noting(done, "next"))
    while workers.run_once():
        pass
    assert [done, len(workers)] == [["stubborn", "next"], 1]
    clock.advance(4.9)
    assert not workers.run_once()
    clock.advance(0.1)
    assert workers.run_once()
    assert [done, len(workers)] == [["stubborn", "next", "stubborn"], 0]


def test_a_waiting_thread_notices_a_task_that_is_due_earlier() -> None:
    clock, done = SimulatedClock(NOON), list[str]()
    with at_work(2, clock) as workers:
        workers.submit(JOB, iter([3600.0, None]).__next__)
        wait_until(lambda: len(workers) == 1, "the first task to wait")
        workers.submit(OTHER, noting(done, "other"))
        wait_until(lambda: done == ["other"], "the other job's task to be done")


def test_a_poisoned_task_stops_nobody_and_its_job_goes_on() -> None:
    done: list[str] = []

    def poisoned() -> None:
        raise ZeroDivisionError

    with at_work(1) as workers:
        for stream in (JOB, OTHER, JOB):
            workers.submit(stream, poisoned)
            workers.submit(stream, noting(done, "after"))
        wait_until(lambda: done == ["after"] * 3, "what comes after the poison to be done")
        assert len(workers) == 0


def test_a_task_may_ask_for_another_of_its_own_job() -> None:
    done: list[str] = []
    with at_work(1) as workers:
        workers.submit(JOB, lambda: workers.submit(JOB, noting(done, "child")))
        wait_until(lambda: done == ["child"], "the task that a task asked for")


def test_stopping_lets_running_tasks_end_and_drops_the_others() -> None:
    begun, may_end, done = threading.Event(), threading.Event(), list[str]()

    def long() -> None:
        begun.set()
        may_end.wait(30)
        done.append("long")

    workers = Workers(SimulatedClock(NOON), 1)
    workers.start()
    workers.open_gate()
    workers.submit(JOB, long)
    workers.submit(JOB, noting(done, "dropped"))
    assert begun.wait(30)
    stopping = threading.Thread(target=workers.stop)
    stopping.start()
    may_end.set()
    stopping.join(30)
    assert [done, stopping.is_alive()] == [["long"], False]


def test_starting_and_stopping_from_many_threads_under_load_leaves_no_thread_behind() -> None:
    for _ in range(10):
        workers = Workers(SimulatedClock(NOON), 3)
        workers.open_gate()
        counted: list[int] = []

        def load(workers: Workers = workers, counted: list[int] = counted) -> None:
            for number in range(50):
                workers.submit(a_stream(f"job {number % 7}"), lambda: counted.append(1))

        calls: list[Callable[[], None]] = [workers.start, load, workers.start, load]
        run_all([*calls, workers.stop, load, workers.start, workers.stop])
        workers.stop()
        ours = [t for t in threading.enumerate() if t in workers._threads]  # noqa: SLF001 the leak
        assert ours == []
        assert len(workers._threads) in (0, 3)  # noqa: SLF001 started once, or never
        assert len(counted) <= 150


def test_a_stop_waits_so_long_for_all_tasks_together() -> None:
    """With eight threads that hang it took eighty seconds, and a Pod has thirty."""
    workers, begun, is_over = Workers(SystemClock(), 8, a_namespace_each), Counter[int](), Event()
    workers.start()
    workers.open_gate()

    def hang() -> None:
        begun[threading.get_ident()] += 1
        is_over.wait(60)

    for number in range(8):
        workers.submit(a_stream(str(number)), hang)
    wait_until(lambda: len(begun) == 8, "all threads to hang")
    began = time.monotonic()
    workers.stop(1.0)
    took = time.monotonic() - began
    is_over.set()
    assert 1.0 <= took < 4.0
