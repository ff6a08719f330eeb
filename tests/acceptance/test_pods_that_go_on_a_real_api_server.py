"""The same with the real API server, Job and JobSet controllers, and the rights of `ops/rbac.yaml`.

Which Pods a watch tells of by their labels, and what is gone when a Pod is asked to end, is theirs.
"""

from collections.abc import Iterator

import pytest

from tests.acceptance.stories_of_pods import STORIES, Story
from tests.acceptance.stories_of_ray_pods import STORIES as OF_RAY
from tests.acceptance.trainjobs import Trainings, real_trainings
from tests.support.apiserver import ApiServer
from tests.support.processes import Terminal

pytestmark = [pytest.mark.faults, pytest.mark.apiserver, pytest.mark.postgres]


@pytest.fixture
def at(jobset_server: ApiServer, terminal: Terminal, ledger_url: str) -> Iterator[Trainings]:
    with real_trainings(jobset_server, terminal, ledger_url) as watched:
        yield watched


@pytest.mark.parametrize("story", [*STORIES, *OF_RAY], ids=lambda story: story.__name__)
def test_with_the_real_controllers(at: Trainings, story: Story) -> None:
    kinds = '["RayJob", "TrainJob", "Job"]'
    with at.site.controller(JOBLEDGER_JOB_KINDS=kinds):  # a failure shows its log
        story(at)
