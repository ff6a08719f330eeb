"""Detects that the ledger was set back while this process ran (a promoted replica)."""

import threading

from jobledger.adapters.service.loop.handover import Handover
from jobledger.adapters.service.loop.turn import Turn
from jobledger.adapters.service.shards.leasing import LeaseKeeper
from jobledger.adapters.service.shards.set_back import set_back
from jobledger.adapters.service.work.slots import Slot
from jobledger.adapters.telemetry.logging import get_logger
from jobledger.adapters.telemetry.repeated import Repeated
from jobledger.core.errors import LedgerError
from jobledger.core.kinds import JobObservation
from jobledger.core.values.ids import SHARDS, StreamId

log = get_logger(__name__)

WHAT_TO_DO = "see that no other process works on the ledger that was left; jobledger recover"


class SetBackDetection:
    """Notices that the ledger was set back while this process went on, and lets all be read anew.

    What it remembers of its jobs is then of events that are lost: it acts on none of it any more,
    and holds every job against what the cluster shows, as after a start.
    """

    def __init__(self, turn: Turn, leases: LeaseKeeper, handover: Handover) -> None:
        self._turn, self._leases, self._handover = turn, leases, handover
        context = handover.context
        self._slots, self._inbox, self._clock = context.slots, context.inbox, context.clock
        self._not_known = Repeated(log, "footing_not_known", self._clock.monotonic)
        self._noticed = threading.Event()
        self._known: dict[StreamId, int] = {}

    def look(self) -> None:
        """Ask whether the log still has what it had. A ledger that fails is asked the next time."""
        try:
            is_lost = self._turn.footing.is_lost()
        except LedgerError as error:
            self._not_known.warn(error)
            return
        self._not_known.over()
        if not is_lost:
            return
        self._leases.take_up({})  # nothing is done for any job until it was read anew
        self._leases.forget()  # nor before the leases, which went back as well, are renewed
        self._noticed.set()

    @property
    def is_noticed(self) -> bool:
        """Return whether a loss was noticed and nothing has been dropped for it yet."""
        return self._noticed.is_set()

    def begins(self) -> bool:
        """Return whether all that is known of jobs is to be dropped. The turn's thread only."""
        if not self._noticed.is_set():
            return False
        self._known |= self._slots.versions()
        self._turn.footing.forget()
        self._turn.unheard |= set(range(SHARDS))
        self._noticed.clear()
        log.error("ledger_set_back_while_running", jobs=len(self._known), remedy=WHAT_TO_DO)
        return True

    def holds(self, slot: Slot) -> bool:
        """Return whether a job that had ended was read again and its stream ends before that.

        It is held first; what waits to be written of it is of the lost past.
        """
        ended = self._slots.take_set_back(slot.stream_id)
        if not ended:
            return False
        self._handover.drop(slot.stream_id)
        self._inbox.put_back([self._told(slot, ended)])
        return True

    def tell(self) -> None:
        """Tell jobs that were read anew that their streams end earlier.

        They hear of it before all that waits in the inbox: a decision of the lost past may be in it
        that fell due before anybody had looked at the log.
        """
        known, self._known = self._known, {}
        self._inbox.put_back(
            [
                self._told(slot, ended)
                for slot in (self._slots if known else ())
                if slot.tail.version < (ended := known.get(slot.stream_id, 0))
            ]
        )

    def _told(self, slot: Slot, ended: int) -> tuple[StreamId, JobObservation]:
        self._turn.set_back.add(slot.stream_id)
        return slot.stream_id, set_back(ended, slot.tail, self._clock.now())
