"""Prints how long the first view of a job takes in Chromium: `python -m tests.browser.first_view`.

The job fails 21 times, 510 events; Postgres and the pages are on this machine. Each view is by a
browser that has kept nothing, on a job that the server has not been asked for: there is one for
each view, and what the program does once in its life is done for another.
"""

import os
import shutil
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http import HTTPStatus
from pathlib import Path
from statistics import median
from typing import Any

import urllib3
from playwright.sync_api import Browser
from starlette.applications import Starlette

from jobledger.adapters.forensic_wiring import with_api
from jobledger.adapters.http.server import HttpServer
from jobledger.adapters.ledger_wiring import open_ledger
from jobledger.adapters.page_wiring import page_parts
from jobledger.adapters.postgres.connection.engine import APP_ROLE, EngineOptions, open_engine
from jobledger.adapters.postgres.schema.version import upgrade
from jobledger.core.ports.history import JobFilter
from jobledger.sandbox.postgres.embedded import EmbeddedPostgres
from jobledger.sandbox.postgres.user import temporary_directory
from tests.browser.chromium import MISSING, chromium, found
from tests.support import rayjob_stories as stories
from tests.support.ledgers import postgres_ledger
from tests.support.recorded import append_lives
from tests.support.reported import project_all

VIEWS = 11
ATTEMPTS = 21
TIMES = """() => {
    const [page] = performance.getEntriesByType("navigation");
    const paint = performance.getEntriesByName("first-contentful-paint")[0];
    return {
        "answer begun": page.responseStart - page.startTime,
        "answer complete": page.responseEnd - page.startTime,
        "first contents painted": paint.startTime,
        "document ready": page.domContentLoadedEventEnd - page.startTime,
        "everything loaded": page.loadEventEnd - page.startTime,
    };
}"""
"""Milliseconds from the beginning of the navigation."""
SPENT = {
    "CPU of the tab": "TaskDuration",
    "  of it scripts": "ScriptDuration",
    "  of it styles": "RecalcStyleDuration",
    "  of it layout": "LayoutDuration",
}
"""What is told -> its name in the DevTools protocol; of the thread that draws, in seconds."""
LOADED = """() => performance.getEntriesByType("navigation")[0].loadEventEnd > 0
    && performance.getEntriesByName("first-contentful-paint").length > 0"""


@contextmanager
def served(directory: Path) -> Iterator[tuple[str, list[str], int]]:
    """Yield the address of the pages, the streams of the jobs, and how many events each has."""
    with EmbeddedPostgres(directory / "postgres") as server:
        upgrade(server.url)
        engine = open_engine(server.url, EngineOptions(role=APP_ROLE))
        try:
            lives = {
                f"long-{number}": lambda: stories.failed_attempts(ATTEMPTS, backoff_limit=99)
                for number in range(VIEWS + 1)
            }
            ledger = postgres_ledger(engine)
            ledger.take_all_shards()
            append_lives(ledger, lives.items())
            project_all(engine)
            opened = open_ledger(server.url, engine)
            http = HttpServer(
                with_api(Starlette(), opened, None, page_parts(opened)), "127.0.0.1", 0
            )
            http.start()
            rows = opened.history.jobs(JobFilter(), VIEWS + 1)
            yield http.url, [str(row.stream_id) for row in rows], rows[0].version
            http.stop()
        finally:
            engine.dispose()


def viewed(browser: Browser, address: str) -> dict[str, float]:
    """Return what a browser that has kept nothing measures, and what CPU the view takes."""
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    try:
        tab = context.new_page()
        devtools = context.new_cdp_session(tab)
        devtools.send("Performance.enable", {"timeDomain": "threadTicks"})
        tab.goto(address)
        metrics = devtools.send("Performance.getMetrics")["metrics"]  # before Playwright's scripts
        spent = {one["name"]: one["value"] * 1000 for one in metrics}
        tab.wait_for_function(LOADED)
        told: dict[str, Any] = tab.evaluate(TIMES)
        told |= {what: spent[name] for what, name in SPENT.items()}
        return {**told, "CPU of the program": answered(address)}
    finally:
        context.close()


def answered(address: str) -> float:
    """Return how much CPU this process takes to make and to fetch a page, in milliseconds."""
    began = time.process_time()
    assert urllib3.request("GET", address).status == HTTPStatus.OK
    return (time.process_time() - began) * 1000


def main() -> int:
    """Measure and print; return 1 if there is no browser."""
    path = found()
    if path is None:
        sys.stderr.write(f"{MISSING}\n")
        return 1
    directory = temporary_directory("jobledger-first-view-")
    try:
        with served(directory) as (url, streams, events), chromium(path) as browser:
            warm, *rest = streams
            viewed(browser, f"{url}/page/jobs/{warm}?show=all")
            for name, query in (("the story", ""), ("all events", "?show=all")):
                seen = [viewed(browser, f"{url}/page/jobs/{one}{query}") for one in rest]
                load = os.getloadavg()[0]
                lines = [f"{name} of a job of {events} events, {VIEWS} views, load {load:.1f}"]
                for what in seen[0]:
                    times = sorted(one[what] for one in seen)
                    least, most = times[0], times[-1]
                    lines.append(f"  {what:24}{median(times):6.0f} ms ({least:.0f} to {most:.0f})")
                sys.stdout.write("\n".join(lines) + "\n")
    finally:
        shutil.rmtree(directory)
    return 0


if __name__ == "__main__":
    sys.exit(main())
