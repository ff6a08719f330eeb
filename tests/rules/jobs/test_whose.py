"""Whose jobs: which are controlled here, and what of another controller forbids it."""

from datetime import timedelta
from typing import Any

import pytest

from jobledger.core.jobs.control.control_policy import (
    MANAGED_BY_JOBLEDGER,
    Control,
    ControlScope,
    forbids_going_on,
    forbids_start,
    why_recorded,
)
from jobledger.core.jobs.control.status_writers import (
    StatusWriter,
    other_controller,
    status_writers,
)
from jobledger.core.kinds import KINDS
from jobledger.core.values.instants import Instant, parse_rfc3339
from tests.support.records import NOON

RAYJOB, TRAINJOB = (KINDS[name].controller for name in ("RayJob", "TrainJob"))
ALL = ControlScope()
TEAM_A = ControlScope(control=Control.NAMESPACES, namespaces=frozenset({"team-a"}))
NAMED = ControlScope(control=Control.MANAGED_BY)
NOTHING = ControlScope(control=Control.NOTHING)


@pytest.mark.parametrize(
    ("scope", "kind", "namespace", "managed_by", "because"),
    [
        (ALL, "RayJob", "team-a", "", ""),
        (ALL, "RayJob", "team-a", "ray.io/kuberay-operator", ""),
        (ALL, "TrainJob", "team-b", "trainer.kubeflow.org/trainjob-controller", ""),
        (ALL, "RayJob", "team-b", MANAGED_BY_JOBLEDGER, ""),
        (TEAM_A, "RayJob", "team-a", "", ""),
        (TEAM_A, "TrainJob", "team-a", "", ""),
        (TEAM_A, "RayJob", "team-b", "", "team-b is not among"),
        (TEAM_A, "TrainJob", "team-b", "", "team-b is not among"),
        (TEAM_A, "RayJob", "team-b", MANAGED_BY_JOBLEDGER, ""),
        (NAMED, "RayJob", "team-a", "", "is not jobledger.dev/controller"),
        (NAMED, "RayJob", "team-a", MANAGED_BY_JOBLEDGER, ""),
        (NAMED, "TrainJob", "team-a", MANAGED_BY_JOBLEDGER, "is not jobledger.dev/controller"),
        (NOTHING, "RayJob", "team-a", MANAGED_BY_JOBLEDGER, "--observe-only"),
        (NOTHING, "TrainJob", "team-a", "", "--observe-only"),
    ],
)
def test_the_setting_says_which_jobs_are_controlled(
    scope: ControlScope, kind: str, namespace: str, managed_by: str, because: str
) -> None:
    found = why_recorded(scope, KINDS[kind].controller, namespace, managed_by)
    assert because in found
    assert bool(because) is bool(found)


def instant(text: str) -> Instant:
    found = parse_rfc3339(text)
    assert found is not None
    return found


def written(manager: str, time: str, *fields: str) -> dict[str, Any]:
    return {
        "manager": manager,
        "operation": "Update",
        "subresource": "status",
        "time": time,
        "fieldsV1": {"f:status": {f"f:{field}": {} for field in fields}},
    }


def job(*entries: object, **status: object) -> dict[str, Any]:
    return {"metadata": {"name": "a", "managedFields": list(entries)}, "status": status}


EARLY, LATER, LATEST = "2026-11-22T03:00:03Z", "2026-11-22T03:00:05Z", "2026-11-22T03:00:09Z"
AFTER = instant("2026-11-22T03:00:10Z")
SHOWN: dict[str, Any] = {
    "jobDeploymentStatus": "Running",
    "rayClusterStatus": {"state": "ready"},
    "conditions": [{"type": "Created"}],
    "jobsStatus": [{"name": "node"}],
    "trainerStatus": {"progressPercentage": 5},
}
SPEC_ONLY = {"manager": "argo", "time": LATEST, "fieldsV1": {"f:spec": {}}}


@pytest.mark.parametrize(
    ("kind", "entries", "manager"),
    [
        ("RayJob", [], None),
        ("RayJob", [SPEC_ONLY], None),
        ("RayJob", [written("ray-operator", LATER, "jobDeploymentStatus")], "ray-operator"),
        ("RayJob", [written("ray-operator", LATER, "rayClusterStatus")], None),
        ("RayJob", [written("kubectl-edit", LATER, "jobDeploymentStatus")], None),
        ("RayJob", [written("jobledger", LATER, "jobDeploymentStatus")], None),
        (
            "RayJob",
            [
                written("ray-operator", EARLY, "jobDeploymentStatus"),
                written("jobledger", LATER, "jobDeploymentStatus"),
            ],
            None,
        ),
        (
            "RayJob",
            [
                written("jobledger", LATER, "jobDeploymentStatus"),
                written("ray-operator", LATER, "jobDeploymentStatus"),
            ],
            None,
        ),
        (
            "RayJob",
            [
                written("jobledger", LATER, "rayClusterName"),
                written("ray-operator", LATER, "jobDeploymentStatus"),
            ],
            "ray-operator",
        ),
        (
            "RayJob",
            [
                written("jobledger", EARLY, "jobDeploymentStatus"),
                written("ray-operator", LATER, "jobDeploymentStatus"),
                written("kubectl", LATEST, "jobDeploymentStatus"),
            ],
            "ray-operator",
        ),
        ("TrainJob", [written("trainer", LATER, "conditions")], "trainer"),
        ("TrainJob", [written("trainer", LATER, "jobsStatus")], "trainer"),
        ("TrainJob", [written("trainer", LATER, "trainerStatus")], None),
        ("TrainJob", [None, 7, {"manager": "x"}, {"fieldsV1": {"f:status": {}}}], None),
    ],
)
def test_another_controller_is_known_by_its_last_write_to_what_only_controllers_write(
    kind: str, entries: list[object], manager: str | None
) -> None:
    found = other_controller(KINDS[kind].controller, job(*entries, **SHOWN), AFTER)
    assert (None if found is None else found.manager) == manager


@pytest.mark.parametrize("kind", ["RayJob", "TrainJob"])
@pytest.mark.parametrize(
    ("entry", "status"),
    [
        ({"time": "2099-01-01T00:00:00Z"}, SHOWN),
        ({"time": "2026-11-22T03:01:11Z"}, SHOWN),
        ({"subresource": ""}, SHOWN),
        ({"subresource": None}, SHOWN),
        ({"subresource": "scale"}, SHOWN),
        ({}, {}),
        ({}, {"jobDeploymentStatus": "", "conditions": [], "jobsStatus": []}),
        ({}, {"failed": 1, "trainerStatus": {"progressPercentage": 5}}),
    ],
    ids=[
        "of the far future",
        "of the future",
        "of the object itself",
        "of no subresource",
        "of another subresource",
        "over nothing",
        "over what is empty",
        "over other fields",
    ],
)
def test_what_no_controller_can_have_written_names_none(
    kind: str, entry: dict[str, Any], status: dict[str, Any]
) -> None:
    """An author of the object can put any entry there; only a status takes the right to one."""
    fields = ("jobDeploymentStatus", "conditions", "jobsStatus")
    forged = {**written("ray-operator", LATER, *fields), **entry}
    assert other_controller(KINDS[kind].controller, job(forged, **status), AFTER) is None
    honest = other_controller(
        KINDS[kind].controller, job(written("ray-operator", LATER, *fields), **SHOWN), AFTER
    )
    assert honest is not None, "the same, written by one"


def test_writers_are_told_the_last_one_first() -> None:
    both = job(written("jobledger", EARLY, "a"), written("ray-operator", LATER, "b"))
    assert [writer.manager for writer in status_writers(both)] == ["ray-operator", "jobledger"]


def other(minutes_ago: float) -> StatusWriter:
    return StatusWriter(manager="ray-operator", written_at=NOON - timedelta(minutes=minutes_ago))


@pytest.mark.parametrize(
    ("writer", "ended", "named", "take_over", "forbidden"),
    [
        (None, False, False, False, False),
        (other(0.1), False, False, False, True),
        (other(60 * 24 * 30), False, False, False, True),
        (other(9), True, False, False, True),
        (other(11), True, False, False, False),
        (other(0.1), False, True, False, False),
        (other(0.1), False, False, True, False),
        (other(0.1), True, False, True, False),
    ],
)
def test_at_the_start_a_job_that_goes_on_counts_for_ever_and_one_that_ended_for_a_while(
    writer: StatusWriter | None,
    ended: bool,
    named: bool,
    take_over: bool,
    forbidden: bool,
) -> None:
    found = forbids_start(writer, has_ended=ended, is_named=named, take_over=take_over, now=NOON)
    assert found is forbidden


@pytest.mark.parametrize(
    ("minutes_ago", "forbidden"), [(9, True), (11, False), (60 * 24 * 365, False)]
)
def test_when_a_job_ended_its_status_says_and_no_date_of_a_write(
    minutes_ago: float, forbidden: bool
) -> None:
    found = forbids_start(
        other(0.1),
        has_ended=True,
        is_named=False,
        take_over=False,
        now=NOON,
        ended_at=NOON - timedelta(minutes=minutes_ago),
    )
    assert found is forbidden


@pytest.mark.parametrize(
    ("before", "now", "forbidden"),
    [
        (None, None, False),
        (other(5), other(5), False),
        (other(5), None, False),
        (None, other(5), True),
        (other(5), other(4), True),
    ],
)
def test_while_running_only_what_was_written_since_the_last_look_counts(
    before: StatusWriter | None,
    now: StatusWriter | None,
    forbidden: bool,
) -> None:
    assert forbids_going_on(before, now) is forbidden


def test_an_end_is_read_from_the_status() -> None:
    assert RAYJOB.has_ended(job(jobDeploymentStatus="Failed"))
    assert not RAYJOB.has_ended(job(jobDeploymentStatus="Retrying"))
    assert not RAYJOB.has_ended(job(jobDeploymentStatus="ValidationFailed"))
    complete = {"type": "Complete", "status": "True"}
    assert TRAINJOB.has_ended(job(conditions=[complete]))
    assert not TRAINJOB.has_ended(job(conditions=[{**complete, "status": "False"}]))


def test_when_a_job_ended_is_read_from_the_status() -> None:
    assert RAYJOB.ended_at(job(endTime=LATER)) == instant(LATER)
    assert RAYJOB.ended_at(job(jobDeploymentStatus="Complete")) is None
    assert RAYJOB.ended_at(job(endTime="yesterday")) is None
    complete = {"type": "Complete", "status": "True", "lastTransitionTime": LATER}
    created = {"type": "Created", "status": "True", "lastTransitionTime": LATEST}
    assert TRAINJOB.ended_at(job(conditions=[created, complete])) == instant(LATER)
    assert TRAINJOB.ended_at(job(conditions=[created])) is None
    assert TRAINJOB.ended_at(job(conditions=[{**complete, "lastTransitionTime": 7}])) is None
