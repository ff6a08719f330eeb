"""Which jobs stand still, by the states that their events lead to and Python's statistics."""

from collections import defaultdict
from collections.abc import Iterator
from datetime import timedelta
from itertools import groupby
from statistics import quantiles
from typing import NamedTuple

from sqlalchemy import Engine

from jobledger.adapters.postgres.schema.stored_events import EVENTS, stored_event
from jobledger.adapters.postgres.schema.tables import event
from jobledger.core.catalogue import read_event
from jobledger.core.kinds import NOTHING, ROLES, evolve, is_open
from jobledger.core.values.instants import Instant

PEERS_MIN = 20


class Stay(NamedTuple):
    """How long a job was in a state, or has been."""

    job: str
    kind: str
    phase: str
    since: Instant
    until: Instant | None
    """None: it is in it."""
    over: bool
    """Whether nothing is left to do for the job, or it has ended."""


def stays(engine: Engine) -> Iterator[Stay]:
    """Yield the stays of every job, each longer than nothing."""
    query = EVENTS.order_by(event.c.stream_id, event.c.version)
    reading = engine.execution_options(isolation_level="READ COMMITTED")
    with reading.connect() as connection, connection.begin():
        rows = connection.execution_options(yield_per=5_000).execute(query)
        for _, of_job in groupby(map(stored_event, rows), key=lambda one: one.record.stream_id):
            yield from _of_job([read_event(one.record) for one in of_job])


def _of_job(events: list) -> list[Stay]:  # type: ignore[type-arg] # of every kind
    state, found, ended = NOTHING, list[tuple[str, Instant]](), False
    gone: Instant | None = None
    for one in events:
        state = evolve(state, one)
        name = type(one).__name__
        ended = ended or name.removeprefix("Train") in {"JobCompleted", "JobFailed"}
        if isinstance(one, ROLES.deleted):
            gone = one.at
        phase = state.phase.value or "New"
        if not found or found[-1][0] != phase:
            found.append((phase, one.at))
    assert state.identity is not None
    job = f"{state.identity.namespace}/{state.identity.name}"
    kind = "TrainJob" if type(state).__name__.startswith("Train") else "RayJob"
    ends = [*(since for _, since in found[1:]), gone]
    over = ended or not is_open(state)
    return [
        Stay(job, kind, phase, since, until, over)
        for (phase, since), until in zip(found, ends, strict=True)
        if until is None or until > since
    ]


def stuck(engine: Engine, since: Instant, until: Instant) -> dict[str, dict[str, object]]:
    """Return the jobs that are longer in their state than 99 of 100 stays of their peers."""
    peers, here = defaultdict[tuple[str, str], list[float]](list), list[Stay]()
    for one in stays(engine):
        if one.until is None:
            here.append(one)
        elif since <= one.since < until:
            seconds = (one.until - one.since) / timedelta(seconds=1)
            peers[one.kind, one.phase].append(seconds)
    limits = {
        which: quantiles(found, n=100, method="inclusive")[98]
        for which, found in peers.items()
        if len(found) >= PEERS_MIN
    }
    return {
        one.job: {
            "stuck_seconds": lasted,
            "limit_seconds": limits[which],
            "peers": len(peers[which]),
        }
        for one in here
        if not one.over
        and (which := (one.kind, one.phase)) in limits
        and (lasted := (until - one.since) / timedelta(seconds=1)) > limits[which]
    }
