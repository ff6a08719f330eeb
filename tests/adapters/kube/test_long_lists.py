"""What is more than a page is asked for as the beginning of a watch, of servers that know how."""

from collections.abc import Callable

import pytest

from tests.adapters.kube.conftest import Watched
from tests.adapters.kube.samples import rayjob
from tests.support.canned_server import Answer, Scripted, Stream, list_of, status, watch_line

Start = Callable[..., Watched]

FIRST_PAGE = list_of(rayjob("a", 90), rayjob("b", 91), continue_token="more")
END = watch_line(
    "BOOKMARK",
    {"metadata": {"resourceVersion": "104", "annotations": {"k8s.io/initial-events-end": "true"}}},
)
A, B, C = (watch_line("ADDED", rayjob(name, 90)) for name in "abc")


def test_all_that_exists_is_told_out_of_a_watch(watched: Start) -> None:
    one = watched(FIRST_PAGE, Stream((A, B, C, END)))
    assert one.watches(2) == ["", "104"]
    assert one.listener.story == ["seen a", "seen b", "seen c", "synced"]
    asked = one.server.received[1].query
    assert asked["sendInitialEvents"] == asked["allowWatchBookmarks"] == "true"
    assert asked["resourceVersionMatch"] == "NotOlderThan"


def test_what_happens_meanwhile_is_part_of_it(watched: Start) -> None:
    changed, gone = watch_line("MODIFIED", rayjob("a", 95)), watch_line("DELETED", rayjob("b", 96))
    early = watch_line("BOOKMARK", {"metadata": {"resourceVersion": "93"}})
    one = watched(FIRST_PAGE, Stream((A, B, early, changed, gone, C, END)))
    one.listener.wait_for("synced")
    assert one.listener.story == ["seen a", "seen b", "seen a", "seen c", "gone b", "synced"]


@pytest.mark.parametrize(
    "stream",
    [
        Stream((A,)),
        Stream((A, watch_line("ERROR", status(500, "InternalError", "etcd went away")))),
        Stream((A, watch_line("STRANGE", rayjob("b", 91)))),
        Answer(500, b"{}"),
    ],
    ids=["breaks off", "error", "unknown line", "refused"],
)
def test_one_that_does_not_go_well_is_begun_again_in_pages(
    watched: Start, stream: Scripted
) -> None:
    """Nothing is gone that it did not come to."""
    last = list_of(rayjob("c", 92))
    again = (last,) if isinstance(stream, Answer) else (FIRST_PAGE, last)
    one = watched(FIRST_PAGE, stream, *again)
    told = one.listener.wait_for("synced")
    assert {entry.name for entry in told if entry.what == "seen"} == {"a", "b", "c"}
    assert not [entry for entry in told if entry.what == "gone"]
