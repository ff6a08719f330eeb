"""How quickly reports are answered: every view and every documented query, and their plans.

The log is that of a made-up platform (`bench.population`): 1 M events of 33,000 jobs, with `--full`
some 15 M events of 500,000 jobs. The role is that of reports, the server as it comes.
"""

import os
import time
from collections.abc import Iterator, Mapping, Sequence
from datetime import timedelta
from typing import Any, NamedTuple

from sqlalchemy import Connection, text

from bench.figures import Report
from bench.population.life import RULES
from bench.population.loading import load
from bench.population.population import END, ONE_MILLION, TEN_MILLION, Size
from bench.throwaway import Server, ledger_engine, postgres
from jobledger.adapters.postgres.connection.engine import REPORT_ROLE, EngineOptions, open_engine
from jobledger.adapters.postgres.report_v1.views import VERSION, VIEWS
from jobledger.adapters.postgres.reports.projecting.checkpoint import report_lag
from jobledger.adapters.postgres.reports.projecting.projector import Projector
from jobledger.adapters.postgres.schema.report_tables import FACTS

DATABASE = "reports"
TIMES, TIMES_WHOLE = 20, 5
DAYS, LONGER_DAYS = 7, 28
LIMIT_MS = 1000
"""Aim of every documented query, at 10 M events and 500,000 jobs on 2 cores."""

MANY_ROWS = 50_000
"""A table of more rows is not to be read as a whole where a range of time is given."""

PROJECTED_EVENTS = 20_000
"""Events that the projector is timed with."""

MEASURES = {
    "jobs": "namespace, outcome, count(*), avg(duration_seconds), sum(wasted_cluster_seconds)",
    "attempts": "namespace, outcome, count(*), sum(cluster_seconds)",
    "resources": "namespace, resource, sum(held_seconds), sum(idle_seconds)",
    "phases": "kind, phase, count(*), sum(seconds)",
    "failures": "user_name, cause, count(*), sum(cluster_seconds)",
    "retries": "image, next_outcome, count(*), sum(cluster_seconds)",
    "queue_and_start_latency": "queue, kind, avg(start_seconds),"
    " percentile_cont(0.95) WITHIN GROUP (ORDER BY total_seconds)",
    "decisions": "decision, state, count(*), max(lateness_ms)",
    "observation_gaps": "namespace, source, count(*), sum(seconds)",
    "controller_hours": "cluster, date_trunc('day', hour), sum(events), max(lateness_ms_max)",
}
"""What is asked of each view: two columns to group by, and two sums."""


class Query(NamedTuple):
    """A query that is measured."""

    name: str
    sql: str
    parameters: Mapping[str, Any]


def measure(report: Report) -> None:
    """Load the platform, then measure."""
    size = TEN_MILLION if report.full else ONE_MILLION
    with postgres(report) as server:
        url = server.database(DATABASE)
        _load(report, server, url, size)
        _projector(report, server, url)
        engine = open_engine(url, EngineOptions(role=REPORT_ROLE, pool_size=1))
        try:
            with engine.connect() as connection:
                large = _large_tables(connection)
                _measure_all(report, connection, _of_views(DAYS), large)
                _measure_all(report, connection, _documented(DAYS), large)
                _measure_longer(report, connection)
                _measure_whole(report, connection)
        finally:
            engine.dispose()
    report.remark(f"each query: the last {DAYS} days, {TIMES} times; aim {LIMIT_MS} ms")


def _load(report: Report, server: Server, url: str, size: Size) -> None:
    said = 0

    def told(done: int, total: int) -> None:
        nonlocal said
        if done // 500_000 > said:
            said = done // 500_000
            report.say(f"  {done} of {total} events")

    report.say(f"playing {size.templates} lives and loading {size.jobs} jobs")
    found = load(url, size, told, os.cpu_count() or 1)
    report.setting("log", f"{found.events} events of {found.jobs} jobs in {size.days} days")
    report.figure("generator: playing the lives", found.playing_seconds, "s")
    report.figure("generator: stamping and COPY", found.loading_seconds, "s")
    report.figure("generator, all of it", found.events_per_second, "events/s")
    report.say("VACUUM ANALYZE")
    with server.admin(DATABASE) as admin:
        admin.execute("VACUUM ANALYZE")
        admin.execute("CHECKPOINT")
        sizes = admin.execute(
            "SELECT sum(pg_total_relation_size(oid)) FILTER (WHERE relname LIKE 'report_%'),"
            " sum(pg_total_relation_size(oid)) FILTER (WHERE relname LIKE 'event%')"
            " FROM pg_class WHERE relkind IN ('r', 'p') AND relnamespace = 'public'::regnamespace"
        ).fetchone()
    assert sizes is not None, "a query of one row"
    millions = found.events / 1e6
    report.figure("facts on disk, per million events", float(sizes[0]) / 1e6 / millions, "MB")
    report.figure("events on disk, per million", float(sizes[1]) / 1e6 / millions, "MB")


def _projector(report: Report, server: Server, url: str) -> None:
    """Let the projector do the last events again: what it costs, wherever the rows are."""
    with server.admin(DATABASE) as admin:
        admin.execute("UPDATE report_checkpoint SET position = position - %s", (PROJECTED_EVENTS,))
    with ledger_engine(url) as engine, engine.connect() as connection:
        projector = Projector(RULES)
        began, cpu = time.perf_counter(), time.process_time()
        while projector.step(connection):
            pass
        seconds = time.perf_counter() - began
        spent = (time.process_time() - cpu) / PROJECTED_EVENTS * 1e6
        assert report_lag(engine).events == 0, "it has caught up"
    report.figure("projector", PROJECTED_EVENTS / seconds, "events/s")
    report.figure("projector, CPU beside Postgres", spent, "µs per event")


def _of_views(days: int) -> Iterator[Query]:
    """Yield a query over a range of time for each view, and one of the health."""
    asked = {"since": END - timedelta(days=days), "until": END}
    for view in VIEWS:
        if not view.order:
            yield Query(view.name, f"SELECT * FROM {VERSION}.{view.name}", {})
            continue
        where = f"WHERE {view.order} >= :since AND {view.order} < :until"
        measures = MEASURES[view.name]
        sql = f"SELECT {measures} FROM {VERSION}.{view.name} {where} GROUP BY 1, 2"
        yield Query(view.name, sql, asked)


def _documented(days: int) -> Iterator[Query]:
    """Yield the queries of the cookbook and of `jobledger report`."""
    from docs.cookbook.queries import documented_queries  # noqa: PLC0415 only this claim needs it

    for name, sql, parameters in documented_queries(END, days=days):
        yield Query(name, sql, parameters)


def _measure_all(
    report: Report, connection: Connection, queries: Iterator[Query], large: frozenset[str]
) -> None:
    for query in queries:
        report.say(query.name)
        plan = _scanned_whole(_plan(connection, query))
        whole = sorted(plan & large) if "since" in query.parameters else []
        taken = _times(connection, query, TIMES)
        _figures(report, query.name, taken)
        if whole:
            report.remark(f"{query.name} reads all of {', '.join(whole)}")


def _measure_longer(report: Report, connection: Connection) -> None:
    """Measure the documented queries over four weeks, and tell the slowest."""
    report.say(f"the documented queries over {LONGER_DAYS} days")
    slowest, name = 0.0, ""
    for query in _documented(LONGER_DAYS):
        taken = sorted(_times(connection, query, TIMES_WHOLE))[TIMES_WHOLE // 2]
        slowest, name = max((slowest, name), (taken, query.name))
    report.figure(f"slowest over {LONGER_DAYS} days ({name}) p50", slowest, "ms")


def _measure_whole(report: Report, connection: Connection) -> None:
    """Measure the same questions over all of the time, which few ask."""
    for query in _of_views(10_000):
        taken = _times(connection, query, TIMES_WHOLE)
        report.figure(f"{query.name}, all of the time p50", sorted(taken)[len(taken) // 2], "ms")


def _figures(report: Report, name: str, taken: Sequence[float]) -> None:
    ordered = sorted(taken)
    p95 = ordered[min(len(ordered) - 1, int(0.95 * len(ordered)))]
    report.figure(f"{name} p50", ordered[len(ordered) // 2], "ms")
    report.figure(f"{name} p95", p95, "ms")
    if p95 > LIMIT_MS:
        report.remark(f"{name} takes longer than {LIMIT_MS} ms")


def _times(connection: Connection, query: Query, times: int) -> list[float]:
    taken = []
    for _ in range(times):
        began = time.perf_counter()
        connection.execute(text(query.sql), query.parameters).all()
        taken.append((time.perf_counter() - began) * 1000)
    return taken


def _plan(connection: Connection, query: Query) -> Mapping[str, Any]:
    explain = text(f"EXPLAIN (FORMAT JSON) {query.sql}")
    answer: Any = connection.execute(explain, query.parameters).scalar_one()
    plan: Mapping[str, Any] = answer[0]["Plan"]
    return plan


def _scanned_whole(plan: Mapping[str, Any]) -> frozenset[str]:
    """Return the tables that a plan reads as a whole."""
    found: set[str] = set()
    if plan["Node Type"] in ("Seq Scan", "Parallel Seq Scan"):
        found.add(plan["Relation Name"])
    for part in plan.get("Plans", ()):
        found |= _scanned_whole(part)
    return frozenset(found)


def _large_tables(connection: Connection) -> frozenset[str]:
    query = text(
        "SELECT relname FROM pg_class WHERE reltuples > :many AND relkind = 'r'"
        " AND (relname = ANY (:facts) OR relname LIKE 'event%')"
    )
    return frozenset(connection.execute(query, {"many": MANY_ROWS, "facts": list(FACTS)}).scalars())
