"""What the pages read, and what each handler of theirs is given."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from starlette.requests import Request

from jobledger.adapters.http.api.application import NotFound, Sources
from jobledger.adapters.http.api.parameters import Asked, BadRequest, Parameter, stream_of
from jobledger.core.forensics.bundles.dossier import Dossier
from jobledger.core.forensics.story.similar import Similar
from jobledger.core.jobs.rows import JobRow
from jobledger.core.ports.history import JobFilter
from jobledger.core.ports.pending import PendingDecisions
from jobledger.core.values.ids import StreamId
from jobledger.core.values.instants import Instant

Cell = str | int | float | bool | Instant | None


@dataclass(frozen=True, slots=True)
class ReportColumn:
    """A column of a report."""

    name: str
    heading: str
    unit: str
    meaning: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportTold:
    """What a report says."""

    columns: Sequence[ReportColumn]
    keys: int
    """So many of them, the first, are what rows are grouped by."""
    rows: Sequence[Mapping[str, Cell]]
    total: Mapping[str, Cell] | None
    bar: str
    """The column that is drawn."""
    title: str
    """Of the drawing."""
    more: bool
    behind: int
    """Events that are not yet in what reports read."""
    sql: str
    parameters: Mapping[str, object]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportNamed:
    """A report that can be asked for."""

    name: str
    summary: str
    rule: str
    dimensions: Mapping[str, str]
    """What its rows can be grouped by -> what that means."""
    default_by: Sequence[str]


class Reports(Protocol):
    """The reports of a ledger."""

    def listed(self) -> Sequence[ReportNamed]:
        """Return all there are."""

    def ask(
        self, name: str, by: str, since: Instant, until: Instant, most: int | None = None
    ) -> ReportTold:
        """Return the answer of a report; `by` is empty or one of its dimensions.

        Of its rows at most so many; None: as many as a page shows.

        Raises:
            KeyError: there is no such report, or no such dimension of it.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing about the controller or the ledger."""

    what: str
    told: str
    look: str
    """good, warn, bad, or calm where it is only told."""
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PageParts:
    """What the pages are made of."""

    sources: Sources
    pending: PendingDecisions
    now: Callable[[], Instant]
    health: Callable[[], Sequence[Finding]]
    stale_since: Callable[[], Instant | None] = lambda: None
    """When what is told was true, if a standby is asked that lags."""
    reports: Reports | None = None
    similar: Callable[[StreamId, str], Similar | None] = lambda *_: None
    """What failed like the last failure of a job; takes the cause that is told of it."""


def asked(request: Request, *known: Parameter) -> Asked:
    """Return the query of a request; a field of a form that was left empty was not given."""
    pairs = [(key, value) for key, value in request.query_params.multi_items() if value]
    if len(dict(pairs)) != len(pairs):
        raise BadRequest("a parameter stands twice")
    return Asked(dict(pairs), known)


def job_of(parts: PageParts, request: Request) -> JobRow:
    """Return the job that a path names.

    Raises:
        NotFound, BadRequest: there is none, or it names none.
    """
    stream = stream_of(request.path_params["stream"])
    found = parts.sources.history.jobs(JobFilter(stream_id=stream), 1)
    if not found:
        raise NotFound("The ledger knows no such job. It may have been archived.")
    return found[0]


def dossier_of(parts: PageParts, row: JobRow) -> Dossier:
    """Return everything that is known of a job."""
    events = tuple(parts.sources.store.read_stream(row.stream_id))
    return Dossier(events=events, evidence=parts.sources.evidence.get, origin="the ledger")
