"""How quickly the pages of a large ledger come: lists, jobs, and the reports of its whole year.

The ledger is a made-up platform (`bench.population`): 33,000 jobs, with `--full` a year of half a
million jobs and some 16 M events. Asked of `jobledger serve`, by nobody else.
"""

import os
import time
from collections.abc import Iterator, Sequence
from datetime import timedelta
from http import HTTPStatus
from urllib.parse import quote, urlencode

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


def _pages(url: str) -> Iterator[tuple[str, str]]:
    """Yield the pages that are no reports: what they are, and their path."""
    with psycopg.connect(url.replace("+psycopg", "", 1), autocommit=True) as connection:

        def one(query: str) -> Sequence[str]:
            row = connection.execute(query).fetchone()
            assert row is not None, query
            return [str(value) for value in row]

        (middle,) = one(
            "SELECT stream_id FROM job WHERE phase = 'Complete' ORDER BY stream_id"
            " OFFSET (SELECT count(*) / 2 FROM job WHERE phase = 'Complete') LIMIT 1"
        )
        failed, name, space, uid = one(
            "SELECT stream_id, name, namespace, uid FROM job WHERE phase = 'Failed' AND failed > 1"
            " ORDER BY stream_id DESC LIMIT 1"
        )
        (other,) = one(
            "SELECT stream_id FROM job WHERE phase = 'Complete' AND kind = 'RayJob'"
            " ORDER BY stream_id DESC LIMIT 1"
        )
    month = END - timedelta(days=200), END - timedelta(days=170)
    lists = {
        "everything": {},
        "half a ledger further on": {"after": middle},
        "a part of names that many have": {"q": name[:5]},
        "a name that one has": {"q": name},
        "a name that none has": {"q": "nothing-like-this"},
        "the beginning of a UID": {"q": uid[:30]},
        "a namespace": {"namespace": space},
        "a state": {"state": "Failed"},
        "a state that none is in": {"state": "Suspending"},
        "a namespace and a state, further on": {
            "namespace": space,
            "state": "Failed",
            "after": middle,
        },
        "a cause": {"cause": "application"},
        "a cause that few failed of": {"cause": "gpu-out-of-memory"},
        "a label": {"label": f"team={space}"},
        "a label that none has": {"label": "team=nobody"},
        "a month of the year": {"from": f"{month[0]:%Y-%m-%d}", "until": f"{month[1]:%Y-%m-%d}"},
        "a kind": {"kind": "TrainJob"},
        "a kind that none is of": {"kind": "Job"},
        "a cluster that is not there": {"cluster": "elsewhere"},
    }
    for what, query in lists.items():
        yield f"list: {what}", f"/jobs?{urlencode(query)}"
    for what, path in {
        "story": "",
        "all its events": "?show=all",
        "evidence": "/evidence",
        "manifest": "/manifest",
        "decisions": "/decisions",
        "what if": "/what-if?backoff_limit=9",
        "an instant": "/moment?at=5",
    }.items():
        yield f"a job that failed: {what}", f"/jobs/{failed}{path}"
    yield "compare: what with", f"/compare?here={quote(failed)}"
    yield "compare: two jobs", f"/compare?here={failed}&there={other}"
    yield "compare: two attempts", f"/compare?here={failed}&attempt=1&other=2"
    yield "pending", "/pending"
    yield "health", "/health"


def _reports() -> Iterator[tuple[str, str]]:
    for period, days in PERIODS.items():
        since = END - timedelta(days=days)
        asked = urlencode({"from": f"{since:%Y-%m-%d}", "until": f"{END:%Y-%m-%d}"})
        for name in REPORTS:
            yield f"report {name}, {period}", f"/reports/{name}?{asked}"
