"""Every command of docs/howto/adopt.md, in its order, on a real API server.

In KubeRay's place somebody writes as KubeRay does (`tests.acceptance.other_controllers`). What the
page leaves to the reader (waiting, a job that runs) is done between the commands.
"""

import re
import shlex
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.acceptance.other_controllers import KubeRay, ago
from tests.acceptance.site import Site
from tests.acceptance.tenant_site import RUNTIME
from tests.acceptance.witness import RAYJOBS
from tests.support.api import MERGE, Api, api_of_kubeconfig, rayjob
from tests.support.apiserver import programs
from tests.support.apiserver_content import USERS, install_everything
from tests.support.apiserver_processes import ApiServerProcesses
from tests.support.kubectl import KUBECTL, needs_kubectl
from tests.support.processes import Controller, Terminal
from tests.support.waiting import wait_until

pytestmark = [
    pytest.mark.apiserver,
    pytest.mark.postgres,
    pytest.mark.kubectl,
    needs_kubectl,
]

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "howto" / "adopt.md"
NAMESPACE = "team-a"
"""As the page calls it."""
RUNS = {"jobStatus": "RUNNING"}
RUNTIMES = "trainer.kubeflow.org/v1alpha1/trainingruntimes"


def commands() -> list[str]:
    """Return the commands of the page, in their order."""
    blocks = re.findall(r"```console\n(.*?)```", PAGE.read_text(), re.DOTALL)
    lines = [line for block in blocks for line in block.splitlines()]
    assert all(line.startswith("$ ") for line in lines), "a line shows no command"
    return [line.removeprefix("$ ") for line in lines]


@dataclass
class Reader:
    """Somebody who types what the page says."""

    site: Site
    server: ApiServerProcesses
    kuberay: KubeRay
    running: Controller | None = None
    said: dict[str, str] = field(default_factory=dict)
    """Command -> what it said the last time."""

    def types(self, command: str) -> None:
        """Run one command, as an administrator; the service with the rights of its own role."""
        words = shlex.split(command)
        if words[:2] == ["jobledger", "run"]:
            self.starts(words[2:])
        elif words[0] == "jobledger":
            self.said[command] = self.site.terminal.jobledger(*words[1:]).out
        else:
            assert words[0] == "kubectl", command
            assert KUBECTL
            paths = [str(ROOT / word) if word.startswith("ops/") else word for word in words[1:]]
            self.said[command] = self.site.terminal.run([KUBECTL, *paths]).out

    def starts(self, arguments: list[str]) -> None:
        """Start the service in place of the one that runs."""
        self.stops()
        user = "recorder" if "--observe-only" in arguments else "controller"
        terminal = self.site.terminal.with_environment(
            KUBECONFIG=str(self.server.kubeconfig(user)), JOBLEDGER_LOG_FORMAT="json"
        )
        self.running = Controller(terminal, "controller", arguments)
        self.running.start()

    def stops(self) -> None:
        """Stop the service that runs."""
        if self.running is not None:
            self.running.terminate()
            self.running = None

    def waits_for(self, what: str, condition: str) -> None:
        """Wait until something of the job is in the ledger."""
        self.site.wait_for_true(
            what,
            "SELECT EXISTS (SELECT FROM event e JOIN job j USING (stream_id) "
            f"WHERE j.name = 'train' AND {condition})",
        )


@pytest.fixture
def own_server(tmp_path: Path) -> Iterator[ApiServerProcesses]:
    """A server of its own: the page changes a definition, and means its job by its name.

    Where a definition changes, every watch of its objects ends and lists are refused for a moment.
    It has no controllers: nothing of the page waits for them.
    """
    place = tmp_path / "apiserver"
    server = ApiServerProcesses(programs(), place, USERS, install_everything, controllers=())
    try:
        server.start()
        yield server
    finally:
        server.stop()


@pytest.fixture
def reader(own_server: ApiServerProcesses, terminal: Terminal, ledger_url: str) -> Iterator[Reader]:
    admin = api_of_kubeconfig(own_server.kubeconfig("admin"))
    api = Api(admin.url, admin.pool, NAMESPACE, admin.headers)
    reply = api.request("POST", "/api/v1/namespaces", {"metadata": {"name": NAMESPACE}})
    assert reply.code == 201, reply  # Created
    a_runtime_cannot_be_deleted(api)
    site = Site(
        api=api,
        terminal=terminal.with_environment(
            KUBECONFIG=str(own_server.kubeconfig("admin")),
            DATABASE_URL=ledger_url,
            JOBLEDGER_DATA_DIR=str(terminal.directory / "data"),
        ),
        database_url=ledger_url,
        proxy_url="",
    )
    typing = Reader(site, own_server, KubeRay(api))
    try:
        yield typing
    except BaseException as error:
        if typing.running is not None:
            error.add_note(typing.running.log[-8000:])
        raise
    finally:
        if typing.running is not None:
            typing.running.kill()
        admin.pool.clear()


def a_job_runs(reader: Reader) -> None:
    """KubeRay runs a job; its second attempt."""
    api, kuberay = reader.site.api, reader.kuberay
    assert api.create(RAYJOBS, rayjob("train", backoffLimit=1)).code == 201  # Created
    job = dict(api.get(RAYJOBS, "train").body)
    kuberay.take(job)
    names = {"rayClusterName": "train-1", "jobId": "train-1-job", "startTime": ago(60)}
    kuberay.shows("train", "Initializing", **names)
    address = {"dashboardURL": "train-1-head-svc:8265"}
    kuberay.shows("train", "Running", **names, **address, **RUNS)
    lost = {"jobStatus": "FAILED", "reason": "AppFailed", "message": "exit code 1", "failed": 1}
    kuberay.shows("train", "Retrying", **names, **address, **lost)
    kuberay.shows("train", "", failed=1)
    names = {"rayClusterName": "train-2", "jobId": "train-2-job", "startTime": ago(0)}
    kuberay.shows("train", "Initializing", failed=1, **names)
    kuberay.makes_cluster(job, "train-2", "ready")
    kuberay.makes_submitter(job)
    address = {"dashboardURL": "train-2-head-svc:8265"}
    kuberay.shows("train", "Running", failed=1, **names, **address, **RUNS)
    reader.waits_for("the second attempt", "j.attempt = 2 AND j.phase = 'Running'")


def the_new_name_is_admitted(reader: Reader) -> None:
    """A changed definition is in force a moment later."""
    api = reader.site.api
    patch = {"spec": {"managedBy": "jobledger.dev/controller"}}

    def is_admitted() -> bool:
        path = api.path(RAYJOBS, "train")
        return (
            api.request("PATCH", path, patch, content_type=MERGE, dryRun="All").code == 200  # OK
        )

    wait_until(is_admitted, "the definition admits the new name")


def it_is_controlled(reader: Reader) -> None:
    reader.waits_for("the job is controlled", "e.type = 'ControlTaken'")


def it_is_given_back(reader: Reader) -> None:
    reader.site.wait_for_true(
        "the job is recorded again",
        "SELECT count(*) = 2 FROM event e JOIN job j USING (stream_id) "
        "WHERE j.name = 'train' AND e.type = 'ControlReleased'",
    )


def it_is_controlled_again(reader: Reader) -> None:
    reader.site.wait_for_true(
        "the job is controlled again",
        "SELECT count(*) = 2 FROM event e JOIN job j USING (stream_id) "
        "WHERE j.name = 'train' AND e.type = 'ControlTaken'",
    )


def a_runtime_cannot_be_deleted(api: Api) -> None:
    """Trainer had held a runtime before it was switched off, and somebody deletes it."""
    held = {"name": "torch", "finalizers": ["trainer.kubeflow.org/resource-in-use"]}
    assert api.create(RUNTIMES, {**RUNTIME, "metadata": held}).code == 201  # Created
    assert api.delete(RUNTIMES, "torch").code == 200  # OK
    assert api.get(RUNTIMES, "torch").body["metadata"]["deletionTimestamp"]


def it_can_be_deleted(reader: Reader) -> None:
    assert reader.site.api.get(RUNTIMES, "torch").code == 404  # Not Found


AFTERWARDS: dict[str, Callable[[Reader], None]] = {
    "jobledger run --observe-only": a_job_runs,
    "kubectl patch crd": the_new_name_is_admitted,
    "kubectl patch rayjob train -n team-a --type merge": it_is_controlled,
    "kubectl patch rayjob train -n team-a --type json": it_is_given_back,
    "jobledger run --control-namespace": it_is_controlled_again,
    "kubectl patch trainingruntime": it_can_be_deleted,
}
"""Beginning of a command -> what the reader waits for after it."""


def test_every_command_of_the_page(reader: Reader) -> None:
    used: set[str] = set()
    for command in commands():
        reader.types(command)
        for beginning, then in AFTERWARDS.items():
            if command.startswith(beginning):
                used.add(beginning)
                then(reader)
    assert used == set(AFTERWARDS), "the page has lost a command"
    told = " ".join(reader.site.terminal.jobledger("history", f"{NAMESPACE}/train").out.split())
    assert "attempt 1 failed: AppFailed: exit code 1 (inferred)" in told
    assert "the job is controlled here from here on" in told
    assert "the job is only recorded from here on" in told
    clusters = reader.site.api.list("ray.io/v1/rayclusters").body["items"]
    assert [item["metadata"]["name"] for item in clusters] == ["train-2"], "nothing began anew"
    reader.stops()
    reader.site.terminal.jobledger("replay", f"{NAMESPACE}/train")
    assert "equal the fold of the log" in reader.site.terminal.jobledger("rebuild", "--check").out
