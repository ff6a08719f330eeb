"""An end that users have seen stays, also where the log has lost it for a moment."""

import pytest
from msgspec.structs import replace

from jobledger.adapters.service.objects.packing import pack, pack_status
from jobledger.adapters.service.status.status_writer import LEASE_PAUSE_SECONDS
from jobledger.core.ports.cluster import RAYJOBS
from jobledger.core.values.documents import text
from tests.adapters.service.desk import Desk, a_status
from tests.adapters.service.parts import Bench


@pytest.fixture
def desk() -> Desk:
    return Desk()


def told(desk: Desk) -> None:
    """Let the watch tell of the object as it is."""
    now = desk.cluster.get(RAYJOBS, "ml", "train")
    assert now is not None
    version = text(now, "metadata", "resourceVersion")
    job = desk.live.job(desk.a_job.identity.uid)
    assert job is not None
    desk.live.put_job(
        replace(job, version=version, told=version, packed=pack(now), shown=pack_status(now))
    )


def test_what_came_before_an_end_is_not_shown_after_it(desk: Desk) -> None:
    """A write of a lost past has arrived late, and the job has ended again by the log."""
    desk.offer(a_status("Complete", failed=1))
    desk.work()
    desk.publisher.forget(desk.a_job.identity.stream_id)
    told(desk)
    desk.offer(a_status("Running"), a_status("Complete"))
    desk.work()
    assert desk.written() == ["Complete", "Complete"]


def test_after_an_end_that_another_has_forged_every_phase_is_shown(desk: Desk) -> None:
    desk.cluster.edit(RAYJOBS, "ml", "train", status=a_status("Complete", failed=1))
    told(desk)
    desk.offer(a_status("Running"), a_status("Complete"))
    desk.work()
    assert desk.written() == ["Running", "Complete"]


def test_before_an_end_every_phase_is_shown(desk: Desk) -> None:
    desk.cluster.edit(RAYJOBS, "ml", "train", status=a_status("Initializing"))
    told(desk)
    desk.offer(a_status("Running"), a_status("Complete"))
    desk.work()
    assert desk.written() == ["Running", "Complete"]


def test_nothing_is_written_over_what_an_earlier_outbox_wrote_before_the_watch_tells_it(
    desk: Desk,
) -> None:
    desk.offer(a_status("Complete"))
    desk.work()
    desk.publisher.forget(desk.a_job.identity.stream_id)  # the ledger was set back
    desk.offer(a_status("Running"))
    assert desk.work() == [LEASE_PAUSE_SECONDS]
    assert desk.written() == ["Complete"]
    told(desk)
    desk.work()
    assert desk.written() == ["Complete", "Running"], "it is for the log to say that it is behind"


def test_an_end_keeps_the_progress_that_a_log_does_not_know(desk: Desk) -> None:
    more = {"rayJobInfo": {"startTime": "2026-11-21T12:00:26Z"}}
    desk.offer(a_status("Complete", **more))
    desk.work()
    desk.publisher.forget(desk.a_job.identity.stream_id)
    told(desk)
    desk.offer(a_status("Complete"))
    desk.work()
    assert desk.written() == ["Complete"]
    assert desk.shown() == a_status("Complete", **more)


def test_an_end_keeps_no_progress_that_another_has_written(desk: Desk) -> None:
    """It was to be cleared after our own write, and a throttled request came between."""
    desk.offer(a_status("Failed"))
    desk.work()
    desk.publisher.forget(desk.a_job.identity.stream_id)
    forged = a_status("Failed", jobStatus="SUCCEEDED")
    desk.cluster.edit(RAYJOBS, "ml", "train", status=forged)
    told(desk)
    desk.offer(a_status("Failed"))
    desk.work()
    assert desk.shown() == a_status("Failed")


def test_what_is_still_going_on_shows_what_the_log_knows(desk: Desk) -> None:
    more = {"rayJobInfo": {"startTime": "2026-11-21T12:00:26Z"}}
    desk.cluster.edit(RAYJOBS, "ml", "train", status=a_status("Running", **more))
    told(desk)
    desk.offer(a_status("Running"))
    desk.work()
    assert desk.written() == ["Running"]


def test_a_job_hears_of_the_raycluster_that_its_attempt_runs_on_though_it_selects_another() -> None:
    bench = Bench()
    job = bench.job({"spec.clusterSelector": {"ray.io/cluster": "other"}})
    assert job.selected == "other"
    began = {"jobDeploymentStatus": "Running", "rayClusterName": "shared"}
    again = bench.see(bench.cluster.edit(RAYJOBS, "ml", "train", status=began))
    assert again.selected == "shared"
