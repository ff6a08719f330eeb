"""What looking for objects by name needs, and what each kind of job is looked for by."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Protocol

from jobledger.adapters.service.followers import Follower
from jobledger.adapters.service.watches.event_handlers import EventHandlers
from jobledger.adapters.service.work.questions import Questions
from jobledger.adapters.telemetry.repeated import Repeated
from jobledger.core.errors import ClusterError
from jobledger.core.jobs.identity import JobIdentity
from jobledger.core.kinds import JobState
from jobledger.core.ports.clock import Clock
from jobledger.core.ports.cluster import Cluster, Resource
from jobledger.core.values.documents import Manifest
from jobledger.core.values.ids import StreamId
from jobledger.core.values.instants import Instant


class Look(Protocol):
    """A question to the API server about one object."""

    @property
    def about(self) -> str:
        """Return what is asked for; of a job that is never twice the same."""

    def __call__(self) -> bool:
        """Ask, and tell what came back; return whether there was an answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FreshLook:
    """A look that is to come before a due decision is judged."""

    about: str
    is_pending: Callable[[], bool]
    """Whether the decision still waits for it."""
    then: Callable[[], None]
    """Is called once the answer has been told."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KindResync:
    """What is asked for by name of one kind of job."""

    absent: Callable[["Lookout", StreamId, JobState], Iterator[Look]]
    """Yields looks for what the state names and the watches do not show; not the job itself."""
    earlier: Callable[["Lookout", StreamId, JobState], Iterator[Look]]
    """Yields looks for what they show in an earlier form than it knows; not the job itself."""
    look_first: Callable[["Lookout", StreamId, JobState, FreshLook], bool]
    """Looks before a decision that would end an attempt; returns whether there is anything to."""


@dataclass(frozen=True, slots=True)
class Lookout:
    """Whom to ask, whom to tell, and what time it is."""

    cluster: Cluster
    around: EventHandlers
    clock: Clock
    questions: Questions
    followers: Mapping[str, Follower]
    """What asks about running jobs, by kind."""
    kinds: Mapping[str, KindResync]
    """The kinds of job, by name."""
    unanswered: Repeated
    """Tells of looks that had no answer."""

    def no_answer(self, name: str, error: ClusterError) -> bool:
        """Say that a look at an object had no answer; return that there was none."""
        self.unanswered.warn_of_one(error, name=name)
        return False


@dataclass(frozen=True, slots=True)
class ChildLook:
    """Asks for what an attempt runs as, tells it, then goes on. Calling it is a question.

    After a pause of the controller the world has moved on, and a watch may lag: a job whose JobSet
    has completed has completed.
    """

    lookout: Lookout
    resource: Resource
    identity: JobIdentity
    """With the name of the object, which may be another than the job's."""
    tell: Callable[[Manifest, Instant], None]
    """Tells it as its watch would, so that it is not undone by older news."""
    look: FreshLook

    def __call__(self) -> bool:
        """Look once; return whether there was an answer.

        Where there is none, nothing could be deleted either.
        """
        lookout, identity = self.lookout, self.identity
        try:
            found = lookout.cluster.get(self.resource, identity.namespace, identity.name)
        except ClusterError as error:
            return lookout.no_answer(identity.name, error)
        if found is not None:
            self.tell(found, lookout.clock.now())
        self.look.then()
        return True
