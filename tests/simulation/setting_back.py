"""The ledger loses its last events while the world goes on, as after a failover.

Log, rows and leases are again what they were some appends ago; the cluster, the heads and what the
processes remember are not. What the witness knows of the streams that were cut goes back as well,
but for what users were shown and what was made in the cluster: that has happened.
"""

from dataclasses import dataclass, field
from random import Random

from jobledger.adapters.postgres.refolding.rebuilding import fold_rows
from jobledger.core.ports.leases import Lease
from jobledger.core.values.ids import StreamId
from tests.support.memory.event_store import MemoryEventStore
from tests.support.memory.leases import MemoryLeases

EVERY = 120
"""Steps between two losses, about: so the world has gone on meanwhile, and not come to rest."""

EVENTS_MAX = 25
"""So many events are lost at most."""

KNOWN_ERRORS = frozenset({"ledger_set_back", "ledger_set_back_while_running"})
"""What the service says of it in its log, as errors: somebody should look."""


END = "the end of "


def is_forged(trouble: str) -> bool:
    """Return whether somebody writes over a status: then nobody is left who knows what was lost.

    Nor if the end of a JobSet is taken back or turns into the other, which no JobSet does.
    """
    written_over = " the status of " in trouble or " the conditions of " in trouble
    return written_over or (
        trouble.startswith(END) and trouble.endswith((" is taken back", " turns"))
    )


@dataclass
class Losses:
    """Cuts the ledger back; knows who held which lease when."""

    log: MemoryEventStore
    table: MemoryLeases
    dice: Random
    leases: dict[int, dict[int, Lease]] = field(default_factory=dict)
    """Position at which an append has ended -> the leases as they were then.

    A transaction is lost whole, or not at all.
    """

    def note(self) -> None:
        """Take note of the leases after an append."""
        self.leases[self.log.last_position()] = dict(self.table.current())

    def lose(self) -> tuple[int, frozenset[StreamId]]:
        """Lose the last events; return how many are left and whose streams are shorter now."""
        log = self.log
        with log.lock:
            last = log.last_position()
            aim = last - self.dice.randint(1, EVENTS_MAX)
            kept = max((at for at in self.leases if at <= aim), default=0)
            if kept == last:  # nothing was written yet, and leases alone are not lost
                return kept, frozenset()
            cut = frozenset(item.record.stream_id for item in log.read_after(kept, last))
            streams = log._streams  # noqa: SLF001  # a test's way to lose what no program may
            log._log = log._log[:kept]  # noqa: SLF001
            for stream in cut:
                rest = [item for item in streams[stream] if item.position <= kept]
                del streams[stream]
                log.rows.drop(stream)
                if rest:
                    streams[stream] = rest
                    folded = fold_rows(log, stream)
                    assert folded is not None, "there is something to fold"
                    log.rows.put(folded[1])
            self.table._leases = dict(self.leases.get(kept, {}))  # noqa: SLF001
            self.leases = {at: held for at, held in self.leases.items() if at <= kept}
        return kept, cut
