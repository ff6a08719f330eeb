"""The life of a TrainJob on a real API server, with upstream's definitions and runtimes.

Real are the API server, the controller manager (Jobs, garbage collection), the JobSet controller
with its webhooks, our controller's rights, and the nodes' processes.
"""

from collections.abc import Iterator

import pytest

from tests.acceptance.trainjob_stories import STORIES, Story
from tests.acceptance.trainjobs import Trainings, real_trainings
from tests.support.apiserver import ApiServer
from tests.support.processes import Terminal

pytestmark = [pytest.mark.apiserver, pytest.mark.postgres]


@pytest.fixture
def at(jobset_server: ApiServer, terminal: Terminal, ledger_url: str) -> Iterator[Trainings]:
    with real_trainings(jobset_server, terminal, ledger_url) as watched:
        yield watched


@pytest.mark.parametrize("story", STORIES, ids=lambda story: story.__name__)
def test_with_the_real_jobset_controller(at: Trainings, story: Story) -> None:
    with at.site.controller():  # a failure shows its log
        story(at)
