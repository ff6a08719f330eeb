"""A watch that is stopped when the test is over."""

from collections.abc import Callable, Iterator

import pytest

from jobledger.adapters.kube.watching.reflector import Reflector
from jobledger.adapters.kube.watching.timing import WatchPace
from tests.adapters.kube.samples import QUICK, watch_on
from tests.contracts.cluster_listener import RecordingListener
from tests.support.canned_server import CannedServer, Scripted


class Watched:
    """A scripted server, a watch on it, and what the watch told."""

    def __init__(self, server: CannedServer, pace: WatchPace) -> None:
        self.server = server
        self.listener = RecordingListener()
        self.reflector: Reflector = watch_on(server, self.listener, pace)

    def watches(self, number: int) -> list[str]:
        """Return the resourceVersions of the first `number` watch requests, once they came."""
        asked: list[str] = []
        requests = 0
        while len(asked) < number:
            requests += 1
            last = self.server.wait_for_requests(requests)[requests - 1]
            asked += [last.query.get("resourceVersion", "")] if "watch" in last.query else []
        return asked


@pytest.fixture
def watched() -> Iterator[Callable[..., Watched]]:
    """Return what starts a watch on a server with the given script."""
    running: list[Watched] = []

    def start(*script: Scripted, pace: WatchPace = QUICK) -> Watched:
        server = CannedServer(*script).__enter__()
        running.append(Watched(server, pace))
        return running[-1]

    yield start
    for one in running:
        one.reflector.stop()
        one.server.__exit__(None, None, None)
