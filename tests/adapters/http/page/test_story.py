"""The first page of a long job: what is sent first, and where its links lead."""

import re
from collections.abc import Iterator
from datetime import timedelta

import pytest
import urllib3

from jobledger.adapters.http.page.job import AT_ONCE, _items
from jobledger.adapters.http.page.rendering import EVENTS_MAX, REST, _parts, event_address
from jobledger.core.errors import LedgerUnavailable
from jobledger.core.forensics.story.timeline import Line
from tests.support import rayjob_stories as stories
from tests.support.pages import PAGE, Pages, empty_pages, serving
from tests.support.recorded import append_lives
from tests.support.records import NOON

ATTEMPTS = 45
"""So many that not all events are on one page."""


@pytest.fixture(scope="module")
def long() -> Iterator[Pages]:
    """Pages of a job with more than a thousand events."""
    made = empty_pages()
    lives = {"long": lambda: stories.failed_attempts(ATTEMPTS, backoff_limit=99)}
    append_lives(made.ledger, lives.items())
    with serving(made) as served:
        yield served


@pytest.mark.parametrize("show", ["turns", "all"])
def test_a_citation_leads_to_the_page_that_has_the_event(long: Pages, show: str) -> None:
    here = long.of_job("long", f"?show={show}")
    told = long.ask(here).data.decode()
    cites = re.findall(r'<span class="cites">(.*?)</span>', told)
    links = [
        one.replace("&amp;", "&") for cite in cites for one in re.findall('href="(.*?)"', cite)
    ]
    assert len(links) > ATTEMPTS
    pages = {there: long.ask(there or here).data for there in {one.split("#")[0] for one in links}}
    missing = [
        one for one in links if f'id="{one.split("#")[1]}"'.encode() not in pages[one.split("#")[0]]
    ]
    assert missing == []


@pytest.mark.parametrize(
    ("version", "query"),
    [(1, "show=all"), (EVENTS_MAX, "show=all"), (EVENTS_MAX + 1, f"show=all&after={EVENTS_MAX}")],
)
def test_an_event_has_an_address(version: int, query: str) -> None:
    assert event_address("some", version) == f"{PAGE}/jobs/some?{query}#v{version}"


def test_the_head_of_a_page_is_sent_first_and_events_last(long: Pages) -> None:
    address = f"{long.url}{long.of_job('long')}"
    answer = urllib3.request("GET", address, preload_content=False)
    head, why, chart, *rest = answer.read_chunked()
    assert b'rel="stylesheet"' in head
    assert b'id="why"' not in head
    assert b'class="lead"' in why
    assert b'class="bar running' not in why
    assert b'class="bar running' in chart
    assert b'<li id="v' not in chart
    assert b'<li id="v1"' in b"".join(rest)


def test_events_that_nobody_sees_at_first_wait_for_scripts_or_for_a_link(long: Pages) -> None:
    told = long.ask(long.of_job("long", "?show=all")).data.decode()
    first, later = told.split("<template data-later>")
    assert first.count('<li id="v') == AT_ONCE
    assert later.count('<li id="v') == EVENTS_MAX - AT_ONCE
    (link,) = re.findall('<noscript>.*?href="(.*?)#', told)
    plain = long.ask(link.replace("&amp;", "&")).data.decode()
    assert plain.count('<li id="v') == EVENTS_MAX
    assert "<template" not in plain
    assert "<noscript" not in plain


def test_a_page_that_breaks_off_says_why() -> None:
    def pieces() -> Iterator[str]:
        yield f"<p>{REST}"
        raise LedgerUnavailable("the ledger has <gone>")

    head, rest = _parts(pieces())
    assert head == f"<p>{REST}"
    assert "The rest cannot be told" in rest
    assert "the ledger has &lt;gone&gt;" in rest
    assert rest.endswith("</html>")


def test_style_and_scripts_are_asked_for_in_a_folder_of_their_version(long: Pages) -> None:
    told = long.ask(f"{PAGE}/jobs").data.decode()
    found = re.findall(r'(?:href|src)="(/page/static/[^"]*)"', told)
    assert {one.rpartition("/")[2] for one in found} >= {"page.css", "page.js", "live.js"}
    (folder,) = {one.rpartition("/")[0] for one in found}
    script = long.ask(f"{folder}/page.js").data.decode()
    assert all(one.startswith("./") for one in re.findall('from "(.*?)"', script))
    assert folder != f"{PAGE}/static"
    assert long.ask(f"{PAGE}/static/of-another/page.js").data.decode() == script


@pytest.mark.parametrize(("seconds", "told"), [(195, "+3.2 min"), (-195, "-3.2 min")])
def test_what_was_told_by_a_clock_that_is_behind_came_before(seconds: int, told: str) -> None:
    at = NOON + timedelta(seconds=seconds)
    line = Line(version=2, at=at, attempt=1, event="JobCompleted", words="the job is complete")
    assert f'<span class="since">{told}</span>' in _items([line], "?at=", NOON, (), 1)
