"""The process dies, or an answer is lost, before or after every single call of a port."""

from collections.abc import Callable

import pytest

from core.values.ids import StreamId
from tests.adapters.service.stories import (
    HTTP,
    K8S,
    assert_whole,
    created,
    deletion_story,
    phases_shown,
    retry_story,
    suspension_story,
)
from tests.support.crash_points import MODES, Fuse, Mode
from tests.support.service_world import ServiceWorld

DEADLY: tuple[Mode, ...] = ("die before", "die after")
Story = Callable[[str, Fuse], tuple[ServiceWorld, StreamId]]


@pytest.mark.parametrize("submission", [K8S, HTTP])
def test_without_faults_users_see_every_phase_of_a_retry(submission: str) -> None:
    world, stream = retry_story(submission)
    assert_whole(world, stream)
    attempt = ["Initializing", "Running"]
    assert phases_shown(world) == [
        *attempt,
        "Retrying",
        *attempt,
        "Retrying",
        *attempt,
        "Complete",
    ]
    assert world.fuse.blown == ""


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("submission", [K8S, HTTP])
def test_a_retry_comes_to_its_end_whatever_breaks(submission: str, mode: Mode) -> None:
    calls = len(retry_story(submission)[0].fuse.calls)
    for number in range(1, calls + 1):
        world, stream = retry_story(submission, Fuse(number, mode))
        assert_whole(world, stream)
        job = world.history.attempts(stream)
        told = f"call {number}, {world.fuse.blown}"
        assert [row.outcome for row in job] == ["failed", "failed", "succeeded"], told
        assert created(world, "rayclusters") == 3, told
        assert created(world, "jobs") == (3 if submission == K8S else 0), told
        assert len(world.plane.runs) == 3, told
        assert world.deaths == (mode in DEADLY and world.fuse.blown != ""), told


@pytest.mark.parametrize("mode", ["die after", "lose the answer"])
@pytest.mark.parametrize("story", [deletion_story, suspension_story])
def test_deletion_and_suspension_come_to_their_ends_whatever_breaks(
    story: Story, mode: Mode
) -> None:
    calls = len(story(K8S, Fuse())[0].fuse.calls)
    for number in range(1, calls + 1):
        world, stream = story(K8S, Fuse(number, mode))
        assert_whole(world, stream)


def test_every_port_that_the_service_writes_to_is_among_the_crash_points() -> None:
    called = {
        name
        for story in (retry_story, deletion_story, suspension_story)
        for submission in (K8S, HTTP)
        for name in story(submission, Fuse())[0].fuse.calls
    }
    assert called >= {
        "cluster.apply",
        "cluster.create",
        "cluster.delete",
        "cluster.merge_patch",
        "history.finished",
        "history.open_streams",
        "leases.acquire",
        "leases.current",
        "ray.info",
        "ray.stop",
        "ray.submit",
        "store.append",
        "store.read_streams",
    }


def test_two_deaths_one_after_the_other_do_no_more_harm_than_one() -> None:
    """The second right after the start, while everything is read again."""
    calls = len(retry_story(K8S)[0].fuse.calls)
    for number in range(5, calls, 9):
        for later in (1, 3, 6):
            fuse = TwiceBlown(number, "die after", later)
            world, stream = retry_story(K8S, fuse)
            assert_whole(world, stream)
            assert world.deaths == 2


class TwiceBlown(Fuse):
    """A fuse that blows again some calls later."""

    def __init__(self, at: int, mode: Mode, later: int) -> None:
        super().__init__(at, mode)
        self._again = at + later

    def count(self, name: str) -> bool:
        first = super().count(name)
        return first or len(self.calls) == self._again
