"""The course of the demonstration: five RayJobs, four TrainJobs, and one SIGKILL."""

import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from pydantic import SecretStr
from rich.console import Console

from jobledger.adapters.cluster_wiring import kubernetes_cluster, kubernetes_watches
from jobledger.adapters.ledger_wiring import database
from jobledger.adapters.postgres.schema.version import upgrade
from jobledger.adapters.settings import Settings
from jobledger.core.errors import JobledgerError
from jobledger.core.ports.cluster import RAYJOBS, TRAINJOBS, Cluster
from jobledger.core.values.documents import Manifest, child
from jobledger.sandbox.demo.controller_process import ControllerProcess
from jobledger.sandbox.demo.samples import samples
from jobledger.sandbox.demo.trainings import EARLY, Trainings
from jobledger.sandbox.demo.watching import LiveTable
from jobledger.sandbox.postgres.user import temporary_directory
from jobledger.sandbox.wiring import Sandbox, start_sandbox

STEP_SECONDS_MAX = 60.0
LOOK_SECONDS = 0.5
"""How often the controller is looked after while waiting."""
NAMESPACE = "default"
RETRIED, EXHAUSTED, SUSPENDED = "third-time-lucky", "never-converges", "on-hold"


class DemoFailed(JobledgerError):
    """The demonstration did not get where it should."""


@dataclass(frozen=True, slots=True)
class Stage:
    """Everything that runs during the play."""

    settings: Settings
    database_url: str
    sandbox: Sandbox
    controller: ControllerProcess
    cluster: Cluster
    table: LiveTable
    trainings: Trainings


@contextmanager
def stage(console: Console, more: Mapping[str, str] | None = None) -> Iterator[Stage]:
    """Yield the running stage; nothing of it is left afterwards.

    `more` is what the controller's environment has besides.
    """
    directory = temporary_directory("jobledger-demo-")
    try:
        settings = Settings(database_url=SecretStr(""), data_dir=directory / "data", cluster="demo")
        with database(settings) as url, _sandbox(directory / "sandbox") as sandbox:
            upgrade(url)
            local = settings.model_copy(update={"kubeconfig": str(sandbox.kubeconfig)})
            plain = url.replace("postgresql+psycopg://", "postgresql://")
            environment = {
                "DATABASE_URL": plain,
                "KUBECONFIG": str(sandbox.kubeconfig),
                "HTTP_PROXY": sandbox.data_plane.proxy_url,
                "NO_PROXY": "127.0.0.1,localhost",
                "JOBLEDGER_CLUSTER": "demo",
                "JOBLEDGER_DATA_DIR": str(settings.data_dir),
                **(more or {}),
            }
            controller = ControllerProcess(directory, environment)
            table = LiveTable(console)
            cluster, watches = kubernetes_cluster(local), kubernetes_watches(local)
            trainings = Trainings(table, cluster, NAMESPACE)
            watch = watches.watch(RAYJOBS, table, namespace=NAMESPACE)
            another = watches.watch(TRAINJOBS, trainings, namespace=NAMESPACE)
            try:
                yield Stage(settings, plain, sandbox, controller, cluster, table, trainings)
            finally:
                watch.stop()
                another.stop()
                controller.stop()
    finally:
        shutil.rmtree(directory, ignore_errors=True)


@contextmanager
def _sandbox(directory: Path) -> Iterator[Sandbox]:
    for name in ("HTTP_PROXY", "http_proxy"):
        os.environ.pop(name, None)
    running = start_sandbox(directory, "127.0.0.1", 0)
    try:
        yield running
    finally:
        running.stop()


def play(on: Stage) -> None:
    """Apply the samples, suspend and resume one, kill the controller, and wait for the ends."""
    table = on.table
    on.controller.start()
    table.header()
    for manifest in samples():
        on.cluster.create(RAYJOBS, _placed(manifest))
    on.trainings.begin()
    _wait(on, lambda: _phase_is(table, SUSPENDED, "Running"), f"{SUSPENDED} to run")
    table.say(f"kubectl patch rayjob {SUSPENDED}: suspend: true", "bold magenta")
    _suspend(on, suspend=True)  # before it ends, however slow the machine is
    _wait(on, lambda: table.clusters(RETRIED) > 1, "the first retry")
    on.controller.kill()
    table.say("kill -9 of the controller, with retries and a deadline pending", "bold red")
    pid = on.controller.start()
    table.say(f"the controller is started again (process {pid})", "bold green")
    _wait(on, lambda: _phase_is(table, SUSPENDED, "Suspended"), f"{SUSPENDED} to be suspended")
    table.say(f"kubectl patch rayjob {SUSPENDED}: suspend: false", "bold magenta")
    _suspend(on, suspend=False)
    _wait(on, lambda: on.trainings.has(EARLY, "Created=False"), f"{EARLY} to say what it misses")
    table.say("kubectl create: the runtime that too-early names", "bold magenta")
    on.trainings.bring_the_runtime()
    _wait(on, on.trainings.have_ended, "the end of every TrainJob")
    wanted = len(samples())
    _wait(on, lambda: table.ended() == wanted, "the end of every job")


def _placed(manifest: Manifest) -> Manifest:
    return {**manifest, "metadata": {**child(manifest, "metadata"), "namespace": NAMESPACE}}


def _suspend(on: Stage, *, suspend: bool) -> None:
    on.cluster.merge_patch(RAYJOBS, NAMESPACE, SUSPENDED, {"spec": {"suspend": suspend}})


def _phase_is(table: LiveTable, name: str, phase: str) -> bool:
    return table.phase(name) == phase


def _wait(on: Stage, reached: Callable[[], bool], what: str) -> None:
    for _ in range(int(STEP_SECONDS_MAX / LOOK_SECONDS)):
        if on.table.wait_for(lambda _: reached(), LOOK_SECONDS):
            return
        if on.controller.has_died():
            lines = on.controller.log_path.read_text().splitlines()[-5:]
            raise DemoFailed("the controller has ended: " + " | ".join(lines))
    raise DemoFailed(f"waited {STEP_SECONDS_MAX:.0f} s for {what}")
