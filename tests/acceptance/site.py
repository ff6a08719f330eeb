"""Where a test takes place: a namespace of the sandbox, a ledger, a terminal beside them."""

import json
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
from psycopg.rows import dict_row

from jobledger.sandbox.wiring import Sandbox
from tests.acceptance.node import Node
from tests.acceptance.witness import (
    BATCH_JOBS,
    JOBSETS,
    LIMIT_SECONDS,
    RAYCLUSTERS,
    RAYJOBS,
    TRAINJOBS,
)
from tests.support.api import Api, api_at
from tests.support.postgres import plain_url
from tests.support.processes import Controller, Terminal
from tests.support.waiting import wait_until

Row = dict[str, Any]

QUICK = {"JOBLEDGER_POLL_INTERVAL_SECONDS": "0.3", "JOBLEDGER_LOG_FORMAT": "json"}
"""Heads are asked more often than by default, so that tests are short."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """A namespace, a ledger and a terminal."""

    api: Api
    """The API, in this test's namespace."""
    terminal: Terminal
    database_url: str
    proxy_url: str
    running_on: Node | None = None
    """What runs its Pods, where a test may break it."""

    @property
    def node(self) -> Node:
        """Return what runs its Pods."""
        assert self.running_on is not None, "this site's node is not to be broken"
        return self.running_on

    @property
    def directory(self) -> Path:
        """A directory of this test."""
        return self.terminal.directory

    def controller(self, replica: str = "controller", **settings: str) -> Controller:
        """Return a controller of this namespace, not started yet."""
        mine = {"JOBLEDGER_NAMESPACES": json.dumps([self.api.namespace])}
        chosen = {**QUICK, **mine, **settings}
        return Controller(self.terminal.with_environment(**chosen), replica)

    def submit(self, manifest: Row) -> Row:
        """Create a RayJob; return it as it was made."""
        reply = self.api.create(RAYJOBS, manifest)
        assert reply.code == 201, reply  # Created
        return dict(reply.body)

    def change(self, name: str, **spec: object) -> None:
        """Merge something into the specification of a RayJob."""
        reply = self.api.merge(RAYJOBS, name, {"spec": spec})
        assert reply.code == 200, reply  # OK

    def rows(self, query: str, *parameters: object) -> list[Row]:
        """Return the rows of a query of the ledger."""
        with psycopg.connect(plain_url(self.database_url), autocommit=True) as connection:
            cursor = connection.cursor(row_factory=dict_row)
            return cursor.execute(query, parameters).fetchall()

    def value(self, query: str, *parameters: object) -> Any:  # noqa: ANN401  # whatever is asked for
        """Return the only value of a query."""
        (row,) = self.rows(query, *parameters)
        (value,) = row.values()
        return value

    def wait_for_true(self, what: str, query: str, *parameters: object) -> None:
        """Return once a query of one truth value answers true."""
        with psycopg.connect(plain_url(self.database_url), autocommit=True) as connection:

            def holds() -> bool:
                row = connection.execute(query, parameters).fetchone()
                return row is not None and bool(row[0])

            wait_until(holds, what, LIMIT_SECONDS)


@contextmanager
def namespace_of(sandbox: Sandbox, name: str = "") -> Iterator[Api]:
    """Give a namespace (a new name, if none is given), and leave none of its Pods running."""
    server = api_at(sandbox.api.url)
    name = name or f"test-{uuid.uuid4().hex[:10]}"
    reply = server.request("POST", "/api/v1/namespaces", {"metadata": {"name": name}})
    assert reply.code == 201, reply  # Created
    api = Api(server.url, server.pool, name)
    try:
        yield api
    finally:
        for item in api.list(RAYJOBS).body["items"]:
            api.merge(RAYJOBS, item["metadata"]["name"], {"metadata": {"finalizers": None}})
        for resource in (RAYJOBS, TRAINJOBS, JOBSETS, RAYCLUSTERS, BATCH_JOBS):
            for item in api.list(resource).body["items"]:
                api.delete(resource, item["metadata"]["name"])
        api.request("DELETE", f"/api/v1/namespaces/{name}")
        server.pool.clear()
