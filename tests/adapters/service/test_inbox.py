"""Where observations wait for their turn."""

import threading

from jobledger.adapters.service.work.inbox import Arrival, Inbox
from jobledger.core.jobs.observations import StatusWritten
from jobledger.core.rayjob.observations.observations import ManifestGone
from jobledger.core.values.ids import StreamId, observation_id
from tests.adapters.service.parts import run_all
from tests.support.records import NOON, a_stream

ONE, OTHER = a_stream("one"), a_stream("other")


def news(stream: StreamId, number: int) -> ManifestGone:
    return ManifestGone(id=observation_id(stream, str(number)), at=NOON)


def test_observations_are_taken_in_the_order_in_which_they_were_put() -> None:
    inbox = Inbox()
    put = [(ONE, news(ONE, 1)), (OTHER, news(OTHER, 1)), (ONE, news(ONE, 2))]
    for stream, observation in put:
        inbox.put(stream, observation)
    assert inbox.take(2, 0) + inbox.take(2, 0) == put


def test_observations_of_one_job_keep_their_order_whoever_else_puts() -> None:
    inbox = Inbox()
    streams = [a_stream(f"job {number}") for number in range(6)]

    def put_all(stream: StreamId) -> None:
        for number in range(200):
            inbox.put(stream, news(stream, number))

    run_all([lambda stream=stream: put_all(stream) for stream in streams])  # type: ignore[misc]  # mypy cannot infer a lambda with a default
    taken = inbox.take(10_000, 0)
    for stream in streams:
        mine = [observation for where, observation in taken if where == stream]
        assert mine == [news(stream, number) for number in range(200)]


def test_what_is_put_back_comes_first_and_in_its_order() -> None:
    inbox = Inbox()
    arrivals = [(ONE, news(ONE, number)) for number in range(4)]
    for stream, observation in arrivals:
        inbox.put(stream, observation)
    inbox.put_back(inbox.take(3, 0))
    assert inbox.take(10, 0) == arrivals


def test_that_a_status_was_written_wakes_nobody_and_is_taken_along() -> None:
    inbox = Inbox()
    written = StatusWritten(
        id=observation_id(ONE, "written"),
        at=NOON,
        phase="Running",
        resource_version="7",
        status_sha="",
    )
    inbox.put(ONE, written)
    assert inbox.take(10, 0) == [(ONE, written)], "whoever does not wait gets it at once"
    taken: list[Arrival] = []
    waiting = threading.Thread(target=lambda: taken.extend(inbox.take(10, 60)))
    waiting.start()
    inbox.put(ONE, written)
    inbox.put(OTHER, news(OTHER, 1))
    waiting.join(60)
    assert taken == [(ONE, written), (OTHER, news(OTHER, 1))]


def test_a_closed_inbox_takes_nothing_more_and_gives_out_what_it_has() -> None:
    inbox = Inbox()
    inbox.put(ONE, news(ONE, 1))
    inbox.close()
    inbox.put(ONE, news(ONE, 2))
    assert inbox.is_closed
    assert [len(inbox), inbox.take(10, 30), inbox.take(10, 30)] == [1, [(ONE, news(ONE, 1))], []]


def test_closing_lets_whoever_waits_return() -> None:
    inbox = Inbox()
    taken: list[object] = []
    waiting = threading.Thread(target=lambda: taken.extend(inbox.take(1, 600)))
    waiting.start()
    inbox.close()
    waiting.join(30)
    assert not waiting.is_alive()
    assert taken == []
