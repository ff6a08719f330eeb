"""Pods that go within seconds of their failure, or with their job, leave their logs."""

from collections.abc import Iterator

import pytest

from jobledger.sandbox.wiring import Sandbox
from tests.acceptance.site import Site
from tests.acceptance.stories_of_pods import STORIES, Story
from tests.acceptance.stories_of_ray_pods import STORIES as OF_RAY
from tests.acceptance.trainjobs import Trainings, trainings
from tests.support.api import api_at

pytestmark = [pytest.mark.faults, pytest.mark.postgres]


@pytest.fixture
def at(site: Site, sandbox: Sandbox) -> Iterator[Trainings]:
    with trainings(site, api_at(sandbox.api.url)) as watched:
        yield watched


@pytest.mark.parametrize("story", [*STORIES, *OF_RAY], ids=lambda story: story.__name__)
def test_in_the_sandbox(at: Trainings, story: Story) -> None:
    kinds = '["RayJob", "TrainJob", "Job"]'
    with at.site.controller(JOBLEDGER_JOB_KINDS=kinds):  # a failure shows its log
        story(at)
