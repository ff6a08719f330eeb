"""Jobs that are there and are left alone: why is said, once for each reason."""

import pytest
from structlog.testing import capture_logs

from jobledger.adapters.service.watches.kind_watches import LEFT_OUT_AFTER
from jobledger.core.errors import ClusterUnreachable, ObjectNotFound, RequestForbidden
from jobledger.core.ports.cluster import (
    BATCH_JOBS,
    CONFIGMAPS,
    JOBSETS,
    POD_GROUPS,
    RAYCLUSTERS,
    RAYJOBS,
    TRAINJOBS,
    VOLCANO_POD_GROUPS,
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


FAILS = ClusterUnreachable("500: conversion webhook failed")


@pytest.mark.parametrize(
    ("failing", "job_kind", "other"),
    [
        (RAYJOBS, "RayJob", "TrainJob"),
        (RAYCLUSTERS, "RayJob", "TrainJob"),
        (TRAINJOBS, "TrainJob", "RayJob"),
        (CONFIGMAPS, "TrainJob", "RayJob"),
    ],
    ids=str,
)
def test_a_kind_that_cannot_be_listed_keeps_no_other_from_its_work_for_ever(
    failing: Resource, job_kind: str, other: str
) -> None:
    """As where a webhook that converts it is down, or the key that it is encrypted with is away."""
    desk = Desk()
    desk.server.errors[failing] = FAILS
    desk.look_around()
    assert not desk.watches.needs_no_look, "it may pass within moments"
    with capture_logs() as lines:
        for _ in range(LEFT_OUT_AFTER):
            desk.look_around()
    assert (desk.watches.needs_no_look, desk.synced.has_listed(other)) == (True, True)
    assert desk.synced.all.is_set()
    assert desk.watches.notes() == [f"{job_kind}s are left alone: {FAILS}"]
    assert [line["left_out"] for line in lines if "left_out" in line] == [job_kind]
    del desk.server.errors[failing]
    desk.look_around()
    assert desk.synced.has_listed(job_kind)
    assert desk.watches.notes() == []


def test_what_can_be_done_without_keeps_nobody_from_work_for_ever() -> None:
    desk = Desk(job_kinds=("TrainJob",))
    desk.server.errors |= {POD_GROUPS: FAILS, VOLCANO_POD_GROUPS: FAILS}
    for _ in range(LEFT_OUT_AFTER + 1):
        desk.look_around()
    assert desk.watches.needs_no_look


def test_a_server_that_tells_of_no_kind_is_waited_for() -> None:
    desk = Desk()
    desk.server.errors |= {RAYJOBS: FAILS, TRAINJOBS: FAILS}
    for _ in range(LEFT_OUT_AFTER + 3):
        desk.look_around()
    assert (desk.watches.needs_no_look, desk.watches.troubles()) == (False, [str(FAILS)])
