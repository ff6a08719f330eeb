"""A second try for tests on real parts, where one is asked for, and what failed at first.

Processes, sockets and watches race with whatever else a machine does. A test that fails once in
ten thousand must not hide what the other tests say, and must not be forgotten either: its first
failure is printed whole. Rules, properties and the simulation know no races: they get one try.
"""

import os
from collections.abc import Iterable, Sequence

import pytest
from _pytest.terminal import TerminalReporter

RERUNS = "JOBLEDGER_RERUNS"
"""Variable: how many more tries; none if it is not set."""

REAL_PARTS = tuple(
    f"tests/{folder}/"
    for folder in ("acceptance", "adapters", "contracts", "crash_points", "faults")
)
"""Where processes, servers and sockets take part."""


def pytest_collection_modifyitems(items: Iterable[pytest.Item]) -> None:
    """Give tests on real parts as many more tries as the environment says."""
    more = int(os.environ.get(RERUNS, "0"))
    for item in items:
        if more and item.nodeid.startswith(REAL_PARTS):
            item.add_marker(pytest.mark.flaky(reruns=more))


def pytest_terminal_summary(terminalreporter: TerminalReporter) -> None:
    """Print every failure that was tried again, as failures are printed."""
    failed_at_first: Sequence[pytest.TestReport] = terminalreporter.stats.get("rerun", [])
    for report in failed_at_first:
        terminalreporter.section(f"failed at first: {report.nodeid} ({report.when})")
        terminalreporter.write_line(report.longreprtext)
