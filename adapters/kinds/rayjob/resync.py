"""Asks by name for what belongs to a RayJob and is not shown, and for its head before its end."""

import dataclasses
from collections.abc import Iterator

from msgspec.structs import replace

from jobledger.adapters.kinds.rayjob.watching.listeners import (
    ChildKind,
    tell_child,
    tell_child_gone,
)
from jobledger.adapters.kinds.rayjob.watching.observations import see_child
from jobledger.adapters.service.objects.object_cache import CachedJob
from jobledger.adapters.service.resync.absences import Absence
from jobledger.adapters.service.resync.earlier_forms import come_back
from jobledger.adapters.service.resync.lookout import FreshLook, KindResync, Look, Lookout
from jobledger.adapters.service.watches.event_handlers import EventHandlers
from jobledger.core.jobs.identity import JobIdentity
from jobledger.core.kinds import JobObservation, JobState, kind_of
from jobledger.core.ports.cluster import (
    BATCH_JOBS,
    PODS,
    RAYCLUSTERS,
    SERVICES,
    VOLCANO_POD_GROUPS,
    Resource,
)
from jobledger.core.rayjob.observations.observations import HeadPodSeen, PartGone
from jobledger.core.rayjob.parts import POD_GROUP, SERVICE, needed_parts
from jobledger.core.rayjob.phases import Phase
from jobledger.core.rayjob.state import RayJobState, selects_cluster, standing
from jobledger.core.values.documents import Manifest
from jobledger.core.values.ids import StreamId, observation_id
from jobledger.core.values.instants import Instant

_RESOURCES: dict[ChildKind, Resource] = {
    "RayCluster": RAYCLUSTERS,
    "Job": BATCH_JOBS,
    "Pod": PODS,
}

_COME_BACK: tuple[ChildKind, ...] = ("RayCluster", "Job")
"""Children that cost something while they stand; a Pod goes with its RayCluster."""

_PARTS: dict[str, Resource] = {SERVICE: SERVICES, POD_GROUP: VOLCANO_POD_GROUPS}


def _absent(lookout: Lookout, stream: StreamId, state: JobState) -> Iterator[Absence]:
    """Yield looks for the RayClusters, submitters and head Pods that the log knows."""
    identity, around = state.identity, lookout.around
    assert isinstance(state, RayJobState), "a stream is one job, of one kind"
    if identity is None:
        return
    known: list[tuple[ChildKind, str, str]] = [
        ("RayCluster", item.name, item.uid)
        for item in (*([state.cluster] if state.cluster else []), *state.orphans)
    ]
    submitters = (state.submitter, state.orphan_submitter)
    known += [("Job", item.name, item.uid) for item in submitters if item is not None]
    if state.head is not None:
        known.append(("Pod", state.head.name, state.head.uid))
    for kind, name, uid in known:
        is_anybodys = kind == "Pod" or (kind == "RayCluster" and selects_cluster(state))
        whose = "" if is_anybodys else identity.uid
        if _is_absent(around, identity, state, (kind, name, uid), whose):
            absence = _of_child(lookout, stream, identity, kind, (name, uid))
            yield dataclasses.replace(absence, owner=whose)
    yield from _parts(lookout, stream, identity, state)


def _parts(
    lookout: Lookout, stream: StreamId, identity: JobIdentity, state: RayJobState
) -> Iterator[Absence]:
    """Yield what was made for a RayJob besides what it runs on: nobody watches it."""
    for kind, name in needed_parts(state):

        def tell(at: Instant, kind: str = kind, name: str = name) -> None:
            mark = observation_id(stream, "part gone", kind, name)
            lookout.around.inbox.put(stream, PartGone(id=mark, at=at, kind=kind, name=name))

        where, whose = identity.namespace, identity.uid
        yield Absence(lookout, _PARTS[kind], where, name, "", tell, whose, is_optional=True)


def _is_absent(
    around: EventHandlers,
    identity: JobIdentity,
    state: RayJobState,
    known: tuple[ChildKind, str, str],
    whose: str,
) -> bool:
    """Return whether a child (kind, name, UID) is not shown as that of `whose`, if any.

    One that only a status named has no UID.
    """
    kind, name, uid = known
    if uid:
        return not around.live.has_child(kind, uid, whose)
    in_use = kind == "RayCluster" and standing(state) in {Phase.WAITING, Phase.RUNNING}
    there = around.live.child_named(kind, identity.namespace, name)
    is_its = there is not None and (there.owner_uid == identity.uid or selects_cluster(state))
    return in_use and not is_its


def _of_child(
    lookout: Lookout,
    stream: StreamId,
    identity: JobIdentity,
    kind: ChildKind,
    child: tuple[str, str],
) -> Absence:
    name, uid = child

    def tell(at: Instant) -> None:
        tell_child_gone(lookout.around, kind, stream, name, uid, at)
        job = lookout.around.live.job(identity.uid)
        other = lookout.around.live.child_named(kind, identity.namespace, name)
        if job is not None and other is not None:  # it has taken the place
            tell_child(lookout.around, kind, job, other.manifest, at)

    return Absence(lookout, _RESOURCES[kind], identity.namespace, name, uid, tell)


def _earlier(lookout: Lookout, stream: StreamId, state: JobState) -> Iterator[Look]:
    """Yield looks for children that are shown though the log knows them to be gone.

    The log compares no versions of them, so no form of one that is there is an earlier one.
    """
    for kind in _COME_BACK:

        def see(
            job: CachedJob, found: Manifest, at: Instant, instead_of: str, kind: str = kind
        ) -> JobObservation:
            about = stream, job.identity.uid
            seen = see_child(lookout.around.mapper, kind, about, found, job.redactor, at)
            assert not isinstance(seen, HeadPodSeen), "heads are not among `_COME_BACK`"
            return replace(seen, instead_of=instead_of)

        yield from come_back(lookout, state, (kind, _RESOURCES[kind]), see)


def _look_first(lookout: Lookout, stream: StreamId, state: JobState, look: FreshLook) -> bool:
    """Ask the head at once; what it answers is told before the decision is."""
    return lookout.followers[kind_of(state).name].look(stream, look.then)


RAYJOB_RESYNC = KindResync(absent=_absent, earlier=_earlier, look_first=_look_first)
