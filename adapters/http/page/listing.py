"""The list of jobs: filters, counts by state, pages, all in the address."""

import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from datetime import timedelta

from starlette.requests import Request
from starlette.responses import Response

from jobledger.adapters.http.api.parameters import Asked, Parameter, ParameterKind
from jobledger.adapters.http.page.parts import PageParts, asked
from jobledger.adapters.http.page.rendering import address, page_for, unless_known
from jobledger.core.jobs.failures.rules import CAUSES
from jobledger.core.kinds import KINDS, NEW, PHASES
from jobledger.core.ports.history import History, JobFilter
from jobledger.core.values.instants import Instant

ROWS = 50
PERIODS: Mapping[str, timedelta] = {
    "1h": timedelta(hours=1),
    "24h": timedelta(days=1),
    "7d": timedelta(days=7),
    "30d": timedelta(days=30),
}
COUNTS_SECONDS = 2.0
"""So long counts are told again as they were: however many look, the table is counted once."""
COUNTS_KEPT = 64
COUNTS_PATIENCE = 0.1
"""Seconds that a page waits for its counts; if they take longer, they come with the next news."""

_TEXTS = ("q", "cluster", "namespace")
"""How the phase of a job that has none yet is called."""

_CHOICES = {
    "kind": tuple(KINDS),
    "state": (NEW, *PHASES),
    "cause": tuple(CAUSES),
    "period": tuple(PERIODS),
}
_K = ParameterKind
FIELDS = (
    *(Parameter(name=name, kind=_K.TEXT, meaning="") for name in _TEXTS),
    *(Parameter(name=n, kind=_K.CHOICE, meaning="", choices=c) for n, c in _CHOICES.items()),
    Parameter(name="from", kind=_K.INSTANT, meaning=""),
    Parameter(name="until", kind=_K.INSTANT, meaning=""),
    Parameter(name="label", kind=_K.LABEL, meaning=""),
    Parameter(name="open", kind=_K.FLAG, meaning=""),
    Parameter(name="after", kind=_K.STREAM, meaning=""),
)


class Counts:
    """Counts by state, kept for a moment; the list does not wait for them for long."""

    def __init__(self, monotonic: Callable[[], float]) -> None:
        self._monotonic = monotonic
        self._lock = threading.Lock()
        self._kept: OrderedDict[JobFilter, tuple[float, Mapping[str, int]]] = OrderedDict()
        self._begun: dict[JobFilter, Future[Mapping[str, int]]] = {}
        self._counters = ThreadPoolExecutor(1, "counts")

    def of(
        self, history: History, key: JobFilter, wanted: JobFilter, patience: float
    ) -> Mapping[str, int] | None:
        """Return the counts, or those of the time before; None if they take longer than that.

        `key` says what is asked for, whenever that is; `patience` is in seconds.
        """
        with self._lock:
            at, known = self._kept.get(key, (-COUNTS_SECONDS, None))
            if self._monotonic() - at < COUNTS_SECONDS:
                return known
            counting = self._begun.get(key)
            if counting is None:
                counting = self._counters.submit(self._count, history, key, wanted)
                self._begun[key] = counting
        try:
            return counting.result(patience)
        except TimeoutError:
            return known

    def _count(self, history: History, key: JobFilter, wanted: JobFilter) -> Mapping[str, int]:
        try:
            counted = history.counts(wanted)
            with self._lock:
                self._kept[key] = self._monotonic(), counted
                while len(self._kept) > COUNTS_KEPT:
                    self._kept.popitem(last=False)
            return counted
        finally:
            with self._lock:
                del self._begun[key]


def filter_of(given: Asked, now: Instant) -> JobFilter:
    """Return which jobs are asked for."""
    period, state = given.choice("period"), given.choice("state")
    return JobFilter(
        text=given.text("q"),
        cluster=given.text("cluster"),
        namespace=given.text("namespace"),
        kind=given.choice("kind"),
        phase="" if state == NEW else state,
        new_only=state == NEW,
        cause=given.choice("cause"),
        label=given.label("label"),
        open_only=given.flag("open"),
        created_from=given.instant("from") or (now - PERIODS[period] if period else None),
        created_until=given.instant("until"),
        older_than=given.stream("after"),
    )


def jobs(counted: Counts, parts: PageParts, request: Request) -> Response:
    """Return a page of the list."""
    given, history = asked(request, *FIELDS), parts.sources.history
    wanted = filter_of(given, parts.now())
    every = replace(wanted, phase="", new_only=False, older_than=None)
    with_period = replace(every, created_from=None, reason=given.choice("period"))  # a key alone
    key = replace(with_period, created_from=given.instant("from"))
    counts = counted.of(history, key, every, COUNTS_PATIENCE)
    rows = history.jobs(wanted, ROWS + 1)
    shown, query = rows[:ROWS], {key: value for key, value in request.query_params.items() if value}
    first = {key: value for key, value in query.items() if key != "after"}
    states = [
        (name or NEW, count, address("/jobs", **{**first, "state": name or NEW}))
        for name, count in sorted((counts or {}).items(), key=lambda one: (-one[1], one[0]))
    ]
    return unless_known(
        request,
        (request.url.query, counts, shown),
        lambda: page_for(
            request,
            "jobs.html",
            rows=shown,
            total=None if counts is None else sum(counts.values()),
            states=states,
            query=query,
            causes=sorted(CAUSES),
            kinds=sorted(KINDS),
            periods=tuple(PERIODS),
            all_states=address("/jobs", **{key: v for key, v in first.items() if key != "state"}),
            first=address("/jobs", **first) if "after" in query else "",
            next=address("/jobs", **{**first, "after": str(shown[-1].stream_id)})
            if len(rows) > ROWS
            else "",
        ),
    )
