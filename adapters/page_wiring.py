"""Composition root of the pages: connects them with the ledger, its reports and its controller."""

import re
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import partial

from prometheus_client import CollectorRegistry
from sqlalchemy import Engine

from jobledger.adapters.http.page.parts import (
    Finding,
    PageParts,
    ReportColumn,
    ReportNamed,
    ReportTold,
)
from jobledger.adapters.ledger_wiring import Ledger, reports_engine
from jobledger.adapters.postgres.checks.housekeeping import UNSEALED_EVENTS_MAX, lags
from jobledger.adapters.postgres.connection.errors import ledger_errors
from jobledger.adapters.postgres.connection.standby import ledger_stale_since, stale_since
from jobledger.adapters.postgres.reports.asking.asking import ask, health, parameters, statement
from jobledger.adapters.postgres.reports.asking.catalogue import REPORTS
from jobledger.adapters.postgres.reports.asking.dimensions import BUCKETS
from jobledger.adapters.postgres.reports.asking.report import Question, Report
from jobledger.adapters.postgres.reports.asking.similar import similar_to
from jobledger.adapters.telemetry.clock import SystemClock
from jobledger.core.errors import LedgerUnavailable
from jobledger.core.values.counted import counted
from jobledger.core.values.durations import span
from jobledger.core.values.ids import SHARDS
from jobledger.core.values.instants import Instant, rfc3339

REPORT_SECONDS = 20
"""How long Postgres may work on a report for a page."""
ROWS = 50
ROWS_BY_TIME = 400
LATE_DECISIONS = 1
"""So many decisions that are overdue are a warning."""

_OPTION = re.compile("--[a-z-]+")
_OPTIONS = {
    "--until": "the end of the period",
    "--by": "By",
    "--within": "the time that is aimed at",
    "--target": "the target",
}
"""Options of `jobledger report` in its rules, and what they are called on a page."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """What a controller in this process knows about itself."""

    is_alive: Callable[[], bool]
    waits_for: Callable[[], list[str]]
    troubles: Callable[[], list[str]]
    notes: Callable[[], list[str]]
    registry: CollectorRegistry


def page_parts(opened: Ledger, standing: Standing | None = None) -> PageParts:
    """Return what the pages of a ledger are made of; `standing`: of the controller beside them."""
    return PageParts(
        sources=opened,
        pending=opened.pending,
        now=SystemClock().now,
        health=lambda: [*_of_controller(standing), *_of_ledger(opened)],
        stale_since=partial(ledger_stale_since, opened.engine),
        reports=LedgerReports(opened.url),
        similar=partial(similar_to, opened.engine),
    )


class LedgerReports:
    """The reports, asked one at a time: whoever opens many pages holds up other readers alone."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._turn = threading.Lock()

    def listed(self) -> Sequence[ReportNamed]:
        """See `adapters.http.page.parts.Reports.listed`."""
        return [_named(report) for report in REPORTS.values()]

    def ask(
        self, name: str, by: str, since: Instant, until: Instant, most: int | None = None
    ) -> ReportTold:
        """See `adapters.http.page.parts.Reports.ask`."""
        report = REPORTS[name]
        dimensions = (by,) if by else report.default_by
        if by and by not in _named(report).dimensions:
            raise KeyError(by)
        if "job" in dimensions and "cluster" not in dimensions:
            dimensions = ("cluster", *dimensions)
        limit = ROWS_BY_TIME if set(dimensions) & set(BUCKETS) else ROWS
        question = Question(
            since=since,
            until=until,
            by=dimensions,
            thresholds={item.name: item.default for item in report.thresholds},
            limit=limit if most is None else most,
        )
        if not self._turn.acquire(timeout=REPORT_SECONDS):
            raise LedgerUnavailable("other reports are being computed; ask again")
        try:
            with reports_engine(self._url, time_limit_seconds=REPORT_SECONDS) as engine:
                return _told(engine, report, question)
        finally:
            self._turn.release()


def _named(report: Report) -> ReportNamed:
    known = {name: one.meaning for name, one in report.dimensions.items()}
    return ReportNamed(
        name=report.name,
        summary=report.summary,
        rule=_on_a_page(report.rule),
        dimensions={**known, **(BUCKETS if report.dated and known else {})},
        default_by=report.default_by,
    )


def _on_a_page(told: str) -> str:
    """Return what is told of a report where there are no options: in the words of its form."""
    sentences = re.split(r"(?<=\.)\s+", told)
    kept = " ".join(" ".join(one.split()) for one in sentences if "--longer-than" not in one)
    return _OPTION.sub(lambda found: _OPTIONS.get(found[0], found[0]), kept)


def _told(engine: Engine, report: Report, question: Question) -> ReportTold:
    answer = ask(engine, report, question)
    return ReportTold(
        columns=[
            ReportColumn(one.name, one.heading, one.unit.value, _on_a_page(one.meaning))
            for one in answer.columns
        ],
        keys=len(answer.keys),
        rows=answer.rows,
        total=answer.total,
        bar=report.chart.columns[0],
        title=report.chart.title,
        more=answer.more,
        behind=answer.events_behind,
        sql=statement(report, question),
        parameters=parameters(report, question),
    )


def _of_controller(standing: Standing | None) -> Iterator[Finding]:
    if standing is None:
        told = "none in this process: it only reads the ledger"
        yield Finding(what="Controller", told=told, look="calm")
        return
    missing = list(standing.waits_for())
    ready = "ready" if not missing else f"waits for {', '.join(missing)}"
    alive = standing.is_alive()
    yield Finding(
        what="Controller",
        told=ready if alive else "has stopped turning; it should be restarted",
        look="good" if alive and not missing else "bad",
    )
    for trouble in standing.troubles() if missing else ():
        yield Finding(what="Trouble", told=trouble, look="bad")
    for note in standing.notes():
        yield Finding(what="Note", told=note, look="warn")
    value = standing.registry.get_sample_value
    for what, name, wrong in _GAUGES:
        found = value(name)
        if found is not None:
            look = "calm" if wrong is None else "bad" if found == wrong else "good"
            told = f"{found:,.0f}" if wrong is None else "no" if found == wrong else "yes"
            yield Finding(what=what, told=told, look=look, note=name)
    for what, name, of in _COUNTERS:
        total = sum(
            one.value
            for family in standing.registry.collect()
            for one in family.samples
            if one.name == name and of.items() <= one.labels.items()
        )
        yield Finding(what=what, told=f"{total:,.0f}", look="calm", note=f"{name}, since it began")


_GAUGES: Sequence[tuple[str, str, float | None]] = (
    ("Jobs held in memory", "jobledger_jobs_held", None),
    ("Observations waiting for their turn", "jobledger_inbox_observations", None),
    (f"Shards held, of {SHARDS}", "jobledger_shards_held", None),
    ("Replicas", "jobledger_replicas", None),
    ("Log reachable", "jobledger_ledger_up", 0),
    ("API server reachable", "jobledger_api_server_up", 0),
    ("Seals sound", "jobledger_seals_sound", 0),
    ("Jobs of which the cluster knows more than the ledger", "jobledger_ledger_behind_jobs", None),
    ("Other ledgers that would control these jobs", "jobledger_other_ledgers", None),
)
"""What is told, the metric, and the value that is trouble; None: any number is right."""
_COUNTERS: Sequence[tuple[str, str, Mapping[str, str]]] = (
    ("Events appended", "jobledger_events_appended_total", {}),
    ("Gaps in watches", "jobledger_events_appended_total", {"type": "ObservationGapFound"}),
    ("Appends refused", "jobledger_append_refusals_total", {}),
    ("Observations no rule could handle", "jobledger_poisoned_observations_total", {}),
)


def _of_ledger(opened: Ledger) -> Iterator[Finding]:
    with ledger_errors(opened.engine.url), opened.engine.connect() as connection:
        state = health(connection)
        stale = stale_since(connection)
    if stale is not None:
        yield Finding(
            what="Standby",
            told=f"as of {rfc3339(stale)}",
            look="warn",
            note="it has taken over nothing since: it lags, or its primary has committed nothing",
        )
    position, behind = int(state["last_position"]), int(state["lag_events"])
    yield Finding(what="Events in the log", told=f"{position:,}", look="calm")
    yield Finding(
        what="Jobs with something left to do", told=f"{state['open_jobs']:,}", look="calm"
    )
    late, waited = int(state["overdue_decisions"]), float(state["lag_seconds"])
    yield Finding(
        what="Overdue decisions",
        told=f"{late:,} of {state['pending_decisions']:,} pending",
        look="warn" if late >= LATE_DECISIONS else "good",
        note="they fire when a controller runs; it judges by what is true then" if late else "",
    )
    yield Finding(
        what="Reports",
        told="up to date"
        if not behind
        else f"{counted(behind, 'event', grouped=True)} behind the log",
        look="warn" if lags(behind, timedelta(seconds=waited)) else "good",
        note=f"the oldest has waited {span(waited)}" if behind else "",
    )
    held, replicas = state["shards_held"], state["replicas"]
    yield Finding(
        what="Leases",
        told=f"{held} of {SHARDS} shards held, replicas: {replicas}",
        look="good" if held == SHARDS else "warn",
        note="" if held == SHARDS else "where no controller runs, none is held",
    )
    yield _sealed(opened, position)


def _sealed(opened: Ledger, position: int) -> Finding:
    seal = opened.seals.last_seal()
    if seal is None:
        return Finding(what="Seals", told="none yet", look="calm")
    unsealed = position - seal.last
    return Finding(
        what="Seals",
        told=f"{seal.number:,}; the last at {rfc3339(seal.sealed_at)}",
        look="good" if unsealed <= UNSEALED_EVENTS_MAX else "warn",
        note=f"{counted(unsealed, 'event', grouped=True)} came after it",
    )
