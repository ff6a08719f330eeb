"""Asks by name for what belongs to a TrainJob: not shown, shown as before, or before its end."""

from collections.abc import Iterator
from functools import partial

from msgspec.structs import replace

from jobledger.adapters.kinds.trainjob.installation import TrainInstallation
from jobledger.adapters.kinds.trainjob.watching.listeners import (
    DependentListener,
    tell_dependent_gone,
)
from jobledger.adapters.kinds.trainjob.watching.observations import see_jobset
from jobledger.adapters.service.objects.object_cache import CachedJob, kept_as
from jobledger.adapters.service.resync.absences import Absence
from jobledger.adapters.service.resync.earlier_forms import EarlierForm, come_back, earlier_child
from jobledger.adapters.service.resync.lookout import ChildLook, FreshLook, KindResync, Lookout
from jobledger.adapters.service.watches.event_handlers import EventHandlers
from jobledger.core.jobs.control.dormancy import is_dormant, is_leaving
from jobledger.core.jobs.identity import JobIdentity
from jobledger.core.kinds import JobObservation, JobState
from jobledger.core.ports.cluster import CONFIGMAPS, JOBSETS, SECRETS, Resource
from jobledger.core.trainjob.names import snapshot_name
from jobledger.core.trainjob.state import TrainJobState, is_final, waits_for_snapshot
from jobledger.core.values.documents import Manifest
from jobledger.core.values.ids import StreamId
from jobledger.core.values.instants import Instant


def _absent(lookout: Lookout, stream: StreamId, state: JobState) -> Iterator[Absence]:
    """Yield looks for the JobSet, the other objects, and the sources of conditions."""
    around, identity = lookout.around, state.identity
    assert isinstance(state, TrainJobState), "a stream is one job, of one kind"
    if identity is None:
        return
    jobset, where = state.jobset, identity.namespace
    whose = identity.uid
    if jobset and jobset.uid and not around.live.has_child("JobSet", jobset.uid, whose):
        belonging = ("JobSet", jobset.name, jobset.uid)

        def vanished(at: Instant) -> None:
            tell_dependent_gone(around, stream, belonging, at)

        yield Absence(lookout, JOBSETS, where, jobset.name, jobset.uid, vanished, whose)
    else:
        yield from _parts(lookout, stream, identity, state)
    yield from _sources_of_conditions(lookout, stream, identity, state)


def _sources_of_conditions(
    lookout: Lookout, stream: StreamId, identity: JobIdentity, state: TrainJobState
) -> Iterator[Absence]:
    """Yield the objects that plugins have told of; JobSets are asked for in any case."""
    around, plugins = lookout.around, lookout.around.mapper.of(TrainInstallation).plugins
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
    tell_dependent_gone(around, stream, belonging, at, built=built)


def _parts(
    lookout: Lookout, stream: StreamId, identity: JobIdentity, state: TrainJobState
) -> Iterator[Absence]:
    """Yield what was made for a TrainJob besides its JobSet and is not shown.

    Secrets never are: nobody watches them, so each look asks for the one of the name. Of the
    others it is what somebody deleted while nobody was watching; and of a broken snapshot, that
    it is gone is what the job waits for.
    """
    if is_dormant(state) or is_final(state) or is_leaving(state):
        return
    parts = () if state.rebuild else state.parts
    if waits_for_snapshot(state):
        parts = (*parts, f"{CONFIGMAPS.kind}/{snapshot_name(identity.name)}")
    plugins = lookout.around.mapper.of(TrainInstallation).plugins
    built = {CONFIGMAPS, SECRETS, *(one for plugin in plugins for one in plugin.watched)}
    for part in dict.fromkeys(parts):
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
    tell_dependent_gone(around, stream, (kind, name, ""), at)


def _earlier(lookout: Lookout, stream: StreamId, state: JobState) -> Iterator[EarlierForm]:
    """Yield looks for a JobSet that is shown as it was before, or though the log has it as gone."""
    del stream
    assert isinstance(state, TrainJobState), "a stream is one job, of one kind"
    child, jobset = (JOBSETS.kind, JOBSETS), state.jobset

    def see(job: CachedJob, found: Manifest, at: Instant, instead_of: str) -> JobObservation:
        return replace(see_jobset(job, found, at), instead_of=instead_of)

    yield from come_back(lookout, state, child, see)
    if jobset is not None:
        known = jobset.name, jobset.uid, jobset.version
        tell = DependentListener(lookout.around, JOBSETS.kind).seen
        yield from earlier_child(lookout, state, child, known, tell, see)


def _look_first(lookout: Lookout, stream: StreamId, state: JobState, look: FreshLook) -> bool:
    """Ask for the JobSet; what has completed has completed."""
    if state.identity is None:
        return False
    tell = DependentListener(lookout.around, JOBSETS.kind).seen
    question = ChildLook(lookout, JOBSETS, state.identity, tell, look)
    lookout.questions.ask(stream, look.about, question, look.is_pending)
    return True


TRAINJOB_RESYNC = KindResync(absent=_absent, earlier=_earlier, look_first=_look_first)
