"""Which Pods are looked at before they go, and how often."""

import pytest

from jobledger.core.jobs.evidence.pod_failures import LOOKS_MAX, PodTrouble, attempt_of, trouble_of
from jobledger.core.trainjob.rules.evidence_scene import TRAINJOB_EVIDENCE
from jobledger.core.trainjob.state import TrainAttempt, TrainJobState
from jobledger.core.values.documents import Json, Manifest
from tests.support.records import NOON

UID = "0123456789ab"
RUNS: Manifest = {"running": {}}
WAITS: Manifest = {"waiting": {"reason": "CrashLoopBackOff"}}


def ended(code: int) -> Manifest:
    return {"terminated": {"exitCode": code}}


def container(state: Manifest, restarts: int = 0, last: Manifest | None = None) -> Manifest:
    return {"name": "c", "state": state, "restartCount": restarts, "lastState": last or {}}


def pod(*containers: Json, phase: str = "Running", going: bool = False) -> Manifest:
    metadata: Manifest = {"uid": UID, "deletionTimestamp": "2026-11-26T12:00:00Z" if going else ""}
    return {"metadata": metadata, "status": {"phase": phase, "containerStatuses": list(containers)}}


@pytest.mark.parametrize(
    ("seen", "failures"),
    [
        (pod(container(ended(1))), 1),
        (pod(container(RUNS, 1, ended(1))), 1),
        (pod(container(ended(1), 1, ended(1))), 2),
        (pod(container(WAITS, 1, ended(1))), 2),
        (pod(container(RUNS, 7, ended(137))), 7),
        (pod(container(ended(1)), container(ended(2))), 2),
        (pod(container(RUNS), phase="Failed"), 1),
        (pod(phase="Failed"), 1),
    ],
)
def test_failures_are_counted_as_they_happen(seen: Manifest, failures: int) -> None:
    """The first, once it runs again, the second, while it waits after that, and so on."""
    found = trouble_of(seen)
    assert found == PodTrouble(uid=UID, failures=failures, is_going=False)


@pytest.mark.parametrize(
    "seen",
    [
        {},
        pod(container(RUNS)),
        pod(container(WAITS)),
        pod(container(ended(0))),
        pod(container(RUNS, 3, ended(0))),
        pod(container(ended(143)), phase="Succeeded", going=True),
    ],
)
def test_a_pod_that_goes_its_way_is_in_no_trouble(seen: Manifest) -> None:
    assert trouble_of(seen) is None


def test_a_pod_under_deletion_is_told_though_it_is_well() -> None:
    assert trouble_of(pod(container(RUNS), going=True)) == GOES


GOES = PodTrouble(uid=UID, failures=0, is_going=True)
FAILED = PodTrouble(uid=UID, failures=1, is_going=False)


def occasion(told: PodTrouble, *captured: str, well_too: bool = True) -> str:
    return told.occasion(2, captured, well_too=well_too)


def test_a_failure_is_looked_at_once() -> None:
    first = occasion(FAILED)
    assert first == "pod/2/01234567/1"
    assert occasion(FAILED, first) == ""
    assert FAILED.occasion(3, (first,), well_too=True) != "", "in another attempt it is another"


def test_one_that_fails_again_and_again_is_looked_at_after_twice_as_many_failures() -> None:
    captured: list[str] = []
    looked_at = []
    for failures in range(1, 40):
        told = PodTrouble(uid=UID, failures=failures, is_going=False)
        if found := occasion(told, *captured):
            captured.append(found)
            looked_at.append(failures)
    assert looked_at == [1, 2, 4, 8, 16, 32]


def test_so_many_looks_are_taken_at_the_pods_of_an_attempt() -> None:
    others = [f"pod/2/other-{number}/1" for number in range(LOOKS_MAX)]
    assert occasion(FAILED, *others[:-1], "waiting/2", "pod/1/x/1") != ""
    assert occasion(FAILED, *others) == ""


def test_a_well_pod_that_is_deleted_is_looked_at_where_nobody_else_has_its_log() -> None:
    found = occasion(GOES)
    assert found == "pod/2/01234567/deleted"
    assert occasion(GOES, found) == ""
    assert occasion(GOES, well_too=False) == ""


def test_that_it_ends_by_a_signal_then_is_no_failure_of_its_own() -> None:
    ends = PodTrouble(uid=UID, failures=1, is_going=True)
    assert occasion(ends, occasion(GOES)) == ""
    assert occasion(ends) == occasion(FAILED), "unless its failure is what is seen first"


@pytest.mark.parametrize(
    ("told", "attempt"), [("pod/12/a/1", 12), ("waiting/1", 0), ("failure/3", 0), ("pod", 0)]
)
def test_an_occasion_tells_of_which_attempt_it_is(told: str, attempt: int) -> None:
    assert attempt_of(told) == attempt


@pytest.mark.parametrize(
    ("label", "earlier"), [("0", 2), ("1", 3), ("2", 0), ("3", 0), ("", 0), ("x", 0)]
)
def test_a_pod_of_a_jobset_tells_in_which_of_its_lives_it_was_made(
    label: str, earlier: int
) -> None:
    attempt = TrainAttempt(number=4, generation=1, started_at=NOON, jobset_uid="s", restarts=2)
    state = TrainJobState(attempt=attempt)
    labels: Manifest = {"jobset.sigs.k8s.io/restart-attempt": label}
    found = TRAINJOB_EVIDENCE.earlier_attempt(state, {"metadata": {"labels": labels}})
    assert found == earlier
