"""Deciding the past again brings what is recorded; a change of the rules or of the record shows."""

from typing import Any

import pytest
from msgspec.structs import replace

from jobledger.core.forensics.replay.replay import Divergence, replay, turns
from jobledger.core.jobs.retries import retry
from jobledger.core.log.observed import KEY
from tests.support import rayjob_stories as stories
from tests.support.lives import LIVES
from tests.support.rayjob_heads import head_pod
from tests.support.recorded import recorded
from tests.support.records import with_data


@pytest.mark.parametrize("life", LIVES)
def test_every_life_is_decided_again_as_it_was(life: str) -> None:
    records = recorded(LIVES[life]())
    replayed = replay(records)
    assert replayed.divergences == ()
    assert replayed.unknown == ()
    assert replayed.events == len(records)


@pytest.mark.parametrize(
    "told",
    [
        {"taken": "evicted (The node was low on memory)"},
        {"restarts": 1, "ended": "OOMKilled"},
        {"restarts": 1, "ended": "Error", "keeps_jobs": True},
        {"taken": "preempted", "over": True},
    ],
    ids=str,
)
def test_what_a_look_at_the_head_told_is_decided_again(told: dict[str, Any]) -> None:
    look = replace(head_pod(31), **told)
    records = recorded((*stories.working(), head_pod(12), look))
    replayed = replay(records)
    assert (replayed.divergences, replayed.unknown) == ((), ())
    assert replayed.events == len(records)


def test_a_turn_is_what_one_observation_brought() -> None:
    records = recorded(LIVES["succeeded"]())
    cut = list(turns(records))
    assert sum(len(turn.events) for turn in cut) == len(records)
    assert len({turn.cause for turn in cut}) == len(cut)


def test_a_changed_rule_is_told_with_the_place_where_it_shows(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    records = recorded((*stories.working(backoff_limit=1), *stories.failing()))
    monkeypatch.setattr(retry, "NEVER_RETRIED", frozenset({"AppFailed"}))
    (found,) = replay(records).divergences
    granted = next(item for item in records if item.type == "RetryGranted")
    assert (found.version, found.recorded, found.decided) == (
        granted.version,
        "RetryGranted",
        "RetryRefused",
    )


def test_a_changed_value_is_told_by_its_field() -> None:
    records = recorded((*stories.working(backoff_limit=1), *stories.failing()))
    changed = [
        with_data(item, {**item.data, "failed": 7}) if item.type == "RetryGranted" else item
        for item in records
    ]
    first = replay(changed).divergences[0]
    assert isinstance(first, Divergence)
    assert first.fields == ("failed: 7 -> 1",)


def test_an_event_that_no_rule_decided_is_told() -> None:
    records = recorded(LIVES["succeeded"]())
    without = [item for item in records if item.type != "SubmitterFinished"]
    assert not replay(without).is_reproduced


def test_a_turn_whose_first_event_carries_no_observation_is_not_decided() -> None:
    records = recorded(stories.working())
    first, *rest = records
    bare = {key: value for key, value in first.data.items() if key != KEY}
    (found,) = replay([with_data(first, bare), *rest]).unknown
    assert (found.version, found.recorded, found.decided) == (1, first.type, "")
