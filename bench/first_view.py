"""How soon a job of 510 events is seen for the first time, in Chromium, of `jobledger serve`.

Each view is by a browser that has kept nothing, on a job that the server has not been asked for;
what the program does once in its life is done for another. The job fails 21 times.
"""

from collections.abc import Sequence
from typing import Any

from playwright.sync_api import Browser

from bench.figures import Report
from bench.machine import load, tree_cpu_seconds
from bench.serving import serving
from bench.throwaway import Server, postgres
from jobledger.adapters.postgres.connection.engine import APP_ROLE, EngineOptions, open_engine
from jobledger.adapters.postgres.log.history import PostgresHistory
from jobledger.core.ports.history import JobFilter
from tests.browser.chromium import MISSING, chromium, found
from tests.support import rayjob_stories as stories
from tests.support.ledgers import postgres_ledger
from tests.support.recorded import append_lives
from tests.support.reported import project_all

VIEWS, VIEWS_FULL = 30, 100
ATTEMPTS = 21
AIM_MS = 300
SHARES = (("p50", 0.5), ("p95", 0.95), ("max", 1.0))
DATABASE = "first_view"

NOTE_EXPLANATION = """() => {
    const seen = () => requestAnimationFrame(() => setTimeout(() => {
        window.explained ??= performance.now();
    }));
    const watch = new MutationObserver(() => {
        if (document.querySelector("#why .lead")) { watch.disconnect(); seen(); }
    });
    watch.observe(document, {childList: true, subtree: true});
}"""
"""Notes when the frame that shows the explanation has been drawn."""
TIMES = """() => {
    const [page] = performance.getEntriesByType("navigation");
    const [paint] = performance.getEntriesByName("first-contentful-paint");
    return {
        "answer begun": page.responseStart,
        "answer complete": page.responseEnd,
        "first contents painted": paint.startTime,
        "explanation shown": window.explained,
        "everything loaded": page.loadEventEnd,
    };
}"""
"""Milliseconds from the beginning of the navigation."""
IS_SEEN = """() => performance.getEntriesByType("navigation")[0].loadEventEnd > 0
    && performance.getEntriesByName("first-contentful-paint").length > 0 && window.explained"""
AIMED_AT = ("first contents painted", "explanation shown", "everything loaded")


def measure(report: Report) -> None:
    """Fill a ledger, serve it, and look at its jobs one after the other."""
    path = found()
    if path is None:
        report.remark(MISSING)
        return
    views = VIEWS_FULL if report.full else VIEWS
    with postgres(report) as server:
        report.say(f"recording {views + 1} jobs")
        streams, events = _filled(server, views + 1)
        report.setting("job", f"{ATTEMPTS} failed attempts, {events} events")
        with serving(server.url(DATABASE)) as (url, pid), chromium(path) as browser:
            report.setting("browser", f"Chromium {browser.version}, 1280 by 900")
            warm, *rest = streams
            for name, query in (("story", ""), ("all events", "?show=all")):
                report.say(f"{views} views of {name}")
                _viewed(browser, f"{url}/page/jobs/{warm}{query}")
                _measure(report, browser, pid, name, [f"{url}/page/jobs/{s}{query}" for s in rest])
    report.remark(f"aim: {', '.join(AIMED_AT)} within {AIM_MS} ms")


def _filled(server: Server, jobs: int) -> tuple[Sequence[str], int]:
    """Put that many long jobs into a new ledger; return their streams, and the events of one."""
    engine = open_engine(server.database(DATABASE), EngineOptions(role=APP_ROLE))
    try:
        ledger = postgres_ledger(engine)
        ledger.take_all_shards()
        lives = {
            f"long-{number}": lambda: stories.failed_attempts(ATTEMPTS, backoff_limit=99)
            for number in range(jobs)
        }
        append_lives(ledger, lives.items())
        project_all(engine)
        rows = PostgresHistory(engine).jobs(JobFilter(), jobs)
    finally:
        engine.dispose()
    return [str(row.stream_id) for row in rows], rows[0].version


def _measure(
    report: Report, browser: Browser, pid: int, name: str, addresses: Sequence[str]
) -> None:
    spent, used = tree_cpu_seconds(pid), _chromium_seconds(browser)
    seen = [_viewed(browser, address) for address in addresses]
    spent, used = tree_cpu_seconds(pid) - spent, _chromium_seconds(browser) - used
    report.setting(f"load after {name}", load())
    for what in seen[0]:
        report.percentiles(f"{name}: {what}", [one[what] for one in seen], "ms", SHARES)
    report.figure(f"{name}: CPU of the program", spent / len(seen) * 1e3, "ms per view")
    report.figure(f"{name}: CPU of the browser beside the tab", used / len(seen) * 1e3, "ms")
    late = [what for what in AIMED_AT if max(one[what] for one in seen) > AIM_MS]
    if late:
        report.remark(f"{name}: not always within {AIM_MS} ms: {', '.join(late)}")


def _viewed(browser: Browser, address: str) -> dict[str, float]:
    """Return what a browser that has kept nothing measures, and the CPU of the tab."""
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    try:
        tab = context.new_page()
        devtools = context.new_cdp_session(tab)
        devtools.send("Performance.enable", {"timeDomain": "threadTicks"})
        tab.add_init_script(f"({NOTE_EXPLANATION})()")
        tab.goto(address)
        metrics = devtools.send("Performance.getMetrics")["metrics"]  # before Playwright's scripts
        tab.wait_for_function(IS_SEEN)
        told: dict[str, Any] = tab.evaluate(TIMES)
        spent = next(one["value"] for one in metrics if one["name"] == "TaskDuration")
        return {**told, "CPU of the tab": spent * 1000}
    finally:
        context.close()


def _chromium_seconds(browser: Browser) -> float:
    """Return the CPU of the browser's processes that outlive a tab."""
    session = browser.new_browser_cdp_session()
    processes = session.send("SystemInfo.getProcessInfo")["processInfo"]
    session.detach()
    return sum(float(one["cpuTime"]) for one in processes if one["type"] != "renderer")
