"""Jobs that are there and are left alone: why is said, once for each reason."""

import pytest
from structlog.testing import capture_logs

from jobledger.core.errors import ObjectNotFound, RequestForbidden
from jobledger.core.ports.cluster import (
    BATCH_JOBS,
    JOBSETS,
    RAYCLUSTERS,
    RAYJOBS,
    TRAINJOBS,
    Resource,
)
from tests.adapters.service.watching_desk import Desk


@pytest.mark.parametrize(
    ("missing", "job_kind"), [(RAYCLUSTERS, "RayJob"), (JOBSETS, "TrainJob")], ids=str
)
def test_jobs_that_are_there_and_are_left_alone_for_want_of_a_kind_are_told_of(
    missing: Resource, job_kind: str
) -> None:
    """As where a service is started anew after one of KubeRay's definitions was taken away."""
    desk = Desk()
    desk.server.errors[missing] = ObjectNotFound("no such kind")
    with capture_logs() as lines:
        for _ in range(3):
            desk.ask()
    (told,) = (line for line in lines if line["event"] == "kind_lacks")
    named = f"{missing.kind} ({missing.api_version})"
    assert (told["kind"], told["not_served"]) == (job_kind, [named])
    assert desk.watches.notes() == [
        f"{job_kind}s are left alone: {missing.kind} is not served, or may not be listed"
    ]
    del desk.server.errors[missing]
    desk.ask()
    assert desk.watches.notes() == []


@pytest.mark.parametrize("own", [RAYJOBS, TRAINJOBS], ids=str)
def test_jobs_whose_version_is_out_of_service_are_told_to_be_left_alone(own: Resource) -> None:
    """As where somebody has set `served: false` in a definition of two versions."""
    desk = Desk()
    desk.server.elsewhere.add(own)
    with capture_logs() as lines:
        for _ in range(3):
            desk.ask()
    (told,) = (line for line in lines if line["event"] == "kind_lacks")
    assert (told["kind"], told["not_served"]) == (own.kind, [f"{own.kind} ({own.api_version})"])
    assert desk.watches.notes() == [
        f"{own.kind}s are left alone: {own.kind} is not served, or may not be listed"
    ]
    desk.server.elsewhere.clear()
    desk.ask()
    assert desk.synced.has_listed(own.kind)
    assert desk.watches.notes() == []


@pytest.mark.parametrize("missing", [RAYCLUSTERS, JOBSETS], ids=str)
def test_each_reason_for_which_jobs_are_left_alone_is_told_whichever_comes_first(
    missing: Resource,
) -> None:
    desk = Desk()
    reasons = [RequestForbidden("no"), ObjectNotFound("no such kind")] * 2
    with capture_logs() as lines:
        for reason in reasons:
            desk.server.errors[missing] = reason
            for _ in range(2):
                desk.ask()
    said = [line["event"] for line in lines if line["event"] in {"kind_lacks", "kind_forbidden"}]
    assert said == ["kind_forbidden", "kind_lacks"] * 2


def test_a_kind_that_two_kinds_of_job_need_is_told_as_forbidden_for_both() -> None:
    desk = Desk(job_kinds=("RayJob", "Job"))
    desk.server.errors[BATCH_JOBS] = RequestForbidden("no")
    with capture_logs() as lines:
        for _ in range(2):
            desk.ask()
    told = [str(line["remedy"]) for line in lines if line["event"] == "kind_forbidden"]
    assert [remedy.split("s are left")[0] for remedy in told] == ["RayJob", "Job"]


def test_of_a_kind_of_job_that_is_not_there_nobody_tells_anything() -> None:
    desk = Desk()
    desk.server.errors |= {RAYJOBS: ObjectNotFound("no"), RAYCLUSTERS: ObjectNotFound("no")}
    with capture_logs() as lines:
        desk.ask()
    assert all(line["event"] != "kind_lacks" for line in lines)
    assert desk.watches.notes() == []


def test_that_all_is_listed_is_said_in_one_step_with_the_look_and_told_after_it() -> None:
    """A kind that is expected in between, by another thread, would count as listed."""
    desk, held = Desk(), list[tuple[str, bool]]()
    synced = desk.synced
    said, lock = synced.all.set, synced._lock  # noqa: SLF001  # what another thread would wait for

    def say() -> None:
        held.append(("said", lock.locked()))
        said()

    synced.all.set = say  # type: ignore[method-assign]
    synced.on_all = lambda: held.append(("told", lock.locked()))
    synced.expect(desk.watches._around.kinds["RayJob"].watched)  # noqa: SLF001  # as with a new kind
    for kind in desk.watches._around.kinds["RayJob"].watched:  # noqa: SLF001
        synced.note(kind.name)
        synced.note(kind.name)
    assert held == [("said", True), ("told", False)]
