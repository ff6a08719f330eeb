"""A model of the Kubernetes API: what it keeps, what it refuses, what it lets watches know.

resourceVersions, uids, preconditions, generations, finalizers, conflicts and the status subresource
are as a real server has them: the contract of the ports holds for it. managedFields tell of writes
of the object, and of what the controller writes into its status; server-side apply of a status is
that of one field manager. What an owner leaves behind goes later (`orphans`), as the garbage
collector is another process.
Stored objects are never changed in place, so everybody may hold them.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from uuid import uuid5

from jobledger.adapters.kube.decoding import with_kind
from jobledger.core.errors import (
    ObjectChanged,
    ObjectExists,
    ObjectNotFound,
    RequestForbidden,
    RequestInvalid,
)
from jobledger.core.ports.cluster import (
    BATCH_JOBS,
    CORE_EVENTS,
    JOBSETS,
    KUBERNETES_EVENTS,
    NAMESPACES,
    TRAINJOBS,
    Cluster,
    ObjectList,
    Propagation,
    Resource,
)
from jobledger.core.values.documents import Json, Manifest, child, text
from jobledger.core.values.ids import NAMESPACE
from jobledger.core.values.instants import Instant, rfc3339
from tests.simulation.documents import (
    Document,
    entry,
    field_at,
    leaves,
    merged,
    numbered,
    owners_of,
    refused_of_jobset,
    selects,
    without,
    without_fields,
)
from tests.simulation.etcd_state import Backup, EtcdState, Place, uid_of
from tests.support.job_status_rules import problems

Admission = Callable[[Resource, Manifest], None]
"""Raises what an API server answers to an object that it does not take."""


@dataclass(frozen=True, slots=True)
class Change:
    """One change of an object, as a watch tells it."""

    resource: Resource
    kind: str
    """seen, or gone."""
    document: Manifest
    before: Manifest | None
    by: str
    """Which process wrote it; empty: not the controller."""


class SimulatedApi(EtcdState, Cluster):
    """One API server. `told` is called with every change, in their order."""

    def __init__(
        self, now: Callable[[], Instant], seed: int, admits: Admission = lambda *_: None
    ) -> None:
        """Take the time, and what refuses a new object; nothing: it may be as odd as it likes."""
        super().__init__()
        self._admits = admits
        self._now = now
        self._seed = seed
        self.refused: set[tuple[str, str]] = set()
        """What a quota or policy refuses to the controller: create, delete, status or change, and
        the plural of a kind."""
        self._notes: dict[str, Manifest] = {}
        """Kubernetes Events by their names."""
        self._made = 0
        self.told: list[Callable[[Change], None]] = []
        self.admit: Callable[[], Sequence[str]] = tuple
        """Returns the finalizers that somebody gives to a child as it is made."""
        self.refuses_jobset: Callable[[Manifest, Manifest], bool] = refused_of_jobset
        """Returns whether a JobSet may not be changed so."""
        self.on_status: Callable[[str, Manifest, Manifest], None] = lambda *_: None
        """Called with writer, object and what was sent, for every status applied, no-ops too."""
        self.writer = ""
        """Which process the call under way comes from; empty: not the controller."""

    def get(self, resource: Resource, namespace: str, name: str) -> Manifest | None:
        """See `core.ports.cluster.Cluster.get`."""
        return self._objects.get((resource.plural, namespace, name))

    def each(self, resource: Resource, namespace: str = "") -> Iterator[Manifest]:
        """See `core.ports.cluster.Cluster.each`."""
        yield from self.list(resource, namespace).items

    def list(self, resource: Resource, namespace: str = "", label_selector: str = "") -> ObjectList:
        """See `core.ports.cluster.Cluster.list`."""
        found = [item for item in self.all(resource) if selects(label_selector, item)]
        found = [item for item in found if namespace in ("", text(item, "metadata", "namespace"))]
        return ObjectList(items=found, resource_version=str(self._version))

    def all(self, resource: Resource) -> Iterator[Manifest]:
        """Yield all objects of a kind."""
        for (plural, _, _), document in list(self._objects.items()):
            if plural == resource.plural:
                yield document

    def create(self, resource: Resource, manifest: Manifest) -> Manifest:
        """See `core.ports.cluster.Cluster.create`."""
        return self._create(resource, manifest, entry("jobledger", "Update"))

    def _create(self, resource: Resource, manifest: Manifest, by: Document) -> Manifest:
        given = child(manifest, "metadata")
        place = (resource.plural, text(given, "namespace"), text(given, "name"))
        if place[1] and place[1] not in self._namespaces:
            raise ObjectNotFound(f"there is no namespace {place[1]}")
        if place[1] in self.terminating:
            raise RequestForbidden(f"namespace {place[1]} is being terminated")
        self._allow("create", resource)
        if place in self._objects or place[2] in self._notes:
            raise ObjectExists(f"{resource.plural} {place[2]} is there already")
        if resource in (KUBERNETES_EVENTS, CORE_EVENTS):
            self._notes[place[2]] = manifest
            return manifest
        self._made += 1
        metadata: Document = {
            **given,
            "uid": str(uuid5(NAMESPACE, f"object {self._made} of seed {self._seed}")),
            "creationTimestamp": rfc3339(self._now()),
            "generation": 1,
            "managedFields": [by],
        }
        if self.writer and (finalizers := self.admit()):
            metadata["finalizers"] = finalizers
        document = {**with_kind(resource, manifest), "metadata": metadata}
        document.pop("status", None)
        self._admits(resource, document)
        self._resources[place] = resource
        if resource is NAMESPACES:
            self._namespaces.add(place[2])
        return self._store(place, document)

    def replace(self, resource: Resource, manifest: Manifest, subresource: str = "") -> Manifest:
        """See `core.ports.cluster.Cluster.replace`; for the world only: preconditions hold."""
        place, known = self._known(resource, child(manifest, "metadata"))
        if subresource == "status":
            return self._store(place, {**known, "status": manifest["status"]})
        content = {key: value for key, value in manifest.items() if key != "status"}
        given = child(manifest, "metadata")
        kept = {key: given.get(key, {}) for key in ("labels", "annotations")}
        metadata = {**known["metadata"], **kept}
        return self._store(place, numbered(known, {**known, **content, "metadata": metadata}))

    def merge_patch(
        self,
        resource: Resource,
        namespace: str,
        name: str,
        patch: Manifest,
        *,
        subresource: str = "",
    ) -> Manifest:
        """See `core.ports.cluster.Cluster.merge_patch`."""
        about = {**child(patch, "metadata"), "namespace": namespace, "name": name}
        place, known = self._known(resource, about, subresource)
        self._allow(subresource or "change", resource)
        if subresource == "status":
            status = merged(known.get("status", {}), child(patch, "status"))
            if resource is BATCH_JOBS:
                self._admit_job_status(known, status)
            changed = {**known, "status": status}
        else:
            content = {key: value for key, value in patch.items() if key != "status"}
            changed = numbered(known, merged(known, content))
        if subresource == "status" and changed != known and self.writer:
            changed = self._signed(changed, "jobledger", "Update", child(patch, "status"))
        after = known if changed == known else self._store(place, changed)
        if subresource == "status" and resource in (TRAINJOBS, BATCH_JOBS):
            self.on_status(self.writer, after, child(patch, "status"))
        return after

    @staticmethod
    def _admit_job_status(known: Manifest, status: Manifest) -> None:
        """Refuse what an API server does not take as the status of a Job."""
        suspend = child(known, "spec").get("suspend") is True
        if refused := problems(child(known, "status"), status, suspend=suspend):
            raise RequestInvalid(f"the status is invalid: {refused}")

    def apply(
        self,
        resource: Resource,
        manifest: Manifest,
        *,
        field_manager: str,
        subresource: str = "",
        force: bool = False,
    ) -> Manifest:
        """See `core.ports.cluster.Cluster.apply`; what is not sent any more is taken back."""
        if subresource != "status":
            return self._apply_object(resource, manifest, entry(field_manager, "Apply"), force)
        place, known = self._known(resource, child(manifest, "metadata"), subresource)
        self._allow("status", resource)
        sent = child(manifest, "status")
        mine = self._applied.get(place, frozenset())
        kept = {key: value for key, value in known.get("status", {}).items() if key not in mine}
        self._applied[place] = frozenset(sent)
        status = {**kept, **sent}
        same = status == known.get("status")
        written = self._signed({**known, "status": status}, field_manager, "Apply", sent)
        after = known if same else self._store(place, written)
        self.on_status(self.writer, after, sent)
        return after

    def _signed(self, document: Document, manager: str, how: str, sent: Manifest) -> Document:
        """Return an object with the entry of who has written its status, and owns it now."""
        mine = {**entry(manager, how), "subresource": "status", "time": rfc3339(self._now())}
        mine["fieldsV1"] = {"f:status": {f"f:{name}": {} for name in sent}}
        others = [
            without_fields(one, frozenset(mine["fieldsV1"]["f:status"]))
            for one in document["metadata"].get("managedFields", [])
            if (one["manager"], one.get("subresource")) != (manager, "status")
        ]
        metadata = {**document["metadata"], "managedFields": [*others, mine]}
        return {**document, "metadata": metadata}

    def _apply_object(
        self, resource: Resource, manifest: Manifest, by: Document, force: bool
    ) -> Manifest:
        """Create an object, or put its fields in place of what is there.

        Source: an API server takes one controlling owner only, and JobSet's webhook no change of
        one that runs but its suspension.
        """
        given = child(manifest, "metadata")
        place = (resource.plural, text(given, "namespace"), text(given, "name"))
        known = self._objects.get(place)
        if known is None and given.get("uid"):
            raise ObjectChanged(f"{place[2]} is not there")
        sent = frozenset(leaves({key: manifest[key] for key in manifest if key != "metadata"}))
        if known is None:
            made = self._create(resource, manifest, by)
            self._sent[place] = sent
            return made
        self._known(resource, given)
        self._allow("change", resource)
        if owners_of(known) != owners_of(manifest):
            raise RequestInvalid("only one reference can have controller set to true")
        mine = self._sent.get(place, frozenset())
        theirs = [
            at for at in sent - mine if field_at(known, at) not in (None, field_at(manifest, at))
        ]
        if theirs and not force:
            raise ObjectChanged(f"{place[2]}: others have written {sorted(theirs)}")
        content = {key: value for key, value in manifest.items() if key != "metadata"}
        changed: Document = without(merged(known, content), mine - sent)
        managers = known["metadata"]["managedFields"]
        managers = managers if by in managers else [*managers, by]
        changed["metadata"] = {**known["metadata"], **given, "managedFields": managers}
        if resource is JOBSETS and self.refuses_jobset(known, changed):
            raise RequestInvalid("field is immutable")
        self._sent[place] = sent
        changed = numbered(known, changed)
        return known if changed == known else self._store(place, changed)

    def overwrite(self, resource: Resource, manifest: Manifest, status: Manifest) -> None:
        """Put a status in place of the present one, as somebody else does.

        What it changes is theirs from then on: an apply that does not send it leaves it there.
        """
        place, known = self._known(resource, child(manifest, "metadata"))
        before = child(known, "status")
        same = {key for key, value in status.items() if before.get(key) == value}
        self._applied[place] = self._applied.get(place, frozenset()) & same
        theirs = {key: status.get(key) for key in {*before, *status} - same}
        taken = self._signed({**known, "status": status}, "kubectl-edit", "Update", theirs)
        self._store(place, taken)

    def delete(
        self,
        resource: Resource,
        namespace: str,
        name: str,
        *,
        uid: str = "",
        propagation: Propagation = "Background",
        grace_seconds: int | None = None,
    ) -> None:
        """See `core.ports.cluster.Cluster.delete`."""
        del propagation, grace_seconds
        place = (resource.plural, namespace, name)
        known = self._objects.get(place)
        if known is None:
            return
        if uid and known["metadata"]["uid"] != uid:
            raise ObjectChanged(f"{name} is another object by now")
        self._allow("delete", resource)
        if not known["metadata"].get("finalizers"):
            self._remove(place, known)
        elif not known["metadata"].get("deletionTimestamp"):
            leaving = {"deletionTimestamp": rfc3339(self._now())}
            leaving["generation"] = known["metadata"]["generation"] + 1
            self._store(place, {**known, "metadata": {**known["metadata"], **leaving}})

    def put_finalizers(self, resource: Resource, manifest: Manifest, finalizers: Json) -> None:
        """Set the finalizers of an object, as somebody else's controller does."""
        metadata = child(manifest, "metadata")
        self.merge_patch(
            resource,
            text(metadata, "namespace"),
            text(metadata, "name"),
            {"metadata": {"uid": text(metadata, "uid"), "finalizers": finalizers}},
        )

    def _allow(self, verb: str, resource: Resource) -> None:
        """Refuse to the controller what a quota or policy does not let it do."""
        if self.writer and (verb, resource.plural) in self.refused:
            raise RequestForbidden(f"a policy lets nobody {verb} {resource.plural}")

    def restore(self, backup: Backup) -> Sequence[Place]:
        """Have again what was there, versions included; return what is not there any more.

        Watches have to be ended before. What lives outside of etcd is told.
        """
        before = self._put_back(backup)
        for place in before:
            if uid_of(before[place]) != uid_of(self._objects.get(place)):
                self._tell(place, "gone", before[place], before[place])
        for place, item in self._objects.items():
            known = before.get(place)
            if known is not item:
                same = uid_of(known) == uid_of(item)
                self._tell(place, "seen", item, known if same else None)
        return [place for place in before if place not in self._objects]

    def orphans(self) -> Sequence[tuple[Resource, Manifest]]:
        """Return the objects whose owner is gone, unless they are on their way out."""
        there = {text(item, "metadata", "uid") for item in self._objects.values()}
        return [
            (self._resources[place], item)
            for place, item in self._objects.items()
            if not text(item, "metadata", "deletionTimestamp")
            and (owners := [text(one, "uid") for one in owners_of(item)])
            and not any(uid in there for uid in owners)
        ]

    def _known(
        self, resource: Resource, metadata: Manifest, subresource: str = ""
    ) -> tuple[Place, Document]:
        """Return an object that meets the preconditions.

        Source: of a UID an API server takes no notice in a patch of a custom object's status.
        """
        place = (resource.plural, text(metadata, "namespace"), text(metadata, "name"))
        known = self._objects.get(place)
        if known is None:
            raise ObjectNotFound(f"there is no {place[0]} {place[2]}")
        heeded = ("resourceVersion",) if subresource == "status" else ("uid", "resourceVersion")
        for field in heeded:
            if metadata.get(field) not in (None, known["metadata"][field]):
                raise ObjectChanged(f"{place[2]} has another {field}")
        return place, known

    def _store(self, place: Place, document: Document) -> Document:
        self._version += 1
        metadata = {**document["metadata"], "resourceVersion": str(self._version)}
        stored = {**document, "metadata": metadata}
        if metadata.get("deletionTimestamp") and not metadata.get("finalizers"):
            self._remove(place, stored)
            return stored
        before = self._objects.get(place)
        self._objects[place] = stored
        self._tell(place, "seen", stored, before)
        return stored

    def _remove(self, place: Place, last: Document) -> None:
        self._version += 1
        before = self._objects.pop(place)
        self._applied.pop(place, None)
        self._sent.pop(place, None)
        metadata = {**last["metadata"], "resourceVersion": str(self._version)}
        self._tell(place, "gone", {**last, "metadata": metadata}, before)

    def _tell(self, place: Place, kind: str, document: Manifest, before: Manifest | None) -> None:
        change = Change(self._resources[place], kind, document, before, self.writer)
        for tell in list(self.told):
            tell(change)
