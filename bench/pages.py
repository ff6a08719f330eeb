"""How quickly the pages of a large ledger come: lists, jobs, and the reports of its whole year.

The ledger is a made-up platform (`bench.population`): 33,000 jobs, with `--full` a year of half a
million jobs and some 16 M events. Asked of `jobledger serve`, by nobody else.
"""

import os
import time
from collections.abc import Iterator, Mapping, Sequence
from datetime import timedelta
from http import HTTPStatus
from typing import NamedTuple
from urllib.parse import urlencode

import psycopg
import urllib3

from bench.figures import Report
from bench.machine import load, tree_cpu_seconds
from bench.population.loading import load as load_population
from bench.population.population import END, ONE_MILLION, TEN_MILLION, Size
from bench.serving import serving
from bench.throwaway import Server, postgres
from jobledger.adapters.postgres.reports.asking.catalogue import REPORTS

DATABASE = "pages"
TIMES = 7
AIM_MS = 500
SHARES = (("p50", 0.5), ("max", 1.0))
PERIODS = {"a week": 7, "the year": 365}
"""Periods of reports that end with the data, in days."""
OF_JOB = {
    "story": "",
    "all its events": "?show=all",
    "evidence": "/evidence",
    "manifest": "/manifest",
    "decisions": "/decisions",
    "what if": "/what-if?backoff_limit=9",
    "an instant": "/moment?at=5",
}
"""Pages of a job, and where they are."""


def measure(report: Report) -> None:
    """Load the platform, then ask for its pages."""
    size = TEN_MILLION if report.full else ONE_MILLION
    with postgres(report) as server:
        url = server.database(DATABASE)
        _load(report, server, url, size)
        measure_at(report, url)


def measure_at(report: Report, url: str) -> None:
    """Ask for the pages of a ledger that is loaded; the URL is that of its owner."""
    with serving(url) as (address, pid), urllib3.PoolManager() as pool:
        for what, path in (*_pages(url), *_reports()):
            spent = tree_cpu_seconds(pid)
            taken = [_asked(pool, f"{address}/page{path}") for _ in range(TIMES + 1)][1:]
            spent = (tree_cpu_seconds(pid) - spent) / (TIMES + 1) * 1e3
            report.percentiles(what, taken, "ms", SHARES)
            if sorted(taken)[TIMES // 2] > AIM_MS:
                report.remark(f"{what}: more than {AIM_MS} ms, {spent:.0f} of them the program's")
    report.setting("load after the pages", load())
    report.remark(f"each page {TIMES} times after a first; aim {AIM_MS} ms")


def _load(report: Report, server: Server, url: str, size: Size) -> None:
    report.say(f"playing {size.templates} lives and loading {size.jobs} jobs")
    found = load_population(url, size, processes=os.cpu_count() or 1)
    report.setting("log", f"{found.events:,} events of {found.jobs:,} jobs in {size.days} days")
    report.say("VACUUM ANALYZE")
    with server.admin(DATABASE) as admin:
        admin.execute("VACUUM ANALYZE")
        admin.execute("CHECKPOINT")


def _asked(pool: urllib3.PoolManager, address: str) -> float:
    """Return how long an answer took, in milliseconds."""
    began = time.perf_counter()
    answer = pool.request("GET", address)
    assert answer.status == HTTPStatus.OK, f"{address}: {answer.status}"
    return (time.perf_counter() - began) * 1e3


class Picked(NamedTuple):
    """Jobs of the ledger that are asked for."""

    middle: str
    """One half of them are younger than."""
    failed: str
    other: str
    name: str
    namespace: str
    uid: str
    """Of the one that failed."""


def _pages(url: str) -> Iterator[tuple[str, str]]:
    """Yield the pages that are no reports: what they are, and their path."""
    picked = _picked(url)
    for what, query in _lists(picked).items():
        yield f"list: {what}", f"/jobs?{urlencode(query)}"
    for what, path in OF_JOB.items():
        yield f"a job that failed: {what}", f"/jobs/{picked.failed}{path}"
    compared = f"/compare?here={picked.failed}"
    yield "compare: what with", compared
    yield "compare: two jobs", f"{compared}&there={picked.other}"
    yield "compare: two attempts", f"{compared}&attempt=1&other=2"
    yield "pending", "/pending"
    yield "health", "/health"


def _picked(url: str) -> Picked:
    with psycopg.connect(url.replace("+psycopg", "", 1), autocommit=True) as connection:

        def one(query: str) -> Sequence[str]:
            row = connection.execute(query).fetchone()
            assert row is not None, query
            return [str(value) for value in row]

        (middle,) = one(
            "SELECT stream_id FROM job WHERE phase = 'Complete' ORDER BY stream_id"
            " OFFSET (SELECT count(*) / 2 FROM job WHERE phase = 'Complete') LIMIT 1"
        )
        failed, name, namespace, uid = one(
            "SELECT stream_id, name, namespace, uid FROM job WHERE phase = 'Failed' AND failed > 1"
            " ORDER BY stream_id DESC LIMIT 1"
        )
        (other,) = one(
            "SELECT stream_id FROM job WHERE phase = 'Complete' AND kind = 'RayJob'"
            " ORDER BY stream_id DESC LIMIT 1"
        )
    return Picked(middle, failed, other, name, namespace, uid)


def _lists(of: Picked) -> Mapping[str, Mapping[str, str]]:
    """Return the filters of lists, by what they find."""
    month = [f"{END - timedelta(days=days):%Y-%m-%d}" for days in (200, 170)]
    return {
        "everything": {},
        "half a ledger further on": {"after": of.middle},
        "a part of names that many have": {"q": of.name[:5]},
        "a name that one has": {"q": of.name},
        "a name that none has": {"q": "nothing-like-this"},
        "the beginning of many UIDs": {"q": of.uid[:30]},
        "a namespace": {"namespace": of.namespace},
        "a state": {"state": "Failed"},
        "a state that none is in": {"state": "Suspending"},
        "both, further on": {
            "namespace": of.namespace,
            "state": "Failed",
            "after": of.middle,
        },
        "a cause": {"cause": "application"},
        "a cause that few failed of": {"cause": "gpu-out-of-memory"},
        "a label": {"label": f"team={of.namespace}"},
        "a label that none has": {"label": "team=nobody"},
        "a month of the year": {"from": month[0], "until": month[1]},
        "a kind": {"kind": "TrainJob"},
        "a kind that none is of": {"kind": "Job"},
        "a cluster that is not there": {"cluster": "elsewhere"},
    }


def _reports() -> Iterator[tuple[str, str]]:
    for period, days in PERIODS.items():
        since = END - timedelta(days=days)
        asked = urlencode({"from": f"{since:%Y-%m-%d}", "until": f"{END:%Y-%m-%d}"})
        for name in REPORTS:
            yield f"report {name}, {period}", f"/reports/{name}?{asked}"
