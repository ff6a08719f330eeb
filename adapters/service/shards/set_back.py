"""Detects a stream that ends before this process's last append: the ledger was set back."""

from jobledger.adapters.telemetry.logging import get_logger
from jobledger.core.jobs.observations import LedgerSetBack
from jobledger.core.log.recording import Tail
from jobledger.core.values.ids import observation_id
from jobledger.core.values.instants import Instant

log = get_logger(__name__)


def set_back(known: int, found: Tail, at: Instant) -> LedgerSetBack:
    """Return that a stream ended at version `known`, and say it in the service's own log."""
    stream, now = found.stream_id, found.version
    log.error("ledger_set_back", stream=str(stream), known=known, found=now)
    mark = observation_id(stream, "set back", str(known), str(now), found.chain.hex())
    return LedgerSetBack(id=mark, at=at, known_version=known, found_version=now)
