"""Every fault does what its switch says, to the requests it is meant for, and then stops."""

import pytest
import urllib3

from jobledger.sandbox.api_server import SandboxApi
from tests.support.api import RAYJOBS, Api, rayjob, take
from tests.support.waiting import wait_until

IMPATIENT_SECONDS = 0.3
"""How long a client waits for an answer that never comes."""


def test_an_error_is_answered_as_often_as_asked_and_nothing_is_carried_out(
    server: SandboxApi, api: Api
) -> None:
    server.faults.answer("POST", "/apis/ray.io", 429, times=2, retry_after_seconds=3)
    for _ in range(2):
        reply = api.create(RAYJOBS, rayjob("a"))
        assert (reply.code, reply.reason) == (429, "TooManyRequests")
        assert reply.headers["retry-after"] == "3"
    assert api.list(RAYJOBS).body["items"] == []
    assert api.create(RAYJOBS, rayjob("a")).code == 201


def test_other_methods_and_paths_are_left_alone(server: SandboxApi, api: Api) -> None:
    server.faults.answer("DELETE", "/apis/batch", 500)
    assert api.create(RAYJOBS, rayjob("a")).code == 201
    assert api.delete(RAYJOBS, "a").code == 200
    assert api.delete("batch/v1/jobs", "a").code == 500
    assert api.delete("batch/v1/jobs", "a").code == 404


def test_a_request_that_times_out_after_commit_was_carried_out(
    server: SandboxApi, api: Api
) -> None:
    server.faults.time_out("POST", "/apis/ray.io")
    with pytest.raises(urllib3.exceptions.ReadTimeoutError):
        api.pool.request(
            "POST",
            api.url + api.path(RAYJOBS),
            json=rayjob("a"),
            timeout=IMPATIENT_SECONDS,
            retries=False,
        )
    wait_until(lambda: api.get(RAYJOBS, "a").code == 200, "the request is carried out")


def test_a_cut_request_was_carried_out_or_not_as_asked(server: SandboxApi, api: Api) -> None:
    for after_commit, code in ((True, 200), (False, 404)):
        name = f"job-{code}"
        server.faults.cut("POST", "/apis/ray.io", after_commit=after_commit)
        with pytest.raises(urllib3.exceptions.ProtocolError):
            api.create(RAYJOBS, rayjob(name))
        assert api.get(RAYJOBS, name).code == code


def test_a_delayed_request_is_answered_all_the_same(server: SandboxApi, api: Api) -> None:
    server.faults.delay("GET", "/apis/ray.io", 0.05)
    assert api.list(RAYJOBS).code == 200


def test_open_watches_can_be_expired(server: SandboxApi, api: Api) -> None:
    revision = api.list(RAYJOBS).revision
    with api.watch(RAYJOBS, resourceVersion=revision) as events:
        api.create(RAYJOBS, rayjob("a"))
        assert take(events, 1) == [("ADDED", "a")]
        server.faults.expire_watches()
        assert next(events)["object"]["code"] == 410
        assert list(events) == []


def test_the_next_watches_can_be_refused(server: SandboxApi, api: Api) -> None:
    revision = api.list(RAYJOBS).revision
    server.faults.refuse_watches()
    with api.watch(RAYJOBS, resourceVersion=revision) as events:
        assert next(events)["object"]["reason"] == "Expired"
    with api.watch(RAYJOBS, resourceVersion=revision) as events:
        api.create(RAYJOBS, rayjob("a"))
        assert take(events, 1) == [("ADDED", "a")]


def test_a_dropped_watch_is_cut_without_an_end(server: SandboxApi, api: Api) -> None:
    revision = api.list(RAYJOBS).revision
    with api.watch(RAYJOBS, resourceVersion=revision) as events:
        api.create(RAYJOBS, rayjob("a"))
        assert take(events, 1) == [("ADDED", "a")]
        server.faults.drop_watches()
        with pytest.raises(urllib3.exceptions.ProtocolError):
            next(events)


def test_events_that_were_held_come_late_and_in_order(server: SandboxApi, api: Api) -> None:
    revision = api.list(RAYJOBS).revision
    server.faults.hold_watches()
    with api.watch(RAYJOBS, resourceVersion=revision, timeoutSeconds="1") as events:
        api.create(RAYJOBS, rayjob("a"))
        api.delete(RAYJOBS, "a")
        assert list(events) == []
    with api.watch(RAYJOBS, resourceVersion=revision) as events:
        server.faults.release_watches()
        assert take(events, 2) == [("ADDED", "a"), ("DELETED", "a")]


def test_an_event_can_be_told_twice(server: SandboxApi, api: Api) -> None:
    revision = api.list(RAYJOBS).revision
    server.faults.repeat_events()
    with api.watch(RAYJOBS, resourceVersion=revision) as events:
        api.create(RAYJOBS, rayjob("a"))
        api.create(RAYJOBS, rayjob("b"))
        assert take(events, 3) == [("ADDED", "a"), ("ADDED", "a"), ("ADDED", "b")]


def test_a_stopping_server_ends_watches_and_silent_requests(server: SandboxApi, api: Api) -> None:
    revision = api.list(RAYJOBS).revision
    with api.watch(RAYJOBS, resourceVersion=revision) as events:
        api.create(RAYJOBS, rayjob("a"))
        assert take(events, 1) == [("ADDED", "a")]
        server.stop()
        assert list(events) == []
