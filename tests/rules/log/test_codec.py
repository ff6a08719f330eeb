"""Events to payloads and back."""

from collections.abc import Callable
from datetime import timedelta, timezone

import pytest
from msgspec import Struct
from msgspec.structs import replace

from jobledger.core.errors import BrokenChain
from jobledger.core.jobs.events import Confirmation, ObservationsConfirmed
from jobledger.core.log.chain import canonical
from jobledger.core.log.codec import decode, encode
from jobledger.core.rayjob.events.lifecycle import AttemptStarted, EntrypointObserved, JobDiscovered
from jobledger.core.rayjob.phases import JobStatus
from jobledger.core.values.documents import Manifest
from tests.support.rayjob_builders import IDENTITY, after
from tests.support.records import NOON

STARTED = AttemptStarted(at=NOON, attempt=1, cluster_name="c", job_id="j", generation=4)
OBSERVED = EntrypointObserved(at=NOON, job_id="j", status=JobStatus.RUNNING)


def test_the_instant_is_in_the_envelope_and_defaults_are_left_out() -> None:
    assert encode(OBSERVED) == {"job_id": "j", "status": "RUNNING"}


def test_what_differs_from_its_default_is_stored() -> None:
    event = replace(OBSERVED, exit_code=0, ended_at=after(1.5), message="bye")
    assert encode(event) == {
        "job_id": "j",
        "status": "RUNNING",
        "message": "bye",
        "ended_at": "2026-11-21T12:00:01.500000+00:00",
        "exit_code": 0,
    }
    assert decode(EntrypointObserved, encode(event), NOON) == event


def test_instants_are_stored_in_utc_to_the_microsecond() -> None:
    local = after(0.000001).astimezone(timezone(timedelta(hours=-7)))
    payload = encode(replace(OBSERVED, started_at=local))
    assert payload["started_at"] == "2026-11-21T12:00:00.000001+00:00"


def test_nested_parts_and_ids_survive() -> None:
    event = JobDiscovered(at=NOON, identity=IDENTITY)
    assert decode(JobDiscovered, encode(event), NOON) == event
    summed = ObservationsConfirmed(
        at=NOON,
        sources=(Confirmation(source="poll", count=2, first_at=NOON, last_at=after(3)),),
    )
    assert decode(ObservationsConfirmed, encode(summed), NOON) == summed


def test_a_field_of_a_newer_version_is_passed_over() -> None:
    payload = {**encode(STARTED), "zone": "eu-west-1"}
    assert decode(AttemptStarted, payload, NOON) == STARTED


Damage = Callable[[Manifest], Manifest]


@pytest.mark.parametrize(
    "damage",
    [
        lambda payload: {k: v for k, v in payload.items() if k != "attempt"},
        lambda payload: {**payload, "attempt": "1"},
        lambda payload: {**payload, "attempt": None},
        lambda payload: {**payload, "cluster_name": ["c"]},
    ],
    ids=["missing", "a text for a number", "null", "a list for a text"],
)
def test_a_payload_of_another_shape_is_a_broken_log(damage: Damage) -> None:
    with pytest.raises(BrokenChain, match="the payload is not that of AttemptStarted"):
        decode(AttemptStarted, damage(encode(STARTED)), NOON)


@pytest.mark.parametrize(
    ("field", "value"),
    [("status", "DREAMING"), ("started_at", "yesterday"), ("message", {}), ("exit_code", "1")],
)
def test_a_value_of_another_kind_is_a_broken_log(field: str, value: object) -> None:
    payload = {**encode(OBSERVED), field: value}
    with pytest.raises(BrokenChain, match="the payload is not that of EntrypointObserved"):
        decode(EntrypointObserved, payload, NOON)  # type: ignore[arg-type] # damaged on purpose


@pytest.mark.parametrize("sources", ["poll", [3], [{"source": "poll"}]])
def test_a_list_of_another_kind_is_a_broken_log(sources: object) -> None:
    with pytest.raises(BrokenChain):
        decode(ObservationsConfirmed, {"sources": sources}, NOON)  # type: ignore[dict-item] # likewise


def test_canonical_text_does_not_depend_on_the_order_of_keys() -> None:
    assert canonical({"b": 1, "a": [{"d": "é", "c": None}]}) == (
        '{"a":[{"c":null,"d":"é"}],"b":1}'.encode()
    )


class Older(Struct, frozen=True, kw_only=True):
    """A class as it was before a field was added."""

    job_id: str
    status: JobStatus


def test_an_event_that_was_stored_before_a_field_was_added_reads_with_its_default() -> None:
    stored = encode(Older(job_id="j", status=JobStatus.RUNNING))
    assert decode(EntrypointObserved, stored, NOON) == OBSERVED
