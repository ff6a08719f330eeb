"""Heads that never answer, or very many of one tenant, keep no other tenant's from being asked."""

import dataclasses
import threading

import pytest
from msgspec.structs import replace

from jobledger.adapters.kinds.rayjob.heads.polls import Polls
from jobledger.core.values.ids import stream_id
from tests.adapters.service.test_polls import INTERVAL, Desk, running
from tests.support.records import NOON
from tests.support.waiting import wait_until


@pytest.fixture
def desk() -> Desk:
    return Desk()


def test_namespaces_take_turns_at_asking_their_heads(desk: Desk) -> None:
    """Of forty heads of one tenant one at most is asked before that of another."""
    for number in range(40):
        watch_another(desk, "flood", number)
    watch_another(desk, "calm", 0)
    desk.ask()
    assert desk.asked.index("calm-0") <= 1
    assert len(desk.asked) == 41, "and all are asked"


def test_a_tenant_whose_heads_all_hang_leaves_a_thread_to_others(desk: Desk) -> None:
    over = threading.Event()
    desk.polls = Polls(dataclasses.replace(desk.poll_parts(), threads=8))
    desk.before_answer = lambda: desk.asked[-1].startswith("flood") and over.wait(60)  # type: ignore[assignment]
    for number in range(40):
        watch_another(desk, "flood", number)
    desk.clock.advance(INTERVAL)
    desk.polls.start()
    desk.polls.open_gate()
    try:
        wait_until(lambda: len(desk.asked) == 6, "the flood holds what it may")
        watch_another(desk, "calm", 0)
        desk.clock.advance(INTERVAL)
        wait_until(lambda: "calm-0" in desk.asked, "another's head is asked")
        assert len(desk.asked) == 7
        over.set()
        wait_until(
            lambda: len(set(desk.asked)) == 41, "and so are the others, once one has answered"
        )
    finally:
        over.set()
        desk.polls.stop()


def watch_another(desk: Desk, namespace: str, number: int) -> None:
    """Have another job of a namespace asked about."""
    state = running(desk.a_job, job_id=f"{namespace}-{number}")
    identity = replace(desk.a_job.identity, namespace=namespace, name=f"job-{number}")
    stream = stream_id(namespace, str(number), NOON)
    desk.polls.update(stream, replace(state, identity=identity))
