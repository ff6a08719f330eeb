"""What watches tell comes twice, late, out of order across kinds, or not at all."""

import pytest

from tests.acceptance.site import Site
from tests.faults.inside import inside
from tests.faults.lines import Lines
from tests.faults.retry_story import RetryStory, assert_nothing_broke
from tests.support.http_fault_proxy import EventDeed, Made

pytestmark = [pytest.mark.faults, pytest.mark.postgres]

LATE_SECONDS = 0.25
KINDS = ("rayjobs", "rayclusters", "jobs")


REFUSALS = {
    "the server fails": (Made(500, "InternalError"), Made(502)),
    "what was seen is forgotten": (Made(410, "Expired"),),
    "permissions come late": (Made(403, "Forbidden"), Made(404)),
}


def watch_of(kind: str) -> str:
    """Return the pattern of the watch of a kind."""
    return rf"/{kind}\?.*watch=true"


@pytest.mark.parametrize("deed", EventDeed)
def test_every_third_event_of_each_watch(
    remote: Site, lines: Lines, story: RetryStory, deed: EventDeed
) -> None:
    for kind in KINDS:
        lines.api.spoil_events(watch_of(kind), deed, times=2, skip=2)
    with inside(remote) as controller:
        story.submit()
        story.assert_same_end()
        assert lines.api.unused() == []
        assert_nothing_broke(controller)


@pytest.mark.parametrize("kind", KINDS)
def test_one_watch_is_late(remote: Site, lines: Lines, story: RetryStory, kind: str) -> None:
    """What the others tell of later comes before what this one tells of earlier."""
    lines.api.let_events_wait(watch_of(kind), LATE_SECONDS)
    with inside(remote) as controller:
        story.submit()
        story.assert_same_end()
        assert_nothing_broke(controller)


@pytest.mark.parametrize("answers", REFUSALS)
def test_lists_and_watches_are_refused_for_a_while(
    remote: Site, lines: Lines, story: RetryStory, answers: str
) -> None:
    for kind in KINDS:
        for answer in REFUSALS[answers]:
            lines.api.answer("GET", rf"/{kind}\?(?!.*watch)", answer)
            lines.api.answer("GET", watch_of(kind), answer)
    with inside(remote) as controller:
        story.submit()
        story.assert_same_end()
        assert lines.api.unused() == []
        assert_nothing_broke(controller)
