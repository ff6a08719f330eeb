"""Has two Pods train together on the node, and one pair lose a node; asks the ledger afterwards."""

from collections.abc import Callable
from pathlib import Path

import yaml

from tests.node.install.reading import Ledger
from tests.node.install.shell import Shell
from tests.node.training.two_nodes import LOSES, MEETS, disagreement, jobs, runtime
from tests.support.waiting import wait_until

NAMESPACE = "training"
TOLD_SECONDS = 60.0
"""Limit from the end of a job until its evidence is kept."""


def judge_training(
    shell: Shell, folder: Path, ledger: str, image: str, say: Callable[[str], None]
) -> None:
    """Run both jobs and see what became of them.

    Args:
        shell: of somebody who may make jobs.
        folder: for the manifests.
        ledger: the URL of the database on this machine.
        image: of torch, as Pods ask for it.
        say: writes a line of progress.

    Raises:
        AssertionError: the nodes have not trained as one, or the ledger says something else.
    """
    manifests = folder / "training.yaml"
    manifests.write_text(yaml.safe_dump_all([runtime(image), *jobs()]), encoding="utf-8")
    shell.run(f"kubectl create namespace {NAMESPACE}")
    shell.run(f"kubectl -n {NAMESPACE} apply -f {manifests}")
    asked = Ledger(shell, ledger)
    shell.run(f"kubectl -n {NAMESPACE} wait trainjob/{MEETS} --for=condition=Complete --timeout=9m")
    logs = [shell.run(f"kubectl -n {NAMESPACE} logs {pod}") for pod in _pods(shell, MEETS)]
    problem = disagreement(logs)
    assert not problem, problem
    account = asked.says("explain", MEETS)
    assert account["outcome"] == "complete", account
    say(f"  {MEETS}: {logs[0].splitlines()[-1]}")
    shell.run(f"kubectl -n {NAMESPACE} wait trainjob/{LOSES} --for=condition=Failed --timeout=9m")
    wait_until(lambda: _is_told(asked), f"the ledger says why {LOSES} failed", TOLD_SECONDS)
    say(f"  {LOSES}: {asked.says('explain', LOSES)['sentences'][0]['text']}")
    shell.run(f"kubectl delete namespace {NAMESPACE} --timeout=5m")


def _pods(shell: Shell, job: str) -> list[str]:
    chosen = f"-l jobset.sigs.k8s.io/jobset-name={job} -o name"
    return shell.run(f"kubectl -n {NAMESPACE} get pods {chosen}").split()


def _is_told(asked: Ledger) -> bool:
    """Return whether the node that went is named, with its words, and its log is kept."""
    account, kept = (asked.says(word, LOSES) for word in ("explain", "evidence"))
    texts = " ".join(one["text"] for one in account["sentences"])
    logs = [one["source"] for one in kept if one["what"] == "log"]
    has_log = any(f"{LOSES}-node-0-1" in source for source in logs)
    return account["outcome"] == "failed" and "No space left on device" in texts and has_log
