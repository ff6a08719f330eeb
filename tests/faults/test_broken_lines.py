"""Connections break before and after what was asked for is done; nothing is done twice."""

import random

import pytest

from tests.acceptance.site import Site
from tests.faults.inside import inside
from tests.faults.lines import SUBMITTING, WRITING, Lines
from tests.faults.retry_story import RetryStory, assert_nothing_broke
from tests.support.http_fault_proxy import Deed
from tests.support.postgres_fault_proxy import Moment

pytestmark = [pytest.mark.faults, pytest.mark.postgres]

RESETS = 6
LAST_EVENT = 60
"""Resets come before the log has so many events; both jobs together have some 100."""


@pytest.mark.parametrize("deed", [Deed.CUT, Deed.LOSE_ANSWER])
def test_writes_whose_connection_breaks(
    remote: Site, lines: Lines, story: RetryStory, deed: Deed
) -> None:
    """Before the request arrives, or after it was carried out and before its answer."""
    for methods, pattern in WRITING.values():
        lines.api.spoil(methods, pattern, deed, times=2)
    lines.ray.spoil(*SUBMITTING, deed, times=2)
    with inside(remote) as controller:
        story.submit()
        story.assert_same_end()
        assert (lines.api.unused(), lines.ray.unused()) == ([], [])
        assert_nothing_broke(controller)


@pytest.mark.parametrize("moment", Moment)
def test_appends_whose_connection_breaks(
    remote: Site, lines: Lines, story: RetryStory, moment: Moment
) -> None:
    """Before the append arrives, or after its commit and before the answer."""
    with inside(remote) as controller:
        lines.ledger.cut_at("append_v1", moment, times=8, skip=2)
        story.submit()
        story.assert_same_end()
        assert lines.ledger.unused() == 0
        assert_nothing_broke(controller)


def test_every_connection_is_reset_again_and_again(
    remote: Site, site: Site, lines: Lines, story: RetryStory
) -> None:
    """The moments are events of the log, drawn at random."""
    moments = sorted(random.Random(4).sample(range(2, LAST_EVENT), RESETS))
    with inside(remote) as controller:
        story.submit()
        for moment in moments:
            site.wait_for_true(f"event {moment}", "SELECT position >= %s FROM log_head", moment)
            for line in (lines.api, lines.ray, lines.ledger):
                line.reset()
        story.assert_same_end()
        assert_nothing_broke(controller)


def test_slow_lines_that_carry_a_few_bytes_at_a_time(
    remote: Site, lines: Lines, story: RetryStory
) -> None:
    lines.api.slow_down(delay_seconds=0.002, piece_bytes=400)
    lines.ray.slow_down(delay_seconds=0.005, piece_bytes=50)
    lines.ledger.slow_down(delay_seconds=0.005, piece_bytes=1400)
    with inside(remote) as controller:
        story.submit()
        story.assert_same_end()
        assert_nothing_broke(controller)
