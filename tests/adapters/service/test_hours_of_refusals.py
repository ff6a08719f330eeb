"""Whatever keeps failing, and however it is answered: few events and few requests follow.

The whole service in memory, both kinds of job, simulated hours. A row is one thing that fails.
"""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import cast

import pytest

from jobledger.core.errors import (
    ClusterUnreachable,
    ObjectChanged,
    ObjectExists,
    ObjectNotFound,
    RayApiUnreachable,
    RayJobNotFound,
    RayJobRefused,
    RequestForbidden,
    RequestInvalid,
    RequestThrottled,
)
from jobledger.core.ports.cluster import Cluster
from jobledger.core.ports.ray_jobs import RayJobs
from jobledger.core.values.ids import StreamId
from tests.adapters.service.parts import a_rayjob
from tests.support.refusing import Call, Refusals, Refusing
from tests.support.service_world import Ports
from tests.support.train_world import TrainWorld

pytestmark = pytest.mark.faults

IDLE_SECONDS = 10.0
WHOLE = 1.0
"""Hours in which everything fails that may, and all bounds hold."""
SHORT = WHOLE / 3
"""Hours in which one thing does: by then pauses have long grown to what they stay at."""
EVENTS_PER_HOUR_MAX = 400
REQUESTS_PER_HOUR_MAX = 700
"""Of one job to the API server. Pauses grow to 30 s where nothing is decided, else to minutes."""
RAY_REQUESTS_PER_HOUR_MAX = 2 * 3600 // 3
"""Of one job: a running one is asked about every 3 s, as upstream does; a look or a try is more."""

OF_THE_API_SERVER: dict[str, Exception] = {
    "403": RequestForbidden("403: not allowed"),
    "404": ObjectNotFound("404: the namespace is being deleted"),
    "409, changed": ObjectChanged("409: modified"),
    "409, exists": ObjectExists("409: exists"),
    "413 or 422": RequestInvalid("422: spec.x: is wrong"),
    "429": RequestThrottled("429: later", 1.0),
    "429, at once": RequestThrottled("429: later", 0.0),
    "401, 500 or no answer": ClusterUnreachable("no answer: Connection refused"),
    "a bug": ValueError("nobody foresaw this"),
}
OF_RAY: dict[str, Exception] = {
    "no answer": RayApiUnreachable("no answer: timed out"),
    "another trouble": RayApiUnreachable("500: Internal Server Error"),
    "not known": RayJobNotFound("404"),
    "refused": RayJobRefused("400: bad runtime_env"),
    "a bug": ValueError("nobody foresaw this"),
}


@dataclass
class Failing(TrainWorld):
    """A world in which some calls of the service fail."""

    api: Refusals | None = None
    head: Refusals | None = None

    def _ports(self) -> Ports:
        ports = super()._ports()
        if self.api is not None:
            ports = replace(ports, cluster=cast(Cluster, Refusing(ports.cluster, self.api)))
        if self.head is not None:
            ports = replace(ports, ray=cast(RayJobs, Refusing(ports.ray, self.head)))
        return ports


@dataclass(frozen=True)
class Row:
    what: str
    concerns: Callable[[Call], bool]
    kind: str = "RayJob"
    spec: tuple[tuple[str, object], ...] = ()
    ends: tuple[int, ...] = ()
    """Exit codes of the entrypoints."""

    @property
    def hours(self) -> float:
        return hours(self.what)


def hours(what: str) -> float:
    """Return how long a job lives while this fails."""
    return WHOLE if what.startswith("every") else SHORT


def verbs(*wanted: str, kind: str = "", status: bool | None = None) -> Callable[[Call], bool]:
    def concerns(call: Call) -> bool:
        is_status = call.subresource == "status"
        return (
            call.verb in wanted
            and kind in ("", call.kind)
            and (status is None or status == is_status)
        )

    return concerns


WRITES = ("create", "replace", "merge_patch", "apply", "delete")
HTTP = (("submissionMode", "HTTPMode"),)
RETRIES = (("backoffLimit", 2),)
ROWS = [
    Row("every write", verbs(*WRITES)),
    Row("every call", verbs(*WRITES, "get", "list")),
    Row("the finalizer", verbs("merge_patch", "apply", kind="RayJob", status=False)),
    Row("the status", verbs("merge_patch", "apply", status=True)),
    Row("the status of a job that is retried", verbs("merge_patch", "apply", status=True),
        spec=RETRIES, ends=(1, 1, 1)),
    Row("the RayCluster", verbs("create", kind="RayCluster")),
    Row("the submitter", verbs("create", kind="Job")),
    Row("the deletion of RayClusters", verbs("delete", kind="RayCluster"), spec=RETRIES,
        ends=(1, 1, 1)),
    Row("the deletion of submitters", verbs("delete", kind="Job"), spec=RETRIES, ends=(1, 1, 1)),
    Row("what is looked up", verbs("get", "list")),
    Row("Kubernetes Events", verbs("create", kind="Event"), spec=RETRIES, ends=(1, 1, 1)),
    Row("every write for a TrainJob", verbs(*WRITES), kind="TrainJob"),
    Row("every call for a TrainJob", verbs(*WRITES, "get", "list"), kind="TrainJob"),
    Row("the status of a TrainJob", verbs("merge_patch", "apply", status=True), kind="TrainJob"),
    Row("the JobSet", verbs("apply", "create", kind="JobSet"), kind="TrainJob"),
    Row("the snapshot of the runtime", verbs("apply", "create", kind="ConfigMap"), kind="TrainJob"),
    Row("Kubernetes Events of a TrainJob", verbs("create", kind="Event"), kind="TrainJob"),
]  # fmt: skip
HEAD_ROWS = [
    Row("the questions", verbs("info"), spec=HTTP),
    Row("the questions of a job with a submitter", verbs("info")),
    Row("handing in", verbs("submit"), spec=HTTP),
    Row("stopping", verbs("stop"), spec=(*HTTP, *RETRIES), ends=(1, 1, 1)),
    Row(
        "every question and order",
        verbs("info", "submit", "stop", "log_tail"),
        spec=(*HTTP, *RETRIES),
    ),
]


def live(world: Failing, row: Row) -> StreamId:
    """Let a job live for its time; return its stream."""
    world.plane.holds = world.jobsets.holds = not row.ends
    if row.kind == "TrainJob":
        world.install_runtime()
        stream = world.train()
    else:
        stream = world.create(a_rayjob(**dict(row.spec)))
    while world.clock.monotonic() < row.hours * 3600:
        if not world.step():
            world.clock.advance(IDLE_SECONDS)
        if len(world.store.read_stream(stream)) > row.hours * EVENTS_PER_HOUR_MAX:
            break
    return stream


def check(world: Failing, stream: StreamId, row: Row) -> None:
    told = world.store.read_stream(stream)
    kinds = Counter(item.record.type for item in told)
    assert len(told) <= row.hours * EVENTS_PER_HOUR_MAX, (row.what, kinds.most_common(5))
    if world.api is not None:
        total = world.api.counted.total()
        assert total <= row.hours * REQUESTS_PER_HOUR_MAX, (
            row.what,
            world.api.counted.most_common(5),
        )
    if world.head is not None:
        total = world.head.counted.total()
        assert total <= row.hours * RAY_REQUESTS_PER_HOUR_MAX, (row.what, world.head.counted)


LOOKS = frozenset({"every call", "every call for a TrainJob", "what is looked up"})
"""A bug in a look for the kinds that are served ends the process, which is then started anew."""
CASES = [
    pytest.param(row, answer, id=f"{row.what}-{answer}")
    for row in ROWS
    for answer in OF_THE_API_SERVER
    if not (answer == "a bug" and row.what in LOOKS)
]


@pytest.mark.parametrize(("row", "answer"), CASES)
def test_hours_in_which_this_is_refused(row: Row, answer: str) -> None:
    world = Failing(
        exit_codes=list(row.ends), api=Refusals(row.concerns, [OF_THE_API_SERVER[answer]])
    )
    check(world, live(world, row), row)


@pytest.mark.parametrize("answer", OF_RAY)
@pytest.mark.parametrize("row", HEAD_ROWS, ids=lambda row: row.what)
def test_hours_in_which_a_head_fails_this(row: Row, answer: str) -> None:
    world = Failing(exit_codes=list(row.ends), head=Refusals(row.concerns, [OF_RAY[answer]]))
    check(world, live(world, row), row)
