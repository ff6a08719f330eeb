"""Applies the control policy: the settings, and where another controller was found at work.

Asked at every sighting of a job, from the threads of the watches. A write of another controller to
the status of a job that is to be controlled here ends that for all jobs of its kind in its
namespace: they are recorded from then on, until the service is started anew. What is said of the
writers counts only if the status is none that was written here.
"""

import threading
from collections.abc import Callable
from typing import TypeAlias

from jobledger.adapters.telemetry.logging import get_logger
from jobledger.core.jobs.control.control_policy import (
    WHAT_TO_DO,
    Control,
    ControlScope,
    Refusal,
    forbids_going_on,
    forbids_start,
    why_recorded,
)
from jobledger.core.jobs.control.status_writers import StatusWriter, other_controller
from jobledger.core.kinds import KINDS
from jobledger.core.values.documents import Manifest, text
from jobledger.core.values.instants import Instant

log = get_logger(__name__)


class FirstSight:
    """Stands for what was known of the writers of a job that was not known."""


FIRST_SIGHT = FirstSight()
LiveWriter: TypeAlias = StatusWriter | FirstSight | None
"""Whom a job's last sighting told of as the other controller."""


class ControlPolicy:
    """Knows of every job whether it is controlled or only recorded. Safe from any thread."""

    def __init__(
        self,
        scope: ControlScope | None = None,
        *,
        take_over: bool = False,
        refused: Callable[[str, str], None] = lambda *_: None,
    ) -> None:
        """Take the setting, and whom to tell the kind and namespace of a refusal."""
        self.scope = scope if scope is not None else ControlScope()
        self.is_own: Callable[[str, Manifest], bool] = lambda *_: False
        """Whether the status that a job of a kind shows was written here; set once it is known."""
        self._take_over = take_over
        self._told = refused
        self._lock = threading.Lock()
        self._refusals: dict[tuple[str, str], Refusal] = {}
        self._new: list[Refusal] = []

    @property
    def only_records(self) -> bool:
        """Return whether nothing at all is controlled."""
        return self.scope.control is Control.NOTHING

    def why_recorded(self, kind: str, manifest: Manifest) -> str:
        """Return why a job is only recorded; empty if it is controlled."""
        namespace = text(manifest, "metadata", "namespace")
        managed_by = text(manifest, "spec", "managedBy")
        if because := why_recorded(self.scope, KINDS[kind].controller, namespace, managed_by):
            return because
        with self._lock:
            refusal = self._refusals.get((kind, namespace))
        return refusal.words if refusal is not None else ""

    def is_refused(self, kind: str, namespace: str) -> bool:
        """Return whether nothing may be done any more about jobs that were controlled there.

        Asked before every effect and every write: until a job is told anew it counts as controlled.
        """
        return (kind, namespace) in self._refusals

    def other(self, kind: str, manifest: Manifest, now: Instant) -> StatusWriter | None:
        """Return the other controller that drove a job last; None if this one did, or nobody."""
        found = other_controller(KINDS[kind].controller, manifest, now)
        return None if found is None or self.is_own(kind, manifest) else found

    def at_start(self, kind: str, manifest: Manifest, now: Instant) -> Refusal | None:
        """Return why what a job shows at the start forbids control; None if it does not."""
        if names_another(kind, manifest):
            return None
        return self._at_first(kind, manifest, self.other(kind, manifest, now), now)

    def _at_first(
        self, kind: str, manifest: Manifest, other: StatusWriter | None, now: Instant
    ) -> Refusal | None:
        if self.why_recorded(kind, manifest) or names_another(kind, manifest):
            return None
        fields = KINDS[kind].controller
        forbidden = forbids_start(
            other,
            has_ended=fields.has_ended(manifest),
            is_named=fields.names_us(text(manifest, "spec", "managedBy")),
            take_over=self._take_over,
            now=now,
            ended_at=fields.ended_at(manifest),
        )
        return _refusal(kind, manifest, other) if forbidden and other is not None else None

    def note(
        self, kind: str, manifest: Manifest, before: LiveWriter, now: Instant
    ) -> StatusWriter | None:
        """Take note of who has written a job's status; return the other controller that did.

        `before` is whom the job's last sighting told of; `FIRST_SIGHT` if this is its first, or
        the first since it was only recorded: then others wrote by right, also unseen in a gap.
        """
        other = self.other(kind, manifest, now)
        if isinstance(before, FirstSight):
            refusal = self._at_first(kind, manifest, other, now)
        elif self.why_recorded(kind, manifest) or names_another(kind, manifest):
            return other
        else:
            at_work = other is not None and forbids_going_on(before, other)
            refusal = _refusal(kind, manifest, other) if other is not None and at_work else None
        if refusal is not None:
            self._refuse(refusal)
        return other

    def _refuse(self, refusal: Refusal) -> None:
        with self._lock:
            self._refusals[refusal.kind, refusal.namespace] = refusal
            self._new.append(refusal)
        self._told(refusal.kind, refusal.namespace)
        log.error(
            "control_refused",
            kind=refusal.kind,
            namespace=refusal.namespace,
            because=refusal.words,
            advice=WHAT_TO_DO,
        )

    def take_new(self) -> list[Refusal]:
        """Return the refusals that nobody has taken yet."""
        with self._lock:
            taken, self._new = self._new, []
        return taken

    def refusals(self) -> list[Refusal]:
        """Return where this controller refuses to control."""
        with self._lock:
            return [self._refusals[key] for key in sorted(self._refusals)]


def names_another(kind: str, manifest: Manifest) -> bool:
    """Return whether a job says that it is another controller's, as one that MultiKueue sends on.

    Nothing is ever done about it here, so that others write its status is no reason to refuse.
    """
    managed_by = text(manifest, "spec", "managedBy")
    return managed_by not in KINDS[kind].managed_by


def _refusal(kind: str, manifest: Manifest, other: StatusWriter) -> Refusal:
    return Refusal(
        kind=kind,
        namespace=text(manifest, "metadata", "namespace"),
        job=text(manifest, "metadata", "name"),
        manager=other.manager,
        written_at=other.written_at,
    )
