"""What belongs to jobs or runs them, as their watches told of it last; and what went last."""

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass

from jobledger.adapters.service.objects.packing import unpack
from jobledger.core.log.redaction.redact import LateSecrets, secrets_in
from jobledger.core.values.documents import Manifest

GONE_MAX = 10_000
"""So many objects that went last are remembered: far more than go while one answer is on its way.
"""


def secrets_of_object(manifest: Manifest) -> frozenset[str]:
    """Return the secrets that an object declares which holds nothing else inside."""
    return secrets_in(manifest, None)


@dataclass(frozen=True, slots=True, kw_only=True)
class CachedChild:
    """A RayCluster or submitter that is there."""

    namespace: str
    name: str
    uid: str
    version: str
    """resourceVersion."""
    owner_uid: str
    owner_kind: str
    """Of which kind its controller is, by the owner reference: nobody checks what that says."""
    packed: bytes
    address: str = ""
    """`host:port` of the dashboard of a RayCluster."""
    token_secret: str = ""
    """Secret with the token that the head of a RayCluster asks for."""
    generation: int = 0
    """metadata.generation, where the kind counts it."""
    secrets: LateSecrets | None = None
    """The secrets that it declares; None: no job needed it yet."""
    declared: Callable[[Manifest], frozenset[str]] = secrets_of_object
    """Looks an object of its kind through."""

    @property
    def manifest(self) -> Manifest:
        """Return the part of the object that is kept."""
        return unpack(self.packed)

    def secrets_when_asked(self) -> LateSecrets:
        """Return the secrets that it declares, for which it is looked through when asked."""
        return LateSecrets(lambda: self.declared(self.manifest))


@dataclass(frozen=True, slots=True, kw_only=True)
class CachedRuntime:
    """A TrainingRuntime or ClusterTrainingRuntime that is there."""

    uid: str
    version: str
    digest: str
    """Keyed digest of what decides about a build."""
    packed: bytes
    secrets: LateSecrets | None = None
    """The secrets that it declares; None: no job needed it yet."""

    @property
    def manifest(self) -> Manifest:
        """Return the whole object."""
        return unpack(self.packed)


class Children:
    """The children of one kind, found by UID, owner or name."""

    def __init__(self) -> None:
        self.by_uid: dict[str, CachedChild] = {}
        self.by_owner: dict[str, dict[str, CachedChild]] = {}
        self.by_name: dict[tuple[str, str], CachedChild] = {}

    def put(self, child: CachedChild) -> None:
        """Keep a child in place of its older form."""
        self.drop(child.uid)
        self.by_uid[child.uid] = child
        self.by_owner.setdefault(child.owner_uid, {})[child.uid] = child
        self.by_name[child.namespace, child.name] = child

    def of(self, namespace: str) -> list[str]:
        """Return the UIDs of the children in a namespace; empty: in all."""
        found = self.by_uid.items()
        return [uid for uid, child in found if namespace in ("", child.namespace)]

    def drop(self, uid: str) -> CachedChild | None:
        """Forget a child and return it."""
        child = self.by_uid.pop(uid, None)
        if child is None:
            return None
        siblings = self.by_owner.get(child.owner_uid, {})
        siblings.pop(uid, None)
        if not siblings:
            self.by_owner.pop(child.owner_uid, None)
        if self.by_name.get((child.namespace, child.name)) == child:
            del self.by_name[child.namespace, child.name]
        return child


class Gone:
    """The UIDs that were told as gone last; no object ever gets one of them again."""

    def __init__(self) -> None:
        self._uids: OrderedDict[str, None] = OrderedDict()

    def note(self, uid: str) -> None:
        """Take note that an object went."""
        self._uids[uid] = None
        if len(self._uids) > GONE_MAX:
            self._uids.popitem(last=False)

    def __contains__(self, uid: str) -> bool:
        return uid in self._uids
