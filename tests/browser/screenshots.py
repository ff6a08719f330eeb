"""Takes the pictures of the page for the docs: `make screenshots`. Of the twenty failures' ledger.

A run with two failed attempts stands beside them, and one that goes on.
"""

import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

from playwright.sync_api import Browser
from sqlalchemy import Engine
from starlette.applications import Starlette

from jobledger.adapters.forensic_wiring import with_api
from jobledger.adapters.http.server import HttpServer
from jobledger.adapters.ledger_wiring import open_ledger
from jobledger.adapters.page_wiring import page_parts
from jobledger.adapters.postgres.connection.engine import APP_ROLE, EngineOptions, open_engine
from jobledger.adapters.postgres.schema.version import upgrade
from jobledger.core.ports.history import History, JobFilter
from jobledger.sandbox.postgres.embedded import EmbeddedPostgres
from jobledger.sandbox.postgres.user import temporary_directory
from tests.browser.chromium import MISSING, chromium, found
from tests.failure_corpus.twenty.filling import fill
from tests.support import rayjob_stories as stories
from tests.support.ledgers import postgres_ledger
from tests.support.rayjob_builders import poll, submitter
from tests.support.recorded import append_lives
from tests.support.records import NOON
from tests.support.reported import project_all

PICTURES = Path("docs/pictures")
WIDE, NARROW = {"width": 1120, "height": 760}, {"width": 360, "height": 720}
LATER = timedelta(minutes=5)
"""So long after the jobs were made the pictures are taken."""


def third_time_lucky() -> stories.Story:
    """Return a job that fails twice and succeeds on its third RayCluster."""
    begun = stories.start_of(3)
    ended = poll("SUCCEEDED", begun + 70, attempt=3, started_at=begun + 25, ended_at=begun + 69)
    return (
        *stories.failed_attempts(2, backoff_limit=3),
        *stories.built(3),
        *stories.readied(3),
        poll("RUNNING", begun + 30, attempt=3, started_at=begun + 25),
        ended,
        submitter("Complete", begun + 72, attempt=3),
    )


def filled(engine: Engine) -> None:
    """Put the jobs into an empty ledger, and what reports know of them."""
    fill(engine)
    more = {
        "third-time-lucky": third_time_lucky,
        "sweep-7": lambda: (*stories.working(backoff_limit=3), *stories.failing()),
        "sweep-8": stories.working,
    }
    append_lives(postgres_ledger(engine), more.items())
    project_all(engine)


@contextmanager
def serving(url: str, engine: Engine) -> Iterator[tuple[str, History]]:
    """Yield the address of pages on a ledger, and its tables."""
    opened = open_ledger(url, engine)
    parts = replace(page_parts(opened), now=lambda: NOON + LATER)
    http = HttpServer(with_api(Starlette(), parts, None), "127.0.0.1", 0)
    http.start()
    try:
        yield http.url, opened.history
    finally:
        http.stop()


@contextmanager
def served(directory: Path) -> Iterator[tuple[str, History]]:
    """Yield the address of pages on a ledger that is made for them, and its tables."""
    with EmbeddedPostgres(directory / "postgres") as server:
        upgrade(server.url)
        engine = open_engine(server.url, EngineOptions(role=APP_ROLE))
        try:
            filled(engine)
            with serving(server.url, engine) as told:
                yield told
        finally:
            engine.dispose()


def take(browser: Browser, url: str, history: History, into: Path) -> None:
    """Take all pictures."""

    def of(name: str) -> str:
        return f"/page/jobs/{history.jobs(JobFilter(name=name), 1)[0].stream_id}"

    shots = (
        ("page-jobs", "/page/jobs", "light", WIDE),
        ("page-why", of("llama-ft"), "light", WIDE),
        ("page-attempts", of("third-time-lucky"), "dark", WIDE),
        ("page-reports", "/page/reports/failures?by=cause", "light", WIDE),
        ("page-narrow", of("third-time-lucky"), "dark", NARROW),
    )
    for name, path, scheme, size in shots:
        context = browser.new_context(
            color_scheme=scheme,  # type: ignore[arg-type]  # one of its two words
            viewport=size,  # type: ignore[arg-type]  # a width and a height
            timezone_id="Europe/Berlin",
            reduced_motion="reduce",
        )
        tab = context.new_page()
        tab.goto(url + path)
        tab.evaluate("document.fonts.ready")
        tab.screenshot(path=into / f"{name}.png")
        context.close()


def main() -> int:
    """Take the pictures into the folder that is given, else into the docs."""
    path = found()
    if path is None:
        sys.stderr.write(f"{MISSING}\n")
        return 1
    into = Path(sys.argv[1]) if len(sys.argv) > 1 else PICTURES
    into.mkdir(parents=True, exist_ok=True)
    directory = temporary_directory("jobledger-screenshots-")
    try:
        with served(directory) as (url, history), chromium(path) as browser:
            take(browser, url, history, into)
    finally:
        shutil.rmtree(directory)
    return 0


if __name__ == "__main__":
    sys.exit(main())
