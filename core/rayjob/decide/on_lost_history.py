"""Detects that the cluster knows more of a RayJob than the log; takes over what is missing.

Signs are only what no crash of this controller can bring about: an event is appended before what
follows from it is done or shown. So a status that was written here is never ahead of the log, and
no RayCluster or submitter is made for an attempt that the log does not know. A status that is
behind the log is none: it is still to be written.
"""

from collections.abc import Iterator

from jobledger.core.jobs.control.dormancy import is_leaving
from jobledger.core.jobs.control.lost_history import recovered
from jobledger.core.jobs.events import LedgerBehindFound
from jobledger.core.jobs.observations import Survey
from jobledger.core.rayjob.events.lifecycle import (
    AttemptCleared,
    AttemptStarted,
    JobResumed,
    RayJobEvent,
    TransitionsMissed,
)
from jobledger.core.rayjob.names import submission_id
from jobledger.core.rayjob.names_ahead import is_earlier, number_ahead, submission_ahead
from jobledger.core.rayjob.observations.observations import (
    ClusterSeen,
    ManifestSeen,
    RayJobObservation,
    SeenStatus,
    SubmitterSeen,
)
from jobledger.core.rayjob.phases import FINAL, Phase
from jobledger.core.rayjob.state import Attempt, RayJobState, is_final, standing
from jobledger.core.values.instants import Instant, rfc3339

_PROGRESS = {
    Phase.NEW: 0,
    Phase.INITIALIZING: 1,
    Phase.WAITING: 2,
    Phase.RUNNING: 3,
    Phase.SUSPENDING: 4,
    Phase.RETRYING: 4,
    Phase.COMPLETE: 5,
    Phase.FAILED: 5,
}
"""How far an attempt has come; of one attempt it never goes back."""

_PHASES = {phase.value: phase for phase in Phase}


def is_unknown_but_ours(seen: ManifestSeen) -> bool:
    """Return whether a job of which the log knows nothing was driven by this controller."""
    return seen.written_here and not seen.recorded and seen.status.phase != ""


def behind_by_cluster(state: RayJobState, seen: ClusterSeen) -> tuple[LedgerBehindFound, ...]:
    """Return that a RayCluster was made for an attempt that the log does not know.

    Of a job that is being deleted it is no news: it goes with the job, whatever the log knows.
    """
    number = number_ahead(state, seen.name)
    if not seen.owned or not number or is_final(state) or is_leaving(state):
        return ()
    sign = f"RayCluster {seen.name} was made for attempt {number}, and the log {_last(state)}"
    found = LedgerBehindFound(
        at=seen.at, signs=(sign,), kind="RayCluster", name=seen.name, uid=seen.uid
    )
    return (found,)


def behind_by_submitter(state: RayJobState, seen: SubmitterSeen) -> tuple[LedgerBehindFound, ...]:
    """Return that a submitter was made for an attempt that the log does not know; as above."""
    last = state.attempt.number if state.attempt is not None else 0
    if not seen.owned or seen.attempt <= last or is_final(state) or is_leaving(state):
        return ()
    sign = f"submitter {seen.name} was made for attempt {seen.attempt}, and the log {_last(state)}"
    found = LedgerBehindFound(
        at=seen.at,
        signs=(sign,),
        kind="Job",
        name=seen.name,
        uid=seen.uid,
        attempt=seen.attempt,
    )
    return (found,)


def recovery(state: RayJobState, observation: RayJobObservation) -> tuple[RayJobEvent, ...]:
    """Return that a held job is taken over (`lost_history.recovered`)."""
    if not isinstance(observation, ManifestSeen):
        return ()
    taken_over = recovered(state, observation, doubt_about, is_final=is_final(state))
    survey = observation.survey
    if not taken_over or survey is None or is_final(state) or is_leaving(state):
        return taken_over
    return *_begun_unshown(state, survey, observation.at), *taken_over


def doubt_about(state: RayJobState, survey: Survey) -> str:
    """Return why a held job cannot be taken over by itself; empty if nothing is in doubt."""
    attempt, phase = state.attempt, standing(state)
    later = _later(state, survey)
    if len(later) > 1:
        return f"the RayClusters of several unknown attempts are there: {', '.join(later)}"
    if later and phase not in {Phase.NEW, Phase.RETRYING, Phase.SUSPENDED}:
        return f"RayCluster {later[0]} is there, and the status tells of an earlier attempt"
    known = {*later, state.manifest.spec.cluster_selector if state.manifest is not None else ""}
    if attempt is not None:
        known.add(attempt.cluster_name)
    foreign = [one for one in survey.there if one not in known and not is_earlier(state, one)]
    if foreign:
        return f"nobody knows for which attempt these were made: {', '.join(foreign)}"
    in_use = phase in {Phase.WAITING, Phase.RUNNING}
    if in_use and attempt is not None and attempt.cluster_name not in survey.there:
        gone = f"RayCluster {attempt.cluster_name} is gone"
        return f"attempt {attempt.number} runs by its status, and {gone}"
    return ""


def signs(state: RayJobState, seen: ManifestSeen) -> Iterator[str]:
    """Yield what a status tells that the log does not know."""
    shown, attempt = seen.status, state.attempt
    phase, known = _PHASES.get(shown.phase), standing(state)
    generation = state.manifest.generation if state.manifest is not None else 0
    if phase in FINAL:
        yield f"the status shows {shown.phase}, and the log {known.value or 'New'}"
    if seen.observed_generation > generation:
        yield f"the status is of generation {seen.observed_generation}, and the log of {generation}"
    if shown.failed > state.failed:
        yield f"the status counts {shown.failed} failed attempts, and the log {state.failed}"
    if shown.succeeded > state.succeeded:
        yield f"the status counts {shown.succeeded} successes, and the log {state.succeeded}"
    if shown.cluster_name and (attempt is None or number_ahead(state, shown.cluster_name)):
        yield f"the status names RayCluster {shown.cluster_name}, and the log {_last(state)}"
    elif attempt is not None and (number := submission_ahead(state, shown.job_id)):
        yield f"the status names Ray job {shown.job_id} of attempt {number}, and {_knows(attempt)}"
    is_further = phase is not None and _PROGRESS.get(phase, 0) > _PROGRESS.get(known, 5)
    if is_further and phase not in FINAL and attempt is not None and _is_of(attempt, shown):
        by_log = f"{known.value or 'New'} by the log"
        yield f"attempt {attempt.number} is {shown.phase} by its status, and {by_log}"


def _is_of(attempt: Attempt, shown: SeenStatus) -> bool:
    """Return whether a status tells of that very attempt; names alone may be those of many."""
    if attempt.cleared or (shown.cluster_name, shown.job_id) != (
        attempt.cluster_name,
        attempt.job_id,
    ):
        return False
    return shown.started_at is not None and rfc3339(shown.started_at) == rfc3339(attempt.started_at)


def _knows(attempt: Attempt) -> str:
    return f"the log knows attempt {attempt.number} as the last"


def _last(state: RayJobState) -> str:
    if state.attempt is None:
        return "knows no attempt"
    return f"knows attempt {state.attempt.number} as the last"


def _later(state: RayJobState, survey: Survey) -> list[str]:
    """Return the RayClusters that are there of attempts that the log does not know, in order."""
    numbered = [(number, name) for name in survey.there if (number := number_ahead(state, name))]
    return [name for _, name in sorted(numbered)]


def _begun_unshown(state: RayJobState, survey: Survey, at: Instant) -> tuple[RayJobEvent, ...]:
    """Return that an attempt has begun whose RayCluster is there, and which no status names yet."""
    identity, manifest, attempt = state.identity, state.manifest, state.attempt
    later = _later(state, survey)
    if identity is None or manifest is None:
        return ()
    name = later[-1] if later else _gone_on_there(state, survey)
    if not name:
        return ()
    ahead = state.recorded.submitter_ahead if state.recorded is not None else 0
    number = number_ahead(state, name) if later else ahead
    before = attempt.number if attempt is not None else 0
    events: list[RayJobEvent] = []
    goes_on = attempt is not None and not attempt.cleared
    if goes_on and state.phase is Phase.RETRYING:
        events.append(AttemptCleared(at=at, attempt=before, inferred=True))
    elif goes_on:
        missed = TransitionsMissed(
            at=at,
            attempt=before,
            before=state.phase.value,
            after=Phase.NEW.value,
            failed_before=state.failed,
            failed=state.failed,
        )
        events.append(missed)
    elif state.phase is Phase.SUSPENDED:
        events.append(JobResumed(at=at, inferred=True))
    job_id = manifest.spec.job_id or submission_id(identity.name, identity.uid, number)
    started = AttemptStarted(
        at=at,
        attempt=number,
        cluster_name=name,
        job_id=job_id,
        generation=manifest.generation,
        same_cluster=not later,
        inferred=True,
    )
    return *events, started


def _gone_on_there(state: RayJobState, survey: Survey) -> str:
    """Return the RayCluster of the known attempt if a submitter was made there for a later one."""
    held, attempt = state.recorded, state.attempt
    if held is None or attempt is None or held.submitter_ahead <= attempt.number:
        return ""
    return attempt.cluster_name if attempt.cluster_name in survey.there else ""
