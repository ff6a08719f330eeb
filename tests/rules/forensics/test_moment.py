"""A job at an instant: what was true by then, what was known by then, and how fresh that was."""

from dataclasses import replace
from datetime import timedelta

import pytest

from jobledger.core.forensics.bundles.dossier import Dossier, ReadEvent, reader_of
from jobledger.core.forensics.story.moment import (
    Moment,
    PartKnown,
    at_instant,
    at_version,
    version_in,
)
from jobledger.core.jobs.rows import JobRow
from jobledger.core.kinds import part_of
from jobledger.core.rayjob.observations.observations import SeenStatus
from jobledger.core.rayjob.phases import Phase
from tests.rules.rayjob.test_ledger_behind import ours
from tests.support import rayjob_stories as stories
from tests.support.rayjob_builders import after, cluster, interrupted, nothing_new, poll, submitter
from tests.support.recorded import recorded, stored

LATE = 5.0
"""Seconds by which the controller of these stories is behind the world."""


def read(*steps: object) -> tuple[ReadEvent, ...]:
    records = recorded(steps, LATE)  # type: ignore[arg-type] # steps of a story
    found = Dossier(events=stored(records), evidence=reader_of({}), origin="a test")
    return found.read()


def job(moment: Moment, sense: str) -> JobRow:
    row = getattr(moment, sense).job
    assert isinstance(row, JobRow)
    return row


def part(moment: Moment, name: str) -> PartKnown:
    (found,) = [part for part in moment.parts if part.part == name]
    return found


def test_between_what_happened_and_its_record_the_two_senses_differ() -> None:
    moment = at_instant(read(*stories.succeeded()), after(44))
    assert job(moment, "true").phase == Phase.COMPLETE
    assert job(moment, "known").phase == Phase.RUNNING
    assert job(moment, "known").job_status == "RUNNING"
    assert moment.not_known
    assert moment.true.version > moment.known.version


def test_when_everything_is_written_down_they_agree() -> None:
    moment = at_instant(read(*stories.succeeded()), after(60))
    assert moment.true == moment.known
    assert moment.not_known == ()


def test_before_the_first_sight_nothing_is_known() -> None:
    events = read(*stories.succeeded())
    moment = at_instant(events, after(-1))
    assert (moment.true.version, moment.known.version, moment.known.job) == (0, 0, None)
    early = at_instant(events, after(1))
    assert (early.true.version > 0, early.known.version) == (True, 0)


@pytest.mark.parametrize("ahead", [1, 3, 9])
def test_what_was_written_down_under_a_clock_that_was_ahead_was_known_all_the_same(
    ahead: int,
) -> None:
    """The first events carry an hour later, as those of a process whose clock was set back then."""
    events = read(*stories.succeeded())
    dated = [
        replace(one, recorded_at=one.recorded_at + timedelta(hours=one.version <= ahead))
        for one in events
    ]
    for seconds in (30, 44, 60):
        moment = at_instant(dated, after(seconds))
        assert moment.known == at_instant(events, after(seconds)).known
        assert moment.known.version > ahead


def test_of_a_job_that_was_found_when_it_was_over_what_was_true_before_is_told() -> None:
    """Its end, dated by its status, is before it was seen: nobody said whose end that was."""
    ended = SeenStatus(
        phase="Failed", reason="AppFailed", started_at=after(300), ended_at=after(380), failed=1
    )
    events = read(ours(400, ended))
    moment = at_instant(events, after(390))
    assert job(moment, "true").phase == Phase.FAILED
    assert (moment.known.version, moment.known.job) == (0, None)
    assert 1 in moment.not_known
    assert at_instant(events, after(290)).true.version == 0


def test_a_version_is_the_instant_at_which_it_was_written_down() -> None:
    events = read(*stories.succeeded())
    for version in range(1, len(events) + 1):
        moment = at_version(events, version)
        assert moment.known.version == version
        assert moment.at == events[version - 1].recorded_at


@pytest.mark.parametrize("version", [0, -1, 10_000])
def test_a_version_that_is_not_there_is_told(version: int) -> None:
    with pytest.raises(IndexError, match="the versions of this job are 1 to"):
        at_version(read(*stories.working()), version)


def test_what_was_pending_and_under_way_is_shown() -> None:
    moment = at_instant(read(*stories.initializing(active_deadline_seconds=600)), after(0.4 + LATE))
    assert [row.kind for row in moment.known.pending] == ["active_deadline"]
    assert "create_cluster" in {row.kind for row in moment.known.under_way}


def test_a_part_is_as_fresh_as_its_last_confirmation() -> None:
    events = read(*stories.working(), nothing_new(90))
    known = at_instant(events, after(100))
    assert part(known, "RayCluster").confirmed_at == after(10)
    (confirmed,) = [item for item in known.parts if item.part == "poll"]
    assert confirmed.confirmed_at == after(90)
    before = at_instant(events, after(92))
    assert "poll" not in {item.part for item in before.parts}


def test_a_gap_makes_a_part_stale_until_it_is_seen_again() -> None:
    story = (*stories.working(), interrupted(40, 50))
    stale = part(at_instant(read(*story), after(60)), "RayCluster")
    assert stale.maybe_stale_since == after(40)
    again = (*story, cluster("ready", 70, status={"state": "ready", "desiredCPU": "4"}))
    assert part(at_instant(read(*again), after(80)), "RayCluster").maybe_stale_since is None


def test_every_fact_is_of_a_part() -> None:
    events = read(*stories.working(), poll("SUCCEEDED", 40), submitter("Complete", 42))
    parts = {part_of(item.event) for item in events}
    assert {"RayJob", "RayCluster", "Job", "Ray job", None} == parts


@pytest.mark.parametrize(
    ("text", "version"),
    [("61", 61), ("9" * 9, 999_999_999), ("9" * 10, None), ("\u0666\u0661", None), ("", None)],
)
def test_a_version_is_told_from_an_instant(text: str, version: int | None) -> None:
    assert version_in(text) == version
