"""Whatever keeps failing for a batch Job, few events and few requests follow.

As `test_hours_of_refusals` has it of the other kinds of job, with the same bounds.
"""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import cast

import pytest

from jobledger.core.ports.cluster import BATCH_JOBS, Cluster
from jobledger.core.values.documents import child, text
from jobledger.core.values.ids import StreamId
from tests.adapters.service.test_hours_of_refusals import (
    EVENTS_PER_HOUR_MAX,
    IDLE_SECONDS,
    OF_THE_API_SERVER,
    REQUESTS_PER_HOUR_MAX,
    WRITES,
    hours,
    verbs,
)
from tests.support.job_world import JobWorld, a_job
from tests.support.refusing import Call, Refusals, Refusing
from tests.support.service_world import Ports

pytestmark = pytest.mark.faults

FAILED = ("Failed",) * 4


@dataclass
class Failing(JobWorld):
    """A world in which some calls of the service fail."""

    api: Refusals | None = None

    def _ports(self) -> Ports:
        ports = super()._ports()
        if self.api is None:
            return ports
        return replace(ports, cluster=cast(Cluster, Refusing(ports.cluster, self.api)))


@dataclass(frozen=True)
class Row:
    what: str
    concerns: Callable[[Call], bool]
    ends: tuple[str, ...] = ()
    """How the Jobs of attempts end; none: they go on."""
    toggles: bool = False
    """Whether its user suspends it and lets it go on, every five minutes."""

    @property
    def hours(self) -> float:
        return hours(self.what)


ROWS = [
    Row("every write", verbs(*WRITES)),
    Row("every call", verbs(*WRITES, "get", "list")),
    Row("every write of one that is suspended now and then", verbs(*WRITES), toggles=True),
    Row("the status", verbs("merge_patch", "apply", status=True), ends=FAILED),
    Row("the Job of an attempt", verbs("create", kind="Job"), ends=FAILED),
    Row("its deletion", verbs("delete", kind="Job"), ends=FAILED),
    Row("its suspension", verbs("merge_patch", kind="Job", status=False), toggles=True),
    Row("Kubernetes Events", verbs("create", kind="Event"), ends=FAILED),
]
CASES = [
    pytest.param(row, answer, id=f"{row.what}-{answer}")
    for row in ROWS
    for answer in OF_THE_API_SERVER
    if not (answer == "a bug" and row.what == "every call")  # ends the process, as of others
]
TOGGLE_SECONDS = 300
"""An edit is tried at once, so more of them are more tries."""


def live(world: Failing, row: Row) -> StreamId:
    """Let a Job live for its time; return its stream."""
    world.ends, world.holds = list(row.ends), not row.ends
    stream = world.give(a_job(retries=3))
    toggled = world.clock.monotonic()
    while world.clock.monotonic() < row.hours * 3600:
        if row.toggles and world.clock.monotonic() - toggled > TOGGLE_SECONDS:
            toggled = world.clock.monotonic()
            spec = child(world.etl, "spec")
            suspend = spec.get("suspend") is not True
            world.cluster.edit(BATCH_JOBS, "ml", "etl", spec={**spec, "suspend": suspend})
        if not world.step():
            world.clock.advance(IDLE_SECONDS)
        if len(world.store.read_stream(stream)) > row.hours * EVENTS_PER_HOUR_MAX:
            break
    return stream


@pytest.mark.parametrize(("row", "answer"), CASES)
def test_hours_in_which_this_is_refused(row: Row, answer: str) -> None:
    world = Failing(api=Refusals(row.concerns, [OF_THE_API_SERVER[answer]]))
    stream = live(world, row)
    told = Counter(item.record.type for item in world.store.read_stream(stream))
    assert world.api is not None
    assert told.total() <= row.hours * EVENTS_PER_HOUR_MAX, told.most_common(5)
    assert world.api.counted.total() <= row.hours * REQUESTS_PER_HOUR_MAX, world.api.counted


def test_the_status_of_the_attempts_job_that_goes_to_and_fro_is_held_within_the_budget() -> None:
    """Whoever may write the status of that Job can write it all the time."""
    per_hour = 200
    world = JobWorld(job_events_per_hour=per_hour)
    world.holds = True
    stream = world.give(a_job())
    world.run(lambda: child(world.etl, "status").get("ready") == 1, "its Pod is ready")
    (attempt,) = world.attempts()
    for count in range(5 * per_hour):
        status = {"active": 1, "ready": 1, "failed": count % 7}
        world.cluster.edit(BATCH_JOBS, "ml", text(attempt, "metadata", "name"), status=status)
        world.clock.advance(0.1)
        world.step()
    assert len(world.store.read_stream(stream)) <= per_hour
