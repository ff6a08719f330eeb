"""What is kept of an observation beside the events that it brought, and read again."""

from datetime import UTC, datetime
from typing import Annotated

import pytest
from msgspec import Struct, field
from msgspec.structs import fields

from jobledger.core.catalogue import TYPES
from jobledger.core.errors import BrokenChain
from jobledger.core.log.observed import KEY, TOLD_ONCE, TYPE, read, written
from jobledger.core.turns import OBSERVATIONS
from jobledger.core.values.documents import Manifest
from jobledger.core.values.instants import Instant

NOON = datetime(2026, 11, 21, 12, tzinfo=UTC)


class LookedAt(Struct, frozen=True, kw_only=True):
    """A made-up observation."""

    at: Instant
    name: str
    size: int = 1
    ended_at: Instant | None = None
    document: Annotated[Manifest, TOLD_ONCE] = field(default_factory=dict)


LOOK = LookedAt(at=NOON, name="train", size=3, ended_at=NOON)


def test_what_events_say_is_not_said_twice() -> None:
    said = {"at": NOON, "name": "train", "size": 3, "ended_at": NOON}
    kept = written("LookedAt", LOOK, said)
    assert kept == {TYPE: "LookedAt"}
    assert read(LookedAt, kept, said) == LOOK


def test_what_events_say_otherwise_or_not_at_all_is_kept() -> None:
    said = {"at": NOON, "name": "train", "size": 2}
    kept = written("LookedAt", LOOK, said)
    assert kept == {TYPE: "LookedAt", "size": 3, "ended_at": "2026-11-21T12:00:00+00:00"}
    assert read(LookedAt, kept, said) == LOOK


def test_a_default_is_kept_where_an_event_says_something_else() -> None:
    look = LookedAt(at=NOON, name="train")
    said = {"at": NOON, "name": "train", "size": 3, "ended_at": NOON}
    kept = written("LookedAt", look, said)
    assert kept == {TYPE: "LookedAt", "size": 1, "ended_at": None}
    assert read(LookedAt, kept, said) == look


def test_a_large_document_is_kept_only_where_an_event_takes_it_over() -> None:
    look = LookedAt(at=NOON, name="train", document={"spec": "long"})
    assert "document" not in written("LookedAt", look, {"document": {}})
    said = {"at": NOON, "name": "train", "document": {"spec": "long"}}
    assert read(LookedAt, written("LookedAt", look, said), said) == look


def test_what_the_database_could_not_hold_is_made_to_fit() -> None:
    look = LookedAt(at=NOON, name="a\x00b\ud800")
    assert written("LookedAt", look, {"at": NOON})["name"] == "a\ufffdb\ufffd"


@pytest.mark.parametrize("kept", [{"size": "large"}, {"ended_at": "at noon"}, {"ended_at": 5}, {}])
def test_what_is_no_such_observation_is_refused(kept: Manifest) -> None:
    with pytest.raises(BrokenChain, match="no LookedAt"):
        read(LookedAt, kept, {"at": NOON} if not kept else {"at": NOON, "name": "train"})


def test_no_field_stands_where_the_observation_or_its_type_does() -> None:
    assert KEY not in {item.name for cls in TYPES.values() for item in fields(cls)}
    assert TYPE not in {item.name for cls in OBSERVATIONS.values() for item in fields(cls)}


def test_stored_names_of_observations_stay() -> None:
    """A class may be renamed; its name in the log may not. A new kind of observation is added."""
    assert sorted(OBSERVATIONS) == [
        "AttemptJobGone",
        "AttemptJobSeen",
        "BatchJobGone",
        "BatchJobSeen",
        "ClusterGone",
        "ClusterSeen",
        "DecisionDue",
        "DependentGone",
        "EffectEnded",
        "EvidenceSeen",
        "HeadPodGone",
        "HeadPodSeen",
        "JobSetGone",
        "JobSetSeen",
        "LedgerSetBack",
        "ManifestGone",
        "ManifestSeen",
        "NothingNew",
        "PartGone",
        "PluginConditionsSeen",
        "PodsSeen",
        "PollAnswered",
        "PollNotFound",
        "PollUnanswered",
        "ProgressSeen",
        "RuntimeSeen",
        "StatusNotWritten",
        "StatusWritten",
        "SubmitterGone",
        "SubmitterSeen",
        "TrainJobGone",
        "TrainJobSeen",
        "WatchInterrupted",
    ]
