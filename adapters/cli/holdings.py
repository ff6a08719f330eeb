"""Lists the jobs that are held because the ledger is older than the cluster, from the log."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from jobledger.adapters.ledger_wiring import Ledger
from jobledger.core.catalogue import read_event
from jobledger.core.jobs.control.lost_history import holding_of
from jobledger.core.jobs.events import LedgerBehindFound
from jobledger.core.jobs.rows import JobRow
from jobledger.core.ports.history import JobFilter

PAGE = 500
"""Jobs that are read at once."""


@dataclass(frozen=True, slots=True)
class Held:
    """One held job."""

    row: JobRow
    holding: LedgerBehindFound

    @property
    def signs(self) -> str:
        """Return what shows that the ledger is behind."""
        return "; ".join(self.holding.signs)

    @property
    def remedy(self) -> str:
        """Return what to do."""
        row = self.row
        return (
            "nothing, if it goes on by itself within seconds; else see what of it is there, then "
            f"`jobledger recover {row.namespace}/{row.name}`"
        )


def held_of(opened: Ledger, rows: Sequence[JobRow]) -> list[Held]:
    """Return those of jobs that are held; only streams of jobs that are not controlled are read."""
    asked = [row for row in rows if row.recorded and row.deleted_at is None]
    stored = opened.store.read_streams([row.stream_id for row in asked])
    found = []
    for row in asked:
        holding = holding_of(read_event(item.record) for item in stored[row.stream_id])
        if holding is not None:
            found.append(Held(row, holding))
    return found


def all_held(opened: Ledger, namespace: str = "", cluster: str = "") -> Iterator[Held]:
    """Yield every held job, the youngest first."""
    last: JobRow | None = None
    while True:
        wanted = JobFilter(
            cluster=cluster,
            namespace=namespace,
            older_than=last.stream_id if last is not None else None,
        )
        page = opened.history.jobs(wanted, PAGE)
        yield from held_of(opened, page)
        if len(page) < PAGE:
            return
        last = page[-1]
