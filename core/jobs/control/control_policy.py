"""The control policy: which jobs are controlled, which are recorded, when nothing may be done.

Two controllers must never work on one job. So a job is controlled here only if the installation is
to control it and nobody else drives it. That somebody else does is told by what the API server
records of the writers of its status (`core.jobs.control.status_writers`).

A job that is not controlled is recorded: its life is written down, and nothing is done about it.
"""

from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum

from jobledger.core.jobs.control.controller_fields import ControllerFields
from jobledger.core.jobs.control.status_writers import StatusWriter
from jobledger.core.values.instants import Instant, rfc3339

MANAGED_BY_JOBLEDGER = "jobledger.dev/controller"
"""Value of a RayJob's spec.managedBy that names this controller; KubeRay leaves such a job alone.

The RayJob CRD admits it only with the patch in `ops/patches`. A TrainJob's CRD never does.
"""

RECENT = timedelta(minutes=10)
"""So long a write to the status of a job that has ended shows that its controller is at work."""


class Control(StrEnum):
    """Which jobs are controlled; all others that are watched are recorded."""

    ALL = "all"
    NAMESPACES = "namespaces"
    """Those in certain namespaces, and the RayJobs that name this controller."""
    MANAGED_BY = "managed-by"
    """Only the RayJobs that name this controller."""
    NOTHING = "nothing"
    """Recorder mode."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ControlScope:
    """What an installation is to control."""

    control: Control = Control.ALL
    namespaces: frozenset[str] = frozenset()
    """Namespaces whose jobs are controlled; of meaning with NAMESPACES only."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """Why the jobs of a kind in a namespace are not controlled: another controller is at work."""

    kind: str
    namespace: str
    job: str
    """The job that showed it."""
    manager: str
    written_at: Instant

    @property
    def words(self) -> str:
        """Return it in a sentence without its full stop."""
        return (
            f"the status of {self.kind} {self.namespace}/{self.job} was written by "
            f"{self.manager or 'a nameless controller'} at {rfc3339(self.written_at)}"
        )


WHAT_TO_DO = (
    "Two controllers must not work on one job. Either switch the other controller off (or keep it "
    "out of these namespaces) and start once with --take-over; or record what it does with "
    "--observe-only; or control only some jobs with --control namespaces or --control managed-by."
)
"""What is said with every refusal."""


def why_recorded(
    scope: ControlScope, fields: ControllerFields, namespace: str, managed_by: str
) -> str:
    """Return why the setting leaves a job to others; empty if it is to be controlled."""
    if scope.control is Control.NOTHING:
        return "this installation only records (--observe-only)"
    if scope.control is Control.ALL or fields.names_us(managed_by):
        return ""
    if scope.control is Control.NAMESPACES and namespace in scope.namespaces:
        return ""
    if scope.control is Control.NAMESPACES:
        return f"namespace {namespace} is not among those whose jobs are controlled here"
    return f"its spec.managedBy is not {fields.named or MANAGED_BY_JOBLEDGER}"


def forbids_start(
    other: StatusWriter | None,
    *,
    has_ended: bool,
    is_named: bool,
    take_over: bool,
    now: Instant,
    ended_at: Instant | None = None,
) -> bool:
    """Return whether what a job shows at the start forbids to control the jobs of its namespace.

    A controller writes when something happens, so of a job that goes on a write of any age counts.
    What has ended is written no more: only if it ended recently its controller is at work; the
    date of the write, which the job's author can forge, counts only where the status has none. A
    job that names this controller was handed over by whoever wrote that. `take_over` says that the
    other controller is switched off: then nothing counts that was written before the start.
    """
    if other is None or take_over or is_named:
        return False
    last = ended_at if ended_at is not None else other.written_at
    return not has_ended or now - last < RECENT


def forbids_going_on(before: StatusWriter | None, other: StatusWriter | None) -> bool:
    """Return whether another controller has written since `before`, what was known until now.

    Only instants of the API server are compared with each other, so no two clocks have to agree.
    """
    if other is None:
        return False
    return before is None or other.written_at > before.written_at
