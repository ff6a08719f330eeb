"""A recorder beside other controllers on a real API server, and what these do.

The other controllers are scripted (`tests.acceptance.other_controllers`): they write as upstream
does.
"""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.acceptance.other_controllers import KubeRay, Trainer, ago
from tests.acceptance.real_site import leave_nothing
from tests.acceptance.site import Site
from tests.acceptance.witness import RAYCLUSTERS, RAYJOBS
from tests.support.api import own_namespace, rayjob
from tests.support.apiserver import ApiServer
from tests.support.processes import Controller, Terminal
from tests.support.waiting import wait_until

Document = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Beside:
    """A namespace in which other controllers are at work, and a recorder's terminal."""

    site: Site
    server: ApiServer
    kuberay: KubeRay
    trainer: Trainer
    account: Path | None = None
    """Kubeconfig in place of those of the users."""

    def recorder(self, *arguments: str) -> Controller:
        """Return a recorder with a role that may only look."""
        return self.started("recorder", "--observe-only", *arguments)

    def started(self, user: str, *arguments: str) -> Controller:
        """Return `jobledger run` in this namespace, with a user's rights, not started yet."""
        terminal = self.site.terminal.with_environment(
            KUBECONFIG=str(self.account or self.server.kubeconfig(user)),
            JOBLEDGER_NAMESPACES=json.dumps([self.site.api.namespace]),
            JOBLEDGER_LOG_FORMAT="json",
        )
        return Controller(terminal, "controller", arguments)

    def wait_for_phase(self, name: str, phase: str, attempt: int = 1) -> None:
        """Return once the ledger has a job in a phase of an attempt."""
        self.site.wait_for_true(
            f"{name} is {phase}",
            "SELECT EXISTS (SELECT FROM job WHERE name = %s AND phase = %s AND attempt = %s)",
            name,
            phase,
            attempt,
        )

    def says(self, command: str, name: str) -> str:
        """Return what a command says of a job, in one line."""
        out = self.site.terminal.jobledger(command, name, "-n", self.site.api.namespace).out
        return " ".join(out.split())


@contextmanager
def recording(
    server: ApiServer, terminal: Terminal, ledger_url: str, account: Path | None = None
) -> Iterator[Beside]:
    """Give a namespace with other controllers, and leave nothing there.

    With `account`, a kubeconfig, every `jobledger run` is started; else as the user who is named.
    """
    admin = server.api()
    with own_namespace(admin) as api:
        site = Site(
            api=api,
            terminal=terminal.with_environment(
                DATABASE_URL=ledger_url, JOBLEDGER_DATA_DIR=str(terminal.directory / "data")
            ),
            database_url=ledger_url,
            proxy_url="",
        )
        try:
            yield Beside(site, server, KubeRay(api), Trainer(api), account)
        finally:
            leave_nothing(api)
    admin.pool.clear()


def begin(kuberay: KubeRay, name: str, attempt: int, failed: int = 0, **spec: object) -> Document:
    """Let KubeRay begin an attempt of a job, which is submitted if there is none; return it."""
    found = kuberay.api.get(RAYJOBS, name)
    if found.code != 200:  # OK
        assert kuberay.api.create(RAYJOBS, rayjob(name, **spec)).code == 201  # Created
        found = kuberay.api.get(RAYJOBS, name)
        kuberay.take(found.body)
    job = dict(found.body)
    cluster = f"{name}-{attempt}"
    names = names_of(cluster)
    kuberay.shows(name, "Initializing", failed=failed, **names)
    kuberay.makes_cluster(job, cluster, "ready")
    kuberay.makes_submitter(job)
    return {**names, "dashboardURL": f"{cluster}-head-svc:8265", "failed": failed}


def names_of(cluster: str) -> Document:
    return {"rayClusterName": cluster, "jobId": f"{cluster}-job", "startTime": ago(0)}


def clean(kuberay: KubeRay, name: str, attempt: int) -> None:
    """Let KubeRay delete what an attempt had."""
    kuberay.deletes(RAYCLUSTERS, f"{name}-{attempt}")
    kuberay.api.delete("batch/v1/jobs", name, {"propagationPolicy": "Background"})
    wait_until(lambda: kuberay.api.get("batch/v1/jobs", name).code == 404, "the submitter is gone")
