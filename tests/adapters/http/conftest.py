"""The API on a ledger in memory, asked over HTTP."""

from collections.abc import Iterator
from dataclasses import dataclass

import pytest
import urllib3
from starlette.applications import Starlette

from jobledger.adapters.forensic_wiring import with_api
from jobledger.adapters.http.api.guard import Reviewer
from jobledger.adapters.http.page.parts import PageParts
from jobledger.adapters.http.server import HttpServer
from jobledger.core.ports.event_store import EventStore
from jobledger.core.ports.evidence import EvidenceStore
from jobledger.core.ports.history import History
from jobledger.core.values.instants import Instant
from tests.support import rayjob_stories as stories
from tests.support.evidence import MemoryEvidence
from tests.support.ledgers import memory_ledger
from tests.support.recorded import append_lives
from tests.support.records import NOON

TIMEOUT_SECONDS = 60.0


@dataclass(frozen=True)
class Sources:
    """What the API reads."""

    store: EventStore
    history: History
    evidence: EvidenceStore
    stale_since: Instant | None = None


@dataclass(frozen=True)
class Site:
    """A served API."""

    url: str
    sources: Sources
    digest: str
    """Of the one piece of evidence."""

    def get(self, path: str, **headers: str) -> urllib3.BaseHTTPResponse:
        return urllib3.request(
            "GET",
            f"{self.url}{path}",
            headers=headers,
            retries=False,
            timeout=TIMEOUT_SECONDS,
            redirect=False,
        )


def sources() -> tuple[Sources, str]:
    """Return a ledger with six jobs and a piece of evidence."""
    ledger = memory_ledger()
    ledger.take_all_shards()
    lives = {f"done-{number}": stories.succeeded for number in range(4)}
    append_lives(ledger, lives.items())
    append_lives(ledger, {"failed": lambda: (*stories.working(), *stories.failing())}.items())
    append_lives(ledger, {"open": stories.initializing}.items())
    evidence = MemoryEvidence()
    digest = evidence.put("Traceback …\n".encode(), NOON)
    return Sources(ledger.store, ledger.history, evidence), digest


def serve(reviewer: Reviewer | None) -> Iterator[Site]:
    read, digest = sources()
    yield from serve_of(read, digest, reviewer)


def serve_of(read: Sources, digest: str, reviewer: Reviewer | None = None) -> Iterator[Site]:
    """Serve what the API reads."""
    parts = PageParts(
        sources=read,
        pending=memory_ledger().pending,
        now=lambda: NOON,
        health=lambda: (),
        stale_since=lambda: read.stale_since,
    )
    server = HttpServer(with_api(Starlette(), parts, reviewer), "127.0.0.1", 0)
    server.start()
    yield Site(server.url, read, digest)
    server.stop()


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    """The API as it is served on loopback."""
    yield from serve(None)
