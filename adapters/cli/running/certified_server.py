"""Runs a server that has a certificate and no ledger until it is told to stop."""

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from jobledger.adapters.admission.kept_certificate import ForeignSecret
from jobledger.adapters.admission.tls import NoCertificate
from jobledger.adapters.cli.exit_codes import ExitCode
from jobledger.adapters.cli.output import console, fail
from jobledger.adapters.cli.running.ready_file import tell_ready
from jobledger.adapters.cli.running.stopping import StopSignals
from jobledger.adapters.http.server import HttpServer


class CertifiedServer(Protocol):
    """A server with its certificate, bound to its address."""

    @property
    def http(self) -> HttpServer:
        """What listens."""

    def serve(self, stopped: threading.Event) -> None:
        """Serve until told to stop."""


def serve_until_stopped(make: Callable[[], CertifiedServer], ready_file: Path | None) -> None:
    """Make a server, say where it is, and serve until SIGTERM or SIGINT."""
    try:
        server = make()
    except (ForeignSecret, NoCertificate) as error:
        fail(str(error), ExitCode.MISCONFIGURED)
    stop, stopped = StopSignals(), threading.Event()

    def tell() -> None:
        stop.wait()
        stopped.set()

    threading.Thread(target=tell, daemon=True).start()
    console.print(server.http.url)
    tell_ready(ready_file, server.http.url)
    server.serve(stopped)
