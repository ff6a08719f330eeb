"""Which log that of a run is, once its container was started again."""

import pytest

from jobledger.core.jobs.evidence.evidence import ContainerEnd
from jobledger.core.jobs.evidence.pods import pod_evidence
from jobledger.core.jobs.evidence.runs import RunNow, run_now
from jobledger.core.values.documents import Manifest

RUNS: Manifest = {"running": {}}
WAITS: Manifest = {"waiting": {"reason": "CrashLoopBackOff"}}
UNKNOWN: Manifest = {"terminated": {"exitCode": 137, "reason": "ContainerStatusUnknown"}}


def ended(second: int) -> Manifest:
    at = f"2030-01-01T00:00:{second:02}Z"
    return {"terminated": {"exitCode": 1, "startedAt": at, "finishedAt": at}}


def a_pod(restarts: int, state: Manifest, last: Manifest | None = None) -> Manifest:
    status: Manifest = {"name": "main", "restartCount": restarts, "state": state}
    other: Manifest = {"name": "other", "restartCount": 7, "state": RUNS}
    return {"status": {"containerStatuses": [other, {**status, "lastState": last or {}}]}}


def told(pod: Manifest) -> ContainerEnd:
    """Return what a Pod says of its container, as it is kept."""
    (_, one) = pod_evidence(pod, str).containers
    return one


FIRST, SECOND = a_pod(0, ended(1)), a_pod(1, ended(5), ended(1))
AGAIN = a_pod(1, RUNS, ended(1))


@pytest.mark.parametrize(
    ("seen", "now", "which"),
    [
        pytest.param(FIRST, FIRST, RunNow.PRESENT, id="nothing has changed"),
        pytest.param(FIRST, a_pod(0, WAITS, ended(1)), RunNow.PREVIOUS, id="the next waits"),
        pytest.param(FIRST, AGAIN, RunNow.PREVIOUS, id="the next runs"),
        pytest.param(FIRST, SECOND, RunNow.PREVIOUS, id="the next has ended too"),
        pytest.param(FIRST, a_pod(1, WAITS, ended(5)), RunNow.GONE, id="the one after it waits"),
        pytest.param(FIRST, a_pod(2, RUNS, ended(5)), RunNow.GONE, id="the one after it runs"),
        pytest.param(SECOND, SECOND, RunNow.PRESENT, id="nothing has changed, after two"),
        pytest.param(
            a_pod(1, ended(5), ended(5)),
            a_pod(1, ended(5), ended(5)),
            RunNow.PRESENT,
            id="two within a second",
        ),
        pytest.param(
            a_pod(1, UNKNOWN, ended(1)),
            a_pod(1, UNKNOWN, ended(1)),
            RunNow.PRESENT,
            id="nobody knows when it ended",
        ),
        pytest.param(AGAIN, AGAIN, RunNow.PREVIOUS, id="the one before is still that"),
        pytest.param(AGAIN, a_pod(1, ended(5), ended(1)), RunNow.PREVIOUS, id="still, at its end"),
        pytest.param(AGAIN, a_pod(1, WAITS, ended(5)), RunNow.GONE, id="it no more is"),
        pytest.param(a_pod(1, RUNS), a_pod(2, RUNS, ended(9)), RunNow.PRESENT, id="none has ended"),
        pytest.param(FIRST, {}, RunNow.PRESENT, id="nothing is known"),
        pytest.param(AGAIN, {}, RunNow.PREVIOUS, id="nothing is known of the one before"),
    ],
)
def test_which_log_that_of_a_run_is_by_now(seen: Manifest, now: Manifest, which: RunNow) -> None:
    assert run_now(told(seen), now) is which
