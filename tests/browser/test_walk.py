"""The questions of `docs/howto/investigate-a-failed-job.md`, with the mouse alone."""

from collections.abc import Iterator

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page
from sqlalchemy import Engine

from jobledger.adapters.postgres.reports.asking.catalogue import REPORTS
from tests.browser.conftest import Tabs
from tests.browser.screenshots import filled, serving
from tests.browser.walk import walked

pytestmark = pytest.mark.postgres


@pytest.fixture
def url(engine: Engine, ledger_url: str) -> Iterator[str]:
    """The address of pages on a ledger of failed jobs, of which one goes on."""
    filled(engine)
    with serving(ledger_url, engine) as (address, _):
        yield address


def test_every_question_is_answered_by_mouse(url: str, tabs: Tabs) -> None:
    walk = walked(tabs(), url, reports=2)
    assert walk.left_out == ["a second page of jobs", "two attempts to compare"]


TABLES_WIDER_THAN_THEY_SHOW = """() => [...document.querySelectorAll(".scroll")]
    .filter((one) => one.scrollWidth > one.clientWidth).map((one) => one.ariaLabel)"""


def what_is_wrong_with(tab: Page, path: str) -> list[str]:
    """Return what axe finds, and what of a page or its tables does not fit into the window."""
    told = Axe().run(tab).response["violations"]
    found = [f"{path}: {one['id']} {one['nodes'][0]['html'][:120]}" for one in told]
    if tab.evaluate("document.scrollingElement.scrollWidth > innerWidth"):
        found.append(f"{path} is wider than its window")
    return found + [f"{path}: {one} is cut" for one in tab.evaluate(TABLES_WIDER_THAN_THEY_SHOW)]


def test_nobody_is_shut_out_of_a_report_or_a_list(url: str, tabs: Tabs) -> None:
    """On a telephone, in the dark, and on a tablet; every other report on each of them."""
    reports = [f"/reports/{name}" for name in REPORTS]
    found = list[str]()
    for number, (width, scheme) in enumerate(((360, "dark"), (768, "light"))):
        tab = tabs(viewport={"width": width, "height": 1024}, color_scheme=scheme)
        for path in ("/jobs", "/reports", *reports[number::2]):
            tab.goto(f"{url}/page{path}")
            found += what_is_wrong_with(tab, f"{path} at {width}")
    assert found == [], "\n".join(found)
