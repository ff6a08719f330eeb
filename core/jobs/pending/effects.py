"""The closed set of effects on the outside world, and the progress of each.

An effect is asked for by an event that carries no manifest (the log is redacted): it names the
target and the
digest of the specification it was decided on. Whoever acts builds the object from the live
specification.
"""

from collections.abc import Iterable
from enum import StrEnum
from typing import TypeAlias

from msgspec import Struct

from jobledger.core.values.ids import EffectId
from jobledger.core.values.instants import Instant


class EffectKind(StrEnum):
    """Everything the controller does outside, each kind with its literal.

    Only writing `.status` is not among them: it is level-triggered and has no intent.
    """

    ADD_FINALIZER = "add_finalizer"
    REMOVE_FINALIZER = "remove_finalizer"
    CREATE_CLUSTER = "create_cluster"
    DELETE_CLUSTER = "delete_cluster"
    CREATE_SUBMITTER = "create_submitter"
    DELETE_SUBMITTER = "delete_submitter"
    SUBMIT_ENTRYPOINT = "submit_entrypoint"
    STOP_ENTRYPOINT = "stop_entrypoint"
    FIND_CLUSTER = "find_cluster"
    """Look for the RayCluster that the job selects, so that its absence is told."""
    CREATE_SERVICE = "create_service"
    UPDATE_SERVICE = "update_service"
    """Let the Service of the job's head lead to the RayCluster of another attempt."""
    SUSPEND_WORKERS = "suspend_workers"
    """Let the worker groups of a RayCluster go, and keep its head."""
    APPLY_POD_GROUP = "apply_pod_group"
    """Tell Volcano which Pods are to be placed together."""
    CLEAR_POD_GROUP = "clear_pod_group"
    """Tell it that there are none any more, or after the end only those of the RayCluster."""
    DELETE_JOB = "delete_job"
    """Delete the RayJob itself, and so everything that it owns."""
    APPLY_OBJECTS = "apply_objects"
    DELETE_JOBSET = "delete_jobset"
    CREATE_ATTEMPT_JOB = "create_attempt_job"
    """Make the Job of an attempt, of a Job that is retried on new Jobs."""
    DELETE_ATTEMPT_JOB = "delete_attempt_job"
    """Delete it, and its Pods with it."""
    SUSPEND_ATTEMPT_JOB = "suspend_attempt_job"
    RESUME_ATTEMPT_JOB = "resume_attempt_job"


BUILT_FROM_SPEC = frozenset(
    {
        EffectKind.CREATE_CLUSTER,
        EffectKind.CREATE_SUBMITTER,
        EffectKind.SUBMIT_ENTRYPOINT,
        EffectKind.CREATE_SERVICE,
        EffectKind.UPDATE_SERVICE,
        EffectKind.APPLY_POD_GROUP,
        EffectKind.APPLY_OBJECTS,
        EffectKind.CREATE_ATTEMPT_JOB,
    }
)
"""Kinds that are superseded if the live specification is no longer the one they were decided on."""

CLEARING = frozenset(
    {
        EffectKind.REMOVE_FINALIZER,
        EffectKind.DELETE_CLUSTER,
        EffectKind.DELETE_SUBMITTER,
        EffectKind.STOP_ENTRYPOINT,
        EffectKind.SUSPEND_WORKERS,
        EffectKind.CLEAR_POD_GROUP,
        EffectKind.DELETE_JOB,
        EffectKind.DELETE_JOBSET,
        EffectKind.DELETE_ATTEMPT_JOB,
    }
)
"""Kinds that take away what is needed no more, also of a job that is over.

An attempt never fails because they are refused.
"""

ON_THE_JOB = frozenset(
    {EffectKind.ADD_FINALIZER, EffectKind.REMOVE_FINALIZER, EffectKind.DELETE_JOB}
)
"""Kinds that write the job's own object, as its status does: never two of them at once."""


EffectKey: TypeAlias = tuple[EffectKind, str]
"""What makes two effects the same piece of work: the kind, and the name of its object."""


class Outcome(StrEnum):
    """How a try to act ended."""

    SUCCEEDED = "succeeded"
    FALTERED = "faltered"
    """Not yet: the same effect goes on being tried."""
    FAILED = "failed"
    """Refused; the same request again would be refused again."""
    SUPERSEDED = "superseded"
    """Nothing was sent: what it was decided on is no longer so."""


class DesiredEffect(Struct, frozen=True, kw_only=True):
    """An effect that the state calls for, whether it is under way or not."""

    kind: EffectKind
    name: str
    """Name of the object, or the submission id."""
    uid: str = ""
    """UID the object must have; empty where it is not known or does not exist yet."""
    address: str = ""
    """`host:port` of the head, for effects on the Ray job API."""

    @property
    def key(self) -> EffectKey:
        """Return what makes two effects the same piece of work."""
        return self.kind, self.name


class OpenEffect(Struct, frozen=True, kw_only=True):
    """An effect that was asked for and has not ended."""

    effect_id: EffectId
    attempt: int
    desired: DesiredEffect
    digest: str
    """Keyed digest of the specification it was decided on."""
    generation: int = 0
    """Generation of that specification."""
    trouble: str = ""
    """The kind of failure met last; empty if none."""


def is_under_way(effects: Iterable[OpenEffect], kind: EffectKind, name: str) -> bool:
    """Return whether an effect of this kind on the object of this name was asked for here."""
    return any(effect.desired.key == (kind, name) for effect in effects)


class RefusedEffect(Struct, frozen=True, kw_only=True):
    """An effect that was refused, waiting to be tried again."""

    kind: EffectKind
    name: str
    times: int
    """How often it was refused in a row."""
    refused_at: Instant
    trouble: str
    waiting: bool = True
    """Whether the pause before the next try is still on."""

    @property
    def key(self) -> EffectKey:
        """Return what makes two effects the same piece of work."""
        return self.kind, self.name


class RepeatedEffect(Struct, frozen=True, kw_only=True, gc=False):
    """An effect that was done, or dropped before it was sent, and may be called for all the same.

    A state that calls for the very thing that was just done would have it done for ever, as fast as
    the API server answers: somebody undoes it, or the answer is not what the state looks at.
    """

    kind: EffectKind
    name: str
    times: int
    """How often it ended like that within a short while."""
    ended_at: Instant
    waiting: bool
    """Whether it is not to be asked for before a pause is over."""

    @property
    def key(self) -> EffectKey:
        """Return what makes two effects the same piece of work."""
        return self.kind, self.name
