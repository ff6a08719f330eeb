"""Where the API server's address and our credentials come from, and which way requests take."""

import errno
import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from jobledger.adapters.kube.client import KubernetesCluster
from jobledger.adapters.kube.connection import ConnectionSettings, configure, connect
from jobledger.core.errors import ClusterUnreachable
from jobledger.core.ports.cluster import RAYJOBS
from tests.adapters.kube.samples import rayjob
from tests.support.canned_server import Answer, CannedServer

JOB = rayjob("a", 1)
NOWHERE = Path("/nonexistent")


@pytest.fixture(autouse=True)
def no_proxies(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


@pytest.fixture
def server() -> Iterator[CannedServer]:
    with CannedServer(*[Answer(body=JOB)] * 5) as running:
        yield running


def kubeconfig(folder: Path, server: str, user: dict[str, Any], **cluster: Any) -> str:  # noqa: ANN401  # JSON
    """Write a kubeconfig (JSON is YAML) and return its path."""
    path = folder / "kubeconfig"
    document = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "c", "cluster": {"server": server, **cluster}}],
        "users": [{"name": "u", "user": user}],
        "contexts": [
            {"name": "x", "context": {"cluster": "c", "user": "u"}},
            {"name": "anonymous", "context": {"cluster": "c", "user": ""}},
        ],
        "current-context": "x",
    }
    path.write_text(json.dumps(document))
    return str(path)


def ask(settings: ConnectionSettings, environment: dict[str, str] | None = None) -> None:
    """Send one request, whatever becomes of it."""
    KubernetesCluster(connect(settings, environment or {})).get(RAYJOBS, "team", "a")


def test_files_that_a_kubeconfig_names_are_looked_for_beside_it(tmp_path: Path) -> None:
    """As kubectl does, in whatever directory the program runs."""
    names = ("ca.crt", "me.crt", "me.key")
    for name in names:
        (tmp_path / name).write_text(name)
    ca, certificate, key = names
    user = {"client-certificate": certificate, "client-key": key}
    path = kubeconfig(tmp_path, "https://127.0.0.1:1", user, **{"certificate-authority": ca})
    found = configure(ConnectionSettings(kubeconfig=path), {})
    files = (found.ssl_ca_cert, found.cert_file, found.key_file)
    assert files == tuple(str(tmp_path / name) for name in names)


def test_an_address_outright_comes_first(server: CannedServer, tmp_path: Path) -> None:
    elsewhere = kubeconfig(tmp_path, "http://127.0.0.1:1", {})
    ask(ConnectionSettings(host=server.url + "/", token="t0"), {"KUBECONFIG": elsewhere})
    assert server.received[0].headers["authorization"] == "Bearer t0"


@pytest.mark.parametrize("outright", [True, False])
def test_a_kubeconfig_is_taken_from_the_setting_or_the_variable(
    server: CannedServer, tmp_path: Path, outright: bool
) -> None:
    path = kubeconfig(tmp_path, server.url, {"token": "t1"})
    ask(
        ConnectionSettings(kubeconfig=path if outright else "", service_account=NOWHERE),
        {} if outright else {"KUBECONFIG": path},
    )
    assert server.received[0].headers["authorization"] == "Bearer t1"


def test_a_context_can_be_chosen(server: CannedServer, tmp_path: Path) -> None:
    path = kubeconfig(tmp_path, server.url, {"token": "t1"})
    ask(ConnectionSettings(kubeconfig=path, context="anonymous"))
    assert "authorization" not in server.received[0].headers
    with pytest.raises(ClusterUnreachable, match="Expected object with name y"):
        connect(ConnectionSettings(kubeconfig=path, context="y"))


def test_no_kubeconfig_is_an_error_of_ours(tmp_path: Path) -> None:
    settings = ConnectionSettings(kubeconfig=str(tmp_path / "none"), service_account=NOWHERE)
    with pytest.raises(ClusterUnreachable, match="no way to an API server"):
        connect(settings, {})


@pytest.mark.parametrize("others", [(), ("readable",)], ids=["alone", "before another"])
def test_a_kubeconfig_that_this_user_cannot_get_to_is_not_taken_for_absent(
    server: CannedServer,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    others: tuple[str, ...],
) -> None:
    """Of several files the client would go on with the others, to another cluster maybe."""
    closed, look = str(tmp_path / "closed" / "kubeconfig"), os.stat

    def seen(path: Any, *args: Any, **more: Any) -> os.stat_result:  # noqa: ANN401 passed on
        if path == closed:
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), path)
        return look(path, *args, **more)

    monkeypatch.setattr(os, "stat", seen)
    files = os.pathsep.join([closed, *(kubeconfig(tmp_path, server.url, {}) for _ in others)])
    with pytest.raises(ClusterUnreachable, match=f"API server: {closed}: Permission denied$"):
        connect(ConnectionSettings(service_account=NOWHERE), {"KUBECONFIG": files})


def test_an_exec_plug_in_brings_the_token_and_brings_a_new_one_when_it_expires(
    server: CannedServer, tmp_path: Path
) -> None:
    counter, plug_in = tmp_path / "count", tmp_path / "plug_in.py"
    counter.write_text("0")
    plug_in.write_text(
        "import json, pathlib, sys\n"
        "count = pathlib.Path(sys.argv[1])\n"
        "number = int(count.read_text()) + 1\n"
        "count.write_text(str(number))\n"
        "print(json.dumps({'apiVersion': 'client.authentication.k8s.io/v1',\n"
        "    'kind': 'ExecCredential', 'status': {'token': f'token-{number}',\n"
        "    'expirationTimestamp': '2020-01-01T00:00:00Z' if number < 3 else\n"
        "    '2999-01-01T00:00:00Z'}}))\n"
    )
    user = {
        "exec": {
            "apiVersion": "client.authentication.k8s.io/v1",
            "command": sys.executable,
            "args": [str(plug_in), str(counter)],
        }
    }
    settings = ConnectionSettings(
        kubeconfig=kubeconfig(tmp_path, server.url, user), credentials_seconds=0
    )
    cluster = KubernetesCluster(connect(settings, {}))
    for _ in range(4):
        cluster.get(RAYJOBS, "team", "a")
    tokens = [asked.headers["authorization"] for asked in server.received]
    assert tokens == ["Bearer token-2", "Bearer token-3", "Bearer token-3", "Bearer token-3"]


def test_requests_go_through_the_proxy_of_the_environment(
    server: CannedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", server.url)
    ask(ConnectionSettings(host="http://api.cluster.test", token="t"))
    asked = server.received[0]
    assert asked.target == "http://api.cluster.test/apis/ray.io/v1/namespaces/team/rayjobs/a"
    assert asked.headers["authorization"] == "Bearer t"


def test_a_tunnel_is_asked_of_the_proxy_and_its_password_is_not_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with CannedServer(Answer(403, b"no")) as proxy:
        monkeypatch.setenv("HTTPS_PROXY", proxy.url.replace("//", "//me:hunter2@"))
        with pytest.raises(ClusterUnreachable) as caught:
            ask(ConnectionSettings(host="https://api.cluster.test"))
        assert [asked.method for asked in proxy.received] == ["CONNECT"]
        assert proxy.received[0].target == "api.cluster.test:443"
    assert "hunter2" not in str(caught.value)


def test_the_loopback_and_exempt_hosts_are_reached_directly(
    server: CannedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As in Go, and so as with kubectl; the client itself would ask the proxy for 127.0.0.1."""
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    monkeypatch.setenv("NO_PROXY", "10.0.0.0/8,.internal")
    ask(ConnectionSettings(host=server.url))
    assert len(server.received) == 1
    settings = ConnectionSettings(host="http://api.internal")
    assert configure(settings, {}).no_proxy == "10.0.0.0/8,.internal,localhost,127.0.0.0/8,::1"


def test_a_proxy_named_by_the_kubeconfig_counts_for_every_host(
    server: CannedServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_PROXY", "*")
    settings = {"proxy-url": server.url}
    ask(ConnectionSettings(kubeconfig=kubeconfig(tmp_path, "http://127.0.0.1:1", {}, **settings)))
    assert server.received[0].target.startswith("http://127.0.0.1:1/apis")
