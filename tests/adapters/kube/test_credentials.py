"""Credentials that are renewed, refused or broken: each is told in a sentence, and is got over."""

import json
import os
import ssl
import sys
from pathlib import Path
from typing import Any

import pytest
from kubernetes.client import Configuration
from kubernetes.config.exec_provider import ExecProvider
from kubernetes.config.kube_config import ConfigNode

from jobledger.adapters.kube.client import KubernetesCluster
from jobledger.adapters.kube.connection import ConnectionSettings, connect
from jobledger.adapters.kube.errors import transport_error
from jobledger.adapters.kube.exec_plugin import ExecPlugin
from jobledger.core.errors import ClusterUnreachable, NoWayToCluster
from jobledger.core.ports.cluster import RAYJOBS
from tests.adapters.kube.samples import rayjob
from tests.support.canned_server import Answer, CannedServer

JOB = rayjob("a", 1)
VERSION = "client.authentication.k8s.io/v1"
REFUSED = Answer(401, {"kind": "Status", "reason": "Unauthorized", "message": "Unauthorized"})


def kubeconfig(
    folder: Path,
    user: dict[str, Any],
    server: str = "http://127.0.0.1:1",
    **cluster: Any,  # noqa: ANN401  # JSON
) -> str:
    """Write a kubeconfig (JSON is YAML) and return its path."""
    document = {
        "clusters": [{"name": "c", "cluster": {"server": server, **cluster}}],
        "users": [{"name": "u", "user": user}],
        "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
        "current-context": "x",
    }
    path = folder / "kubeconfig"
    path.write_text(json.dumps(document))
    return str(path)


def plugin(program: str) -> dict[str, Any]:
    """Return a user whose credentials a Python program brings."""
    return {"exec": {"apiVersion": VERSION, "command": sys.executable, "args": ["-c", program]}}


def cluster_of(path: str, **settings: Any) -> KubernetesCluster:  # noqa: ANN401  # any setting
    chosen = ConnectionSettings(kubeconfig=path, credentials_seconds=0, **settings)
    return KubernetesCluster(connect(chosen, {}))


def tokens(server: CannedServer) -> list[str]:
    return [asked.headers["authorization"] for asked in server.received]


def test_a_token_file_of_a_kubeconfig_is_read_anew(tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text("first\n")
    with CannedServer(*[Answer(body=JOB)] * 2) as server:
        cluster = cluster_of(kubeconfig(tmp_path, {"tokenFile": "token"}, server.url))
        cluster.get(RAYJOBS, "team", "a")
        token.write_text("second\n")
        cluster.get(RAYJOBS, "team", "a")
        assert tokens(server) == ["Bearer first", "Bearer second"]


def test_a_pipe_as_token_file_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "token")
    with pytest.raises(NoWayToCluster, match=r"the token file .*: it is no regular file"):
        cluster_of(kubeconfig(tmp_path, {"tokenFile": "token"}))


def test_the_last_token_counts_while_its_file_cannot_be_read_and_is_not_refused(
    tmp_path: Path,
) -> None:
    token = tmp_path / "token"
    token.write_text("first")
    with CannedServer(Answer(body=JOB), REFUSED, Answer(body=JOB)) as server:
        cluster = cluster_of(kubeconfig(tmp_path, {"tokenFile": str(token)}, server.url))
        token.write_text("")
        cluster.get(RAYJOBS, "team", "a")
        with pytest.raises(NoWayToCluster, match=r"401 .*renew the token"):
            cluster.get(RAYJOBS, "team", "a")
        with pytest.raises(NoWayToCluster, match=r"the token file .*/token is empty"):
            cluster.get(RAYJOBS, "team", "a")
        token.write_text("second")
        assert cluster.get(RAYJOBS, "team", "a") == JOB
        assert tokens(server) == ["Bearer first", "Bearer first", "Bearer second"]


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (None, "the token file .*/token: No such file"),
        (b"", "the token file .*/token is empty"),
        (b"\n", "the token file .*/token is empty"),
        (b"\xff\xfe", "the token file .*/token: it is no text"),
        (b"two\nlines", "the token file .*/token holds characters that no token has"),
    ],
)
def test_a_token_file_that_cannot_be_used(tmp_path: Path, content: bytes | None, told: str) -> None:
    if content is not None:
        (tmp_path / "token").write_bytes(content)
    with pytest.raises(NoWayToCluster, match=told):
        cluster_of(kubeconfig(tmp_path, {"tokenFile": "token"}))


@pytest.mark.parametrize(
    ("program", "told"),
    [
        (
            "import sys; sys.exit('run sso\\nlogin')",
            "the credential plug-in .* ended with 1: run sso login$",
        ),
        ("import time; time.sleep(1000)", "the credential plug-in .* did not end within 0.2 s"),
        ("while True: print('x' * 99)", "the credential plug-in .* said more than 1 MiB"),
        (
            "import sys\nwhile True: print('x' * 99, file=sys.stderr)",
            "the credential plug-in .* said more than 1 MiB",
        ),
        ("print('hello')", "the credential plug-in .* brought no ExecCredential"),
        ("", "the credential plug-in .* brought no ExecCredential"),
        (
            f'print(\'{{"apiVersion": "{VERSION}", "status": {{}}}}\')',
            "the credential plug-in .* brought neither token nor certificate",
        ),
        (
            'print(\'{"apiVersion": "v0", "status": {"token": "t"}}\')',
            "the credential plug-in .* brought an ExecCredential of another version",
        ),
    ],
)
def test_a_plugin_that_brings_nothing(tmp_path: Path, program: str, told: str) -> None:
    """The official client goes on as nobody, or waits for ever."""
    limit = 0.2 if "sleep" in program else 30.0
    with pytest.raises(NoWayToCluster, match=told):
        cluster_of(kubeconfig(tmp_path, plugin(program)), plugin_seconds=limit)


def test_a_plugin_that_is_not_installed(tmp_path: Path) -> None:
    user = {"exec": {"apiVersion": VERSION, "command": "no-such-plugin"}}
    with pytest.raises(NoWayToCluster, match="plug-in no-such-plugin: No such file"):
        cluster_of(kubeconfig(tmp_path, user))


def test_a_certificate_of_a_plugin_is_taken() -> None:
    status = {"clientCertificateData": "chain", "clientKeyData": "key"}
    program = f"import json; print(json.dumps({{'apiVersion': {VERSION!r}, 'status': {status!r}}}))"
    node = ConfigNode("exec", plugin(program)["exec"])  # type: ignore[no-untyped-call]
    brings = ExecPlugin(ExecProvider(node, None))  # type: ignore[no-untyped-call]
    used = Configuration()
    brings.renew(used)
    files = [Path(str(one)) for one in (used.cert_file, used.key_file)]
    assert [file.read_text() for file in files] == ["chain", "key"]
    del brings
    assert not any(file.exists() for file in files)


@pytest.mark.parametrize(
    ("pause", "last"),
    [(1000.0, "Bearer 1"), (0.0, "Bearer 2")],
    ids=["has just run: what was refused is what it brought before", "has not run for a while"],
)
def test_a_plugin_whose_token_is_refused(tmp_path: Path, pause: float, last: str) -> None:
    runs = tmp_path / "runs"
    program = (
        f"import json; runs = open({str(runs)!r}, 'a+'); runs.write('x'); runs.seek(0); "
        "status = {'token': str(len(runs.read()))}; "
        f"print(json.dumps({{'apiVersion': {VERSION!r}, 'status': status}}))"
    )
    node = ConfigNode("exec", plugin(program)["exec"])  # type: ignore[no-untyped-call]
    brings = ExecPlugin(ExecProvider(node, None), pause_seconds=pause)  # type: ignore[no-untyped-call]
    used = Configuration()
    brings.renew(used)
    brings.refused()
    brings.renew(used)
    assert used.api_key["BearerToken"] == last


@pytest.mark.parametrize("server", ["", "127.0.0.1:6443", "ftp://h", "https://"])
def test_an_address_that_is_none(tmp_path: Path, server: str) -> None:
    with pytest.raises(NoWayToCluster, match="the API server's address must look like https"):
        cluster_of(kubeconfig(tmp_path, {}, server))


@pytest.mark.parametrize("proxy", ["nonsense", "socks5://me:hunter2@127.0.0.1:1"])
def test_a_proxy_that_cannot_be_used_is_not_repeated(tmp_path: Path, proxy: str) -> None:
    path = kubeconfig(tmp_path, {}, **{"proxy-url": proxy})
    with pytest.raises(NoWayToCluster, match="the proxy's address must look like") as refused:
        cluster_of(path)
    assert "hunter2" not in str(refused.value)


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("certificate verify failed: certificate has expired", "its certificate has expired"),
        ("certificate verify failed: Hostname mismatch, not 'x'", "its certificate is another"),
        ("[SSL: CERTIFICATE_VERIFY_FAILED] self-signed certificate", "nothing in the certificate"),
        ("[X509: KEY_VALUES_MISMATCH] key values mismatch", "a certificate or key that the"),
        ("[Errno 2] No such file or directory", "a certificate or key that the"),
        ("[SSL: TLSV13_ALERT_CERTIFICATE_REQUIRED]", "it refuses our client certificate"),
        ("[SSL: WRONG_VERSION_NUMBER] wrong version number", "it speaks no TLS"),
    ],
)
def test_what_is_wrong_with_tls_says_what_to_do(said: str, told: str) -> None:
    error = transport_error("GET x", ssl.SSLError(1, said))
    assert isinstance(error, NoWayToCluster)
    assert str(error).startswith(f"GET x: {told}")


def test_a_connection_that_broke_off_in_its_handshake_may_come_about_later() -> None:
    error = transport_error("GET x", ssl.SSLEOFError(8, "EOF occurred in violation of protocol"))
    assert type(error) is ClusterUnreachable
