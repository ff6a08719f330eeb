"""Writes sums of unchanged observations and reports to the log every few seconds."""

from datetime import timedelta

from jobledger.adapters.service.watches.event_handlers import EventHandlers
from jobledger.adapters.service.work.slots import Slots
from jobledger.core.values.instants import Instant

CONFIRMATIONS_EVERY = timedelta(minutes=3)
"""The latest that unchanged observations of a job are summed up in the log."""


def sum_up(around: EventHandlers, slots: Slots, at: Instant) -> None:
    """Tell jobs what was seen unchanged for a while, and what was held back of them meanwhile."""
    for stream in around.confirmations.older_than(at - CONFIRMATIONS_EVERY):
        if not around.inbox.is_settled(stream):
            continue  # while the ledger is away the inbox does not fill with sums: this one grows
        total = around.confirmations.take(stream)
        if total is not None and slots.held(stream) is not None:
            around.inbox.put(stream, total)
    for kind in around.kinds.values():
        for stream, seen in kind.due(around, at):
            if around.concerns_us(stream):
                around.inbox.put(stream, seen)
