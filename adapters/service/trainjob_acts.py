"""How the effects of TrainJobs are done: building and applying the objects, deleting the JobSet.

Building and creating are told apart by where something goes wrong: finding the runtime, writing its
snapshot and every plugin belong to building; the objects that are built belong to creating.
"""

import base64
from collections.abc import Sequence
from dataclasses import dataclass, replace

import yaml

from adapters.service.acting import Done, SupersededEffect, World
from adapters.service.declared_secrets import secrets_of, secrets_of_parts
from adapters.service.live import LiveJob, LiveRuntime, pack
from adapters.service.runtime_env import parse_runtime_env
from adapters.service.ssh_keys import new_ssh_keys
from adapters.service.trainjob_sightings import runtime_digest
from core.errors import (
    ClusterError,
    ClusterUnreachable,
    ObjectChanged,
    RequestInvalid,
    RequestThrottled,
)
from core.jobs.effects import EffectKind, OpenEffect
from core.log.redaction import Redactor, digest, secrets_in
from core.ports.cluster import (
    CLUSTER_TRAINING_RUNTIMES,
    CONFIGMAPS,
    JOBSETS,
    TRAINING_RUNTIMES,
    Resource,
)
from core.trainjob.build import build, owned
from core.trainjob.framework import ApplyRule, BuildFailed, BuiltObject
from core.trainjob.names import FIELD_MANAGER, SNAPSHOT_KEY, snapshot_name
from core.trainjob.outcomes import ApplyOutcome, write_outcome
from core.trainjob.runtimes import (
    check_snapshot,
    content_of,
    not_found,
    snapshot_of,
    snapshotted,
    trainjob_owner,
)
from core.trainjob.spec import RuntimeRef, read_runtime_ref
from core.trainjob.state import TrainJobState
from core.values.documents import Json, Manifest, child, items, number, text

CAUSE_CHARACTERS_MAX = 1000
"""How much of a cause is kept, and shown in the condition's message."""

_QUICK = (ClusterUnreachable, RequestThrottled, ObjectChanged)
"""Errors that mostly pass within moments: they are tried again before they are told."""


class ApplyFailed(Exception):
    """The objects were not built, or not all applied."""

    def __init__(self, cause: str, outcome: ApplyOutcome, error: Exception | None = None) -> None:
        self.cause, self.outcome = cause, outcome
        self.error = error
        self.is_quick = isinstance(error, _QUICK)
        super().__init__(cause)


@dataclass(slots=True)
class _Work:
    """One build and apply on its way."""

    world: World
    job: LiveJob
    manifest: Manifest
    state: TrainJobState
    runtime: str = ""
    """Digest of the live runtime."""
    live: LiveRuntime | None = None
    """The live runtime, if there is one."""
    snapshot: bool = False

    def failed(
        self, cause: str, *, building: bool, may_pass: bool, error: Exception | None = None
    ) -> ApplyFailed:
        """Return a failure with what is known by now."""
        outcome = ApplyOutcome(
            runtime=self.runtime,
            failed_building=building,
            may_pass=may_pass,
            snapshot=self.snapshot,
        )
        return ApplyFailed(cause, outcome, error)

    def get(self, resource: Resource, name: str, *, building: bool) -> Manifest | None:
        """Ask for an object of the job's namespace."""
        try:
            return self.world.cluster.get(resource, self.job.identity.namespace, name)
        except ClusterError as error:
            cause = f"{resource.kind} {self.job.identity.namespace}/{name}: {error}"
            raise self.failed(cause, building=building, may_pass=True, error=error) from error

    def apply(self, resource: Resource, manifest: Manifest, *, building: bool) -> Manifest:
        """Apply an object, as upstream does."""
        try:
            return self.world.cluster.apply(resource, manifest, field_manager=FIELD_MANAGER)
        except ClusterError as error:
            name = f"{self.job.identity.namespace}/{text(manifest, 'metadata', 'name')}"
            may_pass = not isinstance(error, RequestInvalid)
            cause = f"{resource.kind} {name}: {error}"
            raise self.failed(cause, building=building, may_pass=may_pass, error=error) from error


def act_trainjob(world: World, job: LiveJob, effect: OpenEffect, state: TrainJobState) -> Done:
    """Do it.

    Raises:
        SupersededEffect: the live specification is not the one it was decided on.
        ApplyFailed: the objects cannot be built, or not all be applied.
        ClusterError: the JobSet cannot be deleted.
    """
    if effect.wanted.kind is EffectKind.DELETE_JOBSET:
        return _delete_jobset(world, job, effect)
    manifest = job.manifest
    if digest(world.door.redaction_key, child(manifest, "spec")) != effect.digest:
        raise SupersededEffect("the specification has changed since")
    work = _Work(world, job, manifest, state)
    try:
        runtime = _runtime(work)
        built = build(world.door.plugins, manifest, runtime)
    except BuildFailed as error:
        raise work.failed(_scrubbed(work, str(error)), building=True, may_pass=False) from error
    except ApplyFailed as error:
        raise work.failed(
            _scrubbed(work, error.cause),
            building=True,
            may_pass=error.outcome.may_pass,
            error=error.error,
        ) from error
    return _applied(work, built, runtime)


def _scrubbed(work: _Work, cause: str) -> str:
    """Return a cause without the secrets of the job and its runtime."""
    return _redactor(work, ()).text(cause, CAUSE_CHARACTERS_MAX)


def _redactor(work: _Work, documents: Sequence[Manifest]) -> Redactor:
    """Return what knows all that the job is built from; it knows so from now on."""
    secrets = secrets_of_parts(work.world.live, work.job)
    secrets |= work.live.secrets if work.live is not None else frozenset()
    secrets = secrets.union(*(secrets_in(document, None) for document in documents))
    known = work.world.live.learn(work.job.identity.uid, secrets)
    return known.redactor if known is not None else work.job.redactor.knowing(secrets)


def _runtime(work: _Work) -> Manifest:
    """Return the runtime to build from; it is snapshotted first, if it is not yet.

    Until everything was created once, a changed runtime is snapshotted anew.
    """
    world, job = work.world, work.job
    ref = read_runtime_ref(work.manifest)
    live = world.live.runtime(job.runtime)
    work.live, work.runtime = live, live.digest if live is not None else ""
    name = snapshot_name(job.identity.name)
    seen = world.live.child_named("ConfigMap", job.identity.namespace, name)
    snapshot = seen.manifest if seen is not None else None
    if snapshot is None and work.state.created_once:
        snapshot = work.get(CONFIGMAPS, name, building=True)
    if snapshot is not None:
        held, problem = parse_runtime_env(text(snapshot, "data", SNAPSHOT_KEY))
        runtime = check_snapshot(snapshot, job.identity.uid, ref, {} if problem else held)
        key = world.door.redaction_key
        same = live is None or digest(key, content_of(runtime)) == live.digest
        if work.state.created_once or same:
            return runtime
    if live is None:
        live = _asked_for(work, ref)
        work.live, work.runtime = live, live.digest
    runtime = snapshotted(live.manifest, ref)
    written = yaml.safe_dump(runtime, sort_keys=True, allow_unicode=True)
    made = BuiltObject(resource=CONFIGMAPS, manifest=snapshot_of(work.manifest, written))
    work.apply(CONFIGMAPS, owned(made, work.manifest), building=True)
    work.snapshot = True
    return runtime


def _asked_for(work: _Work, ref: RuntimeRef) -> LiveRuntime:
    """Ask for a runtime that no watch has told of: one kind's watch may lag behind another's."""
    resource = CLUSTER_TRAINING_RUNTIMES if ref.is_cluster_wide else TRAINING_RUNTIMES
    _, namespace, name = work.job.runtime
    try:
        found = work.world.cluster.get(resource, namespace, name)
    except ClusterError as error:
        cause = f"{resource.kind} {name}: {error}"
        raise work.failed(cause, building=True, may_pass=True, error=error) from error
    if found is None:
        raise work.failed(not_found(ref), building=True, may_pass=True)
    return LiveRuntime(
        version=text(found, "metadata", "resourceVersion"),
        digest=runtime_digest(work.world.door, found),
        packed=pack(found),
        secrets=secrets_of(found),
    )


def _applied(work: _Work, built: Sequence[BuiltObject], runtime: Manifest) -> Done:
    redactor = _redactor(work, [runtime, *(item.manifest for item in built)])
    names = [f"ConfigMap/{snapshot_name(work.job.identity.name)}"] if work.snapshot else []
    sent: dict[str, Json] = {}
    jobset: Manifest = {}
    try:
        for item in built:
            present = _present(work, item)
            if present is not None:
                jobset = present if item.resource == JOBSETS else jobset
                continue
            made = _with_keys(item)
            if made is not item:
                redactor = _redactor(work, [made.manifest])  # keys that were made this moment
            answer = work.apply(item.resource, made.manifest, building=False)
            jobset = answer if item.resource == JOBSETS else jobset
            names.append(item.name)
            sent[item.name] = redactor.document(item.manifest)
    except ApplyFailed as error:
        cause = redactor.text(error.cause, CAUSE_CHARACTERS_MAX)
        raise ApplyFailed(cause, error.outcome, error.error) from error
    outcome = ApplyOutcome(
        runtime=work.runtime,
        jobset_uid=text(jobset, "metadata", "uid"),
        jobset_generation=number(jobset, "metadata", "generation") or 0,
        jobset_suspend=child(jobset, "spec").get("suspend") is True,
        names=tuple(names),
        snapshot=work.snapshot,
    )
    uid = text(jobset, "metadata", "uid")
    return Done(uid=uid, sent=sent, details=write_outcome(outcome), already=not names)


def _present(work: _Work, item: BuiltObject) -> Manifest | None:
    """Return an object that is there and to be left alone; None if it is to be applied.

    Source: the rules of Trainer's builders, of which a running JobSet is the most important.
    """
    if item.rule is ApplyRule.ALWAYS:
        return None
    suspended = child(work.manifest, "spec").get("suspend") is True
    if item.rule is ApplyRule.IDLE and suspended:
        return None
    found = _found(work, item)
    if found is None:
        return None
    if item.rule is ApplyRule.JOBSET:
        _check_owner(work, item, found)
        own = child(found, "spec").get("suspend") is True
        return None if suspended or own else found
    return found


def _found(work: _Work, item: BuiltObject) -> Manifest | None:
    name = text(item.manifest, "metadata", "name")
    if item.resource == JOBSETS:
        seen = work.world.live.child_named("JobSet", work.job.identity.namespace, name)
        if seen is not None:
            return seen.manifest
        if work.state.jobset is None:
            return None  # nobody has made it yet, as far as the watch and the log can tell
    return work.get(item.resource, name, building=False)


def _check_owner(work: _Work, item: BuiltObject, found: Manifest) -> None:
    """Wait for the end of an object that belongs to another, or is being deleted."""
    name = f"{item.resource.kind} {work.job.identity.namespace}/{work.job.identity.name}"
    owners = items(found, "metadata", "ownerReferences")
    others = [
        text(owner, "name")
        for owner in owners
        if child(owner).get("controller") is True and text(owner, "uid") != work.job.identity.uid
    ]
    if others:
        cause = f"{name}: it is there and belongs to {others[0]}"
        raise work.failed(cause, building=False, may_pass=True)
    if text(found, "metadata", "deletionTimestamp"):
        raise work.failed(f"{name}: it is being deleted", building=False, may_pass=True)


def _with_keys(item: BuiltObject) -> BuiltObject:
    if item.keys != "ssh":
        return item
    keys = new_ssh_keys()
    data = {"ssh-privatekey": _base64(keys.private), "ssh-publickey": _base64(keys.public)}
    return replace(item, manifest={**item.manifest, "data": data})


def _base64(content: str) -> str:
    return base64.b64encode(content.encode()).decode()


def _delete_jobset(world: World, job: LiveJob, effect: OpenEffect) -> Done:
    """Delete the very JobSet of the job; where its UID is not known, look first."""
    namespace, name, uid = job.identity.namespace, effect.wanted.name, effect.wanted.uid
    if not uid:
        found = world.cluster.get(JOBSETS, namespace, name)
        if found is None or trainjob_owner(found) != job.identity.uid:
            return Done(gone=True, already=True)
        uid = text(found, "metadata", "uid")
    try:
        world.cluster.delete(JOBSETS, namespace, name, uid=uid)
    except ObjectChanged:
        found = world.cluster.get(JOBSETS, namespace, name)
        if found is not None and text(found, "metadata", "uid") == uid:
            raise
        return Done(uid=uid, gone=True, already=True)
    return Done(uid=uid)
