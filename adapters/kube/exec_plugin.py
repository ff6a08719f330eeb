"""Asks the plug-in of a kubeconfig (`exec`) for credentials, with a limit, and again in time.

Source: client.authentication.k8s.io, `ExecCredential`; as in client-go what it brought is used
until its end, or until the API server refuses it.
"""

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import weakref
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

import msgspec
from kubernetes.client import Configuration
from kubernetes.config.exec_provider import ExecProvider

from jobledger.adapters.kube.credentials import BEARER, UnusableCredentials, token_of
from jobledger.adapters.process.bounded_output import TooMuchOutput, output_of
from jobledger.adapters.process.one_core import on_any_core

LIMIT_SECONDS = 30.0
"""For one run, where nobody is asked anything at a terminal."""

PAUSE_SECONDS = 10.0
"""Between two runs that bring nothing new: one may ask a server, or log its failures."""

RENEWED_BEFORE = timedelta(seconds=60)
"""So long before its end a credential is asked for again."""

OUTPUT_BYTES_MAX = 1024 * 1024
"""A credential has some kilobytes; a plug-in that goes on and on would fill the memory."""

_TOLD_CHARACTERS = 300
"""Of what a plug-in says on standard error."""


class _Status(msgspec.Struct):
    token: str | None = None
    clientCertificateData: str | None = None  # noqa: N815  # the name on the wire
    clientKeyData: str | None = None  # noqa: N815  # the name on the wire
    expirationTimestamp: datetime | None = None  # noqa: N815  # the name on the wire


class _Answer(msgspec.Struct):
    apiVersion: str  # noqa: N815  # the name on the wire
    status: _Status


_answers = msgspec.json.Decoder(_Answer)


@dataclass(slots=True, weakref_slot=True)
class ExecPlugin:
    """A plug-in, and what it brought last."""

    provider: ExecProvider
    """The official client's reading of the kubeconfig; it is not asked to run anything."""
    limit_seconds: float = LIMIT_SECONDS
    pause_seconds: float = PAUSE_SECONDS
    clock: Callable[[], datetime] = lambda: datetime.now(UTC)
    _status: _Status | None = None
    _trouble: str = ""
    _ran: float = field(default=float("-inf"))
    """Monotonic instant of the last run's end."""
    _folder: Path | None = None
    """Where its certificate lies; it goes with this."""

    def renew(self, configuration: Configuration) -> None:
        """Run the plug-in if what it brought ends; as `Credentials`."""
        if self._is_due():
            self._run(configuration)
        if self._status is None or self._has_ended():
            raise UnusableCredentials(self._trouble or f"{self._name}: what it brought has ended")

    def refused(self) -> None:
        """Have the plug-in asked again, unless it has just run.

        Requests that were on their way then had what it brought before; without this, each of
        them would throw away what it brought since.
        """
        if self._is_rested():
            self._status = None

    @property
    def _name(self) -> str:
        return f"the credential plug-in {self.provider.args[0]}"

    def _left(self) -> timedelta:
        ends = self._status.expirationTimestamp if self._status is not None else None
        if ends is None:
            return timedelta.max
        return (ends if ends.tzinfo else ends.replace(tzinfo=UTC)) - self.clock()

    def _has_ended(self) -> bool:
        return self._left() <= timedelta(0) and bool(self._trouble)

    def _is_due(self) -> bool:
        if self._status is not None and self._left() > RENEWED_BEFORE:
            return False
        is_worn_out = self._status is not None and self._left() <= timedelta(0)
        if is_worn_out and not self._trouble:
            return True
        return self._is_rested()

    def _is_rested(self) -> bool:
        return time.monotonic() - self._ran >= self.pause_seconds

    def _run(self, configuration: Configuration) -> None:
        try:
            status = self._asked()
            self._take(status, configuration)
        except UnusableCredentials as failure:
            self._trouble = str(failure)
        else:
            self._status, self._trouble = status, ""
        self._ran = time.monotonic()

    def _take(self, status: _Status, configuration: Configuration) -> None:
        if status.token is not None:
            token = token_of(status.token, f"the token of {self._name}")
            configuration.api_key[BEARER] = f"Bearer {token}"
        elif status.clientCertificateData and status.clientKeyData:
            if self._folder is None:
                self._folder = Path(tempfile.mkdtemp(prefix="jobledger-exec-"))  # of mode 0700
                weakref.finalize(self, shutil.rmtree, self._folder, ignore_errors=True)
            chain, key = self._folder / "tls.crt", self._folder / "tls.key"
            chain.write_text(status.clientCertificateData)
            key.write_text(status.clientKeyData)
            # Connections read the files when they begin, so that the newest counts.
            configuration.cert_file, configuration.key_file = str(chain), str(key)
        else:
            raise UnusableCredentials(f"{self._name} brought neither token nor certificate")

    def _asked(self) -> _Status:
        told = self._output()
        try:
            answer = _answers.decode(told)
        except (msgspec.MsgspecError, UnicodeDecodeError) as failure:
            raise UnusableCredentials(f"{self._name} brought no ExecCredential") from failure
        wanted = self.provider.api_version
        if answer.apiVersion != wanted:
            raise UnusableCredentials(
                f"{self._name} brought an ExecCredential of another version than {wanted}"
            )
        return answer.status

    def _output(self) -> bytes:
        is_asking = sys.stdout.isatty()
        try:
            with (
                on_any_core(),
                subprocess.Popen(
                    self.provider.args,
                    stdin=None if is_asking else subprocess.DEVNULL,
                    stdout=subprocess.PIPE,
                    stderr=None if is_asking else subprocess.PIPE,
                    cwd=self.provider.cwd,
                    env={
                        **self.provider.env,
                        "KUBERNETES_EXEC_INFO": self._info(is_asking=is_asking),
                    },
                    start_new_session=not is_asking,
                ) as process,
            ):
                return self._waited_for(process, None if is_asking else self.limit_seconds)
        except OSError as failure:
            raise UnusableCredentials(f"{self._name}: {failure.strerror}") from failure

    def _waited_for(self, process: "subprocess.Popen[bytes]", limit: float | None) -> bytes:
        try:
            told, complained = output_of(process, limit, OUTPUT_BYTES_MAX)
        except subprocess.TimeoutExpired as failure:
            _kill(process)
            raise UnusableCredentials(f"{self._name} did not end within {limit:g} s") from failure
        except TooMuchOutput as failure:
            _kill(process)
            raise UnusableCredentials(f"{self._name} said more than 1 MiB") from failure
        if process.returncode != 0:
            words = " ".join((complained or b"").decode(errors="replace").split())
            raise UnusableCredentials(
                f"{self._name} ended with {process.returncode}"
                + (f": {words[:_TOLD_CHARACTERS]}" if words else "")
            )
        return told

    def _info(self, *, is_asking: bool) -> str:
        """Return what a plug-in is told, as the official client tells it."""
        spec: dict[str, object] = {"interactive": is_asking}
        if self.provider.cluster:
            about = dict(self.provider.cluster.value)
            for extension in about.get("extensions") or ():
                if extension["name"] == "client.authentication.k8s.io/exec":
                    about["config"] = extension["extension"]
            spec["cluster"] = about
        version = self.provider.api_version
        return json.dumps({"apiVersion": version, "kind": "ExecCredential", "spec": spec})


def _kill(process: "subprocess.Popen[bytes]") -> None:
    """End a plug-in with what it has started, which holds its pipes.

    One that may ask at the terminal is of our own process group, and ends alone.
    """
    with contextlib.suppress(ProcessLookupError):
        if os.getpgid(process.pid) == process.pid:
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()
