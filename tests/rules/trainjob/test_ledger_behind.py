"""A TrainJob whose log is older than the cluster is held, and taken over as that shows it."""

from collections.abc import Sequence

import pytest
from msgspec.structs import replace

from jobledger.core.jobs.control.lost_history import mark_of
from jobledger.core.jobs.events import EffectRequested, LedgerBehindFound, RecoveredFromCluster
from jobledger.core.jobs.observations import LedgerSetBack, Survey
from jobledger.core.jobs.pending.effects import EffectKind
from jobledger.core.trainjob.conditions import Condition
from jobledger.core.trainjob.decide.decide import TRAINJOB
from jobledger.core.trainjob.events import TrainJobEvent
from jobledger.core.trainjob.observations import JobCounts, SeenTrainStatus, TrainJobSeen
from jobledger.core.trainjob.phases import Phase
from jobledger.core.trainjob.state import TrainJobState, is_final
from jobledger.core.trainjob.status.status import status
from jobledger.core.values.documents import Json, items, number, text
from jobledger.core.values.ids import observation_id
from jobledger.core.values.instants import EPOCH, parse_rfc3339
from tests.support.train_lives import TRAIN_LIVES
from tests.support.trainjobs import (
    JOB,
    STREAM,
    Played,
    Step,
    after,
    applied,
    counts,
    jobset,
    manifest,
    named,
    not_built,
    not_created,
    play,
    runtime,
)


def shown_by(state: TrainJobState) -> SeenTrainStatus:
    """Return the status of a state as a later look at the object reads it."""
    shown = status(state)
    return SeenTrainStatus(
        conditions=tuple(_condition(item) for item in items(shown, "conditions")),
        jobs=tuple(
            JobCounts(name=text(item, "name"), active=number(item, "active") or 0)
            for item in items(shown, "jobsStatus")
        ),
    )


def _condition(item: Json) -> Condition:
    return Condition(
        type=text(item, "type"),
        is_true=text(item, "status") == "True",
        reason=text(item, "reason"),
        message=text(item, "message"),
        since=parse_rfc3339(text(item, "lastTransitionTime")) or EPOCH,
    )


def steps_of(name: str) -> list[tuple[TrainJobState, TrainJobSeen]]:
    """Return the state after each step, and what a look at the object would tell then."""
    played, told = Played(), []
    last: TrainJobSeen | None = None
    for step in TRAIN_LIVES[name]():
        played.take(step)
        last = step if isinstance(step, TrainJobSeen) else last
        if last is None or played.state.deleted_at is not None:
            continue
        look = replace(last, at=after(5000), status=shown_by(played.state), written_here=True)
        told.append((played.state, named(look)))
    return told


def behind(events: Sequence[TrainJobEvent]) -> list[TrainJobEvent]:
    return [event for event in events if isinstance(event, LedgerBehindFound)]


def fold(state: TrainJobState, events: Sequence[TrainJobEvent]) -> TrainJobState:
    for event in events:
        state = TRAINJOB.evolve(state, event)
    return state


@pytest.mark.parametrize("name", TRAIN_LIVES)
def test_a_status_of_now_or_before_is_never_taken_for_one_of_a_lost_future(name: str) -> None:
    steps = steps_of(name)
    for known, (state, _) in enumerate(steps):
        for _, look in steps[: known + 1]:
            assert behind(TRAINJOB.news(state, look)) == [], look.status


@pytest.mark.parametrize("name", TRAIN_LIVES)
def test_an_end_that_the_log_has_lost_stays_what_it_was(name: str) -> None:
    steps = steps_of(name)
    ends = [(state, look) for state, look in steps if is_final(state)]
    for end, look in ends[:1]:
        for state, _ in steps:
            if is_final(state):
                continue
            news = TRAINJOB.news(state, look)
            assert behind(news), state.phase
            taken = fold(state, news)
            assert taken.recorded is None, "an end is taken over at once"
            assert (taken.phase, taken.reason) == (end.phase, end.reason)
            asked = [event.kind for event in news if isinstance(event, EffectRequested)]
            assert EffectKind.APPLY_OBJECTS not in asked, "it would run again"


@pytest.mark.parametrize("name", TRAIN_LIVES)
def test_whatever_was_lost_a_held_job_does_nothing_until_it_is_taken_over(name: str) -> None:
    steps = steps_of(name)
    for known, (state, _) in enumerate(steps):
        for _, look in steps[known + 1 :]:
            news = TRAINJOB.news(state, look)
            held = fold(state, news)
            if not behind(news) or held.recorded is None:
                continue
            assert (held.effects, held.decisions) == ((), ())
            assert TRAINJOB.news(held, look) == ()


@pytest.mark.parametrize("name", TRAIN_LIVES)
def test_once_it_is_taken_over_what_it_shows_is_no_sign_any_more(name: str) -> None:
    """Else it were held again by the next look, and its status never written."""
    steps = steps_of(name)
    for known, (state, _) in enumerate(steps):
        for _, look in steps[known + 1 :]:
            held = fold(state, TRAINJOB.news(state, look))
            if held.recorded is not None:
                asked = mark_of(held.recorded.since)
                surveyed = replace(look, survey=Survey(there=(JOB,)), recover=asked)
                mark = observation_id(STREAM, "surveyed", str(look.id))
                held = fold(held, TRAINJOB.news(held, replace(surveyed, id=mark)))
            assert held.recorded is None
            assert behind(TRAINJOB.news(held, look)) == [], (state.phase, look.status)


def condition(kind: str, at: float, *, holds: bool = True) -> Condition:
    return Condition(type=kind, is_true=holds, reason=kind, message="", since=after(at))


CREATED = SeenTrainStatus(conditions=(condition("Created", 30),), jobs=(counts(active=1),))


def ours(
    at: float, shown: SeenTrainStatus, *there: str, recover: str = "", surveyed: bool = True
) -> TrainJobSeen:
    told = replace(
        manifest(status=shown),
        at=after(at),
        written_here=True,
        survey=Survey(there=there) if surveyed else None,
        recover=recover,
    )
    return named(told)


NEW: tuple[Step, ...] = (manifest(), runtime())


def test_a_job_that_was_made_is_held_and_taken_over_once_its_jobset_is_seen() -> None:
    played = play((*NEW, ours(40, CREATED, surveyed=False)))
    assert behind(played.news)
    assert played.state.effects == ()
    played.take(ours(41, CREATED, JOB))
    assert any(isinstance(event, RecoveredFromCluster) for event in played.news)
    assert played.state.recorded is None


def test_one_whose_jobset_is_gone_waits_for_somebody() -> None:
    played = play((*NEW, ours(40, CREATED, surveyed=False), ours(41, CREATED)))
    held = played.state.recorded
    assert held is not None, "nobody knows how it ended"
    played.take(ours(42, CREATED, recover=mark_of(held.since)))
    assert played.state.recorded is None


def test_a_job_of_which_the_log_has_lost_everything_is_no_new_job() -> None:
    played = play((ours(40, CREATED, surveyed=False),))
    assert behind(played.news)
    assert not [event for event in played.news if isinstance(event, EffectRequested)]


def test_a_stream_that_ends_before_what_was_appended_holds_the_job() -> None:
    told = LedgerSetBack(
        id=observation_id(STREAM, "set back"), at=after(400), known_version=40, found_version=9
    )
    played = play((*NEW, applied(5), jobset(6), told))
    assert behind(played.news)
    assert played.state.effects == ()


SET_BACK = LedgerSetBack(
    id=observation_id(STREAM, "set back"), at=after(400), known_version=40, found_version=9
)


def test_what_was_refused_before_a_job_was_held_does_not_wait_after_it() -> None:
    refused = play((manifest(), runtime(), not_created(1)))
    assert refused.state.refused
    assert play((manifest(), runtime(), not_created(1), SET_BACK)).state.refused == ()


def test_what_a_held_job_shows_is_news_once_if_it_is_ahead_or_of_others() -> None:
    created = Condition(type="Created", is_true=True, reason="R", message="", since=after(1))
    suspended = replace(created, type="Suspended", since=after(300))
    held = (manifest(), runtime(), applied(1), SET_BACK)
    ahead = replace(
        manifest(410, status=SeenTrainStatus(conditions=(created, suspended))), written_here=True
    )
    told = play((*held, ahead))
    assert "OthersTrainStatusObserved" in told.said
    assert (
        "OthersTrainStatusObserved" not in play((*held, ahead, replace(ahead, at=after(411)))).said
    )
    theirs = manifest(410, status=SeenTrainStatus(conditions=(replace(created, message="theirs"),)))
    assert "OthersTrainStatusObserved" in play((*held, theirs)).said
    assert "OthersTrainStatusObserved" not in play((*held, replace(theirs, written_here=True))).said


def test_a_status_from_before_what_the_log_knows_suspends_nothing_that_is_held() -> None:
    """The watch lags: it still tells what was shown before the job was resumed."""
    suspended = SeenTrainStatus(conditions=(condition("Suspended", 0),))
    story = (manifest(suspend=True), manifest(generation=2), runtime(), applied(5), jobset(6))
    played = play((*story, SET_BACK))
    assert played.state.recorded is not None
    told = replace(ours(401, suspended, surveyed=False), generation=2, digest="digest-2")
    played.take(named(told))
    assert [type(event).__name__ for event in played.news] == []
    assert ("Suspended", False) in {(item.type, item.is_true) for item in played.state.conditions}


def test_a_build_that_failed_by_the_log_and_was_made_by_the_status_counts_as_made() -> None:
    """The apply that followed the failure is lost; what the log knows of is not the latest."""
    ended = SeenTrainStatus(conditions=(condition("Created", 30), condition("Complete", 50)))
    played = play((*NEW, not_built(5)))
    assert played.state.built is not None
    assert played.state.built.phase is Phase.BUILD_FAILED
    played.take(ours(60, ended, surveyed=False))
    assert played.state.recorded is None, "an end is taken over at once"
    assert (played.state.built.phase, played.state.built.digest) == (Phase.CREATED, "")


def test_what_users_see_of_jobs_that_are_gone_is_taken_over() -> None:
    ended = SeenTrainStatus(
        conditions=(condition("Created", 30), condition("Failed", 50)),
        jobs=(counts(failed=1),),
    )
    played = play((*NEW, ours(60, ended, surveyed=False)))
    assert played.state.recorded is None, "an end is taken over at once"
    assert [number(item, "failed") for item in items(status(played.state), "jobsStatus")] == [1]


def test_one_that_is_being_deleted_goes_once_it_is_known_what_it_shows_now() -> None:
    def leaving(at: float, *, surveyed: bool) -> TrainJobSeen:
        told = ours(at, CREATED, JOB, surveyed=surveyed)
        return named(replace(told, deleting_at=after(at)))

    played = play((*NEW, applied(5), jobset(6), SET_BACK, leaving(401, surveyed=False)))
    assert played.state.recorded is not None, "what it shows may be of before: it may have ended"
    played.take(leaving(402, surveyed=True))
    assert played.state.recorded is None


def test_a_condition_that_was_shown_to_have_changed_after_what_the_log_knows_is_a_sign() -> None:
    """Resumed by what was lost; one that is as old as the log's, or older, is none."""
    story = (manifest(suspend=True), runtime())
    for since, is_sign in ((60, True), (0, False)):
        resumed = SeenTrainStatus(conditions=(condition("Suspended", since, holds=False),))
        played = play(story)
        (known,) = [one for one in played.state.conditions if one.type == "Suspended"]
        assert (known.is_true, known.since) == (True, after(0))
        look = replace(ours(70, resumed, surveyed=False), digest="digest-1")
        news = TRAINJOB.news(played.state, named(look))
        found = [one.signs for one in news if isinstance(one, LedgerBehindFound)]
        sign = (
            "the status shows Suspended=False since 2026-11-21T12:01:00Z, "
            "and the log Suspended=True since 2026-11-21T12:00:00Z"
        )
        assert found == ([(sign,)] if is_sign else [])


def test_a_condition_of_a_plugin_that_the_log_does_not_know_is_no_sign() -> None:
    others = SeenTrainStatus(conditions=(condition("QuotaReserved", 60),))
    assert behind(play((*NEW, ours(70, others, surveyed=False))).news) == []
