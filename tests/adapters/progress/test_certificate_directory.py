"""`--cert-dir`: the endpoint serves with somebody else's certificate, and follows its renewal."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import urllib3

from jobledger.adapters.admission.certificates import Certificate, new_certificate
from jobledger.adapters.admission.tls import NoCertificate
from jobledger.adapters.progress_wiring import StatusOptions, StatusServer, status_server
from jobledger.adapters.settings import Settings
from jobledger.adapters.telemetry.clock import SystemClock
from jobledger.sandbox.api_server import SandboxApi
from jobledger.sandbox.kubeconfig import write_kubeconfig
from tests.support.api import CONFIGMAPS, Api, api_at

ANSWER_SECONDS = 60.0
NAMESPACE, SERVICE = "default", "jobledger-trainer-status"


@pytest.fixture
def api() -> Iterator[Api]:
    with SandboxApi() as running:
        client = api_at(running.url)
        yield Api(client.url, client.pool, NAMESPACE)
        client.pool.clear()


def mount(directory: Path) -> Certificate:
    """Write a new certificate as cert-manager's Secret is mounted."""
    made = new_certificate(("localhost",), SystemClock().now())
    directory.mkdir(exist_ok=True)
    (directory / "tls.crt").write_text(made.chain)
    (directory / "tls.key").write_text(made.key)
    (directory / "ca.crt").write_text(made.trusted)
    return made


def server(api: Api, directory: Path) -> StatusServer:
    """Return the server that `jobledger trainer-status --cert-dir` serves."""
    kubeconfig = directory.parent / "kubeconfig"
    write_kubeconfig(kubeconfig, api.url)
    options = StatusOptions(
        host="127.0.0.1", port=0, namespace=NAMESPACE, service=SERVICE, cert_dir=directory
    )
    return status_server(Settings(kubeconfig=str(kubeconfig)), options)


def published(api: Api) -> str:
    """Return whom Pods are told to trust."""
    return str(api.get(CONFIGMAPS, f"{SERVICE}-ca").body["data"]["ca.crt"])


def asked(url: str, trusted: str, directory: Path) -> int:
    """Ask as one who trusts only that authority; return the code."""
    authority = directory / "trusted.crt"
    authority.write_text(trusted)
    with urllib3.PoolManager(ca_certs=str(authority), timeout=ANSWER_SECONDS) as pool:
        port = url.rpartition(":")[2]
        return pool.request("GET", f"https://localhost:{port}/healthz", retries=False).status


def test_it_serves_with_the_mounted_certificate_and_with_its_successor(
    api: Api, tmp_path: Path
) -> None:
    directory = tmp_path / "mounted"
    first = mount(directory)
    made = server(api, directory)
    made.http.start()
    try:
        assert published(api) == first.trusted
        assert asked(made.http.url, published(api), tmp_path) == 200
        second = mount(directory)
        made.refresh()
        assert published(api) == second.trusted
        assert asked(made.http.url, published(api), tmp_path) == 200
        with pytest.raises(urllib3.exceptions.SSLError):
            asked(made.http.url, first.trusted, tmp_path)
    finally:
        made.http.stop()
    secret = api.request("GET", f"/api/v1/namespaces/{NAMESPACE}/secrets/{SERVICE}-tls")
    assert secret.code == 404, "it keeps no certificate of its own beside"


def test_a_directory_without_the_authority_is_named(api: Api, tmp_path: Path) -> None:
    directory = tmp_path / "mounted"
    mount(directory)
    (directory / "ca.crt").unlink()
    with pytest.raises(NoCertificate, match=r"mounted: ca\.crt cannot be used: No such file"):
        server(api, directory)
