"""What must hold of a job's part of the ledger once nothing moves, and how its life ended."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from jobledger.adapters.postgres.refolding.rebuilding import LedgerParts, compare
from jobledger.adapters.service.work.slots import fold_slot
from jobledger.core.catalogue import read_event
from jobledger.core.kinds import kind_of, status
from jobledger.core.log.chain import GENESIS, first_fault
from jobledger.core.log.envelope import StoredEvent
from jobledger.core.ports.history import JobFilter
from jobledger.core.rayjob.status.status import FIELDS
from jobledger.core.values.documents import Json, Manifest
from jobledger.core.values.ids import StreamId


@dataclass(frozen=True, kw_only=True)
class End:
    """How a life ended; the same whatever happened to the controller."""

    phase: str
    reason: str
    succeeded: int
    failed: int
    attempts: tuple[str, ...]
    """Outcome of each."""


def end_in(ledger: LedgerParts, stream: StreamId) -> End:
    """Return how a life ended, as the ledger has it."""
    (row,) = ledger.history.jobs(JobFilter(stream_id=stream), 1)
    return End(
        phase=row.phase,
        reason=row.reason,
        succeeded=row.succeeded,
        failed=row.failed,
        attempts=tuple(item.outcome for item in ledger.history.attempts(stream)),
    )


def assert_ledger_whole(ledger: LedgerParts, stream: StreamId) -> None:
    """Assert that nothing was doubled or lost, and that all tables follow from the log."""
    log = ledger.store.read_stream(stream)
    assert first_fault(GENESIS, [item.record for item in log]) is None
    assert compare(ledger, stream) == []
    assert {row.state for row in ledger.history.decisions(stream)} <= {"fired", "cancelled"}
    assert all(row.state != "requested" for row in ledger.history.effects(stream))
    scheduled = _decisions(log, "DecisionScheduled")
    assert set(scheduled.values()) <= {1}
    assert _decisions(log, "DecisionFired", "DecisionCancelled") == scheduled


def _decisions(log: Iterable[StoredEvent], *types: str) -> Counter[str]:
    return Counter(
        str(item.record.data["decision_id"]) for item in log if item.record.type in types
    )


def announced(ledger: LedgerParts, stream: StreamId) -> Counter[tuple[str, str]]:
    """Return how often which Kubernetes Event follows from a job's log, as reason and note."""
    log = ledger.store.read_stream(stream)
    state = fold_slot(stream, log).view.state
    identity, tell = state.identity, kind_of(state).kubernetes_events
    assert identity is not None
    return Counter(
        (told.reason, told.note) for item in log for told in tell(identity, read_event(item.record))
    )


def folded_status(ledger: LedgerParts, stream: StreamId) -> Manifest:
    """Return the status that follows from a job's log."""
    return status(fold_slot(stream, ledger.store.read_stream(stream)).view.state)


def differing(shown: Manifest, folded: Manifest) -> dict[str, Json]:
    """Return the fields of a status that are not shown as they follow from the log."""
    return {key: shown.get(key) for key in FIELDS if shown.get(key) != folded.get(key)}
