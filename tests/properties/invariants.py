"""The invariants of design section 10, as far as a history of the core can show them."""

from collections import Counter
from collections.abc import Sequence

from jobledger.core.jobs.events import (
    DecisionCancelled,
    DecisionFired,
    DecisionScheduled,
    EffectFailed,
    EffectRequested,
    EffectSucceeded,
    EffectSuperseded,
)
from jobledger.core.jobs.pending.decisions import DecisionKind
from jobledger.core.jobs.pending.effects import EffectKind
from jobledger.core.jobs.retries.retry import NEVER_RETRIED
from jobledger.core.rayjob.decide.decide import RAYJOB
from jobledger.core.rayjob.events.lifecycle import (
    AttemptFailed,
    AttemptStarted,
    ClusterGivenUp,
    ClusterObserved,
    ClusterVanished,
    JobAdopted,
    ManifestReceived,
    OrphanClusterFound,
    OrphanClusterVanished,
    RayJobEvent,
    RetryGranted,
    TransitionsMissed,
)
from jobledger.core.rayjob.phases import FINAL, JobStatus, Phase
from jobledger.core.rayjob.state import RayJobState
from jobledger.core.rayjob.status.status import status
from tests.support.rows import check_laws

CLEANING_UP = frozenset(
    {
        EffectKind.DELETE_CLUSTER,
        EffectKind.DELETE_SUBMITTER,
        EffectKind.DELETE_JOB,
        EffectKind.SUSPEND_WORKERS,
        EffectKind.REMOVE_FINALIZER,
        EffectKind.STOP_ENTRYPOINT,
    }
)
AFTER_THE_END = frozenset(
    {DecisionKind.TTL_SHUTDOWN, DecisionKind.DELETION_RULE, DecisionKind.EFFECT_RETRY}
)
LIFE = ("phase", "reason", "message", "ended_at", "failed", "succeeded", "started_at")


def check_history(history: Sequence[RayJobEvent]) -> None:
    """Hold a whole history against every invariant."""
    check_laws(RAYJOB, history, len(history) // 2)
    check_retries(history)
    check_effects_and_decisions(history)
    check_one_cluster(history)
    check_same_cluster(history)
    state = RAYJOB.initial
    for event in history:
        after = RAYJOB.evolve(state, event)
        check_step(state, event, after)
        state = after
    assert status(state) == status(RAYJOB.fold(history))


def check_retries(history: Sequence[RayJobEvent]) -> None:
    """Invariant 2: bounded, and never after the excluded reasons."""
    limit, adopted = 0, 0
    for event in history:
        if isinstance(event, ManifestReceived):
            limit = max(limit, event.spec.backoff_limit)
        if isinstance(event, JobAdopted):
            adopted = event.status.failed
        if isinstance(event, TransitionsMissed):  # a failure that is shown may be of this attempt
            adopted = max(adopted, event.failed)
        if isinstance(event, AttemptFailed):
            assert event.failed <= max(limit + 1, adopted + 1), event
        if isinstance(event, RetryGranted):
            assert event.reason not in NEVER_RETRIED, event
            # One that is inferred was granted by others, or in a lost past, maybe by another limit:
            # the attempt that it led to may fail as well.
            adopted = max(adopted, event.failed if event.inferred else 0)
            within = event.failed <= event.backoff_limit or event.inferred
            assert within or not event.counted, event
            assert event.uncounted <= event.uncounted_max or event.counted, event
    check_job_deadline(history)


def check_job_deadline(history: Sequence[RayJobEvent]) -> None:
    """When the deadline over all attempts has fired the job has failed, and no attempt follows."""
    passed = False
    for event in history:
        if isinstance(event, DecisionFired) and event.kind is DecisionKind.JOB_DEADLINE:
            passed = True
        assert not (passed and isinstance(event, AttemptStarted | RetryGranted)), event
    state = RAYJOB.fold(history)
    if passed:
        assert (state.phase, state.reason) == (Phase.FAILED, "DeadlineExceeded")


def check_effects_and_decisions(history: Sequence[RayJobEvent]) -> None:
    """Invariant 5: each is asked for once and ends once; nothing ends that never began."""
    requested = Counter(e.effect_id for e in history if isinstance(e, EffectRequested))
    ends = (EffectSucceeded, EffectFailed, EffectSuperseded)
    ended = Counter(e.effect_id for e in history if isinstance(e, ends))
    scheduled = Counter(e.decision_id for e in history if isinstance(e, DecisionScheduled))
    resolutions = (DecisionFired, DecisionCancelled)
    resolved = Counter(e.decision_id for e in history if isinstance(e, resolutions))
    for began, over in ((requested, ended), (scheduled, resolved)):
        assert all(count == 1 for count in began.values())
        assert all(count == 1 for count in over.values())
        assert set(over) <= set(began)
    state = RAYJOB.fold(history)
    assert {e.effect_id for e in state.effects} == set(requested) - set(ended)
    assert {d.decision_id for d in state.decisions} == set(scheduled) - set(resolved)


def check_one_cluster(history: Sequence[RayJobEvent]) -> None:
    """Invariant 3: none is asked for while another of the job is known to be there."""
    there: dict[str, str] = {}
    gone: set[str] = set()
    users: set[str] = set()
    """RayClusters that the job has selected: they are others' and stay."""
    for event in history:
        if isinstance(event, ManifestReceived) and event.spec.cluster_selector:
            users.add(event.spec.cluster_selector)
        if isinstance(event, ClusterObserved | OrphanClusterFound) and event.name not in users:
            there[event.uid] = event.name
        is_made = isinstance(event, EffectSucceeded) and event.kind is EffectKind.CREATE_CLUSTER
        if isinstance(event, EffectSucceeded) and is_made and event.uid not in gone:
            # a name is free only once its holder is gone
            there = {uid: name for uid, name in there.items() if name != event.name}
            there[event.uid] = event.name
        if isinstance(event, ClusterVanished | OrphanClusterVanished):
            there.pop(event.uid, None)
            gone.add(event.uid)
        if isinstance(event, EffectSucceeded) and event.gone:
            there = {uid: name for uid, name in there.items() if name != event.name}
        if isinstance(event, EffectRequested) and event.kind is EffectKind.CREATE_CLUSTER:
            others = {name for name in there.values() if name != event.name}
            assert not others, f"{event.name} is asked for while {others} is there"


def check_same_cluster(history: Sequence[RayJobEvent]) -> None:
    """An attempt goes on where the last was, if that was promised, and its Ray job had failed."""
    state, promised = RAYJOB.initial, False
    for event in history:
        attempt = state.attempt
        if isinstance(event, RetryGranted):
            promised = event.keeps_cluster
            failed = state.entrypoint.status is JobStatus.FAILED
            assert failed or not promised, "its Ray job may be going on"
        if isinstance(event, ClusterGivenUp):
            assert promised, "what was not to stay cannot be given up"
            promised = False
        if isinstance(event, AttemptStarted) and not event.inferred:
            assert event.same_cluster == promised, event
            promised = False
        if isinstance(event, AttemptStarted) and event.same_cluster:
            assert attempt is not None
            assert event.cluster_name == attempt.cluster_name
            assert event.job_id != attempt.job_id, "a head takes each submission once"
        state = RAYJOB.evolve(state, event)


def check_step(before: RayJobState, event: RayJobEvent, after: RayJobState) -> None:
    """Invariants 4 and 6: what is final stays so; a selected RayCluster is never deleted."""
    if before.phase in FINAL:
        changed = [name for name in LIFE if getattr(before, name) != getattr(after, name)]
        assert not changed, f"{type(event).__name__} changes {changed} of a job that has ended"
        if isinstance(event, EffectRequested):
            assert event.kind in CLEANING_UP, event
        if isinstance(event, DecisionScheduled):
            assert event.kind in AFTER_THE_END, event
    if isinstance(event, EffectRequested) and event.kind is EffectKind.DELETE_CLUSTER:
        manifest = before.manifest
        assert manifest is not None
        assert manifest.spec.cluster_selector != event.name
        attempt = before.attempt
        shared = attempt is not None and attempt.selected and attempt.cluster_name == event.name
        assert not shared, "it was selected when the attempt began"
