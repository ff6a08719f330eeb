"""A watch that ends, however it ends, is resumed from where it stood, and nothing is missed."""

from collections.abc import Callable

import pytest

from jobledger.adapters.kube.watching.timing import WatchPace
from tests.adapters.kube.conftest import Watched
from tests.adapters.kube.samples import bookmark, rayjob
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

CHANGE = watch_line("MODIFIED", rayjob("a", 101))
LATER = Stream((watch_line("MODIFIED", rayjob("a", 102)),), End.SILENCE)

Start = Callable[..., Watched]


def test_a_watch_begins_where_the_list_ended(watched: Start) -> None:
    one = watched(list_of(rayjob("a", 90), version="100"))
    assert one.watches(1) == ["100"]
    assert one.listener.wait_for("synced")
    assert one.listener.story == ["seen a", "synced"]


def test_a_watch_asks_for_an_end_and_for_bookmarks(watched: Start) -> None:
    one = watched(list_of())
    asked = one.server.wait_for_requests(2)[1]
    assert asked.path == "/apis/ray.io/v1/rayjobs"
    assert asked.query["watch"] == asked.query["allowWatchBookmarks"] == "true"
    assert 300 <= int(asked.query["timeoutSeconds"]) <= 360


@pytest.mark.parametrize("end", [End.CLEAN, End.CUT, End.RESET])
def test_a_watch_that_ends_is_resumed_from_the_last_event(watched: Start, end: End) -> None:
    """The client's own Watch raises on a cut and on a reset, and gives up."""
    gate = Gate()  # a reset throws away what has not been read yet
    one = watched(list_of(version="100"), Stream((CHANGE, gate), end), LATER)
    one.listener.wait_for("synced", "seen a")
    gate.set()
    assert one.watches(2) == ["100", "101"]
    one.listener.wait_for("synced", "seen a", "seen a")
    assert "interrupted" not in one.listener.story


def test_a_half_open_connection_is_given_up_after_a_silence(watched: Start) -> None:
    """The client's own Watch blocks for ever unless it is given a read timeout."""
    pace = WatchPace(silence_seconds=0.2, first_pause_seconds=0.001, longest_pause_seconds=0.002)
    silent = [Stream((CHANGE,), End.SILENCE)] * 100  # a busy machine may be silent before it speaks
    one = watched(list_of(version="100"), *silent, pace=pace)
    one.listener.wait_for("seen a", "seen a")
    asked = [item.query["resourceVersion"] for item in one.server.received[1:]]
    assert set(asked) == {"100", "101"}


def test_a_bookmark_moves_the_place_to_resume_from(watched: Start) -> None:
    one = watched(list_of(version="100"), Stream((watch_line("BOOKMARK", bookmark(150)),)))
    assert one.watches(2) == ["100", "150"]
    one.listener.wait_for("synced")
    assert one.listener.story == ["synced"], "a bookmark is nobody's business"


def test_an_older_event_is_passed_on_but_not_resumed_from(watched: Start) -> None:
    late = watch_line("MODIFIED", rayjob("b", 95))
    one = watched(list_of(version="100"), Stream((CHANGE, late)))
    one.listener.wait_for("seen a", "seen b")
    assert one.watches(2) == ["100", "101"]


def test_a_repeated_event_is_passed_on(watched: Start) -> None:
    one = watched(list_of(version="100"), Stream((CHANGE, CHANGE), End.SILENCE))
    one.listener.wait_for("seen a", "seen a")
    assert one.reflector.health.resource_version == "101"


def test_a_deletion_is_told_with_the_last_form(watched: Start) -> None:
    last = rayjob("a", 101, deletionTimestamp="2026-11-21T03:00:00Z")
    one = watched(list_of(rayjob("a", 90)), Stream((watch_line("DELETED", last),), End.SILENCE))
    told = one.listener.wait_for("seen a", "gone a")
    assert told[-1].manifest == last


@pytest.mark.parametrize(
    "answer",
    [
        Answer(500, b"oops"),
        refusal(503, "ServiceUnavailable"),
        refusal(429, "TooManyRequests"),
        refusal(403, "Forbidden"),
        NoAnswer(),
        NoAnswer(End.RESET),
    ],
)
def test_a_refused_watch_is_asked_for_again(watched: Start, answer: Scripted) -> None:
    one = watched(list_of(version="100"), answer, answer, LATER)
    assert one.watches(3) == ["100", "100", "100"]
    one.listener.wait_for("seen a")
    assert one.listener.story == ["synced", "seen a"]


@pytest.mark.parametrize(
    "garbage", [b"<html>\n", b'{"type":"ADDED"}\n', b'{"type":"NEW","object":{}}\n']
)
def test_a_garbage_line_ends_the_watch_and_it_is_resumed(watched: Start, garbage: bytes) -> None:
    """The client's own Watch dies of a TypeError."""
    one = watched(list_of(version="100"), Stream((CHANGE, garbage, CHANGE)), LATER)
    assert one.watches(2) == ["100", "101"]
    one.listener.wait_for("seen a", "seen a")


def test_what_can_never_be_read_is_passed_by_a_new_list(watched: Start) -> None:
    bad = Stream((b"garbage\n",))
    one = watched(list_of(), bad, bad, bad, list_of(rayjob("a", 7), version="200"))
    told = one.listener.wait_for("interrupted", "seen a", "synced")
    assert "cannot be read" in told[1].reason
    assert one.watches(4) == ["100", "100", "100", "200"]


def test_an_event_in_several_pieces_is_one_event(watched: Start) -> None:
    one = watched(
        list_of(), Stream((CHANGE[:10], CHANGE[10:50], CHANGE[50:] + CHANGE[:5]), End.CLEAN)
    )
    one.listener.wait_for("synced", "seen a")
    one.watches(2)
    assert one.listener.story == ["synced", "seen a"], "the piece of a line was told"


def test_an_event_is_told_at_once_though_the_answer_is_not_chunked(watched: Start) -> None:
    """Some proxies pass a watch on as one answer without a length."""
    gate = Gate()
    one = watched(list_of(), Stream((CHANGE, gate), chunked=False))
    one.listener.wait_for("synced", "seen a")
    gate.set()
    assert one.watches(2) == ["100", "101"]


def test_an_outage_of_the_first_list_is_survived(watched: Start) -> None:
    one = watched(NoAnswer(), Answer(502, b"bad gateway"), list_of(rayjob("a", 1)))
    one.listener.wait_for("seen a", "synced")
    assert one.listener.story == ["seen a", "synced"], "no gap before the first list"
    assert one.reflector.health.relists == 0


def test_a_list_that_is_no_list_is_not_taken_for_an_empty_one(watched: Start) -> None:
    stranger = Answer(200, status(200, "Success"))
    one = watched(
        list_of(rayjob("a", 1)),
        Stream((watch_line("ERROR", status(500, "InternalError")),)),
        stranger,
        list_of(rayjob("a", 1)),
    )
    one.listener.wait_for("seen a", "interrupted", "seen a", "synced")
    assert "gone a" not in one.listener.story


def test_a_listener_that_raises_does_not_end_the_watch(watched: Start) -> None:
    gate, deletion = Gate(), watch_line("DELETED", rayjob("a", 103))
    one = watched(list_of(version="100"), Stream((gate, CHANGE, deletion), End.SILENCE))

    def refuse(*_: object) -> None:
        raise ValueError("poisoned")

    one.listener.seen = refuse  # type: ignore[assignment, method-assign]  # a broken promise
    gate.set()
    one.listener.wait_for("synced", "gone a")
