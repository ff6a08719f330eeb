"""The same payloads through the recorder of the `eventsourcing` package, on the same server.

Its recorder stores the events and numbers them for followers, as our log does; it keeps no
projections, no hash chain, and no leases.
"""

from collections.abc import Mapping
from importlib.metadata import version
from typing import Any

from psycopg.conninfo import conninfo_to_dict

from bench.figures import Report
from bench.throwaway import Cost, Server

DATABASE = "rival"


def measure(
    report: Report, server: Server, source: str, sizes: Mapping[int, int]
) -> Mapping[int, Cost]:
    """Insert the payloads of `source` in batches; return what an event costs, by batch size."""
    try:
        from eventsourcing.persistence import StoredEvent  # noqa: PLC0415  # may be absent
        from eventsourcing.postgres import PostgresApplicationRecorder, PostgresDatastore  # noqa: PLC0415  # may be absent
    except ImportError:
        report.remark("eventsourcing is not installed: `make bench` installs it")
        return {}
    report.setting("eventsourcing", version("eventsourcing"))
    with server.admin() as admin:
        admin.execute(f"CREATE DATABASE {DATABASE}")
    with server.admin(source) as connection:
        rows = connection.execute(
            "SELECT stream_id, version, type, convert_to(data::text, 'UTF8') FROM event"
            " ORDER BY position"
        ).fetchall()
    stored = [StoredEvent(*row) for row in rows]
    costs: dict[int, Cost] = {}
    with PostgresDatastore(**_address(server), pool_size=1, max_overflow=0) as datastore:
        recorder = PostgresApplicationRecorder(datastore, events_table_name="stored_events")
        recorder.create_table()
        for batch, total in sizes.items():
            chosen, stored = stored[:total], stored[total:]
            report.say(f"eventsourcing: {len(chosen)} events in batches of {batch}")
            server.checkpoint()
            with server.meter(DATABASE) as meter:
                for start in range(0, len(chosen), batch):
                    recorder.insert_events(chosen[start : start + batch])
            cost = costs[batch] = meter.cost(len(chosen))
            name = f"eventsourcing, events alone, batch {batch}"
            report.figure(f"{name}: backend CPU", cost.cpu, "µs per event")
            report.figure(f"{name}: wall", cost.wall, "µs per event")
            report.figure(f"{name}: WAL", cost.wal, "bytes per event")
    return costs


def _address(server: Server) -> dict[str, Any]:
    parts = conninfo_to_dict(server.url(DATABASE).replace("+psycopg", "", 1))
    names = {"dbname": "dbname", "host": "host", "port": "port", "user": "user"}
    found: dict[str, Any] = {ours: parts[theirs] for ours, theirs in names.items()}
    return {**found, "password": parts["password"]}
