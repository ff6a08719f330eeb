"""The node under a site: what can go wrong with Pods and their processes."""

from collections.abc import Callable
from dataclasses import dataclass

from jobledger.sandbox.agent.agent import NodeAgent
from tests.support.api import PODS, Api

HEAD, WORKER, SUBMITTER = "ray.io/node-type=head", "ray.io/node-type=worker", "job-name"
"""Label selectors of the Pods of a RayJob."""


@dataclass(frozen=True, slots=True)
class Node:
    """Breaks what runs, as an administrator or the hardware would."""

    agent: NodeAgent
    api: Api
    """The API in the test's namespace, with all rights."""

    def names(self, selector: str) -> list[str]:
        """Return the names of the Pods of a selector that are not on their way out."""
        found = self.api.list(PODS, labelSelector=selector).body["items"]
        return [
            pod["metadata"]["name"] for pod in found if "deletionTimestamp" not in pod["metadata"]
        ]

    def kill_processes(self, selector: str, reason: str = "") -> None:
        """SIGKILL to every process of the Pods: their containers end with 137, for a reason."""
        for name in self._some(selector):
            self.agent.kill_pod(self.api.namespace, name, reason)

    def delete_pods(self, selector: str) -> None:
        """Delete the Pods, without grace."""
        for name in self._some(selector):
            reply = self.api.request(
                "DELETE", f"{self.api.path(PODS)}/{name}", {"gracePeriodSeconds": 0}
            )
            assert reply.code == 200, reply  # OK

    def lose(self) -> None:
        """Every process is gone at once, every Pod has failed."""
        assert self.names(HEAD), "something runs"
        self.agent.lose_node()

    def _some(self, selector: str) -> list[str]:
        names = self.names(selector)
        assert names, f"there are Pods {selector}"
        return names


Fault = Callable[[Node], None]


def submitter_is_killed(node: Node) -> None:
    """The submitter's process is gone."""
    node.kill_processes(SUBMITTER)


def head_pod_is_killed(node: Node) -> None:
    """The head's Pod is deleted with all its processes."""
    node.delete_pods(HEAD)


def head_process_is_killed(node: Node) -> None:
    """The head's process is gone; its container is started again, if at all, in the same Pod."""
    node.kill_processes(HEAD)


def worker_is_lost(node: Node) -> None:
    """A worker's Pod is deleted with all its processes."""
    node.delete_pods(WORKER)


def node_is_gone(node: Node) -> None:
    """Everything is gone at once."""
    node.lose()
