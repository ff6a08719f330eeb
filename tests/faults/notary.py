"""Somebody who stops every request on its way out and asks the log: was it recorded as intended?"""

import threading
from types import TracebackType
from typing import Self
from urllib.parse import unquote, urlsplit

import psycopg

from tests.support.http_fault_proxy import WRITES, Request
from tests.support.postgres import plain_url

_INTENDED = """
SELECT EXISTS (
  SELECT FROM event AS asked
  JOIN effect USING (stream_id)
  JOIN job USING (stream_id)
  WHERE asked.type = 'EffectRequested'
    AND effect.effect_id::text = asked.data->>'effect_id'
    AND effect.state = 'requested'
    AND asked.data->>'kind' = ANY (%s)
    AND (asked.data->>'name' = %s OR asked.data->>'kind' LIKE '%%_finalizer' AND job.name = %s))
"""

_OF_COLLECTIONS = {
    ("POST", "rayclusters"): ("create_cluster",),
    ("DELETE", "rayclusters"): ("delete_cluster",),
    ("POST", "jobs"): ("create_submitter",),
    ("DELETE", "jobs"): ("delete_submitter",),
}


class Notary:
    """Checks requests; a context manager. Its own line to the ledger is a good one."""

    def __init__(self, database_url: str) -> None:
        self._url = plain_url(database_url)
        self._one_at_a_time = threading.Lock()
        self._connection: psycopg.Connection | None = None
        self.effects = 0
        """How many requests were effects."""
        self.unrecorded: list[str] = []
        """Effects that were on their way although the log did not hold them as asked for."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None:
        with self._one_at_a_time:
            if self._connection is not None:
                self._connection.close()

    def check(self, request: Request) -> None:
        """Note a request that is an effect nobody asked for."""
        effect = effect_of(request)
        if effect is None:
            return
        kinds, name = effect
        with self._one_at_a_time:
            self.effects += 1
            try:
                recorded = self._is_recorded(kinds, name)
            except psycopg.OperationalError:  # the server was restarted since the last time
                recorded = self._is_recorded_anew(kinds, name)
            if not recorded:
                self.unrecorded.append(f"{request.method} {request.target}: {kinds} {name}")

    def _is_recorded_anew(self, kinds: tuple[str, ...], name: str) -> bool:
        if self._connection is not None:
            self._connection.close()
            self._connection = None
        try:
            return self._is_recorded(kinds, name)
        except psycopg.OperationalError:  # nobody can tell, so nobody can have recorded it
            return False

    def _is_recorded(self, kinds: tuple[str, ...], name: str) -> bool:
        if self._connection is None:
            self._connection = psycopg.connect(self._url, autocommit=True)
        row = self._connection.execute(_INTENDED, (list(kinds), name, name)).fetchone()
        return row is not None and bool(row[0])


def effect_of(request: Request) -> tuple[tuple[str, ...], str] | None:
    """Return the possible kinds of the effect that a request is, and its name; None if it is none.

    Statuses and Kubernetes Events are none.
    """
    if request.method not in WRITES:
        return None
    steps = [unquote(step) for step in urlsplit(request.target).path.strip("/").split("/")]
    if steps[:2] == ["api", "jobs"]:
        if steps[-1] == "stop":
            return ("stop_entrypoint",), steps[2]
        return ("submit_entrypoint",), str(request.json["submission_id"])
    if "namespaces" not in steps:
        return None
    resource, *name = steps[steps.index("namespaces") + 2 :]
    if resource == "rayjobs" and len(name) == 1:
        return ("add_finalizer", "remove_finalizer"), name[0]
    kinds = _OF_COLLECTIONS.get((request.method, resource))
    if kinds is None:
        return None
    return kinds, name[0] if name else str(request.json["metadata"]["name"])
