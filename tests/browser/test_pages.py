"""What people do on the pages, with mouse and keys, in a browser that obeys their policy."""

import re
from collections.abc import Iterator

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, Route, expect

from jobledger.adapters.http.page.rendering import problem_page
from tests.browser.conftest import Tabs
from tests.browser.lives import HOSTILE, HOSTILE_LOG, append_part, keep_log, records_of, running
from tests.support import rayjob_stories as stories
from tests.support.pages import PAGE, Pages, empty_pages, serving
from tests.support.records import NOON

NARROW = {"width": 360, "height": 740}


@pytest.fixture(scope="module")
def pages() -> Iterator[Pages]:
    """Pages of a ledger with some jobs, a long one and a hostile one."""
    made = empty_pages()
    running(made)
    made.append(records_of("long", lambda: stories.failed_attempts(45, backoff_limit=99)))
    made.append(records_of(HOSTILE, lambda: (*stories.working(), *stories.failing())))
    with serving(made) as served:
        yield served


def every_page(pages: Pages) -> list[str]:
    """Return the path of each page, with something on it."""
    digest = keep_log(pages, HOSTILE_LOG, NOON)
    fails, other = pages.stream("fails"), pages.stream("works")
    of_job = ["", "/evidence", "/manifest", "/decisions", "/what-if?backoff_limit=3"]
    return [
        f"{PAGE}/jobs",
        f"{PAGE}/jobs?q=nothing+like+that",
        *(f"{PAGE}/jobs/{fails}{path}" for path in of_job),
        f"{PAGE}/jobs/{pages.stream('waits')}?at=5&show=all",
        f"{PAGE}/evidence/{digest}",
        f"{PAGE}/compare?here={fails}&there={other}",
        f"{PAGE}/compare?here={pages.stream('twice')}&attempt=1&other=2",
        f"{PAGE}/jobs?label=team%3Dnobody",
        f"{PAGE}/pending",
        f"{PAGE}/health",
        f"{PAGE}/nowhere",
    ]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nobody_is_shut_out_of_a_page(pages: Pages, tabs: Tabs, scheme: str) -> None:
    """Axe finds nothing, and a narrow page is not wider than its window."""
    tab, axe = tabs(color_scheme=scheme, viewport=NARROW, reduced_motion="reduce"), Axe()
    found = list[str]()
    paths = every_page(pages)
    for path in paths if scheme == "light" else paths[::3]:
        tab.goto(pages.url + path)
        told = axe.run(tab).response["violations"]
        found += [f"{path}: {one['id']} {one['nodes'][0]['html'][:120]}" for one in told]
        wide = tab.evaluate("document.scrollingElement.scrollWidth")
        if wide > NARROW["width"]:
            found.append(f"{path} is {wide} wide")
    assert found == [], "\n".join(found)


def test_a_retry_is_seen_without_a_reload(tabs: Tabs) -> None:
    made = empty_pages()
    story = records_of("goes-on", lambda: stories.failed_attempts(1, backoff_limit=3))
    failed = next(n for n, one in enumerate(story, 1) if one.type == "RetryGranted")
    append_part(made, story, 0, 12)
    with serving(made) as served:
        tab = tabs()
        tab.goto(served.url + served.of_job("goes-on"))
        tab.evaluate("window.stays = true")
        tab.get_by_role("link", name="Turning points").focus()
        expect(tab.locator("#jobhead .badge")).to_have_text("Running")
        append_part(made, story, 12, failed)
        expect(tab.locator("#jobhead .badge")).to_have_text("Retrying")
        expect(tab.locator(".laneend")).to_contain_text("failed")
        expect(tab.locator(".mark.pending")).to_have_count(1)
        append_part(made, story, failed, len(story))
        expect(tab.locator(".lane")).to_have_count(2)
        expect(tab.get_by_role("link", name="Turning points")).to_be_focused()
        assert tab.evaluate("window.stays") is True


NEWS_HAVE_COME = """() => {
    const parse = DOMParser.prototype.parseFromString;
    window.come = new Promise((done) => {
        DOMParser.prototype.parseFromString = function (...given) {
            setTimeout(done);
            return parse.apply(this, given);
        };
    });
}"""
"""Lets a test await `come`: news have been read, and whatever is done with them at once is done."""


def test_a_click_is_not_lost_to_news_that_come_meanwhile(tabs: Tabs) -> None:
    made = empty_pages()
    story = records_of("goes-on", lambda: stories.failed_attempts(1, backoff_limit=3))
    append_part(made, story, 0, 12)
    with serving(made) as served:
        tab = tabs()
        tab.goto(served.url + served.of_job("goes-on"))
        tab.evaluate(NEWS_HAVE_COME)
        tab.locator("#v3 a.version").hover()
        tab.mouse.down()
        append_part(made, story, 12, len(story))
        tab.evaluate("window.come")
        tab.mouse.up()
        expect(tab).to_have_url(re.compile("#v3$"))
        expect(tab.locator(".lane")).to_have_count(2)


def test_words_that_are_marked_to_be_copied_stay_until_they_are_not(tabs: Tabs) -> None:
    made = empty_pages()
    story = records_of("goes-on", lambda: stories.failed_attempts(1, backoff_limit=3))
    append_part(made, story, 0, 12)
    with serving(made) as served:
        tab = tabs()
        tab.goto(served.url + served.of_job("goes-on"))
        tab.evaluate(NEWS_HAVE_COME)
        tab.locator("#why .lead").click(click_count=3)
        marked = tab.evaluate("getSelection().toString()")
        append_part(made, story, 12, len(story))
        tab.evaluate("window.come")
        assert marked == tab.evaluate("getSelection().toString()") != ""
        tab.evaluate("getSelection().removeAllRanges()")
        expect(tab.locator("#why")).to_contain_text("Attempt 1 failed")


def test_the_list_takes_a_new_job_over(tabs: Tabs) -> None:
    made = empty_pages()
    with serving(made) as served:
        tab = tabs()
        tab.goto(f"{served.url}{PAGE}/jobs")
        expect(tab.get_by_role("heading", name="No jobs yet")).to_be_visible()
        running(made)
        expect(tab.get_by_role("link", name="waits")).to_be_visible()
        expect(tab.get_by_role("link", name="Failed 1")).to_be_visible()


def test_jobs_of_some_days_are_found_by_their_dates(pages: Pages, tabs: Tabs) -> None:
    tab = tabs()
    tab.goto(f"{pages.url}{PAGE}/jobs")
    for first, last, there in (("2026-11-21", "2026-11-22", 1), ("2026-11-22", "", 0)):
        tab.get_by_label("From (UTC)").fill(first)
        tab.get_by_label("Before (UTC)").fill(last)
        tab.get_by_role("button", name="Find").click()
        expect(tab.get_by_label("From (UTC)")).to_have_value(first)
        expect(tab.get_by_role("link", name="fails", exact=True)).to_have_count(there)


def test_an_answer_that_takes_its_time_is_said_to_be_on_its_way(pages: Pages, tabs: Tabs) -> None:
    tab, held, said = tabs(), list[Route](), list[str]()

    def told(route: Route) -> None:
        said.append(route.request.post_data or "")
        route.fulfill(status=204)
        held[0].continue_()

    tab.goto(f"{pages.url}{PAGE}/jobs")
    tab.route("**/jobs?q=waits*", lambda route: held.append(route))  # noqa: PLW0108  # Playwright writes into what it calls
    tab.route("**/told", told)
    tab.evaluate(
        """() => new MutationObserver(() => {
            fetch("/told", {method: "POST", body: banner.textContent});
        }).observe(banner, {childList: true})"""
    )
    tab.get_by_label("Name, namespace or UID").fill("waits")
    tab.get_by_role("button", name="Find").click(no_wait_after=True)
    expect(tab.get_by_role("link", name="fails", exact=True)).to_have_count(0)
    assert said == ["One moment: the ledger is being asked."]
    expect(tab.locator("#banner")).to_be_hidden()


def test_a_server_that_goes_is_told_and_what_stood_stays(tabs: Tabs) -> None:
    made = empty_pages()
    running(made)
    with serving(made) as served:
        tab = tabs()
        tab.goto(f"{served.url}{PAGE}/jobs")
    expect(tab.locator("#banner")).to_contain_text("does not answer")
    expect(tab.get_by_role("link", name="waits")).to_be_visible()


def test_a_page_that_could_not_be_made_comes_once_it_can(pages: Pages, tabs: Tabs) -> None:
    """As it says: it asks again by itself, and has nothing that could be taken over."""
    tab = tabs()
    lost = problem_page(503, "The ledger does not answer", "Postgres cannot be reached now.")
    body = bytes(lost.body).decode().replace('data-live="5"', 'data-live="0.1"')
    kept = {name: value for name, value in lost.headers.items() if name != "content-length"}

    def refused(route: Route) -> None:
        route.fulfill(status=503, body=body, headers=kept)

    tab.route("**/page/jobs", refused, times=2)
    tab.goto(f"{pages.url}{PAGE}/jobs")
    expect(tab.get_by_role("link", name="waits")).to_be_visible()
    expect(tab.locator("#banner")).to_be_hidden()


def test_a_thousand_events_are_on_a_page_and_the_rest_on_the_next(pages: Pages, tabs: Tabs) -> None:
    tab = tabs()
    tab.goto(pages.url + pages.of_job("long", "?show=all"))
    expect(tab.locator("li.event")).to_have_count(1000)
    expect(tab.locator(".lane")).to_have_count(46)
    tab.get_by_role("link", name="Later events").click()
    expect(tab.locator("li.event").first).to_have_attribute("id", "v1001")


def test_an_event_far_down_is_there_for_whoever_comes_for_it(pages: Pages, tabs: Tabs) -> None:
    tab = tabs()
    tab.goto(pages.url + pages.of_job("long", "?show=all#v900"))
    expect(tab.locator("#v900")).to_be_in_viewport()
    expect(tab.locator("li.event:target")).to_have_attribute("id", "v900")
    plain = tabs(java_script_enabled=False)
    plain.goto(pages.url + pages.of_job("long", "?show=all"))
    plain.get_by_role("link", name="All of them, without scripts").click()
    expect(plain.locator("li.event")).to_have_count(1000)


HEADINGS_OF_DAYS = """async () => {
    const event = (at) =>
        `<li class="event"><time datetime="${at}" data-form="clock">${at.slice(11, 16)}</time>`;
    const split = (name, day) =>
        `<li class="split">${name}<span class="day">${day} (UTC)</span></li>`;
    const list = document.querySelector("#events");
    list.innerHTML = split("Attempt 1", "2026-11-21") + event("2026-11-21T23:59:00Z")
        + split("Attempt 1", "2026-11-22") + event("2026-11-22T00:01:00Z")
        + event("2026-11-22T05:02:00Z") + split("Attempt 2", "2026-11-22")
        + event("2026-11-22T05:03:00Z");
    const { showTimes } = await import(document.querySelector("link[href*=times]").href);
    showTimes(list);
    const once = list.innerHTML;
    showTimes(list);
    return [list.innerHTML === once, ...[...list.children].map((one) => one.textContent)];
}"""


def test_days_of_events_begin_where_the_readers_do(pages: Pages, tabs: Tabs) -> None:
    """Midnight in UTC is the evening in New York; there the day changes five hours later."""
    tab = tabs(timezone_id="America/New_York")
    tab.goto(pages.url + pages.of_job("works"))
    told = tab.evaluate(HEADINGS_OF_DAYS)
    assert told == [
        True,
        "Attempt 12026-11-21",
        "18:59:00.000 23:59 UTC",
        "19:01:00.000 00:01 UTC",
        "Attempt 12026-11-22",
        "00:02:00.000 05:02 UTC",
        "Attempt 22026-11-22",
        "00:03:00.000 05:03 UTC",
    ]


def test_a_job_that_goes_on_over_midnight_has_a_heading_for_each_day(
    pages: Pages, tabs: Tabs
) -> None:
    """It went on from 12:00 to after 13:00 UTC, which is midnight eleven hours east of that."""
    tab = tabs(timezone_id="Pacific/Guadalcanal")
    tab.goto(pages.url + pages.of_job("long", "?show=turns"))
    days = tab.locator("#events .day")
    expect(days.first).to_have_text("2026-11-21")
    expect(days.last).to_have_text("2026-11-22")


def test_citations_lead_to_what_they_cite(pages: Pages, tabs: Tabs) -> None:
    tab = tabs()
    tab.goto(pages.url + pages.of_job("fails"))
    cited = tab.locator("#why .cites a").last
    version = cited.inner_text()
    cited.click()
    expect(tab.locator(f"#v{version}")).to_be_in_viewport()


def test_an_instant_is_looked_at_by_keys_and_has_an_address(pages: Pages, tabs: Tabs) -> None:
    tab = tabs()
    tab.goto(pages.url + pages.of_job("waits"))
    slider = tab.get_by_role("slider", name="Instant to look at")
    slider.focus()
    slider.press("Home")
    expect(tab.locator("#moment h3")).to_contain_text("2026-11-21 13:00:00.000 12:00:00.000 UTC")
    slider.press("PageUp")
    expect(tab.locator("#moment")).to_contain_text("Initializing")
    expect(tab).to_have_url(re.compile("at=2026-11-21T12%3A00%3A04"))
    tab.reload()
    expect(tab.locator("#moment")).to_contain_text("Initializing")
    stands = slider.input_value()
    assert 0 < int(stands) < 1000
    expect(tab.locator("line.cursor")).to_have_attribute("visibility", "visible")
    tab.get_by_role("button", name="Zoom in").click()
    assert slider.input_value() != stands
    tab.get_by_role("button", name="All").click()
    assert slider.input_value() == stands


def test_the_chart_is_zoomed_and_moved(pages: Pages, tabs: Tabs) -> None:
    tab = tabs()
    tab.goto(pages.url + pages.of_job("waits"))
    bar = tab.locator("rect.bar.running")
    before = bar.bounding_box()
    tab.get_by_role("button", name="Zoom in").click()
    after = bar.bounding_box()
    assert before is not None
    assert after is not None
    assert after["width"] > before["width"]
    tab.get_by_role("button", name="Earlier").click()
    assert bar.bounding_box() != after
    tab.get_by_role("button", name="Later").click()
    assert bar.bounding_box() == after
    tab.get_by_role("button", name="All").click()
    assert bar.bounding_box() == before


def test_without_scripts_a_page_tells_the_same(pages: Pages, tabs: Tabs) -> None:
    tab = tabs(java_script_enabled=False)
    tab.goto(pages.url + pages.of_job("fails"))
    expect(tab.locator("#why")).to_contain_text("failed at 2026-11-21T12:00:42Z")
    tab.get_by_label("At a time or a version").fill("3")
    tab.get_by_role("button", name="Show").click()
    expect(tab.locator("#moment")).to_contain_text("the controller knew")


def test_a_job_is_found_and_its_questions_answered_by_mouse(pages: Pages, tabs: Tabs) -> None:
    tab = tabs()
    tab.goto(f"{pages.url}{PAGE}/jobs")
    tab.keyboard.press("/")
    tab.keyboard.type("FAIL")
    tab.keyboard.press("Enter")
    tab.get_by_role("link", name="fails", exact=True).click()
    expect(tab.get_by_role("heading", name="Why it failed")).to_be_visible()
    tab.get_by_role("link", name="What if").click()
    tab.get_by_label("Retries (backoffLimit)").fill("2")
    tab.get_by_role("button", name="Ask").click()
    expect(tab.get_by_role("heading", name="It would have gone otherwise")).to_be_visible()
    tab.get_by_role("link", name="Decisions").click()
    expect(tab.locator("#decided")).to_be_visible()
    tab.get_by_role("link", name="Compare").click()
    expect(tab.get_by_role("heading", name="Compare with which run?")).to_be_visible()


def test_a_hostile_job_is_shown_and_not_obeyed(pages: Pages, tabs: Tabs) -> None:
    tab = tabs()
    digest = keep_log(pages, HOSTILE_LOG, NOON)
    of_job = ("", "/evidence", "/manifest", "/decisions", "/what-if")
    paths = [pages.of_job(HOSTILE, path) for path in of_job]
    paths += [
        f"{PAGE}/jobs",
        f"{PAGE}/evidence/{digest}",
        f"{PAGE}/compare?here=" + pages.stream(HOSTILE),
    ]
    paths += [f"{PAGE}/jobs?q=%3Cscript%3Ealert(9)%3C/script%3E", f"{PAGE}/jobs?state=%22onx=%3E"]
    for path in paths:
        tab.goto(pages.url + path)
        assert _foreign(tab) == [], path
    tab.goto(pages.url + pages.of_job(HOSTILE))
    expect(tab.locator("h1 .name")).to_have_text(HOSTILE.replace("\u202e", "\\u202e"))
    tab.goto(f"{pages.url}{PAGE}/evidence/{digest}?q=needle")
    expect(tab.locator(".log li")).to_have_count(1)
    with tab.expect_download() as saved:
        tab.get_by_role("link", name="Download").click()
    assert saved.value.suggested_filename == f"evidence-{digest[:12]}.log"


def _foreign(tab: Page) -> list[str]:
    """Return what a page holds that no template of ours has."""
    found: list[str] = tab.evaluate(
        """() => [...document.querySelectorAll("img, iframe, [onerror], a[href^=javascript]")]
        .concat([...document.scripts].filter(one => !one.src.includes("/page/static/")))
        .map(one => one.outerHTML)"""
    )
    return found
