"""A real API server as processes of this machine: etcd, kube-apiserver, kube-controller-manager.

All of them listen on the loopback only and keep their files in one directory. Nothing runs Pods:
that is the node agent's part.
"""

import base64
import contextlib
import ctypes
import os
import secrets
import signal
import subprocess
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import urllib3
import yaml

from tests.support.ports import reserved_ports

START_SECONDS = 90.0
"""Limit until the API server is ready; it takes three seconds on an idle machine."""

TRIES = 3
"""A port may be taken by somebody who is no test before it is used."""

STOP_SECONDS = 5.0
"""From SIGTERM to SIGKILL. An API server that has watches open may take much longer to end."""

COLLECTING = {"GOGC": "400", "GOMEMLIMIT": "2GiB"}
"""Go's garbage collector took a third of the API server's CPU, which all tests share: a heap of
some 400 MB lives as long as the server, for the schemas. Now it may grow to 2 GiB before that.
Who has more objects sets these variables: near the limit nothing is done but collecting.
"""

POLL_SECONDS = 0.05
LOG_SHOWN_CHARACTERS = 4000

PR_SET_PDEATHSIG = 1
"""Source: linux/prctl.h."""

CONTROLLERS = (
    "garbage-collector-controller",
    "job-controller",
    "namespace-controller",
    "ttl-after-finished-controller",
    "serviceaccount-controller",
)


@dataclass(slots=True)
class ApiServerProcesses:
    """One cluster without nodes. Started and stopped any number of times; its data is kept."""

    assets: Path
    """The folder of the programs."""
    directory: Path
    """Where everything is written; made by `start`."""
    users: Mapping[str, str]
    """Who may log in, and the group of each (may be empty)."""
    prepare: Callable[[Path], None]
    """Called with the administrator's kubeconfig before the controller manager is started: what
    kinds there are it asks once, and then every half minute.
    """
    controllers: tuple[str, ...] = CONTROLLERS
    """Controllers of the controller manager; none: it is not started."""
    options: tuple[str, ...] = ()
    """More options of the API server."""
    admits_accounts: bool = False
    """Whether Pods are given the token of their ServiceAccount, which then has to be there."""
    durable: bool = False
    """Whether etcd waits for the disk with each write, as everywhere but in tests."""
    _ports: tuple[int, ...] = ()
    _running: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    @property
    def url(self) -> str:
        """The address; the certificate is in the kubeconfigs."""
        return f"https://127.0.0.1:{self._ports[0]}"

    @property
    def port(self) -> int:
        """The port of the address."""
        return self._ports[0]

    def kubeconfig(self, user: str) -> Path:
        """Return the kubeconfig of a user."""
        return self.directory / f"{user}.kubeconfig"

    def start(self) -> None:
        """Start everything that does not run; return when the API server is ready."""
        if self._ports:
            self._start()
            return
        self.directory.mkdir(parents=True, exist_ok=True)
        (self.directory / "service-accounts.key").write_text(_elliptic_key())
        tokens = {user: secrets.token_hex(16) for user in self.users}
        lines = [f'{tokens[user]},{user},{user},"{group}"' for user, group in self.users.items()]
        (self.directory / "tokens.csv").write_text("\n".join(lines) + "\n")
        for last in (False, False, True):
            self._ports = reserved_ports(3)
            for user, token in tokens.items():
                self._write_kubeconfig(user, token)
            try:
                self._start()
            except AssertionError:
                self.stop()
                if last:
                    raise
            else:
                return

    def stop(self) -> None:
        """End everything, the API server before etcd: without etcd it would not end at all."""
        for name in ("kube-controller-manager", "kube-apiserver", "etcd"):
            process = self._running.pop(name, None)
            if process is None:
                continue
            process.terminate()
            try:
                process.wait(STOP_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    def pid(self, name: str) -> int:
        """Return the process id of a program that runs."""
        return self._running[name].pid

    def kill(self, name: str) -> None:
        """End one program with SIGKILL; `start` brings it back."""
        process = self._running.pop(name)
        process.kill()
        process.wait()

    def _start(self) -> None:
        api_port, client_port, peer_port = self._ports
        self._run(
            "etcd",
            *("--data-dir", "etcd", "--log-level", "error"),
            *(() if self.durable else ("--unsafe-no-fsync",)),
            *("--listen-client-urls", f"http://127.0.0.1:{client_port}"),
            *("--advertise-client-urls", f"http://127.0.0.1:{client_port}"),
            *("--listen-peer-urls", f"http://127.0.0.1:{peer_port}"),
            *("--initial-advertise-peer-urls", f"http://127.0.0.1:{peer_port}"),
            *("--initial-cluster", f"default=http://127.0.0.1:{peer_port}"),
        )
        self._run(
            "kube-apiserver",
            *("--etcd-servers", f"http://127.0.0.1:{client_port}"),
            *("--bind-address", "127.0.0.1", "--secure-port", str(api_port)),
            *("--cert-dir", "certificates", "--token-auth-file", "tokens.csv"),
            *("--authorization-mode", "RBAC"),
            *(() if self.admits_accounts else ("--disable-admission-plugins", "ServiceAccount")),
            *("--service-account-issuer", "https://kubernetes.default.svc"),
            *("--service-account-key-file", "service-accounts.key"),
            *("--service-account-signing-key-file", "service-accounts.key"),
            *("--service-cluster-ip-range", "10.0.0.0/16", "--allow-privileged"),
            *self.options,
        )
        self._wait_until_ready()
        if "kube-controller-manager" not in self._running:
            self.prepare(self.kubeconfig("admin"))
        if self.controllers:
            enabled = ",".join(self.controllers)
            self._run(
                "kube-controller-manager",
                *("--kubeconfig", "admin.kubeconfig", "--secure-port", "0", "--leader-elect=false"),
                *("--use-service-account-credentials=false", "--controllers", enabled),
                *("--root-ca-file", "certificates/apiserver.crt"),
            )

    def _run(self, name: str, *arguments: str) -> None:
        if name in self._running:
            return
        with (self.directory / f"{name}.log").open("ab") as log:
            self._running[name] = subprocess.Popen(
                [self.assets / name, *arguments],
                cwd=self.directory,
                env={**COLLECTING, **os.environ},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                preexec_fn=die_with_parent,  # noqa: PLW1509  # one thread: started from `keeper`
            )

    def _wait_until_ready(self) -> None:
        until = time.monotonic() + START_SECONDS
        while not self._is_ready():
            ended = [name for name, process in self._running.items() if process.poll() is not None]
            if ended or time.monotonic() >= until:
                name = ended[0] if ended else "kube-apiserver"
                log = (self.directory / f"{name}.log").read_text(errors="replace")
                why = "ended" if ended else f"is not ready after {START_SECONDS:.0f} s"
                raise AssertionError(f"{name} {why}:\n{log[-LOG_SHOWN_CHARACTERS:]}")
            time.sleep(POLL_SECONDS)

    def _is_ready(self) -> bool:
        certificate = self.directory / "certificates" / "apiserver.crt"
        if not certificate.exists():
            return False
        with (
            contextlib.suppress(urllib3.exceptions.HTTPError, OSError),
            urllib3.PoolManager(ca_certs=str(certificate), retries=False, timeout=5.0) as pool,
        ):
            return pool.request("GET", f"{self.url}/readyz").data == b"ok"
        return False

    def _write_kubeconfig(self, user: str, token: str) -> None:
        certificate = self.directory / "certificates" / "apiserver.crt"
        cluster = {"server": self.url, "certificate-authority": str(certificate)}
        config = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "tests", "cluster": cluster}],
            "users": [{"name": user, "user": {"token": token}}],
            "contexts": [{"name": user, "context": {"cluster": "tests", "user": user}}],
            "current-context": user,
        }
        self.kubeconfig(user).write_text(yaml.safe_dump(config))


def die_with_parent() -> None:
    """Have the kernel kill this process when its parent ends (Linux)."""
    with contextlib.suppress(AttributeError):
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def _elliptic_key() -> str:
    """Return a new private key for signing service accounts' tokens, in PEM.

    Source: RFC 5915, ECPrivateKey with the curve prime256v1; the public half may be left out.
    """
    version = bytes.fromhex("020101")
    secret = bytes.fromhex("0420") + (1 + secrets.randbelow(1 << 255)).to_bytes(32, "big")
    curve = bytes.fromhex("a00a06082a8648ce3d030107")
    content = version + secret + curve
    text = base64.b64encode(b"\x30" + bytes([len(content)]) + content).decode()
    lines = [text[at : at + 64] for at in range(0, len(text), 64)]
    return "\n".join(["-----BEGIN EC PRIVATE KEY-----", *lines, "-----END EC PRIVATE KEY-----", ""])
