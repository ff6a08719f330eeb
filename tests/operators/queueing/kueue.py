"""Kueue's own manager as a process of this machine, with its definitions and webhooks.

All of it is upstream's and set up by files only: the definitions and webhook configurations come
from the Go module, the integrations are those of upstream's default configuration.
"""

import base64
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from tests.operators.build import KUEUE
from tests.operators.processes import Running, started
from tests.operators.queueing.certificate import make_certificate
from tests.support.api import Api
from tests.support.apiserver_content import DEFINITIONS, parsed
from tests.support.ports import reserved_ports
from tests.support.waiting import wait_until
from tests.support.webhooks import ADMISSION, put, webhooks

KINDS = ("clusterqueues", "localqueues", "resourceflavors", "workloads", "workloadpriorityclasses")
CONVERTED = ("localqueues", "clusterqueues", "cohorts", "workloads", "multikueueclusters")
"""Kinds whose patch upstream's kustomization applies."""
NO_HURRY = "30m"
"""Within this what was admitted has to be ready: longer than any story."""
SERVED_SECONDS = 120.0
"""Limit until the definitions are served."""

Document = dict[str, Any]


@dataclass(frozen=True, slots=True)
class KueueSite:
    """Where Kueue is found on this machine, the same for all stories of a session."""

    api: Api
    """An administrator's client."""
    server: Path
    """The API server's directory."""
    directory: Path
    """Has its certificate and its configuration."""
    port: int
    """Of its webhooks."""
    certificate: bytes
    """What they show, in PEM."""

    @property
    def url(self) -> str:
        """Return the address of the webhooks."""
        return f"https://127.0.0.1:{self.port}"


def install(api: Api, server: Path, directory: Path) -> KueueSite:
    """Create Kueue's definitions and its certificate; return once the kinds are served."""
    (port,) = reserved_ports(1)
    site = KueueSite(api, server, directory, port, make_certificate(api, directory))
    for file in sorted((_components() / "crd" / "bases").glob("*.yaml")):
        (definition,) = parsed(file.read_text(encoding="utf-8"))
        _let_convert(definition, site)
        reply = api.request("POST", DEFINITIONS, definition)
        assert reply.code == 201, reply.message  # Created

    def are_served() -> bool:
        paths = (f"/apis/kueue.x-k8s.io/v1beta2/{kind}" for kind in KINDS)
        return all(api.request("GET", path).code == 200 for path in paths)  # OK

    wait_until(are_served, "Kueue's definitions are served", SERVED_SECONDS)
    return site


@contextmanager
def kueue(site: KueueSite, log: Path, ready_within: str = NO_HURRY) -> Iterator[Running]:
    """Run Kueue's manager, and have the API server ask its webhooks, until the body ends.

    Args:
        site: where.
        log: the file that it writes.
        ready_within: what is admitted and not ready in this time is evicted (`30s`).
    """
    (health,) = reserved_ports(1)
    config = site.directory / "config.yaml"
    config.write_text(yaml.safe_dump(_config(health, site, ready_within)), encoding="utf-8")
    words = [str(KUEUE.built(os.environ)), "--config", str(config), "--zap-log-level=3"]
    environment = {"KUBECONFIG": str(site.server / "admin.kubeconfig")}
    file = _components() / "webhook" / "manifests.yaml"
    asked = webhooks(file, "kueue", site.url, site.certificate)
    try:
        for document in asked:
            put(site.api, document)
        with started(words, environment, log, health) as running:
            yield running
    finally:
        for document in asked:
            kind, name = f"{document['kind'].lower()}s", document["metadata"]["name"]
            site.api.request("DELETE", f"{ADMISSION}/{kind}/{name}")


def _components() -> Path:
    return KUEUE.files() / "config" / "components"


def _config(health: int, site: KueueSite, ready_within: str) -> Document:
    """Return upstream's default configuration, for one process on this machine.

    `waitForPodsReady` is switched on, so that Kueue says what it takes for ready.
    """
    again = {"backoffBaseSeconds": 1}
    default = _components() / "manager" / "controller_manager_config.yaml"
    (config,) = parsed(default.read_text(encoding="utf-8"))
    webhook = {"host": "127.0.0.1", "port": site.port, "certDir": str(site.directory)}
    return {
        **config,
        "health": {"healthProbeBindAddress": f"127.0.0.1:{health}"},
        "metrics": {"bindAddress": "0"},
        "webhook": webhook,
        "leaderElection": {"leaderElect": False},
        "waitForPodsReady": {"timeout": ready_within, "requeuingStrategy": again},
        "featureGates": {"VisibilityOnDemand": False},
    }


def _let_convert(definition: Document, site: KueueSite) -> None:
    """Have the API server convert the versions of a kind where upstream's patches say so."""
    kind = definition["spec"]["names"]["plural"]
    if kind not in CONVERTED:
        return
    file = _components() / "crd" / "patches" / f"webhook_in_{kind}.yaml"
    (patch,) = parsed(file.read_text(encoding="utf-8"))
    conversion = patch["spec"]["conversion"]
    bundle = base64.b64encode(site.certificate).decode()
    conversion["webhook"]["clientConfig"] = {"url": f"{site.url}/convert", "caBundle": bundle}
    definition["spec"]["conversion"] = conversion
