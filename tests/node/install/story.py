"""What is done and seen beside the page's commands, as a reader with a cluster would."""

import json
import os
import re
import signal
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.node import containers
from tests.node.install.page import Command, typed
from tests.node.install.shell import CommandFailed, Shell
from tests.node.layout import Layout
from tests.node.suite.programs import started
from tests.support.waiting import wait_until
from tests.upgrade.story import COMPUTED_OTHERWISE

PODS = (
    "kubectl -n jobledger get pods -l app.kubernetes.io/component=controller "
    "--field-selector=status.phase=Running -o json"
)
BUDGET = "kubectl -n jobledger get pdb jobledger -o jsonpath='{.status.disruptionsAllowed}'"
IN_A_POD = "kubectl -n jobledger exec deploy/jobledger -- jobledger"
SMALL_NODE = "--set resources.requests.cpu=50m"
"""Two replicas and a Ray head would not have room on two cores otherwise."""
TAKEN_OVER = "--take-ownership --force-conflicts"
"""The node has the ClusterRoles of this checkout's `ops/rbac.yaml`, as where somebody has applied
it by hand; the chart that is installed first is of an earlier commit, whose rules may differ."""
WAIT_SECONDS = 600.0
CAN = "kubectl auth can-i {} --all-namespaces --as system:serviceaccount:jobledger:jobledger"
BEYOND = ("get secrets", "create pods", "create pods/exec", "list nodes", "patch deployments.apps")
"""What the controller has no need of."""


Document = dict[str, Any]


@dataclass(slots=True)
class Reader:
    """Somebody who types what the page says, and what becomes of it."""

    shell: Shell
    places: Layout
    images: Mapping[str, Path]
    """Name -> the file; the page's `docker build` stands for them."""
    upgraded: Path
    """The checkout from which the upgrade is done."""
    own: dict[str, str]
    """What stands on the page -> what the reader has."""
    say: Callable[[str], None]

    def types(self, command: Command) -> None:
        """Run one command of the page."""
        text = typed(command.text, self.own)
        self.say(f"$ {command.text}")
        otherwise = [do for beginning, do in OTHERWISE.items() if text.startswith(beginning)]
        if otherwise:
            otherwise[0](self, text)
        else:
            self.shell.run(text)

    def bring_images(self, _: str) -> None:
        """Give the node the images that were made already."""
        for image in self.images.values():
            containers.ctr(self.places, "images", "import", str(image))

    def install(self, text: str) -> None:
        """Install it on a node of two cores."""
        self.shell.run(f"{text} {SMALL_NODE} {TAKEN_OVER}")

    def upgrade(self, text: str) -> None:
        """Upgrade it from the newer checkout; what is asked from here on is asked of both."""
        self.shell.folder = self.upgraded
        self.shell.run(text)

    def ask_doctor(self, text: str) -> None:
        """Ask whether all is well; of an earlier commit, parts of which may disagree, only ask.

        After an upgrade rows of before are put right as docs/howto/upgrade.md says.
        """
        try:
            self.shell.run(text)
        except CommandFailed as findings:
            errors = [line for line in str(findings).splitlines() if line.startswith("error")]
            if self.shell.folder != self.upgraded:
                self.say(f"  the earlier commit's doctor finds: {errors}")
                return
            of_rows = [one for one in errors if "status-of-log" in one]
            if not COMPUTED_OTHERWISE or not of_rows or of_rows != errors:
                raise
            self.shell.run(f"{IN_A_POD} rebuild")
            self.shell.run(text)

    def kill(self, text: str) -> None:
        """Kill the process, as a machine does that is lost; then do what the page says."""
        name = self.shell.environment["REPLICA"]
        [pod] = [one for one in self.pods() if one["metadata"]["name"] == name]
        [status] = pod["status"]["containerStatuses"]
        container = status["containerID"].rpartition("/")[2]
        tasks = containers.ctr(self.places, "tasks", "list")
        found = re.search(rf"^{container}\s+(\d+)", tasks, re.MULTILINE)
        assert found, tasks
        os.kill(int(found[1]), signal.SIGKILL)
        self.say(f"  killed process {found[1]} of {name}")
        self.shell.run(text)

    def drain(self, text: str) -> None:
        """Drain the only node: what is evicted finds another place once the node is open again."""
        before = {pod["metadata"]["name"] for pod in self.pods() if is_ready(pod)}
        assert len(before) == 2, before

        def one_waits() -> None:
            wait_until(lambda: self.shell.run(BUDGET) == "0", "one is evicted", WAIT_SECONDS)
            left = {pod["metadata"]["name"] for pod in self.pods() if is_ready(pod)} & before
            assert len(left) == 1, f"the budget keeps one: {left} of {before}"
            self.shell.run('kubectl uncordon "$NODE"')

        self.shell.run(text, one_waits)
        after = {pod["metadata"]["name"] for pod in self.pods()}
        assert not after & before, f"all are others: {after}, {before}"

    def pods(self) -> list[Document]:
        """Return the controller's Pods that run."""
        found: list[Document] = json.loads(self.shell.run(PODS))["items"]
        return found


OTHERWISE: Mapping[str, Callable[[Reader, str], None]] = {
    "docker build": Reader.bring_images,
    "helm upgrade --install": Reader.install,
    "helm upgrade jobledger": Reader.upgrade,
    "kubectl drain": Reader.drain,
    "kubectl -n jobledger exec deploy/jobledger -- jobledger doctor": Reader.ask_doctor,
    'kubectl -n jobledger delete pod "$REPLICA"': Reader.kill,
}
"""Beginning of a command -> what is done for it in place of typing it, or beside that."""


def is_ready(pod: Document) -> bool:
    """Tell whether a Pod is ready and nobody has deleted it."""
    conditions = pod["status"]["conditions"]
    ready = any(one["type"] == "Ready" and one["status"] == "True" for one in conditions)
    return ready and "deletionTimestamp" not in pod["metadata"]


@contextmanager
def clusters_seen(shell: Shell, kubectl: str, folder: Path) -> Iterator[Callable[[], set[str]]]:
    """Take down the name of every RayCluster that there is until the body ends."""
    name = '{.metadata.name}{"\\n"}'
    words = [kubectl, "get", "rayclusters", "-A", "--watch", "-o", f"jsonpath={name}"]
    (folder / "clusters.log").unlink(missing_ok=True)
    with started("clusters", words, shell.environment, folder):
        yield lambda: set((folder / "clusters.log").read_text(encoding="utf-8").split())


def judge(reader: Reader, job: str, clusters: set[str], failed: int) -> None:
    """See that the ledger tells of a job as often as it ran.

    Args:
        reader: of the page.
        job: its name.
        clusters: of all RayClusters that there were.
        failed: how many of its attempts have failed; one more has not.
    """
    said = reader.shell.run(f"{IN_A_POD} history {job} --table -o json")
    problem = disagreement(
        json.loads(said), {n for n in clusters if n.startswith(f"{job}-")}, failed
    )
    assert not problem, f"{job}: {problem}"


def disagreement(attempts: Sequence[Document], clusters: set[str], failed: int) -> str:
    """Return what is wrong with the attempts that the ledger tells of; empty if nothing is.

    Args:
        attempts: as `history --table` has them.
        clusters: of the RayClusters of the job that there were.
        failed: how many attempts have failed; one more has not.
    """
    outcomes = [one["outcome"] for one in attempts]
    if outcomes != [*["failed"] * failed, "succeeded"]:
        return f"the ledger has {outcomes}, and {failed} have failed"
    told = [one["ray_cluster_name"] for one in attempts]
    if sorted(told) != sorted(clusters):
        return f"there were {sorted(clusters)}, and the ledger has {told}"
    return ""


def judge_rights(reader: Reader) -> None:
    """See that the account of the Pods may do what their work needs, and no more."""
    for words, wanted in {
        "create rayclusters.ray.io": "yes",
        **dict.fromkeys(BEYOND, "no"),
    }.items():
        said = reader.shell.run(f"{CAN.format(words)} || true").strip()
        assert said == wanted, f"{words}: {said}"
