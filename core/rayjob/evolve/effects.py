"""Applies events of effects to the state of a RayJob."""

from typing import assert_never

from msgspec.structs import replace

from jobledger.core.jobs.events import (
    EffectFailed,
    EffectFaltered,
    EffectRequested,
    EffectSucceeded,
    EffectSuperseded,
)
from jobledger.core.jobs.evolve.open_work import (
    effect_of,
    opened,
    refused_once_more,
    with_trouble,
    without_effect,
)
from jobledger.core.jobs.evolve.shared_events import effect_done
from jobledger.core.jobs.gone import remember_gone
from jobledger.core.jobs.identity import is_another
from jobledger.core.jobs.pending.effects import EffectKey, EffectKind, OpenEffect
from jobledger.core.jobs.pending.pacing import done_once_more
from jobledger.core.rayjob import names
from jobledger.core.rayjob.phases import SPEECHLESS
from jobledger.core.rayjob.spec.spec import SubmissionMode
from jobledger.core.rayjob.state import KnownCluster, KnownSubmitter, RayJobState
from jobledger.core.values.documents import text
from jobledger.core.values.ids import EffectId

_MODE_FIXING = frozenset({EffectKind.CREATE_CLUSTER, EffectKind.FIND_CLUSTER})


def effect_requested(state: RayJobState, event: EffectRequested) -> RayJobState:
    """Return the state with the effect open."""
    state = replace(state, effects=(*state.effects, opened(event)))
    return _with_mode_fixed(state) if event.kind in _MODE_FIXING else state


def _with_mode_fixed(state: RayJobState) -> RayJobState:
    """Return the state whose attempt goes the way of the manifest that its RayCluster is made from.

    A submitter beside the head is a part of the RayCluster, so with this the way is fixed.
    """
    attempt, manifest, identity = state.attempt, state.manifest, state.identity
    if attempt is None or manifest is None or identity is None or attempt.mode is None:
        return state
    mode = manifest.spec.submission_mode
    if mode is attempt.mode:
        return state
    job_id = attempt.job_id
    if mode is SubmissionMode.INTERACTIVE:
        job_id = ""
    elif attempt.mode is SubmissionMode.INTERACTIVE:
        derived = names.submission_id(identity.name, identity.uid, attempt.number)
        job_id = manifest.spec.job_id or derived
    return replace(state, attempt=replace(attempt, mode=mode, job_id=job_id))


def effect_faltered(state: RayJobState, event: EffectFaltered) -> RayJobState:
    """Return the state with the trouble noted; a head that takes no submission is a silent head."""
    state = replace(state, effects=with_trouble(state.effects, event))
    if event.kind is not EffectKind.SUBMIT_ENTRYPOINT:
        return state
    since = state.entrypoint.silent_since or event.at
    silent = replace(state.entrypoint, silent_since=since, trouble=event.trouble)
    return replace(state, entrypoint=silent)


def effect_failed(state: RayJobState, event: EffectFailed) -> RayJobState:
    """Return the state with the effect refused, to be tried again after a pause."""
    state = _closed(state, event.effect_id)
    attempt = state.attempt
    if event.kind is EffectKind.STOP_ENTRYPOINT:
        tried = replace(attempt, stop_tried=True) if attempt is not None else None
        return replace(state, attempt=tried)
    if event.kind is EffectKind.SUBMIT_ENTRYPOINT:
        refused = replace(attempt, submit_refused=event.trouble) if attempt is not None else None
        return replace(state, attempt=refused)
    if event.kind is EffectKind.FIND_CLUSTER and state.cluster is not None and state.cluster.uid:
        return state  # it has come meanwhile
    message = event.trouble if state.phase in SPEECHLESS else state.message
    return replace(state, refused=refused_once_more(state.refused, event), message=message)


def effect_superseded(state: RayJobState, event: EffectSuperseded) -> RayJobState:
    """Return the state without the effect.

    What may have been created on the way counts as there.
    """
    effect = effect_of(state.effects, event.effect_id)
    state = _closed(state, event.effect_id)
    attempt = state.attempt
    if effect is not None and not event.sent:
        return _unsent(state, effect, event)
    if effect is None or attempt is None or effect.attempt != attempt.number:
        return state
    if event.kind is EffectKind.CREATE_CLUSTER and state.cluster is None:
        return replace(state, cluster=KnownCluster(name=event.name))
    if event.kind is EffectKind.CREATE_SUBMITTER and state.submitter is None:
        return replace(state, submitter=KnownSubmitter(name=event.name))
    return state


def _unsent(state: RayJobState, effect: OpenEffect, event: EffectSuperseded) -> RayJobState:
    """Return the state in which what was not sent waits for the specification that is there."""
    if state.manifest is None or effect.digest != state.manifest.digest:
        return state  # that has come meanwhile
    key = effect.desired.key
    return replace(state, repeated=done_once_more(state.repeated, key, event.at, unsent=True))


def effect_succeeded(state: RayJobState, event: EffectSucceeded) -> RayJobState:  # noqa: C901, PLR0911, PLR0912 one case per kind
    """Return the state with what the effect brought about."""
    effect = effect_of(state.effects, event.effect_id)
    if state.refused:
        state = _without_its_words(state, (event.kind, event.name))
    state = effect_done(state, event)
    attempt = state.attempt
    match event.kind:
        case EffectKind.ADD_FINALIZER | EffectKind.REMOVE_FINALIZER:
            present, manifest = event.kind is EffectKind.ADD_FINALIZER, state.manifest
            kept = replace(manifest, finalizer=present) if manifest is not None else None
            return replace(state, manifest=kept)
        case EffectKind.CREATE_CLUSTER:
            return _cluster_created(state, event)
        case EffectKind.CREATE_SUBMITTER:
            return _submitter_created(state, event)
        case EffectKind.DELETE_CLUSTER:
            return _cluster_deleted(_found_gone(state, event), event)
        case EffectKind.DELETE_SUBMITTER:
            return _submitter_deleted(_found_gone(state, event), event)
        case EffectKind.SUBMIT_ENTRYPOINT:
            taken = replace(attempt, submitted=True) if attempt is not None else None
            heard = replace(state.entrypoint, silent_since=None, trouble="")
            return replace(state, attempt=taken, entrypoint=heard)
        case EffectKind.STOP_ENTRYPOINT:
            tried = replace(attempt, stop_tried=True) if attempt is not None else None
            return replace(state, attempt=tried)
        case EffectKind.FIND_CLUSTER:
            return _cluster_found(state, event)
        case EffectKind.CREATE_SERVICE | EffectKind.UPDATE_SERVICE:
            return replace(state, service_leads_to=_leads_to(state, event))
        case EffectKind.APPLY_POD_GROUP:
            grouped = replace(attempt, pod_group=True) if attempt is not None else None
            return replace(state, attempt=grouped, pod_group_held=True, pod_group_reduced=False)
        case EffectKind.CLEAR_POD_GROUP:
            if effect is not None and effect.desired.uid:  # of a RayCluster that stays
                return replace(state, pod_group_reduced=True)
            return replace(state, pod_group_held=False)
        case EffectKind.SUSPEND_WORKERS:
            if event.gone:
                return remember_gone(replace(state, cluster=None), event.uid)
            return replace(state, workers_suspended=True, pod_group_reduced=False)
        case EffectKind.DELETE_JOB:
            return replace(state, job_delete_asked=True)
        case EffectKind.APPLY_OBJECTS | EffectKind.DELETE_JOBSET:
            return state  # of TrainJobs
        case EffectKind.CREATE_ATTEMPT_JOB | EffectKind.DELETE_ATTEMPT_JOB:
            return state  # of Jobs, as the next two
        case EffectKind.SUSPEND_ATTEMPT_JOB | EffectKind.RESUME_ATTEMPT_JOB:
            return state
        case _:
            assert_never(event.kind)


def _without_its_words(state: RayJobState, key: EffectKey) -> RayJobState:
    """Return the state whose message is no more why a piece of work was refused."""
    told = any(item.key == key and item.trouble == state.message for item in state.refused)
    return replace(state, message="") if told and state.phase in SPEECHLESS else state


def _closed(state: RayJobState, effect_id: EffectId) -> RayJobState:
    return replace(state, effects=without_effect(state.effects, effect_id))


def _leads_to(state: RayJobState, event: EffectSucceeded) -> str:
    """Return where the Service of the job's head leads; where nothing is said, as intended."""
    if event.gone or state.attempt is None:
        return ""
    return text(event.sent, names.LEADS_TO) or state.attempt.cluster_name


def _cluster_found(state: RayJobState, event: EffectSucceeded) -> RayJobState:
    """Return the state with the selected RayCluster; of one that is known to be there, nothing."""
    known = state.cluster
    if known is not None and (known.uid or known.name != event.name):
        return state
    found = known if known is not None else KnownCluster(name=event.name)
    return replace(state, cluster=replace(found, uid=event.uid))


def _cluster_created(state: RayJobState, event: EffectSucceeded) -> RayJobState:
    """Return the state with the RayCluster; another of its name must have gone before."""
    current = state.attempt is not None and state.attempt.cluster_name == event.name
    before = state.cluster.uid if state.cluster is not None else ""
    if not current or event.uid in {"", before, *state.gone}:
        return state
    known = replace(state, cluster=KnownCluster(name=event.name, uid=event.uid))
    return remember_gone(known, before)


def _submitter_created(state: RayJobState, event: EffectSucceeded) -> RayJobState:
    """Return the state with the submitter; another of its name must have gone before."""
    before = state.submitter.uid if state.submitter is not None else ""
    if event.uid in {"", before, *state.gone}:
        return state
    known = replace(state, submitter=KnownSubmitter(name=event.name, uid=event.uid))
    return remember_gone(known, before)


def _found_gone(state: RayJobState, event: EffectSucceeded) -> RayJobState:
    """Return the state in which what was to be deleted had gone before, whoever asked it to."""
    if not event.gone or event.uid in state.gone:
        return state
    return replace(state, lost_children=True)


def _cluster_deleted(state: RayJobState, event: EffectSucceeded) -> RayJobState:
    known = state.cluster
    is_gone = event.gone or event.uid in state.gone  # the watch may have been quicker
    is_orphan = any(orphan.uid == event.uid for orphan in state.orphans)
    if known is not None and known.name == event.name and not is_orphan:
        if is_another(known.uid, event.uid):  # it came before
            return remember_gone(state, event.uid) if is_gone else state
        if is_gone:
            return remember_gone(replace(state, cluster=None), known.uid)
        return replace(state, cluster=replace(known, uid=known.uid or event.uid, delete_asked=True))
    if is_gone:
        left = tuple(orphan for orphan in state.orphans if orphan.uid != event.uid)
        return remember_gone(replace(state, orphans=left), event.uid)
    asked = tuple(
        replace(orphan, delete_asked=True) if orphan.uid == event.uid else orphan
        for orphan in state.orphans
    )
    return replace(state, orphans=asked)


def _submitter_deleted(state: RayJobState, event: EffectSucceeded) -> RayJobState:
    known, orphan = state.submitter, state.orphan_submitter
    is_gone = event.gone or event.uid in state.gone
    if orphan is not None and orphan.uid == event.uid:
        if is_gone:
            return remember_gone(replace(state, orphan_submitter=None), orphan.uid)
        return replace(state, orphan_submitter=replace(orphan, delete_asked=True))
    if known is None:
        return state
    if is_another(known.uid, event.uid):  # it came before
        return remember_gone(state, event.uid) if is_gone else state
    if is_gone:
        return remember_gone(replace(state, submitter=None), known.uid)
    return replace(state, submitter=replace(known, uid=known.uid or event.uid, delete_asked=True))
