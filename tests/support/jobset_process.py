"""The real JobSet controller as a process of this machine, with its webhooks, beside an API server.

Its webhook server shows the API server's own certificate, which is for 127.0.0.1 too. The webhooks
are upstream's, with an address in place of a Service; those of Pods are asked for Pods of JobSets
only, as upstream deploys them.
"""

import contextlib
import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import urllib3
import yaml

from tests.support.api import Api
from tests.support.apiserver_processes import die_with_parent
from tests.support.ports import reserved_ports
from tests.support.upstream_data import CRDS
from tests.support.waiting import wait_until
from tests.support.webhooks import put, webhooks

START_SECONDS = 90.0
STOP_SECONDS = 10.0
OF_JOBSETS = {"matchExpressions": [{"key": "jobset.sigs.k8s.io/jobset-name", "operator": "Exists"}]}


@dataclass(slots=True)
class JobSetProcess:
    """One JobSet controller. Its files lie in the API server's directory."""

    program: Path
    server: Path
    """The API server's directory: its kubeconfig and certificate are used."""
    _running: subprocess.Popen[bytes] | None = None

    def start(self, api: Api) -> None:
        """Start it, wait until its webhooks answer, and have the API server ask them."""
        webhook_port, health_port = reserved_ports(2)
        directory = self.server / "jobset"
        directory.mkdir(exist_ok=True)
        for name, copy in (("apiserver.crt", "tls.crt"), ("apiserver.key", "tls.key")):
            shutil.copy(self.server / "certificates" / name, directory / copy)
        config = directory / "config.yaml"
        config.write_text(yaml.safe_dump(_config(directory, webhook_port, health_port)))
        with (directory / "jobset.log").open("ab") as log:
            self._running = subprocess.Popen(
                [self.program, "--config", str(config), "--zap-log-level", "error"],
                env={**os.environ, "KUBECONFIG": str(self.server / "admin.kubeconfig")},
                cwd=directory,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                preexec_fn=die_with_parent,  # noqa: PLW1509  # one thread: started from `keeper`
            )
        wait_until(lambda: self._is_ready(health_port), "the JobSet controller", START_SECONDS)
        certificate = (self.server / "certificates" / "apiserver.crt").read_bytes()
        for document in _webhooks(f"https://127.0.0.1:{webhook_port}", certificate):
            put(api, document)

    def stop(self) -> None:
        """End it; the API server refuses JobSets and their Pods from then on."""
        if self._running is None:
            return
        self._running.terminate()
        try:
            self._running.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self._running.kill()
            self._running.wait()
        self._running = None

    def _is_ready(self, port: int) -> bool:
        log = self.server / "jobset" / "jobset.log"
        assert self._running is not None
        assert self._running.poll() is None, log.read_text(errors="replace")[-4000:]
        with contextlib.suppress(urllib3.exceptions.HTTPError, OSError):
            url = f"http://127.0.0.1:{port}/readyz"
            return urllib3.request("GET", url, retries=False, timeout=5.0).status == 200
        return False


def _config(directory: Path, webhook_port: int, health_port: int) -> dict[str, Any]:
    return {
        "apiVersion": "config.jobset.x-k8s.io/v1alpha1",
        "kind": "Configuration",
        "health": {"healthProbeBindAddress": f"127.0.0.1:{health_port}"},
        "internalCertManagement": {"enable": False},
        "leaderElection": {"leaderElect": False},
        "metrics": {"bindAddress": "0"},
        "webhook": {"host": "127.0.0.1", "port": webhook_port, "certDir": str(directory)},
    }


def _webhooks(url: str, certificate: bytes) -> list[dict[str, Any]]:
    documents = webhooks(CRDS / "jobset-webhooks.yaml", "jobset", url, certificate)
    for document in documents:
        for webhook in document["webhooks"]:
            if webhook["clientConfig"]["url"].endswith("-pod"):
                webhook["objectSelector"] = OF_JOBSETS
    return documents
