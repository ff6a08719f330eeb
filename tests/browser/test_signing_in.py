"""Signing in and out in a browser: what it keeps, what it sends, and what is refused."""

from collections.abc import Iterator

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect

from tests.browser.conftest import Tabs
from tests.browser.lives import running
from tests.support.pages import PAGE, Pages, empty_pages, serving

TOKEN = "the-token"  # of a test


class Readers:
    """Knows one who may read, and one who may not."""

    def may_read(self, token: str, address: str = "") -> bool | None:
        del address
        return {TOKEN: True, "another": False}.get(token)


@pytest.fixture(scope="module")
def locked() -> Iterator[Pages]:
    """Pages that ask for a token."""
    made = empty_pages()
    running(made)
    with serving(made, Readers()) as served:
        yield served


def test_a_reader_signs_in_where_he_wanted_to_go_and_out_again(locked: Pages, tabs: Tabs) -> None:
    tab, aim = tabs(), locked.of_job("fails", "?show=all")
    tab.goto(locked.url + aim)
    expect(tab.get_by_role("heading", name="Sign in")).to_be_visible()
    assert Axe().run(tab).violations_count == 0
    tab.get_by_label("Token").fill("wrong")
    tab.keyboard.press("Enter")
    expect(tab.get_by_role("alert")).to_have_text("This token is not valid.")
    tab.get_by_label("Token").fill(TOKEN)
    tab.get_by_role("button", name="Sign in").click()
    expect(tab).to_have_url(locked.url + aim)
    assert tab.evaluate("document.cookie") == "", "no script can read it"
    (kept,) = tab.context.cookies()
    assert (kept["httpOnly"], kept["sameSite"], kept["path"]) == (True, "Strict", PAGE)
    tab.get_by_role("button", name="Sign out").click()
    expect(tab.get_by_role("heading", name="Sign in")).to_be_visible()
    assert tab.context.cookies() == []
    tab.go_back()
    expect(tab.get_by_role("heading", name="Why it failed")).to_have_count(0)


def test_who_may_not_read_is_told_so(locked: Pages, tabs: Tabs) -> None:
    tab = tabs()
    tab.goto(f"{locked.url}{PAGE}/jobs")
    tab.get_by_label("Token").fill("another")
    tab.get_by_role("button", name="Sign in").click()
    expect(tab.get_by_role("heading", name="Not allowed")).to_be_visible()
    assert tab.context.cookies() == []


def test_who_is_signed_out_while_looking_is_told_so(locked: Pages, tabs: Tabs) -> None:
    tab = tabs()
    tab.goto(f"{locked.url}{PAGE}/jobs")
    tab.get_by_label("Token").fill(TOKEN)
    tab.keyboard.press("Enter")
    expect(tab.get_by_role("link", name="waits")).to_be_visible()
    tab.context.clear_cookies()
    expect(tab.locator("#banner")).to_contain_text("You are signed out")
    expect(tab.get_by_role("link", name="waits")).to_be_visible()


def test_a_link_of_another_site_opens_where_it_leads(locked: Pages, tabs: Tabs) -> None:
    tab, aim = tabs(), f"{locked.url}{PAGE}/pending"
    tab.goto(f"{locked.url}{PAGE}/jobs")
    tab.get_by_label("Token").fill(TOKEN)
    tab.keyboard.press("Enter")
    expect(tab.get_by_role("link", name="waits")).to_be_visible()
    elsewhere = "http://elsewhere.example/"
    link = f'<a href="{aim}">there</a>'
    tab.route(elsewhere, lambda route: route.fulfill(body=link, content_type="text/html"))
    tab.goto(elsewhere)
    tab.get_by_role("link", name="there").click()
    expect(tab.get_by_role("heading", name="Pending", exact=True)).to_be_visible()
    form = f'<form method="post" action="{locked.url}{PAGE}/logout"><button>out</button></form>'
    tab.unroute(elsewhere)
    tab.route(elsewhere, lambda route: route.fulfill(body=form, content_type="text/html"))
    tab.goto(elsewhere)
    tab.get_by_role("button", name="out").click()
    expect(tab.get_by_role("heading", name="Not from here")).to_be_visible()
    tab.goto(f"{locked.url}{PAGE}/jobs")
    expect(tab.get_by_role("button", name="Sign out")).to_be_visible()
