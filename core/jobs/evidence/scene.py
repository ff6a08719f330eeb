"""The objects of an attempt of which evidence is captured, for each kind of job."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from jobledger.core.jobs.identity import JobIdentity
from jobledger.core.jobs.pending.effects import DesiredEffect, EffectKind
from jobledger.core.values.documents import Manifest, child, items, number
from jobledger.core.values.instants import Instant

State = TypeVar("State")


@dataclass(frozen=True, slots=True, kw_only=True)
class SceneObject:
    """An object whose Pods, and Kubernetes Events, are looked at."""

    kind: str
    name: str
    uid: str = ""
    """Its UID, as the log knows it; empty if it does not, or if it may be somebody else's."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptScene:
    """What is known of an attempt before anybody is asked."""

    attempt: int
    address: str = ""
    """`host:port` of the head; empty: none is asked."""
    job_id: str = ""
    """The submission id of the Ray job."""
    is_well: bool = False
    """Unless a Pod says otherwise: the program has ended by itself, and the Pods are not why."""
    is_stopped: bool = False
    """Unless a Pod says otherwise: somebody ends it while its program runs, and no Pod is why."""
    began: Instant | None = None
    """When the program did, if it is known."""
    is_over: bool = False
    """Whether it has ended, or goes on no more: what goes then is no news."""


def job_is_short(job: Manifest, pods: int = 0) -> bool:
    """Return whether Pods of a Job are not created, by its own count; not while it tries again.

    Source: Kubernetes, batch/v1 JobSpec and JobStatus.
    """
    del pods
    spec, status = child(job, "spec"), child(job, "status")
    is_idle = spec.get("suspend") is True or number(status, "failed")
    if is_idle or items(status, "conditions"):
        return False
    wanted = number(spec, "parallelism")
    wanted = 1 if wanted is None else wanted
    completions = number(spec, "completions")
    wanted = wanted if completions is None else min(wanted, completions)
    return (number(status, "active") or 0) + (number(status, "succeeded") or 0) < wanted


def of_the_present(state: object, pod: Manifest) -> int:
    """Return 0: all Pods of an object are of the attempt that is under way."""
    del state, pod
    return 0


@dataclass(frozen=True, slots=True, kw_only=True)
class EvidenceRules(Generic[State]):
    """Where the evidence of a kind of job is found."""

    before: Mapping[EffectKind, str]
    """Deletions before which it is captured -> the kind of object that goes."""
    whole: Callable[[JobIdentity, State], SceneObject]
    """The object that an attempt runs as; its name is empty if there is none."""
    beside: Callable[[State], Sequence[SceneObject]] = lambda _: ()
    """Other objects of an attempt whose Pods may say why it failed."""
    scene: Callable[[State, str], AttemptScene | None]
    """What is known of the attempt, if an object of that kind is looked at; None: nothing is."""
    waits_now: Callable[[JobIdentity, State], SceneObject | None]
    """The object for whose Pods an attempt waits that is under way; None: for none."""
    well_pods_of: frozenset[str]
    """Kinds of objects whose Pods are looked at when they are deleted though they are well: nobody
    else has what they wrote."""
    is_short: Callable[[Manifest, int], bool]
    """Whether an object of an attempt is to have more Pods than so many; a JobSet: more Jobs."""
    earlier_attempt: Callable[[State, Manifest], int] = of_the_present
    """The attempt before the present one that a Pod is of; 0: it is of the present one."""
    pods_stay: bool = False
    """Whether the Pods of an attempt that failed stay until they are looked at."""
    beside_from: tuple[type, ...] = ()
    """Events from which on an attempt waits for Pods of the objects beside, not of the whole."""
    waits_until: tuple[type, ...] = ()
    """Events from which on it waits for no Pod."""

    def going(
        self, identity: JobIdentity, state: State, desired: DesiredEffect, *, is_over: bool
    ) -> SceneObject | None:
        """Return the object that an effect removes, of which evidence is captured; None: none.

        A job that its user deletes before its end takes its attempt along once it is let go.
        """
        kind = self.before.get(desired.kind)
        if kind is not None:
            return SceneObject(kind=kind, name=desired.name, uid=desired.uid)
        if desired.kind is not EffectKind.REMOVE_FINALIZER or is_over:
            return None
        whole = self.whole(identity, state)
        return whole if whole.name else None

    def object_of(
        self, identity: JobIdentity, state: State, found: SceneObject
    ) -> SceneObject | None:
        """Return an object that was found, if it is one of the present attempt."""
        for one in (self.whole(identity, state), *self.beside(state)):
            if (one.kind, one.name) == (found.kind, found.name) and one.uid in ("", found.uid):
                return found
        return None


DELETED = "deleted"
"""Beginning of the occasion of what is captured when a job went before its end."""

WAITING = "waiting"
"""Beginning of the occasion of what is captured while Pods of an attempt wait."""


def waiting_occasion(attempt: int, beside: str = "", time: int = 1) -> str:
    """Return the occasion of what is captured while Pods of an attempt wait.

    Args:
        attempt: its number.
        beside: the kind of the object whose Pods they are; empty: what the attempt runs as.
        time: 1 for the first capture, 2 once they wait for something else, and so on.
    """
    occasion = f"{WAITING}/{attempt}/{beside}" if beside else f"{WAITING}/{attempt}"
    return occasion if time == 1 else f"{WAITING}/{attempt}/{beside}/{time}"


def waiting_beside(occasion: str, attempt: int) -> str | None:
    """Return what `beside` was of the occasion; None if no Pods of the attempt waited on it."""
    what, _, rest = occasion.partition("/")
    number, _, rest = rest.partition("/")
    return rest.partition("/")[0] if (what, number) == (WAITING, str(attempt)) else None
