"""A population into an empty ledger, by COPY: events, stream heads, rows and facts."""

import multiprocessing
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import Any

import psycopg
from psycopg import sql

from bench.population.population import END, Population, Size, populate
from bench.population.stamping import Birth, Stamped, shares, stamp
from bench.population.templates import copy_line
from jobledger.adapters.postgres.schema.tables import metadata

SHARE_JOBS = 500

Told = Callable[[int, int], None]
"""Is told how many events are in, of how many."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Loaded:
    """What was loaded, and how quickly."""

    jobs: int
    events: int
    playing_seconds: float
    """Playing the lives through the rules."""
    loading_seconds: float
    """Stamping them, COPY, and what Postgres made of it."""

    @property
    def events_per_second(self) -> float:
        """Return the speed of the whole."""
        return self.events / (self.playing_seconds + self.loading_seconds)


def load(url: str, size: Size, told: Told = lambda _done, _all: None, processes: int = 1) -> Loaded:
    """Load a population into an empty ledger; the URL is that of its owner."""
    began = time.perf_counter()
    population = populate(size)
    played = time.perf_counter()
    plain = url.replace("+psycopg", "", 1)
    with psycopg.connect(plain, autocommit=True) as connection:
        connection.execute("SET synchronous_commit = off")
        connection.execute(
            "SELECT ensure_partitions_v1(%s, %s)", (END - timedelta(days=size.days), END)
        )
        events = _copy_all(connection, population, told, processes)
        _finish(connection, population, events)
        connection.execute("ANALYZE")
    return Loaded(
        jobs=len(population.births),
        events=events,
        playing_seconds=played - began,
        loading_seconds=time.perf_counter() - played,
    )


_held: Population | None = None


def _hold(population: Population) -> None:
    """Keep the population in a process that stamps."""
    global _held  # noqa: PLW0603 one per process
    _held = population


def _stamp_share(asked: tuple[list[Birth], int]) -> Stamped:
    assert _held is not None, "the process was given the population"
    births, first = asked
    return stamp(_held.templates, births, first)


def _copy_all(
    connection: psycopg.Connection[Any], population: Population, told: Told, processes: int
) -> int:
    total, first = population.events, 1
    work: list[tuple[list[Birth], int]] = []
    for share in shares(population.births, SHARE_JOBS):
        work.append((list(share), first))
        first += sum(len(population.templates[one.template].events) for one in share)
    done = 0
    for stamped in _stamped(population, work, processes):
        _copy(connection, stamped)
        done += stamped.events
        told(done, total)
    return done


def _stamped(population: Population, work: list[tuple[list[Birth], int]], processes: int) -> Any:  # noqa: ANN401 an iterator of Stamped
    if processes <= 1:
        _hold(population)
        yield from map(_stamp_share, work)
        return
    context = multiprocessing.get_context("fork")
    begin = partial(_hold, population)
    with ProcessPoolExecutor(processes, mp_context=context, initializer=begin) as pool:
        for at in range(0, len(work), 4 * processes):  # no more than that waits in memory
            yield from pool.map(_stamp_share, work[at : at + 4 * processes])


def _copy(connection: psycopg.Connection[Any], stamped: Stamped) -> None:
    with connection.transaction(), connection.cursor() as cursor:
        for table, lines in stamped.lines.items():
            with cursor.copy(_statement(table)) as copy:
                copy.write("".join(lines))


def _statement(table: str) -> sql.Composed:
    """Return the COPY of a table whose lines have the columns in the order of its rows' fields."""
    return sql.SQL("COPY {} ({}) FROM STDIN").format(
        sql.Identifier(table),
        sql.SQL(", ").join(map(sql.Identifier, _columns(table))),
    )


def _columns(table: str) -> list[str]:
    names = [column.name for column in metadata.tables[table].columns]
    if table.startswith("report_") and table != "report_dimension":
        rest = [name for name in names if name not in ("stream_id", "dimension_id")]
        return ["stream_id", "dimension_id", *rest]
    return names


def _finish(connection: psycopg.Connection[Any], population: Population, events: int) -> None:
    """Write what there is once: dimensions, the head of the log, the checkpoint."""
    told = {one.dimension_id: one.dimension for one in population.templates}
    with connection.transaction(), connection.cursor() as cursor:
        with cursor.copy(_statement("report_dimension")) as copy:
            copy.write("".join(copy_line((key, *told[key])) for key in sorted(told)))
        cursor.execute("UPDATE log_head SET position = %s", (events,))
        cursor.execute(
            "UPDATE report_checkpoint SET position = %s, recorded_at ="
            " (SELECT recorded_at FROM event WHERE position = %s)",
            (events, events),
        )
