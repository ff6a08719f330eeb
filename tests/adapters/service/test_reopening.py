"""Finished jobs are not read again for nothing: neither at a start nor by a look at them."""

import dataclasses

import pytest
from msgspec.structs import replace

from jobledger.adapters.service.loop.reopening import may_reopen, needs_no_look
from jobledger.adapters.service.objects.object_cache import CachedJob, ObjectCache
from jobledger.adapters.service.work.slots import Finished
from jobledger.core.catalogue import read_event
from jobledger.core.log.redaction.redact import Redactor
from jobledger.core.rayjob.observations.observations import SeenStatus
from jobledger.core.trainjob.conditions import Condition
from jobledger.core.trainjob.events import JobSetObserved
from jobledger.core.trainjob.observations import SeenTrainStatus
from jobledger.core.values.ids import StreamId
from tests.adapters.service.turns import TurnBench, a_job, seen
from tests.support import trainjobs
from tests.support.rayjob_builders import IDENTITY, cluster, manifest
from tests.support.records import NOON

DONE = Finished(generation=1, leaving=False)
RECORDED = dataclasses.replace(DONE, recorded=True)


def there(*, phase: str = "Complete", observed: int = 1, recorded: str = "") -> CachedJob:
    return CachedJob(
        kind="RayJob",
        identity=IDENTITY,
        version="1",
        fingerprint=(),
        redactor=Redactor(b"k" * 32, frozenset()),
        selected="",
        phase=phase,
        packed=b"",
        observed_generation=observed,
        recorded=recorded,
    )


@pytest.mark.parametrize(
    ("finished", "job", "settled"),
    [
        (DONE, there(), True),
        (DONE, None, False),
        (DONE, there(phase="Running"), False),
        (DONE, there(observed=0), False),
        (RECORDED, there(observed=0, recorded="why"), True),
        (RECORDED, there(observed=0), False),
        (RECORDED, None, False),
        (DONE, there(observed=0, recorded="why"), False),
    ],
)
def test_at_a_start_only_what_may_have_changed_is_looked_at(
    finished: Finished, job: CachedJob | None, settled: bool
) -> None:
    assert needs_no_look(finished, job, ObjectCache()) is settled


@pytest.mark.parametrize(("phase", "reopened"), [("Complete", False), ("Running", True)])
def test_a_finished_job_is_read_if_another_has_written_that_it_goes_on(
    phase: str, *, reopened: bool
) -> None:
    told = replace(manifest(status=SeenStatus(phase=phase), recorded="another's"), in_between=True)
    assert may_reopen(DONE, told) is reopened


@pytest.mark.parametrize(
    ("finished", "recorded", "reopened"),
    [(DONE, "", False), (RECORDED, "why", False), (RECORDED, "", True), (DONE, "why", True)],
)
def test_a_finished_job_is_read_when_control_of_it_is_taken_or_given_up(
    finished: Finished, recorded: str, reopened: bool
) -> None:
    assert may_reopen(finished, manifest(recorded=recorded)) is reopened


def test_that_control_of_finished_jobs_was_given_up_is_written_down_once() -> None:
    bench, names = TurnBench(), ("one", "two", "three")
    streams = [a_job(name) for name in names]

    def glances(one: Finished) -> list[Finished]:
        return [dataclasses.replace(one, version=version) for version in bench.versions(*streams)]

    ended = SeenStatus(phase="Complete", cluster_name="c", job_id="j", job_status="SUCCEEDED")
    bench.see(*(seen(name, status=ended) for name in names))
    bench.take()
    assert [bench.slots.finished(stream) for stream in streams] == glances(DONE)
    bench.see(*(seen(name, status=ended, recorded="why") for name in names))
    bench.take()
    assert [bench.slots.finished(stream) for stream in streams] == glances(RECORDED)
    before = bench.versions(*streams)
    bench.store.read.clear()
    bench.see(*(seen(name, status=ended, recorded="why", at=60) for name in names))
    bench.take()
    assert (bench.store.read, bench.versions(*streams)) == ([], before)


def test_how_a_kept_raycluster_fares_reads_no_finished_job_again() -> None:
    """A shared RayCluster whose size changes would have every job read that ever ran on it."""
    bench, names = TurnBench(), ("one", "two", "three")
    streams = [a_job(name) for name in names]
    ended = SeenStatus(phase="Complete", cluster_name="c", job_id="j", job_status="SUCCEEDED")
    bench.see(*(seen(name, status=ended, cluster_selector="c") for name in names))
    bench.take()

    def changes(at: float, *, deleting: bool = False) -> list[StreamId]:
        bench.store.read.clear()
        change = cluster(
            "ready", at, name="c", uid="c-1", owned=False, deleting=deleting, status={"at": str(at)}
        )
        for stream in streams:
            bench.inbox.put(stream, change)
        bench.take()
        return bench.store.read

    assert changes(10) == streams
    before = bench.versions(*streams)
    assert [changes(at) for at in (11, 12, 13)] == [[], [], []]
    assert bench.versions(*streams) == before
    assert changes(14, deleting=True) == streams


def test_what_follows_news_that_takes_a_finished_job_up_is_taken_with_it() -> None:
    """A JobSet that was put back runs and fails, all told at once: the failure was passed over.

    Found by the simulation (seed 10040250).
    """
    bench, stream = TurnBench(), trainjobs.IDENTITY.stream_id
    failed = Condition(type="Failed", is_true=True, reason="FailedJobs", message="", since=NOON)
    bench.inbox.put(stream, trainjobs.manifest(status=SeenTrainStatus(conditions=(failed,))))
    bench.take()
    assert bench.slots.finished(stream) is not None
    at_work, over = trainjobs.counts(active=1), trainjobs.counts(failed=1)
    bench.inbox.put(stream, trainjobs.jobset(20, at_work, uid="another"))
    bench.inbox.put(stream, trainjobs.jobset(30, over, uid="another", end=trainjobs.failed_end(30)))
    bench.take()
    told = [read_event(item.record) for item in bench.store.read_stream(stream)]
    assert [one.jobs for one in told if isinstance(one, JobSetObserved)] == [(at_work,), (over,)]
    assert bench.slots.finished(stream) is not None
