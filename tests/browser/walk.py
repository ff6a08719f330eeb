"""Walks through all pages of a ledger with the mouse alone: `python -m tests.browser.walk URL`.

The questions are those of `docs/howto/investigate-a-failed-job.md`: why a job failed, what was
known when, why it was decided so, what another policy would have done, what differs from another
run, what a job waits for. URL is that of `jobledger serve`, `run` or of the demonstration.
"""

import re
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from playwright.sync_api import Locator, Page, expect

from tests.browser.chromium import MISSING, chromium, found

STEP_MILLISECONDS = 30_000


@dataclass
class Walk:
    """A reader with a mouse, and how long each step took."""

    tab: Page
    url: str
    took: dict[str, float] = field(default_factory=dict)
    """What was done -> milliseconds until it was seen."""
    left_out: list[str] = field(default_factory=list)
    """What this ledger has nothing for."""

    @contextmanager
    def step(self, what: str) -> Iterator[None]:
        """Do something, and note how long it took."""
        began = time.perf_counter()
        yield
        self.took[what] = (time.perf_counter() - began) * 1000

    def click(self, what: str, target: Locator, seen: Callable[[], Locator]) -> None:
        """Click, and wait until what follows is seen."""
        target.scroll_into_view_if_needed()
        with self.step(what):
            target.click()
            expect(seen()).to_be_visible()

    def link(self, name: str, *, exact: bool = True) -> Locator:
        """Return the first link of a name."""
        return self.tab.get_by_role("link", name=name, exact=exact).first

    def heading(self, name: str) -> Locator:
        """Return the first heading that begins so."""
        return self.tab.get_by_role("heading", name=re.compile(f"^{name}")).first


def walked(tab: Page, url: str, reports: int = 99) -> Walk:
    """Return a walk through all pages, and so many reports.

    Raises:
        AssertionError: something cannot be done, or is not seen.
    """
    walk = Walk(tab, url)
    with walk.step("the list of jobs"):
        tab.goto(url)
        expect(tab.locator("#list")).to_be_visible()
        expect(tab.locator("#counts")).not_to_contain_text("…")
    _list(walk)
    job = _failed(walk)
    _story(walk)
    _evidence(walk)
    _what_was_known(walk)
    for tab_name, seen in (
        ("Manifest", "The whole manifest"),
        ("Decisions", "What was resolved for later"),
    ):
        walk.click(
            f"{tab_name} of the job",
            walk.link(tab_name),
            lambda seen=seen: tab.get_by_text(seen).first,  # type: ignore[misc]  # of this turn
        )
    _another_policy(walk)
    _another_run(walk, job)
    _whole(walk, reports)
    return walk


def _list(walk: Walk) -> None:
    """Go a page further and back."""
    older = walk.tab.get_by_role("link", name="Older »")
    if older.count() == 0:
        walk.left_out.append("a second page of jobs")
        return
    walk.click("older jobs", older, lambda: walk.link("« The youngest"))
    walk.click("the youngest", walk.link("« The youngest"), lambda: walk.link("Older »"))


def _failed(walk: Walk) -> str:
    """Go to the youngest failed job, or to one that failed before it was complete."""
    tab = walk.tab
    failed = tab.locator("#counts a.bad").first
    if failed.count():
        walk.click("jobs that failed", failed, lambda: tab.locator("#list td .badge.bad").first)
    else:
        walk.left_out.append("a job that failed")
    name = tab.locator("#list .jobname a").first
    told = name.inner_text()
    walk.click("a failed job", name, lambda: tab.locator("#why .lead"))
    expect(tab.locator("h1 .name")).to_have_text(told)
    return told


def _story(walk: Walk) -> None:
    """Why it failed, and the event that says so."""
    tab = walk.tab
    cited = tab.locator("#why .lead .cites a:not(.kept)").last
    version = cited.inner_text()
    walk.click("the event of a sentence", cited, lambda: tab.locator(f"#v{version}"))
    expect(tab.locator(f"#v{version}")).to_be_in_viewport()
    walk.click("all events", walk.link("All ", exact=False), lambda: tab.locator("#v1"))
    walk.click("turning points", walk.link("Turning points"), lambda: tab.locator("li.turn").first)


def _evidence(walk: Walk) -> None:
    """Read a log, and come back."""
    tab = walk.tab
    walk.click("Evidence of the job", walk.link("Evidence"), lambda: tab.locator("#kept"))
    logs = tab.locator("#kept td.words a")
    if logs.count() == 0:
        walk.left_out.append("a log of the job")
        return
    walk.click("a log", logs.first, lambda: tab.locator(".log, .empty").first)
    with tab.expect_download() as saved:
        walk.link("Download").click()
    assert saved.value.path().stat().st_size > 0
    walk.click("back to the job", walk.link("The job"), lambda: tab.locator("#why .lead"))


def _what_was_known(walk: Walk) -> None:
    """How the job stood at an instant, by the cursor; and before its last turn, by a link."""
    tab = walk.tab
    if tab.locator("#why").count() == 0:
        walk.click("Story of the job", walk.link("Story"), lambda: tab.locator("#why .lead"))
    slider = tab.get_by_role("slider", name="Instant to look at")
    slider.scroll_into_view_if_needed()
    box = slider.bounding_box()
    assert box is not None, "it is in view"
    with walk.step("an instant by the cursor"):
        tab.mouse.move(box["x"] + box["width"] - 3, box["y"] + box["height"] / 2)
        tab.mouse.down()
        tab.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2, steps=5)
        tab.mouse.up()
        expect(tab.locator("#moment")).to_contain_text("the controller knew")
    event = tab.locator("#events li.event.turn").last
    event.scroll_into_view_if_needed()
    event.hover()
    walk.click(
        "an instant by an event",
        event.get_by_role("link", name="then"),
        lambda: tab.locator("#moment table"),
    )


def _another_policy(walk: Walk) -> None:
    """Ask for more retries, by the arrows of the field."""
    tab = walk.tab
    walk.click("What if", walk.link("What if"), lambda: tab.get_by_role("button", name="Ask"))
    field_ = tab.get_by_label("Retries (backoffLimit)")
    field_.hover()
    box = field_.bounding_box()
    assert box is not None, "it is in view"
    for _ in range(3):
        tab.mouse.click(box["x"] + box["width"] - 16, box["y"] + box["height"] * 0.3)
    assert int(field_.input_value() or 0) > 0, "the arrows of the field count"
    walk.click(
        "another policy", tab.get_by_role("button", name="Ask"), lambda: tab.locator("#answer-h")
    )


def _another_run(walk: Walk, job: str) -> None:
    """Put the job beside another run, and two of its attempts beside each other."""
    tab = walk.tab
    walk.click("Compare", walk.link("Compare"), lambda: tab.locator("#cmp-h"))
    beside = tab.get_by_role("button", name="Show side by side")
    if beside.count():
        walk.click(
            "two attempts",
            beside,
            lambda: (
                tab.get_by_role("cell", name="outcome")
                .or_(tab.get_by_role("rowheader", name="outcome"))
                .first
            ),
        )
    else:
        walk.left_out.append("two attempts to compare")
    choices = tab.locator(".choices a")
    if choices.count():
        walk.click(f"{job} beside another run", choices.first, lambda: walk.heading("What differs"))
    else:
        walk.left_out.append("another run to compare with")


def _whole(walk: Walk, reports: int) -> None:
    """Pages about the whole ledger."""
    tab = walk.tab
    walk.click("Pending", walk.link("Pending"), lambda: tab.locator("#due"))
    due = tab.locator("#due .jobname a")
    if due.count():
        walk.click("a job that waits", due.first, lambda: walk.heading("How it stands"))
    else:
        walk.left_out.append("a job that waits")
    walk.click("Reports", walk.link("Reports"), lambda: tab.locator(".cards"))
    names = tab.locator(".cards a").all_inner_texts()
    for name in names[:reports]:
        with walk.step(f"report {name}"):
            walk.link(name).click()
            expect(tab.get_by_role("button", name="Ask")).to_be_visible()
        with walk.step(f"report {name} of a year"):
            tab.get_by_label("Over the last").select_option("365d")
            tab.get_by_role("button", name="Ask").click()
            expect(tab).to_have_url(re.compile("period=365d"))
            expect(tab.get_by_text("The SQL behind it")).to_be_visible()
        tab.get_by_text("The SQL behind it").click()
        expect(tab.locator("pre.code")).to_be_visible()
        with tab.expect_download():
            walk.link("CSV").click()
        walk.click(f"back from {name}", walk.link("Reports").last, lambda: tab.locator(".cards"))
    walk.click("Health", walk.link("Health"), lambda: tab.locator(".verdict"))
    walk.click("Jobs", walk.link("Jobs"), lambda: tab.locator("#list .jobname a").first)


def main() -> int:
    """Walk, and print how long each step took; return 1 if there is no browser."""
    path = found()
    if path is None or len(sys.argv) != 2:
        sys.stderr.write(f"{MISSING if path is None else __doc__}\n")
        return 1
    expect.set_options(timeout=STEP_MILLISECONDS)
    with chromium(path) as browser:
        context = browser.new_context(viewport={"width": 1280, "height": 900})
        walk = walked(context.new_page(), sys.argv[1])
        for what, took in walk.took.items():
            sys.stdout.write(f"{took:7.0f} ms  {what}\n")
        for what in walk.left_out:
            sys.stdout.write(f"        -  {what}: there is none\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
