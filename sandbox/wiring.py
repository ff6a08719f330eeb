"""Starts a sandbox: the API server in this process, and the data plane as its client."""

import os
from dataclasses import dataclass
from pathlib import Path

from jobledger.adapters.http.server import CannotServe
from jobledger.adapters.kube.client import KubernetesCluster
from jobledger.adapters.kube.connection import ConnectionSettings, connect
from jobledger.adapters.kube.watching.watches import KubernetesWatches
from jobledger.sandbox.api_server import SandboxApi
from jobledger.sandbox.data_plane import DataPlane
from jobledger.sandbox.kubeconfig import write_kubeconfig


@dataclass(frozen=True, slots=True)
class Sandbox:
    """A local Kubernetes-style API with its data plane."""

    api: SandboxApi
    data_plane: DataPlane
    kubeconfig: Path

    def stop(self) -> None:
        """Stop the data plane, then the API."""
        self.data_plane.stop()
        self.api.stop()


def start_sandbox(directory: Path, host: str, port: int) -> Sandbox:
    """Start a sandbox whose Pods have their files under `directory`; return it running.

    Raises:
        CannotServe: nobody can listen on that host and port.
        OSError: the directory cannot be made or written to.
    """
    directory.mkdir(parents=True, exist_ok=True)
    api = SandboxApi(host, port)
    try:
        api.start()
    except OSError as error:
        raise CannotServe(host, port, error, "choose another --port (0: any) or --host") from error
    kubeconfig = directory / "kubeconfig"
    write_kubeconfig(kubeconfig, api.url)
    transport = connect(ConnectionSettings(host=api.url), {"PATH": os.environ.get("PATH", "")})
    data_plane = DataPlane(
        KubernetesCluster(transport, field_manager="sandbox"),
        KubernetesWatches(transport),
        work_dir=directory / "pods",
    )
    data_plane.start(api.url)
    return Sandbox(api, data_plane, kubeconfig)
