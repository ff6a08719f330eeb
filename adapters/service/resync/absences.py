"""Asks by name for objects that the log knows and the watches do not show.

Objects go while nobody is watching. But a watch may also lag behind the log (another replica
created a RayCluster a moment ago), and a job must not fail because of that.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from jobledger.adapters.service.resync.earlier_forms import earlier_forms
from jobledger.adapters.service.resync.lookout import Look, Lookout
from jobledger.adapters.service.watches.job_listener import tell_job_gone
from jobledger.adapters.service.work.slots import Slot, Slots
from jobledger.core.errors import ClusterError, RequestForbidden
from jobledger.core.jobs.control.ownership import is_controlled_by
from jobledger.core.kinds import JobState, kind_of
from jobledger.core.ports.cluster import Resource
from jobledger.core.values.documents import Manifest, text
from jobledger.core.values.ids import StreamId
from jobledger.core.values.instants import Instant


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
            return self.lookout.no_answer(self.name, error)
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


def seek(lookout: Lookout, slots: Slots, slot: Slot) -> None:
    """Have the API server asked for what a job's state names and the watches do not show.

    And for what they show in an earlier form than the state knows.
    """
    stream = slot.stream_id

    def is_known() -> bool:
        return slots.held(stream) is not None or slots.finished(stream) is not None

    for looks in (absences, earlier_forms):
        for look in looks(lookout, stream, slot.view.state):
            lookout.questions.ask(stream, look.about, look, is_known)


def absences(lookout: Lookout, stream: StreamId, state: JobState) -> Iterator[Look]:
    """Yield looks for what a job's state names and the watches do not show."""
    identity, around, kind = state.identity, lookout.around, kind_of(state)
    if identity is None or kind.name not in lookout.kinds:
        return
    if around.live.job(identity.uid) is None:

        def tell(at: Instant) -> None:
            tell_job_gone(around, kind.name, stream, at)

        name = identity.name
        yield Absence(lookout, kind.resource, identity.namespace, name, identity.uid, tell)
        return
    yield from lookout.kinds[kind.name].absent(lookout, stream, state)
