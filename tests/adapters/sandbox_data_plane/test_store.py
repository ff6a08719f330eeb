"""What the simulated controllers remember, whichever comes first: the watch, or an answer."""

from datetime import UTC, datetime

from jobledger.core.values.documents import Manifest
from jobledger.sandbox.controllers.store import GONE_MAX, Store

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def pod(uid: str, version: int, name: str = "worker") -> Manifest:
    return {
        "metadata": {
            "namespace": "n",
            "name": name,
            "uid": uid,
            "resourceVersion": str(version),
            "ownerReferences": [{"uid": "owner", "controller": True, "kind": "Job", "name": "j"}],
        }
    }


def test_an_answer_is_known_before_the_watch_tells_it() -> None:
    store = Store()
    store.note(pod("first", 2))
    store.seen(pod("first", 1), NOW)
    assert store.get("n", "worker") == pod("first", 2)


def test_an_answer_that_comes_after_the_end_brings_nothing_back() -> None:
    """A write and a deletion race: the answer to the write is read last."""
    store = Store()
    store.seen(pod("first", 1), NOW)
    store.gone(pod("first", 3), NOW)
    store.note(pod("first", 2))
    assert store.get("n", "worker") is None
    assert store.owned_by("owner") == []


def test_an_answer_of_an_object_that_was_made_anew_does_not_hide_the_new_one() -> None:
    """A watch that was away tells of the second object only."""
    store = Store()
    store.seen(pod("first", 1), NOW)
    store.seen(pod("second", 4), NOW)
    store.note(pod("first", 2))
    assert store.get("n", "worker") == pod("second", 4)


def test_of_all_that_are_gone_the_last_ones_are_known() -> None:
    store = Store()
    for number in range(GONE_MAX + 1):
        store.gone(pod(str(number), 1), NOW)
    store.note(pod("1", 2, "known"))
    store.note(pod("0", 2, "forgotten"))
    assert [item["metadata"] for item in store.all()] == [pod("0", 2, "forgotten")["metadata"]]
