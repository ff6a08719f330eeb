"""Recognises whether a status was written by this controller.

What the object says of its writers (`managedFields`) its author can forge, the status itself not.
"""

import threading
import time
from collections import OrderedDict
from collections.abc import Callable

from jobledger.adapters.service.observing.mapper import identify
from jobledger.adapters.service.status.drift import fingerprint
from jobledger.adapters.service.work.slots import fold_slot
from jobledger.adapters.telemetry.logging import get_logger
from jobledger.adapters.telemetry.repeated import Repeated
from jobledger.core.catalogue import read_event
from jobledger.core.errors import JobledgerError
from jobledger.core.jobs.events import StatusPublished
from jobledger.core.kinds import KINDS
from jobledger.core.kinds import status as meant
from jobledger.core.log.chain import data_sha
from jobledger.core.ports.event_store import EventStore
from jobledger.core.values.documents import Manifest, child
from jobledger.core.values.ids import StreamId

log = get_logger(__name__)

REMEMBERED_MAX = 10_000
"""Answers of the log that are kept, so that an author who writes again and again costs no more."""


class OwnWrites:
    """Recognises statuses that were written here, also by an earlier run. Safe from any thread."""

    def __init__(
        self,
        cluster: str,
        store: EventStore,
        is_known: Callable[[StreamId, Manifest], bool] = lambda *_: False,
    ) -> None:
        """Take the cluster's name, the log, and who knows what this run has written."""
        self._cluster, self._store = cluster, store
        self._not_recognised = Repeated(log, "status_not_recognised", time.monotonic)
        self._is_known = is_known
        self._lock = threading.Lock()
        self._answers: OrderedDict[StreamId, tuple[bytes, bool]] = OrderedDict()

    def recognise(self, kind: str, manifest: Manifest) -> bool:
        """Return whether the status that an object shows was written here last.

        Asked only where the object names another as its last writer. Without an answer of the log
        it counts as foreign: two controllers must not work on one job.
        """
        identity = identify(self._cluster, manifest)
        stream = identity.stream_id
        status = child(manifest, "status")
        if self._is_known(stream, status):
            return True
        mark = fingerprint(status)
        with self._lock:
            found = self._answers.get(stream)
        if found is not None and found[0] == mark:
            return found[1]
        try:
            answer = self._is_in_log(kind, stream, status)
        except JobledgerError as error:
            job = f"{identity.namespace}/{identity.name}"
            self._not_recognised.warn_of_one(error, job=job, stream=str(stream))
            return False
        with self._lock:
            self._answers[stream] = mark, answer
            self._answers.move_to_end(stream)
            if len(self._answers) > REMEMBERED_MAX:
                self._answers.popitem(last=False)
        return answer

    def _is_in_log(self, kind: str, stream: StreamId, status: Manifest) -> bool:
        """Return whether by the log this status was the last that was published, or is the next.

        The next: a process may end between a write and its note in the log.
        """
        own, stored = KINDS[kind].status_format.own, self._store.read_stream(stream)
        mark = data_sha(own(status)).hex()
        for item in reversed(stored):
            if item.record.type == "StatusPublished":
                event = read_event(item.record)
                if isinstance(event, StatusPublished) and event.status_sha == mark:
                    return True
                state = fold_slot(stream, stored).view.state
                return state.recorded is None and own(meant(state)) == own(status)
        return False
