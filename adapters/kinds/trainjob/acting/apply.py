"""Builds and applies a TrainJob's objects once, and never over an object of somebody else.

An object is put only where nothing has its name, or where the job's own has (`core.jobs.
ownership`). That it is so when the request arrives, and not only when somebody looked, is said in
the request itself: a new object is applied at a resourceVersion that no object ever has, which the
API server disregards if there is none of that name and takes for a conflict if there is; what is
there is applied at the UID and resourceVersion it was seen with.
"""

import base64
from collections.abc import Mapping
from dataclasses import dataclass, field

from jobledger.adapters.kinds.trainjob.acting.keys.curve_keys import CERTIFICATE, curve_certificate
from jobledger.adapters.kinds.trainjob.acting.keys.ssh_keys import new_ssh_keys
from jobledger.adapters.kinds.trainjob.installation import TrainInstallation
from jobledger.adapters.service.effects.admitted import (
    refuse_if_disowned,
    refuse_if_not_suspended_as_asked,
)
from jobledger.adapters.service.effects.context import (
    EffectFailed,
    SomebodyElses,
    World,
    exactly,
    is_of_an_earlier_job,
)
from jobledger.adapters.service.objects.kept_children import CachedRuntime
from jobledger.adapters.service.objects.object_cache import CachedJob, kept_as
from jobledger.core.errors import (
    ClusterError,
    ObjectChanged,
    ObjectExists,
    RequestForbidden,
    RequestInvalid,
)
from jobledger.core.jobs.control.ownership import in_the_way, is_controlled_by
from jobledger.core.ports.cluster import CONFIGMAPS, JOBSETS, Resource
from jobledger.core.trainjob.building.framework import ApplyRule, BuiltObject
from jobledger.core.trainjob.building.keep_order import as_it_stands
from jobledger.core.trainjob.building.outcomes import ApplyOutcome, write_outcome
from jobledger.core.trainjob.building.runtimes import INVALID
from jobledger.core.trainjob.names import FIELD_MANAGER
from jobledger.core.trainjob.plugins.trainer_status import AUTHORITY
from jobledger.core.trainjob.state import TrainJobState
from jobledger.core.values.documents import Json, Manifest, child, text

NO_OBJECTS_VERSION = "1"
"""A resourceVersion that no object has: etcd begins to count with it before it holds anything."""

_MAY_QUOTE = (RequestForbidden, RequestInvalid)
"""Refusals whose text somebody else's object may have got into: those of admission webhooks."""


NOT_ITS_SNAPSHOT = f"{INVALID}it is not controlled by this TrainJob: "
"""Upstream's words; the snapshot is the one object that is put while building."""


class ApplyFailed(EffectFailed):
    """The objects were not built, or not all applied."""

    def __init__(self, cause: str, outcome: ApplyOutcome, error: Exception | None = None) -> None:
        self.outcome = outcome
        super().__init__(cause, write_outcome(outcome), error)


@dataclass(slots=True)
class Work:
    """One build and apply on its way."""

    world: World
    job: CachedJob
    manifest: Manifest
    state: TrainJobState
    runtime: str = ""
    """Digest of the live runtime."""
    live: CachedRuntime | None = None
    """The live runtime, if there is one."""
    snapshot: bool = False
    quotable: list[Manifest] = field(default_factory=list)
    """What an error may quote besides what was built: own objects as they were found, new keys."""

    def failed(
        self, cause: str, *, building: bool, may_pass: bool, error: Exception | None = None
    ) -> ApplyFailed:
        """Return a failure with what is known by now."""
        outcome = ApplyOutcome(
            runtime=self.runtime,
            failed_building=building,
            may_pass=may_pass,
            snapshot=self.snapshot,
            builder=self.world.mapper.of(TrainInstallation).builder if building else "",
        )
        return ApplyFailed(cause, outcome, error)

    def get(self, resource: Resource, name: str, *, building: bool) -> Manifest | None:
        """Ask for an object of the job's namespace."""
        try:
            return self.world.cluster.get(resource, self.job.identity.namespace, name)
        except ClusterError as error:
            cause = f"{resource.kind} {self.job.identity.namespace}/{name}: {error}"
            raise self.failed(cause, building=building, may_pass=True, error=error) from error

    def is_own(self, found: Manifest) -> bool:
        """Return whether an object is the job's own."""
        return is_controlled_by(found, self.job.identity.uid)

    def known(self, resource: Resource, name: str, *, building: bool) -> Manifest | None:
        """Return an object as its watch tells of it; that it is in the way is asked for anew."""
        namespace = self.job.identity.namespace
        seen = self.world.live.child_named(kept_as(resource), namespace, name)
        found = seen.manifest if seen is not None else None
        if found is None or (self.is_own(found) and not text(found, *_LEAVING)):
            return found
        return self.get(resource, name, building=building)

    def refuse_if_taken(self, resource: Resource, found: Manifest, *, building: bool) -> None:
        """Raise `ApplyFailed` for an object that is not the job's own, or is being deleted.

        What goes by itself is tried again in a moment, before users are told of it.
        """
        is_garbage, goes = is_of_an_earlier_job(found, self.job), text(found, *_LEAVING) != ""
        if not self.is_own(found):
            cause = NOT_ITS_SNAPSHOT if building else ""
            cause += in_the_way(resource.kind, found, "TrainJob", is_garbage=is_garbage)
        elif goes:
            name = f"{self.job.identity.namespace}/{text(found, 'metadata', 'name')}"
            cause = f"{resource.kind} {name}: it is being deleted"
        else:
            self.quotable.append(found)
            return
        error = ObjectExists(cause) if goes or is_garbage else None
        raise self.failed(cause, building=building, may_pass=True, error=error)


_LEAVING = ("metadata", "deletionTimestamp")


def put(work: Work, item: BuiltObject, *, building: bool = False) -> tuple[Manifest, bool]:
    """Have a built object in its place; return it, and whether it was written.

    Nothing is forced but in the second try, on the job's own object at the version just seen:
    upstream takes back what others change in it.

    Raises:
        ApplyFailed: somebody else's object has its name, or the API server refuses it.
    """
    name = text(item.manifest, "metadata", "name")
    found = _first_look(work, item, name, building=building)
    conflict: ClusterError | None = None
    for is_second in (False, True):
        if found is not None:
            work.refuse_if_taken(item.resource, found, building=building)
            if not _is_due(work, item, found):
                return found, False
        try:
            return _sent(work, item, found, force=is_second and found is not None), True
        except (ObjectChanged, ObjectExists) as error:
            conflict = error
            found = work.get(item.resource, name, building=building)
        except SomebodyElses as error:
            raise work.failed(str(error), building=building, may_pass=True) from error
        except ClusterError as error:
            raise _refused(work, item, found, error, building=building) from error
    where = f"{item.resource.kind} {work.job.identity.namespace}/{name}"
    lost = ObjectChanged(f"{where}: refused twice, as if others changed it: {conflict}")
    raise work.failed(str(lost), building=building, may_pass=True, error=lost)


def _first_look(work: Work, item: BuiltObject, name: str, *, building: bool) -> Manifest | None:
    """Return what is there, as far as is known; None where nobody has made it yet.

    That nothing is there need not be true: then the request meets a conflict.
    """
    found = work.known(item.resource, name, building=building)
    if found is not None:
        return found
    made = work.state.jobset if item.resource == JOBSETS else work.state.created_once
    return work.get(item.resource, name, building=building) if made else None


def _is_due(work: Work, item: BuiltObject, found: Manifest) -> bool:
    """Return whether an own object that is there is applied again.

    Source: the rules of Trainer's builders, of which a running JobSet is the most important. There
    each change of a PodGroup of a suspended job is taken back at once; here the resume does it,
    which is the first time that it matters.
    """
    suspended = child(work.manifest, "spec").get("suspend") is True
    match item.rule:
        case ApplyRule.ALWAYS:
            return True
        case ApplyRule.IDLE:
            jobset = work.state.jobset
            return suspended or (jobset is not None and jobset.suspend)
        case ApplyRule.JOBSET:
            return suspended or child(found, "spec").get("suspend") is True
        case _:
            return False


def _sent(work: Work, item: BuiltObject, found: Manifest | None, *, force: bool) -> Manifest:
    metadata = child(item.manifest, "metadata")
    at: Mapping[str, Json] = {"resourceVersion": NO_OBJECTS_VERSION}
    manifest: Manifest = item.manifest
    if found is not None:
        at = child(exactly(found), "metadata")
        if item.resource == JOBSETS:
            manifest = {
                **manifest,
                "spec": as_it_stands(child(found, "spec"), child(manifest, "spec")),
            }
    manifest = {**manifest, "metadata": {**metadata, **at}}
    if item.keys == "ssh":
        manifest = {**manifest, "data": _new_keys()}
        work.quotable.append(manifest)
    if item.keys == "curve":
        manifest = {**manifest, "data": _curve_key(work)}
        work.quotable.append(manifest)
    if item.keys == "authority":
        manifest = {**manifest, "data": {AUTHORITY: _authority(work)}}
    cluster = work.world.cluster
    applied = cluster.apply(item.resource, manifest, field_manager=FIELD_MANAGER, force=force)
    if item.resource == JOBSETS and found is None:
        refuse_if_disowned(work.world, JOBSETS, applied, work.job)
    elif item.resource == JOBSETS:
        suspend = child(manifest, "spec").get("suspend") is True
        refuse_if_not_suspended_as_asked(applied, suspend=suspend)
    return applied


def _authority(work: Work) -> str:
    """Return by whom the certificate of the trainer-status server is signed (PEM)."""
    namespace, name = work.world.mapper.of(TrainInstallation).status_authority
    try:
        found = work.world.cluster.get(CONFIGMAPS, namespace, name)
    except ClusterError as error:
        cause = f"ConfigMap {namespace}/{name}: {error}"
        raise work.failed(cause, building=False, may_pass=True, error=error) from error
    if authority := text(found, "data", AUTHORITY):
        return authority
    cause = (
        f"ConfigMap {namespace}/{name} with {AUTHORITY} is not there: it is made by `jobledger "
        "trainer-status`, which has to run where JOBLEDGER_TRAINER_STATUS_URL is set"
    )
    raise work.failed(cause, building=False, may_pass=True)


def _curve_key(work: Work) -> Manifest:
    job = work.job.identity
    return {CERTIFICATE: _base64(curve_certificate(job.name, job.uid))}


def _new_keys() -> Manifest:
    keys = new_ssh_keys()
    return {"ssh-privatekey": _base64(keys.private), "ssh-publickey": _base64(keys.public)}


def _base64(content: str) -> str:
    return base64.b64encode(content.encode()).decode()


def _refused(
    work: Work, item: BuiltObject, found: Manifest | None, error: ClusterError, *, building: bool
) -> ApplyFailed:
    """Return the failure; in its place that somebody else's object is there, if there is one."""
    name = text(item.manifest, "metadata", "name")
    if found is None and isinstance(error, _MAY_QUOTE):
        there = work.get(item.resource, name, building=building)
        if there is not None and not work.is_own(there):
            cause = in_the_way(item.resource.kind, there, "TrainJob")
            return work.failed(cause, building=building, may_pass=True)
    cause = f"{item.resource.kind} {work.job.identity.namespace}/{name}: {error}"
    return work.failed(cause, building=building, may_pass=True, error=error)
