"""A server is away for a while: /readyz says so, other work goes on, and all ends as without it."""

import pytest

from tests.acceptance.jobs import rayjob, waiting_for
from tests.acceptance.site import Site
from tests.faults.inside import inside
from tests.faults.lines import Lines
from tests.faults.retry_story import RetryStory, assert_nothing_broke, readiness
from tests.support.fault_proxy import FaultProxy
from tests.support.http_fault_proxy import Made
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.faults, pytest.mark.postgres]

PATIENCE_SECONDS = 1.5
"""How long a controller of these tests waits for an API server that says nothing."""

AWAY = "the API server is not available"

WAYS = {
    "connections are refused": FaultProxy.refuse,
    "connections are half open": FaultProxy.half_open,
    "packets are lost": FaultProxy.hold,
}


@pytest.mark.parametrize("way", WAYS)
def test_the_api_server_is_away(
    remote: Site, site: Site, lines: Lines, story: RetryStory, way: str
) -> None:
    """It goes while both jobs are in their first attempt."""
    with inside(remote, patience=PATIENCE_SECONDS) as controller:
        story.submit()
        site.wait_for_true("some events", "SELECT position >= 14 FROM log_head")
        WAYS[way](lines.api)
        wait_until(lambda: AWAY in readiness(controller)[0], "it says what it waits for")
        assert controller.get("/readyz")[0] == 503
        assert controller.get("/healthz")[0] == 200
        assert "no answer" in readiness(controller)[1]
        lines.api.restore()
        story.assert_same_end()
        wait_until(lambda: readiness(controller) == ([], ""), "it is ready again")
        assert_nothing_broke(controller)


@pytest.mark.parametrize("way", WAYS)
def test_the_ray_heads_are_away(
    remote: Site, site: Site, lines: Lines, story: RetryStory, way: str
) -> None:
    """Nobody can be asked: a job whose submitter tells its end, too, waits for the answer."""
    gate = site.directory / "gate"
    with inside(remote) as controller:
        story.submit(gate=gate)
        site.wait_for_true("some events", "SELECT position >= 14 FROM log_head")
        WAYS[way](lines.ray)
        wait_until(
            lambda: controller.metric("jobledger_ray_polls_total", answer="unanswered") >= 2,
            "heads were asked in vain",
        )
        assert readiness(controller) == ([], "")
        lines.ray.restore()
        gate.touch()
        story.assert_same_end()
        assert_nothing_broke(controller)


def test_one_job_that_is_not_served_holds_up_no_other(
    remote: Site, lines: Lines, story: RetryStory
) -> None:
    """Every write for one job fails, as long as the others take to end."""
    gate = story.site.directory / "gate"
    lines.api.answer("POST|PATCH|DELETE", "/(rayjobs|rayclusters)/poor", Made(500), times=10_000)
    with inside(remote) as controller:
        story.site.submit(rayjob("poor", waiting_for(gate)))
        story.submit()
        story.wait_for_the_end()
        assert story.witness.status("poor") == {}
        lines.api.clear()
        gate.touch()
        story.witness.wait_for_phase("poor", "Complete")
        story.assert_same_end()
        assert_nothing_broke(controller)


def test_a_controller_that_has_nobody_left_still_stops_when_it_is_told_to(
    remote: Site, site: Site, lines: Lines, story: RetryStory
) -> None:
    """A process of its own; what it could not do is done by the next one."""
    with remote.controller() as controller:
        story.submit()
        site.wait_for_true("some events", "SELECT position >= 14 FROM log_head")
        for line in (lines.api, lines.ray, lines.ledger):
            line.refuse()
        wait_until(
            lambda: {AWAY, "the ledger is not available"} <= set(readiness(controller)[0]),
            "it says what it waits for",
        )
        assert controller.terminate() == 0
        assert "Traceback" not in controller.log
        for line in (lines.api, lines.ray, lines.ledger):
            line.restore()
        controller.start()
        story.assert_same_end()
