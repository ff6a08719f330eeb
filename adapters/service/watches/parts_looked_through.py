"""Looks through for secrets what belongs to jobs, within a budget of bytes for each object.

To look through a large object takes half a second. So one that no job needs is not looked through,
and of one that is edited all the time the latest edit alone, once there is room: as of jobs
themselves (`EventHandlers.stays`).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import msgspec

from jobledger.adapters.service.objects.declared_secrets import secrets_of
from jobledger.adapters.service.objects.kept_children import CachedChild, CachedRuntime
from jobledger.adapters.service.objects.object_cache import CachedJob
from jobledger.adapters.service.objects.packing import pack, unpack
from jobledger.adapters.service.watches.event_handlers import EventHandlers
from jobledger.core.log.redaction.redact import LateSecrets
from jobledger.core.values.documents import Manifest

_WITHOUT_GENERATION = frozenset({"ConfigMap", "Secret"})

_KEPT_IN_PART = frozenset({"Pod"})
"""Kinds of which too little is kept to look them through later; a Pod is edited hardly at all."""


@dataclass(frozen=True, slots=True)
class Edit:
    """A part of jobs as it was seen now; `telling` is held."""

    around: EventHandlers
    uid: str
    """Names the part, among all of all kinds."""
    manifest: Manifest
    concerned: Sequence[CachedJob]
    """The jobs that need it."""
    take_in: Callable[[Manifest], None]
    """Takes it in once there is room."""

    def is_put_off(self) -> bool:
        """Return whether it has to wait, in place of the edit before; else its bytes count."""
        around, stream = self.around, self.concerned[0].identity.stream_id
        again = partial(around.take_up, self.uid)
        if self.uid not in around.taken_up and around.has_to_wait(stream, again, True, self.uid):  # noqa: FBT003 bound by place
            packed, take_in = pack(self.manifest), self.take_in
            around.waiting[self.uid] = lambda: take_in(unpack(packed))
            return True
        around.looked_through(stream, len(msgspec.json.encode(self.manifest)), self.uid)
        return False


def child_looked_through(
    edit: Edit, kind: str, item: CachedChild, known: CachedChild | None
) -> CachedChild | None:
    """Return a child with the secrets that it declares, if a job needs it; None: it is put off.

    What it declares follows its generation; of kinds that count none it may change at any time.
    """
    is_counted = kind not in _WITHOUT_GENERATION
    if is_counted and known is not None and known.generation == item.generation:
        return replace(item, secrets=known.secrets)  # older than an edit that waits
    edit.around.waiting.pop(item.uid, None)
    if not edit.concerned and kind not in _KEPT_IN_PART:
        return item
    if known is not None and edit.concerned and edit.is_put_off():
        return None
    if known is None and kind not in _KEPT_IN_PART:
        return replace(item, secrets=item.secrets_when_asked())
    return replace(item, secrets=LateSecrets.of(item.declared(edit.manifest)))


def runtime_looked_through(
    edit: Edit, item: CachedRuntime, known: CachedRuntime | None
) -> CachedRuntime | None:
    """Return a runtime with the secrets that it declares, if a job needs it; None: it is put off.

    What matters of it follows its digest.
    """
    edit.around.waiting.pop(edit.uid, None)
    if known is not None and known.digest == item.digest:
        return replace(item, secrets=known.secrets)
    if not edit.concerned:
        return item
    if known is not None and edit.is_put_off():
        return None
    return replace(item, secrets=LateSecrets.of(secrets_of(edit.manifest)))
