"""Each page answers, says what it is asked for, and nothing as markup that came from elsewhere."""

import re
from threading import Event
from urllib.parse import quote

import pytest

from jobledger.adapters.http.page import listing
from jobledger.adapters.http.page.ansi import coloured, plain
from jobledger.adapters.http.page.listing import Counts
from jobledger.adapters.http.page.parts import ReportColumn
from jobledger.adapters.http.page.rendering import TEMPLATES
from jobledger.adapters.http.page.reports import text_of
from jobledger.core.errors import LedgerUnavailable
from jobledger.core.forensics.story.explain import explain
from jobledger.core.forensics.story.timeline import QUIET
from jobledger.core.ports.history import JobFilter
from jobledger.core.values.instants import LAST
from tests.support import rayjob_stories as stories
from tests.support.pages import PAGE, Pages, empty_pages, serving
from tests.support.recorded import append_lives, append_records, job_called, recorded
from tests.support.records import NOON


def shown(pages: Pages, path: str, status: int = 200) -> str:
    answer = pages.ask(path)
    assert answer.status == status, answer.data
    return answer.data.decode()


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("", {"done-0", "done-1", "done-2", "done-3", "failed", "open", "waits"}),
        ("q=ONE-2", {"done-2"}),
        ("q=%25", set()),
        ("state=Failed&kind=&namespace=", {"failed"}),
        ("state=New", set()),
        ("cause=unexplained", set()),
        ("open=true&kind=RayJob&cluster=kind&namespace=ml&state=Initializing", {"open"}),
        ("until=2026-11-20T00:00:00Z", set()),
        ("from=2026-11-21&until=2026-11-22&q=fail", {"failed"}),
        ("from=2026-11-22", set()),
        ("from=2026-11-20T00:00:00Z&q=done", {"done-0", "done-1", "done-2", "done-3"}),
        ("period=1h", {"done-0", "done-1", "done-2", "done-3", "failed", "open", "waits"}),
    ],
)
def test_jobs_are_found_by_what_the_address_says(pages: Pages, query: str, names: set[str]) -> None:
    told = shown(pages, f"{PAGE}/jobs?{query}")
    everyone = {"done-0", "done-1", "done-2", "done-3", "failed", "open", "waits"}
    assert {name for name in everyone if f">{name}</a>" in told} == names
    if not names:
        assert "No job is like that" in told


def test_jobs_in_no_state_yet_are_counted_and_listed_as_new() -> None:
    made = empty_pages()
    append_lives(made.ledger, {"done": stories.succeeded}.items())
    with job_called("new"):
        append_records(made.ledger, recorded(stories.succeeded())[:1])
    with serving(made) as served:
        assert f'href="{PAGE}/jobs?state=New">New <b>1</b>' in shown(served, f"{PAGE}/jobs")
        told = shown(served, f"{PAGE}/jobs?state=new")
    assert (">new</a>" in told, ">done</a>" in told) == (True, False)


def test_the_list_goes_on_page_by_page(pages: Pages, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listing, "ROWS", 4)
    first = shown(pages, f"{PAGE}/jobs?kind=RayJob")
    rows = pages.ledger.history.jobs(JobFilter(), 10)
    following = f"{PAGE}/jobs?kind=RayJob&amp;after={rows[3].stream_id}"
    assert following in first
    second = shown(pages, following.replace("&amp;", "&"))
    assert [f">{row.name}</a>" in second for row in rows] == [False] * 4 + [True] * 3


class Counted:
    """A history that counts how often it is asked to count."""

    def __init__(self) -> None:
        self.asked, self.may_go_on = 0, Event()
        self.may_go_on.set()

    def counts(self, wanted: JobFilter) -> dict[str, int]:
        del wanted
        assert self.may_go_on.wait(60), "the test lets it go on"
        self.asked += 1
        return {"Failed": self.asked}


def counts_of(counts: Counts, history: Counted, name: str = "", patience: float = 60.0) -> object:
    key = JobFilter(name=name)
    return counts.of(history, key, key, patience)  # type: ignore[arg-type]  # all that is asked of it


def test_counts_are_kept_for_a_moment_and_only_so_many() -> None:
    clock, history = [0.0], Counted()
    counts = Counts(lambda: clock[0])
    for _ in range(3):
        assert counts_of(counts, history) == {"Failed": 1}
    clock[0] += listing.COUNTS_SECONDS
    assert counts_of(counts, history) == {"Failed": 2}
    for number in range(listing.COUNTS_KEPT):
        counts_of(counts, history, str(number))
    assert counts_of(counts, history) == {"Failed": 3 + listing.COUNTS_KEPT}


def test_a_list_does_not_wait_for_counts_that_take_long() -> None:
    clock, history = [0.0], Counted()
    counts = Counts(lambda: clock[0])
    history.may_go_on.clear()
    assert [counts_of(counts, history, patience=0) for _ in range(3)] == [None] * 3
    history.may_go_on.set()
    assert counts_of(counts, history) == {"Failed": 1}, "counted once, whoever asked meanwhile"
    clock[0] += listing.COUNTS_SECONDS
    history.may_go_on.clear()
    assert counts_of(counts, history, patience=0) == {"Failed": 1}, "as it was before"
    history.may_go_on.set()
    assert counts_of(counts, history) == {"Failed": 2}


def test_counts_that_could_not_be_had_are_counted_again() -> None:
    counts, history = Counts(lambda: 0.0), Counted()

    class Lost(Counted):
        def counts(self, wanted: JobFilter) -> dict[str, int]:
            raise LedgerUnavailable(f"{wanted} cannot be counted")

    with pytest.raises(LedgerUnavailable):
        counts_of(counts, Lost())
    assert counts_of(counts, history) == {"Failed": 1}


def test_a_label_that_is_none_is_refused(pages: Pages) -> None:
    for wrong in ("team", "=vision", "a" * 400 + "=b"):
        assert "That makes no sense" in shown(pages, f"{PAGE}/jobs?label={wrong}", 400)


@pytest.mark.parametrize("path", ["", "/evidence", "/manifest", "/decisions"])
def test_news_alone_is_told_again(pages: Pages, path: str) -> None:
    where = pages.of_job("failed", path)
    tag = pages.ask(where).headers["etag"]
    again = pages.ask(where, if_none_match=tag)
    assert (again.status, again.data) == (304, b"")
    for others in (f"W/{tag}", f'"other", {tag}', "*"):  # as a proxy that packs answers sends them
        assert pages.ask(where, if_none_match=others).status == 304
    assert pages.ask(where, if_none_match='"other"').status == 200


def test_a_job_is_explained_in_the_words_of_the_command(pages: Pages) -> None:
    told = shown(pages, pages.of_job("failed"))
    for sentence in explain(pages.dossier("failed")).sentences:
        assert sentence.text.replace("'", "&#39;") in told
    assert "Why it failed" in told
    assert 'class="bar running' in told


def test_events_are_filtered_by_how_much_they_say(pages: Pages) -> None:
    every = pages.dossier("failed").read()
    few, story, all_of_them = (
        shown(pages, pages.of_job("failed", f"?show={level}")) for level in ("turns", "main", "all")
    )
    counted = [text.count('<li id="v') for text in (few, story, all_of_them)]
    assert 0 < counted[0] < counted[1] < counted[2] == len(every)
    assert not any(f'<span class="type">{name}<' in story for name in QUIET)


@pytest.mark.parametrize(
    ("at", "status"),
    [
        ("3", 200),
        ("2026-11-21T12:00:05Z", 200),
        ("0", 404),
        ("99999", 404),
        ("9" * 40, 400),
        ("yesterday", 400),
        ("", 400),
    ],
)
def test_a_moment_is_told_or_said_not_to_be_one(pages: Pages, at: str, status: int) -> None:
    told = shown(pages, pages.of_job("failed", f"/moment?at={at}"), status)
    assert ("the controller knew" in told) == (status == 200)
    if at:
        assert pages.ask(pages.of_job("failed", f"?at={at}")).status == status


def test_what_is_due_and_under_way_at_a_moment_is_told_in_words(pages: Pages) -> None:
    told = "".join(shown(pages, pages.of_job("failed", f"/moment?at={at}")) for at in range(1, 13))
    assert "create cluster " in told
    assert re.findall(r"[a-z]+_[a-z_]+ (?:at <time|[a-z])", told) == []


@pytest.mark.parametrize(
    ("query", "told"),
    [
        ("backoff_limit=3", "attempt 2 never ran"),
        ("backoff_limit=0", "Nothing would have been different"),
        ("retry=application%3Dnever", "Nothing would have been different"),
    ],
)
def test_another_policy_is_asked_by_a_form(pages: Pages, query: str, told: str) -> None:
    assert told in shown(pages, pages.of_job("failed", f"/what-if?{query}"))


@pytest.mark.parametrize(
    "query", ["backoff_limit=-1", "retry=x", "retry=application%3Dx", "growth=x", "same_cluster=1"]
)
def test_a_policy_that_makes_no_sense_is_said_to_make_none(pages: Pages, query: str) -> None:
    assert 'role="alert"' in shown(pages, pages.of_job("failed", f"/what-if?{query}"), 400)


def test_two_jobs_are_compared(pages: Pages) -> None:
    other = pages.stream("done-0")
    told = shown(pages, f"{PAGE}/compare?here={pages.stream('failed')}&there={other}")
    assert "What differs" in told
    assert "Compare with which run?" in shown(pages, f"{PAGE}/compare?here={other}")


@pytest.mark.parametrize(
    "named", ["done-0", "/done-0", "uid-of-done-0", "{stream}", "{page}?at=5#v3"]
)
def test_another_job_is_meant_by_its_name_or_the_address_of_its_page(
    pages: Pages, named: str
) -> None:
    page = f"http://elsewhere{pages.of_job('done-0')}"
    there = quote(named.format(stream=pages.stream("done-0"), page=page), safe="")
    address = f"{PAGE}/compare?here={pages.stream('failed')}&there={there}"
    assert "there RayJob ml/done-0 of" in shown(pages, address)


@pytest.mark.parametrize("named", ["failed", "nobody", "elsewhere/done-0", "ml/", "/"])
def test_no_other_job_is_said_not_to_be_there(pages: Pages, named: str) -> None:
    address = f"{PAGE}/compare?here={pages.stream('failed')}&there={quote(named, safe='')}"
    assert "The ledger knows no such other job" in shown(pages, address, 404)


def test_what_is_due_is_listed(pages: Pages) -> None:
    told = shown(pages, f"{PAGE}/pending")
    rows = pages.ledger.pending.pending(frozenset(range(16)), 100)
    assert rows
    for row in rows:
        assert row.cause in told


@pytest.mark.parametrize("path", ["/health", "/reports"])
def test_pages_about_the_whole_answer(pages: Pages, path: str) -> None:
    assert "</html>" in shown(pages, PAGE + path)


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/jobs/01a1fdfa-4600-7a83-b147-c3469c2f872c", 404),
        ("/evidence/" + "0" * 64, 404),
        ("/evidence/x", 400),
        ("/reports/failures", 404),
        ("/jobs?period=1y", 400),
        ("/jobs?state=nope", 400),
        ("/jobs?kind=nope", 400),
        ("/jobs?cause=nope", 400),
        ("/jobs?q=a&q=b", 400),
        ("/jobs?q=" + "a" * 254, 400),
        ("/compare", 400),
        ("/nowhere", 404),
    ],
)
def test_what_is_not_there_is_said_on_a_page(pages: Pages, path: str, status: int) -> None:
    assert "<h1>" in shown(pages, PAGE + path, status)


def test_the_root_leads_to_the_jobs(pages: Pages) -> None:
    for path in ("/", PAGE, f"{PAGE}/"):
        answer = pages.ask(path)
        assert answer.status in (303, 307)
        assert answer.headers["location"].removeprefix(pages.url).startswith(PAGE)


def test_a_log_is_searched_and_saved_as_it_was(pages: Pages) -> None:
    log = b"\x1b[31mred\x1b[0m <script>\nplain \x1b]0;title\x07\xff\n"
    digest = pages.evidence.put(log, NOON)
    told = shown(pages, f"{PAGE}/evidence/{digest}")
    assert '<span class="fg-red">red</span> &lt;script&gt;' in told
    assert "\\x1b]0;title\\x07" in told
    assert "\x1b" not in told
    found = shown(pages, f"{PAGE}/evidence/{digest}?q=PLAIN")
    assert "1 of 2 lines" in found
    assert "fg-red" not in found
    saved = pages.ask(f"{PAGE}/evidence/{digest}/download")
    assert saved.data == log
    assert saved.headers["content-disposition"].startswith("attachment; ")
    assert saved.headers["x-content-type-options"] == "nosniff"


@pytest.mark.parametrize(
    ("line", "pieces"),
    [
        ("plain", [("", "plain")]),
        ("\x1b[1;31mfat\x1b[mnot", [("fg-red bold", "fat"), ("", "not")]),
        ("\x1b[38;5;2mg\x1b[39;44mb", [("fg-green", "g"), ("bg-blue", "b")]),
        ("\x1b[38;2;1;2;3;4mtrue", [("underlined", "true")]),
        ("\x1b[38mcut", [("", "cut")]),
        (
            "\x1b[97;100m\x1b[4;2mx\x1b[22;24my",
            [("fg-white bg-black dim underlined", "x"), ("fg-white bg-black", "y")],
        ),
        ("\x1b[2Jx", [("", "\x1b[2Jx")]),
        ("\x1b[" + "1;" * 40 + "mx", [("", "\x1b[" + "1;" * 40 + "mx")]),
    ],
)
def test_colours_become_classes(line: str, pieces: list[tuple[str, str]]) -> None:
    (found,) = coloured([line])
    assert [(piece.classes, piece.text) for piece in found] == pieces
    assert plain("\x1b[31mred") == "red"


def test_a_colour_goes_on_over_the_end_of_a_line() -> None:
    first, second = coloured(["\x1b[32ma", "b"])
    assert [first[0].classes, second[0].classes] == ["fg-green", "fg-green"]


def test_a_long_name_may_be_broken_between_its_words_and_at_its_slashes() -> None:
    shown = TEMPLATES.from_string("{{ told | breakable }}").render
    assert shown(told="BackoffLimitExceeded") == "Backoff<wbr>Limit<wbr>Exceeded"
    assert shown(told="a.example/ml/train:2") == "a.example/<wbr>ml/<wbr>train:2"
    assert shown(told="s3://<b>") == "s3://&lt;b&gt;"


@pytest.mark.parametrize(
    ("value", "unit", "told"),
    [
        (None, "count", "-"),
        (0.5, "share", "50.0%"),
        (90, "seconds", "1.5 min"),
        (1234, "count", "1,234"),
        (23_449_486.03, "resource-seconds", "6,513.7 h"),
        (90, "resource-seconds", "1.5 min"),
        (1234.5, "money", "1,234.50"),
        (True, "true or false", "yes"),
        ("", "text", "(none)"),
        (NOON, "instant", "2026-11-21 12:00 UTC"),
    ],
)
def test_cells_are_told_in_their_unit(value: object, unit: str, told: str) -> None:
    assert text_of(value, ReportColumn("a", "a", unit, "")) == told  # type: ignore[arg-type]  # any cell


def test_two_attempts_stand_side_by_side() -> None:
    made = empty_pages()
    lives = {"twice": lambda: stories.failed_attempts(2, backoff_limit=3)}
    append_lives(made.ledger, lives.items())
    with serving(made) as served:
        asked = f"{PAGE}/compare?here={served.stream('twice')}"
        assert "Two attempts of this job" in shown(served, asked)
        told = shown(served, f"{asked}&attempt=1&other=2")
        (row,) = served.ledger.history.jobs(JobFilter(), 2)
        first, second = served.ledger.history.attempts(row.stream_id)[:2]
        for one in (first, second):
            assert f'<th scope="col">Attempt {one.number}</th>' in told
        assert told.index(first.ray_cluster_name) < told.index(second.ray_cluster_name)
        assert "The manifest was the same when both began." in told
        for wrong in ("&attempt=1&other=99", "&attempt=1"):
            assert "no two such attempts" in shown(served, asked + wrong, 404)


def test_a_job_is_drawn_up_to_the_last_instant_that_there_is(
    pages: Pages, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So late a decision may be due: what it counts from is told by others."""
    monkeypatch.setattr(pages.clock, "now", LAST)
    assert "log says why" not in shown(pages, pages.of_job("open"))
