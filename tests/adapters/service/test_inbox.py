"""Where observations wait for their turn."""

import threading

from msgspec.structs import replace

from jobledger.adapters.service.work.inbox import Arrival, Inbox, LateSighting
from jobledger.core.jobs.observations import StatusWritten
from jobledger.core.rayjob.observations.observations import ManifestGone, ManifestSeen
from jobledger.core.values.ids import StreamId, observation_id, shard_of
from tests.adapters.service.parts import run_all
from tests.support.rayjob_builders import IDENTITY, manifest
from tests.support.records import NOON, a_stream

ONE, OTHER, THIRD = a_stream("one"), a_stream("other"), a_stream("third")


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


def test_what_is_accompanied_wakes_nobody_and_comes_before_what_it_waits_for() -> None:
    inbox = Inbox()
    inbox.put_accompanied(ONE, news(ONE, 1))
    assert inbox.take(10, 0) == [(ONE, news(ONE, 1))], "whoever does not wait gets it at once"
    taken: list[Arrival] = []
    waiting = threading.Thread(target=lambda: taken.extend(inbox.take(10, 60)))
    waiting.start()
    inbox.put_accompanied(ONE, news(ONE, 1))
    inbox.put(ONE, news(ONE, 2))
    waiting.join(60)
    assert taken == [(ONE, news(ONE, 1)), (ONE, news(ONE, 2))]


def test_what_is_accompanied_is_held_back_with_its_shard() -> None:
    inbox = Inbox()
    inbox.put_accompanied(ONE, news(ONE, 1))
    inbox.hold_back([shard_of(ONE)])
    assert inbox.take(10, 0) == []
    inbox.hold_back([])
    assert inbox.take(10, 0) == [(ONE, news(ONE, 1))]


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


def first_look(namespace: str, name: str, number: int = 0) -> ManifestSeen:
    identity = replace(
        IDENTITY, namespace=namespace, name=name, stream_id=a_stream(f"{namespace}/{name}")
    )
    seen = manifest()
    assert isinstance(seen, ManifestSeen)
    mark = observation_id(identity.stream_id, str(number))
    return replace(seen, id=mark, identity=identity)


def whose(arrivals: list[Arrival]) -> list[str]:
    return [seen.identity.namespace for _, seen in arrivals if isinstance(seen, ManifestSeen)]


def test_a_job_of_another_namespace_waits_for_one_of_five_hundred() -> None:
    inbox = Inbox()
    for number in range(500):
        seen = first_look("flood", f"job-{number}")
        inbox.put(seen.identity.stream_id, seen)
    for number in range(2):
        seen = first_look("calm", f"job-{number}")
        inbox.put(seen.identity.stream_id, seen)
    assert whose(inbox.take(5, 0)) == ["flood", "calm", "flood", "calm", "flood"]
    assert len(inbox) == 497


def test_what_follows_on_a_first_look_waits_behind_it() -> None:
    """Of a job that is not known yet only the first look tells the namespace."""
    inbox, seen = Inbox(), first_look("flood", "one")
    stream = seen.identity.stream_id
    inbox.put(stream, seen)
    inbox.put(ONE, news(ONE, 1))
    inbox.put(stream, news(stream, 1))
    assert [where for where, _ in inbox.take(10, 0)] == [stream, ONE, stream]


def test_a_job_that_is_known_waits_among_those_of_its_namespace() -> None:
    inbox = Inbox({ONE: "flood", OTHER: "calm"}.__getitem__)
    for number in range(3):
        inbox.put(ONE, news(ONE, number))
    inbox.put(OTHER, news(OTHER, 1))
    assert [where for where, _ in inbox.take(10, 0)] == [ONE, OTHER, ONE, ONE]


def test_what_is_put_back_leaves_the_turns_as_they_were() -> None:
    known = {ONE: "flood", OTHER: "calm", THIRD: "third"}
    inbox = Inbox(known.__getitem__)
    for stream in (ONE, ONE, ONE, OTHER, OTHER, THIRD):
        inbox.put(stream, news(stream, 1))
    inbox.put_back(inbox.take(4, 0))
    assert [where for where, _ in inbox.take(10, 0)] == [ONE, OTHER, THIRD, ONE, OTHER, ONE]


def test_a_late_sighting_is_made_when_it_is_taken_and_left_out_if_it_is_none() -> None:
    inbox, made = Inbox(), list[str]()

    def late(name: str, sighting: ManifestGone | None) -> LateSighting:
        def make() -> ManifestGone | None:
            made.append(name)
            return sighting

        return LateSighting("calm", make)

    inbox.hold_back([shard_of(ONE), shard_of(OTHER)])
    inbox.put_late(ONE, late("one", news(ONE, 1)))
    inbox.put(ONE, news(ONE, 2))
    inbox.put_late(OTHER, late("other", None))
    assert (inbox.take(9, 0), made, inbox.size) == ([], [], 3)
    inbox.hold_back([])
    assert not made, "nobody has taken it"
    assert inbox.take(9, 0) == [(ONE, news(ONE, 1)), (ONE, news(ONE, 2))]
    assert (made, inbox.size) == (["one", "other"], 0)


def test_a_sighting_stands_in_place_of_a_late_one_too() -> None:
    inbox, seen = Inbox(), first_look("flood", "one")
    stream = seen.identity.stream_id
    inbox.hold_back([shard_of(stream)])
    inbox.put_late(stream, LateSighting("flood", lambda: None))
    assert inbox.replace_held_back({stream: seen}) == {stream}
    inbox.hold_back([])
    assert inbox.take(9, 0) == [(stream, seen)]
