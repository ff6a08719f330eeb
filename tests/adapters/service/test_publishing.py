"""Writing `.status`: in order, only differences, never a phase left out."""

from collections.abc import Callable
from typing import Any

import pytest
from structlog.testing import capture_logs

from jobledger.adapters.service.status.company import (
    BEHIND_DELAY_SECONDS,
    BEHIND_LOOK_SECONDS,
    ENDED_DELAY_SECONDS,
    PROGRESS_DELAY_SECONDS,
)
from jobledger.adapters.service.status.status_writer import PAUSE_FIRST_SECONDS, PAUSE_MAX_SECONDS
from jobledger.core.errors import (
    ClusterError,
    ClusterUnreachable,
    ObjectChanged,
    ObjectNotFound,
    RequestInvalid,
    RequestThrottled,
)
from jobledger.core.jobs.observations import StatusWritten
from jobledger.core.ports.cluster import RAYJOBS
from jobledger.core.values.documents import Manifest, child, text
from tests.adapters.service.desk import Desk, a_status


@pytest.fixture
def desk() -> Desk:
    return Desk()


PHASES = ["Initializing", "Waiting", "Running", "Suspending", "Suspended", "", "Initializing"]
MORE = ["Running", "Retrying", "", "Initializing", "Running", "Complete"]


def test_every_phase_goes_out_in_a_write_of_its_own_but_the_empty_one(desk: Desk) -> None:
    desk.offer(*[a_status(phase) for phase in PHASES])
    desk.offer(*[a_status(phase) for phase in MORE])
    assert desk.work() == []
    assert desk.written() == [phase for phase in PHASES + MORE if phase]


def test_states_of_the_same_phase_go_out_as_one_write(desk: Desk) -> None:
    desk.offer(a_status("Running"))
    desk.offer(a_status("Running", jobStatus="PENDING"))
    desk.offer(a_status("Running", jobStatus="RUNNING"))
    desk.work()
    assert desk.cluster.statuses == [a_status("Running", jobStatus="RUNNING")]


def test_a_phase_that_comes_back_is_not_left_out_while_another_waits_before_it(desk: Desk) -> None:
    desk.offer(a_status("Running"))
    desk.work()
    for phase in ("Suspended", "Running", "Complete"):  # each while the one before still waits
        desk.offer(a_status(phase))
    desk.work()
    assert desk.written() == ["Running", "Suspended", "Running", "Complete"]


def test_what_was_written_is_not_written_again(desk: Desk) -> None:
    desk.offer(a_status("Running"))
    desk.work()
    desk.offer(a_status("Running"))
    assert desk.tasks == []


def test_what_is_offered_again_while_it_is_written_is_not_written_twice(desk: Desk) -> None:
    def offers(*args: Any, **kwargs: Any) -> Manifest:  # noqa: ANN401 passes everything on
        desk.offer(a_status("Running", jobStatus="PENDING"))
        desk.offer(a_status("Running"))
        return maybe(*args, **kwargs)

    maybe: Callable[..., Manifest] = desk.cluster.apply
    desk.cluster.apply = offers  # type: ignore[method-assign]  # meanwhile, somebody offers
    desk.offer(a_status("Running"))
    desk.work()
    assert desk.written() == ["Running"]


def test_each_write_is_told_with_what_users_can_see(desk: Desk) -> None:
    desk.offer(a_status("Running"))
    desk.work()
    (told,) = desk.said()
    assert isinstance(told, StatusWritten)
    shown = desk.cluster.get(RAYJOBS, "ml", "train")
    assert (told.phase, told.resource_version) == (
        "Running",
        text(shown, "metadata", "resourceVersion"),
    )


def test_fields_that_the_crd_prunes_do_not_loop(desk: Desk) -> None:
    desk.cluster.prune("observedGeneration")
    for _ in range(3):
        desk.offer(a_status("Running", observedGeneration=1))
        desk.work()
    assert desk.written() == ["Running"]


def test_fields_of_another_writer_that_should_be_empty_are_cleared(desk: Desk) -> None:
    others = {"reason": "AppFailed", "foreign": "kept"}
    desk.see(desk.cluster.edit(RAYJOBS, "ml", "train", status=others))
    desk.offer(a_status("Running"))
    desk.work()
    assert desk.shown() == a_status("Running", foreign="kept")


def test_a_failure_backs_off_and_the_newest_of_a_phase_wins(desk: Desk) -> None:
    desk.refusals = [ClusterUnreachable("no answer")] * 9
    desk.offer(a_status("Running", jobStatus="PENDING"))
    with capture_logs() as lines:
        pauses = [pause for _ in range(9) for pause in desk.work()]
    assert [line["event"] for line in lines] == ["status_not_written"]
    assert pauses == sorted(pauses)
    assert pauses[0] < pauses[-1] == PAUSE_MAX_SECONDS
    desk.offer(a_status("Running", jobStatus="RUNNING"))
    assert len(desk.tasks) == 1, "the pause of the first task is kept to"
    assert desk.work() == []
    assert desk.cluster.statuses == [a_status("Running", jobStatus="RUNNING")]


def test_conflicts_of_a_job_that_somebody_edits_all_the_time_do_not_fill_the_log(
    desk: Desk,
) -> None:
    desk.refusals = [ObjectChanged("409 Conflict")] * 9
    desk.offer(a_status("Running"))
    with capture_logs() as lines:
        pauses = [pause for _ in range(9) for pause in desk.work()]
    assert len(pauses) == 9
    assert [line["event"] for line in lines] == ["status_not_written"]


def test_after_a_failure_nobody_knows_what_is_shown_so_it_is_written_again(desk: Desk) -> None:
    desk.offer(a_status("Running"))
    desk.work()
    desk.refusals = [ClusterUnreachable("the answer was lost")]
    desk.offer(a_status("Retrying"))
    desk.work()
    desk.see(desk.cluster.edit(RAYJOBS, "ml", "train", status=a_status("Retrying")))
    desk.offer(a_status("Running"))
    desk.work()
    assert text(desk.shown(), "jobDeploymentStatus") == "Running"


def test_a_throttled_write_waits_as_long_as_it_is_told_to(desk: Desk) -> None:
    desk.refusals = [RequestThrottled("later", 17.0)]
    desk.offer(a_status("Running"))
    assert desk.work() == [17.0]


def test_a_status_that_is_never_taken_makes_way_for_the_next(desk: Desk) -> None:
    desk.refusals = [RequestInvalid("unknown phase")] * 2
    desk.offer(a_status("Waiting"))
    assert len(desk.work()) == 1
    desk.offer(a_status("Running"))
    assert desk.work() == []
    assert desk.written() == ["Running"]


@pytest.mark.parametrize("answer", [ObjectNotFound("gone"), ObjectChanged("another uid")])
def test_a_refusal_is_final_once_the_object_is_known_to_be_gone(
    desk: Desk, answer: ClusterError
) -> None:
    desk.refusals = [answer]
    desk.offer(a_status("Running"))
    assert len(desk.work()) == 1
    desk.jobs.gone({"metadata": {"uid": desk.a_job.identity.uid}}, desk.clock.now())
    assert desk.work() == []
    assert (desk.tasks, desk.written()) == ([], [])


def replace_the_job(desk: Desk) -> None:
    """Put another object in its place, as if somebody had taken our finalizer off."""
    patch: Manifest = {"metadata": {"finalizers": None}}
    desk.cluster.merge_patch(RAYJOBS, "ml", "train", patch)
    desk.cluster.delete(RAYJOBS, "ml", "train")
    desk.job({"metadata.labels": {"second": "yes"}})


@pytest.mark.parametrize("written_before", [False, True])
def test_an_object_that_took_the_name_of_the_job_gets_nothing(
    desk: Desk, written_before: bool
) -> None:
    """It has another resourceVersion; of the UID no notice is taken in a status."""
    if written_before:
        desk.offer(a_status("Running"))
        desk.work()
    replace_the_job(desk)
    desk.offer(a_status("Complete"))
    assert len(desk.work()) == 1
    assert desk.shown() == {}


def test_a_write_that_was_held_up_cannot_undo_a_newer_one(desk: Desk) -> None:
    """It was given up, and arrives after what was written in its place."""
    sent: list[Callable[[], Manifest]] = []

    def held_up(*args: Any, **kwargs: Any) -> Manifest:  # noqa: ANN401 passes everything on
        sent.append(lambda: maybe(*args, **kwargs))
        raise ClusterUnreachable("no answer in time")

    maybe: Callable[..., Manifest] = desk.cluster.apply
    with pytest.MonkeyPatch.context() as line:
        line.setattr(desk.cluster, "apply", held_up)
        desk.offer(a_status("Initializing"))
        desk.work()
    desk.offer(a_status("Running"))
    desk.work()
    (late,) = sent
    with pytest.raises(ObjectChanged):
        late()
    assert desk.shown() == a_status("Running")


def test_after_a_conflict_it_is_tried_again_as_soon_as_the_watch_has_told_why(desk: Desk) -> None:
    labelled = desk.cluster.edit(RAYJOBS, "ml", "train", metadata=relabelled(desk))
    desk.offer(a_status("Running"))
    (pause,) = desk.work()
    assert pause < PAUSE_FIRST_SECONDS
    desk.see(labelled)
    assert desk.work() == []
    assert desk.written() == ["Running"]


def test_the_version_that_a_write_made_is_known_before_the_watch_tells_it(desk: Desk) -> None:
    for phase in ("Initializing", "Running", "Complete"):
        desk.offer(a_status(phase))
        assert desk.work() == []
    shown = desk.cluster.get(RAYJOBS, "ml", "train") or {}
    (job,) = desk.live.jobs()
    assert job.version == text(shown, "metadata", "resourceVersion")


def relabelled(desk: Desk) -> Manifest:
    """Return the metadata of the job with another label."""
    known = desk.cluster.get(RAYJOBS, "ml", "train") or {}
    return {**child(known, "metadata"), "labels": {"team": "vision"}}


def test_a_change_of_nothing_but_the_copy_waits_for_company(desk: Desk) -> None:
    desk.offer(a_status("Running"))
    desk.work()
    desk.offer(a_status("Running", rayClusterStatus={"state": "ready"}))
    assert desk.work() == [PROGRESS_DELAY_SECONDS]
    desk.offer(
        a_status("Running", rayClusterStatus={"state": "ready", "x": 1}, dashboardURL="head")
    )
    assert desk.work() == []
    assert len(desk.cluster.statuses) == 2


def test_that_the_ray_job_runs_waits_for_company_and_that_it_ended_waits_less(desk: Desk) -> None:
    desk.offer(a_status("Running"))
    desk.work()
    desk.offer(a_status("Running", jobStatus="RUNNING", rayJobInfo={"startTime": "x"}))
    assert desk.work() == [PROGRESS_DELAY_SECONDS]
    desk.offer(a_status("Running", jobStatus="SUCCEEDED", rayJobInfo={"startTime": "x"}))
    assert desk.work() == [ENDED_DELAY_SECONDS]
    desk.clock.advance(ENDED_DELAY_SECONDS)
    assert desk.work() == []
    assert [status.get("jobStatus") for status in desk.cluster.statuses] == [None, "SUCCEEDED"]


def test_the_end_of_the_ray_job_goes_out_with_the_end_of_its_submitter(desk: Desk) -> None:
    desk.offer(a_status("Running"))
    desk.work()
    desk.offer(a_status("Running", jobStatus="SUCCEEDED"))
    assert desk.work() == [ENDED_DELAY_SECONDS]
    desk.offer(a_status("Complete", jobStatus="SUCCEEDED"))
    assert desk.work() == []
    assert desk.written() == ["Running", "Complete"]


def test_a_copy_without_company_goes_out_after_its_delay(desk: Desk) -> None:
    desk.offer(a_status("Running"))
    desk.work()
    desk.offer(a_status("Running", rayClusterStatus={"state": "ready"}))
    desk.work()
    desk.offer(a_status("Running", rayClusterStatus={"state": "suspended"}))
    desk.clock.advance(PROGRESS_DELAY_SECONDS)
    assert desk.work() == []
    assert desk.shown()["rayClusterStatus"] == {"state": "suspended"}


def behind_with_a_copy(desk: Desk, **fields: object) -> None:
    """Let other work wait, and the delay of a copy of the RayCluster's status be over."""
    desk.offer(a_status("Initializing"))
    desk.work()
    desk.is_behind = True
    desk.offer(a_status("Initializing", **{"rayClusterStatus": {"state": "ready"}, **fields}))
    desk.work()
    desk.clock.advance(PROGRESS_DELAY_SECONDS)


def test_while_other_work_waits_a_copy_waits_longer_for_the_next_phase(desk: Desk) -> None:
    behind_with_a_copy(desk)
    assert desk.work() == [BEHIND_LOOK_SECONDS]
    desk.offer(a_status("Running", rayClusterStatus={"state": "ready"}))
    assert desk.work() == []
    assert desk.written() == ["Initializing", "Running"]


@pytest.mark.parametrize("ends", ["no other work waits", "it has waited for long"])
def test_it_does_not_wait_for_ever(desk: Desk, ends: str) -> None:
    behind_with_a_copy(desk)
    assert desk.work() == [BEHIND_LOOK_SECONDS]
    if ends == "no other work waits":
        desk.is_behind = False
    else:
        desk.clock.advance(BEHIND_DELAY_SECONDS)
    assert desk.work() == []
    assert desk.shown()["rayClusterStatus"] == {"state": "ready"}


def test_the_end_of_a_ray_job_waits_no_longer_though_other_work_waits(desk: Desk) -> None:
    behind_with_a_copy(desk, jobStatus="FAILED")
    assert desk.work() == []
    assert desk.shown()["jobStatus"] == "FAILED"


def test_a_copy_that_waits_gives_way_to_the_next_phase_again_and_again(desk: Desk) -> None:
    for phase in ("Initializing", "Running", "Retrying", "Initializing"):
        desk.offer(a_status(phase))
        desk.work()
        desk.offer(a_status(phase, rayClusterStatus={"state": phase}))
        desk.work()
    assert desk.written() == ["Initializing", "Running", "Retrying", "Initializing"]
    desk.clock.advance(PROGRESS_DELAY_SECONDS)
    desk.work()
    assert (desk.written()[4:], desk.tasks) == (["Initializing"], [])


def test_without_the_lease_nothing_is_written_until_it_is_back(desk: Desk) -> None:
    desk.acts = False
    desk.offer(a_status("Running"))
    assert len(desk.work()) == 1
    assert desk.written() == []
    desk.acts = True
    assert desk.work() == []
    assert desk.written() == ["Running"]


def test_where_another_controller_was_met_no_status_is_written_any_more(desk: Desk) -> None:
    desk.refused = {("RayJob", "ml")}
    desk.offer(a_status("Running"))
    assert len(desk.work()) == 1
    assert desk.written() == []
    desk.publisher.forget(desk.a_job.identity.stream_id)  # told that it is only recorded
    assert desk.work() == []


def test_a_forgotten_job_is_written_no_more(desk: Desk) -> None:
    desk.offer(a_status("Running"))
    desk.publisher.forget(desk.a_job.identity.stream_id)
    assert (desk.work(), desk.written()) == ([], [])


def test_a_retired_job_is_written_to_its_end_and_then_forgotten(desk: Desk) -> None:
    desk.offer(a_status("Complete"))
    desk.publisher.retire(desk.a_job.identity.stream_id)
    assert desk.publisher.streams() == [desk.a_job.identity.stream_id]
    desk.work()
    assert (desk.written(), desk.publisher.streams()) == (["Complete"], [])
    desk.publisher.retire(desk.a_job.identity.stream_id)


def test_a_bug_in_an_adapter_does_not_end_the_writing(desk: Desk) -> None:
    desk.refusals = [ZeroDivisionError("a bug")]  # type: ignore[list-item]  # no port raises it
    desk.offer(a_status("Running"))
    assert len(desk.work()) == 1
    assert desk.work() == []
    assert desk.written() == ["Running"]
