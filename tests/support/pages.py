"""The pages on a ledger in memory, served as the product serves them."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

import urllib3
from starlette.applications import Starlette

from jobledger.adapters.forensic_wiring import with_api
from jobledger.adapters.http.api.guard import Reviewer
from jobledger.adapters.http.page.parts import Finding, PageParts
from jobledger.adapters.http.server import HttpServer
from jobledger.core.forensics.bundles.dossier import Dossier
from jobledger.core.log.envelope import EventRecord
from jobledger.core.ports.event_store import EventStore
from jobledger.core.ports.evidence import EvidenceStore
from jobledger.core.ports.history import History, JobFilter
from tests.support.evidence import MemoryEvidence
from tests.support.ledgers import Ledger, TestClock, memory_ledger
from tests.support.recorded import append_records

TIMEOUT_SECONDS = 60.0
PAGE = "/page"
HEALTHY = (Finding(what="Controller", told="ready", look="good"),)


@dataclass(frozen=True)
class Sources:
    """What the API reads."""

    store: EventStore
    history: History
    evidence: EvidenceStore


@dataclass
class Pages:
    """Served pages, and the ledger behind them."""

    ledger: Ledger
    evidence: MemoryEvidence
    clock: TestClock
    url: str = ""
    findings: list[Finding] = field(default_factory=lambda: list(HEALTHY))

    def ask(
        self, path: str, method: str = "GET", body: str | None = None, **headers: str
    ) -> urllib3.BaseHTTPResponse:
        """Ask without following where an answer leads."""
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return urllib3.request(
            method,
            f"{self.url}{path}",
            body=body,
            headers=named,
            retries=False,
            timeout=TIMEOUT_SECONDS,
            redirect=False,
        )

    def stream(self, name: str) -> str:
        """Return the stream of the job of a name."""
        return str(self.ledger.history.jobs(JobFilter(name=name), 1)[0].stream_id)

    def of_job(self, name: str, path: str = "") -> str:
        """Return the path of a page of a job."""
        return f"{PAGE}/jobs/{self.stream(name)}{path}"

    def dossier(self, name: str) -> Dossier:
        """Return everything about a job."""
        row = self.ledger.history.jobs(JobFilter(name=name), 1)[0]
        events = tuple(self.ledger.store.read_stream(row.stream_id))
        return Dossier(events=events, evidence=self.evidence.get, origin="a test")

    def append(self, records: Sequence[EventRecord]) -> None:
        """Put the whole stream of a job into the ledger."""
        append_records(self.ledger, records)


def empty_pages() -> Pages:
    """Return what pages of an empty ledger are made of, not served yet."""
    ledger = memory_ledger()
    ledger.take_all_shards()
    return Pages(ledger, MemoryEvidence(), TestClock())


@contextmanager
def serving(pages: Pages, reviewer: Reviewer | None = None) -> Iterator[Pages]:
    """Serve pages."""
    ledger = pages.ledger
    parts = PageParts(
        sources=Sources(ledger.store, ledger.history, pages.evidence),
        pending=ledger.pending,
        now=pages.clock,
        health=lambda: pages.findings,
    )
    server = HttpServer(with_api(Starlette(), parts, reviewer), "127.0.0.1", 0)
    server.start()
    pages.url = server.url
    try:
        yield pages
    finally:
        server.stop()
