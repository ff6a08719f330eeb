"""When a watch cannot be resumed, everything is listed anew, and the gap is told first."""

from collections.abc import Callable

import pytest

from tests.adapters.kube.conftest import Watched
from tests.adapters.kube.samples import rayjob
from tests.support.canned_server import (
    Answer,
    End,
    Gate,
    NoAnswer,
    Scripted,
    Stream,
    list_of,
    refusal,
    status,
    watch_line,
)

EXPIRED = refusal(410, "Expired", "too old resource version: 100 (905)")
EXPIRED_EVENT = Stream((watch_line("ERROR", status(410, "Expired", "too old resource version")),))
UNKNOWN = refusal(422, "Invalid", "sendInitialEvents is forbidden for watch")
ERROR_EVENT = Stream((watch_line("ERROR", status(500, "InternalError", "etcd went away")),))

Start = Callable[..., Watched]


@pytest.mark.parametrize(
    "end",
    [
        EXPIRED,
        EXPIRED_EVENT,
        ERROR_EVENT,
        refusal(410, "Gone"),
        refusal(400, "BadRequest", "invalid resource version"),
        Answer(404, b"404 page not found\n"),
        refusal(504, "Timeout", "Too large", causes=[{"reason": "ResourceVersionTooLarge"}]),
    ],
    ids=[
        "410",
        "410 as an event",
        "500 as an event",
        "Gone",
        "unknown version",
        "kind is gone",
        "the server is behind",
    ],
)
def test_a_gap_is_told_and_all_is_listed_anew(watched: Start, end: Scripted) -> None:
    """After a restart of the API server every older version is 410: this is the normal way."""
    one = watched(
        list_of(rayjob("a", 90), rayjob("b", 91), version="100"),
        end,
        list_of(rayjob("a", 890), rayjob("c", 891), version="905"),
    )
    one.listener.wait_for("interrupted", "synced")
    assert one.listener.story == [
        "seen a",
        "seen b",
        "synced",
        "interrupted",
        "seen a",
        "seen c",
        "gone b",
        "synced",
    ]
    assert one.watches(2)[-1] == "905"
    assert one.reflector.health.relists == 1


def test_the_gap_begins_with_the_last_thing_told(watched: Start) -> None:
    gate = Gate()
    change = watch_line("MODIFIED", rayjob("a", 101))
    one = watched(list_of(), Stream((change, gate)), EXPIRED, list_of(version="200"))
    seen = one.listener.wait_for("seen a")[-1]
    gate.set()
    told = one.listener.wait_for("interrupted", "synced")
    gap = next(entry for entry in told if entry.what == "interrupted")
    assert gap.since is not None
    assert seen.at <= gap.since <= gap.at <= told[-1].at
    assert "Expired" in gap.reason


def test_what_vanished_is_told_by_what_identifies_it(watched: Start) -> None:
    one = watched(list_of(rayjob("a", 90)), EXPIRED, list_of(version="200"))
    told = one.listener.wait_for("gone a")
    assert told[-1].manifest == {
        "apiVersion": "ray.io/v1",
        "kind": "RayJob",
        "metadata": {
            "namespace": "team",
            "name": "a",
            "uid": "uid-a",
            "resourceVersion": "90",
        },
    }


def test_a_namesake_does_not_stand_for_what_vanished(watched: Start) -> None:
    one = watched(
        list_of(rayjob("a", 90)), EXPIRED, list_of(rayjob("a", 150, uid="another"), version="200")
    )
    told = one.listener.wait_for("gone a", "synced")
    assert [(entry.what, entry.uid) for entry in told[-3:-1]] == [
        ("seen", "another"),
        ("gone", "uid-a"),
    ]


def test_what_was_told_gone_is_not_told_again(watched: Start) -> None:
    deletion = Stream((watch_line("DELETED", rayjob("a", 101)),))
    one = watched(list_of(rayjob("a", 90)), deletion, EXPIRED, list_of(version="200"))
    one.listener.wait_for("interrupted", "synced")
    assert one.listener.story.count("gone a") == 1


def test_what_vanished_is_told_once(watched: Start) -> None:
    empty = list_of(version="200")
    one = watched(list_of(rayjob("a", 90)), EXPIRED, empty, EXPIRED, empty)
    one.listener.wait_for("interrupted", "interrupted", "synced")
    assert one.listener.story.count("gone a") == 1


def test_a_list_that_breaks_off_tells_nothing_gone(watched: Start) -> None:
    """And the rest of the gap is told, from where the first part ended."""
    one = watched(
        list_of(rayjob("a", 90), rayjob("b", 91)),
        EXPIRED,
        list_of(rayjob("a", 150), version="200", continue_token="more"),
        UNKNOWN,
        NoAnswer(),
        list_of(rayjob("a", 150), rayjob("b", 151), version="210"),
    )
    told = one.listener.wait_for("interrupted", "interrupted", "synced")
    assert not [entry for entry in told if entry.what == "gone"]
    first, second = (entry for entry in told if entry.what == "interrupted")
    assert second.since == first.at


def test_a_list_in_pages_is_one_list(watched: Start) -> None:
    one = watched(
        list_of(rayjob("a", 90), rayjob("b", 91), continue_token="more"),
        UNKNOWN,
        list_of(rayjob("c", 92), version="104"),
    )
    one.listener.wait_for("synced")
    assert one.listener.story == ["seen a", "seen b", "seen c", "synced"]
    first, _, second = one.server.received[:3]
    assert (first.query["limit"], second.query["limit"]) == ("2", "2")
    assert second.query["continue"] == "more"
    assert one.watches(2) == ["", "100"], "a watch from the first page's version misses nothing"


def test_a_state_forgotten_between_pages_is_read_at_once(watched: Start) -> None:
    one = watched(
        list_of(rayjob("a", 90), continue_token="more"),
        UNKNOWN,
        EXPIRED,
        list_of(rayjob("a", 90), rayjob("b", 91)),
    )
    one.listener.wait_for("synced")
    assert "limit" not in one.server.received[3].query
    assert "interrupted" not in one.listener.story


def test_the_watch_after_a_gap_ends_is_resumed_as_any(watched: Start) -> None:
    change = watch_line("MODIFIED", rayjob("a", 201))
    one = watched(
        list_of(),
        EXPIRED,
        list_of(version="200"),
        Stream((change,), End.CLEAN),
    )
    assert one.watches(3) == ["100", "200", "201"]
