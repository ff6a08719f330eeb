"""A status that cannot be written for a while: the job is told once, and of nothing that passes."""

from datetime import timedelta

import pytest
from msgspec.structs import replace
from structlog.testing import capture_logs

from jobledger.adapters.service.status.unwritten import TOLD_AFTER, Failing
from jobledger.core.errors import (
    ClusterError,
    ClusterUnreachable,
    ObjectChanged,
    RequestForbidden,
    RequestInvalid,
    RequestThrottled,
)
from jobledger.core.jobs.observations import StatusNotWritten, StatusWritten
from jobledger.core.ports.cluster import RAYJOBS
from jobledger.core.values.documents import child
from tests.adapters.service.desk import Desk, a_status
from tests.adapters.service.parts import SECRET

MOMENT = timedelta(seconds=1)


@pytest.fixture
def desk() -> Desk:
    return Desk()


def fail(desk: Desk, error: Exception, lasting: timedelta) -> None:
    """Let tries fail now and after a while; a status waits already, or is offered."""
    desk.refusals = [error, error]  # type: ignore[list-item]  # no port raises a bug
    if not desk.tasks:
        desk.offer(a_status("Running"))
    desk.work()
    desk.clock.advance(lasting.total_seconds())
    desk.work()


@pytest.mark.parametrize(
    "error",
    [
        RequestForbidden(f"403 Forbidden: {SECRET}"),
        ClusterUnreachable(f"500 InternalError: failed calling webhook: {SECRET}"),
        ObjectChanged(f"409 Conflict: {SECRET}"),
    ],
    ids=["forbidden", "a webhook that is down", "a version that is not the latest"],
)
def test_the_job_is_told_once_without_its_secrets(desk: Desk, error: ClusterError) -> None:
    spec = child(desk.cluster.get(RAYJOBS, "ml", "train"), "spec")
    spec = {**spec, "runtimeEnvYAML": f"env_vars: {{TOKEN: {SECRET}}}"}
    desk.see(desk.cluster.edit(RAYJOBS, "ml", "train", spec=spec))
    began = desk.clock.now()
    fail(desk, error, TOLD_AFTER)
    (told,) = desk.said()
    assert isinstance(told, StatusNotWritten)
    assert (told.since, told.at) == (began, began + TOLD_AFTER)
    assert told.trouble.startswith(str(error).partition(SECRET)[0])
    assert SECRET not in told.trouble
    fail(desk, error, TOLD_AFTER)
    assert desk.said() == []


def test_it_is_not_told_of_what_passes_sooner(desk: Desk) -> None:
    fail(desk, RequestForbidden("403"), TOLD_AFTER - MOMENT)
    desk.work()
    fail(desk, RequestForbidden("403"), TOLD_AFTER - MOMENT)
    assert [type(one) for one in desk.said()] == [StatusWritten]


def test_it_is_told_again_of_another_time(desk: Desk) -> None:
    for phase in ("Running", "Complete"):
        desk.offer(a_status(phase))
        fail(desk, RequestForbidden("403"), TOLD_AFTER)
        desk.work()
    kinds = [type(one) for one in desk.said()]
    assert kinds == [StatusNotWritten, StatusWritten] * 2


def test_of_a_bug_no_more_is_told_than_that_it_is_one(desk: Desk) -> None:
    fail(desk, ZeroDivisionError(SECRET), TOLD_AFTER)
    (told,) = desk.said()
    assert isinstance(told, StatusNotWritten)
    assert told.trouble == "an internal error (ZeroDivisionError)"


@pytest.mark.parametrize(
    "error",
    [
        ClusterUnreachable("500"),
        RequestThrottled("503", 1.0),
        RequestForbidden('403 Forbidden: User "a" cannot patch resource "rayjobs/status"'),
        ObjectChanged("409"),
    ],
    ids=lambda one: type(one).__name__,
)
def test_what_all_jobs_meet_is_one_line_in_a_minute(desk: Desk, error: ClusterError) -> None:
    """Of ten thousand jobs an API server behind a balancer that answers 503 made 300 a second."""
    unwritten, identity = desk.publisher.unwritten, desk.a_job.identity
    with capture_logs() as lines:
        for number in range(50):
            job = replace(identity, name=f"train-{number}")
            unwritten.tell("RayJob", job, error, 1, Failing())
    assert [line["event"] for line in lines] == ["status_not_written"]


def test_of_each_kind_a_right_that_is_missing_is_a_line(desk: Desk) -> None:
    unwritten, identity = desk.publisher.unwritten, desk.a_job.identity
    with capture_logs() as lines:
        for kind in ("RayJob", "TrainJob", "RayJob"):
            error = RequestForbidden(f"403 Forbidden: it cannot patch resource {kind}s/status")
            unwritten.tell(kind, identity, error, 1, Failing())
    assert [line["error"].split()[-1] for line in lines] == ["RayJobs/status", "TrainJobs/status"]


@pytest.mark.parametrize(
    "error",
    [
        RequestInvalid("422 Invalid: status.startTime"),
        RequestForbidden('403 Forbidden: admission webhook "a.b" denied the request: no'),
        RequestForbidden("403 Forbidden: ValidatingAdmissionPolicy 'a' with binding 'b': no"),
    ],
    ids=["invalid", "denied by a webhook", "denied by a policy"],
)
def test_what_one_job_alone_meets_is_a_line_ever_more_seldom(
    desk: Desk, error: ClusterError
) -> None:
    """A CRD that has another idea of a field has it for weeks; it is tried twice a minute."""
    unwritten, identity, how = desk.publisher.unwritten, desk.a_job.identity, Failing()
    with capture_logs() as lines:
        unwritten.tell("RayJob", identity, ClusterUnreachable("500"), 1, how)
        for failures in range(2, 22):
            unwritten.tell("RayJob", identity, error, failures, how)
    assert [line["failures"] for line in lines if "failures" in line] == [2, 3, 5, 9, 17]
