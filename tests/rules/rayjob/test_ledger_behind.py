"""A RayJob whose log is older than the cluster is held, and taken over as the cluster shows it."""

from collections.abc import Sequence

import pytest
from msgspec.structs import replace

from jobledger.core.jobs.control.lost_history import mark_of
from jobledger.core.jobs.events import EffectRequested, LedgerBehindFound, RecoveredFromCluster
from jobledger.core.jobs.observations import LedgerSetBack, Survey
from jobledger.core.jobs.pending.effects import EffectKind
from jobledger.core.rayjob.decide.decide import RAYJOB
from jobledger.core.rayjob.events.lifecycle import RayJobEvent
from jobledger.core.rayjob.observations.observations import ManifestSeen, Problem, SeenStatus
from jobledger.core.rayjob.phases import FINAL, Phase
from jobledger.core.rayjob.rules.left_alone import is_left_alone
from jobledger.core.rayjob.state import KnownSubmitter, RayJobState
from jobledger.core.rayjob.status.status import status
from jobledger.core.values.documents import Manifest, number, text
from jobledger.core.values.ids import observation_id
from jobledger.core.values.instants import parse_rfc3339
from tests.support import rayjob_stories as stories
from tests.support.lives import LIVES
from tests.support.rayjob_builders import (
    after,
    cluster,
    cluster_of,
    manifest,
    named,
    not_found,
    submission_of,
    submitter,
)
from tests.support.rows import STREAM, Played, Step, play

STORIES: dict[str, Sequence[Step]] = {
    **{name: tuple(story()) for name, story in LIVES.items()},
    "two failed attempts": stories.failed_attempts(2, backoff_limit=2),
    "on the same RayCluster": stories.on_the_same(backoff_limit=2),
    "suspended": stories.suspended(),
    "succeeded": stories.succeeded(),
    "on a selected RayCluster": stories.selecting(),
}


def shown_by(state: RayJobState) -> SeenStatus:
    """Return the status of a state as a later look at the object reads it."""
    shown: Manifest = status(state)
    return SeenStatus(
        phase=text(shown, "jobDeploymentStatus"),
        job_status=text(shown, "jobStatus"),
        job_id=text(shown, "jobId"),
        cluster_name=text(shown, "rayClusterName"),
        address=text(shown, "dashboardURL"),
        reason=text(shown, "reason"),
        message=text(shown, "message"),
        started_at=parse_rfc3339(text(shown, "startTime")),
        ended_at=parse_rfc3339(text(shown, "endTime")),
        succeeded=number(shown, "succeeded") or 0,
        failed=number(shown, "failed") or 0,
    )


def steps_of(story: Sequence[Step]) -> list[tuple[RayJobState, ManifestSeen]]:
    """Return the state after each step, and what a look at the object would tell then."""
    played, told = Played(RAYJOB, RAYJOB.initial), []
    last: ManifestSeen | None = None
    for step in story:
        played.take(step)
        last = step if isinstance(step, ManifestSeen) else last
        if last is None or played.state.manifest is None or played.state.deleted_at is not None:
            continue
        generation = played.state.manifest.generation
        look = replace(
            last,
            at=after(5000),
            status=shown_by(played.state),
            written_here=True,
            observed_generation=generation,
        )
        told.append((played.state, named(look)))
    return told


def behind(events: Sequence[RayJobEvent]) -> list[RayJobEvent]:
    return [event for event in events if isinstance(event, LedgerBehindFound)]


def fold(state: RayJobState, events: Sequence[RayJobEvent]) -> RayJobState:
    for event in events:
        state = RAYJOB.evolve(state, event)
    return state


@pytest.mark.parametrize("name", STORIES)
def test_a_status_of_now_or_before_is_never_taken_for_one_of_a_lost_future(name: str) -> None:
    steps = steps_of(STORIES[name])
    for known, (state, _) in enumerate(steps):
        for _, look in steps[: known + 1]:
            assert behind(RAYJOB.news(state, look)) == [], look.status


@pytest.mark.parametrize("name", STORIES)
def test_an_end_that_the_log_has_lost_stays_what_it_was(name: str) -> None:
    steps = steps_of(STORIES[name])
    ends = [(state, look) for state, look in steps if state.phase in FINAL]
    for end, look in ends[:1]:
        for state, _ in steps:
            if state.phase in FINAL:
                continue
            news = RAYJOB.news(state, look)
            assert behind(news), state.phase
            shown = replace(look.status, failed=state.failed, succeeded=state.succeeded)
            uncounted = named(replace(look, status=shown))
            assert behind(RAYJOB.news(state, uncounted)), "by its phase, whatever it counts"
            taken = fold(state, news)
            assert taken.recorded is None, "an end is taken over at once"
            for field in ("phase", "reason", "failed", "succeeded"):
                assert getattr(taken, field) == getattr(end, field), field
            asked = [event.kind for event in news if isinstance(event, EffectRequested)]
            assert not [kind for kind in asked if str(kind).startswith("create")]


@pytest.mark.parametrize("name", STORIES)
def test_whatever_was_lost_a_held_job_does_nothing_until_it_is_taken_over(name: str) -> None:
    steps = steps_of(STORIES[name])
    for known, (state, _) in enumerate(steps):
        for _, look in steps[known + 1 :]:
            news = RAYJOB.news(state, look)
            held = fold(state, news)
            if not behind(news) or held.recorded is None:
                continue
            assert (held.effects, held.decisions, held.orphans) == ((), (), ())
            assert RAYJOB.news(held, look) == ()
            late = cluster("ready", 5001, attempt=9, uid="of-a-lost-attempt")
            assert not [e for e in RAYJOB.news(held, late) if "Orphan" in type(e).__name__]


@pytest.mark.parametrize("name", STORIES)
def test_once_it_is_taken_over_what_it_shows_is_no_sign_any_more(name: str) -> None:
    """Else it were held again by the next look, and its status never written."""
    steps = steps_of(STORIES[name])
    for known, (state, _) in enumerate(steps):
        for _, look in steps[known + 1 :: 3]:
            held = fold(state, RAYJOB.news(state, look))
            if held.recorded is not None:
                asked = mark_of(held.recorded.since)
                survey = Survey(there=tuple(filter(None, (look.status.cluster_name,))))
                surveyed = named(replace(look, survey=survey, recover=asked))
                held = fold(held, RAYJOB.news(held, surveyed))
            assert held.recorded is None
            assert behind(RAYJOB.news(held, look)) == [], (state.phase, look.status)


BUILT: tuple[Step, ...] = (*stories.running(backoff_limit=3),)
SECOND = SeenStatus(
    phase="Running",
    job_status="RUNNING",
    job_id="job-2",
    cluster_name=cluster_of(2),
    address="elsewhere:8265",
    started_at=after(300),
    failed=1,
)


def ours(
    at: float, shown: SeenStatus, *there: str, recover: str = "", surveyed: bool = True
) -> ManifestSeen:
    told = replace(
        manifest(at, status=shown, backoff_limit=3),
        written_here=True,
        survey=Survey(there=there) if surveyed else None,
        recover=recover,
    )
    return named(told)


def names(events: Sequence[RayJobEvent]) -> list[str]:
    return [type(event).__name__ + "*" * bool(getattr(event, "inferred", "")) for event in events]


def test_a_later_attempt_that_runs_is_held_and_taken_over_once_it_is_known_what_is_there() -> None:
    played = play(RAYJOB, (*BUILT, ours(400, SECOND, surveyed=False)))
    told = [name for name in names(played.news) if name != "ManifestReceived"]
    assert told[:2] == ["LedgerBehindFound", "OthersStatusObserved"]
    assert played.state.recorded is not None
    assert played.state.recorded.behind
    played.take(ours(401, SECOND, cluster_of(2)))
    assert names(played.news)[0] == "RecoveredFromCluster"
    attempt = played.state.attempt
    assert attempt is not None
    assert (attempt.number, attempt.cluster_name) == (2, cluster_of(2))
    assert (played.state.phase, played.state.failed) == (Phase.RUNNING, 1)
    played.take(cluster("ready", 402, attempt=2))
    assert not [name for name in names(played.news) if "Orphan" in name or "Behind" in name]


def test_an_attempt_that_runs_by_its_status_and_whose_raycluster_is_gone_waits_for_somebody() -> (
    None
):
    played = play(RAYJOB, (*BUILT, ours(400, SECOND, surveyed=False), ours(401, SECOND)))
    held = played.state.recorded
    assert held is not None, "nobody knows how it ended"
    played.take(ours(402, SECOND, recover=mark_of(after(1))))
    assert played.state.recorded is not None, "it names another holding"
    played.take(ours(403, SECOND, recover=mark_of(held.since)))
    taken = next(event for event in played.news if isinstance(event, RecoveredFromCluster))
    assert taken.asked == mark_of(held.since)
    assert played.state.recorded is None


def test_a_raycluster_of_an_unknown_attempt_is_never_a_orphan_but_holds_the_job() -> None:
    played = play(RAYJOB, (*BUILT, cluster("ready", 400, attempt=2, uid="live")))
    assert names(played.news)[0] == "LedgerBehindFound"
    assert played.state.orphans == ()
    assert played.state.effects == ()


def test_nor_is_a_submitter_of_one() -> None:
    told = named(replace(submitter(at=400, uid="live"), attempt=2))
    played = play(RAYJOB, (*BUILT, told))
    assert names(played.news)[0] == "LedgerBehindFound"
    assert played.state.orphan_submitter is None


def test_an_attempt_that_no_status_shows_yet_is_the_one_that_its_raycluster_is_named_for() -> None:
    retrying = replace(
        SECOND, phase="Retrying", cluster_name=cluster_of(1), started_at=None, reason="AppFailed"
    )
    story = (*BUILT, ours(400, retrying, surveyed=False), ours(401, retrying, cluster_of(2)))
    played = play(RAYJOB, story)
    attempt = played.state.attempt
    assert attempt is not None
    assert (attempt.number, attempt.cluster_name, attempt.cleared) == (2, cluster_of(2), False)
    assert played.state.recorded is None


SAME = replace(SECOND, cluster_name=cluster_of(1), job_id=submission_of(3), failed=0)
"""The third attempt on the RayCluster of the first, after failures that did not count."""


def test_an_attempt_on_the_same_raycluster_is_told_by_its_ray_job() -> None:
    played = play(RAYJOB, (*BUILT, ours(400, SAME, surveyed=False)))
    (found,) = behind(played.news)
    assert isinstance(found, LedgerBehindFound)
    named_so = f"the status names Ray job {submission_of(3)} of attempt 3"
    assert found.signs == (f"{named_so}, and the log knows attempt 1 as the last",)
    played.take(ours(401, SAME, cluster_of(1)))
    attempt = played.state.attempt
    assert attempt is not None
    assert (attempt.number, attempt.cluster_name) == (3, cluster_of(1))
    assert (attempt.job_id, played.state.phase) == (submission_of(3), Phase.RUNNING)


def test_and_by_its_submitter_where_no_status_shows_it_yet() -> None:
    live = named(replace(submitter(at=390, uid="live"), attempt=2))
    first = replace(SECOND, cluster_name=cluster_of(1), job_id=submission_of(1), failed=0)
    shown = replace(first, phase="Retrying", started_at=after(0), failed=1, reason="AppFailed")
    story = (*BUILT, live, ours(400, shown, surveyed=False), ours(401, shown, cluster_of(1)))
    played = play(RAYJOB, story)
    attempt = played.state.attempt
    assert attempt is not None
    assert (attempt.number, attempt.cluster_name) == (2, cluster_of(1))
    assert attempt.job_id == submission_of(2)
    assert played.state.recorded is None
    played.take(live)
    assert not [name for name in names(played.news) if "Behind" in name], "it would be held again"


def test_a_job_of_which_the_log_has_lost_everything_is_no_new_job() -> None:
    played = play(RAYJOB, (ours(400, SECOND, surveyed=False),))
    assert "LedgerBehindFound" in names(played.news)
    assert not [event for event in played.news if isinstance(event, EffectRequested)]
    played.take(ours(401, SECOND, cluster_of(2)))
    assert played.state.attempt is not None
    assert played.state.attempt.number == 2


def test_its_raycluster_was_selected_if_it_has_no_name_of_ours_though_the_manifest_was_edited() -> (
    None
):
    """Else one would be made of that name for ever in vain, and deleted as the job's own."""
    shown = SeenStatus(
        phase="Initializing", cluster_name="shared", job_id="job-1", started_at=after(300)
    )
    played = play(RAYJOB, (ours(400, shown, surveyed=False), ours(401, shown)))
    assert played.state.attempt is not None
    assert played.state.attempt.selected
    wanted = [event.kind for event in played.news if isinstance(event, EffectRequested)]
    assert wanted == [EffectKind.ADD_FINALIZER, EffectKind.FIND_CLUSTER]


def test_an_attempt_that_only_its_raycluster_tells_of_goes_on_once_its_manifest_is_repaired() -> (
    None
):
    """Else the next one would begin beside it."""
    shown = SeenStatus(phase="ValidationFailed", reason="ValidationFailed")
    wrong = Problem(kind="InvalidRayJobSpec", message="it is spoiled")

    def spoilt(at: float, *there: str, surveyed: bool = True) -> ManifestSeen:
        return replace(ours(at, shown, *there, surveyed=surveyed), problem=wrong)

    story = (spoilt(400, surveyed=False), spoilt(401, cluster_of(1)))
    played = play(RAYJOB, story)
    assert played.state.phase is Phase.VALIDATION_FAILED
    repaired = replace(spoilt(402), problem=None, digest="repaired", generation=2, survey=None)
    played.take(named(repaired))
    assert "ManifestAccepted" in names(played.news)
    assert "AttemptStarted" not in names(played.news)
    attempt = played.state.attempt
    assert attempt is not None
    assert (attempt.number, played.state.phase) == (1, Phase.INITIALIZING)


def test_a_ray_job_that_nobody_would_hand_in_ends_its_attempt_after_a_while() -> None:
    """Its submitter is gone, or it began in HTTPMode, and the manifest was edited since."""
    shown = replace(SECOND, job_status="", job_id=submission_of(2))
    story = (ours(400, shown, surveyed=False), ours(401, shown, cluster_of(2)))
    played = play(RAYJOB, (*story, not_found(410, attempt=2), not_found(439, attempt=2)))
    assert played.state.phase is Phase.RUNNING, "its submitter may be told late"
    played.take(not_found(440, attempt=2))
    assert "AttemptFailed" in names(played.news)
    late = named(replace(submitter(at=420, uid="live"), attempt=2))
    played = play(RAYJOB, (*story, not_found(410, attempt=2), late, not_found(440, attempt=2)))
    assert played.state.phase is Phase.RUNNING


def test_nor_does_one_hand_it_in_that_was_only_asked_for_when_the_log_lost_the_rest() -> None:
    running, asked = play(RAYJOB, BUILT).state, play(RAYJOB, BUILT[:4]).state.effects[-1]
    assert asked.desired.kind == "create_submitter"
    only_asked_for = replace(running, submitter=KnownSubmitter(name="train"))
    assert is_left_alone(only_asked_for)
    assert not is_left_alone(replace(only_asked_for, effects=(asked,))), "it is being made"
    vanished = KnownSubmitter(name="train", outcome="Vanished")
    for state in (running, replace(running, submitter=vanished)):
        assert not is_left_alone(state)


def test_a_stream_that_ends_before_what_was_appended_holds_the_job() -> None:
    told = LedgerSetBack(
        id=observation_id(STREAM, "set back"), at=after(400), known_version=40, found_version=9
    )
    played = play(RAYJOB, (*BUILT, told))
    assert names(played.news)[0] == "LedgerBehindFound"
    assert played.state.effects == ()


def test_what_another_controller_or_a_user_wrote_is_no_sign() -> None:
    played = play(RAYJOB, (*BUILT, replace(ours(400, SECOND), written_here=False)))
    assert behind(played.news) == []


SET_BACK = LedgerSetBack(
    id=observation_id(STREAM, "set back"), at=after(400), known_version=40, found_version=9
)


def test_a_status_from_before_what_the_log_knows_ends_nothing_of_a_job_that_is_held() -> None:
    """The watch lags: it still tells what was shown before the attempt that runs."""
    earlier = SeenStatus(phase="Suspended")
    played = play(RAYJOB, (*BUILT, SET_BACK))
    played.take(ours(401, earlier, surveyed=False))
    assert names(played.news) == ["ManifestReceived"], "its spec, and nothing of its status"
    now = SeenStatus(phase="Running", cluster_name=cluster_of(1), job_id="job-1")
    played.take(ours(402, now, cluster_of(1)))
    assert names(played.news)[0] == "RecoveredFromCluster"
    assert (played.state.phase, played.state.recorded) == (Phase.RUNNING, None)
    assert played.state.attempt is not None
    assert (played.state.attempt.number, played.state.attempt.cleared) == (1, False)
    assert not [e for e in played.news if isinstance(e, EffectRequested) and "create" in e.kind]


def leaving(at: float, *there: str, surveyed: bool = True) -> ManifestSeen:
    shown = SeenStatus(phase="Running", cluster_name=cluster_of(1), job_id="job-1")
    told = ours(at, shown, *there, surveyed=surveyed)
    return named(replace(told, deleting_at=after(at), finalizer=True))


def test_one_that_is_being_deleted_goes_once_it_is_known_what_it_shows_now() -> None:
    played = play(RAYJOB, (*BUILT, SET_BACK, leaving(401, surveyed=False)))
    assert played.state.recorded is not None, "what it shows may be of before: it may have ended"
    played.take(leaving(402, cluster_of(1)))
    assert "RecoveredFromCluster" in names(played.news)
    assert played.state.recorded is None


def test_and_is_not_held_again_for_what_was_made_for_an_attempt_that_is_lost() -> None:
    """Else it was held and taken over again for ever; what is there goes with it."""
    second = cluster("ready", 400, attempt=2, uid="live")
    played = play(RAYJOB, (*BUILT, second, leaving(401, cluster_of(2))))
    assert played.state.recorded is None
    for late in (
        cluster("ready", 402, attempt=2, uid="live"),
        named(replace(submitter(at=403, uid="live"), attempt=2)),
    ):
        played.take(late)
        assert played.news == ()
