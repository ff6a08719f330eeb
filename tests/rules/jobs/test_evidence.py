"""Captured evidence is told once, changes nothing else, and is bounded as it is read."""

from dataclasses import replace

from core.jobs.events import EvidenceCaptured
from core.jobs.evidence import KUBERNETES_EVENTS_MAX, LOG_BYTES_MAX, LOG_LINES_MAX, Missing
from core.jobs.observations import OCCASIONS_REMEMBERED_MAX, EvidenceSeen
from core.jobs.pod_evidence import kubernetes_events_kept, log_end, pod_evidence, pods_kept, trouble
from core.rayjob.decider import RAYJOB
from core.values.documents import Manifest
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
    (told,) = RAYJOB.decide(state, seen())
    assert isinstance(told, EvidenceCaptured)
    later = RAYJOB.evolve(state, told)
    assert RAYJOB.decide(later, seen(at=90)) == ()
    assert later == state._replace(captured=("failure/1",))


def test_before_the_first_attempt_there_is_no_evidence() -> None:
    assert RAYJOB.decide(RAYJOB.initial, seen()) == ()


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
