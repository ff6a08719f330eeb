"""Captured evidence is told once, changes nothing else, and is bounded as it is read."""

import pytest
from msgspec.structs import replace

from jobledger.core.jobs.events import EvidenceCaptured
from jobledger.core.jobs.evidence.evidence import (
    KUBERNETES_EVENTS_MAX,
    LOG_BYTES_MAX,
    LOG_LINES_MAX,
    ContainerEnd,
    Missing,
    SeenKubernetesEvent,
)
from jobledger.core.jobs.evidence.pods import (
    came_after,
    kubernetes_events_kept,
    log_end,
    pod_evidence,
    pods_kept,
    trouble,
)
from jobledger.core.jobs.observations import OCCASIONS_REMEMBERED_MAX, EvidenceSeen
from jobledger.core.rayjob.decide.decide import RAYJOB
from jobledger.core.values.documents import Manifest
from jobledger.core.values.instants import parse_rfc3339
from tests.support import rayjob_stories as stories
from tests.support.rayjob_builders import UNNAMED, after, named
from tests.support.rows import play


def seen(occasion: str = "failure/1", at: float = 60) -> EvidenceSeen:
    missing = (Missing(what="log of the driver", why="the head did not answer"),)
    return named(
        EvidenceSeen(id=UNNAMED, at=after(at), attempt=1, occasion=occasion, missing=missing)
    )


def same(text: str) -> str:
    return text


def test_evidence_is_told_once_for_an_occasion() -> None:
    state = play(RAYJOB, stories.working()).state
    (told,) = RAYJOB.news(state, seen())
    assert isinstance(told, EvidenceCaptured)
    later = RAYJOB.evolve(state, told)
    assert RAYJOB.news(later, seen(at=90)) == ()
    assert later == replace(state, captured=("failure/1",))


def test_before_the_first_attempt_there_is_no_evidence() -> None:
    assert RAYJOB.news(RAYJOB.initial, seen()) == ()


def test_occasions_are_remembered_within_bounds() -> None:
    story = (*stories.working(), *(seen(f"failure/{number}") for number in range(50)))
    assert len(play(RAYJOB, story).state.captured) == OCCASIONS_REMEMBERED_MAX


POD: Manifest = {
    "metadata": {"name": "w", "uid": "u", "labels": {"ray.io/node-type": "worker"}},
    "spec": {"nodeName": "gpu-7"},
    "status": {
        "phase": "Failed",
        "reason": "Evicted",
        "message": "low on resource: memory",
        "containerStatuses": [
            {
                "name": "ray",
                "restartCount": 2,
                "state": {"waiting": {"reason": "CrashLoopBackOff", "message": "back-off"}},
                "lastState": {"terminated": {"exitCode": 137, "reason": "OOMKilled"}},
            }
        ],
    },
}


def test_a_pod_says_who_took_it_and_how_its_container_ended_last() -> None:
    found = pod_evidence(POD, same)
    assert (found.node, found.reason, found.role) == ("gpu-7", "Evicted", "worker")
    (container,) = found.containers
    assert (container.state, container.reason, container.exit_code) == (
        "terminated",
        "OOMKilled",
        137,
    )
    assert container.restarts == 2
    assert trouble(found) > trouble(replace(found, reason=""))


def test_a_pod_that_says_nothing_is_read_as_well() -> None:
    found = pod_evidence({}, same)
    assert (found.name, found.containers, trouble(found)) == ("", (), 0)


def test_the_worst_pods_are_kept() -> None:
    fine: list[Manifest] = [{"metadata": {"name": f"p{number:02}"}} for number in range(30)]
    kept = pods_kept([*fine, POD], same)
    assert kept[0].name == "w"
    assert len(kept) < 30


def test_warnings_come_before_what_is_normal() -> None:
    events = [
        {"type": kind, "reason": kind, "lastTimestamp": f"2026-11-21T12:00:{second:02}Z"}
        for second in range(40)
        for kind in ("Normal", "Warning")
    ]
    kept = kubernetes_events_kept(events, same)
    assert len(kept) == KUBERNETES_EVENTS_MAX
    assert {item.kind for item in kept} == {"Warning"}
    assert kept[0].last_at is not None
    assert kept[0].last_at > (kept[1].last_at or kept[0].last_at)


def test_the_end_of_a_log_is_kept() -> None:
    assert log_end("") == ("", False)
    assert log_end("a\nb\n") == ("a\nb", False)
    kept, cut = log_end("".join(f"{number}\n" for number in range(1000)))
    assert (len(kept.splitlines()), kept.splitlines()[-1], cut) == (LOG_LINES_MAX, "999", True)
    long, cut = log_end("é" * LOG_BYTES_MAX + "\n" + "end")
    assert (long, cut) == ("end", True)


FULL = "x" * LOG_BYTES_MAX
EURO = "\u20ac"
"""Three bytes of UTF-8: no limit here is a multiple of them."""
MEGABYTE = 1024 * 1024
ENDS: tuple[tuple[str, str, str, bool], ...] = (
    ("nothing", "", "", False),
    ("a line feed", "\n", "", False),
    ("blank lines", " \n\t\n\r\n", "", False),
    ("one byte", "a", "a", False),
    ("no line feed at all", "a\nb", "a\nb", False),
    ("line feeds with carriage returns", "a\r\nb\r\n", "a\nb", False),
    ("a bar that draws itself anew", "1%\r2%\r", "1%\n2%", False),
    ("as many bytes as are kept", FULL, FULL, False),
    ("as many, and a line feed", FULL + "\n", FULL, False),
    ("one byte more", "y" + FULL, FULL, True),
    ("a line before as many", "y\n" + FULL, FULL, True),
    ("a line that begins where the cut falls", "y\n" + FULL[2:] + "\nz", FULL[2:] + "\nz", True),
    ("a line of a megabyte", "x" * MEGABYTE, FULL, True),
    ("the same, with a blank line after it", "x" * MEGABYTE + "\n\n", FULL, True),
    ("the same, with blank lines of blanks", "x" * MEGABYTE + "\r\n   \r\n", FULL, True),
    ("characters of three bytes", EURO * MEGABYTE, EURO * (LOG_BYTES_MAX // 3), True),
    ("the same behind one byte", "a" + EURO * MEGABYTE, EURO * (LOG_BYTES_MAX // 3), True),
    ("as many lines as are kept", "x\n" * LOG_LINES_MAX, "x\n" * (LOG_LINES_MAX - 1) + "x", False),
    ("a line more", "x\n" * (LOG_LINES_MAX + 1), "x\n" * (LOG_LINES_MAX - 1) + "x", True),
)


@pytest.mark.parametrize(
    ("log", "kept", "cut"), [row[1:] for row in ENDS], ids=[r[0] for r in ENDS]
)
def test_what_is_kept_of_a_log(log: str, kept: str, cut: bool) -> None:
    assert log_end(log) == (kept, cut)


@pytest.mark.parametrize("before", ["", "Traceback\nKeyError: 'a'\n"])
def test_of_a_last_line_without_an_end_as_much_is_kept_as_fits(before: str) -> None:
    assert log_end(before + "x" * 10 * LOG_BYTES_MAX) == ("x" * LOG_BYTES_MAX, True)


def test_a_long_line_is_cut_at_a_blank() -> None:
    line = "word " * LOG_BYTES_MAX
    assert log_end(line) == (line[-LOG_BYTES_MAX:].partition(" ")[2], True)


def ended(code: int | None) -> Manifest:
    """Return the status of a Pod whose only container is over."""
    state = {"terminated": {"exitCode": code}}
    return {"status": {"containerStatuses": [{"name": "c", "state": state}]}}


def waiting(reason: str) -> Manifest:
    """Return a Pod whose only container waits."""
    return {"status": waiting_status(reason)}


def waiting_status(reason: str, restarts: int = 0) -> Manifest:
    """Return the status of a Pod whose only container waits."""
    state = {"waiting": {"reason": reason}}
    return {"containerStatuses": [{"name": "c", "restartCount": restarts, "state": state}]}


@pytest.mark.parametrize(
    ("pod", "how_great"),
    [
        (ended(0), 0),
        (ended(None), 0),
        (ended(1), 2),
        (waiting("ContainerCreating"), 0),
        (waiting("PodInitializing"), 0),
        (waiting("ImagePullBackOff"), 2),
        ({"status": {"containerStatuses": [{"name": "c", "restartCount": 1}]}}, 1),
        ({"status": {"reason": "Evicted"}}, 3),
    ],
)
def test_how_great_the_trouble_of_a_pod_is(pod: Manifest, how_great: int) -> None:
    assert trouble(pod_evidence(pod, same)) == how_great


def test_why_a_pod_was_taken_comes_before_why_it_was_not_placed_and_its_own_words() -> None:
    unplaced = {"type": "PodScheduled", "status": "False", "reason": "", "message": "no room"}
    taken = {"type": "DisruptionTarget", "status": "True", "reason": "Preempted", "message": "m"}
    untrue = {**taken, "status": "False"}
    told = {"reason": "Evicted", "message": "own"}

    def said(*conditions: Manifest) -> tuple[str, str]:
        found = pod_evidence({"status": {**told, "conditions": list(conditions)}}, same)
        return found.reason, found.message

    assert said(unplaced, taken) == ("Preempted", "m")
    assert said(unplaced, untrue) == ("PodScheduled", "no room")
    assert said(untrue) == ("Evicted", "own")


def test_every_word_of_a_container_is_kept() -> None:
    last: Manifest = {
        "exitCode": 137,
        "signal": 9,
        "reason": "OOMKilled",
        "message": "m",
        "startedAt": "2026-11-21T12:00:01Z",
        "finishedAt": "2026-11-21T12:00:05Z",
    }
    status: Manifest = {"name": "c", "restartCount": 2, "lastState": {"terminated": last}}
    (found,) = pod_evidence({"status": {"initContainerStatuses": [status]}}, same).containers
    assert found == ContainerEnd(
        name="c",
        state="terminated",
        reason="OOMKilled",
        message="m",
        exit_code=137,
        signal=9,
        restarts=2,
        started_at=parse_rfc3339("2026-11-21T12:00:01Z"),
        ended_at=parse_rfc3339("2026-11-21T12:00:05Z"),
        previous=True,
    )
    (waits,) = pod_evidence(waiting("ImagePullBackOff"), same).containers
    assert (waits.state, waits.reason) == ("waiting", "ImagePullBackOff")


def test_a_pod_that_began_after_an_instant_came_after_it() -> None:
    start, later = "2026-11-21T12:00:01Z", parse_rfc3339("2026-11-21T12:00:02Z")
    state = {"running": {"startedAt": start}}
    running = pod_evidence({"status": {"containerStatuses": [{"name": "c", "state": state}]}}, same)
    assert came_after(running, parse_rfc3339("2026-11-21T12:00:00Z"))
    assert not came_after(running, parse_rfc3339(start))
    assert not came_after(running, later)
    assert not came_after(running, None)
    assert not came_after(pod_evidence({}, same), later)


def test_kubernetes_events_are_read_in_their_old_and_their_new_form() -> None:
    about = {"kind": "Pod", "name": "w"}
    at = parse_rfc3339("2026-11-21T12:00:01Z")
    old: Manifest = {
        "involvedObject": about,
        "type": "Warning",
        "reason": "Failed",
        "message": "m",
        "count": 7,
        "lastTimestamp": "2026-11-21T12:00:01Z",
    }
    new: Manifest = {
        "regarding": about,
        "type": "Warning",
        "reason": "Failed",
        "note": "m",
        "series": {"count": 7},
        "eventTime": "2026-11-21T12:00:01Z",
    }
    seen_event = SeenKubernetesEvent(
        object="Pod/w", kind="Warning", reason="Failed", message="m", count=7, last_at=at
    )
    assert kubernetes_events_kept([old, new], same) == (seen_event, seen_event)
    (bare,) = kubernetes_events_kept([{}], same)
    assert (bare.kind, bare.count, bare.last_at) == ("Normal", 1, None)


BOUND, TAKEN = "2026-11-21T12:00:02Z", "2026-11-21T12:00:03Z"


def placed(value: str, at: str) -> Manifest:
    return {"conditions": [{"type": "PodScheduled", "status": value, "lastTransitionTime": at}]}


@pytest.mark.parametrize(
    ("status", "since"),
    [
        (placed("False", BOUND), BOUND),
        ({**waiting_status("ImagePullBackOff"), **placed("True", BOUND)}, BOUND),
        (
            {
                **waiting_status("ImagePullBackOff"),
                **placed("True", BOUND),
                "startTime": TAKEN,
            },
            TAKEN,
        ),
        ({**waiting_status("ContainerCreating"), "startTime": TAKEN}, ""),
        ({**waiting_status("CrashLoopBackOff", restarts=1), "startTime": TAKEN}, ""),
        (waiting_status("ImagePullBackOff"), ""),
        ({}, ""),
    ],
)
def test_since_when_a_pod_waits(status: Manifest, since: str) -> None:
    """For a node since it has none; for what its containers lack since its node has taken it."""
    assert pod_evidence({"status": status}, same).waits_since == parse_rfc3339(since)
