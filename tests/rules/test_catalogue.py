"""The catalogue of stored names: complete, and documented."""

import inspect
from typing import get_args

import pytest
from msgspec import Struct
from msgspec.structs import replace

from docs.reference.from_code.attributes import attributes
from jobledger.core.batchjob import events as batchjob
from jobledger.core.batchjob.events import BatchJobEvent
from jobledger.core.catalogue import NAMES, SCHEMA_VERSION, TYPES, read_event
from jobledger.core.errors import BrokenChain, UnknownEventType
from jobledger.core.jobs import events as shared
from jobledger.core.log.upcasting import STEPS
from jobledger.core.rayjob.events import facts as fact_events
from jobledger.core.rayjob.events import kept_clusters as kept_events
from jobledger.core.rayjob.events import lifecycle as rayjob
from jobledger.core.rayjob.events import pods as pod_events
from jobledger.core.rayjob.events import recorded as recorded_events
from jobledger.core.rayjob.events.lifecycle import RayJobEvent
from jobledger.core.trainjob import events as trainjob
from jobledger.core.trainjob.events import TrainJobEvent
from tests.support.records import a_stream, an_event

EVENTS = sorted(
    {*get_args(RayJobEvent), *get_args(TrainJobEvent), *get_args(BatchJobEvent)},
    key=lambda cls: cls.__name__,
)
SAID_BY_THEIR_NAMES = frozenset(
    {
        *("at", "effect_id", "decision_id", "kind", "attempt", "name", "uid", "state"),
        *("address", "deleting", "status", "reason", "message", "phase", "identity"),
        *("generation", "spec", "policy", "finalizer", "job_id", "trouble", "backoff_limit"),
        *("failed", "rule", "cluster_name", "due_at", "subject", "error_type", "exit_code"),
        *("job_status", "since", "until", "cause"),
    }
)
"""Fields that need no sentence: their names are words of the design or of upstream's API."""


def test_every_event_has_a_name_and_every_name_an_event() -> None:
    assert set(TYPES.values()) == set(EVENTS)
    assert {NAMES[cls] for cls in EVENTS} == set(TYPES)


def test_the_unions_leave_out_no_event() -> None:
    defined = {
        cls
        for module in (
            *(shared, rayjob, fact_events, kept_events, pod_events),
            *(recorded_events, trainjob, batchjob),
        )
        for cls in vars(module).values()
        if inspect.isclass(cls)
        and cls.__module__ == module.__name__
        and "at" in getattr(cls, "__struct_fields__", ())
    }
    assert defined == set(EVENTS)


@pytest.mark.parametrize("cls", EVENTS, ids=lambda cls: cls.__name__)
def test_an_event_is_frozen_named_by_keyword_and_explained(cls: type) -> None:
    assert cls.__doc__
    assert not cls.__doc__.startswith(f"{cls.__name__}("), "a docstring of its own"
    assert issubclass(cls, Struct)
    assert cls.__struct_config__.frozen
    assert not cls.__match_args__, "fields are given by name"


@pytest.mark.parametrize("cls", EVENTS, ids=lambda cls: cls.__name__)
def test_a_field_is_explained_or_says_what_it_is_by_its_name(cls: type[Struct]) -> None:
    explained = {attribute.name for attribute in attributes(cls) if attribute.words}
    fields = set(cls.__struct_fields__)
    assert fields - explained <= SAID_BY_THEIR_NAMES


def test_an_event_of_a_type_that_is_not_known_says_what_to_do() -> None:
    record = replace(an_event(a_stream(), 1, bytes(32)), type="RayJobDreamt")
    with pytest.raises(UnknownEventType) as caught:
        read_event(record)
    assert str(caught.value) == (
        "event type RayJobDreamt in schema version 1 is not known here; "
        "it was written by a newer jobledger: upgrade this one"
    )


def test_an_event_of_a_newer_schema_is_not_read() -> None:
    record = replace(an_event(a_stream(), 1, bytes(32)), schema_version=SCHEMA_VERSION + 1)
    with pytest.raises(UnknownEventType):
        read_event(record)


def test_a_payload_that_is_not_of_its_type_says_what_to_do() -> None:
    record = an_event(a_stream(), 1, bytes(32), {"attempt": "one"})
    with pytest.raises(BrokenChain) as caught:
        read_event(record)
    assert str(caught.value) == (
        "an event: the payload is not that of AttemptStarted "
        "(Expected `int`, got `str` - at `$.attempt`); run `jobledger verify`"
    )


def test_every_step_from_an_older_schema_starts_at_a_known_type() -> None:
    for name, version in STEPS:
        assert name in TYPES
        assert version < SCHEMA_VERSION
