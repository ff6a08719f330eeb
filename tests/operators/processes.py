"""Upstream's operators as processes of this machine: unchanged, set up by flags and files only."""

import contextlib
import os
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import urllib3
import yaml

from tests.operators.build import KUBERAY, TRAINER
from tests.support.api import Api
from tests.support.ports import reserved_ports
from tests.support.waiting import wait_until
from tests.support.webhooks import put_webhooks

START_SECONDS = 120.0
"""Limit until an operator is ready; it takes two seconds on an idle machine."""
STOP_SECONDS = 30.0
"""From SIGTERM to SIGKILL."""
LOG_SHOWN_CHARACTERS = 8000

TRAINER_WEBHOOKS = (
    ("mutatingwebhookconfigurations", "trainer-mutating-webhook-configuration"),
    ("validatingwebhookconfigurations", "trainer-validating-webhook-configuration"),
)
"""Resource and name of the configurations that Trainer's webhooks have here."""


@dataclass(slots=True)
class Running:
    """An operator that was started."""

    process: "subprocess.Popen[bytes]"
    log: Path

    def stop(self) -> None:
        """End it, as somebody does who scales its Deployment to nought."""
        self.process.terminate()
        try:
            self.process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


@contextmanager
def kuberay(server: Path, directory: Path, proxy_url: str, *options: str) -> Iterator[Running]:
    """Run the KubeRay operator until the body ends; ready when this yields.

    Args:
        server: the API server's directory.
        directory: where its log is written.
        proxy_url: leads to the heads' Services, which nobody resolves here; it honours the
            standard proxy variables.
        options: more flags, such as `--watch-namespace=team-a`.
    """
    (health,) = reserved_ports(1)
    words = [
        str(KUBERAY.built(os.environ)),
        *("--enable-leader-election=false", "--metrics-addr=0"),
        f"--health-probe-bind-address=127.0.0.1:{health}",
        *options,
    ]
    environment = {
        "KUBECONFIG": str(server / "admin.kubeconfig"),
        "HTTP_PROXY": proxy_url,
        "NO_PROXY": "127.0.0.1,localhost",
        "ENABLE_PROBES_INJECTION": "false",  # heads here are small ones, without a raylet to ask
    }
    with started(words, environment, directory / "kuberay.log", health) as running:
        yield running


@contextmanager
def trainer(server: Path, directory: Path, api: Api) -> Iterator[Running]:
    """Run the Trainer manager until the body ends, and have the API server ask its webhooks.

    They stay when it ends, as they do in a cluster: TrainJobs are refused from then on.
    """
    health, webhook_port = reserved_ports(2)
    temporary = directory / "trainer"
    certificates = temporary / "k8s-webhook-server" / "serving-certs"
    certificates.mkdir(parents=True, exist_ok=True)
    for name, copy in (("apiserver.crt", "tls.crt"), ("apiserver.key", "tls.key")):
        shutil.copy(server / "certificates" / name, certificates / copy)
    config = temporary / "config.yaml"
    config.write_text(yaml.safe_dump(_trainer_config(health, webhook_port)), encoding="utf-8")
    words = [str(TRAINER.built(os.environ)), "--config", str(config)]
    environment = {"KUBECONFIG": str(server / "admin.kubeconfig"), "TMPDIR": str(temporary)}
    with started(words, environment, directory / "trainer.log", health) as running:
        certificate = (server / "certificates" / "apiserver.crt").read_bytes()
        file = TRAINER.files() / "manifests" / "base" / "webhook" / "manifests.yaml"
        put_webhooks(api, file, "trainer", f"https://127.0.0.1:{webhook_port}", certificate)
        yield running


def _trainer_config(health_port: int, webhook_port: int) -> dict[str, object]:
    return {
        "apiVersion": "config.trainer.kubeflow.org/v1alpha1",
        "kind": "Configuration",
        "health": {"healthProbeBindAddress": f"127.0.0.1:{health_port}"},
        "metrics": {"bindAddress": "0"},
        "webhook": {"host": "127.0.0.1", "port": webhook_port},
        "leaderElection": {"leaderElect": False},
        "certManagement": {"enable": False},
    }


@contextmanager
def started(
    words: Sequence[str], environment: Mapping[str, str], log: Path, health_port: int
) -> Iterator[Running]:
    plain = {"PATH": os.environ.get("PATH", os.defpath), "HOME": str(log.parent)}
    with log.open("ab") as file:
        process = subprocess.Popen(
            words,
            cwd=log.parent,
            env={**plain, **environment},
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=file,
        )
    running = Running(process, log)
    try:
        wait_until(lambda: _is_ready(running, health_port), f"{words[0]} is ready", START_SECONDS)
        yield running
    except BaseException as error:
        error.add_note(f"{log.name}:\n{_end_of(log)}")
        raise
    finally:
        running.stop()


def _is_ready(running: Running, port: int) -> bool:
    assert running.process.poll() is None, _end_of(running.log)
    with contextlib.suppress(urllib3.exceptions.HTTPError, OSError):
        url = f"http://127.0.0.1:{port}/readyz"
        return urllib3.request("GET", url, retries=False, timeout=5.0).status == 200  # OK
    return False


def _end_of(log: Path) -> str:
    return log.read_text(errors="replace")[-LOG_SHOWN_CHARACTERS:]
