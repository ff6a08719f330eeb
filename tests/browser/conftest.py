"""A browser for the tests of this folder, and tabs that note whatever goes wrong in them."""

import os
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.chromium import MISSING, chromium, found

WAIT_MILLISECONDS = 30_000
REFUSED = ("401", "403", "404", "400", "503", "ERR_CONNECTION", "413", "429")
"""What the browser itself says of an answer that a test asks for."""

expect.set_options(timeout=WAIT_MILLISECONDS)
Tabs = Callable[..., Page]


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    """The browser of this machine; in CI it has to be there.

    It ends with the last test of this folder: Playwright keeps an event loop running in the thread
    of the tests, where those of other folders could start none.
    """
    path = found()
    if path is None:
        if os.environ.get("CI"):
            pytest.fail(MISSING)
        pytest.skip(MISSING)
    with chromium(path) as started:
        yield started


@pytest.fixture
def tabs(browser: Browser) -> Iterator[Tabs]:
    """Opens tabs, each without cookies; at the end none may have met an error of a script."""
    contexts, wrong = [], list[str]()

    def opened(**options: Any) -> Page:  # noqa: ANN401  # Playwright's own
        given = {"timezone_id": "Europe/Berlin", "viewport": {"width": 1280, "height": 900}}
        context = browser.new_context(**{**given, **options})
        contexts.append(context)
        context.set_default_timeout(WAIT_MILLISECONDS)
        page = context.new_page()
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on("dialog", lambda dialog: wrong.append(dialog.message))
        page.on("console", lambda told: _note(wrong, told.type, told.text))
        return page

    yield opened
    for context in contexts:
        context.close()
    assert wrong == []


def _note(wrong: list[str], kind: str, text: str) -> None:
    if kind in ("error", "warning") and not any(code in text for code in REFUSED):
        wrong.append(text)
