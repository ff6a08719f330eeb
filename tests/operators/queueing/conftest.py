"""A queue under the real Kueue, and whoever runs its jobs: Jobledger, or upstream to compare."""

from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import Any, Protocol

import pytest

from tests.acceptance.real_site import real_site
from tests.operators.conftest import in_namespace
from tests.operators.queueing.kueue import NO_HURRY, KueueSite, install, kueue
from tests.operators.queueing.queue import Queue, queue
from tests.operators.stage import Stage
from tests.support.apiserver import ApiServer
from tests.support.processes import Terminal


class Queues(Protocol):
    """Opens a queue under Kueue."""

    def __call__(self, by: str, *, ready_within: str = NO_HURRY) -> AbstractContextManager[Queue]:
        """Return a queue whose jobs are run by `jobledger`, `kuberay` or `trainer`.

        What is admitted and not ready within a time is evicted, and queued anew after a second.
        """


@pytest.fixture(scope="session")
def kueue_site(operator_server: ApiServer, tmp_path_factory: pytest.TempPathFactory) -> KueueSite:
    """Kueue's definitions on the API server, and where its manager is found."""
    directory = tmp_path_factory.mktemp("kueue")
    return install(operator_server.api(), operator_server.directory, directory)


@pytest.fixture
def queues(
    operator_server: ApiServer, kueue_site: KueueSite, terminal: Terminal, ledger_url: str
) -> Queues:
    """Opens queues under Kueue, one after the other."""

    @contextmanager
    def opened(by: str, *, ready_within: str = NO_HURRY) -> Iterator[Queue]:
        server = operator_server
        with ExitStack() as held:
            simulated = by != "kuberay"
            site = held.enter_context(
                real_site(server, terminal, ledger_url, rayclusters=simulated)
            )
            stage = Stage(site, server, in_namespace(server.api(), site))
            held.enter_context(kueue(kueue_site, site.directory / "kueue.log", ready_within))
            made = held.enter_context(queue(stage, by))
            held.enter_context(_runner(stage, by))
            yield made

    return opened


def _runner(stage: Stage, by: str) -> AbstractContextManager[Any]:
    if by == "kuberay":
        return stage.kuberay()
    return stage.trainer() if by == "trainer" else stage.service("controller")
