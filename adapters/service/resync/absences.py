"""Asks by name for objects that the log knows and the watches do not show.

Objects go while nobody is watching. But a watch may also lag behind the log (another replica
created a RayCluster a moment ago), and a job must not fail because of that.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial

from jobledger.adapters.service.objects.object_cache import kept_as
from jobledger.adapters.service.resync.earlier_forms import earlier_forms
from jobledger.adapters.service.resync.lookout import Lookout
from jobledger.adapters.service.watches.event_handlers import ChildKind, EventHandlers
from jobledger.adapters.service.watches.rayjob_handlers import (
    tell_child,
    tell_child_gone,
    tell_job_gone,
)
from jobledger.adapters.service.watches.trainjob_handlers import (
    tell_belonging_gone,
    tell_trainjob_gone,
)
from jobledger.adapters.service.work.questions import Questions
from jobledger.adapters.service.work.slots import Slot, Slots
from jobledger.adapters.telemetry.logging import get_logger
from jobledger.core.errors import ClusterError, RequestForbidden
from jobledger.core.jobs.control.ownership import is_controlled_by
from jobledger.core.kinds import JobState
from jobledger.core.ports.cluster import (
    BATCH_JOBS,
    CONFIGMAPS,
    JOBSETS,
    PODS,
    RAYCLUSTERS,
    RAYJOBS,
    SECRETS,
    TRAINJOBS,
    Resource,
)
from jobledger.core.rayjob.observations.observations import JobIdentity
from jobledger.core.rayjob.phases import Phase
from jobledger.core.rayjob.state import RayJobState, selects_cluster, standing
from jobledger.core.trainjob.state import TrainJobState, is_dormant, is_final, is_leaving
from jobledger.core.values.documents import Manifest, text
from jobledger.core.values.ids import StreamId
from jobledger.core.values.instants import Instant

log = get_logger(__name__)

_RESOURCES: dict[ChildKind, Resource] = {
    "RayCluster": RAYCLUSTERS,
    "Job": BATCH_JOBS,
    "Pod": PODS,
}


@dataclass(frozen=True, slots=True)
class Absence:
    """An object that is not shown. Calling it is a question."""

    lookout: Lookout
    resource: Resource
    namespace: str
    name: str
    uid: str
    tell: Callable[[Instant], None]
    owner: str = ""
    """UID of what must control it; empty where the object may be anybody's."""
    is_optional: bool = False
    """Whether it may be that its kind may not be read: then nobody knows, and that is an answer."""
    or_else: tuple[Resource, ...] = ()
    """Other kinds of which it may be: the log has the bare kind, which two groups may have."""

    @property
    def about(self) -> str:
        """Return what is asked for; of a job that is never twice the same."""
        return f"{self.resource.plural}/{self.name}/{self.uid}"

    def __call__(self) -> bool:
        """Ask for the object, and tell if it is gone; return whether there was an answer."""
        try:
            is_there = any(self._is_there(one) for one in (self.resource, *self.or_else))
        except ClusterError as error:
            if self.is_optional and isinstance(error, RequestForbidden):
                return True
            log.warning("absence_unclear", name=self.name, error=str(error))
            return False
        if not is_there:
            self.tell(self.lookout.clock.now())
        return True

    def _is_there(self, resource: Resource) -> bool:
        found = self.lookout.cluster.get(resource, self.namespace, self.name)
        return found is not None and self._is_it(found)

    def _is_it(self, found: Manifest) -> bool:
        """Return whether what has the name is the object, not somebody else's of its name."""
        is_same = not self.uid or text(found, "metadata", "uid") == self.uid
        return is_same and (not self.owner or is_controlled_by(found, self.owner))


def seek(lookout: Lookout, questions: Questions, slots: Slots, slot: Slot) -> None:
    """Have the API server asked for what a job's state names and the watches do not show.

    And for what they show in an earlier form than the state knows.
    """
    stream = slot.stream_id

    def is_known() -> bool:
        return slots.held(stream) is not None or slots.finished(stream) is not None

    for absence in absences(lookout, stream, slot.view.state):
        questions.ask(stream, absence.about, absence, is_known)
    for earlier in earlier_forms(lookout, stream, slot.view.state):
        questions.ask(stream, earlier.about, earlier, is_known)


def absences(lookout: Lookout, stream: StreamId, state: JobState) -> Iterator[Absence]:
    """Yield what a job's state names and the watches do not show."""
    identity, around = state.identity, lookout.around
    if identity is None:
        return
    if isinstance(state, TrainJobState):
        yield from _of_trainjob(lookout, stream, identity, state)
        return
    if around.live.job(identity.uid) is None:
        yield _of_job(lookout, stream, identity)
        return
    known: list[tuple[ChildKind, str, str]] = [
        ("RayCluster", item.name, item.uid)
        for item in (*([state.cluster] if state.cluster else []), *state.strays)
    ]
    submitters = (state.submitter, state.stray_submitter)
    known += [("Job", item.name, item.uid) for item in submitters if item is not None]
    if state.head is not None:
        known.append(("Pod", state.head.name, state.head.uid))
    for kind, name, uid in known:
        if _is_absent(around, identity, state, kind, name, uid):
            absence = _of_child(lookout, stream, identity, kind, (name, uid))
            anybodys = uid or kind != "RayCluster" or selects_cluster(state)
            yield absence if anybodys else replace(absence, owner=identity.uid)


def _is_absent(
    around: EventHandlers,
    identity: JobIdentity,
    state: RayJobState,
    kind: ChildKind,
    name: str,
    uid: str,
) -> bool:
    """Return whether a child is not shown; one that only a status named has no UID."""
    if uid:
        return not around.live.has_child(kind, uid)
    in_use = kind == "RayCluster" and standing(state) in {Phase.WAITING, Phase.RUNNING}
    there = around.live.child_named(kind, identity.namespace, name)
    is_its = there is not None and (there.owner_uid == identity.uid or selects_cluster(state))
    return in_use and not is_its


def _of_trainjob(
    lookout: Lookout, stream: StreamId, identity: JobIdentity, state: TrainJobState
) -> Iterator[Absence]:
    around, jobset = lookout.around, state.jobset
    where, name = identity.namespace, identity.name
    if around.live.job(identity.uid) is None:

        def gone(at: Instant) -> None:
            tell_trainjob_gone(around, stream, at)

        yield Absence(lookout, TRAINJOBS, where, name, identity.uid, gone)
        return
    if jobset is not None and jobset.uid and not around.live.has_child("JobSet", jobset.uid):
        belonging = ("JobSet", jobset.name, jobset.uid)

        def vanished(at: Instant) -> None:
            tell_belonging_gone(around, stream, belonging, at)

        yield Absence(lookout, JOBSETS, where, jobset.name, jobset.uid, vanished)
    else:
        yield from _parts(lookout, stream, identity, state)
    yield from _sources_of_conditions(lookout, stream, identity, state)


def _sources_of_conditions(
    lookout: Lookout, stream: StreamId, identity: JobIdentity, state: TrainJobState
) -> Iterator[Absence]:
    """Yield the objects that plugins have told of; JobSets are asked for in any case."""
    around, plugins = lookout.around, lookout.around.mapper.plugins
    built = {resource for plugin in plugins for resource in (*plugin.watched, CONFIGMAPS)}
    kinds = {kept_as(one): one for plugin in plugins for one in plugin.conditions_from}
    for source in {one.source.uid: one.source for one in state.contributions}.values():
        resource = kinds.get(source.kind)
        if resource in (None, JOBSETS) or around.live.has_child(source.kind, source.uid):
            continue
        belonging, is_built = (source.kind, source.name, source.uid), resource in built
        tell = partial(_tell_gone, around, stream, belonging, is_built)
        yield Absence(lookout, resource, identity.namespace, source.name, source.uid, tell)


def _tell_gone(
    around: EventHandlers,
    stream: StreamId,
    belonging: tuple[str, str, str],
    built: bool,  # noqa: FBT001 bound by place
    at: Instant,
) -> None:
    tell_belonging_gone(around, stream, belonging, at, built=built)


def _parts(
    lookout: Lookout, stream: StreamId, identity: JobIdentity, state: TrainJobState
) -> Iterator[Absence]:
    """Yield what was made for a TrainJob besides its JobSet and is not shown.

    Secrets never are: nobody watches them, so each look asks for the one of the name. Of the
    others it is what somebody deleted while nobody was watching.
    """
    if is_dormant(state) or is_final(state) or is_leaving(state) or state.rebuild:
        return
    plugins = lookout.around.mapper.plugins
    built = {CONFIGMAPS, SECRETS, *(one for plugin in plugins for one in plugin.watched)}
    for part in state.parts:
        kind, _, name = part.partition("/")
        kinds = sorted((one for one in built if one.kind == kind), key=lambda one: one.group)
        if kinds and not any(_is_shown(lookout.around, identity, one, name) for one in kinds):
            gone = partial(_tell_part_gone, lookout.around, stream, (kept_as(kinds[0]), name))
            where, whose = identity.namespace, identity.uid
            first, *others = kinds
            yield Absence(
                lookout,
                first,
                where,
                name,
                "",
                gone,
                whose,
                is_optional=True,
                or_else=tuple(others),
            )


def _is_shown(around: EventHandlers, identity: JobIdentity, resource: Resource, name: str) -> bool:
    """Return whether a watch shows an object of that name which is the job's own."""
    shown = around.live.child_named(kept_as(resource), identity.namespace, name)
    return shown is not None and shown.owner_uid == identity.uid


def _tell_part_gone(
    around: EventHandlers, stream: StreamId, part: tuple[str, str], at: Instant
) -> None:
    kind, name = part
    tell_belonging_gone(around, stream, (kind, name, ""), at)


def _of_job(lookout: Lookout, stream: StreamId, identity: JobIdentity) -> Absence:
    def tell(at: Instant) -> None:
        tell_job_gone(lookout.around, stream, at)

    return Absence(lookout, RAYJOBS, identity.namespace, identity.name, identity.uid, tell)


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
