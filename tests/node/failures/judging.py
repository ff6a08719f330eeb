"""Has the jobs of `cases.py` fail on the node, and holds what the ledger says against them."""

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from tests.node.failures.cases import Case, Document, cases, runtimes
from tests.node.install.reading import Ledger
from tests.node.install.shell import Shell
from tests.support.waiting import wait_until

NAMESPACE = "failing"
END = {"RayJob": "jsonpath='{.status.jobDeploymentStatus}'=Failed", "TrainJob": "condition=Failed"}
"""Kind of job -> what kubectl waits for."""
RUNS = "--for=jsonpath='{.status.jobsStatus[0].ready}'=1"
"""What kubectl waits for of a TrainJob whose program runs."""
TOLD_SECONDS = 60.0
"""Limit from the end of a job until its evidence is kept."""
LOOKED_SECONDS = 360.0
"""The same for a job that waits: the last look at its Pods is four and a half minutes after it
began to wait."""


def judge_failures(shell: Shell, folder: Path, ledger: str, say: Callable[[str], None]) -> None:
    """Have every job fail, or wait, and see that the ledger says of what.

    Args:
        shell: of somebody who may make jobs.
        folder: what was said of each is written there.
        ledger: the URL of the database on this machine.
        say: writes a line of progress.

    Raises:
        AssertionError: something else is said of a job, or nothing.
    """
    jobs = tuple(cases())
    manifests = folder / "failing.yaml"
    documents = [*runtimes(), *(case.manifest for case in jobs)]
    manifests.write_text(yaml.safe_dump_all(documents), encoding="utf-8")
    shell.run(f"kubectl create namespace {NAMESPACE}")
    shell.run(f"kubectl -n {NAMESPACE} apply -f {manifests}")
    problems = []
    for case in jobs:
        if case.outcome == "failed":
            wanted = f"--for={END[case.manifest['kind']]} --timeout=15m"
            shell.run(f"kubectl -n {NAMESPACE} wait {case.resource} {wanted}")
        elif case.outcome == "deleted":
            shell.run(f"kubectl -n {NAMESPACE} wait {case.resource} {RUNS} --timeout=15m")
            shell.run(f"kubectl -n {NAMESPACE} delete {case.resource}")
        asked = _Asked(shell, folder, ledger, case)
        limit = LOOKED_SECONDS if case.outcome == "going on" else TOLD_SECONDS
        try:
            wait_until(asked.is_right, "the ledger says why", limit)
        except AssertionError as late:
            problems.append(f"{case.resource}: {late}: {asked.problem}")
        say(f"  {case.resource}: {asked.problem or asked.told}")
    shell.run(f"kubectl -n {NAMESPACE} delete rayjobs,trainjobs --all --timeout=5m")
    assert not problems, "\n".join(problems)


@dataclass(slots=True)
class _Asked:
    """What the ledger says of a job."""

    shell: Shell
    folder: Path
    ledger: str
    case: Case
    told: str = ""
    """The first sentence."""
    problem: str = ""

    def is_right(self) -> bool:
        """Ask, and return whether it is as it has to be."""
        account, kept = (self._said(word) for word in ("explain", "evidence"))
        self.told = account["sentences"][0]["text"]
        self.problem = disagreement(self.case, account, kept)
        return not self.problem

    def _said(self, word: str) -> Any:  # noqa: ANN401 # a document
        said = Ledger(self.shell, self.ledger).says(word, self.case.name)
        kept = self.folder / f"{self.case.name}.{word}.json"
        kept.write_text(json.dumps(said, indent=2), encoding="utf-8")
        return said


def disagreement(case: Case, account: Document, kept: Sequence[Document]) -> str:
    """Return what is wrong with what is said of a job; empty if nothing is.

    Args:
        case: the job.
        account: as `explain -o json` has it.
        kept: as `evidence -o json` has it.
    """
    told = [account[key] for key in ("outcome", "failure_class", "failure_group")]
    wanted = [case.outcome, case.cause, case.group]
    texts = [one["text"] for one in account["sentences"]]
    if told != wanted:
        return f"it is told as {told}, and is {wanted}: {texts}"
    where = texts[:1] if case.outcome == "failed" else texts
    if not any(case.says in text for text in where):
        return f"{case.says!r} is not told in {where}"
    pieces = [f"{one['what']} {one['source']}" for one in kept]
    if not any(re.search(case.evidence, piece) for piece in pieces):
        return f"no evidence is as {case.evidence!r}: {pieces}"
    return ""
