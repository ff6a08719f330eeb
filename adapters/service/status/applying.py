"""Writes a `.status` once, applied to one version of the object.

An apply takes away what we applied before. Of an entry of a list that another controller has
written too it takes away our half, and is refused for the rest: a condition with a type and without
a status is none. So what others left is taken away first then, by a patch, and applied anew.

What is copied from another kind of object is checked by the definition of the job, which may be of
another release than that of the object. If it is refused, the rest is written without it; and so
without a field that an older definition does not declare, which is not sent again for a while.

Where somebody has written the job in another served version of its kind, which lacks fields of
this, no apply is taken: the status is merged first, which is, and applied anew.
"""

from collections.abc import Callable, Collection
from dataclasses import dataclass, replace

from jobledger.adapters.service.objects.object_cache import CachedJob, ObjectCache
from jobledger.adapters.service.status.undeclared import UndeclaredFields, undeclared_in
from jobledger.adapters.telemetry.logging import get_logger
from jobledger.core.errors import ObjectChanged, RequestInvalid, WrittenInAnotherVersion
from jobledger.core.jobs.control.status_writers import OUR_MANAGER
from jobledger.core.kinds import AnyKind
from jobledger.core.ports.cluster import Cluster
from jobledger.core.values.documents import Json, Manifest, child, number, text

log = get_logger(__name__)


@dataclass(frozen=True, slots=True)
class StatusWrite:
    """A status that is to be written to the version of a job that is known."""

    cluster: Cluster
    live: ObjectCache
    job: CachedJob
    kind: AnyKind
    status: Manifest
    sends: Callable[[Manifest], None]
    """Is told of what the status will be, also in between."""
    undeclared: UndeclaredFields
    now: float
    """Monotonic instant."""

    def __call__(self) -> Manifest:
        """Write it; return the object as it is then.

        Raises:
            ClusterError: as the port does.
        """
        where = self.kind.name, self.job.identity.namespace
        if left_out := self.status.keys() & self.undeclared.of(*where, self.now):
            return self._without(left_out)()
        self.sends(self.status)
        if self.kind.status_format.is_merged:
            return self._merged()
        try:
            return self._whole()
        except WrittenInAnotherVersion as error:
            raise ObjectChanged(str(error)) from error  # once more, since it was merged just now
        except RequestInvalid as error:
            refused = error
        left_out = self._to_leave_out(str(refused))
        if not left_out:
            raise refused
        answer = self._without(left_out)()
        job = f"{self.job.identity.namespace}/{self.job.identity.name}"
        log.warning("status_not_whole", job=job, left_out=sorted(left_out), error=str(refused))
        lacking = left_out & undeclared_in(str(refused)).keys()
        self.undeclared.note(*where, lacking, self.now)
        return answer

    def _merged(self) -> Manifest:
        """Merge it; what is shown of events that the log has lost, and may not change, stays."""
        try:
            return self._patched(self.status, self.job.version)
        except RequestInvalid:
            bound = self._bound_to_stay()
            if not bound:
                raise
        merged = {**self.status, **bound}
        self.sends(merged)
        return self._patched(merged, self.job.version)

    def _bound_to_stay(self) -> dict[str, Json]:
        """Return what is shown otherwise than it was to be written, and may not change so."""
        fields, shown = self.kind.status_format, child(self._as_it_is() or {}, "status")
        counts = ((name, number(shown, name) or 0) for name in fields.rising)
        higher = {name: one for name, one in counts if one > (number(self.status, name) or 0)}
        lasting = shown.keys() & self.status.keys() & fields.lasting
        return higher | {one: shown[one] for one in lasting if shown[one] != self.status[one]}

    def _without(self, fields: Collection[str]) -> "StatusWrite":
        kept = {name: value for name, value in self.status.items() if name not in fields}
        return replace(self, status=kept)

    def _to_leave_out(self, said: str) -> set[str]:
        """Return the fields without which a status may be taken, by what was said of it."""
        copied = {one for one in self.kind.status_format.copied if f"status.{one}" in said}
        lacking = {name for name, is_itself in undeclared_in(said).items() if is_itself}
        return self.status.keys() & (copied | lacking)

    def _whole(self) -> Manifest:
        """Apply it, over what others left."""
        try:
            return self._cleared(self._applied(self.job.version))
        except WrittenInAnotherVersion:
            # Whatever brings a field that the other version lacks has the API server forget who
            # wrote what, if it is no apply; and this is taken.
            merged = self._patched(self.status, self.job.version)
            return self._cleared(self._applied(self._noted(merged)))
        except RequestInvalid as error:
            emptied = None if self._to_leave_out(str(error)) else self._emptied()
            if emptied is None:
                raise
        return self._cleared(self._applied(self._noted(emptied)))

    def _as_it_is(self) -> Manifest | None:
        """Ask for the object; None if it is gone, or of a version that is not known yet."""
        identity = self.job.identity
        found = self.cluster.get(self.kind.resource, identity.namespace, identity.name)
        version = text(found, "metadata", "resourceVersion") if found is not None else ""
        return found if version == self.job.version else None

    def _emptied(self) -> Manifest | None:
        """Take away what others left; None if there is nothing, or on a version not known yet."""
        found = self._as_it_is()
        emptied = self._cleared(found) if found is not None else None
        return None if emptied is found else emptied

    def _cleared(self, answer: Manifest) -> Manifest:
        """Take away what should be empty; return the object as it is then."""
        present = child(answer, "status")
        fields = self.kind.status_format.fields
        shown = {key: value for key, value in present.items() if key in fields}
        left = _prune_patch(shown, self.status)
        return self._patched(left, self._noted(answer)) if left else answer

    def _noted(self, answer: Manifest) -> str:
        """Take note of a version in between; return it."""
        self.sends(child(answer, "status"))
        version = text(answer, "metadata", "resourceVersion")
        self.live.note_version(self.job.identity.uid, version)
        return version

    def _patched(self, patch: Manifest, version: str) -> Manifest:
        identity = self.job.identity
        sent: dict[str, Json] = {"metadata": {"resourceVersion": version}, "status": patch}
        return self.cluster.merge_patch(
            self.kind.resource,
            identity.namespace,
            identity.name,
            sent,
            subresource="status",
        )

    def _applied(self, version: str) -> Manifest:
        identity, resource = self.job.identity, self.kind.resource
        metadata: dict[str, Json] = {
            "name": identity.name,
            "namespace": identity.namespace,
            "uid": identity.uid,
            "resourceVersion": version,
        }
        manifest: dict[str, Json] = {
            "apiVersion": resource.api_version,
            "kind": resource.kind,
            "metadata": metadata,
            "status": self.status,
        }
        return self.cluster.apply(
            resource, manifest, field_manager=OUR_MANAGER, subresource="status", force=True
        )


def _prune_patch(shown: Manifest, wanted: Manifest) -> dict[str, Json]:
    """Return the merge patch from what is shown to what is wanted, as far as it takes away.

    An apply removes only fields that we applied before: what another controller once put stays,
    also inside of objects and lists of which we apply a part. What is wanted and not shown was
    pruned by an older definition, and is not asked for again.
    """
    patch: dict[str, Json] = {}
    for key, there in shown.items():
        if key not in wanted:
            patch[key] = None
            continue
        ours = wanted[key]
        if isinstance(there, dict) and isinstance(ours, dict):
            inner = _prune_patch(there, ours)
            if inner:
                patch[key] = inner
        elif isinstance(there, list) and isinstance(ours, list) and len(there) > len(ours):
            patch[key] = ours
    return patch
