"""What is measured while a soak goes on, and how much of it may grow.

The log only ever grows, and so do the tables that keep one row per job: of them bytes per event and
per job are judged, so that dead rows and torn indexes show and the load does not.
"""

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import psutil
import psycopg
from psycopg.rows import dict_row

from tests.soak.flatness import Limit
from tests.support.postgres import plain_url

MIB, KIB = 2.0**20, 2.0**10

LIMITS: Mapping[str, Limit] = {
    "memory of the steady replica, MiB": Limit(share=0.10, amount=8),
    "its file descriptors": Limit(share=0.10, amount=6),
    "its threads": Limit(share=0.0, amount=4),
    "connections to Postgres": Limit(share=0.20, amount=6),
    "log: table bytes per event": Limit(share=0.10, amount=40),
    "log: index bytes per event": Limit(share=0.15, amount=30),
    "jobs and streams: bytes per job": Limit(share=0.15, amount=300),
    "attempts, decisions, effects: bytes per job": Limit(share=0.15, amount=600),
    "leases and replicas, KiB": Limit(share=1.0, amount=256),
}
"""Series -> how much larger it may be at the end."""

_GROUPS = {"job": "jobs", "stream": "jobs", "shard_lease": "leases", "replica": "leases"}
_GROUPS |= {"attempt": "facts", "decision": "facts", "effect": "facts"}

_SIZES = """
SELECT relname, pg_table_size(c.oid) AS table_bytes, pg_indexes_size(c.oid) AS index_bytes
FROM pg_class c WHERE relkind = 'r' AND relnamespace = current_schema()::regnamespace
"""
_COUNTS = """
SELECT (SELECT position FROM log_head) AS events,
       (SELECT count(*) FROM job) AS jobs,
       (SELECT count(*) FROM job WHERE open) AS open_jobs,
       (SELECT count(*) FROM job WHERE open AND phase IN ('Complete', 'Failed')) AS closing,
       (SELECT count(*) FROM pg_stat_activity WHERE application_name = 'jobledger') AS connections
"""


@dataclass
class Samples:
    """All samples so far, by series."""

    database_url: str
    series: dict[str, list[float]] = field(default_factory=lambda: {name: [] for name in LIMITS})
    counts: dict[str, int] = field(default_factory=dict)
    """What was counted last."""
    missed: int = 0
    """Samples that could not be taken, because Postgres was away."""
    began: float = field(default_factory=time.monotonic)

    def take(self, steady_pid: int) -> bool:
        """Take a sample of everything; return whether that was possible."""
        try:
            with psycopg.connect(
                plain_url(self.database_url), autocommit=True, connect_timeout=5
            ) as connection:
                cursor = connection.cursor(row_factory=dict_row)
                self.counts = dict(cursor.execute(_COUNTS).fetchone() or {})
                sizes = cursor.execute(_SIZES).fetchall()
        except psycopg.Error:
            self.missed += 1
            return False
        self._note(steady_pid, sizes)
        return True

    def line(self, replicas: str, created: int, deleted: int) -> str:
        """Return what there is to say now, on one line."""
        last = {name: values[-1] for name, values in self.series.items() if values}
        seconds = time.monotonic() - self.began
        counts = self.counts
        return (
            f"{seconds:6.0f} s | {replicas} | jobs {created} created, {deleted} deleted, "
            f"{counts.get('open_jobs', 0)} open | {counts.get('events', 0)} events | "
            f"{last.get('memory of the steady replica, MiB', 0):.0f} MiB, "
            f"{last.get('its file descriptors', 0):.0f} files, "
            f"{last.get('its threads', 0):.0f} threads, "
            f"{last.get('connections to Postgres', 0):.0f} connections | "
            f"{last.get('log: table bytes per event', 0):.0f} B/event"
        )

    def _note(self, pid: int, sizes: list[dict[str, Any]]) -> None:
        process, totals = psutil.Process(pid), _totals(sizes)
        events, jobs = max(self.counts["events"], 1), max(self.counts["jobs"], 1)
        found = {
            "memory of the steady replica, MiB": process.memory_info().rss / MIB,
            "its file descriptors": process.num_fds(),
            "its threads": process.num_threads(),
            "connections to Postgres": self.counts["connections"],
            "log: table bytes per event": totals["log"] / events,
            "log: index bytes per event": totals["log index"] / events,
            "jobs and streams: bytes per job": totals["jobs"] / jobs,
            "attempts, decisions, effects: bytes per job": totals["facts"] / jobs,
            "leases and replicas, KiB": totals["leases"] / KIB,
        }
        for name, value in found.items():
            self.series[name].append(float(value))


def _totals(sizes: list[dict[str, Any]]) -> dict[str, float]:
    totals = dict.fromkeys(("log", "log index", "jobs", "facts", "leases"), 0.0)
    for row in sizes:
        if row["relname"].startswith("event_"):
            totals["log"] += row["table_bytes"]
            totals["log index"] += row["index_bytes"]
        elif (group := _GROUPS.get(row["relname"])) is not None:
            totals[group] += row["table_bytes"] + row["index_bytes"]
    return totals
