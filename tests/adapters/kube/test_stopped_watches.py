"""A watch that is stopped tells nothing more, wherever it was."""

import threading
from collections.abc import Callable

import pytest

from jobledger.adapters.kube.watching.timing import WatchPace
from tests.adapters.kube.conftest import Watched
from tests.adapters.kube.samples import rayjob
from tests.support.canned_server import Answer, End, Gate, Scripted, Stream, list_of, watch_line
from tests.support.waiting import wait_until

Start = Callable[..., Watched]

PATIENT = WatchPace(
    silence_seconds=600, first_pause_seconds=600, longest_pause_seconds=600, stop_seconds=60
)


@pytest.mark.parametrize(
    "script",
    [
        [list_of(), Stream(end=End.SILENCE)],
        [list_of(), Stream((watch_line("MODIFIED", rayjob("a", 101)),), End.SILENCE)],
        [list_of(), Answer(500)],
        [Answer(500)],
    ],
    ids=["reading", "reading after an event", "in a pause", "in a pause before the first list"],
)
def test_a_stopped_watch_ends_at_once(watched: Start, script: list[Scripted]) -> None:
    one = watched(*script, pace=PATIENT)
    one.server.wait_for_requests(len(script))
    one.reflector.stop()
    assert not one.reflector.alive
    one.reflector.stop()


def test_nothing_is_told_after_a_stop_even_if_an_answer_still_comes(watched: Start) -> None:
    """A list cannot be broken off; it ends by itself or by its time-out."""
    gate, answer = Gate(), list_of(rayjob("a", 1)).content
    one = watched(Stream((answer[:20], gate, answer[20:])), pace=WatchPace(stop_seconds=0.01))
    one.server.wait_for_requests(1)
    one.reflector.stop()
    gate.set()
    wait_until(lambda: not one.reflector.alive, "the thread to end")
    assert one.listener.story == []


def test_a_listener_may_stop_its_own_watch(watched: Start) -> None:
    stopped, prepared = threading.Event(), Gate()
    first, second = (watch_line("ADDED", rayjob(name, at)) for name, at in (("a", 101), ("b", 102)))
    one = watched(list_of(), Stream((prepared, first, second), End.SILENCE), pace=PATIENT)
    remember = one.listener._note  # noqa: SLF001  # to stop from within a call

    def stop_at_first(told: object) -> None:
        remember(told)  # type: ignore[arg-type]  # passed through
        one.reflector.stop()
        stopped.set()

    one.listener._note = stop_at_first  # type: ignore[method-assign]  # noqa: SLF001  # as above
    prepared.set()
    assert stopped.wait(60)
    wait_until(lambda: not one.reflector.alive, "the thread to end")
    assert len([told for told in one.listener.told if told.what == "seen"]) <= 1
