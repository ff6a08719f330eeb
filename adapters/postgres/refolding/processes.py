"""Shares streams among processes: deciding and folding are Python, which keeps one core busy.

A job stands for itself: how the work is shared shows in no answer.
"""

import multiprocessing
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from typing import TypeVar

from sqlalchemy import Engine

from jobledger.adapters.postgres.connection.engine import EngineOptions, open_engine
from jobledger.adapters.process.interpreter import collect_seldom
from jobledger.core.values.ids import StreamId

PROCESS_JOBS = 1_000
"""A process of its own is worth its start from so many jobs on."""

SHARE_JOBS = 200
"""Jobs that are handed to a process at once."""

Found = TypeVar("Found")
Work = Callable[[Engine, Sequence[StreamId]], Found]
"""What is done with a share of the streams; a function of a module, as processes are handed it."""


def shared_among(
    engine: Engine,
    streams: Sequence[StreamId],
    work: Work[Found],
    progress: Callable[[int, int], None],
    processes: int = 1,
    *,
    role: str = "",
) -> Iterator[Found]:
    """Yield what each share of the streams has brought, in their order.

    `progress` is told how many jobs are done, of how many. `role` is taken on in the processes.
    """
    shares = [streams[at : at + SHARE_JOBS] for at in range(0, len(streams), SHARE_JOBS)]
    done = 0
    for share, found in zip(shares, _done(engine, shares, work, processes, role), strict=True):
        yield found
        done += len(share)
        progress(done, len(streams))


def _done(
    engine: Engine,
    shares: Sequence[Sequence[StreamId]],
    work: Work[Found],
    processes: int,
    role: str,
) -> Iterator[Found]:
    jobs = sum(map(len, shares))
    if (number := min(processes, jobs // PROCESS_JOBS)) <= 1:
        yield from map(partial(work, engine), shares)
        return
    url = engine.url.render_as_string(hide_password=False)
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(number, mp_context=context, initializer=collect_seldom) as pool:
        yield from pool.map(partial(_apart, url, role, work), shares)


def _apart(url: str, role: str, work: Work[Found], share: Sequence[StreamId]) -> Found:
    """Do a share in a process of its own."""
    engine = open_engine(url, EngineOptions(role=role, pool_size=1))
    try:
        return work(engine, share)
    finally:
        engine.dispose()
