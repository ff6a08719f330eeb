"""What must hold when a soak is over: everything has ended, nothing is left, the log is whole."""

import os
import subprocess
import time
from collections.abc import Callable, Iterator

import psycopg

from jobledger.core.errors import ClusterError
from jobledger.core.ports.cluster import (
    BATCH_JOBS,
    JOBSETS,
    RAYCLUSTERS,
    RAYJOBS,
    SERVICES,
    TRAINJOBS,
)
from tests.soak.place import NAMESPACE, Place
from tests.support.postgres import plain_url
from tests.support.processes import jobledger_command

END_SECONDS = 600.0
"""Limit until everything has ended, once nothing goes wrong any more."""

LOOK_SECONDS = 1.0
SAID_CHARACTERS = 800
LEFT: tuple[tuple[str, str], ...] = (
    ("jobs that are open", "SELECT count(*) FROM job WHERE open"),
    ("effects without an outcome", "SELECT count(*) FROM effect WHERE state = 'requested'"),
    ("decisions that are pending", "SELECT count(*) FROM decision WHERE state = 'pending'"),
    (
        "decisions that fired twice",
        """
        SELECT count(*) FROM (
          SELECT 1 FROM event WHERE type IN ('DecisionFired', 'DecisionCancelled')
          GROUP BY stream_id, data->>'decision_id' HAVING count(*) > 1) AS doubled
        """,
    ),
)
"""What must be nought at the end, and how it is counted."""


def wait_for_the_end(place: Place, jobs_there: Callable[[], int]) -> list[str]:
    """Wait until nothing is left to do; return what is left after the limit."""
    until = time.monotonic() + END_SECONDS
    while (left := list(_left(place, jobs_there))) and time.monotonic() < until:
        time.sleep(LOOK_SECONDS)
    return left


def _left(place: Place, jobs_there: Callable[[], int]) -> Iterator[str]:
    cluster = place.cluster()
    try:
        if number := jobs_there():
            yield f"{number} jobs are still there"
        for resource in (RAYJOBS, TRAINJOBS, RAYCLUSTERS, BATCH_JOBS, JOBSETS, SERVICES):
            found = cluster.list(resource, namespace=NAMESPACE).items
            names = [str(item["metadata"]["name"]) for item in found]  # type: ignore[index, call-overload]  # every object has a name
            if left := [name for name in names if name != "kubernetes"]:
                yield f"{len(left)} {resource.kind} objects are left, such as {left[0]}"
    except ClusterError as error:
        yield f"the API server does not answer: {error}"
    with psycopg.connect(plain_url(place.database_url), autocommit=True) as connection:
        for what, query in LEFT:
            row = connection.execute(query).fetchone()
            if row is None or row[0]:
                yield f"{row[0] if row else '?'} {what}"


def check_log(place: Place) -> Iterator[str]:
    """Yield what `jobledger verify` and `jobledger rebuild --check` find; nothing, if all is well.

    The replicas have ended by now.
    """
    for words in (("verify",), ("rebuild", "--check")):
        ended = subprocess.run(
            [*jobledger_command(), *words],
            cwd=place.terminal.directory,
            env={**os.environ, **place.terminal.environment},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        if ended.returncode:
            said = ended.stdout[-SAID_CHARACTERS:]
            yield f"jobledger {' '.join(words)} ended with {ended.returncode}: {said}"
