"""Who writes a status, by the rows of managedFields: each part of the rule, in a row of its own."""

from datetime import timedelta
from typing import Any

import pytest

from jobledger.core.jobs.control.status_writers import (
    AHEAD_MAX,
    StatusWriter,
    is_driven_here,
    other_controller,
    status_writers,
)
from jobledger.core.kinds import KINDS
from jobledger.core.values.instants import EPOCH, Instant, rfc3339
from tests.support.records import NOON

PHASE = "jobDeploymentStatus"


def entry(
    manager: str,
    at: Instant | None = NOON,
    *fields: str,
    subresource: str = "status",
) -> dict[str, Any]:
    """Return an entry of managedFields over some fields of the status; no instant: it has none."""
    written: dict[str, Any] = {f"f:{name}": {} for name in fields or (PHASE,)}
    time = {} if at is None else {"time": rfc3339(at)}
    fields_v1 = {"f:status": written}
    return {"manager": manager, "subresource": subresource, "fieldsV1": fields_v1, **time}


def job(*entries: dict[str, Any], **status: object) -> dict[str, Any]:
    shown = status or {PHASE: "Running"}
    return {"metadata": {"managedFields": [*entries]}, "status": shown}


def writer(manager: str, at: Instant = NOON, *fields: str) -> StatusWriter:
    found = frozenset(f"f:{name}" for name in fields or (PHASE,))
    return StatusWriter(manager=manager, written_at=at, fields=found)


LATER = NOON + timedelta(seconds=5)
OTHER, OURS = "ray-operator", "jobledger"


@pytest.mark.parametrize(
    ("manifest", "then"),
    [
        ({}, ()),
        (job(entry(OTHER)), (writer(OTHER),)),
        (job(entry(OTHER, subresource="")), ()),
        (job({**entry(OTHER), "fieldsV1": {"f:spec": {}}}), ()),
        (job(entry(OTHER, None)), (writer(OTHER, EPOCH),)),
        (job(entry(OURS), entry(OTHER, LATER)), (writer(OTHER, LATER), writer(OURS))),
        (job(entry(OTHER, NOON, "a", "b")), (writer(OTHER, NOON, "a", "b"),)),
        (job(entry(OURS, None), entry("before-first-apply", LATER)), (writer(OURS, EPOCH),)),
    ],
    ids=[
        "no entries",
        "one writer",
        "the object is no status",
        "other fields are none",
        "no date is the oldest",
        "the last comes first",
        "each field is told",
        "whom the API server does not know is nobody",
    ],
)
def test_writers_are_told_with_their_fields(
    manifest: dict[str, Any], then: tuple[StatusWriter, ...]
) -> None:
    assert status_writers(manifest) == then


@pytest.mark.parametrize(
    ("kind", "manifest", "then"),
    [
        ("RayJob", job(entry(OTHER)), writer(OTHER)),
        ("RayJob", job(entry(OURS)), None),
        ("RayJob", job(entry("kubectl-edit")), None),
        ("RayJob", job(entry("velero-server")), None),
        ("RayJob", job(entry("kubectl-edit", LATER), entry(OTHER)), writer(OTHER)),
        ("RayJob", job(entry(OURS), entry(OTHER, LATER)), writer(OTHER, LATER)),
        ("RayJob", job(entry(OURS), entry(OTHER)), None),
        ("RayJob", job(entry(OURS, LATER), entry(OTHER)), None),
        ("RayJob", job(entry(OURS, EPOCH), entry(OURS, LATER), entry(OTHER)), None),
        ("RayJob", job(entry(OTHER, NOON + AHEAD_MAX)), writer(OTHER, NOON + AHEAD_MAX)),
        ("RayJob", job(entry(OTHER, NOON + AHEAD_MAX + timedelta(seconds=1))), None),
        ("RayJob", job(entry(OTHER), **{PHASE: ""}), None),
        ("RayJob", job(entry(OTHER), **{PHASE: None}), None),
        ("RayJob", job(entry(OTHER, NOON, "jobStatus"), jobStatus="RUNNING"), None),
        (
            "TrainJob",
            job(entry(OTHER, NOON, "conditions"), conditions=[{"type": "Created"}]),
            writer(OTHER, NOON, "conditions"),
        ),
        ("TrainJob", job(entry(OTHER, NOON, "conditions"), conditions=[]), None),
        (
            "TrainJob",
            job(entry(OTHER, NOON, "jobsStatus"), jobsStatus=[{"name": "node"}]),
            writer(OTHER, NOON, "jobsStatus"),
        ),
        ("TrainJob", job(entry(OTHER, NOON, "trainerStatus"), trainerStatus={"a": 1}), None),
    ],
    ids=[
        "another drives",
        "this one does",
        "people do by hand",
        "a restore of a backup does",
        "people do by hand, another did before",
        "another since",
        "of two in one second the write here is the later",
        "this one since",
        "this one since, and once before",
        "the other's clock is ahead by no more than may be",
        "a date of the future counts for nothing",
        "an empty field was written by nobody",
        "a field without a value too",
        "what else is in a status is anybody's",
        "conditions drive a TrainJob",
        "none are there",
        "counters of its Jobs do too",
        "what its Pods write does not",
    ],
)
def test_another_controller_is_who_has_driven_the_job_since(
    kind: str, manifest: dict[str, Any], then: StatusWriter | None
) -> None:
    assert other_controller(KINDS[kind].controller, manifest, NOON) == then


@pytest.mark.parametrize(
    ("manifest", "driven"),
    [
        ({}, False),
        (job(entry(OURS)), True),
        (job(entry(OTHER)), False),
        (job(entry(OURS), entry(OTHER, LATER)), False),
        (job(entry(OURS), entry(OTHER)), True),
        (job(entry(OURS, NOON, "jobStatus")), False),
        (job(entry(OURS, NOON), entry(OTHER, LATER, "jobStatus")), True),
    ],
    ids=[
        "nobody",
        "this one",
        "another",
        "another since",
        "both in one second",
        "it wrote what does not drive",
        "another wrote since what does not drive",
    ],
)
def test_a_job_is_driven_here_if_nobody_has_driven_it_since(
    manifest: dict[str, Any], driven: bool
) -> None:
    assert is_driven_here(KINDS["RayJob"].controller, manifest) is driven
